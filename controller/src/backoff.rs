//! How long to leave a child alone that the server refused.
//!
//! The one thing the operator remembers, and nothing but pace depends on it: after a restart it simply tries at once.
//! Refuses to know why a child failed.

use std::{
    collections::{BTreeSet, HashMap},
    time::{Duration, Instant},
};

use crate::child::ChildKind;

const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_mins(2);
/// An entry that nobody has asked for in this long belongs to a Workload that is gone.
const FORGOTTEN: Duration = Duration::from_mins(30);

/// Failures of children in a row, and when each may be tried again.
#[derive(Debug, Default)]
pub struct Backoff {
    failures: HashMap<(String, ChildKind), Failure>,
}

#[derive(Debug)]
struct Failure {
    generation: i64,
    in_a_row: u32,
    retry_at: Instant,
}

impl Backoff {
    /// Notes that a child of the Workload with this uid failed at this generation of its spec; returns the pause.
    ///
    /// The pause doubles from one second to two minutes, and starts anew with a new generation.
    pub fn failed(&mut self, uid: &str, child: ChildKind, generation: i64, now: Instant) -> Duration {
        self.failures.retain(|_, failure| now.saturating_duration_since(failure.retry_at) < FORGOTTEN);
        let failure = self
            .failures
            .entry((uid.to_owned(), child))
            .and_modify(|failure| {
                failure.in_a_row = if failure.generation == generation { failure.in_a_row + 1 } else { 0 };
            })
            .or_insert(Failure { generation, in_a_row: 0, retry_at: now });
        let pause =
            FIRST.saturating_mul(1_u32.checked_shl(failure.in_a_row).unwrap_or(u32::MAX)).min(LONGEST);
        failure.generation = generation;
        failure.retry_at = now + pause;
        pause
    }

    /// Notes that a child is well.
    pub fn succeeded(&mut self, uid: &str, child: ChildKind) {
        self.failures.remove(&(uid.to_owned(), child));
    }

    /// The children of a Workload that aren't to be tried yet.
    pub fn held_back(&self, uid: &str, generation: i64, now: Instant) -> BTreeSet<ChildKind> {
        self.pausing(uid, generation, now).map(|(child, _)| child).collect()
    }

    /// When the first child is to be tried again of those that were held back when a pass `begun`, or failed since. It may be
    /// over already: what ended while the pass was under way did so without the pass.
    pub fn next_look(&self, uid: &str, generation: i64, begun: Instant) -> Option<Instant> {
        self.pausing(uid, generation, begun).map(|(_, retry_at)| retry_at).min()
    }

    fn pausing(
        &self,
        uid: &str,
        generation: i64,
        now: Instant,
    ) -> impl Iterator<Item = (ChildKind, Instant)> {
        let of_workload = self.failures.iter().filter(move |((owner, _), failure)| {
            owner == uid && failure.generation == generation && failure.retry_at > now
        });
        of_workload.map(|((_, child), failure)| (*child, failure.retry_at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHILD: ChildKind = ChildKind::Service;

    #[test]
    fn the_pause_doubles_up_to_two_minutes() {
        let (mut backoff, now) = (Backoff::default(), Instant::now());
        let pauses: Vec<u64> = (0..9).map(|_| backoff.failed("u", CHILD, 1, now).as_secs()).collect();
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 64, 120, 120]);
        for _ in 0..100 {
            assert_eq!(backoff.failed("u", CHILD, 1, now), LONGEST);
        }
    }

    #[test]
    fn a_child_is_held_back_until_its_pause_is_over() {
        let (mut backoff, now) = (Backoff::default(), Instant::now());
        backoff.failed("u", CHILD, 1, now);
        assert_eq!(backoff.held_back("u", 1, now), BTreeSet::from([CHILD]));
        assert_eq!(backoff.held_back("other", 1, now), BTreeSet::new());
        assert_eq!(backoff.held_back("u", 1, now + FIRST), BTreeSet::new());
    }

    #[test]
    fn a_pause_that_ends_while_a_pass_is_under_way_is_followed_by_another_pass() {
        let (mut backoff, now) = (Backoff::default(), Instant::now());
        backoff.failed("u", CHILD, 1, now);
        for begun in [now, now + FIRST / 2] {
            assert_eq!(backoff.held_back("u", 1, begun), BTreeSet::from([CHILD]));
            assert_eq!(backoff.next_look("u", 1, begun), Some(now + FIRST));
        }
        assert_eq!(backoff.next_look("u", 1, now + FIRST), None, "this pass tries it itself");
        assert_eq!(backoff.next_look("other", 1, now), None);
    }

    #[test]
    fn an_edit_of_the_workload_ends_the_pause() {
        let (mut backoff, now) = (Backoff::default(), Instant::now());
        for _ in 0..5 {
            backoff.failed("u", CHILD, 1, now);
        }
        assert_eq!(backoff.held_back("u", 2, now), BTreeSet::new());
        assert_eq!(backoff.next_look("u", 2, now), None);
        assert_eq!(backoff.failed("u", CHILD, 2, now), FIRST);
    }

    #[test]
    fn success_forgets_the_failures() {
        let (mut backoff, now) = (Backoff::default(), Instant::now());
        backoff.failed("u", CHILD, 1, now);
        backoff.succeeded("u", CHILD);
        assert_eq!(backoff.next_look("u", 1, now), None);
        assert_eq!(backoff.failed("u", CHILD, 1, now), FIRST);
    }
}
