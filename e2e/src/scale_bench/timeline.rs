//! When each Workload was written, and when its status was about that generation.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use baton_testbed::lock;
use futures::StreamExt as _;
use kube::{
    Api,
    runtime::watcher::{self, Event, watcher},
};
use tokio::task::AbortHandle;

use super::workloads::Object;

/// The Workloads of a run, by name. Names are unique across namespaces.
#[derive(Debug, Default)]
pub struct Timeline {
    /// The generation that the status of each is about, and since when.
    current: HashMap<String, (i64, Instant)>,
    /// The written generation that isn't current yet, and when it was written.
    pending: HashMap<String, (i64, Instant)>,
    took: Vec<Duration>,
}

impl Timeline {
    /// Notes the response to a write, after which the Workload has this generation.
    pub fn asked(&mut self, name: &str, generation: i64, at: Instant) {
        match self.current.get(name) {
            // The watch may be ahead of the response.
            Some((current, since)) if *current >= generation => {
                self.took.push(since.saturating_duration_since(at));
            }
            _ => drop(self.pending.insert(name.to_owned(), (generation, at))),
        }
    }

    /// Notes that a watch showed a Workload with a status about this generation; 0 without a status.
    pub fn seen(&mut self, name: &str, generation: i64, at: Instant) {
        let current = self.current.entry(name.to_owned()).or_insert((0, at));
        if current.0 >= generation {
            return;
        }
        *current = (generation, at);
        if let Some((_, since)) = self.pending.get(name).filter(|(asked, _)| *asked <= generation) {
            self.took.push(at.saturating_duration_since(*since));
            self.pending.remove(name);
        }
    }

    /// Notes that a watch showed that a Workload is gone.
    pub fn gone(&mut self, name: &str) {
        self.current.remove(name);
        self.pending.remove(name);
    }

    /// The times that writes took to become current, since the last call.
    pub fn take(&mut self) -> Vec<Duration> {
        std::mem::take(&mut self.took)
    }

    /// How many writes have become current since the last [`take`](Self::take).
    pub fn done(&self) -> usize {
        self.took.len()
    }

    /// How many Workloads exist.
    pub fn existing(&self) -> usize {
        self.current.len()
    }
}

/// A watch that fills a timeline until it is dropped.
pub struct Observer {
    timeline: Arc<Mutex<Timeline>>,
    task: AbortHandle,
}

impl Observer {
    /// Watches Workloads.
    pub fn start(workloads: Api<Object>) -> Self {
        let timeline = Arc::<Mutex<Timeline>>::default();
        let filled = timeline.clone();
        let watch = async move {
            let mut events = std::pin::pin!(watcher(workloads, watcher::Config::default()));
            while let Some(event) = events.next().await {
                let at = Instant::now();
                // A watch that ends is restarted.
                let Ok(event) = event else { continue };
                take(&mut lock(&filled), event, at);
            }
        };
        Self { timeline, task: tokio::spawn(watch).abort_handle() }
    }

    /// Reads or changes the timeline.
    pub fn with<T>(&self, act: impl FnOnce(&mut Timeline) -> T) -> T {
        act(&mut lock(&self.timeline))
    }
}

impl Drop for Observer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn take(timeline: &mut Timeline, event: Event<Object>, at: Instant) {
    let name = |workload: &Object| workload.metadata.name.clone().unwrap_or_default();
    match event {
        Event::Apply(workload) | Event::InitApply(workload) => {
            let status = workload.status.as_ref();
            let generation = status.and_then(|status| status.observed_generation).unwrap_or(0);
            timeline.seen(&name(&workload), generation, at);
        }
        Event::Delete(workload) => timeline.gone(&name(&workload)),
        Event::Init | Event::InitDone => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn a_request_takes_until_the_status_has_its_generation() {
        let (mut timeline, began) = (Timeline::default(), Instant::now());
        timeline.asked("web", 2, began);
        timeline.seen("web", 0, began + seconds(1));
        timeline.seen("web", 1, began + seconds(2));
        assert_eq!(timeline.done(), 0);
        timeline.seen("web", 2, began + seconds(3));
        timeline.seen("web", 2, began + seconds(4));
        assert_eq!(timeline.take(), [seconds(3)]);
        assert_eq!((timeline.done(), timeline.existing()), (0, 1));
        timeline.gone("web");
        assert_eq!(timeline.existing(), 0);
    }

    #[test]
    fn the_watch_may_be_ahead_of_the_response() {
        let (mut timeline, began) = (Timeline::default(), Instant::now());
        timeline.seen("web", 1, began);
        timeline.asked("web", 1, began + seconds(1));
        assert_eq!(timeline.take(), [Duration::ZERO]);
    }
}
