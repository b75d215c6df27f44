//! The events of a run, chosen at random from a seed, without I/O.

use std::time::Duration;

use baton_controller::decide::child::ChildKind;
use fastrand::Rng;

use super::event::{Aim, Event, Plan, Site, Slot, Spec, Step};
use crate::{
    handover_model::Fate,
    soak::seen::{Asked, Limits, Scaling},
};

/// What may happen to a write.
const FATES: [Fate; 6] =
    [Fate::Lost, Fate::ResponseLost, Fate::Late, Fate::CrashBefore, Fate::CrashAfter, Fate::CrashLate];
/// The resources that an operator watches.
pub(super) const WATCHED: [&str; 5] =
    ["workloads", "deployments", "services", "horizontalpodautoscalers", "poddisruptionbudgets"];

/// The plan of a seed.
pub fn plan(seed: u64) -> Plan {
    let mut random = Rng::with_seed(seed);
    let elected = random.u8(..3) == 0;
    let has_pods = random.u8(..5) == 0;
    // Sometimes past the resync, but not with an election: most requests would be renewals of the lease.
    let hours = if !elected && random.u8(..20) == 0 { 8 } else { 0 };
    let quiet = Duration::from_mins(hours * 60 + 11);
    let count = random.usize(4..=16);
    let sites = match random.u8(..4) {
        0 | 1 => 1,
        2 => 2,
        _ => 3,
    };
    let mut chooser = Chooser { random, sites, elected, specs: [None; 3], burst: None };
    let mut steps: Vec<Step> = (0..sites).map(|site| chooser.first(Site(site))).collect();
    steps.extend((0..count).map(|_| chooser.step()));
    if chooser.chance(40) {
        steps.extend(chooser.late_write());
        steps.extend((0..count / 4).map(|_| chooser.step()));
    }
    Plan { seed, elected, has_pods, quiet, steps }
}

struct Chooser {
    random: Rng,
    sites: u8,
    elected: bool,
    /// The specs of the Workloads that exist.
    specs: [Option<Spec>; 3],
    /// A Workload to which so many more events happen at once.
    burst: Option<(Site, u8)>,
}

impl Chooser {
    fn first(&mut self, site: Site) -> Step {
        let event = self.apply(site);
        let pause = if self.chance(70) { Duration::from_secs(5) } else { self.pause() };
        Step { event, pause }
    }

    fn step(&mut self) -> Step {
        let begins = self.chance(12);
        self.burst = match self.burst {
            Some((site, left)) if left > 0 => Some((site, left - 1)),
            _ if begins => Some((Site(self.random.u8(..self.sites)), self.random.u8(2..=4))),
            _ => None,
        };
        let Some((site, _)) = self.burst else {
            return Step { event: self.event(), pause: self.pause() };
        };
        let pause = if self.chance(80) { self.milliseconds(0, 6) } else { self.milliseconds(50, 400) };
        Step { event: self.sudden(site), pause }
    }

    /// A late write in a handover to an autoscaler: its cause, and another event before it arrives.
    fn late_write(&mut self) -> [Step; 4] {
        let site = Site(self.random.u8(..self.sites));
        let asked = Asked { replicas: None, scaling: Scaling::Own(self.limits()) };
        let spec = self.specs[usize::from(site.0)].unwrap_or_else(|| self.spec());
        let spec = Spec { asked, suspended: false, mode: "Enforce", ..spec };
        self.specs[usize::from(site.0)] = Some(spec);
        let scaled = Step { event: Event::Apply(site, spec), pause: self.pause() };
        let fate = self.choose(&[Fate::Late, Fate::CrashLate]);
        let is_late = |aim| Step { event: Event::Fate(aim, fate), pause: Duration::ZERO };
        let removed = Event::Remove(site, ChildKind::Deployment);
        let meanwhile = match self.random.u8(..4) {
            0 | 1 => Event::Visit(site, self.number()),
            2 => Event::TheirScale(site, self.number()),
            _ => Event::Load(site, self.random.u32(1..=7)),
        };
        let meanwhile = Step { event: meanwhile, pause: self.pause() };
        let pause = self.milliseconds(500, 20_000);
        if self.chance(50) {
            [is_late(Aim::HandOver), scaled, Step { event: Event::Nothing, pause }, meanwhile]
        } else {
            [scaled, is_late(Aim::Creation), Step { event: removed, pause }, meanwhile]
        }
    }

    /// An event that matters when several happen at once.
    fn sudden(&mut self, site: Site) -> Event {
        match self.random.u8(..10) {
            0 | 1 => self.apply(site),
            2..=4 => self.fate(),
            5 => Event::Remove(site, ChildKind::Deployment),
            6 => Event::Visit(site, self.number()),
            7 => Event::TheirScale(site, self.number()),
            8 => Event::Foreign(site, self.number()),
            _ => Event::Load(site, self.random.u32(1..=7)),
        }
    }

