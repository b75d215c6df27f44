//! The rules for each stored change of a replica count. It judges what was seen, without I/O.

use std::{collections::BTreeMap, time::Duration};

use baton_testbed::ReplicaOwner;

use super::seen::{Asked, Limits, Scaling, Seen, Sighting};

/// How long an autoscaler may still act on old limits, or after it was deleted. Its controller reads the limits from a cache and
/// requests metrics; after a conflict, it reads the replica count again and still writes its own. On a busy machine, more than
/// five seconds passed between the deletion and that write.
pub const LATE: Duration = Duration::from_secs(30);

/// The result of a soak, as far as it was seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Judgement {
    /// Violations of the rules, in the order in which they were stored.
    pub violations: Vec<Violation>,
    /// What is counted.
    pub tally: Tally,
}

/// A violation of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The revision of the write.
    pub revision: u64,
    /// The Workload.
    pub workload: String,
    /// What was wrong with it.
    pub what: String,
}

/// Counts over all Workloads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Stored replica counts, with the first one.
    pub values: u32,
    /// Replica counts that the operator set from the spec.
    pub set: u32,
    /// Replica counts of autoscalers that are greater than the one before.
    pub scaled_up: u32,
    /// Replica counts of autoscalers that are smaller than the one before.
    pub scaled_down: u32,
    /// Those of an autoscaler that was already gone, or whose limits had changed.
    pub late: u32,
    /// How often the temporary manager became an owner.
    pub begun: u32,
    /// How often an autoscaler became the owner, by writing its own replica count.
    pub completed: u32,
    /// How often the operator reported the phase `HandedOver` anew.
    pub reported: u32,
    /// How often the operator became an owner again.
    pub taken_back: u32,
    /// The lowest margin of all changes; absent as long as there is none.
    pub lowest_margin: Option<i32>,
}

/// Judges what was seen, in the order of revisions.
pub fn judge(sightings: &[Sighting]) -> Judgement {
    let mut judgement = Judgement::default();
    let mut cases: BTreeMap<&str, Case> = BTreeMap::new();
    for sighting in sightings {
        let case = cases.entry(&sighting.workload).or_default();
        let found = case.next(sighting, &mut judgement.tally);
        let violation =
            |what| Violation { revision: sighting.revision, workload: sighting.workload.clone(), what };
        judgement.violations.extend(found.map(violation));
    }
    judgement
}

/// What differs from the spec at rest, when users and loads have stopped; `None` if nothing does. `wanted` is the replica count
/// for the load.
pub fn unrest(sightings: &[Sighting], wanted: i32) -> Option<String> {
    let mut case = Case::default();
    for sighting in sightings {
        case.next(sighting, &mut Tally::default());
    }
    let Some(Version { asked, generation }) = case.versions.last() else {
        return Some("there is no Workload".to_owned());
    };
    let Some((replicas, owners)) = &case.number else { return Some("there is no Deployment".to_owned()) };
    if case.observed < *generation {
        return Some(format!("the operator has reported on generation {} of {generation}", case.observed));
    }
    let autoscaler = case.autoscalers.iter().find(|one| one.until.is_none());
    let expected = match (asked.fixed(), autoscaler) {
        (Some(number), None) if *owners == [baton()] => number,
        (Some(_), None) => return Some("Baton should be the only owner".to_owned()),
        (None, _) if owners.contains(&baton()) => {
            return Some("Baton should have released the replica count".to_owned());
        }
        (None, Some(autoscaler)) => wanted.clamp(autoscaler.limits.min, autoscaler.limits.max),
        (None, None) if asked.scaling == Scaling::Absent => *replicas,
        (None, None) => return Some("there should be an autoscaler".to_owned()),
        (Some(_), Some(autoscaler)) => return Some(format!("{} should be gone", autoscaler.name)),
    };
    (expected != *replicas).then(|| format!("the replica count should be {expected} and is {replicas}"))
}

/// One Workload's history up to a revision.
#[derive(Default)]
struct Case {
    /// Versions of the spec, from the first to the last.
    versions: Vec<Version>,
    /// The version that the operator last reported on.
    observed: i64,
    phase: Option<String>,
    autoscalers: Vec<Autoscaler>,
    /// The replica count and its owners.
    number: Option<(i32, Vec<ReplicaOwner>)>,
}

