//! Checks each stored version: the promises of the model checker, for the real operator's writes.
//!
//! What a pass was planned from isn't visible from outside. A write is correct if it is correct for any version of the Workload's
//! spec that it may have been planned from: from the one that the status was about when it was sent, to the newest.

use std::collections::BTreeMap;

use baton_apply::LiveObject;
use baton_controller::decide::replicas::{Replicas, Wanted};
use baton_crd::{Workload, labels::REPLICAS_BEFORE_SUSPEND};
use kube::ResourceExt as _;
use serde_json::Value;

use super::{
    event::Site,
    observer::{Observed, Version},
    people,
};
use crate::handover_model::{Broken, JudgedReplicas, JudgedWrite, Promise, judge};

/// A stored write of an operator, as the operator sent it.
#[derive(Clone, Debug)]
pub(super) struct Author {
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

/// A broken promise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The name of the promise. A smaller run has to break the same.
    pub what: String,
    /// What was found, and what was expected.
    pub how: String,
}

/// All stored versions of each Workload and its children.
#[derive(Default)]
pub(super) struct Judge {
    stories: BTreeMap<Site, Story>,
    pub(super) versions: u64,
    /// How often Baton's write changed a replica count.
    pub(super) changes: u64,
}

#[derive(Default)]
struct Story {
    workload: Vec<WorkloadVersion>,
    deployment: Vec<(u64, Option<DeploymentVersion>)>,
    /// The controller of the autoscaler of the Workload's name.
    own_autoscaler: Option<String>,
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
    fn number(&self) -> JudgedReplicas<'_> {
        JudgedReplicas { replicas: &self.replicas, to_resume: self.to_resume }
    }

    fn describe(&self) -> String {
        let Self { replicas, to_resume, .. } = self;
        let suspended = to_resume.map(|number| format!(", {number} to restore")).unwrap_or_default();
        format!("{} owned by {}{suspended}", replicas.count, replicas.owners.describe())
    }
}

impl Judge {
    /// Judges the next version.
    pub(super) fn next(&mut self, version: &Version, author: Option<&Author>) -> Option<Violation> {
        self.versions += 1;
        let site = version.site()?;
        let story = self.stories.entry(site).or_default();
        let (broken, how) = match version.what {
            Observed::Workload => {
                story.workload.extend(WorkloadVersion::of(version));
                return None;
            }
            Observed::Autoscaler => {
                let is_own =
                    version.object.pointer("/metadata/name").and_then(Value::as_str) == Some(site.name());
                if !is_own {
                    return None;
                }
                story.autoscaler(version, author)
            }
            Observed::Deployment => {
                let outcome = story.deployment(version, author);
                self.changes += u64::from(outcome.2);
                (outcome.0, outcome.1)
            }
        };
        let promise = Promise::all().iter().find(|promise| broken.has(**promise))?;
        let how = format!("{site} at resourceVersion {}: {how}", version.revision);
        Some(Violation { what: promise.name().to_owned(), how })
    }
}

impl Story {
    fn autoscaler(&mut self, version: &Version, author: Option<&Author>) -> (Broken, String) {
        let before = self.own_autoscaler.take();
        let live = LiveObject::from_json(version.object.clone()).ok();
        self.own_autoscaler = live.filter(|_| !version.gone).and_then(|live| controller(&live));
        let mut broken = Broken::default();
        let is_made = before.is_none() && self.is_scaled_by_baton();
        let in_time = author.is_some_and(|author| !author.is_late);
        let owned = self.now().filter(|now| now.replicas.owners.baton);
        broken.note(Promise::OneAtATime, is_made && in_time && owned.is_some());
        (broken, format!("the autoscaler was created, and the replica count is {}", describe(owned)))
    }

    fn deployment(&mut self, version: &Version, author: Option<&Author>) -> (Broken, String, bool) {
        let after = if version.gone { None } else { DeploymentVersion::of(version) };
        let is_own = |version: &DeploymentVersion| {
            version.controller.is_some() && version.controller.as_deref() == self.uid()
        };
        let before = self.now();
        let (mut broken, mut changes) = (Broken::default(), false);
        if let Some(after) = &after {
            broken = match author {
                None => {
                    let releases = before.is_some_and(|before| is_rogues(before) && !is_rogues(after));
                    judge(before.map(DeploymentVersion::number), after.number(), None, releases)
                }
                Some(author) => self.judged(after, author),
            };
            let takes_over = author.is_some_and(|author| !author.is_late && !author.creates)
                && before.is_some_and(|before| is_own(before) && !before.replicas.owners.baton);
            broken.note(
                Promise::OneAtATime,
                takes_over && after.replicas.owners.baton && self.is_scaled_by_baton(),
            );
            changes = author.is_some()
                && before.is_some_and(|before| before.replicas.count != after.replicas.count);
        }
        let planned =
            author.map(|author| format!("{author:?}, and the spec was {:?}", self.candidates(author)));
        let how = format!(
            "{} became {}, by {}",
            describe(before),
            describe(after.as_ref()),
            planned.as_deref().unwrap_or("others")
        );
        self.deployment.push((version.revision, after));
        (broken, how, changes)
    }

    /// What Baton's write broke, whichever of the candidates it was planned from.
    fn judged(&self, after: &DeploymentVersion, author: &Author) -> Broken {
        let before = self.now().map(DeploymentVersion::number);
        let planned_from = author.planned_from.and_then(|revision| self.at(revision));
        let read = planned_from.map(|version| version.replicas.count);
        let of = |(wanted, recorded): (Wanted, Option<i32>)| {
            let write = JudgedWrite { wanted, recorded, read };
            judge(before, after.number(), Some(&write), false)
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
    version.replicas.owners.others.iter().any(|manager| manager == people::ROGUE)
}

/// The uid of the object's controller.
fn controller(live: &LiveObject) -> Option<String> {
    live.owner_references().iter().find(|owner| owner.controller == Some(true)).map(|owner| owner.uid.clone())
}

fn describe(version: Option<&DeploymentVersion>) -> String {
    version.map_or_else(|| "no Deployment".to_owned(), DeploymentVersion::describe)
}
