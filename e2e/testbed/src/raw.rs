//! Raw requests to an API server, and responses byte for byte. They show what a typed client hides, such as the order of members in
//! field sets or the code of a success, and send what no client would send.

use std::{
    io::Write as _,
    path::{Path, PathBuf},
    time::Duration,
};

use http_body_util::BodyExt as _;
use hyper::header::HeaderValue;
use kube::{Client, client::Body, core::Status};
use tempfile::NamedTempFile;

use crate::{Error, Json};

/// How long a response may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// A request.
#[derive(Clone, Debug)]
pub struct Request {
    /// The HTTP method.
    pub method: &'static str,
    /// The path with its query.
    pub uri: String,
    /// More headers than a client sends anyway.
    pub headers: Vec<(&'static str, String)>,
    /// What is sent.
    pub body: String,
}

/// The response.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The HTTP status code.
    pub code: u16,
    /// The texts of `Warning` headers.
    pub warnings: Vec<String>,
    /// The `Content-Type`; empty without one.
    pub content_type: String,
    /// The id of the request in the server's audit log.
    pub audit_id: String,
    /// The body.
    pub text: String,
}

impl Request {
    /// A read.
    pub fn get(uri: impl Into<String>) -> Self {
        Self { method: "GET", uri: uri.into(), headers: Vec::new(), body: String::new() }
    }

    /// Sends it.
    ///
    /// # Errors
    /// When there is no response. A refusal is one.
    pub async fn send(self, client: &Client) -> Result<Reply, Error> {
        let what = format!("{} {}", self.method, self.uri);
        let mut request = hyper::Request::builder().method(self.method).uri(self.uri);
        for (name, value) in self.headers {
            request = request.header(name, value);
        }
        let request = request.body(Body::from(self.body.into_bytes())).map_err(Error::parse(what.clone()))?;
        let exchange = async {
            let response = client.send(request).await.map_err(Error::api(what.clone()))?;
            let (head, body) = response.into_parts();
            let text = |value: &HeaderValue| value.to_str().ok().map(str::to_owned);
            let bytes = body.collect().await.map_err(Error::parse(what.clone()))?.to_bytes();
            Ok(Reply {
                code: head.status.as_u16(),
                warnings: head.headers.get_all("warning").iter().filter_map(text).collect(),
                content_type: head.headers.get("content-type").and_then(text).unwrap_or_default(),
                audit_id: head.headers.get("audit-id").and_then(text).unwrap_or_default(),
                text: String::from_utf8(bytes.to_vec()).map_err(Error::parse(what.clone()))?,
            })
        };
        let late = |_| Error::Timeout {
            what: what.clone(),
            limit: PATIENCE,
            state: "the server is silent".to_owned(),
        };
        tokio::time::timeout(PATIENCE, exchange).await.map_err(late)?
    }
}

/// The object at a path.
pub async fn read(client: &Client, path: &str) -> Result<Option<Json>, Error> {
    let reply = Request::get(path).send(client).await?;
    if reply.code == 404 {
        return Ok(None);
    }
    let text = reply.success(&format!("read {path}"))?;
    text.parse().map(Some).map_err(Error::parse(format!("what is at {path}")))
}

/// Saves the OpenAPI document of a group and version as a file in `folder`, and returns its path.
pub async fn openapi_document(client: &Client, api_version: &str, folder: &Path) -> Result<PathBuf, Error> {
    let root = if api_version.contains('/') { "apis" } else { "api" };
    let path = format!("/openapi/v3/{root}/{api_version}");
    let text = Request::get(&path).send(client).await?.success(&format!("read {path}"))?;
    let file = folder.join(format!("{}.json", api_version.replace('/', "__")));
    // Several tests may save it at the same time, and none may see half a file.
    let failed = || Error::file("write", &file);
    let mut temporary = NamedTempFile::new_in(folder).map_err(failed())?;
    temporary.write_all(text.as_bytes()).map_err(failed())?;
    temporary.persist(&file).map_err(|error| failed()(error.error))?;
    Ok(file)
}

impl Reply {
    /// The body of a success.
    ///
    /// # Errors
    /// When the request was refused. Names the request.
    pub fn success(self, what: &str) -> Result<String, Error> {
        self.into_result().map_err(|status| Error::api(what)(kube::Error::Api(status)))
    }

    /// The body of a success, or the status of a refusal.
    pub fn into_result(self) -> Responded {
        if (200..300).contains(&self.code) {
            return Ok(self.text);
        }
        Err(Box::new(serde_json::from_str(&self.text).unwrap_or_else(|_| {
            // Not everything in front of an API server responds with a Status.
            Status::failure(&self.text, "Unknown").with_code(self.code)
        })))
    }
}

/// The text of a response, or the refusal.
pub type Responded = Result<String, Box<Status>>;
