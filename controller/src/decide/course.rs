//! The course of one pass: what to read, what to write, and what to make of each response. The one machine behind every write.
//!
//! It has no I/O and no clock. A driver asks for the [next](Course::next) thing to do, does it, and passes on how it ended. There
//! are three drivers: `reconcile::enforce` with the API server, [`rehearse`](super::rehearsal::rehearse) with the predictions themselves,
//! and the model checker of the tests with a model of the server. How long something is left alone is decided elsewhere.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet, VecDeque},
    fmt::Debug,
};

use baton_apply::{
    ApiError, Comparison, DryRun, Effects, FieldPath, LiveObject, Outcome, PreparedWrite, Revision, Schemas,
    Takeover, Tries, contention::Correction,
};
use baton_crd::{WorkloadStatus, labels};
use baton_merge::fieldpath::{Path, PathElement::Field};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::ResourceExt as _;

use super::{
    child::ChildKind,
    intent::Intent,
    plan::{Plan, Refusal, Step, Then},
    replicas::{Autoscaler, REPLICAS},
    snapshot::{Snapshot, shard_of, wants},
};
use crate::{
    HANDOVER_MANAGER,
    causes::{why_refused, with_causes},
    hash::digest_of,
};

/// The longest handover takes five plans (migrate, adopt, hand over, release, rest; or delete the autoscaler, take back, release
/// twice, set). After more than that, another manager is writing at the same time; the next pass goes on.
const MOST_PLANS: usize = 10;

/// How often in a row a child may have changed between being read and being written, before it is left alone for a while.
const MOST_STALE: u32 = 8;

/// The annotation of a suspended Deployment with the replica count to restore.
const TO_RESUME: Path<'static> =
    Path::new(&[Field("metadata"), Field("annotations"), Field(labels::REPLICAS_BEFORE_SUSPEND)]);

/// What is said to be taken where an object was deleted.
pub const WHOLE_OBJECT: &str = "the object itself";

/// What to do next.
#[derive(Debug)]
pub enum Next<'c> {
    /// Read something from the API server, past every cache.
    Read(Read),
    /// Plan from [what was seen](Course::seen), and pass the plan to [`Course::planned`].
    Plan,
    /// Send this, and pass the response to [`Course::responded`].
    Send {
        /// What to send.
        write: &'c PreparedWrite,
        /// Which writes of other Workloads may come first.
        turn: Turn,
    },
    /// Nothing more.
    Done,
}

/// Which writes of other Workloads may come before one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// None: it makes what is missing, ends something, or is a part of a move of the replica count.
    Next,
    /// What other new Workloads have beside their Deployments: this makes the Deployment of a new one, about which its
    /// controllers write a dozen times, so that all that follows takes longer.
    AfterNewcomers,
    /// All that doesn't wait for its turn itself.
    Last,
}

/// What to read from the API server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Read {
    /// The Workload: passed to [`Course::read_workload`].
    Workload,
    /// A child: passed to [`Course::read_child`].
    Child(ChildKind),
    /// A child that has changed since it was seen: passed to [`Course::read_child`] too. Any version after the one that was seen
    /// will do, such as one that a watch delivers.
    Newer(ChildKind),
    /// The HorizontalPodAutoscalers that scale the Deployment: passed to [`Course::read_autoscalers`].
    Autoscalers,
}

impl Read {
    /// The child that can't be written without it.
    pub fn child(self) -> ChildKind {
        match self {
            Self::Child(child) | Self::Newer(child) => child,
            Self::Workload | Self::Autoscalers => ChildKind::Deployment,
        }
    }
}

/// What a move of `spec.replicas` rests on, and an autoscaler that is to be created. Caches lag behind, each on its own, so
/// all of it is read anew before the first move of a pass; what follows is planned from the server's responses, and guarded. A
/// Deployment that the pass itself has made has no number yet that anything older could be about.
const GROUNDS: [Read; 4] = [
    Read::Workload,
    Read::Child(ChildKind::Deployment),
    Read::Child(ChildKind::Autoscaler),
    Read::Autoscalers,
];

