//! The loop: `reconcile` runs one pass for one Workload. A pass observes, decides, acts and reports.

mod checks;
mod context;
mod enforce;
mod fingerprint;
mod observer;
mod preview;
mod records;
mod status;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use baton_apply::ApiError;
use baton_crd::Mode;
use baton_runtime::clock::now;
use tokio::sync::SemaphorePermit;

pub(crate) use self::{context::Context, records::Records};
use self::{fingerprint::Fingerprint, records::Settled};
use crate::{
    decide::{course::Course, intent::IntentError, pass::Pass, snapshot::Snapshot},
    metrics::ReconcileOutcome,
    observe::WatchedWorkload,
};

/// One pass for one Workload.
async fn pass(watched: Arc<WatchedWorkload>, context: &Context) -> Result<Requeue, End> {
    let Observed { seen, start, mut fingerprint } = observe(watched, context).await?;
    let work = decide(seen, &start, &fingerprint, context);
    let pass = act(work, &start, &mut fingerprint, context).await?;
    report(pass, &start, fingerprint, context).await
}

/// Runs a pass, which may end early.
pub(crate) async fn reconcile(
    watched: Arc<WatchedWorkload>,
    context: &Context,
) -> Result<Requeue, ReconcileError> {
    match pass(watched, context).await {
        Ok(requeue) | Err(End::Early(requeue)) => Ok(requeue),
        Err(End::Failed(error)) => Err(error),
    }
}

/// When a Workload is reconciled again, and how this pass counts.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Requeue {
    /// For metrics; absent where the pass was skipped.
    pub(crate) outcome: Option<ReconcileOutcome>,
    /// How soon the next pass is due; absent where it waits for a change.
    pub(crate) after: Option<Duration>,
}

impl Requeue {
    /// The pass was skipped.
    fn skipped(after: Option<Duration>) -> Self {
        Self { outcome: None, after }
    }

    /// The pass has left something to do.
    fn unsettled(after: Duration) -> Self {
        Self { outcome: Some(ReconcileOutcome::Unsettled), after: Some(after) }
    }

    /// Nothing can be done before a change.
    fn failed() -> Self {
        Self { outcome: Some(ReconcileOutcome::Failed), after: None }
    }
}

/// Why a pass ended before its report.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReconcileError {
    /// The Workload can't be written as intents.
    #[error(transparent)]
    Intent(#[from] IntentError),
    /// The status could not be written.
    #[error("can't write the status")]
    Status(#[source] ApiError),
}

/// The end of a pass before its report.
enum End {
    /// There is nothing to do, or not now.
    Early(Requeue),
    /// The next pass follows after a growing pause.
    Failed(ReconcileError),
}

impl<E: Into<ReconcileError>> From<E> for End {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

/// The observations that a pass begins with.
struct Observed<'c> {
    seen: Snapshot,
    start: Start<'c>,
    fingerprint: Fingerprint,
}

/// The start of a pass.
struct Start<'c> {
    at: Instant,
    /// The digest of the spec.
    spec: u64,
    /// Whether the resync is due: also writes that change nothing are sent.
    is_resync: bool,
    /// How the last pass left things, if it has settled.
    last: Option<Settled>,
    /// Room for what a large pass reads.
    _room: Option<SemaphorePermit<'c>>,
}

/// Reads the Workload and its children from the caches. Ends the pass early if there is nothing to do, or if the API server may have
/// dropped fields of the Workload.
async fn observe(watched: Arc<WatchedWorkload>, context: &Context) -> Result<Observed<'_>, End> {
    // The Workload may have changed while it waited in the queue.
    let watched = context.stores.workload(&*watched).unwrap_or(watched);
    let cached = Fingerprint::of(&watched, &context.stores, context.rounds());
    checks::is_not_deleted(&watched)?;
    checks::has_changed(&watched, &cached, context)?;
    let room = context.room_for(&watched).await;
    let last = context.record(&*watched, |record| record.memo.take_settled());
    let live = watched.live();
    let lacking = checks::lacking_fields(&watched, &live, context);
    checks::crd_is_complete(&watched, context).await?;
    checks::is_current(&watched, &cached, context)?;
    checks::has_lost_nothing(lacking, &watched, &cached, context).await?;
    let workload = Arc::new(checks::readable(&live, &watched, context).await?);

    let at = now();
    let is_resync = context.record(&*workload, |record| {
        if let Some(status) = &workload.status {
            record.pace.recall(status, at, context.clock.timestamp());
        }
        record.pace.resync.due() <= at
    });
    let (seen, around) = context.stores.snapshot_of(workload);
    let fingerprint = Fingerprint { around, ..cached };
    let start = Start { at, spec: fingerprint.spec, is_resync, last, _room: room };
    Ok(Observed { seen, start, fingerprint })
}

/// The work of a pass.
enum Work {
    /// All children are as the spec says.
    Nothing(Snapshot),
    /// Writes children, in the mode `Enforce`.
    Enforce(Box<Course>),
    /// Shows what it would write, in the other modes.
    Preview(Snapshot),
}

/// Decides what the pass does, by the Workload's mode. The course decides about each write, with [`plan`](crate::decide::plan).
fn decide(seen: Snapshot, start: &Start<'_>, fingerprint: &Fingerprint, context: &Context) -> Work {
    let is_well = !start.is_resync && start.last.as_ref().is_some_and(|last| last.is_well(fingerprint));
    match seen.workload.spec.mode {
        Mode::Enforce if is_well => Work::Nothing(seen),
        Mode::Enforce => Work::Enforce(Box::new(enforce::course(seen, start, fingerprint, context))),
        Mode::Preview | Mode::Paused => Work::Preview(seen),
    }
}

/// Reads and writes the children. The fingerprint follows what is read.
async fn act(
    work: Work,
    start: &Start<'_>,
    fingerprint: &mut Fingerprint,
    context: &Context,
) -> Result<Pass, IntentError> {
    match work {
        Work::Nothing(seen) => Ok(Pass::unchanged(seen)),
        Work::Enforce(course) => enforce::enforce(*course, start, fingerprint, context).await,
        Work::Preview(seen) => preview::preview(seen, context).await,
    }
}

/// Writes the status and the Events, and decides when the next pass is due.
async fn report(
    mut pass: Pass,
    start: &Start<'_>,
    mut fingerprint: Fingerprint,
    context: &Context,
) -> Result<Requeue, End> {
    if let Some(wait) = pass.deferred {
        return Ok(Requeue::unsettled(wait));
    }
    let workload = pass.seen.workload.clone();
    pass.outbox = context.record(&*workload, |record| {
        if start.is_resync && workload.spec.mode == Mode::Enforce {
            record.pace.resync.done(now());
        }
        std::mem::take(&mut record.outbox)
    });
    let report_again = status::report(&pass, &mut fingerprint, context).await?;
    if fingerprint.spec != start.spec {
        // The response to the status shows another spec than this pass was about, and the watch won't report it again.
        return Ok(Requeue::unsettled(Duration::ZERO));
    }
    let after = context.record(&*workload, |record| {
        record.pace.pass_ended();
        let next = record.pace.next_pass(&pass, report_again, start.at, now());
        if pass.settled {
            record.memo.settle(fingerprint, pass.is_well(), next, now());
        }
        next
    });
    let outcome = if pass.settled { ReconcileOutcome::Settled } else { ReconcileOutcome::Unsettled };
    Ok(Requeue { outcome: Some(outcome), after })
}
