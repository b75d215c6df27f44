//! The operator's metrics, for Prometheus. `docs/metrics.md` has a row for each.
//!
//! Other modules report what happened; outcomes are enums such as [`WriteOutcome`]. No decision depends on metrics.

mod labels;
mod managers;
mod workloads;

#[cfg(test)]
mod documented;

use std::{
    fmt,
    sync::{Arc, Mutex},
    time::Duration,
};

use baton_runtime::{
    lock,
    metrics::{BUCKETS, RequestMetrics},
};
use prometheus_client::{
    encoding::text::{encode_eof, encode_registry},
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram, info::Info},
    registry::{Registry, Unit},
};

pub use labels::{PredictionOutcome, ReconcileOutcome, RefreshOutcome, WriteOutcome};

use self::{
    labels::{Label, kind, manager, outcome},
    managers::ManagerLabels,
    workloads::Reported,
};
use crate::decide::child::ChildKind;

/// All metrics. Clones share them.
#[derive(Clone, Debug)]
pub struct Metrics(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    registry: Registry,
    shard: Option<String>,
    counts: Counts,
    requests: RequestMetrics,
    managers: Mutex<ManagerLabels>,
}

/// Counters that differ by so many labels.
type Counters<const N: usize> = Family<[Label; N], Counter>;

/// Declares the metrics in rows: the name, which is the field's too, the type, the metric at zero, and the help. The library adds the
/// unit, `_total` or `_info` to a name, and a full stop to a help.
macro_rules! metrics {
    ($($name:ident: $type:ty = $metric:expr, $help:literal $(in $unit:ident)?;)+) => {
        /// The metrics. The registry has a clone of each.
        #[derive(Debug)]
        struct Counts {
            $($name: $type,)+
        }

        impl Counts {
            fn in_registry(registry: &mut Registry) -> Self {
                let counts = Self { $($name: $metric,)+ };
                $(metrics!(@register registry, $name, $help, counts.$name.clone() $(, $unit)?);)+
                let version = Info::new([("version", env!("CARGO_PKG_VERSION"))]);
                registry.register("build", "The version of Baton", version);
                counts
            }
        }
    };
    (@register $registry:ident, $name:ident, $help:literal, $metric:expr) => {
        $registry.register(stringify!($name), $help, $metric)
    };
    (@register $registry:ident, $name:ident, $help:literal, $metric:expr, $unit:ident) => {
        $registry.register_with_unit(stringify!($name), $help, Unit::$unit, $metric)
    };
}

metrics! {
    leader: Gauge = Gauge::default(), "1 if this process reconciles, 0 if it stands by";
    reconciles: Counters<1> = counters(ReconcileOutcome::ALL.iter().map(|one| [outcome(one.text())])),
        "Passes for a Workload, by how they ended";
    reconcile_duration: Histogram = Histogram::new(BUCKETS),
        "How long passes for a Workload took, without the time in the queue" in Seconds;
    long_turns: Counter = Counter::default(),
        "Times that a pass kept all others waiting for more than a second";
    applies: Counters<2> = counters(of_children(WriteOutcome::ALL, |one| outcome(one.text()))),
        "Applies of children, by outcome";
    predictions: Counters<2> = counters(of_children(PredictionOutcome::ALL, |one| outcome(one.text()))),
        "Applies of children, by how the server's response compares with the prediction";
    takeovers: Counters<2> = counters(of_children(&[managers::OTHER], |other| manager(*other))),
        "Fields of children that Baton took over from other field managers";
    crd_usable: Gauge = Gauge::default(),
        "1 if the CRD has every field that this version knows, 0 if it lacks some or that isn't known: then nothing is written";
    schemas_usable: Gauge = Gauge::default(), "1 if there are schemas to predict with, else 0";
    schema_refreshes: Counters<1> = counters(RefreshOutcome::ALL.iter().map(|one| [outcome(one.text())])),
        "Checks for newer schemas, by outcome";
}

/// Counters at zero. All series whose labels are known beforehand exist from the start: `rate()` misses the first event of a series that
/// begins with it.
fn counters<const N: usize>(known: impl IntoIterator<Item = [Label; N]>) -> Counters<N> {
    let counters = Counters::default();
    for labels in known {
        drop(counters.get_or_create(&labels));
    }
    counters
}

/// The labels of each kind of child with each of these values.
fn of_children<T>(values: &'static [T], label: fn(&T) -> Label) -> impl Iterator<Item = [Label; 2]> {
    let of = move |one| values.iter().map(move |value| [kind(one), label(value)]);
    ChildKind::ALL.into_iter().flat_map(of)
}

/// Registers gauges with their values.
fn gauges<const N: usize>(
    registry: &mut Registry,
    name: &str,
    help: &str,
    series: impl IntoIterator<Item = ([Label; N], i64)>,
) {
    let gauges = Family::<[Label; N], Gauge>::default();
    for (labels, value) in series {
        gauges.get_or_create(&labels).set(value);
    }
    registry.register(name, help, gauges);
}

/// An empty registry. If there is a shard, all series have its name as a label.
fn registry_of(shard: Option<&str>) -> Registry {
    let label = |shard: &str| ("shard".into(), shard.to_owned().into());
    Registry::with_prefix_and_labels("baton", shard.map(label).into_iter())
}

impl Metrics {
    /// All at zero. With a shard, each series has its name as the label `shard`.
    pub fn of_shard(shard: Option<&str>) -> Self {
        let mut registry = registry_of(shard);
        let (counts, requests) = (Counts::in_registry(&mut registry), RequestMetrics::default());
        requests.register(&mut registry);
        let shard = shard.map(str::to_owned);
        Self(Arc::new(Shared { registry, shard, counts, requests, managers: Mutex::default() }))
    }

    /// 1 while this process leads.
    pub(crate) fn leader(&self) -> Gauge {
        self.0.counts.leader.clone()
    }

    /// A pass for a Workload ended.
    pub fn reconciled(&self, outcome: ReconcileOutcome, took: Duration) {
        self.0.counts.reconciles.get_or_create(&[labels::outcome(outcome.text())]).inc();
        self.0.counts.reconcile_duration.observe(took.as_secs_f64());
    }

    /// Counts turns that kept all other passes waiting for more than a second.
    pub(crate) fn long_turns(&self) -> Counter {
        self.0.counts.long_turns.clone()
    }

    /// An apply of a child was sent, or wasn't.
    pub fn applied(&self, kind: ChildKind, outcome: WriteOutcome) {
        self.0.counts.applies.get_or_create(&[labels::kind(kind), labels::outcome(outcome.text())]).inc();
    }

    /// The server's response to a write was compared with the prediction.
    pub fn predicted(&self, kind: ChildKind, outcome: PredictionOutcome) {
        self.0.counts.predictions.get_or_create(&[labels::kind(kind), labels::outcome(outcome.text())]).inc();
    }

    /// So many fields of a child were taken over from this field manager.
    pub fn took_over(&self, kind: ChildKind, manager: &str, fields: u64) {
        let manager = lock(&self.0.managers).label(manager).to_owned();
        self.0.counts.takeovers.get_or_create(&[labels::kind(kind), labels::manager(manager)]).inc_by(fields);
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
        self.0.counts.schema_refreshes.get_or_create(&[labels::outcome(outcome.text())]).inc();
    }

    /// The metrics of the requests to the API server.
    pub(crate) fn requests(&self) -> &RequestMetrics {
        &self.0.requests
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

/// All at zero, for an operator without a shard.
impl Default for Metrics {
    fn default() -> Self {
        Self::of_shard(None)
    }
}
