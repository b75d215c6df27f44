//! The plan of a run, as data: a list of events, so that it can be shrunk and replayed.

use std::{fmt, sync::Arc, time::Duration};

use http::Request;
use serde_json::{Value, json};

use super::{
    cluster::SimulatedCluster,
    events::{EVENTS, EventKind, Made},
    requests::{self, image},
};
use crate::autoscaling;

/// The target load of one pod, in millicores. Loads are multiples of it: with less than ten pods, they differ by more than the
/// autoscaler's tolerance of a tenth.
pub(crate) const PER_POD: u32 = 100;

/// All that a run depends on, apart from the code.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The seed that it came from. It also decides the order in which requests and responses arrive.
    pub seed: u64,
    /// Whether two operators elect a leader, or there is only one operator.
    pub elected: bool,
    /// Whether controllers create the pods of Deployments, which takes most of the time. Autoscalers need no pods here.
    pub has_pods: bool,
    /// How long nothing happens at the end, once everything has come to rest.
    pub quiet: Duration,
    /// The events.
    pub events: Vec<TimedEvent>,
}

/// An event, and the time until the next one.
#[derive(Clone, Debug, PartialEq)]
pub struct TimedEvent {
    /// The event.
    pub event: Event,
    /// The time until the next one.
    pub pause: Duration,
}

/// Something that happens. Equal texts mean equal events.
#[derive(Clone)]
pub struct Event {
    /// Its entry in the table.
    pub kind: &'static EventKind,
    text: String,
    pub(crate) effect: Effect,
}

/// The effect of an event.
#[derive(Clone)]
pub(crate) enum Effect {
    /// A user applies a Workload.
    Apply(WorkloadId, Spec),
    /// Users, or programs other than Baton, send these requests, one after the other.
    Requests(Vec<Request<Vec<u8>>>),
    /// The load becomes right for so many pods.
    Load(WorkloadId, u32),
    /// A change of the simulated cluster.
    Disturb(Arc<dyn Fn(&mut SimulatedCluster) + Send + Sync>),
}

/// A Workload, by its number. The third is in a namespace of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkloadId(pub u8);

/// An operator, by its number. Each start of it is another process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OperatorId(pub u8);

/// The spec of a Workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "they are as independent as the fields that they stand for"
)]
pub struct Spec {
    /// `spec.replicas`.
    pub replicas: Option<i32>,
    /// `spec.autoscaling`.
    pub scaling: Scaling,
    /// `spec.suspend`.
    pub suspended: bool,
    /// `spec.mode`.
    pub mode: &'static str,
    /// Whether `spec.adoption` is `Adopt`.
    pub adopts: bool,
    /// The number of the image.
    pub image: u8,
    /// Whether it has a Service.
    pub service: bool,
    /// Whether it has a PodDisruptionBudget.
    pub budget: bool,
}

/// `spec.autoscaling`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scaling {
    /// Absent.
    Absent,
    /// Baton's autoscaler.
    Own(Limits),
    /// An external autoscaler.
    External,
}

/// The lowest and the highest replica count that an autoscaler may choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// `minReplicas`.
    pub min: i32,
    /// `maxReplicas`.
    pub max: i32,
}

/// The write that a [`Delivery`](crate::handover_model::Delivery) is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// The one after so many others.
    After(u8),
    /// The next apply of the temporary manager.
    HandOver,
    /// The next apply that creates a Deployment.
    Creation,
}

impl WorkloadId {
    /// The Workloads of simulated clusters. A soak may have more.
    pub const SIMULATED: [Self; 3] = [Self(0), Self(1), Self(2)];
    /// The namespaces of all Workloads.
    pub const NAMESPACES: [&str; 2] = ["shop", "lab"];

    /// The namespace.
    pub fn namespace(self) -> &'static str {
        Self::NAMESPACES[usize::from(self.0 == 2)]
    }

    /// The Workload's name.
    pub fn name(self) -> String {
        match self.0 {
            0 | 2 => "web".to_owned(),
            1 => "api".to_owned(),
            number => format!("web-{number}"),
        }
    }

    pub(super) fn of(namespace: &str, name: &str) -> Option<Self> {
        let number = match (namespace, name) {
            ("lab", "web") => 2,
            ("shop", "web") => 0,
            ("shop", "api") => 1,
            ("shop", name) => name.strip_prefix("web-")?.parse().ok()?,
            _ => return None,
        };
        Some(Self(number))
    }
}

