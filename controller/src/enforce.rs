//! The mode `Enforce`: plans and writes, again and again, until the children are as the spec says.

use std::{collections::BTreeMap, time::Instant};

use kube::ResourceExt;
use tracing::{debug, info, warn};

use crate::{
    act::{ActError, Outcome},
    causes::with_causes,
    child::ChildKind,
    context::Context,
    course::{Course, Look, Next},
    intent::IntentError,
    live::Live,
    observe::Observed,
    plan::{Cause, Guard, Step},
    predict::Effects,
    report::{ChildResult, Pass},
    write::{How, Written},
};

/// How often somebody else may be faster before a write no longer waits for an object that stands still.
const MOST_GUARDED: u32 = 3;

/// What is said to be taken where an object was deleted.
const WHOLE_OBJECT: &str = "the object itself";

/// One pass of the loop while it is under way.
struct Enforcement<'c> {
    context: &'c Context,
    course: Course,
    pass: Pass,
    uid: String,
    generation: i64,
    /// How often the live object of a child wasn't what was seen.
    stale: BTreeMap<ChildKind, u32>,
    /// The managers that were retired from objects that are being adopted.
    retired: BTreeMap<ChildKind, Vec<String>>,
    for_real: bool,
}

/// Brings the children to what the spec says, as far as one pass that `begun` then can. `for_real` applies also what would change
/// nothing.
pub(crate) async fn enforce(
    seen: Observed,
    begun: Instant,
    for_real: bool,
    context: &Context,
) -> Result<Pass, IntentError> {
    let uid = seen.uid();
    let generation = seen.workload.metadata.generation.unwrap_or_default();
    let failed = context.backoff(|backoff| backoff.held_back(&uid, generation, begun));
    let fought = context.contention(|contention| contention.held_back(&uid, generation, begun));
    let mut pass = Pass::new(seen.clone());
    pass.results.extend(failed.iter().map(|child| (*child, ChildResult::HeldBack)));
    let course = Course::new(seen, failed.into_iter().chain(fought).collect());
    let (stale, retired) = (BTreeMap::new(), BTreeMap::new());
    let mut enforcement = Enforcement { context, course, pass, uid, generation, stale, retired, for_real };
    enforcement.run().await?;
    Ok(enforcement.end())
}

