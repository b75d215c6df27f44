//! The admin port: liveness and readiness for the kubelet, metrics for Prometheus.
//!
//! `/healthz` responds as long as the loop goes on, if it is served by the loop's own thread. `/readyz` follows [`Readiness`], with one
//! reason a line. `/metrics` is in the `OpenMetrics` text format. Nothing here changes anything.
//!
//! Anyone who reaches the port may connect, so each connection has one request and ten seconds, and there are at most 64. A new one takes
//! the place of the oldest one of the address that has the most.

use std::{fmt, sync::Arc};

use axum::{
    Router,
    extract::State,
    http::{StatusCode, header::CONTENT_TYPE},
    response::{IntoResponse, Response},
    routing::get,
};
use prometheus_client::{encoding::text::encode, registry::Registry};
use tokio::net::TcpListener;

use crate::{port, readiness::Readiness};

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// A program's metrics.
pub trait Exposition: Send + Sync + 'static {
    /// The metrics now, in the `OpenMetrics` text format.
    ///
    /// # Errors
    /// When a metric can't be written as text, which is a bug of the program.
    fn text(&self) -> Result<String, fmt::Error>;
}

impl Exposition for Registry {
    fn text(&self) -> Result<String, fmt::Error> {
        let mut text = String::new();
        encode(&mut text, self)?;
        Ok(text)
    }
}

/// Serves this port until it is dropped. Without metrics there is no `/metrics`.
pub async fn serve(listener: TcpListener, readiness: Readiness, metrics: Option<Arc<dyn Exposition>>) {
    let health = Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(readyz).with_state(readiness));
    let router = match metrics {
        Some(metrics) => health
            .route("/metrics", get(|State(metrics)| async move { exposed(&metrics) }).with_state(metrics)),
        None => health,
    };
    port::accept(listener, router, async |stream| Ok(stream)).await;
}

async fn readyz(State(readiness): State<Readiness>) -> (StatusCode, String) {
    let reasons = readiness.reasons();
    if reasons.is_empty() {
        (StatusCode::OK, "ok\n".to_owned())
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, reasons.join("\n") + "\n")
    }
}

/// The response of `/metrics`.
pub(crate) fn exposed(metrics: &Arc<dyn Exposition>) -> Response {
    match metrics.text() {
        Ok(text) => ([(CONTENT_TYPE, OPEN_METRICS)], text).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_response_says_what_readiness_waits_for() {
        let readiness = Readiness::default();
        readiness.close("self-check", "the CRD isn't installed");
        let unready = (StatusCode::SERVICE_UNAVAILABLE, "the CRD isn't installed\n".to_owned());
        assert_eq!(readyz(State(readiness.clone())).await, unready);
        readiness.open("self-check");
        assert_eq!(readyz(State(readiness)).await, (StatusCode::OK, "ok\n".to_owned()));
    }

    #[test]
    fn a_registry_is_exposed_as_open_metrics() {
        let metrics: Arc<dyn Exposition> = Arc::new(Registry::default());
        let response = exposed(&metrics);
        assert_eq!(
            (response.status(), &response.headers()[CONTENT_TYPE]),
            (StatusCode::OK, &OPEN_METRICS.parse().unwrap())
        );
        assert_eq!(metrics.text().unwrap(), "# EOF\n");
    }
}
