//! Begins a pass for each Workload when the [queue](baton_runtime::pace::Queue) says so.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use baton_runtime::{
    clock::now,
    election::{Suspect, Watchdog},
    pace::ObjectKey,
    text::with_causes,
};
use futures::{Stream, StreamExt as _, stream};
use kube::runtime::reflector::ObjectRef;
use tracing::{Instrument as _, info_span, warn};

use crate::{
    metrics::ReconcileOutcome,
    observe::{Touched, WatchedWorkload, Workloads},
    reconcile::{Context, reconcile},
    report::put_last_event,
};

/// The target of the spans of passes.
pub const SPANS: &str = module_path!();

/// Reconciles each Workload that is `touched`, and all of them at each item of `again`. Ends once it is shut down and the last pass
/// has ended; passes end with it if it is dropped.
pub(super) async fn passes(
    touched: Touched,
    again: impl Stream<Item = ()>,
    workloads: Workloads,
    watchdog: Watchdog,
    context: Arc<Context>,
    shutdown: impl Future<Output = ()>,
) {
    let all = |()| workloads.names().into_iter().map(Into::into).collect();
    let due = stream::select(touched.map(|name| vec![name.into()]), again.map(all));
    let begin = |key: Arc<ObjectKey>| {
        let Some(workload) = workloads.get(&key.0, &key.1) else {
            // The Workload was deleted between its change and its pass.
            context.forget(&key);
            watchdog.forget(&key);
            return None;
        };
        Some(pass(key, workload, watchdog.clone(), context.clone()))
    };
    context.passes.run(due, begin, shutdown).await;
}

/// A pass that is counted, and timed once the caches are filled. Returns how soon the next one is due, if it is.
async fn pass(
    key: Arc<ObjectKey>,
    workload: Arc<WatchedWorkload>,
    watchdog: Watchdog,
    context: Arc<Context>,
) -> Option<Duration> {
    context.ready().await;
    let begun = Instant::now();
    let span = info_span!("reconciling object", object.ref = %ObjectRef::from_obj(&*workload));
    let reconciled = Box::pin(reconcile(workload.clone(), &context)).instrument(span);
    let result = watchdog.run(&key, reconciled).await;
    let outcome = result.as_ref().map_or(Some(ReconcileOutcome::Failed), |requeue| requeue.outcome);
    if let Some(outcome) = outcome {
        context.metrics.reconciled(outcome, begun.elapsed());
    }
    match result {
        Ok(requeue) => requeue.after,
        Err(error) => {
            let reference = ObjectRef::from_obj(&*workload);
            warn!(workload = %reference, error = with_causes(&error), "reconcile failed; Baton retries");
            Some(context.record(&*workload, |record| record.pace.pass_failed()))
        }
    }
}

/// Puts the Workload last in whose pass the last leader ended, if there still is one. The returned future reports it.
pub(super) fn put_last(
    watchdog: &Watchdog,
    workloads: &Workloads,
    context: Arc<Context>,
) -> Option<impl Future<Output = ()> + Send + use<>> {
    let suspect = watchdog.suspect()?;
    let pause = suspect.pause();
    let Suspect { object: key, ends, .. } = suspect;
    let Some(workload) = workloads.get(&key.0, &key.1) else {
        watchdog.forget(&key);
        return None;
    };
    context.passes.queue(|queue| queue.put_last(key.clone(), now() + pause));
    Some(async move {
        let (namespace, name) = key;
        let message = "the last leader ended during a pass of this Workload, which comes last";
        warn!(namespace, name, ends, ?pause, "{message}");
        // Its spec isn't read here: that may be what ends processes.
        context.publish(&*workload, &put_last_event(ends)).await;
    })
}
