//! The safety resync: how often a Workload is applied for real, whatever was predicted.
//!
//! Writes that are predicted to change nothing are skipped. If a prediction is wrong, this bounds for how long. Each Workload has its own
//! moment, spread at random, so that they don't all come at once.

use std::{
    hash::{DefaultHasher, Hash as _, Hasher as _},
    time::{Duration, Instant},
};

/// When a Workload is to be applied for real.
#[derive(Clone, Debug)]
pub(crate) struct Resync {
    every: Duration,
    due: Instant,
    /// The Workload's own generator, so that the order of Workloads doesn't matter.
    chance: fastrand::Rng,
}

impl Resync {
    /// A resync about this often: between three quarters and five quarters of it. The first is in the second half of the
    /// interval: a start of the operator is no reason to write.
    /// The Workload's uid is the seed.
    pub(crate) fn new(every: Duration, uid: &str, now: Instant) -> Self {
        let mut hasher = DefaultHasher::new();
        uid.hash(&mut hasher);
        let mut chance = fastrand::Rng::with_seed(hasher.finish());
        Self { every, due: now + every.mul_f64(0.5 + chance.f64() / 2.0), chance }
    }

    /// When it is due.
    pub(crate) fn due(&self) -> Instant {
        self.due
    }

    /// Notes that the Workload was applied for real.
    pub(crate) fn done(&mut self, now: Instant) {
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
