//! Takeovers from other managers, as the status records them.

use baton_apply::Takeover;
use baton_crd::TakeoverStatus;
use jiff::{SignedDuration, Timestamp};

use super::{
    conditions::seconds,
    limits::{manager, path},
};
use crate::decide::{child::ChildKind, pass::Pass};

/// How many are kept; the CRD allows no more.
const MOST: usize = 50;
/// How long after the last takeover from a manager the next one is reported again. Longer than the
/// [longest pause](baton_apply::contention::LONGEST_PAUSE) of contention, or each of its takeovers would be reported.
const BURST: SignedDuration = SignedDuration::from_mins(10);

/// The takeovers after a pass: those from before with the pass's added, in the order of the last time. The oldest are dropped.
pub(super) fn takeovers(pass: &Pass, previous: &[TakeoverStatus], now: Timestamp) -> Vec<TakeoverStatus> {
    let mut takeovers = previous.to_vec();
    for (child, takeover) in &pass.outbox.takeovers {
        let (path, manager) = (path(&takeover.path), manager(&takeover.manager));
        let is_same = |known: &TakeoverStatus| {
            known.kind == child.name() && known.path == path && known.manager == manager
        };
        let before = takeovers.iter().position(is_same).map(|position| takeovers.remove(position));
        takeovers.push(TakeoverStatus {
            kind: child.name().to_owned(),
            name: pass.seen.workload.metadata.name.clone().unwrap_or_default(),
            path,
            manager,
            old_value: takeover.old.clone(),
            new_value: takeover.new.clone(),
            count: before.as_ref().map_or(1, |before| before.count.saturating_add(1)),
            first_time: before.map_or_else(|| seconds(now), |before| before.first_time),
            last_time: seconds(now),
        });
        // At once, so that a pass with thousands compares each with no more than these.
        takeovers.drain(..takeovers.len().saturating_sub(MOST));
    }
    takeovers
}

/// The takeovers that begin a burst: nothing was taken over from that manager in this child for a while.
pub(super) fn news<'p>(
    pass: &'p Pass,
    previous: &'p [TakeoverStatus],
    now: Timestamp,
) -> impl Iterator<Item = (ChildKind, &'p Takeover)> {
    pass.outbox.takeovers.iter().map(|(child, takeover)| (*child, takeover)).filter(
        move |(child, takeover)| {
            let is_recent = |known: &TakeoverStatus| now.duration_since(known.last_time.0) < BURST;
            let same = |known: &TakeoverStatus| {
                known.kind == child.name() && known.manager == manager(&takeover.manager)
            };
            !previous.iter().any(|known| same(known) && is_recent(known))
        },
    )
}
