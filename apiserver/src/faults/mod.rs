//! Faults of networks and servers for single requests: a connection that is cut before or after a write or during a watch, a
//! response that is late, or another response.
//!
//! Rules decide which request gets which fault. They are called once for each request, when all of it has come in:
//!
//! ```
//! use baton_apiserver::faults::{Action, RequestInfo};
//!
//! let rules = |request: &RequestInfo| match request.write {
//!     // The response to the third write is lost. It is stored.
//!     Some(3) => Action::after(Action::Cut),
//!     // The fourth write isn't stored.
//!     Some(4) => Action::fail(503, "ServiceUnavailable", "the server is shutting down"),
//!     _ => Action::Forward,
//! };
//! # let _ = rules;
//! ```
//!
//! Rules also know which client sends a request, such as one of two replicas that is cut off from the server:
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use baton_apiserver::{ApiServer, faults::Action};
//!
//! let server = ApiServer::builder().start()?;
//! let (leader, standby) = (server.client_named("leader"), server.client_named("standby"));
//! server.faults().set(|request| if request.client == "leader" { Action::Cut } else { Action::Forward });
//! // Watches that are open stay open, unless they are cut: the standby's begins again.
//! server.faults().cut_watches();
//!
//! assert!(leader.apiserver_version().await.is_err());
//! assert!(standby.apiserver_version().await.is_ok());
//! # Ok(())
//! # }
//! ```

mod flow;
mod rule;

use std::{
    fmt,
    sync::{
        PoisonError, RwLock,
        atomic::{AtomicUsize, Ordering},
    },
};

use bytes::Bytes;
use futures::{FutureExt as _, future};
use http::{Request, Response, header::ACCEPT_ENCODING};
use http_body::Body;
use http_body_util::{BodyExt as _, Either, Full};
use tokio::sync::watch;

pub(crate) use self::rule::ClientName;
use self::rule::Rules;
pub use self::{
    flow::Flow,
    rule::{Action, RequestInfo},
};

/// Applies rules to requests between clients and the server. It keeps only the count of writes and the first request that a
/// rule has cut.
pub struct Faults {
    rules: RwLock<Rules>,
    /// The count of writes.
    writes: AtomicUsize,
    /// The first request that was cut.
    cut: watch::Sender<Option<CutRequest>>,
    /// Notified when all watches end.
    watches: watch::Sender<()>,
}

/// A request whose connection a rule has cut, by [`Action::Cut`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CutRequest {
    /// The request.
    pub request: RequestInfo,
    /// The HTTP status code of the response that the client didn't get; `None` if the server didn't get the request.
    pub response: Option<u16>,
}

/// The connection was cut before a response.
#[derive(Debug, thiserror::Error)]
#[error("the connection is cut")]
pub struct Cut;

/// An error of a body or of the server.
type Failure = Box<dyn std::error::Error + Send + Sync>;

impl Faults {
    /// With these rules.
    pub fn new(rules: impl Fn(&RequestInfo) -> Action + Send + Sync + 'static) -> Self {
        Self {
            rules: RwLock::new(Box::new(rules)),
            writes: AtomicUsize::new(0),
            cut: watch::Sender::new(None),
            watches: watch::Sender::new(()),
        }
    }

    /// Replaces the rules.
    pub fn set(&self, rules: impl Fn(&RequestInfo) -> Action + Send + Sync + 'static) {
        *self.rules.write().unwrap_or_else(PoisonError::into_inner) = Box::new(rules);
    }

    /// The count of writes; see [`RequestInfo::write`].
    pub fn writes(&self) -> usize {
        self.writes.load(Ordering::Relaxed)
    }

    /// Waits until a rule has cut the first request.
    pub async fn cut(&self) -> CutRequest {
        let mut cut = self.cut.subscribe();
        // The sender lives as long as this does.
        match cut.wait_for(Option::is_some).await.map(|cut| cut.clone()) {
            Ok(Some(cut)) => cut,
            _ => future::pending().await,
        }
    }

    /// Cuts the connections of all open watches.
    pub fn cut_watches(&self) {
        self.watches.send_replace(());
    }

    /// Passes a request to the server, or does what a rule says. An error ends the connection.
    ///
    /// # Errors
    /// When a rule cuts the connection, or the server fails to respond.
    pub async fn pass<B, F, E>(
        &self,
        request: Request<Bytes>,
        serve: impl FnOnce(Request<Bytes>) -> F,
    ) -> Result<Response<Flow<B>>, Cut>
    where
        B: Body<Data = Bytes, Error: Into<Failure>>,
        F: Future<Output = Result<Response<B>, E>>,
    {
        let info = RequestInfo::of(&request, request.body());
        self.pass_known(info, request, serve).await
    }

