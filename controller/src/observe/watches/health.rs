//! Whether Baton gets the changes in the cluster: for each watch, whether it fails and for how long.
//!
//! A watch that works again but has no events reports nothing. So a failure counts as over when it hasn't been repeated for longer
//! than any pause between two attempts.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use kube::runtime::watcher::{self, Event};
use tracing::warn;

use crate::{causes::with_causes, clock::now, lock::lock};

/// Longer than the longest pause between two attempts and the attempt itself.
const OVER_AFTER: Duration = Duration::from_secs(90);

/// How often a repeated failure is logged.
const LOGGED_EVERY: Duration = Duration::from_secs(30);

/// What is known about each watch. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Health(Arc<Mutex<Vec<Watch>>>);

#[derive(Debug)]
struct Watch {
    kind: &'static str,
    /// Absent if all are watched.
    namespace: Option<String>,
    failure: Option<Failure>,
}

#[derive(Debug)]
struct Failure {
    since: Instant,
    last: Instant,
    /// When it was logged.
    logged: Instant,
    message: String,
}

impl Health {
    /// Adds a watch. Report each of its events and errors to the returned function.
    pub(super) fn of<K>(
        &self,
        kind: &'static str,
        namespace: Option<String>,
    ) -> impl FnMut(&watcher::Result<Event<K>>) + Send + use<K> {
        let (watches, number) = (self.0.clone(), self.add(kind, namespace));
        move |event| {
            let mut watches = lock(&watches);
            let Some(watch) = watches.get_mut(number) else { return };
            match event {
                // A list that begins may still fail.
                Ok(Event::Init) => {}
                Ok(_) => watch.failure = None,
                Err(error) => watch.failed(with_causes(error), now()),
            }
        }
    }

    fn add(&self, kind: &'static str, namespace: Option<String>) -> usize {
        let mut watches = lock(&self.0);
        watches.push(Watch { kind, namespace, failure: None });
        watches.len() - 1
    }

    /// The kinds of the watches that have been failing for at least this long, with the seconds. The reasons are in the log.
    pub(crate) fn failing_for(&self, limit: Duration, now: Instant) -> BTreeMap<&'static str, u64> {
        let is_long = |failure: &&Failure| {
            now.duration_since(failure.since) >= limit && now.duration_since(failure.last) < OVER_AFTER
        };
        let watches = lock(&self.0);
        let failing =
            watches.iter().filter_map(|watch| Some((watch.kind, watch.failure.as_ref().filter(is_long)?)));
        let mut longest = BTreeMap::new();
        for (kind, failure) in failing {
            let seconds = now.duration_since(failure.since).as_secs();
            longest.entry(kind).and_modify(|longest| *longest = seconds.max(*longest)).or_insert(seconds);
        }
        longest
    }
}

impl Watch {
    fn failed(&mut self, message: String, now: Instant) {
        let before = self.failure.take().filter(|failure| now.duration_since(failure.last) < OVER_AFTER);
        let is_logged =
            |before: &&Failure| before.message == message && now.duration_since(before.logged) < LOGGED_EVERY;
        let logged = before.as_ref().filter(is_logged).map(|before| before.logged);
        if logged.is_none() {
            warn!(
                watch = self.kind,
                namespace = self.namespace,
                error = message,
                "a watch failed; Baton retries. If this goes on: is the Workload CRD installed, and may Baton list and \
                 watch in its scope?"
            );
        }
        let since = before.map_or(now, |before| before.since);
        self.failure = Some(Failure { since, last: now, logged: logged.unwrap_or(now), message });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_mins(1);

    fn failing() -> (Health, Instant) {
        let (health, now) = (Health::default(), Instant::now());
        health.add("Service", None);
        lock(&health.0)[0].failed("forbidden".to_owned(), now);
        (health, now)
    }

    #[test]
    fn a_watch_that_fails_for_long_is_reported() {
        let (health, start) = failing();
        assert!(health.failing_for(MINUTE, start + MINUTE / 2).is_empty(), "not yet");
        assert_eq!(health.failing_for(MINUTE, start + MINUTE), BTreeMap::from([("Service", 60)]));
    }

    #[test]
    fn a_failure_that_is_not_repeated_is_over() {
        let (health, start) = failing();
        assert!(health.failing_for(MINUTE, start + OVER_AFTER).is_empty());
        lock(&health.0)[0].failed("forbidden".to_owned(), start + OVER_AFTER);
        assert!(health.failing_for(MINUTE, start + OVER_AFTER).is_empty(), "it begins again");
    }

    #[test]
    fn an_event_ends_a_failure_and_the_beginning_of_a_list_does_not() {
        let health = Health::default();
        let mut report = health.of::<()>("Service", None);
        let later = || Instant::now() + MINUTE;
        report(&Err(watcher::Error::NoResourceVersion));
        report(&Ok(Event::Init));
        assert_eq!(health.failing_for(MINUTE, later()).len(), 1);
        report(&Ok(Event::InitDone));
        assert!(health.failing_for(MINUTE, later()).is_empty());
    }
}
