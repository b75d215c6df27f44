//! Pauses between the writes of a child that failed.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use crate::decide::{child::ChildKind, pass::ChildResult, plan::Refusal};

const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_mins(2);

/// The pause after a failure that this many came before.
pub(super) fn pause_after(failures: u32) -> Duration {
    FIRST.saturating_mul(1_u32.checked_shl(failures).unwrap_or(u32::MAX)).min(LONGEST)
}

/// Failures of a Workload's children in a row, and when each child may be tried again.
#[derive(Debug, Default)]
pub(crate) struct Backoff(BTreeMap<ChildKind, Failure>);

#[derive(Debug)]
struct Failure {
    generation: i64,
    in_a_row: u32,
    retry_at: Instant,
    setback: Setback,
}

/// How the last write of a child ended. It is reported until the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Setback {
    /// A write wasn't stored, or a read failed.
    Result(ChildResult),
    /// There is an object of another owner.
    Refusal(Refusal),
}

impl Backoff {
    /// Notes that a child failed at this generation of the spec, in a pass that took so long; returns the pause.
    ///
    /// The pause doubles from one second to two minutes, and starts anew with a new generation. It is at least twice as long as the
    /// pass: what fails slowly, such as by a webhook that doesn't respond, is tried less often than what is refused at once.
    pub(crate) fn failed(
        &mut self,
        child: ChildKind,
        generation: i64,
        setback: Setback,
        took: Duration,
        now: Instant,
    ) -> Duration {
        let failure = self
            .0
            .entry(child)
            .and_modify(|failure| {
                failure.in_a_row = if failure.generation == generation { failure.in_a_row + 1 } else { 0 };
            })
            .or_insert_with(|| Failure { generation, in_a_row: 0, retry_at: now, setback: setback.clone() });
        let pause = pause_after(failure.in_a_row).max(2 * took).min(LONGEST);
        failure.setback = setback;
        failure.generation = generation;
        failure.retry_at = now + pause;
        pause
    }

    /// Notes that a child is well.
    pub(crate) fn succeeded(&mut self, child: ChildKind) {
        self.0.remove(&child);
    }

    /// The children that aren't to be tried yet, with how the last try ended.
    pub(crate) fn held_back(&self, generation: i64, now: Instant) -> BTreeMap<ChildKind, Setback> {
        self.pausing(generation, now).map(|(child, failure)| (child, failure.setback.clone())).collect()
    }

    /// When the first child is to be tried again of those that were held back when a pass `begun`, or failed since. It may be
    /// over already: what ended while the pass was under way did so without the pass.
    pub(crate) fn next_pass(&self, generation: i64, begun: Instant) -> Option<Instant> {
        self.pausing(generation, begun).map(|(_, failure)| failure.retry_at).min()
    }

    fn pausing(&self, generation: i64, now: Instant) -> impl Iterator<Item = (ChildKind, &Failure)> {
        let pausing = self
            .0
            .iter()
            .filter(move |(_, failure)| failure.generation == generation && failure.retry_at > now);
        pausing.map(|(child, failure)| (*child, failure))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHILD: ChildKind = ChildKind::Service;
    const AT_ONCE: Duration = Duration::ZERO;

    fn setback() -> Setback {
        Setback::Result(ChildResult::Rejected("no".to_owned()))
    }

    #[test]
    fn the_pause_doubles_up_to_two_minutes() {
        let (mut backoff, now) = (Backoff::default(), Instant::now());
        let pauses: Vec<u64> =
            (0..9).map(|_| backoff.failed(CHILD, 1, setback(), AT_ONCE, now).as_secs()).collect();
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 64, 120, 120]);
        for _ in 0..100 {
            assert_eq!(backoff.failed(CHILD, 1, setback(), AT_ONCE, now), LONGEST);
        }
    }

    #[test]
    fn what_fails_slowly_is_tried_less_often() {
        let (mut backoff, now) = (Backoff::default(), Instant::now());
        let seconds = Duration::from_secs;
        let pauses =
            [30, 30, 30].map(|took| backoff.failed(CHILD, 1, setback(), seconds(took), now).as_secs());
        assert_eq!(pauses, [60, 60, 60]);
        assert_eq!(backoff.failed(CHILD, 1, setback(), seconds(300), now), LONGEST);
    }

    #[test]
    fn a_child_is_held_back_until_its_pause_is_over() {
        let (mut backoff, now) = (Backoff::default(), Instant::now());
        backoff.failed(CHILD, 1, setback(), AT_ONCE, now);
        assert_eq!(backoff.held_back(1, now), BTreeMap::from([(CHILD, setback())]));
        assert_eq!(backoff.held_back(1, now + FIRST), BTreeMap::new());
    }

    #[test]
    fn a_pause_that_ends_while_a_pass_is_under_way_is_followed_by_another_pass() {
        let (mut backoff, now) = (Backoff::default(), Instant::now());
        backoff.failed(CHILD, 1, setback(), AT_ONCE, now);
        for begun in [now, now + FIRST / 2] {
            assert_eq!(backoff.held_back(1, begun), BTreeMap::from([(CHILD, setback())]));
            assert_eq!(backoff.next_pass(1, begun), Some(now + FIRST));
        }
        assert_eq!(backoff.next_pass(1, now + FIRST), None, "this pass tries it itself");
    }

    #[test]
    fn an_edit_of_the_workload_ends_the_pause() {
        let (mut backoff, now) = (Backoff::default(), Instant::now());
        for _ in 0..5 {
            backoff.failed(CHILD, 1, setback(), AT_ONCE, now);
        }
        assert_eq!(backoff.held_back(2, now), BTreeMap::new());
        assert_eq!(backoff.next_pass(2, now), None);
        assert_eq!(backoff.failed(CHILD, 2, setback(), AT_ONCE, now), FIRST);
    }

    #[test]
    fn success_forgets_the_failures() {
        let (mut backoff, now) = (Backoff::default(), Instant::now());
        backoff.failed(CHILD, 1, setback(), AT_ONCE, now);
        backoff.succeeded(CHILD);
        assert_eq!(backoff.next_pass(1, now), None);
        assert_eq!(backoff.failed(CHILD, 1, setback(), AT_ONCE, now), FIRST);
    }
}
