//! The operator's metrics, for Prometheus. `docs/metrics.md` has a row for each.
//!
//! Other modules report what happened; outcomes are enums such as [`ApplyOutcome`]. No decision depends on metrics.

mod denial;
mod labels;
mod layer;
mod managers;
mod request;
mod workloads;

#[cfg(test)]
mod documented;

use std::{
    fmt,
    sync::{Arc, Mutex},
    time::Duration,
};

use prometheus_client::{
    encoding::text::{encode_eof, encode_registry},
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram, info::Info},
    registry::{Registry, Unit},
};
use tower::{Layer, layer::layer_fn};

pub use labels::{ApplyOutcome, PredictionOutcome, ReconcileOutcome, RefreshOutcome};

use self::{
    labels::{ByKindAndManager, ByKindAndOutcome, ByOutcome, ByRequestAndCode, Code},
    layer::CountedService,
    managers::ManagerLabels,
    request::{RequestKind, Verb},
    workloads::Reported,
};
use crate::{decide::child::ChildKind, lock::lock};

/// From a response out of a cache to a request's time limit, in seconds.
const BUCKETS: [f64; 14] =
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0];

/// All metrics. Clones share them.
#[derive(Clone, Debug)]
pub struct Metrics(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    registry: Registry,
    shard: Option<String>,
    counts: Counts,
    managers: Mutex<ManagerLabels>,
}

/// The registered metrics. A clone of each is in the registry.
#[derive(Clone, Debug)]
struct Counts {
    leader: Gauge,
    reconciles: Family<ByOutcome, Counter>,
    reconcile_duration: Histogram,
    applies: Family<ByKindAndOutcome, Counter>,
    predictions: Family<ByKindAndOutcome, Counter>,
    takeovers: Family<ByKindAndManager, Counter>,
    crd_usable: Gauge,
    schemas_usable: Gauge,
    schema_refreshes: Family<ByOutcome, Counter>,
    api_requests: Family<ByRequestAndCode, Counter>,
    api_request_duration: Family<RequestKind, Histogram>,
    permission_denials: Family<RequestKind, Counter>,
}

impl Metrics {
    /// All at zero, for an operator without a shard.
    pub fn new() -> Self {
        Self::of_shard(None)
    }

    /// All at zero. With a shard, each series has its name as the label `shard`.
    pub fn of_shard(shard: Option<&str>) -> Self {
        let counts = Counts::new();
        let mut registry = registry_of(shard);
        counts.register(&mut registry);
        let shard = shard.map(str::to_owned);
        Self(Arc::new(Shared { registry, shard, counts, managers: Mutex::default() }))
    }

    /// Whether this process leads.
    pub fn leads(&self, leads: bool) {
        self.0.counts.leader.set(leads.into());
    }

    /// A pass for a Workload ended.
    pub fn reconciled(&self, outcome: ReconcileOutcome, took: Duration) {
        self.0.counts.reconciles.get_or_create(&ByOutcome { outcome: outcome.text() }).inc();
        self.0.counts.reconcile_duration.observe(took.as_secs_f64());
    }

    /// An apply of a child was sent, or wasn't.
    pub fn applied(&self, kind: ChildKind, outcome: ApplyOutcome) {
        self.0.counts.applies.get_or_create(&ByKindAndOutcome { kind, outcome: outcome.text() }).inc();
    }

    /// The server's response to a write was compared with the prediction.
    pub fn predicted(&self, kind: ChildKind, outcome: PredictionOutcome) {
        let labels = ByKindAndOutcome { kind, outcome: outcome.text() };
        self.0.counts.predictions.get_or_create(&labels).inc();
    }

    /// So many fields of a child were taken over from this field manager.
    pub fn took_over(&self, kind: ChildKind, manager: &str, fields: u64) {
        let manager = lock(&self.0.managers).label(manager).to_owned();
        self.0.counts.takeovers.get_or_create(&ByKindAndManager { kind, manager }).inc_by(fields);
    }

    /// Whether the CRD is known to be complete, so that children and statuses are written.
    pub fn crd(&self, usable: bool) {
        self.0.counts.crd_usable.set(usable.into());
    }

    /// Whether there are schemas to predict with.
    pub fn schemas(&self, usable: bool) {
        self.0.counts.schemas_usable.set(usable.into());
    }

    /// A check for newer schemas ended.
    pub fn schemas_refreshed(&self, outcome: RefreshOutcome) {
        self.0.counts.schema_refreshes.get_or_create(&ByOutcome { outcome: outcome.text() }).inc();
    }

    /// The layer that counts the requests of a Kubernetes client.
    pub(crate) fn request_layer<S>(&self) -> impl Layer<S, Service = CountedService<S>> {
        layer_fn(|inner| CountedService { inner, metrics: self.clone() })
    }

