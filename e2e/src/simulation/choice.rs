//! The plan of a run, chosen at random from a seed, without I/O.

use std::time::Duration;

use baton_controller::decide::child::ChildKind;
use fastrand::Rng;

use super::{
    events::{
        APPLY, CHILD_DELETED, DELIVERY, EVENTS, EventKind, LOAD, Made, NOTHING, Occasion, SCALED_BY_OTHERS,
        TAKEN_AND_RELEASED,
    },
    plan::{Event, Limits, OperatorId, Plan, Scaling, Spec, TimedEvent, Trigger, WorkloadId},
};
use crate::handover_model::Delivery;

/// The possible deliveries of a write.
const DELIVERIES: [Delivery; 6] = [
    Delivery::Lost,
    Delivery::ResponseLost,
    Delivery::Late,
    Delivery::CrashBefore,
    Delivery::CrashAfter,
    Delivery::CrashLate,
];
/// The resources that an operator watches.
pub(super) const WATCHED: [&str; 5] =
    ["workloads", "deployments", "services", "horizontalpodautoscalers", "poddisruptionbudgets"];

/// The plan of a seed, for a simulated cluster.
pub fn plan(seed: u64) -> Plan {
    let mut random = Rng::with_seed(seed);
    let elected = random.u8(..3) == 0;
    let has_pods = random.u8(..5) == 0;
    // Sometimes past the resync, but not with an election: most requests would be renewals of the lease.
    let hours = if !elected && random.u8(..20) == 0 { 8 } else { 0 };
    let quiet = Duration::from_mins(hours * 60 + 11);
    let count = random.usize(4..=16);
    let workloads = match random.u8(..4) {
        0 | 1 => 1,
        2 => 2,
        _ => 3,
    };
    let mut chooser = Chooser::new(random, workloads, elected);
    let mut events: Vec<TimedEvent> =
        (0..workloads).map(|number| chooser.first(WorkloadId(number))).collect();
    events.extend((0..count).map(|_| chooser.next()));
    if chooser.chance(40) {
        events.extend(chooser.late_write());
        events.extend((0..count / 4).map(|_| chooser.next()));
    }
    Plan { seed, elected, has_pods, quiet, events }
}

/// The plan of a seed, for a soak on a cluster that isn't simulated, with so many Workloads that are applied so often.
pub(crate) fn soak(seed: u64, workloads: u8, applies: u32) -> Plan {
    let mut chooser = Chooser::new(Rng::with_seed(seed), workloads, false);
    let mut events = Vec::new();
    for number in 0..workloads {
        let workload = WorkloadId(number);
        let load = Event::of(LOAD, Made::load(workload, chooser.load()));
        let change = Event::of(APPLY, Made::applied(workload, chooser.next_spec(workload)));
        events.extend([load, change].map(|event| TimedEvent { event, pause: Duration::ZERO }));
    }
    let mut left = applies;
    while left > 0 {
        let event = chooser.event(Occasion::Soak);
        left -= u32::from(event.kind.name == APPLY);
        // Until its next event, the operator is in the middle of its work on a Workload, almost done, or at rest.
        let pause = match chooser.random.u8(..10) {
            0..2 => chooser.milliseconds(0, 100),
            2..5 => chooser.milliseconds(300, 1500),
            _ => chooser.milliseconds(2500, 6000),
        };
        events.push(TimedEvent { event, pause: pause / u32::from(workloads).max(1) / 2 });
    }
    Plan { seed, elected: false, has_pods: true, quiet: Duration::ZERO, events }
}

/// Chooses what an event needs.
pub(super) struct Chooser {
    pub(super) random: Rng,
    workloads: u8,
    elected: bool,
    /// The specs of the Workloads that exist, by their numbers.
    specs: Vec<Option<Spec>>,
    /// A Workload to which so many more events happen at once.
    burst: Option<(WorkloadId, u8)>,
}

impl Chooser {
    fn new(random: Rng, workloads: u8, elected: bool) -> Self {
        Self { random, workloads, elected, specs: vec![None; usize::from(workloads)], burst: None }
    }