impl Spec {
    /// The `spec` of a Workload.
    pub(super) fn to_json(self) -> Value {
        let mut spec = json!({
            "template": {"spec": {"containers": [{"name": "app", "image": image(self.image)}]}}, "mode": self.mode,
        });
        let fields = [
            ("replicas", self.replicas.map(Value::from)),
            ("autoscaling", self.scaling.to_json()),
            ("suspend", self.suspended.then(|| true.into())),
            ("adoption", self.adopts.then(|| "Adopt".into())),
            ("service", self.service.then(|| json!({"ports": [{"name": "http", "port": 80}]}))),
            ("disruptionBudget", self.budget.then(|| json!({"minAvailable": 1}))),
        ];
        for (field, value) in fields.into_iter().filter_map(|(field, value)| Some((field, value?))) {
            spec[field] = value;
        }
        spec
    }
}

impl Scaling {
    fn to_json(self) -> Option<Value> {
        match self {
            Self::Absent => None,
            Self::Own(limits) => Some(limits.autoscaling()),
            Self::External => Some(json!({"external": {}})),
        }
    }
}

impl Limits {
    /// The spec of an autoscaler with these limits.
    pub(super) fn autoscaling(self) -> Value {
        let target = json!({"type": "AverageValue", "averageValue": format!("{PER_POD}m")});
        autoscaling(self.min, self.max, &target)
    }

    /// The limits of a live autoscaler.
    pub(super) fn of(autoscaler: &Value) -> Option<Self> {
        let number = |field: &str| i32::try_from(autoscaler["spec"][field].as_i64()?).ok();
        // The API server's default is 1.
        Some(Self { min: number("minReplicas").unwrap_or(1), max: number("maxReplicas")? })
    }
}

impl Event {
    /// An event of the kind of this name.
    ///
    /// # Panics
    /// When there is no such kind.
    pub(super) fn of(name: &str, made: Made) -> Self {
        let kind = EVENTS.iter().find(|kind| kind.name == name).expect("the table has the kind");
        Self { kind, text: made.text, effect: made.effect }
    }

    /// Simpler replacements.
    pub(super) fn simpler(&self) -> Vec<Self> {
        let Effect::Apply(workload, spec) = self.effect else { return Vec::new() };
        let specs = [
            Spec { service: false, ..spec },
            Spec { budget: false, ..spec },
            Spec { adopts: false, ..spec },
            Spec { suspended: false, ..spec },
            Spec { image: 1, ..spec },
        ];
        let simpler = specs.into_iter().filter(|simpler| *simpler != spec);
        simpler.map(|spec| Self::of(self.kind.name, Made::applied(workload, spec))).collect()
    }
}

impl Effect {
    /// The requests of users, and of programs other than Baton.
    pub(crate) fn requests(&self) -> Vec<Request<Vec<u8>>> {
        match self {
            Self::Apply(workload, spec) => vec![requests::workload(*workload, *spec)],
            Self::Requests(requests) => requests.clone(),
            Self::Load(..) | Self::Disturb(_) => Vec::new(),
        }
    }
}

impl PartialEq for Event {
    fn eq(&self, other: &Self) -> bool {
        (self.kind.name, &self.text) == (other.kind.name, &other.text)
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Display for WorkloadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace(), self.name())
    }
}

impl fmt::Display for OperatorId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "operator {}", self.0)
    }
}

impl fmt::Display for Limits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {}", self.min, self.max)
    }
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { replicas, scaling, suspended, mode, adopts, image, service, budget } = self;
        match replicas {
            Some(count) => write!(f, "replicas {count}, ")?,
            None => f.write_str("no replicas, ")?,
        }
        match scaling {
            Scaling::Absent => f.write_str("no autoscaling")?,
            Scaling::Own(limits) => write!(f, "autoscaling from {limits}")?,
            Scaling::External => f.write_str("external autoscaling")?,
        }
        write!(f, ", {mode}, image {image}")?;
        let options = [
            (suspended, "suspended"),
            (adopts, "adopts"),
            (service, "with a Service"),
            (budget, "with a budget"),
        ];
        options.into_iter().filter(|(is_set, _)| **is_set).try_for_each(|(_, text)| write!(f, ", {text}"))
    }
}

impl fmt::Display for Trigger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::After(count) => write!(f, "after {count} more writes"),
            Self::HandOver => f.write_str("the next apply of the temporary manager"),
            Self::Creation => f.write_str("the next creation of a Deployment"),
        }
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let operators = if self.elected { "two operators" } else { "one operator" };
        let pods = if self.has_pods { "pods" } else { "no pods" };
        writeln!(f, "seed {}, {operators}, {pods}, quiet for {:?} at the end", self.seed, self.quiet)?;
        for (number, TimedEvent { event, pause }) in self.events.iter().enumerate() {
            writeln!(f, "{number:>4}  {event}; then {pause:?}")?;
        }
        Ok(())
    }
}