    /// As [`pass`](Self::pass), with the request's info.
    pub(crate) async fn pass_known<B, F, E>(
        &self,
        mut info: RequestInfo,
        mut request: Request<Bytes>,
        serve: impl FnOnce(Request<Bytes>) -> F,
    ) -> Result<Response<Flow<B>>, Cut>
    where
        B: Body<Data = Bytes, Error: Into<Failure>>,
        F: Future<Output = Result<Response<B>, E>>,
    {
        if info.is_write() {
            info.write = Some(self.writes.fetch_add(1, Ordering::Relaxed) + 1);
        }
        let action = (self.rules.read().unwrap_or_else(PoisonError::into_inner))(&info);
        let (is_after, action) = action.unwrapped();
        if matches!(action, Action::Rewrite(_)) {
            // A compressed body can't be changed.
            request.headers_mut().remove(ACCEPT_ENCODING);
        }
        let serve = async move || serve(request).await.map_err(|_| Cut);
        if !is_after {
            let serve = async move || Ok(serve().await?.map(Either::Right));
            return self.act(action, info, None, serve).await;
        }
        // Only a whole response shows that the server is done.
        let (head, body) = serve().await?.into_parts();
        let code = head.status.as_u16();
        let Ok(body) = body.collect().await else { return Err(self.note_cut(info, Some(code))) };
        let response = Response::from_parts(head, Either::Left(Full::from(body.to_bytes())));
        self.act(action, info, Some(code), async move || Ok(response)).await
    }

    /// Applies an action before or after the server handles the request.
    async fn act<B, F>(
        &self,
        action: Action,
        info: RequestInfo,
        code: Option<u16>,
        respond: impl FnOnce() -> F,
    ) -> Result<Response<Flow<B>>, Cut>
    where
        B: Body<Data = Bytes, Error: Into<Failure>>,
        F: Future<Output = Result<Response<Either<Full<Bytes>, B>>, Cut>>,
    {
        let mut cut_later = future::pending().boxed();
        let response = match action {
            Action::Forward | Action::After(_) => respond().await?,
            Action::Rewrite(change) => rule::rewritten(respond().await?, change).await.ok_or(Cut)?,
            Action::Respond { code, body, retry_after } => rule::response(code, &body, retry_after),
            Action::Cut => return Err(self.note_cut(info, code)),
            Action::CutLater(time) => {
                cut_later = tokio::time::sleep(time).boxed();
                respond().await?
            }
            Action::Delay(time) => {
                tokio::time::sleep(time).await;
                respond().await?
            }
            Action::Behind(other) => {
                other.await;
                respond().await?
            }
            Action::Hold => future::pending().await,
        };
        if info.is_watch() {
            let mut cut_now = self.watches.subscribe();
            let cut_now = async move {
                // A server that is gone cuts nothing.
                if cut_now.changed().await.is_err() {
                    future::pending::<()>().await;
                }
            };
            cut_later = future::select(cut_later, cut_now.boxed()).map(drop).boxed();
        }
        Ok(response.map(|body| Flow::until(cut_later, body)))
    }

    /// Records the first request that is cut.
    fn note_cut(&self, request: RequestInfo, response: Option<u16>) -> Cut {
        self.cut.send_if_modified(|first| {
            let is_first = first.is_none();
            first.get_or_insert(CutRequest { request, response });
            is_first
        });
        Cut
    }
}

impl fmt::Debug for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = f.debug_struct("Faults");
        text.field("writes", &self.writes).field("cut", &*self.cut.borrow()).finish_non_exhaustive()
    }
}

/// Rules with an action for the nth matching request, counted from 1, and none for others.
///
/// ```
/// use baton_apiserver::faults::{Action, nth};
///
/// let rules = nth(2, |request| request.path.ends_with("/deployments/web"), || Action::after(Action::Cut));
/// # let _ = rules;
/// ```
pub fn nth(
    n: usize,
    matches: impl Fn(&RequestInfo) -> bool + Send + Sync + 'static,
    action: impl Fn() -> Action + Send + Sync + 'static,
) -> impl Fn(&RequestInfo) -> Action + Send + Sync + 'static {
    let seen = AtomicUsize::new(0);
    move |request| {
        if matches(request) && seen.fetch_add(1, Ordering::Relaxed) + 1 == n {
            action()
        } else {
            Action::Forward
        }
    }
}
