//! The course of one pass: what to read, what to write, and what to make of each response. The one machine behind every write.
//!
//! It has no I/O and no clock. A driver asks for the [next](Course::next) thing to do, does it, and passes on how it ended. There
//! are three drivers: `reconcile::enforce` with the API server, `decide::rehearsal` with the predictions
//! themselves, and the model checker of the tests with a model of the server. Pauses are decided elsewhere, in `reconcile::records`.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet, VecDeque},
    fmt::Debug,
};

use baton_apply::{
    ApiError, Comparison, DryRun, Effects, FieldPath, LiveObject, Obstacle, Outcome, PreparedWrite, Revision,
    Schemas, Takeover, cache::digest_of, contention::Correction,
};
use baton_crd::{WorkloadStatus, labels};
use baton_merge::fieldpath::{Path, PathElement::Field};
use baton_runtime::text::with_causes;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::ResourceExt as _;

use super::{
    autoscaler::Autoscaler,
    child::ChildKind,
    intent::Intent,
    owners::REPLICAS,
    pass::{ChildResult, Pass},
    plan::{Plan, Step, Then, wants},
    snapshot::{Snapshot, shard_of},
};

/// Plans of one pass at most. The longest handover has five: migrate, adopt, hand over, release, rest; or delete the autoscaler, take
/// back, release twice, set. If there are more, another manager is writing at the same time; the next pass goes on.
const MOST_PLANS: usize = 10;

/// Stale writes of a child in a row, after which it is left alone for a while.
const MOST_STALE: u32 = 8;

/// The annotation of a suspended Deployment with the replica count to restore.
const TO_RESUME: Path<'static> =
    Path::new(&[Field("metadata"), Field("annotations"), Field(labels::REPLICAS_BEFORE_SUSPEND)]);

/// The path in the takeover of a whole object, which was deleted.
pub const WHOLE_OBJECT: &str = "the object itself";

/// The next thing to do.
#[derive(Debug)]
pub enum Next<'c> {
    /// Read something from the API server, past every cache.
    Read(Read),
    /// Plan from [the snapshot](Course::seen), and pass the plan to [`Course::planned`].
    Plan,
    /// Send this, and pass the response to [`Course::responded`].
    Send {
        /// The write.
        write: &'c PreparedWrite,
        /// Whether writes of other Workloads may come first.
        priority: Priority,
    },
    /// Nothing more.
    Done,
}

/// The class of a write among those of all Workloads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priority {
    /// A creation, a deletion, or a later write of a pass, such as one of a handover.
    Urgent,
    /// The first write of a pass, if it updates a child; or the creation of a new Workload's Deployment, whose controllers write a dozen
    /// times, so that all other writes take longer.
    Low,
}

/// A read from the API server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Read {
    /// The Workload: passed to [`Course::read_workload`].
    Workload,
    /// A child: passed to [`Course::read_child`].
    Child(ChildKind),
    /// A child that has changed since it was read: passed to [`Course::read_child`] too. Any later version will do, such as one that a
    /// watch delivers.
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

/// The grounds of a move of `spec.replicas`, and of the creation of an autoscaler. Caches lag behind, each on its own, so all of them are
/// read anew before the first move of a pass; later moves are planned from the server's responses, and guarded. A Deployment created
/// in this pass needs no read: no earlier count exists.
const GROUNDS: [Read; 4] = [
    Read::Workload,
    Read::Child(ChildKind::Deployment),
    Read::Child(ChildKind::Autoscaler),
    Read::Autoscalers,
];

/// One pass while it is under way.
#[derive(Clone, Debug)]
pub struct Course {
    /// All that was read and done. Decisions depend on [`Pass::seen`] alone.
    pass: Pass,
    /// Whether writes that change nothing are sent nevertheless.
    always_send: bool,
    /// The children that aren't written any more.
    held_back: BTreeSet<ChildKind>,
    to_read: BTreeSet<Read>,
    /// The reads of this pass.
    fresh: BTreeSet<Read>,
    to_write: VecDeque<Step>,
    /// The write that has no response yet.
    under_way: Option<(Step, PreparedWrite)>,
    /// The number of requests that were sent.
    sent: usize,
    /// The continuation after the writes.
    then: Then,
    plans: usize,
    /// Stale writes of each child in a row.
    stale: BTreeMap<ChildKind, u32>,
    /// The intents that are known to change nothing.
    live: BTreeMap<ChildKind, LiveIntent>,
    /// Whether the Workload has another spec now than the one that is planned from, or is in another shard.
    is_outdated: bool,
    /// The children that the last pass of this process has left.
    left: BTreeSet<ChildKind>,
    /// Whether the Workload was read after the last object of another shard: only then is that object written.
    is_still_ours: bool,
    /// The managers that were retired from objects that are being adopted.
    retired: BTreeMap<ChildKind, Vec<String>>,
}

