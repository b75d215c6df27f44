//! Recorded writes to a real API server, replayed: the same writes in the same order lead to the same objects and owners.

#![allow(missing_docs, clippy::unwrap_used)]

use std::{
    collections::BTreeSet,
    fs,
    path::PathBuf,
    sync::{Arc, Mutex},
};

use baton_apiserver::{ApiServer, Release};
use http::{Method, Request};
use http_body_util::BodyExt as _;
use k8s_openapi::jiff::Timestamp;
use kube::{Client, client::Body, core::GroupVersionKind, discovery::pinned_kind};
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
struct Line {
    sequence: String,
    write: String,
    request: Sent,
    server: Response,
}

#[derive(Deserialize)]
struct Sent {
    #[serde(rename = "do")]
    verb: String,
    gvk: GroupVersionKind,
    subresource: String,
    live: Option<Value>,
    /// The intent of an apply; of other writes, the object after it.
    object: Value,
    manager: String,
    now: Timestamp,
    #[serde(default)]
    force: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Response {
    code: u16,
    /// Where it isn't the one of the request.
    object: Option<Value>,
    /// Where the object is the one of the request.
    managed_fields: Option<Value>,
    #[serde(default)]
    message: String,
}

fn workspace() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn text(file: &str) -> String {
    fs::read_to_string(workspace().join(file)).unwrap()
}

/// An object without what no two servers have alike.
fn comparable(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(metadata) = object["metadata"].as_object_mut() {
        for name in ["uid", "resourceVersion", "creationTimestamp", "namespace"] {
            metadata.remove(name);
        }
        if metadata.get("managedFields") == Some(&Value::Array(Vec::new())) {
            metadata.remove("managedFields");
        }
        for entry in metadata.get_mut("managedFields").and_then(Value::as_array_mut).into_iter().flatten() {
            entry.as_object_mut().unwrap().remove("time");
        }
    }
    object
}

/// The values that a server chose for an object, in the recording and here.
#[derive(Default)]
struct Chosen(Vec<(String, String)>);

impl Chosen {
    fn of(recorded: &Value, here: &Value) -> Self {
        let pointers = ["/metadata/uid", "/metadata/namespace", "/spec/clusterIP"];
        let text =
            |object: &Value, pointer| object.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
        let texts = pointers.iter().filter_map(|of| Some((text(recorded, of)?, text(here, of)?)));
        let ports = |object: &Value| {
            let ports = object.pointer("/spec/ports").and_then(Value::as_array).cloned().unwrap_or_default();
            ports.into_iter().map(|port| format!("\"nodePort\":{}", port["nodePort"]))
        };
        Self(texts.chain(ports(recorded).zip(ports(here))).collect())
    }

    /// A recorded value, with the values of this run.
    fn here(&self, recorded: &str) -> String {
        self.0.iter().fold(recorded.to_owned(), |text, (recorded, here)| text.replace(recorded, here))
    }

    /// The body of the same write here.
    fn body(&self, object: &Value, live: &Value, is_stale: impl Fn(&Value) -> bool) -> Value {
        let mut object: Value = serde_json::from_str(&self.here(&object.to_string())).unwrap();
        let Some(metadata) = object["metadata"].as_object_mut() else { return object };
        if live.is_null() {
            for name in ["namespace", "uid", "resourceVersion"] {
                metadata.remove(name);
            }
        } else if let Some(version) = metadata.get_mut("resourceVersion").filter(|own| !is_stale(own)) {
            *version = live["metadata"]["resourceVersion"].clone();
        }
        object
    }
}

/// Where two objects differ, with both sides.
fn differing(recorded: &Value, here: &Value, path: &str, found: &mut Vec<String>) {
    match (recorded, here) {
        (Value::Object(left), Value::Object(right)) => {
            let names: BTreeSet<_> = left.keys().chain(right.keys()).collect();
            for name in names {
                differing(&recorded[name], &here[name], &format!("{path}.{name}"), found);
            }
        }
        _ if recorded == here => {}
        _ => found.push(format!("{path}: recorded {recorded}, here {here}")),
    }
}

fn same(when: &str, chosen: &Chosen, recorded: &Value, here: &Value) -> Result<(), String> {
    let mut found = Vec::new();
    let recorded = serde_json::from_str(&chosen.here(&recorded.to_string())).unwrap();
    differing(&comparable(&recorded), &comparable(here), "", &mut found);
    if found.is_empty() { Ok(()) } else { Err(format!("{when}: {}", found.join("\n    "))) }
}

/// An object without members that another one doesn't have.
fn only(members_of: &Value, object: &Value) -> Value {
    match (members_of, object) {
        (Value::Object(known), Value::Object(members)) => {
            let own = members.iter().filter(|(name, _)| known.contains_key(*name));
            own.map(|(name, value)| (name.clone(), only(&known[name], value))).collect()
        }
        (Value::Array(known), Value::Array(items)) if known.len() == items.len() => {
            known.iter().zip(items).map(|(known, item)| only(known, item)).collect()
        }
        _ => object.clone(),
    }
}

struct Replay {
    client: Client,
    now: Arc<Mutex<Timestamp>>,
}

impl Replay {
    async fn send(&self, method: Method, uri: &str, content_type: &str, body: &Value) -> (u16, Value) {
        let request = Request::builder().method(method).uri(uri).header("content-type", content_type);
        let request = request.body(Body::from(body.to_string().into_bytes())).unwrap();
        let response = self.client.send(request).await.unwrap();
        let code = response.status().as_u16();
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        (code, serde_json::from_slice(&bytes).unwrap_or_default())
    }

