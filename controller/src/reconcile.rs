//! One pass of the loop for one Workload: observe → plan → act → report.
//!
//! Wires the parts together and decides only how often to look again.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use baton_crd::Workload;
use kube::{
    ResourceExt,
    core::error_boundary::InvalidObject,
    runtime::{controller::Action, events::Event},
};
use tracing::{debug, info, warn};

use crate::{
    act::{ActError, Actor, Outcome},
    backoff::Backoff,
    causes::with_causes,
    child::ChildKind,
    intent::IntentError,
    metrics::Metrics,
    observe::{Observed, wants},
    plan::{Guard, Plan, Step, Then, plan},
    report::{self, ChildResult, Pass},
    watches::{Stores, WatchedWorkload},
};

/// The longest way through the handover takes five plans (create, hand over, let go; or delete the autoscaler, take
/// back, release twice, rest). Beyond that somebody else is writing at the same time; the next pass goes on.
const MOST_LOOKS: usize = 8;
const PAUSE_AFTER_FAILURE: Duration = Duration::from_secs(5);
const PAUSE_WHEN_UNSETTLED: Duration = Duration::from_secs(1);

/// What every pass shares.
pub(crate) struct Context {
    actor: Actor,
    pub(crate) stores: Stores,
    pub(crate) metrics: Metrics,
    backoff: Mutex<Backoff>,
    /// The generation at which each Workload that can't be read was reported, by uid: its own status can't be read
    /// either, so that it would be written again and again.
    undecodable: Mutex<HashMap<String, i64>>,
}

impl Context {
    pub(crate) fn new(actor: Actor, stores: Stores, metrics: Metrics) -> Self {
        Self { actor, stores, metrics, backoff: Mutex::default(), undecodable: Mutex::default() }
    }

    /// An Event that is lost is lost; the status says the same.
    async fn publish(&self, workload: &Workload, event: &Event) {
        if let Err(error) = self.actor.publish(workload, event).await {
            warn!(workload = workload.name_any(), error = with_causes(&error), "can't write an Event");
        }
    }

