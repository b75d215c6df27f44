//! The server over HTTP, on an address of this machine.

use std::{io, net::SocketAddr};

use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::task::JoinHandle;
use tokio::{net::TcpListener, task::JoinSet};

use crate::service::InProcess;

/// A server that is reached over HTTP, until this is dropped.
#[derive(Debug)]
pub struct Serving {
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl Serving {
    /// Where it listens.
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
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                // A connection that closes before it was accepted needs no handling.
                let Ok((stream, _)) = accepted else { continue };
                let _ = stream.set_nodelay(true);
                let service = TowerToHyperService::new(service.clone());
                let connection = http1::Builder::new()
                    .timer(TokioTimer::new())
                    .pipeline_flush(true)
                    .serve_connection(TokioIo::new(stream), service);
                connections.spawn(connection);
            }
            Some(_) = connections.join_next() => {}
        }
    }
}