/// One pass while it is under way.
#[derive(Clone, Debug)]
pub struct Course {
    seen: Snapshot,
    /// Whether what would change nothing is sent nevertheless.
    always_send: bool,
    /// Children that nothing more is tried for.
    held_back: BTreeSet<ChildKind>,
    to_read: BTreeSet<Read>,
    /// What was read from the server in this pass.
    fresh: BTreeSet<Read>,
    to_write: VecDeque<Step>,
    /// What was sent, and has no response yet.
    under_way: Option<(Step, PreparedWrite)>,
    /// What comes after the writes.
    then: Then,
    plans: usize,
    /// How often in a row the live object of a child wasn't what was seen.
    stale: BTreeMap<ChildKind, u32>,
    /// The intents that would change nothing.
    live: BTreeMap<ChildKind, LiveIntent>,
    /// Whether the Workload isn't the one that is planned from any more: its spec is another, or its shard is.
    is_outdated: bool,
    /// The children that the last pass of this process has left.
    left: BTreeSet<ChildKind>,
    /// Whether the Workload was read from the server after the last object of another shard was: only then that one is written.
    is_still_ours: bool,
    /// What was done; nothing is decided by it.
    record: PassRecord,
}

/// What a pass has done.
#[derive(Clone, Debug, Default)]
struct PassRecord {
    results: BTreeMap<ChildKind, ChildResult>,
    refused: Vec<Refusal>,
    takeovers: Vec<(ChildKind, Takeover)>,
    skipped: Vec<ChildKind>,
    milestones: Vec<(ChildKind, Milestone)>,
    /// The managers that were retired from objects that are being adopted.
    retired: BTreeMap<ChildKind, Vec<String>>,
}

/// How the writes of one child ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChildResult {
    /// It was made.
    Created,
    /// It had another owner, and is this Workload's now.
    Adopted {
        /// The managers whose fields became Baton's.
        retired: Vec<String>,
    },
    /// It is as it should be: it was applied, or an apply would have changed nothing.
    Applied,
    /// It was deleted.
    Deleted,
    /// The server rejected it, with this message.
    Rejected(String),
    /// The request didn't get through, or the server couldn't do it now.
    Failed(String),
    /// It changed each time between being read and being written; this is the server's last message.
    Overtaken(String),
}

impl ChildResult {
    /// Whether the last write was stored, or would have changed nothing.
    pub fn is_written(&self) -> bool {
        matches!(self, Self::Created | Self::Adopted { .. } | Self::Applied | Self::Deleted)
    }

    /// Whether it is unknown what the server makes of the spec: the next write may be stored.
    pub fn is_open(&self) -> bool {
        matches!(self, Self::Failed(_) | Self::Overtaken(_))
    }
}

/// What a write made of a child that users are told of, whatever a later write makes of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Milestone {
    /// It was made.
    Created,
    /// It had another owner, and became this Workload's.
    Adopted {
        /// The managers whose fields became Baton's.
        retired: Vec<String>,
    },
    /// It was deleted.
    Deleted,
}

/// How a write ended, for logs, metrics and pace.
#[derive(Debug)]
pub struct Ended {
    /// The step that it was part of.
    pub step: Step,
    /// What was sent.
    pub write: PreparedWrite,
    /// How that ended.
    pub outcome: Outcome,
    /// What other managers lost by it.
    pub takeovers: Vec<Takeover>,
    /// The fields of the child that it set right. Where that happens again and again, it is contention.
    pub corrections: Vec<Correction>,
    /// What it made of the child; absent where the child has to be read again first.
    pub result: Option<ChildResult>,
}