struct Version {
    generation: i64,
    asked: Asked,
}

/// An autoscaler, for as long as its limits stay the same.
struct Autoscaler {
    name: String,
    limits: Limits,
    until: Option<Duration>,
}

impl Case {
    /// Judges the next sighting, and returns what is wrong with it.
    fn next(&mut self, sighting: &Sighting, tally: &mut Tally) -> Option<String> {
        match &sighting.seen {
            Seen::Workload { generation, asked, observed, phase } => {
                self.observed = *observed;
                if self.versions.last().is_none_or(|last| last.generation < *generation) {
                    self.versions.push(Version { generation: *generation, asked: *asked });
                }
                if *phase != self.phase {
                    self.phase.clone_from(phase);
                    tally.reported += u32::from(phase.as_deref() == Some("HandedOver"));
                }
                None
            }
            Seen::Autoscaler { name, limits } => {
                let same = |one: &&mut Autoscaler| one.name == *name && one.until.is_none();
                match self.autoscalers.iter_mut().find(same) {
                    Some(known) if known.limits == *limits => return None,
                    Some(changed) => changed.until = Some(sighting.at),
                    None => {}
                }
                self.autoscalers.push(Autoscaler { name: name.clone(), limits: *limits, until: None });
                None
            }
            Seen::AutoscalerGone { name } => {
                let gone = self.autoscalers.iter_mut().filter(|one| one.name == *name && one.until.is_none());
                gone.for_each(|one| one.until = Some(sighting.at));
                None
            }
            Seen::Deployment { replicas, owners } => {
                let before = self.number.replace((*replicas, owners.clone()));
                let (old, owners_before) = before.map_or((None, vec![]), |(old, before)| (Some(old), before));
                count_new_owners(&owners_before, owners, tally);
                if owners.is_empty() {
                    return Some(format!("the replica count, {replicas}, has no owner"));
                }
                if old == Some(*replicas) {
                    return None;
                }
                tally.values += 1;
                let ruling = self.rule(old, *replicas, owners, sighting.at, tally);
                tally.lowest_margin = tally.lowest_margin.into_iter().chain(ruling.margin).min();
                ruling.wrong
            }
        }
    }

    /// Judges a change of the replica count, or the first one.
    fn rule(
        &self,
        old: Option<i32>,
        new: i32,
        owners: &[ReplicaOwner],
        at: Duration,
        tally: &mut Tally,
    ) -> Ruling {
        let change = old.map_or(format!("created with {new}"), |old| format!("changed from {old} to {new}"));
        let wrong = |wrong| Ruling { margin: None, wrong: Some(wrong) };
        match owners {
            [owner] if *owner == baton() => {
                tally.set += u32::from(old.is_some());
                let numbers = self.numbers_for_baton(old.is_none());
                let allowed = numbers.contains(&new);
                Ruling {
                    margin: numbers.iter().min().map(|floor| new - floor),
                    wrong: (!allowed).then(|| format!("{change} by Baton, and the spec has {numbers:?}")),
                }
            }
            [owner] if scales(owner) => {
                tally.scaled_up += u32::from(old.is_some_and(|old| old < new));
                tally.scaled_down += u32::from(old.is_some_and(|old| old > new));
                let able = self.autoscalers.iter().filter(|one| one.until.is_none_or(|end| at <= end + LATE));
                let able: Vec<&Autoscaler> = able.collect();
                let mut allowing = able.iter().filter(|one| one.limits.contain(new)).peekable();
                let allowed = allowing.peek().is_some();
                let late = !allowing.any(|one| one.until.is_none());
                tally.late += u32::from(allowed && late);
                let shown: Vec<String> = able.iter().map(|one| one.limits.to_string()).collect();
                let shown = shown.join(", ");
                Ruling {
                    margin: able.iter().map(|one| new - one.limits.min).max(),
                    wrong: (!allowed)
                        .then(|| format!("{change} by an autoscaler, and the limits were [{shown}]")),
                }
            }
            [owner] => wrong(format!("{change} by {owner}, which may not change it")),
            several => {
                let names: Vec<String> = several.iter().map(ToString::to_string).collect();
                wrong(format!("{change} by one of several owners: {}", names.join(", ")))
            }
        }
    }

