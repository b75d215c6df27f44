//! Pauses between the attempts at a part of an object that failed.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_mins(2);

/// The pause after a failure that this many came before: from one second, doubled up to two minutes.
pub fn pause_after(failures: u32) -> Duration {
    FIRST.saturating_mul(1_u32.checked_shl(failures).unwrap_or(u32::MAX)).min(LONGEST)
}

/// Failures in a row of the parts of an object, such as its children, and when each part may be tried again.
///
/// `S` is what is kept of a part's last failure.
#[derive(Debug)]
pub struct Backoff<K, S>(BTreeMap<K, Failure<S>>);

#[derive(Debug)]
struct Failure<S> {
    generation: i64,
    in_a_row: u32,
    retry_at: Instant,
    setback: S,
}

impl<K, S> Default for Backoff<K, S> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<K: Copy + Ord, S: Clone> Backoff<K, S> {
    /// Notes that a part failed at this generation of the object's spec, in a pass that took so long; returns the pause.
    ///
    /// The pause doubles from one second to two minutes, and starts anew with a new generation. It is at least twice as long as the
    /// pass: what fails slowly, such as by a webhook that doesn't respond, is tried less often than what is refused at once.
    pub fn failed(&mut self, part: K, generation: i64, setback: S, took: Duration, now: Instant) -> Duration {
        let known = self.0.get(&part).filter(|known| known.generation == generation);
        let in_a_row = known.map_or(0, |known| known.in_a_row + 1);
        let pause = pause_after(in_a_row).max(took.saturating_mul(2)).min(LONGEST);
        self.0.insert(part, Failure { generation, in_a_row, retry_at: now + pause, setback });
        pause
    }

    /// Notes that a part is well.
    pub fn succeeded(&mut self, part: K) {
        self.0.remove(&part);
    }

    /// The parts that aren't to be tried yet, each with its last failure.
    pub fn held_back(&self, generation: i64, now: Instant) -> BTreeMap<K, S> {
        self.pausing(generation, now).map(|(part, failure)| (*part, failure.setback.clone())).collect()
    }

    /// When the first part is to be tried again of those that were held back when a pass `begun`, or failed since. It may be
    /// over already: a pause that ended while the pass was under way did so without the pass.
    pub fn next_pass(&self, generation: i64, begun: Instant) -> Option<Instant> {
        self.pausing(generation, begun).map(|(_, failure)| failure.retry_at).min()
    }

    fn pausing(&self, generation: i64, now: Instant) -> impl Iterator<Item = (&K, &Failure<S>)> {
        self.0.iter().filter(move |(_, failure)| failure.generation == generation && failure.retry_at > now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHILD: &str = "Service";
    const NO: &str = "rejected";
    const AT_ONCE: Duration = Duration::ZERO;

    #[test]
    fn the_pause_doubles_up_to_two_minutes() {
        let (mut backoff, now) = (Backoff::default(), Instant::now());
        let pauses: Vec<u64> = (0..9).map(|_| backoff.failed(CHILD, 1, NO, AT_ONCE, now).as_secs()).collect();
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 64, 120, 120]);
        for _ in 0..100 {
            assert_eq!(backoff.failed(CHILD, 1, NO, AT_ONCE, now), LONGEST);
        }
    }

    #[test]
    fn what_fails_slowly_is_tried_less_often() {
        let (mut backoff, now) = (Backoff::default(), Instant::now());
        let seconds = Duration::from_secs;
        let pauses = [30, 30, 30].map(|took| backoff.failed(CHILD, 1, NO, seconds(took), now).as_secs());
        assert_eq!(pauses, [60, 60, 60]);
        assert_eq!(backoff.failed(CHILD, 1, NO, Duration::MAX, now), LONGEST);
    }

    #[test]
    fn a_child_is_held_back_until_its_pause_is_over() {
        let (mut backoff, now) = (Backoff::default(), Instant::now());
        backoff.failed(CHILD, 1, NO, AT_ONCE, now);
        assert_eq!(backoff.held_back(1, now), BTreeMap::from([(CHILD, NO)]));
        assert_eq!(backoff.held_back(1, now + FIRST), BTreeMap::new());
    }

    #[test]
    fn a_pause_that_ends_while_a_pass_is_under_way_is_followed_by_another_pass() {
        let (mut backoff, now) = (Backoff::default(), Instant::now());
        backoff.failed(CHILD, 1, NO, AT_ONCE, now);
        for begun in [now, now + FIRST / 2] {
            assert_eq!(backoff.held_back(1, begun), BTreeMap::from([(CHILD, NO)]));
            assert_eq!(backoff.next_pass(1, begun), Some(now + FIRST));
        }
        assert_eq!(backoff.next_pass(1, now + FIRST), None, "this pass tries it itself");
    }

    #[test]
    fn an_edit_of_the_workload_ends_the_pause() {
        let (mut backoff, now) = (Backoff::default(), Instant::now());
        for _ in 0..5 {
            backoff.failed(CHILD, 1, NO, AT_ONCE, now);
        }
        assert_eq!(backoff.held_back(2, now), BTreeMap::new());
        assert_eq!(backoff.next_pass(2, now), None);
        assert_eq!(backoff.failed(CHILD, 2, NO, AT_ONCE, now), FIRST);
    }

    #[test]
    fn success_forgets_the_failures() {
        let (mut backoff, now) = (Backoff::default(), Instant::now());
        backoff.failed(CHILD, 1, NO, AT_ONCE, now);
        backoff.succeeded(CHILD);
        assert_eq!(backoff.next_pass(1, now), None);
        assert_eq!(backoff.failed(CHILD, 1, NO, AT_ONCE, now), FIRST);
    }
}
