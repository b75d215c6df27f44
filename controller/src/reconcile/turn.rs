//! Which pass has the thread.
//!
//! All passes share one thread, so each should give it back within milliseconds. Another thread reads here which pass doesn't, and in
//! which Workload's pass the process ends.

use std::{
    future::poll_fn,
    pin::pin,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use tokio::sync::watch;
use tracing::warn;

use super::records::Key;
use crate::{clock::now, lock::lock, metrics::Metrics};

/// A turn that is logged and counted.
const LONG: Duration = Duration::from_secs(1);

/// The turn that is under way, and how many passes there are. Clones share them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Turns(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    now: Mutex<Option<Turn>>,
    passes: watch::Sender<usize>,
}

/// A turn of a pass: from when it got the thread until it waits for something.
#[derive(Clone, Debug)]
pub(crate) struct Turn {
    pub(crate) workload: Arc<Key>,
    pub(crate) begun: Instant,
}

impl Turns {
    /// Runs a pass for this Workload. Long turns are logged and counted.
    pub(crate) async fn of<T>(
        &self,
        workload: Arc<Key>,
        metrics: &Metrics,
        pass: impl Future<Output = T>,
    ) -> T {
        let mut pass = pin!(pass);
        self.0.passes.send_modify(|passes| *passes += 1);
        let _ends = Ends(&self.0.passes);
        poll_fn(|context| {
            let begun = now();
            *lock(&self.0.now) = Some(Turn { workload: workload.clone(), begun });
            let polled = pass.as_mut().poll(context);
            *lock(&self.0.now) = None;
            let took = begun.elapsed();
            if took >= LONG {
                metrics.turn_was_long();
                let (namespace, name) = &*workload;
                warn!(namespace, name, ?took, "a pass kept all others waiting");
            }
            polled
        })
        .await
    }

    /// Waits until there are passes.
    pub(crate) async fn passes_are_under_way(&self) {
        // The sender lives as long as this does.
        let _ = self.0.passes.subscribe().wait_for(|passes| *passes > 0).await;
    }

    /// The turn that is under way.
    pub(crate) fn now(&self) -> Option<Turn> {
        lock(&self.0.now).clone()
    }
}

/// Counts the end of a pass, also of one that is dropped.
struct Ends<'p>(&'p watch::Sender<usize>);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|passes| *passes -= 1);
    }
}
