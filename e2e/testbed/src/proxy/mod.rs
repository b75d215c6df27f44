//! A proxy between a client and the API server, with the faults of networks and servers: it cuts the connection before or after a write
//! or in the middle of a watch, delays a response, replaces it, or responds without the server. [Rules](Action) choose the fault of each
//! request; the proxy counts the writes, and keeps the first one that a rule has cut.
//!
//! Its clients send plain HTTP on the loopback interface and authenticate by a token, which is forwarded, as a client certificate can't
//! be. Requests are read whole before they are forwarded; responses are streamed, so that watches work.

mod crash;
mod forward;

use std::sync::Arc;

use baton_apiserver::faults::{Action, Cut, CutRequest, Faults, Flow, RequestInfo};
use http_body_util::BodyExt as _;
use hyper::{Request, Response, body::Incoming};
use kube::{Client, client::Body};
use tokio::task::AbortHandle;

pub use self::crash::{Crash, CrashPoint, Side};
use self::forward::forward;
use crate::{Cluster, Error, kubeconfig, server};

/// A running proxy. It belongs to the tokio runtime in which it was started; dropping it closes all its connections.
///
/// ```no_run
/// # async fn example(cluster: &baton_testbed::Cluster) -> Result<(), baton_testbed::Error> {
/// use baton_testbed::{Action, Proxy};
///
/// // The response to the third write is lost.
/// let proxy = Proxy::start(cluster, |request| match request.write {
///     Some(3) => Action::after(Action::Cut),
///     _ => Action::Forward,
/// })
/// .await?;
/// let client = cluster.client_by_way_of(&proxy.route(), "default", "editor").await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Proxy {
    faults: Arc<Faults>,
    /// Absent inside this process, where nothing has to listen.
    http: Option<(String, AbortHandle)>,
}

/// The way to the API server through a [`Proxy`], for [`Cluster::client_by_way_of`].
#[derive(Clone, Debug)]
pub enum Route {
    /// Where the proxy listens.
    Url(String),
    /// The faults of requests inside this process.
    Faults(Arc<Faults>),
}

impl Proxy {
    /// Starts a proxy in front of this cluster's API server. `rules` is called once for each request, when it was read whole.
    ///
    /// # Errors
    /// When it can't listen, or can't reach the server.
    pub async fn start(
        cluster: &Cluster,
        rules: impl Fn(&RequestInfo) -> Action + Send + Sync + 'static,
    ) -> Result<Self, Error> {
        let faults = Arc::new(Faults::new(rules));
        let Cluster::Real(control_plane) = cluster else { return Ok(Self { faults, http: None }) };
        let upstream = kubeconfig::anonymous_client(control_plane.kubeconfig()).await?;
        let serving = faults.clone();
        let handle = move |request| handle(serving.clone(), upstream.clone(), request);
        let (port, server) = server::start(None, handle).await?;
        Ok(Self { faults, http: Some((format!("http://127.0.0.1:{port}"), server)) })
    }

    /// The way through it.
    pub fn route(&self) -> Route {
        match &self.http {
            Some((url, _)) => Route::Url(url.clone()),
            None => Route::Faults(self.faults.clone()),
        }
    }

    /// How many writes have come in; see [`RequestInfo::write`].
    pub fn writes(&self) -> usize {
        self.faults.writes()
    }

    /// Waits for the first request whose connection a rule cuts, until the cut is done.
    pub async fn cut(&self) -> CutRequest {
        self.faults.cut().await
    }

    /// Ends the connections of all watches that are open now.
    pub fn cut_watches(&self) {
        self.faults.cut_watches();
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        if let Some((_, server)) = &self.http {
            server.abort();
        }
    }
}

/// One request. An error closes the connection: that is what hyper does when a service fails, or the body of its response.
async fn handle(
    faults: Arc<Faults>,
    upstream: Client,
    request: Request<Incoming>,
) -> Result<Response<Flow<Body>>, Cut> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.map_err(|_| Cut)?.to_bytes();
    faults
        .pass(Request::from_parts(head, body), |request| async move { forward(&upstream, request).await })
        .await
}
