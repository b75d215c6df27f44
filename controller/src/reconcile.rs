//! The loop: one pass for one Workload observes, decides, acts and reports.

mod context;
mod enforce;
mod observer;
pub mod pace;
mod preview;
pub mod queue;
mod turn;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use baton_apply::{ApiError, Failure, Guard, Request, Revision, Target};
use baton_crd::{Mode, Workload, WorkloadStatus};
use kube::{Resource, ResourceExt, runtime::events::Event};
use serde_json::json;
use tracing::warn;

pub(crate) use self::{
    context::Context,
    turn::{Turn, Turns},
};
use self::{
    enforce::{Enforced, enforce},
    pace::{News, PassEnd, Rest, Seen, WorkloadPace},
    preview::preview,
};
use crate::{
    FIELD_MANAGER,
    clock::now,
    decide::{child::ChildKind, intent::IntentError, lacking::Lacking},
    hash::digest_of,
    metrics::ReconcileOutcome,
    observe::{Inputs, LAG, Taken, WatchedWorkload},
    report::{self, Pass, Unreadable},
};

/// How long a Workload that changed while its status was written waits for its own turn at most.
const LATEST_TURN: Duration = Duration::from_secs(5);

/// How long a pass waits until it is known whether the CRD is complete.
const CRD_IS_KNOWN_WITHIN: Duration = Duration::from_secs(2);

