//! What can be done to a request, and what a rule decides by. Nothing here touches the network.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use futures::future::BoxFuture;
use http::{
    Method, Request, Response, StatusCode,
    header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderValue, RETRY_AFTER, USER_AGENT},
};
use http_body::Body;
use http_body_util::{BodyExt as _, Either, Full};
use serde_json::{Value, json};

use crate::options::Query;

/// Decides what happens to a request.
pub(super) type Rules = Box<dyn Fn(&RequestInfo) -> Action + Send + Sync>;

/// Changes the body of a response.
type Change = Box<dyn FnOnce(&mut Value) + Send>;

/// What happens to a request.
#[non_exhaustive]
pub enum Action {
    /// The server gets it, and the client gets the response.
    Forward,
    /// The server gets it; if it succeeds, the client gets a response whose JSON was changed. The response is read whole
    /// first, so this isn't for watches. A response that isn't JSON ends the connection.
    Rewrite(Change),
    /// The server doesn't get it; this is the response.
    Respond {
        /// The HTTP status code.
        code: u16,
        /// The body.
        body: Value,
        /// In how many seconds the client may try again; not said if absent.
        retry_after: Option<u32>,
    },
    /// The server doesn't get it, and the connection ends.
    Cut,
    /// The server gets it, and the response flows until this time is over; then the connection ends. For watches.
    CutLater(Duration),
    /// The server gets it this much later.
    Delay(Duration),
    /// The server gets it once this is done, such as another client's write, or a restart.
    Behind(BoxFuture<'static, ()>),
    /// The server doesn't get it, and the client waits until it times out.
    Hold,
    /// The server gets it and has done all of it when this happens to the response: after a [`Cut`](Self::Cut) a write is
    /// stored and the client doesn't know, after a [`Respond`](Self::Respond) it gets another response, after a
    /// [`Delay`](Self::Delay) it gets it late. Not for watches, which have no end.
    After(Box<Self>),
}

impl Action {
    /// [`After`](Self::After) the server has done the request.
    #[must_use]
    pub fn after(action: Self) -> Self {
        Self::After(Box::new(action))
    }

    /// Whether the action comes after the request, and the action itself.
    pub(super) fn unwrapped(mut self) -> (bool, Self) {
        let mut is_after = false;
        while let Self::After(inner) = self {
            (is_after, self) = (true, *inner);
        }
        (is_after, self)
    }

    /// [`Behind`](Self::Behind) this.
    pub fn behind(other: impl Future<Output = ()> + Send + 'static) -> Self {
        Self::Behind(Box::pin(other))
    }

    /// [`Rewrite`](Self::Rewrite) by this.
    pub fn rewrite(change: impl FnOnce(&mut Value) + Send + 'static) -> Self {
        Self::Rewrite(Box::new(change))
    }

    /// [`Respond`](Self::Respond) with a failure as the API server reports it: status code, reason such as `Conflict`, and
    /// a message for people.
    pub fn fail(code: u16, reason: &str, message: &str) -> Self {
        Self::Respond { code, body: status(code, reason, message), retry_after: None }
    }

    /// [`Respond`](Self::Respond) as a server that has too much to do: 429, and in how many seconds to try again.
    pub fn too_many_requests(retry_after: u32) -> Self {
        let body = status(429, "TooManyRequests", "the server has received too many requests");
        Self::Respond { code: 429, body, retry_after: Some(retry_after) }
    }

    /// [`Respond`](Self::Respond) to a watch or list that asks for what has been compacted: 410.
    pub fn gone() -> Self {
        Self::Respond { code: 410, body: expired(), retry_after: None }
    }

    /// [`Respond`](Self::Respond) to a watch, which a server may do as well: the watch begins, and its one event is the error 410.
    pub fn gone_event() -> Self {
        Self::Respond { code: 200, body: json!({"type": "ERROR", "object": expired()}), retry_after: None }
    }
}

fn expired() -> Value {
    status(410, "Expired", "too old resource version")
}

/// A failure as the API server reports it.
fn status(code: u16, reason: &str, message: &str) -> Value {
    json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "code": code, "reason": reason, "message": message,
    })
}

/// The name of the client that sends a request, among the request's extensions.
#[derive(Clone, Debug)]
pub(crate) struct ClientName(pub(crate) Arc<str>);

/// What a rule knows of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RequestInfo {
    /// The HTTP method; server-side apply is a `PATCH`.
    pub method: Method,
    /// The path, without the query.
    pub path: String,
    /// If it could change something: its number among such requests, from 1. A client that tries again counts again; dry runs
    /// don't count.
    pub write: Option<usize>,
    /// The client that sent it: its name, if it has [one](crate::ApiServer::client_named), else its `User-Agent`, else nothing.
    pub client: String,
    query: Query,
    is_dry_run: bool,
}

