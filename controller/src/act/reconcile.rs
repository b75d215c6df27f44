//! One pass of the loop for one Workload: observe → decide → act → report.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
    time::Duration,
};

use baton_apply::{ApiError, Effect, Guard, Request, Revision, Target};
use baton_crd::{Mode, Workload, WorkloadStatus};
use kube::{Resource, ResourceExt, runtime::controller::Action};
use serde_json::json;
use tracing::warn;

use super::{
    context::Context,
    enforce::enforce,
    pace::{PassEnd, WorkloadPace},
    preview::preview,
};
use crate::{
    FIELD_MANAGER,
    clock::now,
    decide::intent::IntentError,
    metrics::ReconcileOutcome,
    observe::WatchedWorkload,
    report::{self, Pass, Unreadable},
};

/// How long a Workload that changed while its status was written waits for its own turn at most.
const LATEST_TURN: Duration = Duration::from_secs(5);

/// Why a pass ended early. The controller tries again after a pause.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReconcileError {
    /// The Workload can't be written as intents.
    #[error(transparent)]
    Intent(#[from] IntentError),
    /// The status could not be written.
    #[error("can't write the status")]
    Status(#[source] ApiError),
}

#[expect(clippy::needless_pass_by_value, reason = "the controller passes them so")]
pub(crate) fn on_error(watched: Arc<WatchedWorkload>, _: &ReconcileError, context: Arc<Context>) -> Action {
    Action::requeue(context.record(&*watched, WorkloadPace::pass_failed))
}

/// How a pass ended.
pub(crate) struct Passed {
    /// For people who count.
    pub(crate) outcome: ReconcileOutcome,
    /// When to look again.
    pub(crate) next: Action,
}

pub(crate) async fn reconcile(
    watched: Arc<WatchedWorkload>,
    context: &Context,
) -> Result<Passed, ReconcileError> {
    if watched.meta().deletion_timestamp.is_some() {
        return Ok(Passed { outcome: ReconcileOutcome::Settled, next: Action::await_change() });
    }
    let read = watched.read();
    if let Ok(workload) = &read
        && let generation = workload.metadata.generation.unwrap_or_default()
        && context.record(workload, |record| record.changed_by_itself(generation, fingerprint(workload)))
    {
        context.definition.doubt_certainly();
    }
    let problem = match (context.definition.verified().await, read) {
        (Ok(()), Ok(workload)) => return reconcile_workload(Arc::new(workload), context).await,
        (Ok(()), Err(error)) => Unreadable::Undecodable(error.to_string()),
        (Err(older), _) => Unreadable::OldDefinition(older),
    };
    report_unreadable(&watched, &problem, context).await?;
    Ok(Passed { outcome: ReconcileOutcome::Failed, next: Action::await_change() })
}

/// A number that tells a spec from any other.
fn fingerprint(workload: &Workload) -> u64 {
    let mut hasher = DefaultHasher::new();
    serde_json::to_vec(&workload.spec).unwrap_or_default().hash(&mut hasher);
    hasher.finish()
}

async fn reconcile_workload(workload: Arc<Workload>, context: &Context) -> Result<Passed, ReconcileError> {
    let generation = workload.metadata.generation.unwrap_or_default();
    let mode = workload.spec.mode;
    let begun = now();
    let always_send = context.record(&*workload, |record| {
        if let Some(status) = &workload.status {
            record.recall(status, begun, context.clock.timestamp());
        }
        record.resync.due() <= begun
    });
    let seen = context.stores.snapshot_of(workload.clone());
    let mut pass = match mode {
        Mode::Enforce => enforce(seen, begun, always_send, context).await?,
        Mode::Preview | Mode::Paused => preview(seen, context).await?,
    };
    let unreported = context.record(&*workload, |record| {
        if always_send && mode == Mode::Enforce {
            record.resync.done(now());
        }
        std::mem::take(&mut record.unreported)
    });
    pass.takes.splice(0..0, unreported);
    let report_again = report(&pass, context).await?;
    context.record(&*workload, WorkloadPace::pass_ended);
    let end = PassEnd { mode, generation, settled: pass.settled, report_again };
    let next = context.record(&*workload, |record| record.next_pass(&end, begun, now()));
    Ok(Passed {
        outcome: if pass.settled { ReconcileOutcome::Settled } else { ReconcileOutcome::Unsettled },
        next: next.map_or_else(Action::await_change, Action::requeue),
    })
}

/// Writes the status and the Events. Returns when to do it again, where the status is to wait.
async fn report(pass: &Pass, context: &Context) -> Result<Option<Duration>, ReconcileError> {
    let workload = &pass.seen.workload;
    let previous = workload.status.clone().unwrap_or_default();
    let time = context.clock.timestamp();
    let status = report::status(pass, &previous, time);
    for event in report::events_of_writes(pass) {
        context.publish(workload, &event).await;
    }
    if status == previous {
        return Ok(None);
    }
    let pause = pass.contested().iter().map(|contested| contested.pause).max();
    let wait =
        context.record(&**workload, |record| record.status_may_wait(pause, !pass.takes.is_empty(), now()));
    if wait.is_some() && previous.observed_generation == status.observed_generation {
        return Ok(wait);
    }
    if let Err(error) = apply_status(workload, &status, context).await {
        if error.is_not_found() {
            return Ok(None);
        }
        context.record(&**workload, |record| record.unreported.clone_from(&pass.takes));
        // The Workload has changed: its newer state has its own turn, at the latest after a pause.
        return if error.is_stale() { Ok(Some(LATEST_TURN)) } else { Err(ReconcileError::Status(error)) };
    }
    for event in report::events_of_status(pass, &previous, &status, time) {
        context.publish(workload, &event).await;
    }
    Ok(None)
}

/// Applies the Workload's status. A status follows from the one before it, so it counts only for the Workload as it was seen.
async fn apply_status(
    workload: &Workload,
    status: &WorkloadStatus,
    context: &Context,
) -> Result<(), ApiError> {
    let guard = Guard::Unchanged(Revision {
        uid: workload.uid().unwrap_or_default(),
        resource_version: workload.resource_version().unwrap_or_default(),
    });
    let intent = json!({
        "apiVersion": Workload::api_version(&()),
        "kind": Workload::kind(&()),
        "metadata": {"name": workload.name_any()},
        "status": status,
    });
    let target = Target::of(workload, &()).subresource("status");
    let request = Request::apply(target, intent, FIELD_MANAGER, true, &guard);
    context.applier.send(&request, Effect::Stored).await.map(drop)
}

/// A Workload that can't be read as its author wrote it: its children stay as they are, and that is reported.
async fn report_unreadable(
    watched: &WatchedWorkload,
    problem: &Unreadable,
    context: &Context,
) -> Result<(), ReconcileError> {
    let mut workload = Workload::new(&watched.name_any(), baton_crd::WorkloadSpec::default());
    workload.metadata = watched.meta().clone();
    let previous = watched.status().unwrap_or_default();
    let status =
        report::unreadable(workload.metadata.generation, &previous, problem, context.clock.timestamp());
    if status == previous {
        return Ok(());
    }
    let (name, namespace) = (workload.name_any(), workload.namespace());
    warn!(name, namespace, "the Workload can't be read; its children stay as they are: {problem}");
    match apply_status(&workload, &status, context).await {
        Ok(()) => context.publish(&workload, &report::unreadable_event(problem)).await,
        // A newer state has its own turn.
        Err(error) if error.is_stale() || error.is_not_found() => {}
        Err(error) => return Err(ReconcileError::Status(error)),
    }
    Ok(())
}
