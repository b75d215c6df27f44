//! The network between the operators and the server. Each request, each response and each event of a watch waits here until it is
//! delivered, one at a time.
//!
//! So the run decides the order of delivery, from its seed and by names that don't depend on chance. The order in which the runtime
//! polls tasks that are ready at the same moment can't be controlled, and doesn't matter then.

use std::{
    collections::BTreeMap,
    fmt,
    future::ready,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    sync::{Arc, Mutex, MutexGuard},
};

use baton_testbed::lock;
use bytes::Bytes;
use futures::{StreamExt as _, TryStreamExt as _};
use http::{Method, Request, Response, response};
use http_body::Frame;
use http_body_util::{BodyExt as _, Full, StreamBody, combinators::UnsyncBoxBody};
use kube::{Client, client::Body};
use serde_json::Value;
use tokio::{
    sync::{Notify, oneshot},
    time::Instant,
};

use super::plan::OperatorId;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// One run of an operator's process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Process {
    pub(super) operator: OperatorId,
    /// Incremented with each start.
    pub(super) start: u32,
}

/// The identity of an item on the wire.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Ticket {
    pub(super) process: Process,
    pub(super) label: String,
    /// Counts the items with this label.
    nth: u64,
}

/// Something on the wire.
pub(super) struct Item {
    pub(super) what: What,
    /// The earliest time at which it arrives.
    pub(super) not_before: Option<Instant>,
}

pub(super) enum What {
    Request(Box<Sent>),
    Response(Box<ServerResponse>, Reply),
    Event(WatchEvent),
}

/// A request.
pub(super) struct Sent {
    pub(super) request: Request<Bytes>,
    /// Absent if its sender has given it up.
    pub(super) reply: Option<Reply>,
    /// The newest version in the server when it was sent.
    pub(super) since: u64,
}

/// An event of a watch.
pub(super) struct WatchEvent {
    pub(super) data: Bytes,
    /// The watched resource, in the plural.
    pub(super) resource: String,
    give: oneshot::Sender<Option<Bytes>>,
}

/// A response.
pub(super) struct ServerResponse {
    pub(super) head: response::Parts,
    pub(super) body: ResponseBody,
}

pub(super) enum ResponseBody {
    Whole(Bytes),
    /// A watch of this resource.
    Watch(String, Body),
}

pub(super) type Reply = oneshot::Sender<Result<ServerResponse, NoResponse>>;

/// The connection ended.
#[derive(Debug, thiserror::Error)]
#[error("the connection ended without a response")]
pub(super) struct NoResponse;

/// The wire. Clones share it.
#[derive(Clone, Default)]
pub(super) struct Network(Arc<Shared>);

#[derive(Default)]
struct Shared {
    wire: Mutex<Wire>,
    arrived: Notify,
}

#[derive(Default)]
struct Wire {
    items: BTreeMap<Ticket, Item>,
    labels: BTreeMap<(Process, String), u64>,
    revision: u64,
}

