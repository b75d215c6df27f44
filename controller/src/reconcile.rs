//! One pass of the loop for one Workload: observe → plan → act → report.
//!
//! Wires the parts together and decides only how often to look again.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use baton_crd::{Mode, Workload, condition};
use kube::{Resource, ResourceExt, runtime::controller::Action};
use tracing::warn;

use crate::{
    act::ActError,
    child::ChildKind,
    context::Context,
    enforce::enforce,
    intent::IntentError,
    live::Live,
    metrics::ReconcileOutcome,
    observe::Observed,
    preview::preview,
    report::{self, Pass},
    watched::{WatchedWorkload, read},
};

const PAUSE_AFTER_FAILURE: Duration = Duration::from_secs(5);
const PAUSE_WHEN_UNSETTLED: Duration = Duration::from_secs(1);

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
    let live = watched.live();
    match read(&live) {
        Ok(workload) => reconcile_workload(Arc::new(workload), &live, context).await,
        Err(error) => {
            report_undecodable(&watched, &live, &error, context).await?;
            Ok(Passed { outcome: ReconcileOutcome::Failed, next: Action::await_change() })
        }
    }
}

async fn reconcile_workload(
    workload: Arc<Workload>,
    live: &Live,
    context: &Context,
) -> Result<Passed, ReconcileError> {
    let uid = workload.uid().unwrap_or_default();
    let generation = workload.metadata.generation.unwrap_or_default();
    let mode = workload.spec.mode;
    let children = context.stores.children_of(&workload);
    let seen = Observed { children, autoscalers: context.stores.autoscalers_of(&workload), workload };
    recall_fights(&seen.workload, context);

    let begun = Instant::now();
    let for_real = context.resync(|resync| resync.is_due(&uid, begun)) && mode == Mode::Enforce;
    let mut pass = match mode {
        Mode::Enforce => enforce(seen, begun, for_real, context).await?,
        Mode::Preview | Mode::Paused => preview(seen, context).await?,
    };
    pass.takes.splice(0..0, context.untold(&uid));
    if for_real {
        context.resync(|resync| resync.done(&uid, Instant::now()));
    }
    let report_again = report(&pass, live, context).await?;

    let looks = [
        context.backoff(|backoff| backoff.next_look(&uid, generation, begun)),
        context.contention(|contention| contention.next_look(&uid, begun)),
        context.resync(|resync| resync.next_look(&uid)).filter(|_| mode == Mode::Enforce),
    ];
    let next_look = looks.into_iter().flatten().min();
    let pauses = [
        report_again,
        (!pass.settled).then_some(PAUSE_WHEN_UNSETTLED),
        next_look.map(|moment| moment.saturating_duration_since(Instant::now())),
    ];
    Ok(Passed {
        outcome: if pass.settled { ReconcileOutcome::Settled } else { ReconcileOutcome::Unsettled },
        next: pauses.into_iter().flatten().min().map_or_else(Action::await_change, Action::requeue),
    })
}

/// Takes up the fights that an earlier process had told of in the status.
fn recall_fights(workload: &Workload, context: &Context) {
    let Some(status) = &workload.status else { return };
    let (uid, generation) =
        (workload.uid().unwrap_or_default(), status.observed_generation.unwrap_or_default());
    let is_contested =
        status.conditions.iter().any(|known| known.type_ == condition::CONTESTED && known.status == "True");
    if !is_contested || !context.takes_up_fights(&uid) {
        return;
    }
    let (now, clock) = (Instant::now(), jiff::Timestamp::now());
    context.contention(|contention| {
        for takeover in &status.takeovers {
            let child = ChildKind::ALL.into_iter().find(|kind| kind.name() == takeover.kind);
            let age = Duration::try_from(clock.duration_since(takeover.last_time.0)).unwrap_or_default();
            if let (Some(child), Some(last)) = (child, now.checked_sub(age)) {
                let field = (takeover.path.as_str(), takeover.manager.as_str());
                let count = u32::try_from(takeover.count).unwrap_or_default();
                contention.recall(&uid, child, generation, field, count, last);
            }
        }
    });
}

/// Writes the status and the Events. Returns when to do it again, where the status is to wait.
async fn report(pass: &Pass, live: &Live, context: &Context) -> Result<Option<Duration>, ReconcileError> {
    let workload = &pass.seen.workload;
    let previous = workload.status.clone().unwrap_or_default();
    let clock = jiff::Timestamp::now();
    let status = report::status(pass, &previous, clock);
    for event in report::deeds(pass) {
        context.publish(workload, &event).await;
    }
    if status == previous {
        return Ok(None);
    }
    let uid = workload.uid().unwrap_or_default();
    if let Some(wait) = context.status_may_wait(pass, &uid)
        && previous.observed_generation == status.observed_generation
    {
        return Ok(Some(wait));
    }
    let body = serde_json::to_value(&status)
        .map_err(|source| ReconcileError::Status(ActError::Client(kube::Error::SerdeError(source))))?;
    if let Err(error) = context.writer.write_status(workload, live, &body).await {
        if error.is_not_found() {
            return Ok(None);
        }
        context.tell_later(&uid, &pass.takes);
        // The Workload has changed: its newer state has its own turn, at the latest after a pause.
        return if error.is_stale() {
            Ok(Some(PAUSE_AFTER_FAILURE))
        } else {
            Err(ReconcileError::Status(error))
        };
    }
    for event in report::changes(pass, &previous, &status, clock) {
        context.publish(workload, &event).await;
    }
    Ok(None)
}

/// A Workload that this version can't read: its children stay as they are, and people are told.
async fn report_undecodable(
    watched: &WatchedWorkload,
    live: &Live,
    error: &serde_json::Error,
    context: &Context,
) -> Result<(), ReconcileError> {
    if !context.is_news(watched) {
        return Ok(());
    }
    let mut workload = Workload::new(&watched.name_any(), baton_crd::WorkloadSpec::default());
    workload.metadata = watched.meta().clone();
    let words = error.to_string();
    warn!(workload = workload.name_any(), error = words, "can't read the Workload; its children stay");
    let status = report::undecodable(&workload, &words, jiff::Timestamp::now());
    context.writer.write_status(&workload, live, &status).await.map_err(ReconcileError::Status)?;
    context.tell_no_more(watched);
    context.publish(&workload, &report::undecodable_event(&words)).await;
    Ok(())
}
