//! The mode `Enforce`: plans and writes, again and again, until the children are as the spec says.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Instant,
};

use kube::ResourceExt;
use tracing::{debug, info, warn};

use crate::{
    act::{ActError, Outcome},
    causes::with_causes,
    child::ChildKind,
    context::Context,
    intent::IntentError,
    observe::{Observed, wants},
    plan::{Guard, Plan, Step, Then, plan},
    predict::Effects,
    report::{ChildResult, Pass},
    write::{How, Written},
};

/// The longest way through the handover takes five plans (create, hand over, let go; or delete the autoscaler, take
/// back, release twice, rest). Beyond that somebody else is writing at the same time; the next pass goes on.
pub(crate) const MOST_LOOKS: usize = 8;
/// How often somebody else may be faster before a write no longer waits for an object that stands still.
const MOST_GUARDED: u32 = 3;

/// What is said to be taken where an object was deleted.
const WHOLE_OBJECT: &str = "the object itself";

/// One pass of the loop while it is under way.
struct Enforcement<'c> {
    context: &'c Context,
    pass: Pass,
    uid: String,
    generation: i64,
    /// Children that nothing more is tried for in this pass.
    held_back: BTreeSet<ChildKind>,
    /// Children whose live object has to be read before anything else is planned for them.
    to_read: BTreeSet<ChildKind>,
    /// How often the live object of a child wasn't what was seen.
    stale: BTreeMap<ChildKind, u32>,
    for_real: bool,
}

/// Brings the children to what the spec says, as far as one pass can. `for_real` applies also what would change nothing.
pub(crate) async fn enforce(seen: Observed, for_real: bool, context: &Context) -> Result<Pass, IntentError> {
    let uid = seen.uid();
    let generation = seen.workload.metadata.generation.unwrap_or_default();
    let now = Instant::now();
    let (failed, _) = context.backoff(|backoff| backoff.held_back(&uid, generation, now));
    let fought = context.contention(|contention| contention.held_back(&uid, generation, now));
    let mut pass = Pass::new(seen);
    pass.results.extend(failed.iter().map(|child| (*child, ChildResult::HeldBack)));
    let held_back = failed.into_iter().chain(fought).collect();
    let to_read = about_to_be_created(&pass.seen, &held_back);
    let mut enforcement =
        Enforcement { context, pass, uid, generation, held_back, to_read, stale: BTreeMap::new(), for_real };
    enforcement.run().await?;
    let Enforcement { mut pass, uid, .. } = enforcement;
    pass.fights = context.contention(|contention| contention.fights(&uid, Instant::now()));
    Ok(pass)
}

/// The caches hold only what bears Baton's label. What is about to be created is looked for on the server first, so that
/// an object of somebody else's is never overwritten.
pub(crate) fn about_to_be_created(seen: &Observed, held_back: &BTreeSet<ChildKind>) -> BTreeSet<ChildKind> {
    let missing = |kind: &ChildKind| wants(&seen.workload, *kind) && !seen.children.contains_key(kind);
    ChildKind::ALL.into_iter().filter(|kind| missing(kind) && !held_back.contains(kind)).collect()
}

impl Enforcement<'_> {
    async fn run(&mut self) -> Result<(), IntentError> {
        for _ in 0..MOST_LOOKS {
            for child in std::mem::take(&mut self.to_read) {
                self.read(child).await;
            }
            let Plan { steps, refused, then } = plan(&self.pass.seen, &self.held_back)?;
            for refusal in &refused {
                self.fail(refusal.child);
            }
            self.pass.refused.extend(refused);
            for step in steps {
                self.act(step).await;
            }
            if self.to_read.is_empty() && then == Then::Rest {
                self.pass.settled = true;
                break;
            }
        }
        Ok(())
    }

    async fn read(&mut self, child: ChildKind) {
        match self.context.writer.actor.read(&self.pass.seen.workload, child).await {
            Ok(live) => self.pass.seen.put(child, live),
            Err(error) => self.failed(child, "read", &error),
        }
    }

    async fn act(&mut self, step: Step) {
        let child = step.child();
        let guarded = self.stale.get(&child).is_none_or(|times| *times < MOST_GUARDED);
        let how = How { for_real: self.for_real, guarded };
        let written = self.context.writer.write(&self.pass.seen, &step, how).await;
        let Written::Sent { outcome, effects } = written else {
            self.pass.results.entry(child).or_insert(ChildResult::Applied);
            self.context.backoff(|backoff| backoff.succeeded(&self.uid, child));
            return;
        };
        if self.is_fought_about(&step, &effects) {
            self.held_back.insert(child);
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
        let workload = &self.pass.seen.workload;
        let (name, namespace) = (workload.name_any(), workload.namespace());
        let result = match outcome {
            Outcome::Done(live) => {
                let is_gone = live.is_none();
                debug!(%child, name, namespace, "{what}: done");
                self.pass.seen.put(child, live);
                let created = matches!(step, Step::Apply { guard: Guard::Create, .. })
                    || matches!(self.pass.results.get(&child), Some(ChildResult::Created));
                match (is_gone, created) {
                    (true, _) => ChildResult::Deleted,
                    (false, true) => ChildResult::Created,
                    (false, false) => ChildResult::Applied,
                }
            }
            Outcome::Stale(error) => {
                debug!(%child, name, namespace, %error, "{what}: the live object changed; reading it");
                *self.stale.entry(child).or_default() += 1;
                self.to_read.insert(child);
                return;
            }
            Outcome::Failed(error) => return self.failed(child, what, &error),
        };
        if matches!(result, ChildResult::Created | ChildResult::Deleted) {
            info!(%child, name, namespace, "{what}: done");
        }
        self.pass.results.insert(child, result);
        self.context.backoff(|backoff| backoff.succeeded(&self.uid, child));
    }

    fn failed(&mut self, child: ChildKind, what: &str, error: &ActError) {
        let words = with_causes(error);
        let workload = &self.pass.seen.workload;
        warn!(%child, name = workload.name_any(), namespace = workload.namespace(), error = words, "{what} failed");
        let result =
            if error.is_rejection() { ChildResult::Rejected(words) } else { ChildResult::Failed(words) };
        self.pass.results.insert(child, result);
        self.fail(child);
    }

    /// Leaves a child alone from now on, and for a while in the passes to come.
    fn fail(&mut self, child: ChildKind) {
        self.held_back.insert(child);
        let now = Instant::now();
        self.context.backoff(|backoff| backoff.failed(&self.uid, child, self.generation, now));
    }
}
