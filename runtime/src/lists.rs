//! A limit for the memory that lists take, whatever they contain.
//!
//! Users may create objects of 1.5 MB, which may be 9 MB as JSON. So of all lists of a client one response is in memory at a time, and
//! a page that is too large is requested again with one object.

use std::{sync::Arc, time::Duration};

use http::{Method, Request, Response, Uri, request::Parts};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::Bytes;
use kube::{Client, client::Body};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};
use tower::BoxError;

/// The largest page of more than one object, in bytes.
const LARGEST_PAGE: usize = 8 << 20;
/// How long the body of a response may take.
const READ_WITHIN: Duration = Duration::from_secs(30);

/// The client whose lists take turns.
pub(crate) fn in_turns(client: Client) -> Client {
    let (namespace, turn) = (client.default_namespace().to_owned(), Arc::new(Semaphore::new(1)));
    let service = tower::service_fn(move |request: Request<Body>| {
        let (client, turn) = (client.clone(), turn.clone());
        async move {
            let Some(single) = as_single(&request)? else { return Ok(client.send(request).await?) };
            let (mut parts, _) = request.into_parts();
            if let Some(page) = read(&client, &turn, parts.clone(), LARGEST_PAGE).await? {
                return Ok(page);
            }
            parts.uri = single;
            let page = read(&client, &turn, parts, usize::MAX).await?;
            page.ok_or_else(|| BoxError::from("no page is that large"))
        }
    });
    Client::new(service, namespace)
}

/// The same list a single object at a time; none if this isn't a list by pages.
fn as_single(request: &Request<Body>) -> Result<Option<Uri>, BoxError> {
    let (list, is_limit) = (request.uri(), |pair: &&str| pair.starts_with("limit="));
    if request.method() != Method::GET {
        return Ok(None);
    }
    let Some((path, query)) = list.path_and_query().and_then(|all| all.as_str().split_once('?')) else {
        return Ok(None);
    };
    if !query.split('&').any(|pair| is_limit(&pair)) {
        return Ok(None);
    }
    let query: Vec<&str> =
        query.split('&').map(|pair| if is_limit(&pair) { "limit=1" } else { pair }).collect();
    let mut parts = list.clone().into_parts();
    parts.path_and_query = Some(format!("{path}?{}", query.join("&")).parse()?);
    Ok(Some(Uri::from_parts(parts)?))
}

/// A page, which keeps the turn as long as it is in memory; none if it is larger than this.
async fn read(
    client: &Client,
    turn: &Arc<Semaphore>,
    parts: Parts,
    largest: usize,
) -> Result<Option<Response<Body>>, BoxError> {
    let (head, body) = client.send(Request::from_parts(parts, Body::empty())).await?.into_parts();
    let turn = turn.clone().acquire_owned().await?;
    match timeout(READ_WITHIN, Limited::new(body, largest).collect()).await? {
        Ok(page) => {
            let page = Page { text: page.to_bytes(), _turn: turn };
            Ok(Some(Response::from_parts(head, Body::from(Bytes::from_owner(page)))))
        }
        Err(error) if error.is::<LengthLimitError>() => Ok(None),
        Err(error) => Err(error),
    }
}

struct Page {
    text: Bytes,
    _turn: OwnedSemaphorePermit,
}

impl AsRef<[u8]> for Page {
    fn as_ref(&self) -> &[u8] {
        &self.text
    }
}

#[cfg(test)]
mod tests {
    use std::{
        convert::Infallible,
        sync::{
            Mutex,
            atomic::{AtomicUsize, Ordering},
        },
    };

    use futures::{StreamExt as _, future::join_all, stream};
    use http_body_util::StreamBody;
    use hyper::body::Frame;
    use kube::{Api, api::ListParams, core::DynamicObject};
    use serde_json::{Value, json};

    use super::*;
    use crate::lock::lock;

    /// The requests that a server has had.
    #[derive(Clone, Default)]
    struct Seen {
        /// The queries, in order.
        queries: Arc<Mutex<Vec<String>>>,
        /// How many responses are being read, and were at most.
        responses: Arc<AtomicUsize>,
        most: Arc<AtomicUsize>,
    }

    /// The beginning of a response, which is counted as long as it is in memory.
    struct Counted(Vec<u8>, Seen);

