//! Metrics of the requests to the API server: how many, how long they take, and which lack a permission.
//!
//! [`RequestMetrics`] are metrics of [`prometheus_client`] that a program registers among its own, under a prefix of its own. Verbs and
//! resources have the names of RBAC and the audit log.

mod denial;
mod layer;
mod request;

use std::{
    fmt::{self, Write},
    time::Duration,
};

use prometheus_client::{
    encoding::{EncodeLabelSet, EncodeLabelValue, LabelValueEncoder},
    metrics::{counter::Counter, family::Family, histogram::Histogram},
    registry::{Registry, Unit},
};
use tower::{Layer, layer::layer_fn};

pub use self::{
    layer::CountedService,
    request::{RequestKind, Verb},
};

/// The upper bounds of the buckets of durations, in seconds: from a response out of a cache to the usual time limit of a request.
pub const BUCKETS: [f64; 14] =
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0];

/// How a request ended, as a label: the HTTP status, or `error`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Code {
    /// With a response of this HTTP status.
    Status(u16),
    /// Without a response: it couldn't be sent, the connection broke, or it took longer than the time limit.
    Error,
}

impl EncodeLabelValue for Code {
    fn encode(&self, encoder: &mut LabelValueEncoder) -> fmt::Result {
        match self {
            Self::Status(status) => write!(encoder, "{status}"),
            Self::Error => encoder.write_str("error"),
        }
    }
}

/// The labels of a request that has ended.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByRequestAndCode {
    #[prometheus(flatten)]
    request: RequestKind,
    code: Code,
}

/// The metrics of a Kubernetes client's requests. Clones share them.
#[derive(Clone, Debug)]
pub struct RequestMetrics {
    requests: Family<ByRequestAndCode, Counter>,
    durations: Family<RequestKind, Histogram>,
    denials: Family<RequestKind, Counter>,
}

impl RequestMetrics {
    /// Registers `api_requests`, `api_request_duration` in seconds, and `permission_denials`. For names with a prefix, give a
    /// [`sub_registry_with_prefix`](Registry::sub_registry_with_prefix).
    pub fn register(&self, registry: &mut Registry) {
        let Self { requests, durations, denials } = self.clone();
        registry.register("api_requests", "Requests to the API server", requests);
        registry.register_with_unit(
            "api_request_duration",
            "How long requests to the API server took until the head of the response, or until they failed; without \
             watches",
            Unit::Seconds,
            durations,
        );
        registry.register(
            "permission_denials",
            "Requests that the API server refused because a permission is missing",
            denials,
        );
    }

    /// The layer that counts the requests of a Kubernetes client, for [`ClientBuilder::with_layer`](kube::client::ClientBuilder).
    pub fn layer<S>(&self) -> impl Layer<S, Service = CountedService<S>> {
        layer_fn(|inner| CountedService { inner, metrics: self.clone() })
    }

    /// Counts a request that has ended after this time.
    pub fn requested(&self, request: &RequestKind, code: Code, took: Duration) {
        let labels = ByRequestAndCode { request: request.clone(), code };
        self.requests.get_or_create(&labels).inc();
        if request.verb != Verb::Watch {
            self.durations.get_or_create(request).observe(took.as_secs_f64());
        }
    }

    /// Counts a request that the API server refused because a permission is missing.
    pub fn denied(&self, request: &RequestKind) {
        self.denials.get_or_create(request).inc();
    }
}

impl Default for RequestMetrics {
    fn default() -> Self {
        Self {
            requests: Family::default(),
            durations: Family::new_with_constructor(|| Histogram::new(BUCKETS)),
            denials: Family::default(),
        }
    }
}