    fn first(&mut self, workload: WorkloadId) -> TimedEvent {
        let event = Event::of(APPLY, Made::applied(workload, self.next_spec(workload)));
        let pause = if self.chance(70) { Duration::from_secs(5) } else { self.pause() };
        TimedEvent { event, pause }
    }

    fn next(&mut self) -> TimedEvent {
        let begins = self.chance(12);
        self.burst = match self.burst {
            Some((workload, left)) if left > 0 => Some((workload, left - 1)),
            _ if begins => Some((self.any_workload(), self.random.u8(2..=4))),
            _ => None,
        };
        if self.burst.is_none() {
            return TimedEvent { event: self.event(Occasion::Usual), pause: self.pause() };
        }
        let pause = if self.chance(80) { self.milliseconds(0, 6) } else { self.milliseconds(50, 400) };
        TimedEvent { event: self.event(Occasion::Burst), pause }
    }

    fn event(&mut self, occasion: Occasion) -> Event {
        let weight = |kind: &EventKind| kind.weights[occasion as usize];
        let all: u32 = EVENTS.iter().map(weight).sum();
        let at = self.random.u32(..all);
        let mut ends = EVENTS.iter().scan(0, |end, kind| {
            *end += weight(kind);
            Some((*end, kind))
        });
        let (_, kind) = ends.find(|(end, _)| at < *end).expect("it is less than all weights");
        Event::of(kind.name, (kind.make)(self))
    }

    /// A late write in a handover to an autoscaler: its cause, and another event before it arrives.
    fn late_write(&mut self) -> [TimedEvent; 4] {
        let workload = self.any_workload();
        let scaling = Scaling::Own(self.limits());
        let spec = self.specs[usize::from(workload.0)].unwrap_or_else(|| self.spec());
        let spec = Spec { replicas: None, scaling, suspended: false, mode: "Enforce", ..spec };
        self.specs[usize::from(workload.0)] = Some(spec);
        let scaled =
            TimedEvent { event: Event::of(APPLY, Made::applied(workload, spec)), pause: self.pause() };
        let delivery = self.choose(&[Delivery::Late, Delivery::CrashLate]);
        let is_late = |trigger| TimedEvent {
            event: Event::of(DELIVERY, Made::delivery(trigger, delivery)),
            pause: Duration::ZERO,
        };
        let meanwhile = match self.random.u8(..4) {
            0 | 1 => Event::of(TAKEN_AND_RELEASED, Made::taken_and_released(workload, self.count())),
            2 => Event::of(SCALED_BY_OTHERS, Made::scaled_by_others(workload, self.count())),
            _ => Event::of(LOAD, Made::load(workload, self.load())),
        };
        let meanwhile = TimedEvent { event: meanwhile, pause: self.pause() };
        let pause = self.milliseconds(500, 20_000);
        if self.chance(50) {
            let waits = TimedEvent { event: Event::of(NOTHING, Made::nothing()), pause };
            [is_late(Trigger::HandOver), scaled, waits, meanwhile]
        } else {
            let deleted = Made::child_deleted(workload, ChildKind::Deployment);
            let deleted = TimedEvent { event: Event::of(CHILD_DELETED, deleted), pause };
            [scaled, is_late(Trigger::Creation), deleted, meanwhile]
        }
    }

    /// The Workload of the burst, or any.
    pub(super) fn workload(&mut self) -> WorkloadId {
        self.burst.map_or_else(|| self.any_workload(), |(workload, _)| workload)
    }

    fn any_workload(&mut self) -> WorkloadId {
        WorkloadId(self.random.u8(..self.workloads))
    }

    pub(super) fn operator(&mut self) -> OperatorId {
        OperatorId(if self.elected { self.random.u8(..2) } else { 0 })
    }

    pub(super) fn child(&mut self) -> ChildKind {
        self.choose(&ChildKind::ALL)
    }

    pub(super) fn chance(&mut self, percent: u8) -> bool {
        self.random.u8(..100) < percent
    }

