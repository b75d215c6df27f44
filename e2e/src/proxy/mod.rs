//! A proxy between a client and the API server that does to single requests what networks and servers do: it cuts the
//! connection before or after a write, keeps an answer waiting, answers by itself, or answers something else. Which
//! request meets what is for [rules](Action) to say; the proxy knows no resource and remembers nothing but how many
//! writes there were.
//!
//! Its clients talk plain HTTP on the loopback interface and have to prove who they are by a token, which is passed on:
//! a client certificate can't be. Requests are read whole before they are passed on; answers flow as they come, so that
//! watches work.

mod forward;
mod rule;

use std::{
    convert::Infallible,
    net::Ipv4Addr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use http_body_util::BodyExt as _;
use hyper::{
    Request, Response,
    body::{Bytes, Incoming},
    header::ACCEPT_ENCODING,
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use kube::{Client, client::Body};
use tokio::{
    net::{TcpListener, TcpStream},
    task::{AbortHandle, JoinSet},
};

pub use self::rule::{Action, RequestInfo};
use self::{forward::forward, rule::Rules};
use crate::{ControlPlane, Error, kubeconfig};

/// A running proxy. It belongs to the tokio runtime in which it was started; dropping it closes all its connections.
///
/// ```no_run
/// # async fn example(cluster: &baton_e2e::ControlPlane) -> Result<(), baton_e2e::Error> {
/// use baton_e2e::{Action, Operator, OperatorOptions, Proxy};
///
/// // The answer to the third write is lost.
/// let proxy = Proxy::start(cluster, |request| match request.write {
///     Some(3) => Action::CutAfter,
///     _ => Action::Forward,
/// })
/// .await?;
/// let options = OperatorOptions { api_server: Some(proxy.url().to_owned()), ..OperatorOptions::default() };
/// let operator = Operator::start(cluster, options).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Proxy {
    url: String,
    server: AbortHandle,
}

impl Proxy {
    /// Starts a proxy in front of this control plane's API server. `rules` is asked once for each request, when its head
    /// has come in.
    ///
    /// # Errors
    /// When the control plane's kubeconfig can't be used or no port can be listened on.
    pub async fn start(
        control_plane: &ControlPlane,
        rules: impl Fn(&RequestInfo) -> Action + Send + Sync + 'static,
    ) -> Result<Self, Error> {
        let upstream = kubeconfig::anonymous_client(control_plane.kubeconfig()).await?;
        let failed = || Error::file("bind a port on", "127.0.0.1");
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.map_err(failed())?;
        let url = format!("http://{}", listener.local_addr().map_err(failed())?);
        let shared = Arc::new(Shared { upstream, rules: Box::new(rules), writes: AtomicUsize::new(0) });
        let server = tokio::spawn(serve(listener, shared)).abort_handle();
        Ok(Self { url, server })
    }

    /// Where it listens, such as `http://127.0.0.1:12345`: for
    /// [`OperatorOptions::api_server`](crate::OperatorOptions::api_server) and
    /// [`ControlPlane::client_by_way_of`].
    pub fn url(&self) -> &str {
        &self.url
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
}

/// The connection ends here, without an answer.
#[derive(Debug, thiserror::Error)]
#[error("the connection is cut")]
struct Cut;

/// Serves until it is aborted, and all connections with it.
async fn serve(listener: TcpListener, shared: Arc<Shared>) -> Infallible {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            Ok((stream, _)) = listener.accept() => {
                connections.spawn(serve_connection(stream, shared.clone()));
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn serve_connection(stream: TcpStream, shared: Arc<Shared>) {
    // Events of a watch are small, and are waited for.
    let _ = stream.set_nodelay(true);
    let service = service_fn(|request| handle(shared.clone(), request));
    // It ends with an error when it was cut, or when the client has hung up.
    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

/// One request. An error closes the connection: that is what hyper does when a service fails.
async fn handle(shared: Arc<Shared>, request: Request<Incoming>) -> Result<Response<Body>, Cut> {
    let mut info = RequestInfo::of(request.method(), request.uri());
    if info.is_write() {
        info.write = Some(shared.writes.fetch_add(1, Ordering::Relaxed) + 1);
    }
    let (head, body) = request.into_parts();
    let body = body.collect().await.map_err(|_| Cut)?.to_bytes();
    let mut request = Request::from_parts(head, body);
    let pass_on = async |request: Request<Bytes>| forward(&shared.upstream, request).await.map_err(|_| Cut);
    match (shared.rules)(&info) {
        Action::Forward => pass_on(request).await,
        Action::Rewrite(change) => {
            // What is compressed can't be changed.
            request.headers_mut().remove(ACCEPT_ENCODING);
            rule::rewritten(pass_on(request).await?, change).await.ok_or(Cut)
        }
        Action::Answer { code, body } => Ok(rule::answer(code, &body)),
        Action::CutBefore => Err(Cut),
        Action::CutAfter => {
            // Only a whole answer tells that the server is done.
            let answer = pass_on(request).await?;
            let _ = answer.into_body().collect_bytes().await;
            Err(Cut)
        }
        Action::Delay(time) => {
            tokio::time::sleep(time).await;
            pass_on(request).await
        }
    }
}
