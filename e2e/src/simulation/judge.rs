//! Checks each stored version: the promises of the model checker, for the real operator's writes.
//!
//! The inputs of a pass aren't visible from outside. A write is correct if it is correct for any version of the Workload's
//! spec that it may have been planned from: from the one that the status was about when it was sent, to the newest.
//!
//! An autoscaler chooses within its limits, or within its old limits for a short time. So no replica count is less than what was
//! asked for. The margin of a change is the new replica count minus the least that its owner may set.

use std::{collections::BTreeMap, time::Duration};

use baton_apply::LiveObject;
use baton_controller::decide::replicas::{Replicas, Wanted};
use baton_crd::{Workload, labels::REPLICAS_BEFORE_SUSPEND};
use kube::ResourceExt as _;
use serde_json::Value;

use super::{
    observer::{Observed, Version},
    plan::{Limits, WorkloadId},
    requests,
    tally::Judged,
};
use crate::handover_model::{Broken, JudgedReplicas, JudgedWrite, Promise, judge};

/// How long an autoscaler may still act on old limits, or after it was deleted. Its controller reads the limits from a cache and
/// requests metrics; after a conflict, it reads the replica count again and still writes its own. On a busy machine, more than
/// five seconds passed between the deletion and that write.
const LATE: Duration = Duration::from_secs(30);
/// The field manager of HorizontalPodAutoscalers.
const AUTOSCALER: &str = "kube-controller-manager";

/// A stored write of an operator, as the operator sent it.
#[derive(Clone, Debug)]
pub(crate) struct Author {
    /// The newest version when it was sent.
    pub(super) since: u64,
    /// The version that it was planned from.
    pub(super) planned_from: Option<u64>,
    pub(super) creates: bool,
    /// Whether it is the temporary manager's, which acts only if Baton shouldn't own the replica count.
    pub(super) hands_over: bool,
    /// Whether its sender has given it up.
    pub(super) is_late: bool,
}

impl Author {
    /// The author of a write with this body.
    pub(crate) fn of(body: &Value, hands_over: bool, since: u64) -> Self {
        let tested = body.as_array().into_iter().flatten();
        let tested = tested.filter(|operation| operation["path"] == "/metadata/resourceVersion");
        let tested = tested.map(|operation| &operation["value"]);
        let guards = tested.chain(body.pointer("/metadata/resourceVersion"));
        let planned_from = guards.filter_map(Value::as_str).find_map(|version| version.parse().ok());
        let creates = body.is_object() && body.pointer("/metadata/uid").is_none();
        Self { since, planned_from, creates, hands_over, is_late: false }
    }
}

/// A broken promise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The name of the promise. A smaller run has to break the same.
    pub what: String,
    /// The state that was found, and the expected one.
    pub how: String,
}

/// All stored versions of each Workload and its children.
#[derive(Default)]
pub(crate) struct Judge {
    histories: BTreeMap<WorkloadId, History>,
    pub(crate) judged: Judged,
}

#[derive(Default)]
struct History {
    workload: Vec<WorkloadVersion>,
    deployment: Vec<(u64, Option<DeploymentVersion>)>,
    /// The controller of the autoscaler of the Workload's name.
    own_autoscaler: Option<String>,
    /// All autoscalers of the Deployment.
    autoscalers: Vec<Autoscaler>,
}

/// An autoscaler, for as long as its limits stay the same.
struct Autoscaler {
    name: String,
    limits: Limits,
    until: Option<Duration>,
}

struct WorkloadVersion {
    revision: u64,
    uid: String,
    generation: i64,
    observed: i64,
    wanted: Wanted,
    recorded: Option<i32>,
}

struct DeploymentVersion {
    replicas: Replicas,
    to_resume: Option<i32>,
    controller: Option<String>,
}

impl DeploymentVersion {
    fn judged(&self) -> JudgedReplicas<'_> {
        JudgedReplicas { replicas: &self.replicas, to_resume: self.to_resume }
    }

    /// Whether an autoscaler is the only owner of the replica count, as after each change that it makes.
    fn is_of_an_autoscaler(&self) -> bool {
        let owners = &self.replicas.owners;
        let others = owners.baton || owners.temporary || !owners.others.is_empty();
        !others && !owners.scale.is_empty() && owners.scale.iter().all(|owner| owner.manager == AUTOSCALER)
    }

    fn describe(&self) -> String {
        let Self { replicas, to_resume, .. } = self;
        let suspended = to_resume.map(|number| format!(", {number} to restore")).unwrap_or_default();
        format!("{} owned by {}{suspended}", replicas.count, replicas.owners.describe())
    }
}