/// What a whole pass has done.
#[derive(Debug)]
pub struct Finished {
    /// What was seen in the end.
    pub seen: Snapshot,
    /// How the writes of each child ended; no entry where there was nothing to write.
    pub results: BTreeMap<ChildKind, ChildResult>,
    /// Children that weren't written because an object of another owner is there.
    pub refused: Vec<Refusal>,
    /// What Baton took from other managers, in the order of the writes.
    pub takeovers: Vec<(ChildKind, Takeover)>,
    /// What users are told of, in the order of the writes.
    pub milestones: Vec<(ChildKind, Milestone)>,
    /// The children whose apply wasn't sent because it would have changed nothing; each as often as that was so.
    pub skipped: Vec<ChildKind>,
    /// The intents that would change nothing.
    pub live: BTreeMap<ChildKind, LiveIntent>,
    /// Whether the last plan had nothing left to do.
    pub settled: bool,
}

/// An intent that would change nothing of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveIntent {
    /// What identifies the intent, in this process.
    pub intent: u64,
    /// The object as it is.
    pub revision: Revision,
}

impl LiveIntent {
    fn new(intent: &Intent, live: &LiveObject) -> Self {
        Self { intent: digest_of(intent.as_value()), revision: live.revision() }
    }
}

impl Course {
    /// A pass that begins with this, and leaves these children alone. `always_send` sends also what would change nothing.
    pub fn new(seen: Snapshot, held_back: BTreeSet<ChildKind>, always_send: bool) -> Self {
        let mut course = Self {
            seen,
            always_send,
            held_back,
            to_read: BTreeSet::new(),
            fresh: BTreeSet::new(),
            to_write: VecDeque::new(),
            under_way: None,
            then: Then::PlanAgain,
            plans: 0,
            stale: BTreeMap::new(),
            live: BTreeMap::new(),
            is_outdated: false,
            left: BTreeSet::new(),
            is_still_ours: false,
            record: PassRecord::default(),
        };
        course.read_out_of_sight();
        course
    }

    fn read_out_of_sight(&mut self) {
        self.to_read
            .extend(out_of_sight(&self.seen, &self.left, &self.held_back).into_iter().map(Read::Child));
    }

    /// The same, knowing of these intents that they would change nothing.
    #[must_use]
    pub fn knowing(self, live: BTreeMap<ChildKind, LiveIntent>) -> Self {
        Self { live, ..self }
    }

    /// The same, knowing the children that the last pass has left, which the status may not name yet.
    #[must_use]
    pub fn after_pass(mut self, left: BTreeSet<ChildKind>) -> Self {
        self.left = left;
        self.read_out_of_sight();
        self
    }

    /// What was seen up to now, with the server's responses in it.
    pub fn seen(&self) -> &Snapshot {
        &self.seen
    }

