//! The passes of a loop: begun when the queue says so, on one task each.

use std::{
    pin::pin,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use futures::{Stream, StreamExt as _};
use tokio::{
    sync::Notify,
    task::{JoinError, JoinSet},
};
use tracing::instrument::WithSubscriber as _;

use super::{ObjectKey, Queue};
use crate::{clock::now, lock};

/// How long a pass keeps its slot while it waits for a response.
const SLOW: Duration = Duration::from_millis(500);

/// A [`Queue`] and its passes.
///
/// kube's `Controller` takes the objects that are due by time alone, and polls each pass that it has begun at each step. So it can't be
/// fair to namespaces: passes that wait for their turn inside of it cost the square of their number.
///
/// ```
/// use std::{num::NonZeroU16, time::Duration};
///
/// use baton_runtime::pace::{ObjectKey, Passes, Queue};
/// use futures::{StreamExt as _, stream};
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let passes = Passes::new(Queue::new(NonZeroU16::new(16).unwrap()));
/// // The objects that watches report, and all of them now and then.
/// let due = stream::iter([vec![("shop".to_owned(), "web".to_owned())]]).chain(stream::pending());
/// let pass = |object: std::sync::Arc<ObjectKey>| {
///     // `None` if it is gone. The pass returns how soon the next one is due, if it is.
///     Some(async move {
///         println!("reconciling {} of {}", object.1, object.0);
///         Some(Duration::from_secs(600))
///     })
/// };
/// passes.run(due, pass, tokio::time::sleep(Duration::from_millis(10))).await;
/// # });
/// ```
#[derive(Debug)]
pub struct Passes {
    queue: Mutex<Queue>,
    /// Notified when a pass gives its slot back before it ends.
    free: Notify,
}

impl Passes {
    /// No passes yet.
    pub fn new(queue: Queue) -> Self {
        Self { queue: Mutex::new(queue), free: Notify::new() }
    }

    /// The queue.
    pub fn queue<T>(&self, with: impl FnOnce(&mut Queue) -> T) -> T {
        with(&mut lock(&self.queue))
    }

    /// Begins a pass for each object once it is due, as the queue has slots. Ends once it is shut down and the last pass has ended;
    /// passes end with it if it is dropped. A panic in a pass goes on here. Run it once: the queue counts passes that were dropped.
    pub async fn run<P>(
        &self,
        due: impl Stream<Item = Vec<ObjectKey>>,
        mut begin: impl FnMut(Arc<ObjectKey>) -> Option<P>,
        shutdown: impl Future<Output = ()>,
    ) where
        P: Future<Output = Option<Duration>> + Send + 'static,
    {
        let (mut due, mut shutdown) = (pin!(due.fuse()), pin!(shutdown));
        let mut running = JoinSet::new();
        loop {
            while let Some(object) = self.queue(|queue| queue.next(now())) {
                if let Some(pass) = begin(object.clone()) {
                    running.spawn(async move { (object, pass.await) }.with_current_subscriber());
                } else {
                    self.queue(|queue| queue.ended(&object, None));
                }
            }
            let wake = self.queue(|queue| queue.wake());
            tokio::select! {
                () = &mut shutdown => break,
                Some(objects) = due.next() => self.queue(|queue| {
                    for object in objects {
                        queue.add(Arc::new(object), now());
                    }
                }),
                Some(ended) = running.join_next() => self.ended(ended),
                () = self.free.notified() => {}
                () = until(wake) => {}
            }
        }
        while let Some(ended) = running.join_next().await {
            self.ended(ended);
        }
    }

    fn ended(&self, ended: Result<(Arc<ObjectKey>, Option<Duration>), JoinError>) {
        match ended {
            Ok((object, next)) => {
                let at = next.and_then(|next| now().checked_add(next));
                self.queue(|queue| queue.ended(&object, at));
            }
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            // Only what drops all passes cancels one.
            Err(_) => {}
        }
    }

    /// The response to a request of a pass for this object. A pass that waits for long gives its slot back, so that a slow webhook
    /// doesn't delay others.
    pub fn patiently<T: Send>(
        &self,
        object: ObjectKey,
        request: impl Future<Output = T> + Send,
    ) -> impl Future<Output = T> + Send {
        // Boxed, since requests are large, and a pass has many places for one.
        let mut request = Box::pin(request);
        async move {
            if let Ok(response) = tokio::time::timeout(SLOW, &mut request).await {
                return response;
            }
            self.queue(|queue| queue.slows_down(&object));
            self.free.notify_one();
            let _goes_on = GoesOn(self, object);
            request.await
        }
    }
}

/// Ends a wait for a response, also one that is dropped.
struct GoesOn<'p>(&'p Passes, ObjectKey);

impl Drop for GoesOn<'_> {
    fn drop(&mut self) {
        self.0.queue(|queue| queue.goes_on(&self.1));
    }
}

/// Waits until this moment; without one, forever.
async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment.into()).await,
        None => std::future::pending().await,
    }
}
