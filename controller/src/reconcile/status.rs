//! Writes the status and the Events of a pass.

use std::{sync::Arc, time::Duration};

use baton_apply::{ApiError, Failure, Guard, Request, Revision, Target};
use baton_crd::{Workload, WorkloadSpec, WorkloadStatus};
use baton_runtime::clock::now;
use kube::{Resource, ResourceExt};
use serde_json::json;
use tracing::warn;

use super::{Context, ReconcileError, fingerprint::Fingerprint};
use crate::{
    FIELD_MANAGER,
    decide::pass::Pass,
    observe::WatchedWorkload,
    report::{self, Unreadable},
};

/// A Workload that changed while its status was written has its next pass after this, at the latest.
const LATEST_NEXT_PASS: Duration = Duration::from_secs(5);

/// Whether the status was written.
enum Written {
    /// The Workload has this status now.
    Now(Arc<WatchedWorkload>),
    /// It wasn't; it is to be tried again after this, or after a change.
    Later(Option<Duration>),
}

/// Writes the status and the Events. Returns how soon to do it again, where the status has to wait.
pub(super) async fn report(
    pass: &Pass,
    fingerprint: &mut Fingerprint,
    context: &Context,
) -> Result<Option<Duration>, ReconcileError> {
    let workload = &*pass.seen.workload;
    let previous = workload.status.clone().unwrap_or_default();
    let time = context.clock.timestamp();
    let status = report::status(pass, &previous, time);
    if status == previous {
        context.record(workload, |record| record.pace.status_is_current());
    } else {
        let written = write(pass, &previous, &status, context).await;
        if !matches!(written, Ok(Written::Now(_))) {
            context.record(workload, |record| record.outbox.clone_from(&pass.outbox));
        }
        match written.map_err(ReconcileError::Status)? {
            Written::Now(now) => (fingerprint.workload, fingerprint.spec) = (now.digest(), now.spec()),
            Written::Later(again) => return Ok(again),
        }
    }
    for event in report::events(pass, &previous, &status, time) {
        context.publish(workload, &event).await;
    }
    Ok(None)
}

/// Writes a changed status, unless it has to wait.
async fn write(
    pass: &Pass,
    previous: &WorkloadStatus,
    status: &WorkloadStatus,
    context: &Context,
) -> Result<Written, ApiError> {
    let workload = &*pass.seen.workload;
    let change = report::change(pass, previous, status);
    // More is about to be written in any case.
    let has_time = !previous.is_written() || context.is_busy();
    let wait = context.record(workload, |record| record.pace.status_may_wait(&change, has_time, now()));
    if wait.is_some() {
        return Ok(Written::Later(wait));
    }
    // The CRD may have changed since the pass began.
    match context.has_complete_crd(workload).await {
        Some(true) => {}
        Some(false) => return Ok(Written::Later(None)),
        None => return Ok(Written::Later(Some(LATEST_NEXT_PASS))),
    }
    // If the Workload has changed, the newer state has its own pass.
    let applied = apply(workload, status, context).await?;
    Ok(applied.map_or(Written::Later(Some(LATEST_NEXT_PASS)), Written::Now))
}

/// Applies the Workload's status. A status follows from the one before it, so it is written only to the Workload that was read.
/// Returns the Workload with this status; none if the Workload has changed meanwhile, or is gone. It is an error if that is so again
/// and again.
async fn apply(
    workload: &Workload,
    status: &WorkloadStatus,
    context: &Context,
) -> Result<Option<Arc<WatchedWorkload>>, ApiError> {
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
    match context.send(&request).await {
        Ok(response) => {
            context.record(workload, |record| record.pace.status_is_stored());
            Ok(response.map(|live| context.stores.take_workload(&live)))
        }
        Err(error) if error.of_write(&request) == Failure::Stale => {
            let is_stuck = context.record(workload, |record| record.pace.status_is_stale());
            if is_stuck { Err(error) } else { Ok(None) }
        }
        Err(error) => Err(error),
    }
}

/// Reports that Baton can't use a Workload's spec.
pub(super) async fn report_unreadable(
    watched: &WatchedWorkload,
    problem: &Unreadable,
    context: &Context,
) -> Result<(), ApiError> {
    let mut workload = Workload::new(&watched.name_any(), WorkloadSpec::default());
    workload.metadata = watched.meta().clone();
    let previous = watched.status().unwrap_or_default();
    let status =
        report::unreadable(workload.metadata.generation, &previous, problem, context.clock.timestamp());
    if status == previous {
        return Ok(());
    }
    let (name, namespace) = (workload.name_any(), workload.namespace());
    warn!(name, namespace, "{problem}");
    // If the Workload has changed, the newer state has its own pass.
    if apply(&workload, &status, context).await?.is_some() {
        context.publish(&workload, &report::unreadable_event(problem)).await;
    }
    Ok(())
}