    /// All that the rest of the pass depends on, for who compares passes: two that are equal in this go on alike.
    pub fn state(&self) -> impl Debug + '_ {
        (
            (&self.seen, self.always_send, &self.held_back, self.step_under_way()),
            (&self.to_read, &self.fresh, &self.to_write, self.then),
            (self.plans, &self.stale, &self.live, self.is_outdated, &self.left, self.is_still_ours),
        )
    }

    /// How the writes of each child have ended up to now.
    pub fn results(&self) -> &BTreeMap<ChildKind, ChildResult> {
        &self.record.results
    }

    /// The children that nothing more is tried for.
    pub fn held_back(&self) -> &BTreeSet<ChildKind> {
        &self.held_back
    }

    /// The step that was sent, and has no response yet.
    pub fn step_under_way(&self) -> Option<&Step> {
        self.under_way.as_ref().map(|(step, _)| step)
    }

    /// What comes next, once what came before has ended.
    pub fn next(&mut self, schemas: &Schemas, now: Timestamp) -> Next<'_> {
        while let Some(step) = self.to_write.pop_front() {
            if let Some(write) = self.prepare(&step, schemas, now) {
                let turn = self.turn(&step);
                let (_, write) = self.under_way.insert((step, write));
                return Next::Send { write, turn };
            }
        }
        if let Some(read) = self.to_read.pop_first() {
            self.fresh.insert(read);
            self.is_still_ours |= read == Read::Workload;
            return Next::Read(read);
        }
        if self.is_outdated || self.is_settled() || self.plans == MOST_PLANS {
            Next::Done
        } else {
            Next::Plan
        }
    }

    fn turn(&self, step: &Step) -> Turn {
        let is_new = !self.seen.workload.status.as_ref().is_some_and(WorkloadStatus::is_written);
        match step {
            Step::Apply { child: ChildKind::Deployment, .. } if step.creates() && is_new => {
                Turn::AfterNewcomers
            }
            Step::Apply { .. } if self.then == Then::Rest && !step.creates() => Turn::Last,
            _ => Turn::Next,
        }
    }

    /// The request of a step, with its guard; none where it needn't be sent, or can't be written.
    fn prepare(&mut self, step: &Step, schemas: &Schemas, now: Timestamp) -> Option<PreparedWrite> {
        let child = step.child();
        if self.is_live(step) {
            return self.skip(child);
        }
        let request = match step.request(&self.seen.workload) {
            Ok(request) => request,
            Err(error) => {
                self.failed(child, ChildResult::Failed(with_causes(&error)));
                return None;
            }
        };
        // Each step has the guard that it needs, so there is none for the prediction alone.
        let write = schemas.prepare(request, self.seen.child(child), Tries::default(), now);
        if write.is_noop() && !self.always_send {
            if let (Step::Apply { intent, .. }, Some(live)) = (step, self.seen.child(child)) {
                self.live.insert(child, LiveIntent::new(intent, live));
            }
            return self.skip(child);
        }
        Some(write)
    }

    /// Leaves out a write that would change nothing.
    fn skip(&mut self, child: ChildKind) -> Option<PreparedWrite> {
        self.stale.remove(&child);
        self.record.skipped.push(child);
        self.record.results.entry(child).or_insert(ChildResult::Applied);
        None
    }

    /// Whether it is known of an apply that it would change nothing.
    fn is_live(&self, step: &Step) -> bool {
        let Step::Apply { child, intent, .. } = step else { return false };
        let live = self.seen.child(*child).map(|live| LiveIntent::new(intent, live));
        live.is_some() && live.as_ref() == self.live.get(child)
    }

    /// A plan was made of what was seen. If it moves the replica count, or creates an autoscaler, it is dropped until all that
    /// this rests on was read from the server. So it is until the Workload was read, if it writes an object of another shard: that is
    /// this shard's to write only while the Workload is. And if it creates a child of a Workload that had some: it may be missing
    /// because the Workload was deleted, which another watch reports, maybe later.
    pub fn planned(&mut self, plan: Plan) {
        let Plan { steps, refused, then } = plan;
        let moves = then == Then::PlanAgain && steps.iter().any(moves_replicas);
        if moves || steps.iter().any(lets_scale) {
            self.to_read = GROUNDS.into_iter().filter(|read| !self.fresh.contains(read)).collect();
        }
        if self.had_children() && steps.iter().any(Step::creates) && !self.fresh.contains(&Read::Workload) {
            self.to_read.insert(Read::Workload);
        }
        if !self.is_still_ours && steps.iter().any(|step| self.seen.is_of_other_shard(step.child())) {
            self.to_read.insert(Read::Workload);
        }
        if !self.to_read.is_empty() {
            return;
        }
        self.plans += 1;
        self.held_back.extend(refused.iter().map(|refusal| refusal.child));
        self.record.refused.extend(refused);
        self.to_write = steps.into();
        self.then = then;
    }

    /// The metadata of the Workload as it is; absent where it is gone. If its spec isn't the one that was planned from, the pass
    /// is over: the newer spec has its own. If it is in another shard, the pass is over too.
    pub fn read_workload(&mut self, now: Option<&ObjectMeta>) {
        let planned_from = |metadata: &ObjectMeta| {
            let ObjectMeta { uid, generation, deletion_timestamp, .. } = metadata;
            let shard = shard_of(metadata).map(str::to_owned);
            (uid.clone(), *generation, deletion_timestamp.is_some(), shard)
        };
        self.is_outdated = now.map(planned_from) != Some(planned_from(&self.seen.workload.metadata));
    }

    /// A child as it is; absent where there is none.
    pub fn read_child(&mut self, child: ChildKind, live: Option<LiveObject>) {
        let version = |seen: &Snapshot| seen.child(child).map(LiveObject::revision);
        let before = version(&self.seen);
        self.put(child, live);
        if !self.seen.is_of_other_shard(child) || version(&self.seen) == before {
            return;
        }
        self.is_still_ours = false;
        if self.seen.own(child).is_some() {
            // The Workload has moved. What else it has bears the other shard's label too, and no cache shows it.
            let out_of_sight = ChildKind::ALL.into_iter().filter(|kind| self.seen.child(*kind).is_none());
            let unread = out_of_sight.map(Read::Child).filter(|read| !self.fresh.contains(read));
            self.to_read.extend(unread);
        }
    }

    /// The HorizontalPodAutoscalers that scale the Deployment.
    pub fn read_autoscalers(&mut self, autoscalers: Vec<Autoscaler>) {
        self.seen.autoscalers = autoscalers;
    }

    /// Something couldn't be read: what rests on it is left alone from now on.
    pub fn unreadable(&mut self, read: Read, error: &ApiError) {
        let failed = if error.is_rejection() { ChildResult::Rejected } else { ChildResult::Failed };
        self.failed(read.child(), failed(with_causes(error)));
        if GROUNDS.contains(&read) {
            self.held_back.extend([ChildKind::Deployment, ChildKind::Autoscaler]);
        }
        if read == Read::Workload {
            let is_missing = |kind| self.had_children() && self.seen.child(kind).is_none();
            let others = ChildKind::ALL
                .into_iter()
                .filter(|kind| self.seen.is_of_other_shard(*kind) || is_missing(*kind));
            let others: Vec<ChildKind> = others.collect();
            self.held_back.extend(others);
        }
    }

    /// Whether the Workload had children before this pass.
    fn had_children(&self) -> bool {
        let status = self.seen.workload.status.as_ref();
        let is_reported = |status: &WorkloadStatus| status.is_written() || !status.children.is_empty();
        !self.left.is_empty() || status.is_some_and(is_reported)
    }

    /// A child is left alone from now on.
    pub fn hold_back(&mut self, child: ChildKind) {
        self.held_back.insert(child);
    }

    /// The response to what was sent: the child as it is now, or none where it is gone. Nothing happens where nothing was sent.
    pub fn responded(
        &mut self,
        schemas: &Schemas,
        response: Result<Option<LiveObject>, ApiError>,
    ) -> Option<Ended> {
        let (step, write) = self.under_way.take()?;
        let child = step.child();
        let before = self.seen.child(child).cloned();
        let outcome = schemas.settle(&write, before.as_ref(), response, DryRun::No);
        let (mut effects, mut result) = (Effects::default(), None);
        match &outcome {
            Outcome::Skipped => {}
            Outcome::Stored { object, effects: stored, comparison, .. } => {
                effects = stored.clone();
                effects.takeovers.retain(|takeover| !is_end_of_handover(takeover));
                let mut releases = step.releases(&self.seen);
                if let Some(before) = &before {
                    Takeover::retain_confirmed(&mut releases, before, object);
                }
                effects.takeovers.extend(releases);
                result = Some(self.done(&step, Some(object.clone())));
                if write.comes_before() {
                    // The way is clear for what was to be applied.
                    self.then = Then::PlanAgain;
                } else if let (
                    Step::Apply { intent, .. },
                    Some(Comparison::Match | Comparison::ModuloDefaulting),
                ) = (&step, comparison)
                {
                    self.live.insert(child, LiveIntent::new(intent, object));
                }
                if step.creates() && child == ChildKind::Deployment {
                    self.fresh.extend(GROUNDS);
                }
            }
            Outcome::Deleted(left) => result = Some(self.done(&step, left.clone())),
            Outcome::Stale { expected, error } => {
                // Its earlier writes of this pass no longer say how it is.
                self.record.results.remove(&child);
                let stale = self.stale.entry(child).or_default();
                *stale += 1;
                // Its controllers may be about to write once more. If others write all the time, waiting gains nothing.
                let awaits = before.is_some() && !expected && *stale == 1;
                if *stale == MOST_STALE {
                    result = Some(self.failed(child, ChildResult::Overtaken(with_causes(error))));
                } else {
                    self.to_read.insert(if awaits { Read::Newer(child) } else { Read::Child(child) });
                }
                self.then = Then::PlanAgain;
                if step.creates() {
                    // The object that exists instead may change the intents of the others.
                    self.to_write.clear();
                }
            }
            Outcome::Rejected { error, .. } => {
                let message = why_refused(error, &write, before.as_ref());
                result = Some(self.failed(child, ChildResult::Rejected(message)));
            }
            Outcome::Failed(error) => {
                result = Some(self.failed(child, ChildResult::Failed(with_causes(error))));
            }
        }
        let corrections = corrections(&step, before.as_ref(), &effects);
        let takeovers = effects.takeovers;
        self.record.takeovers.extend(takeovers.iter().map(|takeover| (child, takeover.clone())));
        Some(Ended { step, write, outcome, takeovers, corrections, result })
    }

    /// What a write that was done makes of the child, beside what earlier ones of the pass have.
    fn done(&mut self, step: &Step, live: Option<LiveObject>) -> ChildResult {
        let child = step.child();
        let was_foreign = self.seen.foreign(child).is_some();
        let is_gone = live.is_none();
        self.put(child, live);
        self.stale.remove(&child);
        let PassRecord { results, retired, milestones, .. } = &mut self.record;
        let result = match (step, results.get(&child)) {
            (step, _) if step.creates() => {
                milestones.push((child, Milestone::Created));
                ChildResult::Created
            }
            (Step::Migrate { migration, .. }, _) if was_foreign => {
                retired.insert(child, migration.retired.clone());
                ChildResult::Applied
            }
            _ if is_gone => {
                milestones.push((child, Milestone::Deleted));
                ChildResult::Deleted
            }
            _ if was_foreign && self.seen.own(child).is_some() => {
                let retired = retired.remove(&child).unwrap_or_default();
                milestones.push((child, Milestone::Adopted { retired: retired.clone() }));
                ChildResult::Adopted { retired }
            }
            (_, Some(before @ (ChildResult::Created | ChildResult::Adopted { .. }))) => before.clone(),
            _ => ChildResult::Applied,
        };
        results.insert(child, result.clone());
        result
    }

    fn put(&mut self, child: ChildKind, live: Option<LiveObject>) {
        self.live.remove(&child);
        self.seen.put(child, live);
    }

    /// Leaves a child alone from now on.
    fn failed(&mut self, child: ChildKind, result: ChildResult) -> ChildResult {
        self.held_back.insert(child);
        self.record.results.insert(child, result.clone());
        result
    }

    fn is_settled(&self) -> bool {
        self.then == Then::Rest
            && self.to_write.is_empty()
            && self.to_read.is_empty()
            && self.under_way.is_none()
    }

    /// What the pass has done.
    pub fn finish(self) -> Finished {
        let settled = self.is_settled();
        let PassRecord { results, refused, takeovers, skipped, milestones, .. } = self.record;
        Finished {
            seen: self.seen,
            results,
            refused,
            takeovers,
            milestones,
            skipped,
            live: self.live,
            settled,
        }
    }
}