    /// The replica counts that Baton may set: of the version that it last reported on, and of later ones.
    fn numbers_for_baton(&self, creates: bool) -> Vec<i32> {
        let current = self.versions.iter().filter(|version| version.generation >= self.observed);
        let number = |version: &Version| if creates { version.asked.start() } else { version.asked.fixed() };
        current.filter_map(number).collect()
    }
}

/// The judgement of one change.
struct Ruling {
    /// The new replica count minus the lowest that its owner was allowed to set; absent if it wasn't allowed to set any.
    margin: Option<i32>,
    wrong: Option<String>,
}

fn baton() -> ReplicaOwner {
    ReplicaOwner::apply("baton")
}

fn scales(owner: &ReplicaOwner) -> bool {
    owner.subresource.as_deref() == Some("scale")
}

/// Counts the managers that became owners.
fn count_new_owners(before: &[ReplicaOwner], now: &[ReplicaOwner], tally: &mut Tally) {
    let came = |owner: &ReplicaOwner| !before.contains(owner) && now.contains(owner);
    tally.begun += u32::from(came(&ReplicaOwner::apply("handover-to-hpa")));
    tally.completed += u32::from(!before.iter().any(scales) && now.iter().any(scales));
    tally.taken_back += u32::from(came(&baton()) && !before.is_empty());
}

#[cfg(test)]
mod tests {
    use super::*;

    const HPA: &str = "kube-controller-manager";
    const LIMITS: Limits = Limits { min: 2, max: 8 };

    fn temporary() -> ReplicaOwner {
        ReplicaOwner::apply("handover-to-hpa")
    }

    /// What is seen of one Workload, with a write each second.
    #[derive(Default)]
    struct Story(Vec<Sighting>);

    impl Story {
        /// A Workload with three replicas, which Baton has set and reported.
        fn with_three() -> Self {
            Self::default().spec(1, Some(3), Scaling::Absent, 0).number(3, &[baton()]).spec(
                1,
                Some(3),
                Scaling::Absent,
                1,
            )
        }

        /// The same, after the handover to an autoscaler.
        fn handed_over() -> Self {
            let own = Scaling::Own(LIMITS);
            Self::with_three()
                .spec(2, Some(3), own, 1)
                .number(3, &[temporary(), baton()])
                .number(3, &[temporary()])
                .autoscaler("web", LIMITS)
                .spec(2, Some(3), own, 2)
                .number(6, &[ReplicaOwner::scale(HPA)])
        }

        fn then(mut self, seen: Seen) -> Self {
            let revision = self.0.len() as u64 + 1;
            let (at, workload) = (Duration::from_secs(revision), "web".to_owned());
            self.0.push(Sighting { revision, at, workload, seen });
            self
        }

        fn spec(self, generation: i64, replicas: Option<i32>, scaling: Scaling, observed: i64) -> Self {
            self.then(Seen::Workload {
                generation,
                asked: Asked { replicas, scaling },
                observed,
                phase: None,
            })
        }

        fn number(self, replicas: i32, owners: &[ReplicaOwner]) -> Self {
            self.then(Seen::Deployment { replicas, owners: owners.to_vec() })
        }

        fn scaled(self, replicas: i32) -> Self {
            self.number(replicas, &[ReplicaOwner::scale(HPA)])
        }

        fn autoscaler(self, name: &str, limits: Limits) -> Self {
            self.then(Seen::Autoscaler { name: name.to_owned(), limits })
        }

        fn no_autoscaler(self, name: &str) -> Self {
            self.then(Seen::AutoscalerGone { name: name.to_owned() })
        }

        fn violations(&self) -> Vec<String> {
            judge(&self.0).violations.into_iter().map(|violation| violation.what).collect()
        }

        fn tally(&self) -> Tally {
            let Judgement { violations, tally } = judge(&self.0);
            assert_eq!(violations, []);
            tally
        }
    }

