//! How fast Baton writes, so that a change of all Workloads doesn't starve other work.
//!
//! What can't wait, such as a handover under way, is written at the next moment there is. What can wait begins only when nothing else
//! does; otherwise its pass ends, and comes back in a turn of its own. So the passes that run are few, and none is delayed for long.

use std::{
    num::NonZeroU32,
    time::{Duration, Instant},
};

/// For how long unused turns are kept.
const BURST: Duration = Duration::from_secs(1);
/// How many writes a pass has that comes back in its turn: a child and the status, most often.
const WRITES_OF_A_TURN: u32 = 2;

/// The writes of one process, evenly spread once they are too many.
#[derive(Debug)]
pub struct WriteRate {
    /// Between two writes.
    interval: Duration,
    /// When the next write may be sent.
    next: Instant,
    /// The last turn that was given out.
    last_turn: Instant,
}

impl WriteRate {
    /// At most this many writes each second.
    pub fn new(per_second: NonZeroU32, now: Instant) -> Self {
        Self { interval: Duration::from_secs(1) / per_second.get(), next: now, last_turn: now }
    }

    /// Takes the next moment for a write; returns how far away it is.
    pub fn take(&mut self, now: Instant) -> Duration {
        let moment = now.checked_sub(BURST).map_or(self.next, |unused| self.next.max(unused));
        self.next = moment + self.interval;
        moment.saturating_duration_since(now)
    }

    /// Whether passes wait for their writes, or for their turns.
    pub fn is_busy(&self, now: Instant) -> bool {
        self.next.max(self.last_turn) > now
    }

    /// The turn of a pass that can wait; none where it needn't, since no other pass writes.
    pub fn turn(&mut self, now: Instant) -> Option<Instant> {
        if !self.is_busy(now) {
            return None;
        }
        self.last_turn = self.next.max(self.last_turn).max(now) + self.interval * WRITES_OF_A_TURN;
        Some(self.last_turn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn ten_a_second(now: Instant) -> WriteRate {
        WriteRate::new(NonZeroU32::new(10).unwrap(), now)
    }

    #[test]
    fn writes_are_spread_after_a_second_of_them() {
        let now = Instant::now();
        let mut rate = ten_a_second(now);
        let later = now + 60 * SECOND;
        let waits: Vec<Duration> = (0..31).map(|_| rate.take(later)).collect();
        assert!(waits[..11].iter().all(Duration::is_zero), "{waits:?}");
        assert_eq!(waits[30], 2 * SECOND);
        assert_eq!(rate.take(later + 2 * SECOND), SECOND / 10, "what is due is due");
    }

    #[test]
    fn a_pass_that_can_wait_starts_at_once_if_no_other_writes_and_else_in_its_turn() {
        let now = Instant::now();
        let mut rate = ten_a_second(now);
        assert_eq!(rate.turn(now), None);
        rate.take(now);
        let turns: Vec<Duration> = (0..3).map(|_| rate.turn(now).unwrap() - now).collect();
        assert_eq!(turns, [3, 5, 7].map(|tenths| SECOND / 10 * tenths));
        assert!(rate.turn(now + SECOND / 2).is_some(), "others come first");
        assert_eq!(rate.turn(now + 2 * SECOND), None);
    }

    #[test]
    fn a_write_that_cannot_wait_overtakes_those_that_wait() {
        let now = Instant::now();
        let mut rate = ten_a_second(now);
        rate.take(now);
        for _ in 0..1000 {
            rate.turn(now);
        }
        assert_eq!(rate.take(now), SECOND / 10);
    }
}