/// Whether a takeover only ends the temporary manager. What a user has applied under its name is a user's.
pub(super) fn is_end_of_handover(takeover: &Takeover) -> bool {
    takeover.manager == HANDOVER_MANAGER && takeover.path == REPLICAS.into()
}

/// What a write has corrected: fields that were taken over, and fields that were changed while they had no owner.
fn corrections(step: &Step, before: Option<&LiveObject>, effects: &Effects) -> Vec<Correction> {
    if effects.sets.is_empty() && effects.takeovers.is_empty() {
        return Vec::new();
    }
    let taken = effects.takeovers.iter().cloned().map(Correction::from);
    let set: Vec<FieldPath> = match step {
        // An object that goes again and again is one thing, not the many fields in it.
        step if step.creates() => vec![FieldPath::spelled(WHOLE_OBJECT)],
        _ => {
            // The replica count has its own way back, of which setting it is the last step. The count to restore follows one that
            // another manager has set.
            let replicas = FieldPath::from(REPLICAS);
            let follows = before.is_some_and(|live| {
                live.annotations().contains_key(labels::REPLICAS_BEFORE_SUSPEND)
                    && live.number(&["spec", "replicas"]).is_some_and(|count| count > 0)
            });
            let followed = FieldPath::from(TO_RESUME);
            let also_taken: HashSet<&FieldPath> =
                effects.takeovers.iter().map(|takeover| &takeover.path).collect();
            let is_correction = |path: &&FieldPath| {
                **path != replicas && !also_taken.contains(path) && !(follows && **path == followed)
            };
            effects.sets.iter().filter(is_correction).cloned().collect()
        }
    };
    taken.chain(set.into_iter().map(|path| Correction { path, from: None })).collect()
}

