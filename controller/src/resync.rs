//! The safety resync: how often a Workload is applied for real, whatever was predicted.
//!
//! Predictions skip what would change nothing. Should one be wrong, this bounds for how long. Each Workload has its own
//! moment, spread by chance, so that they don't all come at once. Remembers nothing but these moments.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

/// When each Workload is to be applied for real.
#[derive(Debug)]
pub struct Resync {
    every: Duration,
    due: HashMap<String, Instant>,
}

impl Resync {
    /// A resync of each Workload about this often: between three quarters and five quarters of it.
    pub fn new(every: Duration) -> Self {
        Self { every, due: HashMap::new() }
    }

    /// Whether the Workload is to be applied for real now. One that is seen for the first time has its turn in the second half
    /// of the interval: a start of the operator is no reason to write.
    pub fn is_due(&mut self, uid: &str, now: Instant) -> bool {
        if let Some(due) = self.due.get(uid) {
            return *due <= now;
        }
        let first = now + self.every.mul_f64(0.5 + fastrand::f64() / 2.0);
        self.due.insert(uid.to_owned(), first);
        false
    }

    /// Notes that the Workload was applied for real.
    pub fn done(&mut self, uid: &str, now: Instant) {
        // Nobody came for these in time: their Workloads are gone.
        self.due.retain(|_, due| *due + self.every > now);
        self.due.insert(uid.to_owned(), now + self.every.mul_f64(0.75 + fastrand::f64() / 2.0));
    }

    /// When the Workload's turn is.
    pub fn next_look(&self, uid: &str) -> Option<Instant> {
        self.due.get(uid).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_hours(1);

    #[test]
    fn the_first_turn_is_in_the_second_half_of_the_interval() {
        let (mut resync, now) = (Resync::new(HOUR), Instant::now());
        for uid in 0..100 {
            assert!(!resync.is_due(&uid.to_string(), now));
            let first = resync.next_look(&uid.to_string()).unwrap() - now;
            assert!((HOUR / 2..=HOUR).contains(&first), "{first:?}");
            assert!(resync.is_due(&uid.to_string(), now + HOUR));
        }
    }

    #[test]
    fn later_turns_are_spread_around_the_interval() {
        let (mut resync, now) = (Resync::new(HOUR), Instant::now());
        let mut pauses = Vec::new();
        for uid in 0..100 {
            resync.done(&uid.to_string(), now);
            pauses.push(resync.next_look(&uid.to_string()).unwrap() - now);
        }
        assert!(pauses.iter().all(|pause| (HOUR.mul_f64(0.75)..=HOUR.mul_f64(1.25)).contains(pause)));
        pauses.sort();
        pauses.dedup();
        assert!(pauses.len() > 90, "they come one after another");
    }
}
