//! The watches of a cache: how far each has come, and whether it fails.

use std::time::Duration;

use kube::{
    Resource as _,
    runtime::watcher::{self, Event},
};
use tokio::time::Instant;

use super::version_of;
use crate::LiveObject;

/// Longer than the longest pause between two attempts and the attempt itself.
const OVER_AFTER: Duration = Duration::from_secs(90);

#[derive(Debug, Default)]
pub(super) struct Watches(Vec<Watch>);

#[derive(Debug)]
struct Watch {
    /// Absent if it is of all namespaces.
    namespace: Option<Box<str>>,
    /// The newest version that it has delivered. Unknown from the beginning of a list, which has no version here, until the first
    /// event after it.
    newest: Option<u64>,
    failure: Option<Outage>,
}

#[derive(Debug)]
struct Outage {
    since: Instant,
    last: Instant,
}

impl Outage {
    fn is_over(&self, now: Instant) -> bool {
        now.duration_since(self.last) >= OVER_AFTER
    }
}

impl Watches {
    /// Adds a watch; returns its number.
    pub(super) fn add(&mut self, namespace: Option<&str>) -> usize {
        self.0.push(Watch { namespace: namespace.map(Into::into), newest: Some(0), failure: None });
        self.0.len() - 1
    }

    /// The watch with this number delivers this event now.
    pub(super) fn record(&mut self, number: usize, event: &watcher::Result<Event<LiveObject>>, now: Instant) {
        let Some(watch) = self.0.get_mut(number) else { return };
        match event {
            Err(_) => {
                let before = watch.failure.take().filter(|before| !before.is_over(now));
                watch.failure = Some(Outage { since: before.map_or(now, |before| before.since), last: now });
            }
            // A list that begins may still fail.
            Ok(Event::Init) => watch.newest = None,
            Ok(Event::InitApply(_) | Event::InitDone) => watch.failure = None,
            Ok(Event::Apply(live) | Event::Delete(live)) => {
                watch.failure = None;
                watch.newest = watch.newest.max(Some(version_of(live.meta())));
            }
        }
    }

    /// The watches of this namespace.
    fn of(&self, namespace: &str) -> impl Iterator<Item = &Watch> {
        self.0.iter().filter(move |watch| watch.namespace.as_deref().is_none_or(|one| one == namespace))
    }

    /// Whether they may have delivered something newer than this version.
    pub(super) fn may_have_passed(&self, namespace: &str, version: u64) -> bool {
        self.of(namespace).any(|watch| watch.newest.is_none_or(|newest| version < newest))
    }

    /// Whether they have certainly delivered this version, or what came after it.
    pub(super) fn have_delivered(&self, namespace: &str, version: u64) -> bool {
        self.of(namespace).any(|watch| watch.newest.is_some_and(|newest| (1..=newest).contains(&version)))
    }

    /// For how long one has been failing, if one is: the longest time.
    pub(super) fn failing_for(&self, now: Instant) -> Option<Duration> {
        let failures = self.0.iter().filter_map(|watch| watch.failure.as_ref());
        let failing = failures.filter(|failure| !failure.is_over(now));
        failing.map(|failure| now.duration_since(failure.since)).max()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const MINUTE: Duration = Duration::from_mins(1);

    fn at(version: u32) -> LiveObject {
        LiveObject::from_json(json!({"metadata": {"name": "a", "resourceVersion": version.to_string()}}))
            .unwrap()
    }

    #[test]
    fn a_response_counts_until_the_watch_is_beyond_it_or_lists_again() {
        let mut watches = Watches::default();
        let (all, other) = (watches.add(None), watches.add(Some("other")));
        let mut record = |number, event| {
            watches.record(number, &Ok(event), Instant::now());
            let passed = |version| watches.may_have_passed("ns", version);
            let delivered = |version| watches.have_delivered("ns", version);
            ([4, 5, 6].map(passed), [4, 5, 6].map(delivered))
        };
        assert_eq!(record(all, Event::Apply(at(5))), ([true, false, false], [true, true, false]));
        let of_other = record(other, Event::Apply(at(9)));
        assert_eq!(of_other, ([true, false, false], [true, true, false]), "it is of another namespace");
        for event in [Event::Init, Event::InitApply(at(7)), Event::InitDone] {
            assert_eq!(record(all, event), ([true; 3], [false; 3]), "the list may be older or newer");
        }
        assert_eq!(record(all, Event::Delete(at(6))), ([true, true, false], [true; 3]));
    }

    fn failing() -> (Watches, Instant) {
        let (mut watches, now) = (Watches::default(), Instant::now());
        watches.add(None);
        watches.record(0, &Err(watcher::Error::NoResourceVersion), now);
        (watches, now)
    }

    #[test]
    fn a_failure_that_is_not_repeated_is_over() {
        let (mut watches, start) = failing();
        assert_eq!(watches.failing_for(start + MINUTE), Some(MINUTE));
        assert_eq!(watches.failing_for(start + OVER_AFTER), None);
        watches.record(0, &Err(watcher::Error::NoResourceVersion), start + OVER_AFTER);
        assert_eq!(watches.failing_for(start + OVER_AFTER), Some(Duration::ZERO), "it begins again");
    }

    #[test]
    fn an_event_ends_a_failure_and_the_beginning_of_a_list_does_not() {
        let (mut watches, start) = failing();
        watches.record(0, &Err(watcher::Error::NoResourceVersion), start + MINUTE / 2);
        watches.record(0, &Ok(Event::Init), start + MINUTE);
        assert_eq!(watches.failing_for(start + MINUTE), Some(MINUTE), "since the first failure");
        watches.record(0, &Ok(Event::InitDone), start + MINUTE);
        assert_eq!(watches.failing_for(start + MINUTE), None);
    }
}
