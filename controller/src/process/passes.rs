//! The loop: starts a pass for each Workload when the [queue](baton_runtime::pace::Queue) says so.
//!
//! kube's `Controller` takes what is due by time alone, and looks at each pass that it has begun at each step. So it can't be fair to
//! namespaces: passes that wait for their turn inside of it cost the square of their number.

use std::{
    pin::pin,
    sync::Arc,
    time::{Duration, Instant},
};

use baton_apply::cache::NamespacedName;
use baton_runtime::{
    clock::now,
    election::{Suspect, Watchdog},
    pace::ObjectKey,
    text::with_causes,
};
use futures::{Stream, StreamExt as _};
use kube::runtime::reflector::ObjectRef;
use tokio::task::{JoinError, JoinSet};
use tracing::{Instrument as _, info_span, instrument::WithSubscriber as _, warn};

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
    mut touched: Touched,
    again: impl Stream<Item = ()>,
    workloads: Workloads,
    watchdog: Watchdog,
    context: Arc<Context>,
    shutdown: impl Future<Output = ()>,
) {
    let (mut again, mut shutdown) = (pin!(again), pin!(shutdown));
    let mut running = JoinSet::new();
    loop {
        while let Some(key) = context.queue(|queue| queue.next(now())) {
            if let Some(workload) = workloads.get(&key.0, &key.1) {
                let pass = pass(key, workload, watchdog.clone(), context.clone());
                running.spawn(pass.with_current_subscriber());
            } else {
                // The Workload was deleted between its change and its pass.
                context.forget(&key);
                watchdog.forget(&key);
                context.queue(|queue| queue.ended(&key, None));
            }
        }
        let wake = context.queue(|queue| queue.wake());
        tokio::select! {
            () = &mut shutdown => break,
            Some(NamespacedName { namespace, name }) = touched.next() => {
                context.queue(|queue| queue.add(Arc::new((namespace, name)), now()));
            }
            Some(()) = again.next() => {
                for NamespacedName { namespace, name } in workloads.names() {
                    context.queue(|queue| queue.add(Arc::new((namespace, name)), now()));
                }
            }
            Some(ended) = running.join_next() => finish(ended, &context),
            () = context.slot_is_free() => {}
            () = until(wake) => {}
        }
    }
    while let Some(ended) = running.join_next().await {
        finish(ended, &context);
    }
}

/// Waits until this moment; without one, forever.
async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment.into()).await,
        None => std::future::pending().await,
    }
}

/// A pass that is counted, and timed once the caches are filled. Returns how soon the next one is due, if it is.
async fn pass(
    key: Arc<ObjectKey>,
    workload: Arc<WatchedWorkload>,
    watchdog: Watchdog,
    context: Arc<Context>,
) -> (Arc<ObjectKey>, Option<Duration>) {
    context.ready().await;
    let begun = Instant::now();
    let span = info_span!("reconciling object", object.ref = %ObjectRef::from_obj(&*workload));
    let reconciled = Box::pin(reconcile(workload.clone(), &context)).instrument(span);
    let result = watchdog.run(&key, reconciled).await;
    let outcome = result.as_ref().map_or(Some(ReconcileOutcome::Failed), |requeue| requeue.outcome);
    if let Some(outcome) = outcome {
        context.metrics.reconciled(outcome, begun.elapsed());
    }
    let next = match result {
        Ok(requeue) => requeue.after,
        Err(error) => {
            let reference = ObjectRef::from_obj(&*workload);
            warn!(workload = %reference, error = with_causes(&error), "reconcile failed; Baton retries");
            Some(context.record(&*workload, |record| record.pace.pass_failed()))
        }
    };
    (key, next)
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
    context.queue(|queue| queue.put_last(key.clone(), now() + pause));
    Some(async move {
        let (namespace, name) = key;
        let message = "the last leader ended during a pass of this Workload, which comes last";
        warn!(namespace, name, ends, ?pause, "{message}");
        // Its spec isn't read here: that may be what ends processes.
        context.publish(&*workload, &put_last_event(ends)).await;
    })
}

/// A pass has ended. A panic in it, which is a bug, goes on here.
fn finish(ended: Result<(Arc<ObjectKey>, Option<Duration>), JoinError>, context: &Context) {
    match ended {
        Ok((key, next)) => context.queue(|queue| queue.ended(&key, next.map(|next| now() + next))),
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        // Only what drops all passes cancels one.
        Err(_) => {}
    }
}
