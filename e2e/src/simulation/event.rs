//! The events of a simulated cluster, as data: a run is a list of them, so that it can be shrunk and replayed.

use std::{fmt, time::Duration};

use baton_controller::decide::child::ChildKind;
use serde_json::{Value, json};

use crate::{
    handover_model::Fate,
    soak::{
        seen::{Asked, Limits},
        user,
    },
};

/// All that a run depends on, apart from the code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Where it came from. It also decides the order in which requests and responses arrive.
    pub seed: u64,
    /// Whether two operators elect a leader, or there is only one operator.
    pub elected: bool,
    /// Whether controllers create the pods of Deployments, which takes most of the time. Autoscalers need no pods here.
    pub has_pods: bool,
    /// How long nothing happens at the end, once everything has come to rest.
    pub quiet: Duration,
    /// What happens.
    pub steps: Vec<Step>,
}

/// An event, and the time until the next one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The event.
    pub event: Event,
    /// The time until the next one.
    pub pause: Duration,
}

/// A Workload, by its number: two are in one namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Site(pub u8);

/// One of the places in which an operator runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot(pub u8);

/// The spec of a Workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "they are as independent as the fields that they stand for"
)]
pub struct Spec {
    /// Who decides the replica count.
    pub asked: Asked,
    /// `spec.suspend`.
    pub suspended: bool,
    /// `spec.mode`.
    pub mode: &'static str,
    /// Whether `spec.adoption` is `Adopt`.
    pub adopts: bool,
    /// The number of the image.
    pub image: u8,
    /// Whether it asks for a Service.
    pub service: bool,
    /// Whether it asks for a PodDisruptionBudget.
    pub budget: bool,
}

/// The write that gets a fate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aim {
    /// The one after so many others.
    After(u8),
    /// The next apply of the temporary manager.
    HandOver,
    /// The next apply that creates a Deployment.
    Creation,
}

/// Something that happens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A user applies a Workload.
    Apply(Site, Spec),
    /// A user deletes a Workload.
    Delete(Site),
    /// `kubectl scale deployment`.
    Scale(Site, i32),
    /// `kubectl scale workload`.
    ScaleWorkload(Site, i32),
    /// An autoscaler that writes under another name scales the Deployment.
    TheirScale(Site, i32),
    /// A user creates, changes or deletes a HorizontalPodAutoscaler of their own for the Deployment.
    TheirAutoscaler(Site, Option<Limits>),
    /// The load becomes right for so many pods.
    Load(Site, u32),
    /// A manager force-applies the replica count, though it shouldn't. Without one, it releases it.
    Rogue(Site, Option<i32>),
    /// The rogue takes over the replica count and releases it at once.
    Visit(Site, i32),
    /// A user edits a child: by a forced apply if true, else by an update.
    Edit(Site, ChildKind, bool),
    /// A user deletes a child.
    Remove(Site, ChildKind),
    /// A user creates a Deployment with a Workload's name.
    Foreign(Site, i32),
    /// A manager force-applies an image at this interval, so many times.
    Contention(Site, Duration, u8),
    /// An operator crashes.
    Crash(Slot),
    /// An operator is asked to stop.
    Stop(Slot),
    /// An operator is asked to reconcile every Workload.
    ReconcileAll(Slot),
    /// From its next start on, an operator's clock is off by so many seconds.
    Skew(Slot, i64),
    /// The fate of a write of an operator.
    Fate(Aim, Fate),
    /// So many requests of operators are refused with this status code.
    Refuse(u8, u16),
    /// The events of watches of this resource are late, by so much.
    Lag(&'static str, Duration),
    /// An operator is cut off for so long. What was sent arrives afterwards.
    Partition(Slot, Duration),
    /// The server restarts, with its history if true.
    Restart(bool),
    /// Nothing happens.
    Nothing,
}

impl Site {
    /// All of them.
    pub const ALL: [Self; 3] = [Self(0), Self(1), Self(2)];

    /// The namespace.
    pub fn namespace(self) -> &'static str {
        if self.0 == 2 { "lab" } else { "shop" }
    }

    /// The Workload's name.
    pub fn name(self) -> &'static str {
        if self.0 == 1 { "api" } else { "web" }
    }

    pub(super) fn of(namespace: &str, name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|site| (site.namespace(), site.name()) == (namespace, name))
    }
}

impl Spec {
    /// The `spec` of a Workload.
    pub(super) fn to_json(self) -> Value {
        let mut spec = user::spec(&self.asked);
        spec["template"] = json!({"spec": {"containers": [{"name": "app", "image": image(self.image)}]}});
        spec["mode"] = self.mode.into();
        if self.suspended {
            spec["suspend"] = true.into();
        }
        if self.adopts {
            spec["adoption"] = "Adopt".into();
        }
        if self.service {
            spec["service"] = json!({"ports": [{"name": "http", "port": 80}]});
        }
        if self.budget {
            spec["disruptionBudget"] = json!({"minAvailable": 1});
        }
        spec
    }
}

/// An image, by its number.
pub(super) fn image(number: u8) -> String {
    format!("app:{number}")
}

