//! The object whose pass has the thread.
//!
//! If all passes share one thread, each should give it back within milliseconds. Another thread can see here which one doesn't, and
//! for which object the process ends if it does. Where passes have several threads, only the turn that began last is seen.

use std::{
    future::poll_fn,
    pin::pin,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use prometheus_client::metrics::counter::Counter;
use tokio::sync::watch;
use tracing::warn;

use crate::{clock::now, lock, pace::ObjectKey};

/// A turn that is logged and counted.
const LONG: Duration = Duration::from_secs(1);

/// The turn that is under way, and how many passes there are. Clones share them.
#[derive(Clone, Debug, Default)]
pub(super) struct Turns(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    now: Mutex<Option<Turn>>,
    passes: watch::Sender<usize>,
    long: Counter,
}

/// A turn of a pass: from when it got the thread until it waits for something.
#[derive(Clone, Debug)]
pub(super) struct Turn {
    pub(super) object: Arc<ObjectKey>,
    pub(super) begun: Instant,
}

impl Turns {
    /// Turns that this counts if they take longer than a second.
    pub(super) fn counted_by(long: Counter) -> Self {
        Self(Arc::new(Shared { long, ..Shared::default() }))
    }

    /// Runs a pass for this object. Turns of more than a second are logged and counted.
    pub(super) async fn of<T>(&self, object: Arc<ObjectKey>, pass: impl Future<Output = T>) -> T {
        let mut pass = pin!(pass);
        self.0.passes.send_modify(|passes| *passes += 1);
        let _ends = Ends(&self.0.passes);
        poll_fn(|context| {
            let begun = now();
            *lock(&self.0.now) = Some(Turn { object: object.clone(), begun });
            let turn = EndsTurn(&self.0.now);
            let polled = pass.as_mut().poll(context);
            drop(turn);
            let took = begun.elapsed();
            if took >= LONG {
                self.0.long.inc();
                let (namespace, name) = &*object;
                warn!(namespace, name, ?took, "a pass kept all others waiting");
            }
            polled
        })
        .await
    }

    /// Waits until there are passes.
    pub(super) async fn passes_are_under_way(&self) {
        // The sender lives as long as this does.
        let _ = self.0.passes.subscribe().wait_for(|passes| *passes > 0).await;
    }

    /// The turn that is under way.
    pub(super) fn now(&self) -> Option<Turn> {
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

/// Ends a turn, also by a panic.
struct EndsTurn<'t>(&'t Mutex<Option<Turn>>);

impl Drop for EndsTurn<'_> {
    fn drop(&mut self) {
        *lock(self.0) = None;
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use futures::FutureExt as _;

    use super::*;

    #[test]
    fn a_pass_that_panics_ends_its_turn() {
        let turns = Turns::default();
        let object = Arc::new(("shop".to_owned(), "web".to_owned()));
        let pass = turns.of(object, async { panic!("on purpose") });
        assert!(catch_unwind(AssertUnwindSafe(|| pass.now_or_never())).is_err());
        assert!(turns.now().is_none());
    }
}