    impl Counted {
        fn new(text: Vec<u8>, seen: Seen) -> Self {
            let responses = seen.responses.fetch_add(1, Ordering::Relaxed) + 1;
            seen.most.fetch_max(responses, Ordering::Relaxed);
            Self(text, seen)
        }
    }

    impl AsRef<[u8]> for Counted {
        fn as_ref(&self) -> &[u8] {
            &self.0
        }
    }

    impl Drop for Counted {
        fn drop(&mut self) {
            self.1.responses.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// A server that returns as many objects as it is asked for, each with so many bytes.
    fn server(size: usize) -> (Api<DynamicObject>, Seen) {
        let seen = Seen::default();
        let server = {
            let seen = seen.clone();
            tower::service_fn(move |request: Request<Body>| {
                let query = request.uri().query().unwrap_or_default().to_owned();
                let limit = query.split('&').find_map(|pair| pair.strip_prefix("limit="));
                let count = limit.map_or(1, |limit| limit.parse().unwrap());
                lock(&seen.queries).push(query);
                let object = json!({"metadata": {"name": "web"}, "text": "x".repeat(size)});
                let list = json!({"metadata": {}, "items": vec![object; count]});
                let mut text = list.to_string().into_bytes();
                let end = text.split_off(text.len() / 2);
                let seen = seen.clone();
                let begin = async move { Bytes::from_owner(Counted::new(text, seen)) };
                let end = async move {
                    tokio::task::yield_now().await;
                    Bytes::from(end)
                };
                let body = stream::once(begin).chain(stream::once(end));
                let body = body.map(|part| Ok::<_, Infallible>(Frame::data(part)));
                let response = Response::new(StreamBody::new(body));
                std::future::ready(Ok::<_, Infallible>(response))
            })
        };
        let pods = kube::core::ApiResource::erase::<k8s_openapi::api::core::v1::Pod>(&());
        (Api::all_with(in_turns(Client::new(server, "default")), &pods), seen)
    }

    fn page(token: &str) -> ListParams {
        ListParams::default().labels("a=b").limit(10).continue_token(token)
    }

    #[tokio::test]
    async fn a_page_that_is_too_large_is_asked_for_again_with_one_object() {
        let (api, seen) = server(LARGEST_PAGE / 100);
        assert_eq!(api.list(&page("t")).await.unwrap().items.len(), 10);
        let (api, large) = server(LARGEST_PAGE);
        let listed = api.list(&page("t")).await.unwrap();
        assert_eq!(
            listed.items[0].data["text"].as_str().map(str::len),
            Some(LARGEST_PAGE),
            "one may be that large"
        );
        assert_eq!(listed.items.len(), 1);
        let query = |limit: &str| format!("labelSelector=a%3Db&limit={limit}&continue=t");
        assert_eq!(*lock(&seen.queries), [query("10")].map(|q| format!("&{q}")));
        assert_eq!(*lock(&large.queries), [query("10"), query("1")].map(|q| format!("&{q}")));
    }

    #[tokio::test]
    async fn one_response_is_read_at_a_time() {
        let (api, seen) = server(LARGEST_PAGE / 20);
        let lists = (0..8).map(|number| {
            let api = api.clone();
            async move { api.list(&page(&number.to_string())).await.unwrap().items.len() }
        });
        assert_eq!(join_all(lists).await, [10; 8]);
        assert_eq!(seen.most.load(Ordering::Relaxed), 1);
        assert_eq!(seen.responses.load(Ordering::Relaxed), 0);
    }

    #[tokio::test]
    async fn other_requests_pass_as_they_are() {
        let (api, seen) = server(2 * LARGEST_PAGE);
        let all: Value = serde_json::to_value(api.list(&ListParams::default()).await.unwrap()).unwrap();
        assert_eq!(all["items"].as_array().map(Vec::len), Some(1));
        assert_eq!(*lock(&seen.queries), [""]);
        let path = "/api/v1/pods?limit=10";
        let request =
            |method: Method| Request::builder().method(method).uri(path).body(Body::empty()).unwrap();
        assert!(as_single(&request(Method::DELETE)).unwrap().is_none(), "it has a body");
        assert!(as_single(&request(Method::GET)).unwrap().is_some());
    }
}