impl Judge {
    /// Judges the next version, which was stored at this time.
    pub(crate) fn next(
        &mut self,
        version: &Version,
        author: Option<&Author>,
        at: Duration,
    ) -> Option<Violation> {
        self.judged.versions += 1;
        let workload = version.workload()?;
        let history = self.histories.entry(workload).or_default();
        let found = match version.what {
            Observed::Workload => {
                history.workload.extend(WorkloadVersion::of(version));
                None
            }
            Observed::Autoscaler => history.autoscaler(version, author, at),
            Observed::Deployment => history.deployment(version, author, at, &mut self.judged),
        };
        let (what, how) = found?;
        let how = format!("{workload} at resourceVersion {}: {how}", version.revision);
        Some(Violation { what: what.to_owned(), how })
    }

    /// The error in a replica count that its only autoscaler should have set for this load, in pods.
    pub(crate) fn off_load(&self, workload: WorkloadId, load: u32) -> Option<String> {
        let history = self.histories.get(&workload)?;
        let mut live = history.autoscalers.iter().filter(|one| one.until.is_none());
        let (Some(autoscaler), None) = (live.next(), live.next()) else { return None };
        let Autoscaler { name, limits, .. } = autoscaler;
        let count = history.now()?.replicas.count;
        let wanted = i32::try_from(load).unwrap_or(i32::MAX).clamp(limits.min, limits.max);
        // At zero an autoscaler does nothing.
        (count != 0 && count != wanted)
            .then(|| format!("{workload}: {name} should set {wanted} replicas, and there are {count}"))
    }
}