    #[test]
    fn a_handover_and_the_way_back_are_allowed_and_counted() {
        let both = [ReplicaOwner::scale(HPA), baton()];
        let story = Story::handed_over()
            .scaled(4)
            .spec(3, Some(5), Scaling::Absent, 2)
            .no_autoscaler("web")
            .number(4, &both)
            .number(4, &[baton()])
            .number(5, &[baton()]);
        let expected = Tally {
            values: 4,
            set: 1,
            scaled_up: 1,
            scaled_down: 1,
            begun: 1,
            completed: 1,
            taken_back: 1,
            lowest_margin: Some(0),
            ..Tally::default()
        };
        assert_eq!(story.tally(), expected);
    }

    #[test]
    fn a_replica_count_without_an_owner_is_a_violation() {
        let unowned = Story::with_three().spec(2, Some(3), Scaling::Own(LIMITS), 1).number(1, &[]);
        assert_eq!(unowned.violations(), ["the replica count, 1, has no owner"]);
    }

    #[test]
    fn baton_may_set_only_the_replica_counts_of_versions_since_its_last_report() {
        let edits = |observed| {
            Story::with_three().spec(2, Some(7), Scaling::Absent, 1).spec(
                3,
                Some(4),
                Scaling::Absent,
                observed,
            )
        };
        assert_eq!(edits(1).number(7, &[baton()]).number(4, &[baton()]).tally().set, 2);
        assert_eq!(
            edits(3).number(7, &[baton()]).violations(),
            ["changed from 3 to 7 by Baton, and the spec has [4]"]
        );
        let autoscaled = Story::handed_over().number(3, &[baton()]);
        assert_eq!(autoscaled.violations(), ["changed from 6 to 3 by Baton, and the spec has []"]);
    }

    #[test]
    fn a_replica_count_below_all_that_are_allowed_has_a_negative_margin() {
        let story = Story::with_three().number(2, &[baton()]);
        let judgement = judge(&story.0);
        assert_eq!(judgement.tally.lowest_margin, Some(-1));
        assert_eq!(judgement.violations.len(), 1);
    }

    #[test]
    fn an_autoscaler_may_choose_within_its_limits_and_for_a_short_time_within_its_old_ones() {
        assert_eq!(
            Story::handed_over().scaled(9).violations(),
            ["changed from 6 to 9 by an autoscaler, and the limits were [2 to 8]"]
        );
        let tightened = || Story::handed_over().autoscaler("web", Limits { min: 4, max: 8 });
        assert_eq!(tightened().scaled(3).tally().late, 1);
        let mut too_late = tightened().scaled(3);
        too_late.0.last_mut().unwrap().at += LATE;
        assert_eq!(
            too_late.violations(),
            ["changed from 6 to 3 by an autoscaler, and the limits were [4 to 8]"]
        );
    }

    #[test]
    fn no_other_manager_may_change_the_replica_count() {
        for (owners, expected) in [
            (vec![temporary()], "changed from 3 to 4 by handover-to-hpa (Apply), which may not change it"),
            (
                vec![ReplicaOwner::apply("kubectl")],
                "changed from 3 to 4 by kubectl (Apply), which may not change it",
            ),
            (
                vec![baton(), temporary()],
                "changed from 3 to 4 by one of several owners: baton (Apply), handover-to-hpa (Apply)",
            ),
        ] {
            assert_eq!(Story::with_three().number(4, &owners).violations(), [expected]);
        }
    }

    #[test]
    fn at_rest_the_replica_count_and_its_owner_are_right() {
        let unrest = |story: &Story| unrest(&story.0, 7);
        assert_eq!(unrest(&Story::with_three()), None);
        assert_eq!(unrest(&Story::handed_over()).unwrap(), "the replica count should be 7 and is 6");
        assert_eq!(unrest(&Story::handed_over().scaled(7)), None);
        let off = || Story::handed_over().spec(3, Some(5), Scaling::Absent, 2);
        assert_eq!(unrest(&off()).unwrap(), "the operator has reported on generation 2 of 3");
        let off = || off().spec(3, Some(5), Scaling::Absent, 3);
        assert_eq!(unrest(&off()).unwrap(), "web should be gone");
        assert_eq!(unrest(&off().no_autoscaler("web")).unwrap(), "Baton should be the only owner");
    }
}
