//! One pass of the loop for one Workload: observe → plan → act → report.
//!
//! Wires the parts together and decides only how often to look again.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use baton_crd::{Mode, Workload, condition};
use kube::{
    Resource, ResourceExt,
    runtime::{controller::Action, events::Event},
};
use tracing::warn;

use crate::{
    act::ActError,
    backoff::Backoff,
    causes::with_causes,
    child::ChildKind,
    contention::Contention,
    enforce::enforce,
    intent::IntentError,
    live::Live,
    metrics::ReconcileOutcome,
    observe::Observed,
    preview::preview,
    report::{self, Pass},
    resync::Resync,
    watched::WatchedWorkload,
    watches::Stores,
    write::Writer,
};

const PAUSE_AFTER_FAILURE: Duration = Duration::from_secs(5);
const PAUSE_WHEN_UNSETTLED: Duration = Duration::from_secs(1);
/// How long the status of a Workload that is fought about may be out of date, so that the fight isn't written down as fast as
/// it is fought.
const OLDEST_STATUS_IN_A_FIGHT: Duration = Duration::from_secs(30);

/// What every pass shares. Of what is remembered here nothing but pace depends.
pub(crate) struct Context {
    pub(crate) writer: Writer,
    stores: Stores,
    backoff: Mutex<Backoff>,
    contention: Mutex<Contention>,
    resync: Mutex<Resync>,
    /// When the status of each Workload that is fought about was written last, by uid.
    reported: Mutex<HashMap<String, Instant>>,
    /// The generation at which each Workload that can't be read was reported, by uid: its own status can't be read
    /// either, so that it would be written again and again.
    undecodable: Mutex<HashMap<String, i64>>,
}

/// Locks what can't be left wrong by a panic elsewhere, being about pace alone.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Context {
    pub(crate) fn new(writer: Writer, stores: Stores, resync: Duration) -> Self {
        Self {
            writer,
            stores,
            backoff: Mutex::default(),
            contention: Mutex::default(),
            resync: Mutex::new(Resync::new(resync)),
            reported: Mutex::default(),
            undecodable: Mutex::default(),
        }
    }

    /// Waits until there is something to see and something to predict with.
    pub(crate) async fn ready(&self) {
        self.stores.ready().await;
        if let Some(schemas) = &self.writer.schemas {
            schemas.looked().await;
        }
    }

    /// An Event that is lost is lost; the status says the same.
    async fn publish(&self, workload: &Workload, event: &Event) {
        if let Err(error) = self.writer.actor.publish(workload, event).await {
            warn!(workload = workload.name_any(), error = with_causes(&error), "can't write an Event");
        }
    }

    pub(crate) fn backoff<T>(&self, with: impl FnOnce(&mut Backoff) -> T) -> T {
        with(&mut lock(&self.backoff))
    }

    pub(crate) fn contention<T>(&self, with: impl FnOnce(&mut Contention) -> T) -> T {
        with(&mut lock(&self.contention))
    }

    fn resync<T>(&self, with: impl FnOnce(&mut Resync) -> T) -> T {
        with(&mut lock(&self.resync))
    }

    fn is_news(&self, undecodable: &WatchedWorkload) -> bool {
        let uid = undecodable.uid().unwrap_or_default();
        let generation = undecodable.meta().generation.unwrap_or_default();
        lock(&self.undecodable).insert(uid, generation) != Some(generation)
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
    match watched.read() {
        Ok(workload) => reconcile_workload(Arc::new(workload), watched.live(), context).await,
        Err(error) => {
            report_undecodable(&watched, &error, context).await;
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
    let seen = Observed { children: context.stores.children_of(&workload), workload };
    recall_fights(&seen.workload, context);

    let for_real = context.resync(|resync| resync.is_due(&uid, Instant::now())) && mode == Mode::Enforce;
    let pass = match mode {
        Mode::Enforce => enforce(seen, for_real, context).await?,
        Mode::Preview | Mode::Paused => preview(seen, context).await?,
    };
    let now = Instant::now();
    if for_real {
        context.resync(|resync| resync.done(&uid, now));
    }
    let report_again = report(&pass, live, context).await?;

    let (_, failed) = context.backoff(|backoff| backoff.held_back(&uid, generation, now));
    let pauses = [
        failed,
        report_again,
        context.contention(|contention| contention.next_look(&uid, now)),
        (!pass.settled).then_some(PAUSE_WHEN_UNSETTLED),
        context.resync(|resync| resync.next(&uid, now)).filter(|_| mode == Mode::Enforce),
    ];
    Ok(Passed {
        outcome: if pass.settled { ReconcileOutcome::Settled } else { ReconcileOutcome::Unsettled },
        next: pauses.into_iter().flatten().min().map_or_else(Action::await_change, Action::requeue),
    })
}

/// Takes up the fights that an earlier process had told of in the status.
fn recall_fights(workload: &Workload, context: &Context) {
    let Some(status) = &workload.status else { return };
    if !status.conditions.iter().any(|known| known.type_ == condition::CONTESTED && known.status == "True") {
        return;
    }
    let (uid, generation) =
        (workload.uid().unwrap_or_default(), status.observed_generation.unwrap_or_default());
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
    for event in report::deeds(pass, &previous, clock) {
        context.publish(workload, &event).await;
    }
    if status == previous {
        return Ok(None);
    }
    let uid = workload.uid().unwrap_or_default();
    if let Some(wait) = status_may_wait(pass, &uid, context)
        && previous.observed_generation == status.observed_generation
    {
        return Ok(Some(wait));
    }
    let body = serde_json::to_value(&status)
        .map_err(|source| ReconcileError::Status(ActError::Client(kube::Error::SerdeError(source))))?;
    match context.writer.write_status(workload, live, &body).await {
        Ok(()) => {}
        // The Workload has changed, or is gone: its newer state has its own turn.
        Err(error) if error.is_stale() || error.is_not_found() => return Ok(None),
        Err(error) => return Err(ReconcileError::Status(error)),
    }
    for event in report::changes(pass, &previous, &status) {
        context.publish(workload, &event).await;
    }
    Ok(None)
}

/// In a fight, what the other side does is not written down each time: how long the status may wait.
fn status_may_wait(pass: &Pass, uid: &str, context: &Context) -> Option<Duration> {
    let (mut reported, now) = (lock(&context.reported), Instant::now());
    let Some(pause) = pass.fights.iter().map(|fight| fight.pause).max() else {
        reported.remove(uid);
        return None;
    };
    let oldest = pause.min(OLDEST_STATUS_IN_A_FIGHT);
    let wait = reported.get(uid).and_then(|last| (*last + oldest).checked_duration_since(now));
    if wait.is_some_and(|wait| !wait.is_zero()) && pass.takes.is_empty() {
        return wait;
    }
    reported.insert(uid.to_owned(), now);
    None
}

/// A Workload that this version can't read: its children stay as they are, and people are told.
async fn report_undecodable(watched: &WatchedWorkload, error: &serde_json::Error, context: &Context) {
    if !context.is_news(watched) {
        return;
    }
    let mut workload = Workload::new(&watched.name_any(), baton_crd::WorkloadSpec::default());
    workload.metadata = watched.meta().clone();
    let words = error.to_string();
    warn!(workload = workload.name_any(), error = words, "can't read the Workload; its children stay");
    let status = report::undecodable(&workload, &words, jiff::Timestamp::now());
    if let Err(error) = context.writer.write_status(&workload, watched.live(), &status).await {
        warn!(workload = workload.name_any(), error = with_causes(&error), "can't write the status");
    }
    context.publish(&workload, &report::undecodable_event(&words)).await;
}
