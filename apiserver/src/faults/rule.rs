//! Actions, and the requests that rules decide by. Nothing here does I/O.

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

pub(super) type Rules = Box<dyn Fn(&RequestInfo) -> Action + Send + Sync>;

/// Changes the body of a response.
type Change = Box<dyn FnOnce(&mut Value) + Send>;

/// The fault of a request.
#[non_exhaustive]
pub enum Action {
    /// The server gets it, and the client gets the response.
    Forward,
    /// The server gets it; the client gets a successful response with its JSON changed. The response is read whole first,
    /// so this isn't for watches. A response that isn't JSON ends the connection.
    Rewrite(Change),
    /// The server doesn't get it; the client gets this response.
    Respond {
        /// The HTTP status code.
        code: u16,
        /// The body.
        body: Value,
        /// The seconds of `Retry-After`, if any.
        retry_after: Option<u32>,
    },
    /// The server doesn't get it, and the connection ends.
    Cut,
    /// The server gets it, and the connection ends after this time. For watches.
    CutLater(Duration),
    /// The server gets it this much later.
    Delay(Duration),
    /// The server gets it once this future completes, such as another client's write, or a restart.
    Behind(BoxFuture<'static, ()>),
    /// The server doesn't get it, and the client waits for its own timeout.
    Hold,
    /// The server completes the request first: after a [`Cut`](Self::Cut) a write is stored and the client doesn't know;
    /// with [`Respond`](Self::Respond) the client gets another response; with [`Delay`](Self::Delay) it gets the response
    /// late. Not for watches, which don't complete.
    After(Box<Self>),
}

impl Action {
    /// [`After`](Self::After) the server has completed the request.
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

    /// [`Behind`](Self::Behind) this future.
    pub fn behind(other: impl Future<Output = ()> + Send + 'static) -> Self {
        Self::Behind(Box::pin(other))
    }

    /// [`Rewrite`](Self::Rewrite) by this function.
    pub fn rewrite(change: impl FnOnce(&mut Value) + Send + 'static) -> Self {
        Self::Rewrite(Box::new(change))
    }

    /// [`Respond`](Self::Respond) with a `Status`: code, reason such as `Conflict`, and message.
    pub fn fail(code: u16, reason: &str, message: &str) -> Self {
        Self::Respond { code, body: status(code, reason, message), retry_after: None }
    }

    /// [`Respond`](Self::Respond) as an overloaded server: 429, with `Retry-After` in seconds.
    pub fn too_many_requests(retry_after: u32) -> Self {
        let body = status(429, "TooManyRequests", "the server has received too many requests");
        Self::Respond { code: 429, body, retry_after: Some(retry_after) }
    }

    /// [`Respond`](Self::Respond) to a watch or list of a compacted version: 410.
    pub fn gone() -> Self {
        Self::Respond { code: 410, body: expired(), retry_after: None }
    }

    /// [`Respond`](Self::Respond) to a watch as servers also do: it starts, and its only event is the error 410.
    pub fn gone_event() -> Self {
        Self::Respond { code: 200, body: json!({"type": "ERROR", "object": expired()}), retry_after: None }
    }
}

fn expired() -> Value {
    status(410, "Expired", "too old resource version")
}

/// A `Status` of a failure.
fn status(code: u16, reason: &str, message: &str) -> Value {
    json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "code": code, "reason": reason, "message": message,
    })
}

/// The name of the client, an extension of the request.
#[derive(Clone, Debug)]
pub(crate) struct ClientName(pub(crate) Arc<str>);

/// A request, as rules see it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RequestInfo {
    /// The HTTP method; server-side apply is a `PATCH`.
    pub method: Method,
    /// The path, without the query.
    pub path: String,
    /// The number of the write among all writes, from 1; `None` for reads and dry runs. A retry counts again.
    pub write: Option<usize>,
    /// The client: its name, if it has [one](crate::ApiServer::client_named), otherwise its `User-Agent`, otherwise empty.
    pub client: String,
    query: Query,
    is_dry_run: bool,
}

impl RequestInfo {
    /// All but the number of the write.
    pub(crate) fn of<B>(request: &Request<B>, body: &[u8]) -> Self {
        let method = request.method().clone();
        let query = Query::of(request.uri().query());
        let is_dry_run = query.get("dryRun").is_some() || method == Method::DELETE && tries(body);
        let name = request.extensions().get().map(|ClientName(name)| &**name);
        let agent = || request.headers().get(USER_AGENT)?.to_str().ok();
        let client = name.or_else(agent).unwrap_or_default().to_owned();
        Self { method, path: request.uri().path().to_owned(), write: None, client, query, is_dry_run }
    }

    /// The value of a query parameter, such as `fieldManager`, unescaped.
    pub fn query(&self, key: &str) -> Option<&str> {
        self.query.get(key)
    }

    /// Whether it is a watch.
    pub fn is_watch(&self) -> bool {
        self.method == Method::GET && self.query.flag("watch").unwrap_or(false)
    }

    pub(super) fn is_write(&self) -> bool {
        // A review is a read, sent with POST.
        !self.method.is_safe() && !self.is_dry_run && !self.path.ends_with("/selfsubjectaccessreviews")
    }
}

/// Whether a deletion's options, in the body, ask for a dry run.
fn tries(options: &[u8]) -> bool {
    let options: Value = serde_json::from_slice(options).unwrap_or_default();
    options["dryRun"].as_array().is_some_and(|stages| !stages.is_empty())
}

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

/// The successful response with its JSON changed; others as they are. `None` if it ends early or isn't JSON.
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
