//! The API server inside this process, as tests use it.

use std::{
    fmt,
    sync::{Arc, Mutex},
};

use baton_apiserver::{
    Actor, ApiServer,
    faults::{Action, Faults},
};
use http_body_util::BodyExt as _;
use hyper::{
    Request,
    header::{AUTHORIZATION, HeaderValue},
};
use jiff::Timestamp;
use kube::{Client, client::Body};
use tokio::time::Instant;

use crate::{AuditLog, Error, lock};

/// A server with its actors, and with an audit log in memory. Its clock goes by tokio's.
pub struct Embedded {
    number: usize,
    server: ApiServer,
    clock: Clock,
    log: Arc<Mutex<Vec<u8>>>,
}

impl Embedded {
    pub(super) fn start(
        number: usize,
        start: Timestamp,
        actors: impl IntoIterator<Item = Actor>,
    ) -> Result<Self, Error> {
        let (clock, log) = (Clock { start, began: Instant::now() }, Arc::<Mutex<Vec<u8>>>::default());
        let lines = log.clone();
        let server = ApiServer::builder()
            .actors(actors)
            .clock(move || clock.now())
            .audit(move |line| {
                let mut lines = lock(&lines);
                lines.extend_from_slice(line.as_bytes());
                lines.push(b'\n');
            })
            .start()
            .map_err(Error::parse("how an API server starts inside this process"))?;
        Ok(Self { number, server, clock, log })
    }

    /// The server itself, for its actors' settings and restarts.
    pub fn server(&self) -> &ApiServer {
        &self.server
    }

    pub(super) fn id(&self) -> String {
        format!("in process {}", self.number)
    }

    pub(super) fn client(&self) -> Client {
        self.server.client()
    }

    /// A client that is this ServiceAccount, and whose requests meet these faults.
    pub(super) fn client_for(&self, namespace: &str, name: &str, faults: Option<Arc<Faults>>) -> Client {
        let user = format!("Bearer system:serviceaccount:{namespace}:{name}");
        let (user, inner) = (HeaderValue::from_str(&user).ok(), self.server.client());
        let faults = faults.unwrap_or_else(|| Arc::new(Faults::new(|_| Action::Forward)));
        let service = tower::service_fn(move |mut request: Request<Body>| {
            let (inner, faults, user) = (inner.clone(), faults.clone(), user.clone());
            async move {
                request.headers_mut().extend(user.map(|user| (AUTHORIZATION, user)));
                let (head, body) = request.into_parts();
                let body = body.collect().await?.to_bytes();
                let send = async |request: Request<_>| inner.send(request.map(Body::from)).await;
                let response = faults.pass(Request::from_parts(head, body), send).await;
                response.map_err(Box::<dyn std::error::Error + Send + Sync>::from)
            }
        });
        Client::new(service, namespace)
    }

    pub(super) fn audit(&self) -> AuditLog {
        AuditLog::in_memory(self.log.clone())
    }

    pub(super) fn now(&self) -> Timestamp {
        self.clock.now()
    }
}

/// The time of day at its start, and the start by tokio's clock.
#[derive(Clone, Copy)]
struct Clock {
    start: Timestamp,
    began: Instant,
}

impl Clock {
    fn now(self) -> Timestamp {
        self.start.saturating_add(self.began.elapsed()).unwrap_or(Timestamp::MAX)
    }
}

impl fmt::Debug for Embedded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Embedded").field("number", &self.number).finish_non_exhaustive()
    }
}
