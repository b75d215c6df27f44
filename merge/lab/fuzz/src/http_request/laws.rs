//! The laws of every request.
//!
//! - It gets a response with a content type, and with JSON or YAML where that says so.
//! - A code of 400 or more comes with a `Status` of that code, or with plain text.
//! - What is refused, only read or a dry run leaves everything as it is: the store's version is the same. (The real server reads
//!   the options of a table, `includeObject`, after the write.)
//! - What was stored can be read, as the response has it.
//! - The collections that were written to can be listed, as objects, as a table and as metadata.

use std::collections::BTreeSet;

use bytes::Bytes;
use http::{
    Method, Request, Response, StatusCode,
    header::{ACCEPT, CONTENT_TYPE},
};
use kube::Client;
use serde_json::Value;

use super::ask;

const TABLE: &str = "application/json;as=Table;g=meta.k8s.io;v=v1";
const METADATA: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

pub(super) struct Laws {
    client: Client,
    version: String,
    /// The collections that something was written to.
    touched: BTreeSet<String>,
}

impl Laws {
    pub(super) async fn new(client: Client) -> Self {
        let version = version(&client).await;
        Self { client, version, touched: BTreeSet::new() }
    }

    /// Sends a request, and checks its response against the laws.
    pub(super) async fn check(&mut self, request: Request<Bytes>) {
        let shown = format!("{} {}", request.method(), request.uri());
        let (method, path) = (request.method().clone(), request.uri().path().to_owned());
        let keeps = is_safe(&request);
        let response = ask(&self.client, request).await;
        let code = response.status();
        let body = checked_body(&shown, &method, &response);

        let before = std::mem::replace(&mut self.version, version(&self.client).await);
        // A collection is deleted one by one, up to the first refusal.
        let may_stop_halfway = method == Method::DELETE && collection(&method, &path) == path;
        let is_late = !keeps && shown.contains("includeObject");
        if (keeps || !code.is_success()) && !may_stop_halfway && !is_late {
            assert_eq!(self.version, before, "{shown} gets {code}, and something is stored: {body}");
        }
        if code.is_success() && !keeps {
            // Discovery accepts any method, and changes nothing.
            if self.version != before {
                self.touched.insert(collection(&method, &path).to_owned());
            }
            self.check_stored(&shown, &method, &path, &body).await;
        }
    }

    /// A written object can be read.
    async fn check_stored(&self, shown: &str, method: &Method, path: &str, written: &Value) {
        let metadata = &written["metadata"];
        let version = metadata["resourceVersion"].as_str().unwrap_or_default();
        if method == Method::DELETE || written["kind"] == "Status" || version.is_empty() {
            return;
        }
        let path = match (method, metadata["name"].as_str()) {
            (&Method::POST, Some(name)) => format!("{}/{}", path.trim_end_matches('/'), escaped(name)),
            _ => path.to_owned(),
        };
        let response = get(&self.client, &path, "application/json").await;
        let read = checked_body(shown, &Method::GET, &response);
        match response.status() {
            // A target without `GET`, such as the finalizers of a namespace.
            StatusCode::METHOD_NOT_ALLOWED => return,
            // A write that removes the last finalizer is a deletion.
            StatusCode::NOT_FOUND if metadata["deletionTimestamp"].is_string() => return,
            code => assert_eq!(code, 200, "{shown} has stored what can't be read: {read}"),
        }
        // The server writes the status of a CRD right after.
        if written["kind"] != "CustomResourceDefinition" {
            assert_eq!(
                read["metadata"]["resourceVersion"], version,
                "{shown} has stored another version: {read}"
            );
        }
    }

    /// Written collections can be listed.
    pub(super) async fn check_touched(&self) {
        for collection in &self.touched {
            for accept in ["application/json", "application/yaml", TABLE, METADATA] {
                let response = get(&self.client, collection, accept).await;
                let shown = format!("GET {collection} as {accept}");
                let body = checked_body(&shown, &Method::GET, &response);
                // The CRD of a custom resource may be deleted by now, and reviews are never listed.
                let code = response.status();
                let is_none = matches!(code, StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED);
                assert!(code.is_success() || is_none, "{shown}: {body}");
            }
        }
    }
}

