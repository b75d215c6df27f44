//! The objects that a pass has read, as digests.

use crate::observe::{Digests, Stores, WatchedWorkload};

/// The digests of what a pass has read. The pass keeps it up to date: with each child that it reads or writes, and with its status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fingerprint {
    /// Of the whole Workload.
    pub(super) workload: u64,
    /// Of its spec.
    pub(super) spec: u64,
    /// Of the objects around it.
    pub(super) around: Digests,
    /// The [round](super::Context::rounds) in which the pass began.
    pub(super) round: u64,
}

impl Fingerprint {
    /// The fingerprint of a pass that reads the Workload from the caches now, in this round.
    pub(super) fn of(watched: &WatchedWorkload, stores: &Stores, round: u64) -> Self {
        let around = stores.digests_around(watched);
        Self { workload: watched.digest(), spec: watched.spec(), around, round }
    }

    /// Whether all that decides about writes is equal: all but statuses.
    pub(super) fn decides_as(&self, other: &Self) -> bool {
        let decisive = |of: &Self| (of.workload, of.spec, of.around.but_status(), of.round);
        decisive(self) == decisive(other)
    }

    /// Whether all is equal that a new pass doesn't wait with.
    pub(super) fn is_as_urgent_as(&self, other: &Self) -> bool {
        (self.spec, self.round) == (other.spec, other.round)
    }
}
