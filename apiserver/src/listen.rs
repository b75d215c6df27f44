//! The server over HTTP, on a local address.

use std::{io, net::SocketAddr, time::Duration};

use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::task::JoinHandle;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::mpsc,
    task::JoinSet,
    time::sleep,
};

use crate::{in_process::InProcess, websocket::WebSockets};

/// Pauses after a failed accept, as in Go's `net/http`.
const SHORTEST_PAUSE: Duration = Duration::from_millis(5);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// A server that listens on an address, until this is dropped.
#[derive(Debug)]
pub struct Serving {
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl Serving {
    /// Its address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// A kubeconfig for it, as YAML.
    pub fn kubeconfig(&self) -> String {
        format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: baton-apiserver\n\
             clusters:\n- name: baton-apiserver\n  cluster: {{server: \"http://{}\"}}\n\
             contexts:\n- name: baton-apiserver\n  context: {{cluster: baton-apiserver, user: anybody}}\n\
             users:\n- name: anybody\n  user: {{}}\n",
            self.address
        )
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.task.abort();
    }
}

pub(crate) async fn serve(service: InProcess, address: SocketAddr) -> io::Result<Serving> {
    let listener = TcpListener::bind(address).await?;
    let address = listener.local_addr()?;
    let task = tokio::spawn(accept(listener, service));
    Ok(Serving { address, task })
}

async fn accept(listener: TcpListener, service: InProcess) {
    // They end with this task.
    let mut connections = JoinSet::new();
    let mut pause = SHORTEST_PAUSE;
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let stream = match accepted {
                    Ok((stream, _)) => stream,
                    // The client closed it before it was accepted.
                    Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => continue,
                    // Too many open files: accepting fails again until some are closed.
                    Err(_) => {
                        sleep(pause).await;
                        pause = LONGEST_PAUSE.min(pause * 2);
                        continue;
                    }
                };
                pause = SHORTEST_PAUSE;
                let _ = stream.set_nodelay(true);
                connections.spawn(connect(stream, service.clone()));
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

/// Serves a connection, and the watch that it may become.
async fn connect(stream: TcpStream, service: InProcess) {
    let (opened, mut watches) = mpsc::unbounded_channel();
    let service = TowerToHyperService::new(WebSockets { service, opened });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .pipeline_flush(true)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades();
    // It fails when the client disconnects.
    let _ = connection.await;
    if let Some(watch) = watches.recv().await {
        watch.await;
    }
}
