//! The admin port: liveness and readiness for the kubelet.
//!
//! `/healthz` answers as long as the process does; `/readyz` once every cache has been filled, until shutdown begins.

use std::{
    io,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use axum::{Router, extract::State, http::StatusCode, routing::get};
use tokio::net::TcpListener;

/// Whether the operator is ready, shared between it and the endpoint.
#[derive(Clone, Debug, Default)]
pub(crate) struct Readiness(Arc<AtomicBool>);

impl Readiness {
    pub(crate) fn set(&self, ready: bool) {
        self.0.store(ready, Ordering::Release);
    }

    fn get(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// Listens right away, so that an address in use is an error at start; serves until dropped.
pub(crate) async fn serve(
    address: SocketAddr,
    readiness: Readiness,
) -> io::Result<impl Future<Output = io::Result<()>>> {
    let listener = TcpListener::bind(address).await?;
    let router = Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(readyz))
        .with_state(readiness);
    Ok(axum::serve(listener, router).into_future())
}

async fn readyz(State(readiness): State<Readiness>) -> (StatusCode, &'static str) {
    if readiness.get() {
        (StatusCode::OK, "ok\n")
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "waiting for the caches to fill\n")
    }
}