    fn backoff<T>(&self, with: impl FnOnce(&mut Backoff) -> T) -> T {
        // Pace is all that is in there; a panic elsewhere can't leave it wrong.
        with(&mut self.backoff.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn is_news(&self, undecodable: &InvalidObject) -> bool {
        let uid = undecodable.metadata.uid.clone().unwrap_or_default();
        let generation = undecodable.metadata.generation.unwrap_or_default();
        let mut reported = self.undecodable.lock().unwrap_or_else(PoisonError::into_inner);
        reported.insert(uid, generation) != Some(generation)
    }
}

/// Why a pass ended early. The controller tries again after a pause.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReconcileError {
    /// The Workload can't be written as intents.
    #[error(transparent)]
    Intent(#[from] IntentError),
    /// The status could not be written.
    #[error("can't write the status")]
    Status(#[source] ActError),
}

pub(crate) fn on_error(_: Arc<WatchedWorkload>, _: &ReconcileError, _: Arc<Context>) -> Action {
    Action::requeue(PAUSE_AFTER_FAILURE)
}

pub(crate) async fn reconcile(
    watched: Arc<WatchedWorkload>,
    context: Arc<Context>,
) -> Result<Action, ReconcileError> {
    match &watched.0 {
        Ok(workload) if workload.metadata.deletion_timestamp.is_some() => Ok(Action::await_change()),
        Ok(workload) => reconcile_workload(Arc::new(workload.clone()), &context).await,
        Err(invalid) => {
            report_undecodable(invalid, &context).await;
            Ok(Action::await_change())
        }
    }
}

async fn reconcile_workload(workload: Arc<Workload>, context: &Context) -> Result<Action, ReconcileError> {
    let uid = workload.uid().unwrap_or_default();
    let generation = workload.metadata.generation.unwrap_or_default();
    let pass = run(workload, &uid, generation, context).await?;
    report(&pass, context).await?;

    let (_, pause) = context.backoff(|backoff| backoff.held_back(&uid, generation, Instant::now()));
    let pause = pause.into_iter().chain((!pass.settled).then_some(PAUSE_WHEN_UNSETTLED)).min();
    Ok(pause.map_or_else(Action::await_change, Action::requeue))
}

async fn run(
    workload: Arc<Workload>,
    uid: &str,
    generation: i64,
    context: &Context,
) -> Result<Pass, IntentError> {
    let (mut held_back, _) = context.backoff(|backoff| backoff.held_back(uid, generation, Instant::now()));
    let failed = |child| context.backoff(|backoff| backoff.failed(uid, child, generation, Instant::now()));
    let results = held_back.iter().map(|child| (*child, ChildResult::HeldBack)).collect();
    let children = context.stores.children_of(&workload);
    let mut pass =
        Pass { seen: Observed { workload, children }, results, refused: Vec::new(), settled: false };
    let mut to_read = about_to_be_created(&pass.seen, &held_back);
    for _ in 0..MOST_LOOKS {
        for child in std::mem::take(&mut to_read) {
            if let Next::HoldBack = read(&mut pass, child, context).await {
                held_back.insert(child);
                failed(child);
            }
        }
        let Plan { steps, refused, then } = plan(&pass.seen, &held_back)?;
        for refusal in &refused {
            held_back.insert(refusal.child);
            failed(refusal.child);
        }
        pass.refused.extend(refused);
        for step in steps {
            let child = step.child();
            match act(&mut pass, step, context).await {
                Next::GoOn => context.backoff(|backoff| backoff.succeeded(uid, child)),
                Next::Read => {
                    to_read.insert(child);
                }
                Next::HoldBack => {
                    held_back.insert(child);
                    failed(child);
                }
            }
        }
        if to_read.is_empty() && then == Then::Rest {
            pass.settled = true;
            break;
        }
    }
    Ok(pass)
}

/// The caches hold only what bears Baton's label. What is about to be created is looked for on the server first, so that
/// an object of somebody else's is never overwritten.
fn about_to_be_created(seen: &Observed, held_back: &BTreeSet<ChildKind>) -> BTreeSet<ChildKind> {
    let missing = |kind: &ChildKind| wants(&seen.workload, *kind) && !seen.children.contains_key(kind);
    ChildKind::ALL.into_iter().filter(|kind| missing(kind) && !held_back.contains(kind)).collect()
}

/// What comes next for a child after a request about it.
enum Next {
    GoOn,
    /// The live object changed: it has to be read before anything else is planned for it.
    Read,
    /// It failed: nothing more is tried in this pass.
    HoldBack,
}

async fn read(pass: &mut Pass, child: ChildKind, context: &Context) -> Next {
    match context.actor.read(&pass.seen.workload, child).await {
        Ok(Some(live)) => {
            pass.seen.children.insert(child, live);
            Next::GoOn
        }
        Ok(None) => {
            pass.seen.children.remove(&child);
            Next::GoOn
        }
        Err(error) => fail(pass, child, "read", &error),
    }
}

async fn act(pass: &mut Pass, step: Step, context: &Context) -> Next {
    let child = step.child();
    let what = step.describe();
    let created = matches!(&step, Step::Apply { guard: Guard::Create, .. });
    let workload = pass.seen.workload.clone();
    let (name, namespace) = (workload.name_any(), workload.namespace());
    match context.actor.act(&workload, step).await {
        Outcome::Done(Some(live)) => {
            debug!(%child, name, namespace, "{what}: done");
            pass.seen.children.insert(child, live);
            let created = created || matches!(pass.results.get(&child), Some(ChildResult::Created));
            pass.results.insert(child, if created { ChildResult::Created } else { ChildResult::Applied });
            Next::GoOn
        }
        Outcome::Done(None) => {
            info!(%child, name, namespace, "{what}: done");
            pass.seen.children.remove(&child);
            pass.results.insert(child, ChildResult::Deleted);
            Next::GoOn
        }
        Outcome::Stale(error) => {
            debug!(%child, name, namespace, %error, "{what}: the live object changed; reading it");
            Next::Read
        }
        Outcome::Failed(error) => fail(pass, child, what, &error),
    }
}

fn fail(pass: &mut Pass, child: ChildKind, what: &str, error: &ActError) -> Next {
    let words = with_causes(error);
    let workload = &pass.seen.workload;
    warn!(%child, name = workload.name_any(), namespace = workload.namespace(), error = words, "{what} failed");
    let result = if error.is_rejection() { ChildResult::Rejected(words) } else { ChildResult::Failed(words) };
    pass.results.insert(child, result);
    Next::HoldBack
}

async fn report(pass: &Pass, context: &Context) -> Result<(), ReconcileError> {
    let workload = &pass.seen.workload;
    let now = jiff::Timestamp::now();
    let previous = workload.status.clone().unwrap_or_default();
    let status = report::status(pass, &previous, now);
    for event in report::deeds(pass) {
        context.publish(workload, &event).await;
    }
    if status == previous {
        return Ok(());
    }
    let body = serde_json::to_value(&status)
        .map_err(|source| ReconcileError::Status(ActError::Client(kube::Error::SerdeError(source))))?;
    match context.actor.apply_status(workload, &body).await {
        Ok(()) => {}
        // The Workload has changed, or is gone: its newer state has its own turn.
        Err(error) if error.is_stale() || error.is_not_found() => return Ok(()),
        Err(error) => return Err(ReconcileError::Status(error)),
    }
    for event in report::changes(pass, &previous, &status) {
        context.publish(workload, &event).await;
    }
    Ok(())
}

/// A Workload that this version can't read: its children stay as they are, and people are told.
async fn report_undecodable(invalid: &InvalidObject, context: &Context) {
    if !context.is_news(invalid) {
        return;
    }
    let mut workload =
        Workload::new(&invalid.metadata.name.clone().unwrap_or_default(), baton_crd::WorkloadSpec::default());
    workload.metadata = invalid.metadata.clone();
    warn!(
        workload = workload.name_any(),
        error = invalid.error,
        "can't read the Workload; its children stay"
    );
    let status = report::undecodable(&workload, &invalid.error, jiff::Timestamp::now());
    if let Err(error) = context.actor.apply_status(&workload, &status).await {
        warn!(workload = workload.name_any(), error = with_causes(&error), "can't write the status");
    }
    context.publish(&workload, &report::undecodable_event(&invalid.error)).await;
}
