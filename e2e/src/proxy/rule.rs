//! What can be done to a request, and what a rule is told to decide by. Nothing here touches the network.

use std::time::Duration;

use hyper::{
    Method, Response, StatusCode, Uri,
    header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderValue},
};
use kube::client::Body;
use serde_json::{Value, json};

use crate::query;

/// Decides what happens to a request.
pub(super) type Rules = Box<dyn Fn(&RequestInfo) -> Action + Send + Sync>;

/// Changes the body of an answer.
type Change = Box<dyn FnOnce(&mut Value) + Send>;

/// What happens to a request.
pub enum Action {
    /// The server gets it, and the client the answer.
    Forward,
    /// The server gets it; if it succeeds, the client gets an answer whose JSON was changed. The answer is read whole
    /// first, so this isn't for watches. An answer that isn't JSON ends the connection.
    Rewrite(Change),
    /// The server doesn't get it; this is the answer.
    Answer {
        /// The HTTP status code.
        code: u16,
        /// The body.
        body: Value,
    },
    /// The server doesn't get it, and the connection ends.
    CutBefore,
    /// The server gets it and has answered when the connection ends without the client having seen the answer.
    CutAfter,
    /// The server gets it this much later.
    Delay(Duration),
}

impl Action {
    /// [`Rewrite`](Self::Rewrite) by this.
    pub fn rewrite(change: impl FnOnce(&mut Value) + Send + 'static) -> Self {
        Self::Rewrite(Box::new(change))
    }

    /// [`Answer`](Self::Answer) with a failure as the API server tells it: status code, reason such as `Conflict`, and
    /// words for people.
    pub fn fail(code: u16, reason: &str, message: &str) -> Self {
        let body = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "code": code, "reason": reason, "message": message,
        });
        Self::Answer { code, body }
    }
}

/// What a rule is told about a request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RequestInfo {
    /// The HTTP method; server-side apply is a `PATCH`.
    pub method: Method,
    /// The path, without the query.
    pub path: String,
    /// If it could change something: the how manieth such request of this proxy it is, from 1. A client that tries again
    /// counts again; dry runs don't count.
    pub write: Option<usize>,
    uri: String,
}

impl RequestInfo {
    /// All but its number.
    pub(super) fn of(method: &Method, uri: &Uri) -> Self {
        let path = uri.path().to_owned();
        Self { method: method.clone(), path, write: None, uri: uri.to_string() }
    }

    /// The value of a parameter in the query, such as `fieldManager`, with its escapes resolved.
    pub fn query(&self, key: &str) -> Option<String> {
        query::value(&self.uri, key)
    }

    pub(super) fn is_write(&self) -> bool {
        !self.method.is_safe() && self.query("dryRun").is_none()
    }
}

/// The answer that a rule gives.
pub(super) fn answer(code: u16, body: &Value) -> Response<Body> {
    let mut answer = Response::new(Body::from(body.to_string().into_bytes()));
    *answer.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    answer
}

/// The answer with its JSON changed; one that tells of no success as it is. `None` when it ends too early or isn't JSON.
pub(super) async fn rewritten(answer: Response<Body>, change: Change) -> Option<Response<Body>> {
    if !answer.status().is_success() {
        return Some(answer);
    }
    let (mut head, body) = answer.into_parts();
    let mut body: Value = serde_json::from_slice(&body.collect_bytes().await.ok()?).ok()?;
    change(&mut body);
    head.headers.remove(CONTENT_LENGTH);
    Some(Response::from_parts(head, Body::from(body.to_string().into_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(method: &Method, uri: &str) -> RequestInfo {
        RequestInfo::of(method, &uri.parse().unwrap())
    }

    #[test]
    fn a_rule_is_told_path_and_query() {
        let request =
            info(&Method::PATCH, "/apis/apps/v1/namespaces/a/deployments/web?fieldManager=a%2Fb&force=true");
        assert_eq!(request.path, "/apis/apps/v1/namespaces/a/deployments/web");
        assert_eq!(request.query("fieldManager").as_deref(), Some("a/b"));
        assert_eq!(request.query("dryRun"), None);
    }

    #[test]
    fn only_what_could_change_something_is_a_write() {
        for method in [Method::POST, Method::PUT, Method::PATCH, Method::DELETE] {
            assert!(info(&method, "/x?force=true").is_write(), "{method}");
            assert!(!info(&method, "/x?dryRun=All").is_write(), "{method}");
        }
        assert!(!info(&Method::GET, "/x?watch=true").is_write());
    }

    #[tokio::test]
    async fn a_success_is_rewritten_and_a_failure_is_not() {
        let rewrite = async |code| {
            let answer = rewritten(answer(code, &json!({"a": 1})), Box::new(|body| body["a"] = json!(2)));
            let body = answer.await.unwrap().into_body().collect_bytes().await.unwrap();
            String::from_utf8(body.to_vec()).unwrap()
        };
        assert_eq!(rewrite(200).await, r#"{"a":2}"#);
        assert_eq!(rewrite(404).await, r#"{"a":1}"#);
    }
}