    async fn live(&self, path: &str) -> Option<Value> {
        let (code, object) = self.send(Method::GET, path, "", &Value::Null).await;
        (code == 200).then_some(object)
    }

    /// Replays one write, and says what is different.
    async fn differences(&self, line: &Line) -> Result<(), String> {
        let Line { request, server, .. } = line;
        let (resource, _) = pinned_kind(&self.client, &request.gvk).await.unwrap();
        let name = request.object["metadata"]["name"].as_str();
        let name = name.or_else(|| request.live.as_ref()?["metadata"]["name"].as_str()).unwrap();
        let collection = format!(
            "/{}/{}/namespaces/default/{}",
            if resource.group.is_empty() { "api" } else { "apis" },
            resource.api_version,
            resource.plural
        );
        let own = format!("{collection}/{name}");
        let before = self.live(&own).await.unwrap_or_default();
        let recorded = request.live.clone().unwrap_or_default();
        let chosen = Chosen::of(&recorded, &before);
        same("before", &chosen, &recorded, &before)?;
        *self.now.lock().unwrap() = request.now;
        let target = match request.subresource.as_str() {
            "" => own.clone(),
            subresource => format!("{own}/{subresource}"),
        };
        let manager: String = form_urlencoded::byte_serialize(request.manager.as_bytes()).collect();
        let body = chosen.body(&request.object, &before, |version| {
            // Of other writes the object bears the version that they led to.
            request.verb == "apply" && *version != recorded["metadata"]["resourceVersion"]
        });
        let (code, response) = match (request.verb.as_str(), &request.live) {
            ("apply", _) => {
                let uri = format!("{target}?fieldManager={manager}&force={}", request.force);
                self.send(Method::PATCH, &uri, "application/apply-patch+yaml", &body).await
            }
            (_, None) => {
                let uri = format!("{collection}?fieldManager={manager}");
                self.send(Method::POST, &uri, "application/json", &body).await
            }
            (_, Some(_)) => {
                let uri = format!("{target}?fieldManager={manager}");
                self.send(Method::PUT, &uri, "application/json", &body).await
            }
        };
        let code = if code == 201 { 200 } else { code };
        // The rest is a comparison of Go's structs.
        let message = |text: &str| text.split("\n@@").next().unwrap_or_default().to_owned();
        let (recorded, here) =
            (chosen.here(&server.message), response["message"].as_str().unwrap_or_default());
        if code != server.code || (code != 200 && message(&recorded) != message(here)) {
            return Err(format!("recorded {} {recorded:?}, here {code} {here:?}", server.code));
        }
        let expected = match (&server.object, &server.managed_fields) {
            (Some(object), _) => object.clone(),
            (None, Some(owners)) => {
                let mut object = request.object.clone();
                object["metadata"]["managedFields"] = owners.clone();
                // Only a write to the status changes the status.
                if let (Some(live), "") = (&request.live, request.subresource.as_str()) {
                    object["status"] = live["status"].clone();
                }
                object
            }
            (None, None) => request.live.clone().unwrap_or_default(),
        };
        let after = self.live(&own).await.unwrap_or_default();
        let chosen = Chosen::of(&expected, &after);
        // Values that the server chooses aren't recorded with this write, but with the next one.
        same("after", &chosen, &expected, &only(&expected, &after))
    }
}

#[tokio::test]
async fn recorded_writes_lead_to_the_recorded_objects() {
    let now = Arc::new(Mutex::new(Timestamp::UNIX_EPOCH));
    let clock = now.clone();
    let mut differences = Vec::new();
    let mut compared = 0;
    for file in ["every-kind", "crowd"] {
        let clock = clock.clone();
        let server = ApiServer::builder().release(Release::new(36, 3)).clock(move || *clock.lock().unwrap());
        let server = ["merge/tests/corpus/data/gadget.crd.json", "manifests/crd/workloads.baton.rs.yaml"]
            .iter()
            .fold(server, |server, crd| server.load(&text(crd)).unwrap());
        let replay = Replay { client: server.start().unwrap().client(), now: now.clone() };
        for (number, line) in text(&format!("merge/tests/transcripts/{file}.jsonl")).lines().enumerate() {
            let line: Line = serde_json::from_str(line).unwrap();
            compared += 1;
            if let Err(difference) = replay.differences(&line).await {
                let Line { sequence, write, .. } = &line;
                differences.push(format!("{file} {}: {sequence}, {write}: {difference}", number + 1));
            }
        }
    }
    println!("{} of {compared} recorded writes lead to the same", compared - differences.len());
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