impl RequestInfo {
    /// All but its number.
    pub(crate) fn of<B>(request: &Request<B>, body: &[u8]) -> Self {
        let method = request.method().clone();
        let query = Query::of(request.uri().query());
        let is_dry_run = query.get("dryRun").is_some() || method == Method::DELETE && tries(body);
        let name = request.extensions().get().map(|ClientName(name)| &**name);
        let agent = || request.headers().get(USER_AGENT)?.to_str().ok();
        let client = name.or_else(agent).unwrap_or_default().to_owned();
        Self { method, path: request.uri().path().to_owned(), write: None, client, query, is_dry_run }
    }

    /// The value of a parameter in the query, such as `fieldManager`, with its escapes resolved.
    pub fn query(&self, key: &str) -> Option<&str> {
        self.query.get(key)
    }

    /// Whether the response goes on for as long as both sides like.
    pub fn is_watch(&self) -> bool {
        self.method == Method::GET && self.query.flag("watch").unwrap_or(false)
    }

    pub(super) fn is_write(&self) -> bool {
        // A review is a read that is sent by POST.
        !self.method.is_safe() && !self.is_dry_run && !self.path.ends_with("/selfsubjectaccessreviews")
    }
}

/// Whether the options of a deletion, which are its body, say that it is only tried.
fn tries(options: &[u8]) -> bool {
    let options: Value = serde_json::from_slice(options).unwrap_or_default();
    options["dryRun"].as_array().is_some_and(|stages| !stages.is_empty())
}

/// The response that a rule gives.
pub(super) fn response<B>(
    code: u16,
    body: &Value,
    retry_after: Option<u32>,
) -> Response<Either<Full<Bytes>, B>> {
    let mut response = Response::new(Either::Left(Full::from(body.to_string())));
    *response.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if let Some(seconds) = retry_after {
        response.headers_mut().insert(RETRY_AFTER, seconds.into());
    }
    response
}

/// The response with its JSON changed; one that reports no success as it is. `None` when it ends too early or isn't JSON.
pub(super) async fn rewritten<B: Body<Data = Bytes>>(
    response: Response<Either<Full<Bytes>, B>>,
    change: Change,
) -> Option<Response<Either<Full<Bytes>, B>>> {
    if !response.status().is_success() {
        return Some(response);
    }
    let (mut head, body) = response.into_parts();
    let body = match body {
        Either::Left(body) => body.collect().await.ok()?.to_bytes(),
        Either::Right(body) => body.collect().await.ok()?.to_bytes(),
    };
    let mut body: Value = serde_json::from_slice(&body).ok()?;
    change(&mut body);
    head.headers.remove(CONTENT_LENGTH);
    Some(Response::from_parts(head, Either::Left(Full::from(body.to_string()))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(method: &Method, uri: &str) -> RequestInfo {
        RequestInfo::of(&Request::builder().method(method).uri(uri).body(()).unwrap(), b"")
    }

    #[test]
    fn a_rule_gets_path_and_query() {
        let request =
            info(&Method::PATCH, "/apis/apps/v1/namespaces/a/deployments/web?fieldManager=a%2Fb&force=true");
        assert_eq!(request.path, "/apis/apps/v1/namespaces/a/deployments/web");
        assert_eq!(request.query("fieldManager"), Some("a/b"));
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

    #[test]
    fn the_body_of_a_deletion_can_make_it_a_dry_run() {
        let deletion = |options: &Value| {
            RequestInfo::of(&Request::delete("/x").body(()).unwrap(), options.to_string().as_bytes())
        };
        assert!(!deletion(&json!({"dryRun": ["All"], "propagationPolicy": "Background"})).is_write());
        assert!(deletion(&json!({"dryRun": []})).is_write());
        assert!(deletion(&json!({"propagationPolicy": "Background"})).is_write());
    }

    #[test]
    fn a_client_is_known_by_its_name_or_else_by_its_user_agent() {
        let mut request = Request::get("/x").header(USER_AGENT, "kubectl/v1.36").body(()).unwrap();
        assert_eq!(RequestInfo::of(&request, b"").client, "kubectl/v1.36");
        request.extensions_mut().insert(ClientName("one".into()));
        assert_eq!(RequestInfo::of(&request, b"").client, "one");
        assert_eq!(info(&Method::GET, "/x").client, "");
    }

    #[test]
    fn a_watch_is_a_get_that_says_so() {
        assert!(info(&Method::GET, "/x?limit=1&watch=true").is_watch());
        assert!(!info(&Method::GET, "/x?watch=false").is_watch());
        assert!(!info(&Method::GET, "/x").is_watch());
    }

    #[tokio::test]
    async fn a_success_is_rewritten_and_a_failure_is_not() {
        let rewrite = async |code| {
            let whole = response::<Full<Bytes>>(code, &json!({"a": 1}), None);
            let rewritten = rewritten(whole, Box::new(|body| body["a"] = json!(2)));
            let body = rewritten.await.unwrap().into_body().collect().await.unwrap().to_bytes();
            String::from_utf8(body.to_vec()).unwrap()
        };
        assert_eq!(rewrite(200).await, r#"{"a":2}"#);
        assert_eq!(rewrite(404).await, r#"{"a":1}"#);
    }
}