    fn chance(&mut self, percent: u8) -> bool {
        self.random.u8(..100) < percent
    }

    fn choose<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.random.usize(..all.len())]
    }

    fn milliseconds(&mut self, least: u64, most: u64) -> Duration {
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
    fn number(&mut self) -> i32 {
        self.random.i32(2..=6)
    }

    fn limits(&mut self) -> Limits {
        Limits { min: self.random.i32(2..=3), max: self.random.i32(4..=6) }
    }

    fn asked(&mut self) -> Asked {
        let maybe = if self.chance(60) { Some(self.number()) } else { None };
        match self.random.u8(..10) {
            0..=3 => Asked { replicas: Some(self.number()), scaling: Scaling::Absent },
            4..=7 => Asked { replicas: maybe, scaling: Scaling::Own(self.limits()) },
            8 => Asked { replicas: maybe, scaling: Scaling::External },
            _ => Asked { replicas: None, scaling: Scaling::Absent },
        }
    }

    fn apply(&mut self, site: Site) -> Event {
        let spec = match self.specs[usize::from(site.0)] {
            None => self.spec(),
            Some(before) => self.changed(before),
        };
        self.specs[usize::from(site.0)] = Some(spec);
        Event::Apply(site, spec)
    }

    fn spec(&mut self) -> Spec {
        Spec {
            asked: self.asked(),
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
            0..=8 => Spec { asked: self.asked(), ..spec },
            9 | 10 => Spec { suspended: !spec.suspended, ..spec },
            11 => Spec { image: self.random.u8(1..=3), ..spec },
            12 => Spec { service: !spec.service, ..spec },
            13 => Spec { budget: !spec.budget, ..spec },
            14 => Spec { adopts: !spec.adopts, ..spec },
            _ if spec.mode == "Enforce" => Spec { mode: self.choose(&["Preview", "Paused"]), ..spec },
            _ => Spec { mode: "Enforce", ..spec },
        }
    }

    fn fate(&mut self) -> Event {
        let aim = match self.random.u8(..8) {
            0 | 1 => Aim::HandOver,
            2 => Aim::Creation,
            _ => Aim::After(self.random.u8(..4)),
        };
        Event::Fate(aim, self.choose(&FATES))
    }

    fn event(&mut self) -> Event {
        let site = Site(self.random.u8(..self.sites));
        let slot = Slot(if self.elected { self.random.u8(..2) } else { 0 });
        let child = self.choose(&ChildKind::ALL);
        match self.random.u8(..100) {
            0..=29 => self.apply(site),
            30..=32 => {
                self.specs[usize::from(site.0)] = None;
                Event::Delete(site)
            }
            33..=36 => Event::Scale(site, self.number()),
            37 => Event::ScaleWorkload(site, self.number()),
            38..=41 => Event::TheirScale(site, self.number()),
            42..=45 => {
                let limits = if self.chance(60) { Some(self.limits()) } else { None };
                Event::TheirAutoscaler(site, limits)
            }
            46..=52 => Event::Load(site, self.random.u32(1..=7)),
            53 => Event::Visit(site, self.number()),
            54..=56 => {
                let number = if self.chance(60) { Some(self.number()) } else { None };
                Event::Rogue(site, number)
            }
            57..=60 => Event::Edit(site, child, self.chance(50)),
            61..=64 => Event::Remove(site, if self.chance(50) { ChildKind::Deployment } else { child }),
            65 | 66 => Event::Foreign(site, self.number()),
            67 => Event::Contention(site, self.milliseconds(100, 5000), self.random.u8(2..=8)),
            68..=71 => Event::Crash(slot),
            72 | 73 => Event::Stop(slot),
            74 => Event::ReconcileAll(slot),
            75 => Event::Skew(slot, self.choose(&[-40, -3, 3, 40, 4000])),
            76..=86 => self.fate(),
            87..=89 => Event::Refuse(self.random.u8(1..=6), self.choose(&[429, 500, 503, 504])),
            90..=94 => Event::Lag(self.choose(&WATCHED), self.milliseconds(20, 20_000)),
            95 | 96 => Event::Partition(slot, self.milliseconds(50, 40_000)),
            97 | 98 => Event::Restart(self.chance(70)),
            _ => Event::Nothing,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_seed_determines_the_whole_plan() {
        assert_eq!(plan(7), plan(7));
        assert_ne!(plan(7), plan(8));
    }

    #[test]
    fn every_event_happens_in_some_plan() {
        let happens: BTreeSet<&str> =
            (0..200).flat_map(|seed| plan(seed).steps).map(|step| step.event.name()).collect();
        assert_eq!(happens, Event::NAMES.into());
    }
}