    pub(super) fn choose<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.random.usize(..all.len())]
    }

    pub(super) fn milliseconds(&mut self, least: u64, most: u64) -> Duration {
        Duration::from_millis(self.random.u64(least..=most))
    }

    /// Until the middle of a pass, just after it, or longer.
    fn pause(&mut self) -> Duration {
        match self.random.u8(..20) {
            0..=6 => self.milliseconds(0, 12),
            7..=10 => self.milliseconds(13, 80),
            11..=13 => self.milliseconds(300, 3000),
            14..=17 => self.milliseconds(5000, 20_000),
            18 => self.milliseconds(20_000, 60_000),
            _ => self.milliseconds(60_000, 400_000),
        }
    }

    /// A replica count. Never 1, to which the server resets a replica count without an owner.
    pub(super) fn count(&mut self) -> i32 {
        self.random.i32(2..=6)
    }

    pub(super) fn limits(&mut self) -> Limits {
        Limits { min: self.random.i32(2..=3), max: self.random.i32(4..=6) }
    }

    /// A load, in pods: also below and above all limits.
    pub(super) fn load(&mut self) -> u32 {
        self.random.u32(1..=7)
    }

    pub(super) fn trigger(&mut self) -> Trigger {
        match self.random.u8(..8) {
            0 | 1 => Trigger::HandOver,
            2 => Trigger::Creation,
            _ => Trigger::After(self.random.u8(..4)),
        }
    }

    pub(super) fn delivery(&mut self) -> Delivery {
        self.choose(&DELIVERIES)
    }

    /// The next spec of a Workload.
    pub(super) fn next_spec(&mut self, workload: WorkloadId) -> Spec {
        let spec = match self.specs[usize::from(workload.0)] {
            None => self.spec(),
            Some(before) => self.changed(before),
        };
        self.specs[usize::from(workload.0)] = Some(spec);
        spec
    }

    /// The Workload is deleted: its next spec is a new one.
    pub(super) fn forget(&mut self, workload: WorkloadId) {
        self.specs[usize::from(workload.0)] = None;
    }

    /// `spec.replicas` and `spec.autoscaling`.
    fn scaling(&mut self) -> (Option<i32>, Scaling) {
        let count = if self.chance(60) { Some(self.count()) } else { None };
        match self.random.u8(..10) {
            0..=3 => (Some(self.count()), Scaling::Absent),
            4..=7 => (count, Scaling::Own(self.limits())),
            8 => (count, Scaling::External),
            _ => (None, Scaling::Absent),
        }
    }

    fn spec(&mut self) -> Spec {
        let (replicas, scaling) = self.scaling();
        Spec {
            replicas,
            scaling,
            suspended: self.chance(5),
            mode: if self.chance(95) { "Enforce" } else { self.choose(&["Preview", "Paused"]) },
            adopts: self.chance(40),
            image: 1,
            service: self.chance(30),
            budget: self.chance(30),
        }
    }

    fn changed(&mut self, spec: Spec) -> Spec {
        match self.random.u8(..16) {
            0..=8 => {
                let (replicas, scaling) = self.scaling();
                Spec { replicas, scaling, ..spec }
            }
            9 | 10 => Spec { suspended: !spec.suspended, ..spec },
            11 => Spec { image: self.random.u8(1..=3), ..spec },
            12 => Spec { service: !spec.service, ..spec },
            13 => Spec { budget: !spec.budget, ..spec },
            14 => Spec { adopts: !spec.adopts, ..spec },
            _ if spec.mode == "Enforce" => Spec { mode: self.choose(&["Preview", "Paused"]), ..spec },
            _ => Spec { mode: "Enforce", ..spec },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_seed_determines_the_whole_plan() {
        let soak: fn(u64) -> Plan = |seed| soak(seed, 3, 20);
        for plan in [plan, soak] {
            assert_eq!(plan(7), plan(7));
            assert_ne!(plan(7), plan(8));
        }
    }

    #[test]
    fn every_event_happens_in_some_plan() {
        let happens: BTreeSet<&str> =
            (0..200).flat_map(|seed| plan(seed).events).map(|timed| timed.event.kind.name).collect();
        assert_eq!(happens, EVENTS.iter().map(|kind| kind.name).collect());
    }
}
