//! The admin port: liveness and readiness for the kubelet, metrics for Prometheus.
//!
//! `/healthz` answers as long as the process does; `/readyz` once every cache has been filled, until shutdown begins;
//! `/metrics` in the `OpenMetrics` text format. Nothing here changes anything, and no Workload's content is shown.

use std::{
    io,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use axum::{
    Router,
    extract::State,
    http::{HeaderName, StatusCode, header::CONTENT_TYPE},
    routing::get,
};
use kube::runtime::reflector::Store;
use tokio::net::TcpListener;

use crate::{metrics::Metrics, watched::WatchedWorkload};

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

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

/// What the endpoints show.
#[derive(Clone)]
pub(crate) struct Shown {
    pub(crate) readiness: Readiness,
    pub(crate) metrics: Metrics,
    pub(crate) workloads: Store<WatchedWorkload>,
}

/// Listens right away, so that an address in use is an error at start; serves until dropped.
pub(crate) async fn serve(
    address: SocketAddr,
    shown: Shown,
) -> io::Result<impl Future<Output = io::Result<()>>> {
    let listener = TcpListener::bind(address).await?;
    Ok(axum::serve(listener, router(shown)).into_future())
}

fn router(shown: Shown) -> Router {
    Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(readyz))
        .route("/metrics", get(metrics))
        .with_state(shown)
}

async fn readyz(State(shown): State<Shown>) -> (StatusCode, &'static str) {
    if shown.readiness.get() {
        (StatusCode::OK, "ok\n")
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "waiting for the caches to fill\n")
    }
}

async fn metrics(
    State(shown): State<Shown>,
) -> Result<([(HeaderName, &'static str); 1], String), StatusCode> {
    let workloads = shown.workloads.state();
    let statuses = workloads.iter().filter_map(|workload| workload.status());
    let text = shown.metrics.text(statuses).map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)?;
    Ok(([(CONTENT_TYPE, OPEN_METRICS)], text))
}

#[cfg(test)]
mod tests {
    use kube::runtime::{reflector, watcher};
    use serde_json::json;

    use super::*;

    fn shown(workloads: Store<WatchedWorkload>) -> State<Shown> {
        State(Shown { readiness: Readiness::default(), metrics: Metrics::new(), workloads })
    }

    #[tokio::test]
    async fn it_is_ready_while_it_says_so() {
        let (workloads, _writer) = reflector::store();
        let shown = shown(workloads);
        assert_eq!(readyz(shown.clone()).await.0, StatusCode::SERVICE_UNAVAILABLE);
        shown.readiness.set(true);
        assert_eq!(readyz(shown).await.0, StatusCode::OK);
    }

    #[tokio::test]
    async fn metrics_are_those_of_the_workloads_in_the_cache_at_that_moment() {
        let (workloads, mut cache) = reflector::store();
        let shown = shown(workloads);
        let fixed = "baton_handover_phase{phase=\"Fixed\"}";
        let ([content_type], text) = metrics(shown.clone()).await.unwrap();
        assert_eq!(content_type, (CONTENT_TYPE, OPEN_METRICS));
        assert!(text.contains(&format!("{fixed} 0\n")), "{text}");

        let ownership =
            json!({"holder": "baton", "phase": "Fixed", "value": 3, "since": "2026-01-01T00:00:00Z"});
        let workload = json!({"metadata": {"name": "web"}, "status": {"replicaOwnership": ownership}});
        let workload: WatchedWorkload = serde_json::from_value(workload).unwrap();
        cache.apply_watcher_event(&watcher::Event::Apply(workload.clone()));
        let (_, text) = metrics(shown.clone()).await.unwrap();
        assert!(text.contains(&format!("{fixed} 1\n")), "{text}");

        cache.apply_watcher_event(&watcher::Event::Delete(workload));
        let (_, text) = metrics(shown).await.unwrap();
        assert!(text.contains(&format!("{fixed} 0\n")), "{text}");
    }
}
