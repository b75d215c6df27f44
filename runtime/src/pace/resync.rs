//! The moments at which an object is reconciled in any case.
//!
//! A loop that skips what seems unchanged, or what is predicted to change nothing, may be wrong. A resync bounds for how long. Each
//! object has its own moment, spread at random, so that they don't all come at once.

use std::{
    hash::{DefaultHasher, Hash as _, Hasher as _},
    time::{Duration, Instant},
};

/// The longest interval, about a century: a clock has no moment at the end of a longer one.
const LONGEST: Duration = Duration::from_hours(24 * 365 * 100);

/// When an object is to be reconciled in any case.
#[derive(Clone, Debug)]
pub struct Resync {
    every: Duration,
    due: Instant,
    /// The object's own generator, so that the order of objects doesn't matter.
    chance: fastrand::Rng,
}

impl Resync {
    /// A resync about this often: between three quarters and five quarters of it. The first is in the second half of the
    /// interval: a start of the operator is no reason to write. The object's uid is the seed.
    pub fn new(every: Duration, uid: &str, now: Instant) -> Self {
        let mut hasher = DefaultHasher::new();
        uid.hash(&mut hasher);
        let (mut chance, every) = (fastrand::Rng::with_seed(hasher.finish()), every.min(LONGEST));
        Self { every, due: now + every.mul_f64(0.5 + chance.f64() / 2.0), chance }
    }

    /// When the next one is due.
    pub fn due(&self) -> Instant {
        self.due
    }

    /// Notes that the object was reconciled; the next one is due after the interval.
    pub fn done(&mut self, now: Instant) {
        self.due = now + self.every.mul_f64(0.75 + self.chance.f64() / 2.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_hours(1);

    #[test]
    fn the_first_turn_is_in_the_second_half_of_the_interval() {
        let now = Instant::now();
        for uid in 0..100 {
            let first = Resync::new(HOUR, &uid.to_string(), now).due() - now;
            assert!((HOUR / 2..=HOUR).contains(&first), "{first:?}");
        }
    }

    #[test]
    fn an_interval_without_an_end_is_never_over() {
        let now = Instant::now();
        let mut resync = Resync::new(Duration::MAX, "u", now);
        resync.done(now);
        assert!(resync.due() > now + LONGEST / 2);
    }

    #[test]
    fn later_turns_are_spread_around_the_interval() {
        let now = Instant::now();
        let turn = |uid: i32| {
            let mut resync = Resync::new(HOUR, &uid.to_string(), now);
            resync.done(now);
            resync.due() - now
        };
        let mut pauses: Vec<Duration> = (0..100).map(turn).collect();
        assert!(pauses.iter().all(|pause| (HOUR.mul_f64(0.75)..=HOUR.mul_f64(1.25)).contains(pause)));
        pauses.sort();
        pauses.dedup();
        assert!(pauses.len() > 90, "they come one after another");
    }
}
