//! A proxy between a client and the API server that does to single requests what networks and servers do: it cuts the
//! connection before or after a write or in the middle of a watch, keeps an answer waiting, answers by itself, or answers
//! something else. Which request meets what is for [rules](Action) to say; the proxy knows no resource and remembers
//! nothing but how many writes there were and the first one that a rule has cut.
//!
//! Its clients talk plain HTTP on the loopback interface and have to prove who they are by a token, which is passed on:
//! a client certificate can't be. Requests are read whole before they are passed on; answers flow as they come, so that
//! watches work.

mod body;
mod crash;
mod forward;
mod rule;

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use futures::{FutureExt as _, future};
use http_body_util::BodyExt as _;
use hyper::{
    Request, Response,
    body::{Bytes, Incoming},
    header::ACCEPT_ENCODING,
};
use kube::Client;
use tokio::{sync::watch, task::AbortHandle};

use self::{body::Flow, forward::forward, rule::Rules};
pub use self::{
    crash::{Crash, CrashPoint, Side},
    rule::{Action, RequestInfo},
};
use crate::{ControlPlane, Error, kubeconfig, server};

/// A running proxy. It belongs to the tokio runtime in which it was started; dropping it closes all its connections.
///
/// ```no_run
/// # async fn example(cluster: &baton_testbed::ControlPlane) -> Result<(), baton_testbed::Error> {
/// use baton_testbed::{Action, Proxy};
///
/// // The answer to the third write is lost.
/// let proxy = Proxy::start(cluster, |request| match request.write {
///     Some(3) => Action::CutAfter,
///     _ => Action::Forward,
/// })
/// .await?;
/// let client = cluster.client_by_way_of(proxy.url(), "default", "editor").await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Proxy {
    url: String,
    shared: Arc<Shared>,
    server: AbortHandle,
}

/// A request whose connection a rule has cut, by [`Action::CutBefore`] or [`Action::CutAfter`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CutRequest {
    /// The request.
    pub request: RequestInfo,
    /// The HTTP status code that the server had answered by then; `None` if it didn't get the request.
    pub answer: Option<u16>,
}

impl Proxy {
    /// Starts a proxy in front of this control plane's API server. `rules` is asked once for each request, when all of
    /// it has come in.
    pub async fn start(
        control_plane: &ControlPlane,
        rules: impl Fn(&RequestInfo) -> Action + Send + Sync + 'static,
    ) -> Result<Self, Error> {
        let upstream = kubeconfig::anonymous_client(control_plane.kubeconfig()).await?;
        let shared = Arc::new(Shared {
            upstream,
            rules: Box::new(rules),
            writes: AtomicUsize::new(0),
            cut: watch::Sender::new(None),
            watches: watch::Sender::new(()),
        });
        let serving = shared.clone();
        let (port, server) = server::start(None, move |request| handle(serving.clone(), request)).await?;
        Ok(Self { url: format!("http://127.0.0.1:{port}"), shared, server })
    }

    /// Where it listens, such as `http://127.0.0.1:12345`: for [`ControlPlane::client_by_way_of`].
    pub fn url(&self) -> &str {
        &self.url
    }

    /// How many writes have come in; see [`RequestInfo::write`].
    pub fn writes(&self) -> usize {
        self.shared.writes.load(Ordering::Relaxed)
    }

    /// Waits for the first request whose connection a rule cuts, until the cut is done.
    pub async fn cut(&self) -> CutRequest {
        let mut cut = self.shared.cut.subscribe();
        // The sender lives as long as this does.
        match cut.wait_for(Option::is_some).await.map(|cut| cut.clone()) {
            Ok(Some(cut)) => cut,
            _ => future::pending().await,
        }
    }

    /// Ends the connections of all watches that are open now.
    pub fn cut_watches(&self) {
        self.shared.watches.send_replace(());
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.server.abort();
    }
}

/// What all connections of a proxy share.
struct Shared {
    upstream: Client,
    rules: Rules,
    /// How many writes have come in.
    writes: AtomicUsize,
    /// The first request that was cut.
    cut: watch::Sender<Option<CutRequest>>,
    /// Sent to when watches are to end.
    watches: watch::Sender<()>,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = f.debug_struct("Shared");
        text.field("writes", &self.writes).field("cut", &*self.cut.borrow()).finish_non_exhaustive()
    }
}

/// The connection ends here, without an answer.
#[derive(Debug, thiserror::Error)]
#[error("the connection is cut")]
struct Cut;

/// One request. An error closes the connection: that is what hyper does when a service fails, or the body of its answer.
async fn handle(shared: Arc<Shared>, request: Request<Incoming>) -> Result<Response<Flow>, Cut> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.map_err(|_| Cut)?.to_bytes();
    let mut info = RequestInfo::of(&head.method, &head.uri, &body);
    if info.is_write() {
        info.write = Some(shared.writes.fetch_add(1, Ordering::Relaxed) + 1);
    }
    let mut request = Request::from_parts(head, body);
    let mut cut_later = future::pending().boxed();
    let pass_on = async |request: Request<Bytes>| forward(&shared.upstream, request).await.map_err(|_| Cut);
    let answer = match (shared.rules)(&info) {
        Action::Forward => pass_on(request).await?,
        Action::Rewrite(change) => {
            // What is compressed can't be changed.
            request.headers_mut().remove(ACCEPT_ENCODING);
            rule::rewritten(pass_on(request).await?, change).await.ok_or(Cut)?
        }
        Action::Answer { code, body, retry_after } => rule::answer(code, &body, retry_after),
        Action::CutBefore => return Err(shared.cut(info, None)),
        Action::CutAfter => {
            // Only a whole answer tells that the server is done.
            let answer = pass_on(request).await?;
            let code = answer.status().as_u16();
            let _ = answer.into_body().collect_bytes().await;
            return Err(shared.cut(info, Some(code)));
        }
        Action::CutLater(time) => {
            cut_later = tokio::time::sleep(time).boxed();
            pass_on(request).await?
        }
        Action::Delay(time) => {
            tokio::time::sleep(time).await;
            pass_on(request).await?
        }
        Action::Behind(other) => {
            other.await;
            pass_on(request).await?
        }
        Action::Hold => future::pending().await,
    };
    if info.is_watch() {
        let mut cut_now = shared.watches.subscribe();
        let cut_now = async move {
            let _ = cut_now.changed().await;
        };
        cut_later = future::select(cut_later, cut_now.boxed()).map(drop).boxed();
    }
    Ok(answer.map(|body| Flow::until(cut_later, body)))
}

impl Shared {
    /// Notes the first request that is cut.
    fn cut(&self, request: RequestInfo, answer: Option<u16>) -> Cut {
        self.cut.send_if_modified(|first| {
            let is_first = first.is_none();
            first.get_or_insert(CutRequest { request, answer });
            is_first
        });
        Cut
    }
}