/// The promise that is broken, and how.
type Found = Option<(&'static str, String)>;

impl History {
    fn autoscaler(&mut self, version: &Version, author: Option<&Author>, at: Duration) -> Found {
        let live = LiveObject::from_json(version.object.clone()).ok()?;
        let name = version.object.pointer("/metadata/name")?.as_str()?.to_owned();
        let limits = Limits::of(&version.object)?;
        let is_own = version.workload().is_some_and(|workload| workload.name() == name);
        let ended = |one: &&mut Autoscaler| {
            one.name == name && one.until.is_none() && (version.gone || one.limits != limits)
        };
        self.autoscalers.iter_mut().filter(ended).for_each(|one| one.until = Some(at));
        if !version.gone && !self.autoscalers.iter().any(|one| one.name == name && one.until.is_none()) {
            self.autoscalers.push(Autoscaler { name, limits, until: None });
        }
        if !is_own {
            return None;
        }
        let before = self.own_autoscaler.take();
        self.own_autoscaler = if version.gone { None } else { controller(&live) };
        let is_made = before.is_none() && self.is_scaled_by_baton();
        let in_time = author.is_some_and(|author| !author.is_late);
        let owned = self.now().filter(|now| now.replicas.owners.baton)?;
        (is_made && in_time).then(|| {
            let how = format!("the autoscaler was created, and the replica count is {}", owned.describe());
            (Promise::OneAtATime.name(), how)
        })
    }

    fn deployment(
        &mut self,
        version: &Version,
        author: Option<&Author>,
        at: Duration,
        judged: &mut Judged,
    ) -> Found {
        let after = if version.gone { None } else { DeploymentVersion::of(version) };
        let is_own = |version: &DeploymentVersion| {
            version.controller.is_some() && version.controller.as_deref() == self.uid()
        };
        let before = self.now();
        let (mut broken, mut off_limits) = (Broken::default(), None);
        if let Some(after) = &after {
            broken = match author {
                None => {
                    let releases = before.is_some_and(|before| is_rogues(before) && !is_rogues(after));
                    judge(before.map(DeploymentVersion::judged), after.judged(), None, releases)
                }
                Some(author) => self.judged(after, author),
            };
            let takes_over = author.is_some_and(|author| !author.is_late && !author.creates)
                && before.is_some_and(|before| is_own(before) && !before.replicas.owners.baton);
            broken.note(
                Promise::OneAtATime,
                takes_over && after.replicas.owners.baton && self.is_scaled_by_baton(),
            );
            off_limits = self.count(after, author, at, judged);
        }
        let off_limits = off_limits.map(|what| ("an autoscaler stays within its limits", what));
        let kept = Promise::all().iter().find(|promise| broken.has(**promise)).map(|promise| {
            let planned =
                author.map(|author| format!("{author:?}, and the spec was {:?}", self.candidates(author)));
            let [before, after] = [before, after.as_ref()].map(|version| {
                version.map_or_else(|| "no Deployment".to_owned(), DeploymentVersion::describe)
            });
            let by = planned.as_deref().unwrap_or("others");
            (promise.name(), format!("{before} became {after}, by {by}"))
        });
        self.deployment.push((version.revision, after));
        kept.or(off_limits)
    }

    /// Counts a change of the replica count, and returns what is wrong if an autoscaler made it.
    fn count(
        &self,
        after: &DeploymentVersion,
        author: Option<&Author>,
        at: Duration,
        judged: &mut Judged,
    ) -> Option<String> {
        let before = self.now();
        let wanted = self.workload.last().map(|version| version.wanted);
        judged.occurrences.moved(
            wanted == Some(Wanted::HandsOff),
            before.map(|before| &before.replicas),
            &after.replicas,
            author.is_some(),
        );
        let (old, new) = (before?.replicas.count, after.replicas.count);
        if old == new {
            return None;
        }
        let least = if let Some(author) = author {
            judged.changes += 1;
            let counts = self.candidates(author).into_iter().filter_map(|(wanted, _)| match wanted {
                Wanted::Fixed(count) => Some(count),
                _ => None,
            });
            let counts: Vec<i32> = counts.collect();
            counts.iter().copied().min().filter(|_| counts.contains(&new))
        } else if after.is_of_an_autoscaler() {
            judged.scalings += 1;
            let may = self.autoscalers.iter().filter(|one| one.until.is_none_or(|end| at <= end + LATE));
            let limits: Vec<Limits> = may.map(|one| one.limits).collect();
            if !limits.iter().any(|limits| (limits.min..=limits.max).contains(&new)) {
                let limits: Vec<String> = limits.iter().map(ToString::to_string).collect();
                let limits = limits.join(", ");
                return Some(format!("changed from {old} to {new} by an autoscaler, limited to [{limits}]"));
            }
            limits.iter().map(|limits| limits.min).min()
        } else {
            None
        };
        judged.lowest_margin = judged.lowest_margin.into_iter().chain(least.map(|least| new - least)).min();
        None
    }

    /// The promise that Baton's write broke, whichever of the candidates it was planned from.
    fn judged(&self, after: &DeploymentVersion, author: &Author) -> Broken {
        let before = self.now().map(DeploymentVersion::judged);
        let planned_from = author.planned_from.and_then(|revision| self.at(revision));
        let read = planned_from.map(|version| version.replicas.count);
        let of = |(wanted, recorded): (Wanted, Option<i32>)| {
            let write = JudgedWrite { wanted, recorded, read };
            judge(before, after.judged(), Some(&write), false)
        };
        self.candidates(author).into_iter().map(of).reduce(Broken::and).unwrap_or_default()
    }

    /// The specs and the recorded replica counts that a write may have been planned from.
    fn candidates(&self, author: &Author) -> Vec<(Wanted, Option<i32>)> {
        let known = self.workload.iter().rev().find(|version| version.revision <= author.since);
        let (uid, observed) = known.map_or(("", 0), |known| (&known.uid, known.observed));
        let is_batons = |wanted| matches!(wanted, Wanted::Fixed(_) | Wanted::Suspended);
        let is_candidate = |version: &&WorkloadVersion| {
            (version.uid != uid || version.generation >= observed)
                && !(author.hands_over && is_batons(version.wanted))
        };
        let mut candidates = Vec::new();
        for version in self.workload.iter().filter(is_candidate) {
            let candidate = (version.wanted, version.recorded);
            if !candidates.contains(&candidate) {
                candidates.push(candidate);
            }
        }
        candidates
    }

    fn now(&self) -> Option<&DeploymentVersion> {
        self.deployment.last()?.1.as_ref()
    }

    fn at(&self, revision: u64) -> Option<&DeploymentVersion> {
        self.deployment.iter().rev().find(|(known, _)| *known == revision)?.1.as_ref()
    }

    fn uid(&self) -> Option<&str> {
        Some(&self.workload.last()?.uid)
    }

    /// Whether the Workload's own autoscaler exists.
    fn is_scaled_by_baton(&self) -> bool {
        self.own_autoscaler.is_some() && self.own_autoscaler.as_deref() == self.uid()
    }
}

impl WorkloadVersion {
    fn of(version: &Version) -> Option<Self> {
        let workload: Workload = serde_json::from_value(version.object.clone()).ok()?;
        let status = workload.status.as_ref();
        Some(Self {
            revision: version.revision,
            uid: workload.uid()?,
            generation: workload.metadata.generation?,
            observed: status.and_then(|status| status.observed_generation).unwrap_or_default(),
            wanted: Wanted::of(&workload),
            recorded: status.and_then(|status| Some(status.replica_ownership.as_ref()?.value)),
        })
    }
}

impl DeploymentVersion {
    fn of(version: &Version) -> Option<Self> {
        let live = LiveObject::from_json(version.object.clone()).ok()?;
        let to_resume = live.annotations().get(REPLICAS_BEFORE_SUSPEND);
        Some(Self {
            replicas: Replicas::of(&live),
            to_resume: to_resume.and_then(|number| number.parse().ok()),
            controller: controller(&live),
        })
    }
}

/// Whether the rogue owns the replica count. It may release it as its only owner.
fn is_rogues(version: &DeploymentVersion) -> bool {
    version.replicas.owners.others.iter().any(|manager| manager == requests::ROGUE)
}

/// The uid of the object's controller.
fn controller(live: &LiveObject) -> Option<String> {
    live.owner_references().iter().find(|owner| owner.controller == Some(true)).map(|owner| owner.uid.clone())
}
