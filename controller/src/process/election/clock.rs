//! A clock that goes on while the machine is suspended.
//!
//! [`std::time::Instant`] stands still then on Linux, so a lease that has long run out would look fresh after waking up.

use std::{ops::Add, time::Duration};

use rustix::time::{ClockId, clock_gettime};

#[cfg(any(target_os = "linux", target_os = "android"))]
const CLOCK: ClockId = ClockId::Boottime;
/// On Apple's systems this one goes on while the machine sleeps.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const CLOCK: ClockId = ClockId::Monotonic;

/// A moment by this machine's clock. It says nothing about other machines' clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment(Duration);

impl Moment {
    pub(crate) fn now() -> Self {
        let time = clock_gettime(CLOCK);
        let part = |number: i64| u64::try_from(number).unwrap_or_default();
        Self(Duration::from_secs(part(time.tv_sec)) + Duration::from_nanos(part(time.tv_nsec)))
    }

    /// How long it is until this moment; zero if it is over.
    pub(crate) fn after(self, now: Self) -> Duration {
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