/// Whether a request can't change anything.
fn is_safe(request: &Request<Bytes>) -> bool {
    let query = request.uri().query().unwrap_or_default();
    request.method().is_safe()
        || query.split('&').any(|pair| pair == "dryRun=All") && request.body().is_empty()
}

/// The collection that a write to a path belongs to.
fn collection<'p>(method: &Method, path: &'p str) -> &'p str {
    let path = path.trim_end_matches('/');
    // The plural is after the version, or after the namespace.
    let mut ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
    let is_core = path.starts_with("/api/");
    let is_namespaced = path.split('/').nth(if is_core { 3 } else { 4 }) == Some("namespaces");
    let parts = if is_core { 3 } else { 4 } + if is_namespaced { 2 } else { 0 };
    match ends.nth(parts) {
        Some(end) => &path[..end],
        // A namespace, or the collection of them.
        None if method == Method::POST => path,
        None => path.rsplit_once('/').map_or(path, |(parent, _)| parent),
    }
}

/// The store's version, which every change increments.
async fn version(client: &Client) -> String {
    let response = get(client, "/api/v1/namespaces?limit=1", "application/json").await;
    let list: Value = serde_json::from_slice(response.body()).unwrap_or_default();
    list["metadata"]["resourceVersion"].as_str().expect("a list has a version").to_owned()
}

async fn get(client: &Client, path: &str, accept: &str) -> Response<Bytes> {
    let request = Request::get(path).header(ACCEPT, accept).body(Bytes::new());
    ask(client, request.expect("what was sent to can be read")).await
}

/// The body of a valid response; null for text or a watch.
fn checked_body(shown: &str, method: &Method, response: &Response<Bytes>) -> Value {
    let code = response.status();
    assert!(code.as_u16() < 600, "{shown} gets {code}");
    // The response for a missing OpenAPI document is empty.
    let is_bare = response.headers().get(CONTENT_TYPE).is_none() || *method == Method::HEAD;
    if response.body().is_empty() && is_bare {
        return Value::Null;
    }
    let content_type = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let Some(content_type) = content_type else { panic!("{shown} gets a response without a content type") };
    let text =
        std::str::from_utf8(response.body()).unwrap_or_else(|error| panic!("{shown} gets no UTF-8: {error}"));
    let body: Value = match content_type.split(';').next().unwrap_or_default() {
        "application/json" if code == StatusCode::NOT_MODIFIED => Value::Null,
        "application/json" => {
            let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
            let first = values.next().transpose();
            let first = first.unwrap_or_else(|error| panic!("{shown} gets no JSON, {error}: {text}"));
            // A watch has many values.
            for value in values {
                assert!(method.is_safe() && value.is_ok(), "{shown} gets more: {value:?} in {text}");
            }
            first.unwrap_or_default()
        }
        "application/yaml" => baton_merge::yaml::from_str(text)
            .unwrap_or_else(|error| panic!("{shown} gets no YAML, {error}: {text}")),
        "text/plain" => return Value::Null,
        other => panic!("{shown} gets {other}"),
    };
    if code.is_client_error() || code.is_server_error() {
        assert_eq!(body["kind"], "Status", "{shown} is refused by {body}");
        assert_eq!(body["code"], code.as_u16(), "{shown} is refused by {body}");
        // An internal error of the server; a failed merge has the same code without a reason. The real server, too, shows a
        // scale for an object without replicas.
        let has_no_scale =
            body["message"].as_str().is_some_and(|message| message.contains("spec replicas field"));
        assert!(has_no_scale || body["reason"] != "InternalError", "{shown}: {body}");
    }
    body
}

/// A name, escaped for a path.
fn escaped(name: &str) -> String {
    name.bytes().fold(String::new(), |text, byte| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' => {
            text + char::from(byte).encode_utf8(&mut [0])
        }
        _ => text + &format!("%{byte:02X}"),
    })
}
