//! The time: by the clocks of the system, or by tokio's, which a test may pause.
//!
//! Pauses and time limits go by tokio's clock in either case; it is the system's monotonic one unless a test has paused it.

use std::{ops::Add, time::Duration};

use jiff::Timestamp;
use rustix::time::{ClockId, clock_gettime};

/// [`std::time::Instant`] stands still on Linux while the machine is suspended, so a lease that has long run out would look
/// fresh after waking up.
#[cfg(any(target_os = "linux", target_os = "android"))]
const CLOCK: ClockId = ClockId::Boottime;
/// On Apple's systems this one goes on while the machine sleeps.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const CLOCK: ClockId = ClockId::Monotonic;

/// Where the time of day comes from, and the time that leases go by.
#[derive(Clone, Copy, Debug, Default)]
pub struct Clock {
    /// The time of day at a time of tokio's clock; absent where the system's clocks count.
    set: Option<(Timestamp, tokio::time::Instant)>,
}

impl Clock {
    /// The clocks of the system.
    pub const SYSTEM: Self = Self { set: None };

    /// A clock that shows this time now, and goes by tokio's clock from here on. For tests under paused time, and for clocks that
    /// differ from each other.
    pub fn set_to(time: Timestamp) -> Self {
        Self { set: Some((time, tokio::time::Instant::now())) }
    }

    /// The time of day.
    pub fn timestamp(&self) -> Timestamp {
        match self.set {
            None => Timestamp::now(),
            Some((time, when)) => time.saturating_add(when.elapsed()).unwrap_or(Timestamp::MAX),
        }
    }

    /// The time that leases go by, which goes on while the machine is suspended.
    pub fn moment(&self) -> Moment {
        if let Some((_, when)) = self.set {
            return Moment(when.elapsed());
        }
        let time = clock_gettime(CLOCK);
        let part = |number: i64| u64::try_from(number).unwrap_or_default();
        Moment(Duration::from_secs(part(time.tv_sec)) + Duration::from_nanos(part(time.tv_nsec)))
    }
}

/// Now, by tokio's clock.
pub fn now() -> std::time::Instant {
    tokio::time::Instant::now().into_std()
}

/// A moment by one [`Clock`]. It says nothing about other clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(Duration);

impl Moment {
    /// How long it is until this moment; zero if it is over.
    pub fn after(self, now: Self) -> Duration {
        self.0.saturating_sub(now.0)
    }

    #[cfg(test)]
    pub(crate) const fn at(seconds: u64) -> Self {
        Self(Duration::from_secs(seconds))
    }
}

impl Add<Duration> for Moment {
    type Output = Self;

    fn add(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(duration))
    }
}