impl Enforcement<'_> {
    async fn run(&mut self) -> Result<(), IntentError> {
        loop {
            match self.course.go_on()? {
                Next::Look(look) => self.look(look).await,
                Next::Write(step) => self.write(step).await,
                Next::Done => return Ok(()),
            }
        }
    }

    fn end(self) -> Pass {
        let Self { context, course, mut pass, uid, generation, .. } = self;
        let now = Instant::now();
        for refusal in course.refused.iter().filter(|refusal| refusal.cause == Cause::NotOwned) {
            context.backoff(|backoff| backoff.failed(&uid, refusal.child, generation, now));
        }
        pass.fights = context.contention(|contention| contention.fights(&uid, now));
        pass.settled = course.is_settled();
        (pass.seen, pass.refused) = course.into_parts();
        pass
    }

    async fn look(&mut self, look: Look) {
        let (actor, workload) = (&self.context.writer.actor, self.course.seen().workload.clone());
        let (child, outcome) = match look {
            Look::Child(child) => {
                let live = actor.read(&workload, child).await;
                (child, live.map(|live| self.course.saw_child(child, live)))
            }
            Look::Workload => {
                let now = actor.read_workload(&workload).await;
                (ChildKind::Deployment, now.map(|now| self.course.saw_workload(now.as_ref())))
            }
            Look::Autoscalers => {
                let autoscalers = actor.read_autoscalers(&workload).await;
                (ChildKind::Deployment, autoscalers.map(|all| self.course.saw_autoscalers(all)))
            }
        };
        if let Err(error) = outcome {
            self.failed(child, "read", &error);
            self.course.missed(look);
        }
    }

    async fn write(&mut self, step: Step) {
        let child = step.child();
        let guarded = self.stale.get(&child).is_none_or(|times| *times < MOST_GUARDED);
        let how = How { for_real: self.for_real, guarded };
        let written = self.context.writer.write(self.course.seen(), &step, how).await;
        let Written::Sent { outcome, effects } = written else {
            self.pass.results.entry(child).or_insert(ChildResult::Applied);
            self.context.backoff(|backoff| backoff.succeeded(&self.uid, child));
            return;
        };
        if self.is_fought_about(&step, &effects) {
            self.course.hold_back(child);
        }
        self.pass.takes.extend(effects.takes.into_iter().map(|take| (child, take)));
        self.note(child, &step, outcome);
    }

    /// Notes what a write has set right; says whether the child is to be left alone after it.
    fn is_fought_about(&self, step: &Step, effects: &Effects) -> bool {
        let (uid, child, now) = (&self.uid, step.child(), Instant::now());
        let taken = || effects.takes.iter().map(|take| (take.path.as_str(), Some(take.manager.as_str())));
        // The number of replicas has its own way back, of which setting it is the last step.
        let is_told =
            |path: &String| path == ".spec.replicas" || effects.takes.iter().any(|take| take.path == *path);
        let set: Vec<(&str, Option<&str>)> = match step {
            // An object that goes again and again is one thing, not the many fields in it.
            Step::Apply { guard: Guard::Create, .. } => vec![(WHOLE_OBJECT, None)],
            _ => {
                effects.sets.iter().filter(|path| !is_told(path)).map(|path| (path.as_str(), None)).collect()
            }
        };
        if effects.sets.is_empty() && effects.takes.is_empty() {
            return false;
        }
        self.context.contention(|contention| {
            contention.wrote(uid, child, self.generation, taken().chain(set), now);
            contention.held_back(uid, self.generation, now).contains(&child)
        })
    }

    fn note(&mut self, child: ChildKind, step: &Step, outcome: Outcome) {
        let what = step.describe();
        let workload = self.course.seen().workload.clone();
        let (name, namespace) = (workload.name_any(), workload.namespace());
        let result = match outcome {
            Outcome::Done(live) => {
                debug!(%child, name, namespace, "{what}: done");
                self.done(child, step, live)
            }
            Outcome::Stale(error) => {
                debug!(%child, name, namespace, %error, "{what}: the live object changed; reading it");
                *self.stale.entry(child).or_default() += 1;
                self.course.stale(child);
                return;
            }
            Outcome::Failed(error) => return self.failed(child, what, &error),
        };
        if matches!(result, ChildResult::Created | ChildResult::Adopted { .. } | ChildResult::Deleted) {
            info!(%child, name, namespace, "{what}: done");
        }
        self.pass.results.insert(child, result);
        self.context.backoff(|backoff| backoff.succeeded(&self.uid, child));
    }

    /// What a write that was done makes of the child, beside what earlier ones of the pass have.
    fn done(&mut self, child: ChildKind, step: &Step, live: Option<Live>) -> ChildResult {
        let was_foreign = self.course.seen().foreign(child).is_some();
        let is_gone = live.is_none();
        self.course.wrote(child, live);
        match (step, self.pass.results.get(&child)) {
            (Step::Apply { guard: Guard::Create, .. }, _) => ChildResult::Created,
            (Step::Migrate { migration, .. }, _) if was_foreign => {
                self.retired.insert(child, migration.retired.clone());
                ChildResult::Applied
            }
            _ if is_gone => ChildResult::Deleted,
            _ if was_foreign && self.course.seen().own(child).is_some() => {
                ChildResult::Adopted { retired: self.retired.remove(&child).unwrap_or_default() }
            }
            (_, Some(before @ (ChildResult::Created | ChildResult::Adopted { .. }))) => before.clone(),
            _ => ChildResult::Applied,
        }
    }

    /// Leaves a child alone from now on, and for a while in the passes to come.
    fn failed(&mut self, child: ChildKind, what: &str, error: &ActError) {
        let words = with_causes(error);
        let workload = &self.course.seen().workload;
        warn!(%child, name = workload.name_any(), namespace = workload.namespace(), error = words, "{what} failed");
        let result =
            if error.is_rejection() { ChildResult::Rejected(words) } else { ChildResult::Failed(words) };
        self.pass.results.insert(child, result);
        self.course.hold_back(child);
        let now = Instant::now();
        self.context.backoff(|backoff| backoff.failed(&self.uid, child, self.generation, now));
    }
}