    fn requested(&self, request: &RequestKind, code: Code, took: Duration) {
        let labels = ByRequestAndCode { request: request.clone(), code };
        self.0.counts.api_requests.get_or_create(&labels).inc();
        if request.verb != Verb::Watch {
            self.0.counts.api_request_duration.get_or_create(request).observe(took.as_secs_f64());
        }
    }

    /// The API server refused a request because a permission is missing.
    fn denied(&self, request: &RequestKind) {
        self.0.counts.permission_denials.get_or_create(request).inc();
    }

    /// Everything as `OpenMetrics` text, with the reports of all Workloads.
    ///
    /// # Errors
    /// When a metric can't be written as text, which would be a bug in this module.
    pub(crate) fn text<'w>(
        &self,
        reported: impl IntoIterator<Item = Reported<'w>>,
    ) -> Result<String, fmt::Error> {
        let mut text = String::new();
        encode_registry(&mut text, &self.0.registry)?;
        let mut registry = registry_of(self.0.shard.as_deref());
        workloads::register(&mut registry, reported);
        encode_registry(&mut text, &registry)?;
        encode_eof(&mut text)?;
        Ok(text)
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

/// An empty registry, whose series all have the shard's name as a label.
fn registry_of(shard: Option<&str>) -> Registry {
    let label = |shard: &str| ("shard".into(), shard.to_owned().into());
    Registry::with_labels(shard.map(label).into_iter())
}

impl Counts {
    /// All series whose labels are known beforehand exist from the start: `rate()` misses the first event of a series that
    /// begins with it.
    fn new() -> Self {
        let counts = Self {
            leader: Gauge::default(),
            reconciles: Family::default(),
            reconcile_duration: Histogram::new(BUCKETS),
            applies: Family::default(),
            predictions: Family::default(),
            takeovers: Family::default(),
            crd_usable: Gauge::default(),
            schemas_usable: Gauge::default(),
            schema_refreshes: Family::default(),
            api_requests: Family::default(),
            api_request_duration: Family::new_with_constructor(|| Histogram::new(BUCKETS)),
            permission_denials: Family::default(),
        };
        for outcome in ReconcileOutcome::ALL {
            counts.reconciles.get_or_create(&ByOutcome { outcome: outcome.text() }).inc_by(0);
        }
        for outcome in RefreshOutcome::ALL {
            counts.schema_refreshes.get_or_create(&ByOutcome { outcome: outcome.text() }).inc_by(0);
        }
        for kind in ChildKind::ALL {
            for outcome in PredictionOutcome::ALL {
                let labels = ByKindAndOutcome { kind, outcome: outcome.text() };
                counts.predictions.get_or_create(&labels).inc_by(0);
            }
            for outcome in ApplyOutcome::ALL {
                counts.applies.get_or_create(&ByKindAndOutcome { kind, outcome: outcome.text() }).inc_by(0);
            }
            let manager = managers::OTHER.to_owned();
            counts.takeovers.get_or_create(&ByKindAndManager { kind, manager }).inc_by(0);
        }
        counts
    }

    /// Gives each its name and its help. The library adds the unit, `_total` or `_info` to the name and a full stop to
    /// the help.
    fn register(&self, registry: &mut Registry) {
        let counts = self.clone();
        registry.register(
            "baton_build",
            "The version of Baton",
            Info::new([("version", env!("CARGO_PKG_VERSION"))]),
        );
        registry.register("baton_leader", "1 if this process reconciles, 0 if it stands by", counts.leader);
        registry.register("baton_reconciles", "Passes for a Workload, by how they ended", counts.reconciles);
        registry.register_with_unit(
            "baton_reconcile_duration",
            "How long passes for a Workload took, without the time in the queue",
            Unit::Seconds,
            counts.reconcile_duration,
        );
        registry.register("baton_applies", "Applies of children, by outcome", counts.applies);
        registry.register(
            "baton_predictions",
            "Applies of children, by how the server's response compares with the prediction",
            counts.predictions,
        );
        registry.register(
            "baton_takeovers",
            "Fields of children that Baton took over from other field managers",
            counts.takeovers,
        );
        registry.register(
            "baton_crd_usable",
            "1 if the CRD has every field that this version knows, 0 if it lacks some or that isn't known: then nothing is \
             written",
            counts.crd_usable,
        );
        registry.register(
            "baton_schemas_usable",
            "1 if there are schemas to predict with, else 0",
            counts.schemas_usable,
        );
        registry.register(
            "baton_schema_refreshes",
            "Checks for newer schemas, by outcome",
            counts.schema_refreshes,
        );
        registry.register("baton_api_requests", "Requests to the API server", counts.api_requests);
        registry.register_with_unit(
            "baton_api_request_duration",
            "How long requests to the API server took until the head of the response, or until they failed; without \
             watches",
            Unit::Seconds,
            counts.api_request_duration,
        );
        registry.register(
            "baton_permission_denials",
            "Requests that the API server refused because a permission is missing",
            counts.permission_denials,
        );
    }
}
