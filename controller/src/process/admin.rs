//! The admin port: liveness and readiness for the kubelet, metrics for Prometheus.
//!
//! `/healthz` responds as long as the loop goes on: it is served on the loop's own thread, so it says nothing while one turn takes
//! too long. `/readyz` follows [`Readiness`], with one reason a line; the log has the details, such as missing permissions, which
//! aren't for everyone. `/metrics` is in the `OpenMetrics` text format, unless the secure metrics port has it. Nothing here changes
//! anything or shows a Workload's content.

use std::{fmt, io, net::SocketAddr};

use axum::{
    Router,
    extract::State,
    http::{HeaderName, StatusCode, header::CONTENT_TYPE},
    routing::get,
};
use tokio::net::TcpListener;

use super::{port, readiness::Readiness};
use crate::{metrics::Metrics, observe::Workloads};

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// What a running operator shows.
#[derive(Clone)]
pub struct View {
    pub(crate) readiness: Readiness,
    pub(crate) metrics: Metrics,
    pub(crate) workloads: Workloads,
}

impl View {
    /// Why the operator isn't ready; empty if it is.
    pub fn obstacles(&self) -> Vec<String> {
        self.readiness.reasons()
    }

    /// The metrics, in the `OpenMetrics` text format.
    ///
    /// # Errors
    /// When a metric can't be written as text, which would be a bug in this crate.
    pub fn metrics(&self) -> Result<String, fmt::Error> {
        let workloads = self.workloads.values();
        self.metrics.text(workloads.iter().map(|workload| (workload.phase, &*workload.contested)))
    }
}

/// Listens right away, so that an address in use is an error at start; serves until dropped.
pub(crate) async fn serve(
    address: SocketAddr,
    view: View,
    has_metrics: bool,
) -> io::Result<impl Future<Output = ()>> {
    let listener = TcpListener::bind(address).await?;
    Ok(port::accept(listener, router(view, has_metrics), async |stream| Ok(stream)))
}

fn router(view: View, has_metrics: bool) -> Router {
    let health = Router::new().route("/healthz", get(|| async { "ok\n" })).route("/readyz", get(readyz));
    let router = if has_metrics { health.route("/metrics", get(metrics)) } else { health };
    router.with_state(view)
}

async fn readyz(State(view): State<View>) -> (StatusCode, String) {
    let reasons = view.obstacles();
    if reasons.is_empty() {
        (StatusCode::OK, "ok\n".to_owned())
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, reasons.join("\n") + "\n")
    }
}

pub(super) async fn metrics(
    State(view): State<View>,
) -> Result<([(HeaderName, &'static str); 1], String), StatusCode> {
    let text = view.metrics().map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)?;
    Ok(([(CONTENT_TYPE, OPEN_METRICS)], text))
}

#[cfg(test)]
mod tests {
    use baton_apply::LiveObject;
    use serde_json::json;

    use super::*;
    use crate::{observe::Stores, process::readiness::Gate};

    fn view() -> State<View> {
        let stores = Stores::of_shard(None);
        let workloads = stores.workloads.clone();
        State(View { readiness: Readiness::new(stores), metrics: Metrics::new(), workloads })
    }

    #[tokio::test]
    async fn the_response_says_what_readiness_waits_for() {
        let view = view();
        view.readiness.close(Gate::SelfCheck, "the CRD isn't installed");
        let unready = (StatusCode::SERVICE_UNAVAILABLE, "the CRD isn't installed\n".to_owned());
        assert_eq!(readyz(view.clone()).await, unready);
        view.readiness.open(Gate::SelfCheck);
        assert_eq!(readyz(view).await, (StatusCode::OK, "ok\n".to_owned()));
    }

    #[tokio::test]
    async fn metrics_describe_the_workloads_that_are_in_the_cache_now() {
        let view = view();
        let fixed = "baton_handover_phase{phase=\"Fixed\"}";
        let ([content_type], text) = metrics(view.clone()).await.unwrap();
        assert_eq!(content_type, (CONTENT_TYPE, OPEN_METRICS));
        assert!(text.contains(&format!("{fixed} 0\n")), "{text}");

        let ownership =
            json!({"owner": "baton", "phase": "Fixed", "value": 3, "since": "2026-01-01T00:00:00Z"});
        let workload = json!({"metadata": {"name": "web"}, "status": {"replicaOwnership": ownership}});
        view.0.workloads.store(&LiveObject::from_json(workload).unwrap());
        let (_, text) = metrics(view.clone()).await.unwrap();
        assert!(text.contains(&format!("{fixed} 1\n")), "{text}");

        view.0.workloads.forget("", "web");
        let (_, text) = metrics(view).await.unwrap();
        assert!(text.contains(&format!("{fixed} 0\n")), "{text}");
    }
}