impl Network {
    /// The client of an operator's process, with the operator's ServiceAccount.
    pub(super) fn client(&self, process: Process) -> Client {
        let network = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let network = network.clone();
            async move {
                let (head, body) = request.into_parts();
                let request = Request::from_parts(head, body.collect().await?.to_bytes());
                let label = label(&request);
                let (reply, response) = oneshot::channel();
                let since = network.wire().revision;
                let sent = Sent { request, reply: Some(reply), since };
                network.put(process, label.clone(), What::Request(Box::new(sent)));
                let ServerResponse { head, body } = response.await.unwrap_or(Err(NoResponse))?;
                let body = match body {
                    ResponseBody::Whole(body) => Full::new(body).map_err(BoxError::from).boxed_unsync(),
                    ResponseBody::Watch(resource, body) => network.events(process, resource, body),
                };
                Ok::<_, BoxError>(Response::from_parts(head, body))
            }
        });
        Client::new(service, "baton-system")
    }

    fn wire(&self) -> MutexGuard<'_, Wire> {
        lock(&self.0.wire)
    }

    /// Sets the newest version in the server.
    pub(super) fn is_at(&self, revision: u64) {
        self.wire().revision = revision;
    }

    pub(super) fn put(&self, process: Process, label: String, what: What) {
        self.put_later(process, label, what, None);
    }

    pub(super) fn put_later(&self, process: Process, label: String, what: What, not_before: Option<Instant>) {
        let mut wire = self.wire();
        let nth = wire.labels.entry((process, label.clone())).or_default();
        *nth += 1;
        let ticket = Ticket { process, label, nth: *nth };
        wire.items.insert(ticket, Item { what, not_before });
        self.0.arrived.notify_one();
    }

    /// The events of a watch, each of which waits for its delivery.
    fn events(&self, process: Process, resource: String, body: Body) -> UnsyncBoxBody<Bytes, BoxError> {
        let network = self.clone();
        let events = body.into_data_stream().err_into::<BoxError>().and_then(move |data| {
            let (give, given) = oneshot::channel();
            let event = WatchEvent { data, resource: resource.clone(), give };
            network.put(process, format!("event of {resource}"), What::Event(event));
            async move { Ok(given.await.unwrap_or_default()) }
        });
        let events = events.try_filter_map(|event| ready(Ok(event))).map_ok(Frame::data);
        StreamBody::new(events.boxed()).boxed_unsync()
    }

    /// Waits until an item is added.
    pub(super) async fn arrived(&self) {
        self.0.arrived.notified().await;
    }

    /// The items that may be delivered now, in their order, and when the next one may be. `may` returns until when an item has to wait.
    pub(super) fn ready(
        &self,
        may: impl Fn(&Ticket, &Item) -> Option<Instant>,
    ) -> (Vec<Ticket>, Option<Instant>) {
        let now = Instant::now();
        let (mut ready, mut next) = (Vec::new(), None::<Instant>);
        for (ticket, item) in &self.wire().items {
            match may(ticket, item).max(item.not_before).filter(|at| *at > now) {
                None => ready.push(ticket.clone()),
                Some(at) => next = Some(next.map_or(at, |next| next.min(at))),
            }
        }
        (ready, next)
    }

    pub(super) fn take(&self, ticket: &Ticket) -> Option<Item> {
        self.wire().items.remove(ticket)
    }

    /// Removes the items of a process that is gone. Its requests may stay on their way.
    pub(super) fn gone(&self, process: Process, keeps_requests: bool) {
        self.wire().items.retain(|ticket, item| {
            ticket.process != process || keeps_requests && matches!(item.what, What::Request(_))
        });
    }
}

impl WatchEvent {
    /// Delivers it, perhaps changed, or drops it.
    pub(super) fn give(self, data: Option<Bytes>) {
        // The client of the watch may be gone.
        let _ = self.give.send(data);
    }
}

/// A name for a request, without what depends on chance or on the real clock.
fn label(request: &Request<Bytes>) -> String {
    let (method, path) = (request.method(), request.uri().path());
    if let Some((before, _)) = path.split_once("/events") {
        // The name and the times of an Event depend on the real clock.
        let event: Value = serde_json::from_slice(request.body()).unwrap_or_default();
        let known = [&event["regarding"]["name"], &event["reason"], &event["action"], &event["note"]];
        return format!("{method} {before}/events {known:?}");
    }
    let mut hasher = DefaultHasher::new();
    request.body().hash(&mut hasher);
    let query = request.uri().query().unwrap_or_default();
    format!("{method} {path}?{query} {:08x}", hasher.finish() & u64::from(u32::MAX))
}

/// Whether a request could change something.
pub(super) fn is_write(request: &Request<Bytes>) -> bool {
    !matches!(*request.method(), Method::GET | Method::HEAD)
        && !request.uri().path().ends_with("accessreviews")
        && !request.uri().query().is_some_and(|query| query.contains("dryRun"))
}

impl fmt::Display for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Process { operator, start } = self.process;
        write!(f, "{}.{start} {}", operator.0, self.label)
    }
}
