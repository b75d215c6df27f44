//! Whether Baton hears what happens in the cluster: for each watch, whether it fails and for how long.
//!
//! A quiet watch that works again reports nothing, so a failure counts as over when it hasn't come again for longer than any
//! pause between two attempts.

use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use kube::runtime::watcher::{self, Event};
use tracing::warn;

use crate::{causes::with_causes, clock::now, lock::lock};

/// Longer than the longest pause between two attempts and the attempt itself.
const OVER_AFTER: Duration = Duration::from_secs(90);

/// How often a failure that goes on is logged.
const TOLD_EVERY: Duration = Duration::from_secs(30);

/// What is known of each watch. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Health(Arc<Mutex<Vec<Watch>>>);

#[derive(Debug)]
struct Watch {
    /// What is watched, for people.
    what: String,
    trouble: Option<Trouble>,
}

#[derive(Debug)]
struct Trouble {
    since: Instant,
    last: Instant,
    /// When it was logged.
    told: Instant,
    words: String,
}

impl Health {
    /// Adds a watch. Report each of its events and errors to what is returned.
    pub(super) fn of<K>(&self, what: String) -> impl FnMut(&watcher::Result<Event<K>>) + Send + use<K> {
        let (watches, number) = (self.0.clone(), self.add(what));
        move |event| {
            let mut watches = lock(&watches);
            let Some(watch) = watches.get_mut(number) else { return };
            match event {
                // That a list is about to begin says nothing of how it ends.
                Ok(Event::Init) => {}
                Ok(_) => watch.trouble = None,
                Err(error) => watch.failed(with_causes(error), now()),
            }
        }
    }

    fn add(&self, what: String) -> usize {
        let mut watches = lock(&self.0);
        watches.push(Watch { what, trouble: None });
        watches.len() - 1
    }

    /// What hasn't been heard of for at least this long, each with why.
    pub(crate) fn failing_for(&self, limit: Duration, now: Instant) -> Vec<String> {
        let is_long = |trouble: &&Trouble| {
            now.duration_since(trouble.since) >= limit && now.duration_since(trouble.last) < OVER_AFTER
        };
        let watches = lock(&self.0);
        let failing =
            watches.iter().filter_map(|watch| Some((&watch.what, watch.trouble.as_ref().filter(is_long)?)));
        failing
            .map(|(what, trouble)| {
                let seconds = now.duration_since(trouble.since).as_secs();
                format!("the watch of {what} has been failing for {seconds} s: {}", trouble.words)
            })
            .collect()
    }
}

impl Watch {
    fn failed(&mut self, words: String, now: Instant) {
        let before = self.trouble.take().filter(|trouble| now.duration_since(trouble.last) < OVER_AFTER);
        let is_told =
            |before: &&Trouble| before.words == words && now.duration_since(before.told) < TOLD_EVERY;
        let told = before.as_ref().filter(is_told).map(|before| before.told);
        if told.is_none() {
            warn!(
                watch = self.what,
                error = words,
                "a watch failed; Baton retries. If this goes on: is the Workload CRD installed, and may Baton list and \
                 watch in its scope?"
            );
        }
        let since = before.map_or(now, |before| before.since);
        self.trouble = Some(Trouble { since, last: now, told: told.unwrap_or(now), words });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_mins(1);

    fn failing() -> (Health, Instant) {
        let (health, now) = (Health::default(), Instant::now());
        health.add("Services".to_owned());
        lock(&health.0)[0].failed("forbidden".to_owned(), now);
        (health, now)
    }

    #[test]
    fn a_watch_that_fails_for_long_is_told_with_why() {
        let (health, start) = failing();
        assert!(health.failing_for(MINUTE, start + MINUTE / 2).is_empty(), "not yet");
        let told = health.failing_for(MINUTE, start + MINUTE);
        assert_eq!(told, ["the watch of Services has been failing for 60 s: forbidden"]);
    }

    #[test]
    fn a_failure_that_does_not_come_again_is_over() {
        let (health, start) = failing();
        assert!(health.failing_for(MINUTE, start + OVER_AFTER).is_empty());
        lock(&health.0)[0].failed("forbidden".to_owned(), start + OVER_AFTER);
        assert!(health.failing_for(MINUTE, start + OVER_AFTER).is_empty(), "it begins anew");
    }

    #[test]
    fn an_event_ends_it_and_the_beginning_of_a_list_does_not() {
        let health = Health::default();
        let mut tell = health.of::<()>("Services".to_owned());
        let later = || Instant::now() + MINUTE;
        tell(&Err(watcher::Error::NoResourceVersion));
        tell(&Ok(Event::Init));
        assert_eq!(health.failing_for(MINUTE, later()).len(), 1);
        tell(&Ok(Event::InitDone));
        assert!(health.failing_for(MINUTE, later()).is_empty());
    }
}