/// Whether a step writes to a Deployment that is there: in a plan that goes on, that moves the replica count.
fn moves_replicas(step: &Step) -> bool {
    step.child() == ChildKind::Deployment && !step.creates()
}

/// Whether a step creates the autoscaler. That the replica count was handed over may be old news from a cache: the write to the
/// Deployment that would find it out isn't sent where it is predicted to change nothing.
fn lets_scale(step: &Step) -> bool {
    step.child() == ChildKind::Autoscaler && step.creates()
}

/// The children that the server is asked for, since the caches don't show them. They hold only what bears Baton's label, and a watch
/// reports what has lost it as deleted: so what the status names or the last pass has left may still be there, and what else is
/// written or reported depends on it. So may an autoscaler of this Workload's that is known to scale the Deployment. What else isn't
/// shown is created, which the server refuses where there is an object after all.
pub fn out_of_sight(
    seen: &Snapshot,
    left: &BTreeSet<ChildKind>,
    held_back: &BTreeSet<ChildKind>,
) -> BTreeSet<ChildKind> {
    let (uid, name) = (seen.uid(), seen.workload.name_any());
    let is_reported = |kind: ChildKind| {
        let mut children = seen.workload.status.iter().flat_map(|status| &status.children);
        left.contains(&kind) || children.any(|child| child.kind == kind.name())
    };
    let scales = || seen.autoscalers.iter().any(|one| one.name == name && one.is_controlled_by(&uid));
    // What isn't wanted is asked for even where it isn't to be touched now: what isn't found is forgotten.
    let is_meant = |kind: &ChildKind| {
        let may_be_left = wants(&seen.workload, *kind) && held_back.contains(kind);
        (is_reported(*kind) && !may_be_left) || (*kind == ChildKind::Autoscaler && scales())
    };
    ChildKind::ALL.into_iter().filter(|kind| seen.child(*kind).is_none() && is_meant(kind)).collect()
}
