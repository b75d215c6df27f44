//! Ports that anyone who reaches them may connect to: a client costs little, and none keeps others out.
//!
//! Each connection is for one request, and has one time limit from its first byte to the end of the response. If there are too
//! many, a new one ends the oldest: a client is served within milliseconds, one that holds its connection loses it.

use std::{collections::VecDeque, io, time::Duration};

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::{rt::TokioIo, service::TowerToHyperService};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream},
    task::{AbortHandle, JoinSet},
    time::{sleep, timeout},
};
use tracing::debug;

/// How long a connection may last. Prometheus waits as long for a scrape by default.
pub(super) const CONNECTION_LIMIT: Duration = Duration::from_secs(10);
/// How many connections there may be at the same time.
pub(super) const CONNECTIONS: usize = 64;
/// The largest head of a request, in bytes: a token has one or two thousand.
pub(super) const LARGEST_HEAD: usize = 32 * 1024;

/// Accepts connections, each in a task of its own. They end with this future. `begin` makes a stream of bytes of each, such as by a
/// handshake.
pub(super) async fn accept<S, F>(
    listener: TcpListener,
    router: Router,
    begin: impl Fn(TcpStream) -> F + Clone + Send + 'static,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    F: Future<Output = io::Result<S>> + Send,
{
    let (mut connections, mut open) = (JoinSet::new(), VecDeque::<AbortHandle>::new());
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                while connections.try_join_next().is_some() {}
                open.retain(|connection| !connection.is_finished());
                if open.len() >= CONNECTIONS
                    && let Some(oldest) = open.pop_front()
                {
                    oldest.abort();
                }
                let (begin, router) = (begin.clone(), router.clone());
                // Errors aren't logged, since any client can cause them.
                let served = async move { one_request(begin(stream).await.ok()?, router).await.ok() };
                open.push_back(connections.spawn(timeout(CONNECTION_LIMIT, served)));
            }
            Err(error) => {
                // Usually there are too many open files; that takes a moment to change.
                debug!(%error, "can't accept a connection");
                sleep(Duration::from_secs(1)).await;
            }
        }
    }
}

async fn one_request<S>(stream: S, router: Router) -> hyper::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    http1::Builder::new()
        .keep_alive(false)
        .max_buf_size(LARGEST_HEAD)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router))
        .await
}