/// Why a pass ended early. The next one follows after a pause.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReconcileError {
    /// The Workload can't be written as intents.
    #[error(transparent)]
    Intent(#[from] IntentError),
    /// The status could not be written.
    #[error("can't write the status")]
    Status(#[source] ApiError),
}

/// How a pass ended.
pub(crate) struct Passed {
    /// For people who count; absent where there was nothing to do.
    pub(crate) outcome: Option<ReconcileOutcome>,
    /// How soon to reconcile again; absent where the next change is waited for.
    pub(crate) next: Option<Duration>,
}

pub(crate) async fn reconcile(
    watched: Arc<WatchedWorkload>,
    context: &Context,
) -> Result<Passed, ReconcileError> {
    // It may have changed while it waited for its turn.
    let watched = context.stores.workload(&*watched).unwrap_or(watched);
    // Also one that is being deleted is no newcomer from now on.
    if let Some(wait) = context.newcomers_still_come_first(&*watched) {
        return Ok(Passed { outcome: None, next: Some(wait) });
    }
    if watched.meta().deletion_timestamp.is_some() {
        return Ok(Passed { outcome: None, next: None });
    }
    let inputs = context.stores.inputs_of(&watched);
    let seen = all_of(&inputs, watched.spec(), context);
    if let Some(next) = context.record(&*watched, |record| record.is_at_rest(seen, now())) {
        return Ok(Passed { outcome: None, next });
    }
    let _room = context.room_for(&watched).await;
    let last = context.record(&*watched, WorkloadPace::begins);
    let live = watched.live();
    let lacking = live.as_ref().map(WatchedWorkload::lacking).unwrap_or_default();
    let lacking = context.record(&*watched, |record| record.may_have_lost(lacking, now()));
    if lacking.iter().any(|(_, since)| !may_lag(*since).is_zero()) {
        context.crd.suspect();
    }
    match is_whole(&*watched, context).await {
        Some(true) => {}
        Some(false) => {
            return Ok(Passed { outcome: Some(ReconcileOutcome::Failed), next: None });
        }
        None => {
            let next = Some(CRD_IS_KNOWN_WITHIN);
            return Ok(Passed { outcome: Some(ReconcileOutcome::Unsettled), next });
        }
    }
    // While the pass waited, the Workload may have changed, or have been listed again.
    let now = context.stores.workload(&*watched).map(|now| context.stores.inputs_of(&now).workload);
    if now != Some(inputs.workload) {
        return Ok(Passed { outcome: None, next: Some(Duration::ZERO) });
    }
    let uncertain = lacking.iter().filter(|(_, since)| !context.crd.was_older_since(*since));
    if let Some(wait) = uncertain.map(|(_, since)| may_lag(*since)).max().filter(|wait| !wait.is_zero()) {
        return Ok(Passed { outcome: Some(ReconcileOutcome::Unsettled), next: Some(wait) });
    }
    if !lacking.is_empty() {
        let fields = lost_among(lacking, &watched, &inputs, context);
        if !fields.is_empty() {
            return report_unreadable(&watched, &Unreadable::lost(&fields), context).await;
        }
        context.record(&*watched, WorkloadPace::never_had);
    }
    match live.and_then(|live| WatchedWorkload::read(&live)) {
        Ok(workload) => {
            reconcile_workload(Arc::new(workload), &watched, inputs.workload, last, context).await
        }
        Err(error) => report_unreadable(&watched, &Unreadable::Undecodable(error.to_string()), context).await,
    }
}

/// How long the published schema may still lag behind a CRD under which fields were first missing then. Until it is certain which it
/// was, any write would make the loss final.
fn may_lag(lacking_since: Instant) -> Duration {
    (lacking_since + LAG).saturating_duration_since(now())
}

/// What a spec has lost of the fields that it lacks although managers own them: what an older CRD explains, and what would delete a
/// child. A policy that removes fields when the Workload is written leaves their owners too, and a backup may bring them along.
fn lost_among(
    lacking: Vec<(Lacking, Instant)>,
    watched: &WatchedWorkload,
    inputs: &Inputs,
    context: &Context,
) -> Vec<Lacking> {
    let status = watched.status().unwrap_or_default();
    let has_child = |field: &Lacking| {
        let asked_for = |kind: &ChildKind| kind.part() == Some(&*field.in_schema);
        ChildKind::ALL.iter().filter(|kind| asked_for(kind)).any(|kind| inputs.around.child(*kind) != 0)
    };
    let is_new = !status.is_written();
    let is_lost = |(field, since): &(Lacking, Instant)| {
        // A new one was created since, unless it lacked the field under that CRD.
        let is_explained = !is_new || context.crd.was_older_since(*since);
        (is_explained && context.crd.may_explain(&field.in_schema))
            || Unreadable::was_lost(&status, field)
            || has_child(field)
    };
    lacking.into_iter().filter(is_lost).map(|(field, _)| field).collect()
}

/// Whether the API server returns the Workload as its author wrote it. If not, nothing of it may be written, its status neither:
/// any write would store it without what the CRD lacks. An Event reports that once. All Workloads are reconciled again once the CRD
/// is complete. None if that isn't known yet: the pass ends, so that it doesn't keep its slot, nor the operator from stopping.
async fn is_whole(workload: &impl ResourceExt<DynamicType = ()>, context: &Context) -> Option<bool> {
    let verified = tokio::time::timeout(CRD_IS_KNOWN_WITHIN, context.crd.verified()).await.ok()?;
    let is_news = context.record(workload, |record| record.is_under_older_crd(verified.is_err()));
    if let (Err(older), true) = (&verified, is_news) {
        context.publish(workload, &report::outdated_crd_event(older)).await;
    }
    Some(verified.is_ok())
}

/// The digests of what a pass reads.
fn all_of(inputs: &Inputs, spec: u64, context: &Context) -> Seen {
    Seen {
        all: digest_of(inputs),
        decisive: digest_of((inputs.but_status(), spec, context.rounds())),
        urgent: digest_of((spec, context.rounds())),
    }
}

async fn reconcile_workload(
    workload: Arc<Workload>,
    watched: &WatchedWorkload,
    workload_digest: u64,
    last: Option<Rest>,
    context: &Context,
) -> Result<Passed, ReconcileError> {
    let generation = workload.metadata.generation.unwrap_or_default();
    let mode = workload.spec.mode;
    let begun = now();
    let always_send = context.record(&*workload, |record| {
        if let Some(status) = &workload.status {
            record.recall(status, begun, context.clock.timestamp());
        }
        record.resync.due() <= begun
    });
    let (seen, around) = context.stores.snapshot_of(workload.clone());
    let mut inputs = Inputs { workload: workload_digest, around };
    let known = all_of(&inputs, watched.spec(), context);
    let mut pass = match mode {
        Mode::Enforce if !always_send && last.is_some_and(|last| last.is_well(known)) => {
            Pass::of_nothing(seen)
        }
        Mode::Enforce => match enforce(seen, &mut inputs.around, begun, always_send, context).await? {
            Enforced::Passed(pass) => *pass,
            Enforced::PutOff(wait) => {
                return Ok(Passed { outcome: Some(ReconcileOutcome::Unsettled), next: Some(wait) });
            }
        },
        Mode::Preview | Mode::Paused => preview(seen, context).await?,
    };
    pass.unreported = context.record(&*workload, |record| {
        if always_send && mode == Mode::Enforce {
            record.resync.done(now());
        }
        std::mem::take(&mut record.unreported)
    });
    let mut spec = watched.spec();
    let report_again = report(&pass, &mut inputs, &mut spec, context).await?;
    let end = PassEnd { mode, generation, settled: pass.settled, report_again };
    if spec != watched.spec() {
        // The response to the status shows another Workload than this pass was about, and the watch won't report it again.
        return Ok(Passed { outcome: Some(ReconcileOutcome::Unsettled), next: Some(Duration::ZERO) });
    }
    let seen = all_of(&inputs, spec, context);
    let next = context.record(&*workload, |record| {
        record.pass_ended();
        let next = record.next_pass(&end, begun, now());
        if pass.settled {
            record.rests(seen, pass.is_well(), next, now());
        }
        next
    });
    Ok(Passed {
        outcome: Some(if pass.settled { ReconcileOutcome::Settled } else { ReconcileOutcome::Unsettled }),
        next,
    })
}

/// Writes the status and the Events. Returns when to do it again, where the status is to wait.
async fn report(
    pass: &Pass,
    inputs: &mut Inputs,
    spec: &mut u64,
    context: &Context,
) -> Result<Option<Duration>, ReconcileError> {
    let workload = &pass.seen.workload;
    let previous = workload.status.clone().unwrap_or_default();
    let time = context.clock.timestamp();
    let status = report::status(pass, &previous, time);
    let contested = pass.contested().iter().map(|contested| contested.pause).max();
    if status == previous {
        context.record(&**workload, WorkloadPace::status_is_current);
        publish(report::events(pass, &previous, &status, time), workload, context).await;
        return Ok(None);
    }
    let is_of_new_spec = previous.observed_generation != status.observed_generation;
    let is_new = !previous.is_written();
    let news = News {
        haste: report::haste(pass, &previous, &status),
        contested,
        is_of_new_spec,
        has_time: is_new || context.is_busy(),
        matters: !pass.unreported.takeovers.is_empty() || (contested.is_some() && is_of_new_spec),
    };
    let wait = context.record(&**workload, |record| {
        let wait = record.status_may_wait(&news, now())?;
        record.unreported.clone_from(&pass.unreported);
        Some(wait)
    });
    if wait.is_some() {
        return Ok(wait);
    }
    // The CRD may have changed since the pass began.
    let whole = is_whole(&**workload, context).await;
    if whole != Some(true) {
        context.record(&**workload, |record| record.unreported.clone_from(&pass.unreported));
        return Ok(whole.is_none().then_some(LATEST_TURN));
    }
    let applied = apply_status(workload, &status, context).await;
    if !matches!(applied, Ok(Some(_))) {
        context.record(&**workload, |record| record.unreported.clone_from(&pass.unreported));
    }
    let Some(Taken { digest, spec: now }) = applied.map_err(ReconcileError::Status)? else {
        // Its newer state has its own turn, at the latest after a pause.
        return Ok(Some(LATEST_TURN));
    };
    (inputs.workload, *spec) = (digest, now);
    publish(report::events(pass, &previous, &status, time), workload, context).await;
    Ok(None)
}

async fn publish(events: Vec<Event>, workload: &Workload, context: &Context) {
    for event in events {
        context.publish(workload, &event).await;
    }
}

/// Applies the Workload's status. A status follows from the one before it, so it counts only for the Workload as it was seen.
/// Returns the digest of the Workload with this status; none if the Workload has changed meanwhile, or is gone. It is an error if
/// that is so again and again.
async fn apply_status(
    workload: &Workload,
    status: &WorkloadStatus,
    context: &Context,
) -> Result<Option<Taken>, ApiError> {
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
            context.record(workload, WorkloadPace::status_is_stored);
            Ok(response.map(|live| context.stores.take_workload(&live)))
        }
        Err(error) if error.of_write(&request) == Failure::Stale => {
            let is_stuck = context.record(workload, WorkloadPace::status_is_stale);
            if is_stuck { Err(error) } else { Ok(None) }
        }
        Err(error) => Err(error),
    }
}

/// A Workload whose spec Baton can't go by: its children stay as they are, and that is reported.
async fn report_unreadable(
    watched: &WatchedWorkload,
    problem: &Unreadable,
    context: &Context,
) -> Result<Passed, ReconcileError> {
    let mut workload = Workload::new(&watched.name_any(), baton_crd::WorkloadSpec::default());
    workload.metadata = watched.meta().clone();
    let previous = watched.status().unwrap_or_default();
    let status =
        report::unreadable(workload.metadata.generation, &previous, problem, context.clock.timestamp());
    let passed = Passed { outcome: Some(ReconcileOutcome::Failed), next: None };
    if status == previous {
        return Ok(passed);
    }
    let (name, namespace) = (workload.name_any(), workload.namespace());
    warn!(name, namespace, "{problem}");
    // A newer state has its own turn.
    if apply_status(&workload, &status, context).await.map_err(ReconcileError::Status)?.is_some() {
        context.publish(&workload, &report::unreadable_event(problem)).await;
    }
    Ok(passed)
}