impl Event {
    /// The names of all events, in the order of the table.
    pub const NAMES: [&str; 23] = [
        "apply a Workload",
        "delete a Workload",
        "scale a Deployment",
        "scale a Workload",
        "another autoscaler scales",
        "another HorizontalPodAutoscaler",
        "load",
        "rogue",
        "rogue that takes over and releases",
        "edit a child",
        "delete a child",
        "foreign Deployment",
        "contention",
        "crash",
        "stop",
        "reconcile all",
        "clock skew",
        "fate of a write",
        "refused requests",
        "late watches",
        "partition",
        "restart of the server",
        "nothing",
    ];

    /// Its name.
    pub fn name(&self) -> &'static str {
        let position = match self {
            Self::Apply(..) => 0,
            Self::Delete(_) => 1,
            Self::Scale(..) => 2,
            Self::ScaleWorkload(..) => 3,
            Self::TheirScale(..) => 4,
            Self::TheirAutoscaler(..) => 5,
            Self::Load(..) => 6,
            Self::Rogue(..) => 7,
            Self::Visit(..) => 8,
            Self::Edit(..) => 9,
            Self::Remove(..) => 10,
            Self::Foreign(..) => 11,
            Self::Contention(..) => 12,
            Self::Crash(_) => 13,
            Self::Stop(_) => 14,
            Self::ReconcileAll(_) => 15,
            Self::Skew(..) => 16,
            Self::Fate(..) => 17,
            Self::Refuse(..) => 18,
            Self::Lag(..) => 19,
            Self::Partition(..) => 20,
            Self::Restart(_) => 21,
            Self::Nothing => 22,
        };
        Self::NAMES[position]
    }
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace(), self.name())
    }
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { asked, suspended, mode, adopts, image, service, budget } = self;
        write!(f, "{asked}, {mode}, image {image}")?;
        let options = [
            (suspended, "suspended"),
            (adopts, "adopts"),
            (service, "with a Service"),
            (budget, "with a budget"),
        ];
        options.into_iter().filter(|(is_set, _)| **is_set).try_for_each(|(_, text)| write!(f, ", {text}"))
    }
}

impl fmt::Display for Aim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::After(count) => write!(f, "after {count} more writes"),
            Self::HandOver => f.write_str("the next apply of the temporary manager"),
            Self::Creation => f.write_str("the next creation of a Deployment"),
        }
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Apply(site, spec) => write!(f, "apply Workload {site}: {spec}"),
            Self::Delete(site) => write!(f, "delete Workload {site}"),
            Self::Scale(site, number) => write!(f, "kubectl scale deployment {site} to {number}"),
            Self::ScaleWorkload(site, number) => write!(f, "kubectl scale workload {site} to {number}"),
            Self::TheirScale(site, number) => {
                write!(f, "another autoscaler scales {site} to {number}")
            }
            Self::TheirAutoscaler(site, Some(limits)) => {
                write!(f, "another HorizontalPodAutoscaler for {site}, from {limits}")
            }
            Self::TheirAutoscaler(site, None) => {
                write!(f, "another HorizontalPodAutoscaler for {site} is deleted")
            }
            Self::Load(site, pods) => write!(f, "load of {site} for {pods} pods"),
            Self::Rogue(site, Some(number)) => write!(f, "a rogue force-applies {number} to {site}"),
            Self::Rogue(site, None) => write!(f, "the rogue releases {site}"),
            Self::Visit(site, number) => {
                write!(f, "a rogue force-applies {number} to {site} and releases it")
            }
            Self::Edit(site, child, true) => write!(f, "a user force-applies to the {child} {site}"),
            Self::Edit(site, child, false) => write!(f, "a user edits the {child} {site}"),
            Self::Remove(site, child) => write!(f, "a user deletes the {child} {site}"),
            Self::Foreign(site, number) => write!(f, "a user creates a Deployment {site} with {number}"),
            Self::Contention(site, pause, times) => {
                write!(f, "contention about {site}, {times} times, every {pause:?}")
            }
            Self::Crash(Slot(slot)) => write!(f, "operator {slot} crashes"),
            Self::Stop(Slot(slot)) => write!(f, "operator {slot} is asked to stop"),
            Self::ReconcileAll(Slot(slot)) => write!(f, "operator {slot} reconciles all"),
            Self::Skew(Slot(slot), seconds) => write!(f, "operator {slot}: clock off by {seconds} s"),
            Self::Fate(aim, fate) => write!(f, "{aim}: {fate:?}"),
            Self::Refuse(times, code) => write!(f, "{times} requests get a {code}"),
            Self::Lag(what, time) => write!(f, "watches of {what} are late by {time:?}"),
            Self::Partition(Slot(slot), time) => write!(f, "operator {slot} is cut off for {time:?}"),
            Self::Restart(true) => f.write_str("the server restarts"),
            Self::Restart(false) => f.write_str("the server restarts without its history"),
            Self::Nothing => f.write_str("nothing"),
        }
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let operators = if self.elected { "two operators" } else { "one operator" };
        let pods = if self.has_pods { "pods" } else { "no pods" };
        writeln!(f, "seed {}, {operators}, {pods}, quiet for {:?} at the end", self.seed, self.quiet)?;
        for (number, Step { event, pause }) in self.steps.iter().enumerate() {
            writeln!(f, "{number:>4}  {event}; then {pause:?}")?;
        }
        Ok(())
    }
}
