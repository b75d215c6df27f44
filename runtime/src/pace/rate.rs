//! A limit of writes: a token bucket with two priorities, so that a change of all objects doesn't starve other work.
//!
//! An urgent write, such as one of a handover under way, gets the next token. A pass whose write has low priority goes on only while no
//! other pass writes or is due; otherwise it is deferred with a reservation. So the passes that run are few, and none waits for long.

use std::{
    num::NonZeroU32,
    time::{Duration, Instant},
};

/// For how long unused tokens are kept.
const BURST: Duration = Duration::from_secs(1);
/// How many writes a deferred pass reserves: a child and the status, most often.
const WRITES_RESERVED: u32 = 2;

/// The writes of one process, evenly spread once they are too many.
#[derive(Debug)]
pub struct WriteRate {
    /// Between two writes.
    interval: Duration,
    /// When the next write may be sent.
    next: Instant,
    /// The last reservation.
    reserved: Instant,
}

impl WriteRate {
    /// A limit of this many writes each second.
    pub fn new(per_second: NonZeroU32, now: Instant) -> Self {
        Self { interval: Duration::from_secs(1) / per_second.get(), next: now, reserved: now }
    }

    /// Takes the next token; returns how long to wait for it.
    pub fn take(&mut self, now: Instant) -> Duration {
        let moment = now.checked_sub(BURST).map_or(self.next, |unused| self.next.max(unused));
        self.next = moment + self.interval;
        moment.saturating_duration_since(now)
    }

    /// Whether passes wait for tokens, or for their reservations.
    pub fn is_busy(&self, now: Instant) -> bool {
        self.next.max(self.reserved) > now
    }

    /// A reservation for a write of low priority; none where it needn't wait, since no other pass writes or is due. If others are only
    /// due, it comes after them.
    pub fn reserve(&mut self, now: Instant, others_are_due: bool) -> Option<Instant> {
        if !self.is_busy(now) {
            return others_are_due.then_some(now);
        }
        self.reserved = self.next.max(self.reserved).max(now) + self.interval * WRITES_RESERVED;
        Some(self.reserved)
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
    fn a_write_of_low_priority_is_sent_at_once_if_no_other_pass_writes_and_else_by_its_reservation() {
        let now = Instant::now();
        let mut rate = ten_a_second(now);
        assert_eq!(rate.reserve(now, false), None);
        assert_eq!(rate.reserve(now, true), Some(now), "after those that are due");
        rate.take(now);
        let reserved: Vec<Duration> = (0..3).map(|_| rate.reserve(now, false).unwrap() - now).collect();
        assert_eq!(reserved, [3, 5, 7].map(|tenths| SECOND / 10 * tenths));
        assert!(rate.reserve(now + SECOND / 2, false).is_some(), "others come first");
        assert_eq!(rate.reserve(now + 2 * SECOND, false), None);
    }

    #[test]
    fn an_urgent_write_overtakes_those_of_low_priority() {
        let now = Instant::now();
        let mut rate = ten_a_second(now);
        rate.take(now);
        for _ in 0..1000 {
            rate.reserve(now, false);
        }
        assert_eq!(rate.take(now), SECOND / 10);
    }
}