/// How one request ended, for logs, metrics and contention.
#[derive(Debug)]
pub struct EndedWrite {
    /// The step that it was part of.
    pub step: Step,
    /// The write that was sent.
    pub write: PreparedWrite,
    /// How that ended.
    pub outcome: Outcome,
    /// The fields that other managers lost by it.
    pub takeovers: Vec<Takeover>,
    /// The fields of the child that it corrected. Where that happens again and again, it is contention.
    pub corrections: Vec<Correction>,
    /// The child's result; absent where the child has to be read again first.
    pub result: Option<ChildResult>,
}

/// An intent that would change nothing of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveIntent {
    /// The digest of the intent, in this process.
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
    /// A pass that begins with this snapshot, and doesn't write the children that are held back. With `always_send`, it sends also writes
    /// that change nothing.
    pub fn new(seen: Snapshot, held_back: BTreeSet<ChildKind>, always_send: bool) -> Self {
        let mut course = Self {
            pass: Pass::new(seen),
            always_send,
            held_back,
            to_read: BTreeSet::new(),
            fresh: BTreeSet::new(),
            to_write: VecDeque::new(),
            under_way: None,
            sent: 0,
            then: Then::PlanAgain,
            plans: 0,
            stale: BTreeMap::new(),
            live: BTreeMap::new(),
            is_outdated: false,
            left: BTreeSet::new(),
            is_still_ours: false,
            retired: BTreeMap::new(),
        };
        course.read_out_of_sight();
        course
    }

    fn read_out_of_sight(&mut self) {
        let out_of_sight = out_of_sight(self.seen(), &self.left, &self.held_back);
        self.to_read.extend(out_of_sight.into_iter().map(Read::Child));
    }

    /// Adds intents that are known to change nothing.
    #[must_use]
    pub fn knowing(self, live: BTreeMap<ChildKind, LiveIntent>) -> Self {
        Self { live, ..self }
    }

    /// Adds the children that the last pass has left, which the status may not name yet.
    #[must_use]
    pub fn after_pass(mut self, left: BTreeSet<ChildKind>) -> Self {
        self.left = left;
        self.read_out_of_sight();
        self
    }

    /// The Workload and its children as they were read, with the server's responses.
    pub fn seen(&self) -> &Snapshot {
        &self.pass.seen
    }

    /// The result up to now.
    pub fn pass(&self) -> &Pass {
        &self.pass
    }

    /// The state of the pass, for the model checker: passes of equal states behave equally.
    pub fn state(&self) -> impl Debug + '_ {
        (
            (self.seen(), self.always_send, &self.held_back, self.step_under_way()),
            (&self.to_read, &self.fresh, &self.to_write, self.then),
            (self.plans, &self.stale, &self.live, self.is_outdated, &self.left, self.is_still_ours),
        )
    }

    /// The children that aren't written any more.
    pub fn held_back(&self) -> &BTreeSet<ChildKind> {
        &self.held_back
    }

    /// The intents that are known to change nothing.
    pub fn live_intents(&self) -> &BTreeMap<ChildKind, LiveIntent> {
        &self.live
    }

    /// The step that was sent, and has no response yet.
    pub fn step_under_way(&self) -> Option<&Step> {
        self.under_way.as_ref().map(|(step, _)| step)
    }

    /// The next thing to do, once the one before has ended.
    pub fn next(&mut self, schemas: &Schemas, now: Timestamp) -> Next<'_> {
        while let Some(step) = self.to_write.pop_front() {
            if let Some(write) = self.prepare(&step, schemas, now) {
                let priority = self.priority(&step);
                self.sent += 1;
                let (_, write) = self.under_way.insert((step, write));
                return Next::Send { write, priority };
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

    fn priority(&self, step: &Step) -> Priority {
        let is_new = || !self.seen().workload.status.as_ref().is_some_and(WorkloadStatus::is_written);
        let is_low = match step {
            Step::Apply { child, .. } if step.creates() => *child == ChildKind::Deployment && is_new(),
            Step::Apply { .. } => self.then == Then::Rest && self.sent == 0,
            _ => false,
        };
        if is_low { Priority::Low } else { Priority::Urgent }
    }

    /// The request of a step, with its guard; none where it needn't be sent, or can't be written.
    fn prepare(&mut self, step: &Step, schemas: &Schemas, now: Timestamp) -> Option<PreparedWrite> {
        let child = step.child();
        if self.is_live(step) {
            return self.skip(child);
        }
        let request = match step.request(&self.seen().workload) {
            Ok(request) => request,
            Err(error) => {
                self.failed(child, ChildResult::Failed(with_causes(&error)));
                return None;
            }
        };
        // Each step has the guard that it needs, so there is none for the prediction alone.
        let write = schemas.prepare(request, self.seen().child(child), now);
        if write.is_noop() && !self.always_send {
            if let (Step::Apply { intent, .. }, Some(live)) = (step, self.seen().child(child)) {
                let live = LiveIntent::new(intent, live);
                self.live.insert(child, live);
            }
            return self.skip(child);
        }
        Some(write)
    }

    /// Skips a write that would change nothing.
    fn skip(&mut self, child: ChildKind) -> Option<PreparedWrite> {
        self.stale.remove(&child);
        self.pass.skipped.push(child);
        self.pass.results.entry(child).or_insert(ChildResult::Applied);
        None
    }

    /// Whether an apply is known to change nothing.
    fn is_live(&self, step: &Step) -> bool {
        let Step::Apply { child, intent, .. } = step else { return false };
        let live = self.seen().child(*child).map(|live| LiveIntent::new(intent, live));
        live.is_some() && live.as_ref() == self.live.get(child)
    }

    /// Takes in the plan for the snapshot. The plan is dropped until all that it rests on was read from the server:
    ///
    /// - the `GROUNDS`, if it moves the replica count or creates an autoscaler;
    /// - the Workload, if it writes an object of another shard, which is this shard's to write only while the Workload is;
    /// - the Workload, if it creates a child of a Workload that had some: the child may be missing because the Workload was deleted,
    ///   which another watch reports, maybe later.
    pub fn planned(&mut self, plan: Plan) {
        let Plan { steps, refused, then } = plan;
        let moves = then == Then::PlanAgain && steps.iter().any(moves_replicas);
        if moves || steps.iter().any(creates_autoscaler) {
            self.to_read = GROUNDS.into_iter().filter(|read| !self.fresh.contains(read)).collect();
        }
        if self.had_children() && steps.iter().any(Step::creates) && !self.fresh.contains(&Read::Workload) {
            self.to_read.insert(Read::Workload);
        }
        if !self.is_still_ours && steps.iter().any(|step| self.seen().is_of_other_shard(step.child())) {
            self.to_read.insert(Read::Workload);
        }
        if !self.to_read.is_empty() {
            return;
        }
        self.plans += 1;
        self.held_back.extend(refused.iter().map(|refusal| refusal.child));
        self.pass.refused.extend(refused);
        self.to_write = steps.into();
        self.then = then;
    }

    /// The metadata of the Workload as it is; absent where it is gone. The pass is over if the spec isn't the one that was planned from,
    /// since the newer spec has its own pass, or if the Workload is in another shard.
    pub fn read_workload(&mut self, now: Option<&ObjectMeta>) {
        let planned_from = |metadata: &ObjectMeta| {
            let ObjectMeta { uid, generation, deletion_timestamp, .. } = metadata;
            let shard = shard_of(metadata).map(str::to_owned);
            (uid.clone(), *generation, deletion_timestamp.is_some(), shard)
        };
        self.is_outdated = now.map(planned_from) != Some(planned_from(&self.seen().workload.metadata));
    }

    /// A child as it is; absent where there is none.
    pub fn read_child(&mut self, child: ChildKind, live: Option<LiveObject>) {
        let version = |seen: &Snapshot| seen.child(child).map(LiveObject::revision);
        let before = version(self.seen());
        self.put(child, live);
        if !self.seen().is_of_other_shard(child) || version(self.seen()) == before {
            return;
        }
        self.is_still_ours = false;
        if self.seen().own(child).is_some() {
            // The Workload has moved. What else it has bears the other shard's label too, and no cache shows it.
            let out_of_sight = ChildKind::ALL.into_iter().filter(|kind| self.seen().child(*kind).is_none());
            let unread = out_of_sight.map(Read::Child).filter(|read| !self.fresh.contains(read));
            self.to_read.extend(unread.collect::<Vec<_>>());
        }
    }

    /// The HorizontalPodAutoscalers that scale the Deployment.
    pub fn read_autoscalers(&mut self, autoscalers: Vec<Autoscaler>) {
        self.pass.seen.autoscalers = autoscalers;
    }

    /// Takes in a read that failed: the children that rest on it aren't written any more.
    pub fn unreadable(&mut self, read: Read, error: &ApiError) {
        let failed = if error.is_rejection() { ChildResult::Rejected } else { ChildResult::Failed };
        self.failed(read.child(), failed(with_causes(error)));
        if GROUNDS.contains(&read) {
            self.held_back.extend([ChildKind::Deployment, ChildKind::Autoscaler]);
        }
        if read == Read::Workload {
            let (had_children, seen) = (self.had_children(), &self.pass.seen);
            let is_missing = |kind| had_children && seen.child(kind).is_none();
            let rest_on_it = |kind: &ChildKind| seen.is_of_other_shard(*kind) || is_missing(*kind);
            self.held_back.extend(ChildKind::ALL.into_iter().filter(rest_on_it));
        }
    }

    /// Whether the Workload had children before this pass.
    fn had_children(&self) -> bool {
        let status = self.seen().workload.status.as_ref();
        let is_reported = |status: &WorkloadStatus| status.is_written() || !status.children.is_empty();
        !self.left.is_empty() || status.is_some_and(is_reported)
    }

    /// Holds a child back for the rest of the pass.
    pub fn hold_back(&mut self, child: ChildKind) {
        self.held_back.insert(child);
    }

    /// The response to what was sent: the child as it is now, or none where it is gone. Nothing happens where nothing was sent.
    pub fn responded(
        &mut self,
        schemas: &Schemas,
        response: Result<Option<LiveObject>, ApiError>,
    ) -> Option<EndedWrite> {
        let (step, write) = self.under_way.take()?;
        let child = step.child();
        let before = self.seen().child(child).cloned();
        let outcome = schemas.settle(&write, before.as_ref(), response, DryRun::No);
        let (mut effects, mut result) = (Effects::default(), None);
        match &outcome {
            Outcome::Skipped => {}
            Outcome::Stored { object, effects: stored, comparison, .. } => {
                effects = step.effects(self.seen(), stored.clone(), Some(object));
                result = Some(self.done(&step, Some(object.clone())));
                if write.is_preparatory() {
                    // The leftover is cleared; plan the apply again.
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
                result = self.stale(&step, before.is_some() && !expected, error);
            }
            Outcome::Rejected { error, .. } => {
                let message = Obstacle::explain(with_causes(error), error, &write, before.as_ref());
                result = Some(self.failed(child, ChildResult::Rejected(message)));
            }
            Outcome::Failed(error) => {
                result = Some(self.failed(child, ChildResult::Failed(with_causes(error))));
            }
        }
        let corrections = corrections(&step, before.as_ref(), &effects);
        let takeovers = effects.takeovers;
        self.pass.outbox.takeovers.extend(takeovers.iter().map(|take| (child, take.clone())));
        Some(EndedWrite { step, write, outcome, takeovers, corrections, result })
    }

    /// The live object wasn't the one that was read: it is read again, and planned again, unless that was so too often. The first time,
    /// a newer version may be awaited, since its controllers may be about to write once more; if others write all the time, waiting
    /// gains nothing.
    fn stale(&mut self, step: &Step, may_await: bool, error: &ApiError) -> Option<ChildResult> {
        let child = step.child();
        // The results of earlier writes of this pass are out of date.
        self.pass.results.remove(&child);
        self.then = Then::PlanAgain;
        if step.creates() {
            // The object that exists instead may change the intents of the others.
            self.to_write.clear();
        }
        let stale = self.stale.entry(child).or_default();
        *stale += 1;
        if *stale == MOST_STALE {
            return Some(self.failed(child, ChildResult::Overtaken(with_causes(error))));
        }
        let read = if may_await && *stale == 1 { Read::Newer(child) } else { Read::Child(child) };
        self.to_read.insert(read);
        None
    }

    /// The child's result after a write that was done; a creation or an adoption in this pass stays.
    fn done(&mut self, step: &Step, live: Option<LiveObject>) -> ChildResult {
        let child = step.child();
        let was_foreign = self.seen().foreign(child).is_some();
        let is_gone = live.is_none();
        self.put(child, live);
        self.stale.remove(&child);
        let result = match step {
            _ if step.creates() => ChildResult::Created,
            Step::Migrate { migration, .. } if was_foreign => {
                self.retired.insert(child, migration.retired.clone());
                ChildResult::Applied
            }
            _ if is_gone => ChildResult::Deleted,
            _ if was_foreign && self.seen().own(child).is_some() => {
                ChildResult::Adopted { retired: self.retired.remove(&child).unwrap_or_default() }
            }
            _ => ChildResult::Applied,
        };
        if result != ChildResult::Applied {
            self.pass.outbox.milestones.push((child, result.clone()));
        } else if let Some(before @ (ChildResult::Created | ChildResult::Adopted { .. })) =
            self.pass.results.get(&child)
        {
            return before.clone();
        }
        self.pass.results.insert(child, result.clone());
        result
    }

    fn put(&mut self, child: ChildKind, live: Option<LiveObject>) {
        self.live.remove(&child);
        self.pass.seen.put(child, live);
    }

    /// The result of a child that isn't written any more.
    fn failed(&mut self, child: ChildKind, result: ChildResult) -> ChildResult {
        self.held_back.insert(child);
        self.pass.results.insert(child, result.clone());
        result
    }

    fn is_settled(&self) -> bool {
        self.then == Then::Rest
            && self.to_write.is_empty()
            && self.to_read.is_empty()
            && self.under_way.is_none()
    }

    /// The result of the pass.
    pub fn finish(self) -> Pass {
        Pass { settled: self.is_settled(), ..self.pass }
    }
}

/// The corrections of a write: fields that were taken over, and fields that were changed while they had no owner.
fn corrections(step: &Step, before: Option<&LiveObject>, effects: &Effects) -> Vec<Correction> {
    if effects.sets.is_empty() && effects.takeovers.is_empty() {
        return Vec::new();
    }
    let taken = effects.takeovers.iter().cloned().map(Correction::from);
    let set: Vec<FieldPath> = match step {
        // If the object is deleted repeatedly, that is one correction, not one for each field.
        step if step.creates() => vec![FieldPath::spelled(WHOLE_OBJECT)],
        _ => {
            // Setting the replica count is the last step of taking it back, which is corrected as a takeover. The annotation with the
            // count to restore follows a count that another manager has set.
            let replicas = FieldPath::from(REPLICAS);
            let follows = before.is_some_and(|live| {
                live.annotations().contains_key(labels::REPLICAS_BEFORE_SUSPEND)
                    && live.number(&["spec", "replicas"]).is_some_and(|count| count > 0)
            });
            let followed = FieldPath::from(TO_RESUME);
            let also_taken: HashSet<&FieldPath> = effects.takeovers.iter().map(|take| &take.path).collect();
            let is_correction = |path: &&FieldPath| {
                **path != replicas && !also_taken.contains(path) && !(follows && **path == followed)
            };
            effects.sets.iter().filter(is_correction).cloned().collect()
        }
    };
    taken.chain(set.into_iter().map(|path| Correction { path, from: None })).collect()
}

/// Whether a step writes to an existing Deployment: in a plan that goes on, that moves the replica count.
fn moves_replicas(step: &Step) -> bool {
    step.child() == ChildKind::Deployment && !step.creates()
}

/// Whether a step creates the autoscaler. The cache from which the handover seems complete may be old, and a write to the Deployment,
/// which would find that out, isn't sent where it is predicted to change nothing.
fn creates_autoscaler(step: &Step) -> bool {
    step.child() == ChildKind::Autoscaler && step.creates()
}

/// The children to read from the server, since the caches don't show them and they may exist. The caches hold only objects with
/// Baton's label, and a watch reports an object that has lost it as deleted. So these may exist: the children that the status names,
/// those that the last pass has left, and an autoscaler of this Workload's that is known to scale the Deployment. Any other child is
/// created, which the server refuses if it exists after all.
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
    // A child that the spec no longer asks for is read even while it is held back: if it is gone, it is forgotten.
    let is_meant = |kind: &ChildKind| {
        let may_be_left = wants(&seen.workload, *kind) && held_back.contains(kind);
        (is_reported(*kind) && !may_be_left) || (*kind == ChildKind::Autoscaler && scales())
    };
    ChildKind::ALL.into_iter().filter(|kind| seen.child(*kind).is_none() && is_meant(kind)).collect()
}
