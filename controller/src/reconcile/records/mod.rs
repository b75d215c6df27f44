//! The records of Workloads: what is remembered of each between passes, until it is deleted. After a restart it is learnt again.

mod memo;
mod pace;

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use baton_runtime::pace::{ObjectKey, Resync, WriteRate};

use self::memo::Memo;
pub(crate) use self::{
    memo::{LiveIntents, Settled},
    pace::{Pace, Setback},
};
use crate::decide::pass::Outbox;

/// The records of all Workloads.
#[derive(Debug)]
pub(crate) struct Records {
    resync: Duration,
    by_workload: HashMap<ObjectKey, Record>,
    /// How fast all of them are written.
    pub(super) rate: WriteRate,
}

/// The record of one Workload.
#[derive(Debug)]
pub(crate) struct Record {
    uid: String,
    /// When to try again.
    pub(crate) pace: Pace,
    /// Work that needn't be done again.
    pub(super) memo: Memo,
    /// Effects that weren't reported yet.
    pub(super) outbox: Outbox,
}

impl Record {
    fn new(uid: String, resync: Resync) -> Self {
        Self { uid, pace: Pace::new(resync), memo: Memo::default(), outbox: Outbox::default() }
    }
}

impl Records {
    /// No records. Each Workload is applied for real about this often.
    pub(crate) fn new(resync: Duration, rate: WriteRate) -> Self {
        Self { resync, by_workload: HashMap::new(), rate }
    }

    /// The record of a Workload. Another Workload of the same name has a new one.
    pub(super) fn of(&mut self, key: ObjectKey, uid: &str, now: Instant) -> &mut Record {
        let fresh = || Record::new(uid.to_owned(), Resync::new(self.resync, uid, now));
        let record = self.by_workload.entry(key).or_insert_with(fresh);
        if record.uid != uid {
            *record = fresh();
        }
        record
    }

    /// How long a pass is deferred whose next write has low priority; none where it can be sent.
    pub(super) fn deferral(
        &mut self,
        key: ObjectKey,
        uid: &str,
        others_are_due: bool,
        now: Instant,
    ) -> Option<Duration> {
        let moment = match self.of(key.clone(), uid, now).pace.reserved.take() {
            Some(moment) if moment <= now => return None,
            Some(moment) => moment,
            None => self.rate.reserve(now, others_are_due)?,
        };
        self.of(key, uid, now).pace.reserved = Some(moment);
        Some(moment - now)
    }

    /// A Workload is gone.
    pub(super) fn forget(&mut self, key: &ObjectKey) {
        self.by_workload.remove(key);
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::*;

    const HOUR: Duration = Duration::from_hours(1);
    const SECOND: Duration = Duration::from_secs(1);

    fn key() -> ObjectKey {
        ("shop".to_owned(), "web".to_owned())
    }

    fn records(now: Instant) -> Records {
        Records::new(HOUR, WriteRate::new(NonZeroU32::MIN, now))
    }

    #[test]
    fn a_write_of_low_priority_keeps_its_reservation() {
        let now = Instant::now();
        let mut records = records(now);
        let mut deferral = |now| records.deferral(key(), "u", false, now);
        assert_eq!(deferral(now), None, "no other pass writes");
        records.rate.take(now);
        let mut deferral = |now| records.deferral(key(), "u", false, now);
        assert_eq!(deferral(now), Some(3 * SECOND));
        assert_eq!(deferral(now + SECOND), Some(2 * SECOND));
        assert_eq!(deferral(now + 3 * SECOND), None);
        assert_eq!(deferral(now + 3 * SECOND), None, "the reservation is used, and no other pass waits");
    }

    #[test]
    fn a_write_of_low_priority_comes_once_after_the_passes_that_are_due() {
        let now = Instant::now();
        let mut records = records(now);
        assert_eq!(records.deferral(key(), "u", true, now), Some(Duration::ZERO));
        assert_eq!(records.deferral(key(), "u", true, now), None);
    }

    #[test]
    fn a_workload_is_forgotten_when_it_is_deleted_or_its_name_is_reused() {
        let now = Instant::now();
        let mut records = records(now);
        records.of(key(), "u", now).pace.pass_failed();
        let failed = |records: &mut Records, uid| records.of(key(), uid, now).pace.failed_passes;
        assert_eq!((failed(&mut records, "u"), failed(&mut records, "another")), (1, 0));
        records.forget(&key());
        assert!(records.by_workload.is_empty());
    }
}
