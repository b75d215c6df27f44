//! Ports that anyone who reaches them may connect to: a client costs little, and none keeps others out.
//!
//! Each connection is for one request, and has one time limit from its first byte to the end of the response. If there are too
//! many, a new one waits until one ends, for milliseconds at the most. Then the oldest connection of the address that has the most is
//! ended: a client is served within milliseconds, one that holds its connections loses them.

use std::{cmp::Reverse, collections::HashMap, io, net::IpAddr, time::Duration};

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::{rt::TokioIo, service::TowerToHyperService};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream},
    task::{AbortHandle, JoinSet, yield_now},
    time::{Instant, sleep, timeout, timeout_at},
};
use tracing::debug;

/// How long a connection may last. Prometheus waits as long for a scrape by default.
pub(crate) const CONNECTION_LIMIT: Duration = Duration::from_secs(10);
/// How many connections there may be at the same time.
pub(crate) const CONNECTIONS: usize = 64;
/// How long a new connection keeps its place at least: its client has time to send the request.
const MOMENT: Duration = Duration::from_millis(10);
/// The largest head of a request, in bytes: a token has one or two thousand.
pub(crate) const LARGEST_HEAD: usize = 32 * 1024;

/// Accepts connections, each in a task of its own. They end with this future. `begin` makes a stream of bytes of each, such as by a
/// handshake.
pub(crate) async fn accept<S, F>(
    listener: TcpListener,
    router: Router,
    begin: impl Fn(TcpStream) -> F + Clone + Send + 'static,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    F: Future<Output = io::Result<S>> + Send,
{
    let mut open = Open::default();
    loop {
        match listener.accept().await {
            Ok((stream, client)) => {
                open.make_room().await;
                let (begin, router) = (begin.clone(), router.clone());
                // Errors aren't logged, since any client can cause them.
                let served = async move { one_request(begin(stream).await.ok()?, router).await.ok() };
                open.serve(client.ip(), served);
            }
            Err(error) => {
                // Usually there are too many open files; that takes a moment to change.
                debug!(%error, "can't accept a connection");
                sleep(Duration::from_secs(1)).await;
            }
        }
    }
}

/// The open connections. They end with it.
#[derive(Default)]
struct Open {
    tasks: JoinSet<()>,
    /// In the order in which they were accepted.
    connections: Vec<Connection>,
}

struct Connection {
    client: IpAddr,
    since: Instant,
    task: AbortHandle,
}

impl Open {
    fn serve(&mut self, client: IpAddr, served: impl Future + Send + 'static) {
        let task = self.tasks.spawn(async {
            let _ = timeout(CONNECTION_LIMIT, served).await;
        });
        self.connections.push(Connection { client, since: Instant::now(), task });
    }

    /// Returns once there is room for one more.
    async fn make_room(&mut self) {
        while self.are_full() {
            // Requests that have arrived are responded to first, and what its client has closed ends.
            yield_now().await;
            if !self.are_full() {
                return;
            }
            let Some(oldest) = self.oldest_of_the_most() else { return };
            let Connection { since, task, .. } = &self.connections[oldest];
            if timeout_at(*since + MOMENT, self.tasks.join_next()).await.is_err() {
                task.abort();
                self.connections.remove(oldest);
            }
        }
    }

    fn are_full(&mut self) -> bool {
        while self.tasks.try_join_next().is_some() {}
        self.connections.retain(|connection| !connection.task.is_finished());
        self.connections.len() >= CONNECTIONS
    }

    /// The oldest connection of the client that has the most.
    fn oldest_of_the_most(&self) -> Option<usize> {
        let mut counts = HashMap::<IpAddr, usize>::new();
        for connection in &self.connections {
            *counts.entry(connection.client).or_default() += 1;
        }
        (0..self.connections.len()).max_by_key(|&at| (counts[&self.connections[at].client], Reverse(at)))
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

#[cfg(test)]
mod tests {
    use std::{
        io::{Read as _, Write as _},
        net::{Ipv4Addr, SocketAddr, TcpStream},
        sync::{
            Arc,
            atomic::{AtomicBool, Ordering},
            mpsc,
        },
        thread,
    };

    use axum::routing::get;
    use tokio::{net::TcpSocket, runtime};

    use super::*;

    /// A port on a thread of its own, which something else keeps for moments, as a pass does.
    fn open() -> SocketAddr {
        let (send, receive) = mpsc::channel();
        thread::spawn(move || {
            let runtime = runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
                send.send(listener.local_addr().unwrap()).unwrap();
                tokio::spawn(async {
                    loop {
                        thread::sleep(Duration::from_millis(10));
                        sleep(Duration::from_millis(2)).await;
                    }
                });
                let router = Router::new().route("/healthz", get(|| async { "ok" }));
                accept(listener, router, async |stream| Ok(stream)).await;
            });
        });
        receive.recv().unwrap()
    }

    /// The response to a probe on this connection, or why there is none.
    fn probe(mut stream: TcpStream) -> io::Result<String> {
        stream.set_read_timeout(Some(CONNECTION_LIMIT / 2))?;
        stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: here\r\n\r\n")?;
        let mut response = String::new();
        stream.read_to_string(&mut response)?;
        Ok(response)
    }

    fn connect(address: SocketAddr) -> TcpStream {
        TcpStream::connect(address).unwrap()
    }

    #[test]
    fn a_probe_gets_through_bursts_of_connections_that_are_closed_at_once() {
        let (address, is_over) = (open(), Arc::new(AtomicBool::new(false)));
        let until = is_over.clone();
        let flood = thread::spawn(move || {
            while !until.load(Ordering::Relaxed) {
                let _closed: Vec<TcpStream> = (0..200).map(|_| connect(address)).collect();
            }
        });
        for number in 0..100 {
            let response = probe(connect(address));
            assert!(response.as_ref().is_ok_and(|text| text.ends_with("ok")), "{number}: {response:?}");
            thread::sleep(Duration::from_millis(2));
        }
        is_over.store(true, Ordering::Relaxed);
        flood.join().unwrap();
    }

    #[test]
    fn silent_connections_keep_no_probe_out_and_few_of_them_stay() {
        let address = open();
        let mut silent: Vec<TcpStream> = (0..4 * CONNECTIONS).map(|_| connect(address)).collect();
        assert!(probe(connect(address)).unwrap().ends_with("ok"));
        let is_open = |stream: &mut TcpStream| {
            stream.set_nonblocking(true).unwrap();
            stream.read(&mut [0]).is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
        };
        let left = silent.iter_mut().filter_map(|stream| is_open(stream).then_some(())).count();
        assert!(left <= CONNECTIONS, "{left} are open");
    }

    /// Elsewhere, the machine has one address.
    #[cfg(target_os = "linux")]
    #[test]
    fn the_connections_of_one_address_end_before_those_of_another_however_slow_that_is() {
        let address = open();
        let slow = runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
            let socket = TcpSocket::new_v4().unwrap();
            socket.bind(([127, 0, 0, 2], 0).into()).unwrap();
            socket.connect(address).await.unwrap().into_std().unwrap()
        });
        slow.set_nonblocking(false).unwrap();
        let _silent: Vec<TcpStream> = (0..4 * CONNECTIONS).map(|_| connect(address)).collect();
        assert!(probe(connect(address)).unwrap().ends_with("ok"), "all have been accepted");
        assert!(probe(slow).unwrap().ends_with("ok"));
    }
}
