//! What Baton reports: status, conditions and Events, as pure functions of what a pass read and did.

mod conditions;
mod events;
mod limits;
mod planned;
mod status;
mod takeovers;
mod unreadable;

use std::collections::BTreeMap;

use baton_apply::{Takeover, contention::Contested};
use baton_crd::{ChildState, DryRunResult, Mode, WorkloadStatus};

pub use events::{events, outdated_crd_event, put_last_event, unreadable_event};
pub use status::{status, unreadable};
pub use unreadable::Unreadable;

use crate::decide::{
    child::ChildKind,
    course::{ChildResult, Milestone},
    plan::Refusal,
    rehearsal::Rehearsed,
    snapshot::{Snapshot, wants},
};

/// What one pass of the loop read and did.
#[derive(Debug)]
pub struct Pass {
    /// The Workload and its children as they are after the pass.
    pub seen: Snapshot,
    /// Children that weren't written because they aren't this Workload's.
    pub refused: Vec<Refusal>,
    /// What wasn't reported yet.
    pub unreported: Unreported,
    /// Whether nothing was left to do.
    pub settled: bool,
    /// What was done, or would be.
    pub done: Done,
}

/// What writes have done that isn't in the status and the Events yet.
#[derive(Clone, Debug, Default)]
pub struct Unreported {
    /// The children that were created, adopted and deleted, in the order of the writes.
    pub milestones: Vec<(ChildKind, Milestone)>,
    /// What Baton took over from other managers, in the order of the writes.
    pub takeovers: Vec<(ChildKind, Takeover)>,
}

impl Unreported {
    /// How much of each is kept while no status can be written.
    const MOST: usize = 5_000;

    /// Adds what came later. Of more than can be kept, the oldest is dropped.
    pub fn add(&mut self, later: Self) {
        fn append<T>(all: &mut Vec<T>, later: Vec<T>) {
            all.extend(later);
            all.drain(..all.len().saturating_sub(Unreported::MOST));
        }
        append(&mut self.milestones, later.milestones);
        append(&mut self.takeovers, later.takeovers);
    }
}

/// What a pass did.
#[derive(Debug)]
pub enum Done {
    /// It wrote.
    Enforced {
        /// How the writes of each child ended; no entry where there was nothing to write.
        results: BTreeMap<ChildKind, ChildResult>,
        /// The contested fields.
        contested: Vec<Contested<ChildKind>>,
    },
    /// It wrote nothing, in the mode `Preview` or `Paused`: this is what it would have done.
    Previewed(BTreeMap<ChildKind, Tried>),
}

/// How soon a status is to be written that differs from the one that is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Haste {
    /// A user may be waiting for it, to do something about it.
    AtOnce,
    /// With what else happens within a moment.
    Gathers,
    /// With what is certainly about to happen.
    Awaits,
}

/// How soon the status after a pass is to be written.
pub fn haste(pass: &Pass, previous: &WorkloadStatus, status: &WorkloadStatus) -> Haste {
    let workload = &pass.seen.workload;
    let is_trouble =
        |state| !matches!(state, ChildState::Applied | ChildState::Pending | ChildState::Deleting);
    let troubles = |status: &WorkloadStatus| -> Vec<(String, ChildState, Option<String>)> {
        let troubled = status.children.iter().filter(|child| is_trouble(child.state));
        troubled.map(|child| (child.kind.clone(), child.state, child.message.clone())).collect()
    };
    let is_open = pass.has_open_result() && previous.children != status.children;
    if workload.spec.mode != Mode::Enforce || is_open || troubles(previous) != troubles(status) {
        return Haste::AtOnce;
    }
    // The Deployment's controller is about to report on it.
    let is_observed = ChildKind::Deployment.is_observed();
    match pass.seen.own(ChildKind::Deployment) {
        Some(live) if !is_observed(live) => Haste::Awaits,
        _ => Haste::Gathers,
    }
}

/// A rehearsed child with what the API server said about it.
#[derive(Clone, Debug)]
pub struct Tried {
    /// What would be done.
    pub rehearsed: Rehearsed,
    /// How the dry run compares.
    pub dry_run: DryRunResult,
    /// Its message, or how its response differs.
    pub message: Option<String>,
}

impl Pass {
    /// A pass that finds all children as the spec says.
    pub fn of_nothing(seen: Snapshot) -> Self {
        let there = ChildKind::ALL.into_iter().filter(|kind| seen.own(*kind).is_some());
        let results =
            there.filter(|kind| wants(&seen.workload, *kind)).map(|kind| (kind, ChildResult::Applied));
        let done = Done::Enforced { results: results.collect(), contested: Vec::new() };
        Self { seen, refused: Vec::new(), unreported: Unreported::default(), settled: true, done }
    }

    /// Whether all children that are there are as the spec says after it.
    pub fn is_well(&self) -> bool {
        let Done::Enforced { results, contested } = &self.done else { return false };
        let is_well = |kind: ChildKind| match (results.get(&kind), self.seen.own(kind)) {
            (result, Some(live)) if wants(&self.seen.workload, kind) => {
                result.is_some_and(ChildResult::is_written) && !live.is_terminating()
            }
            (result, _) => result.is_none_or(ChildResult::is_written),
        };
        self.settled
            && self.refused.is_empty()
            && contested.is_empty()
            && ChildKind::ALL.into_iter().all(is_well)
    }

    /// Whether the server has the last word about the whole spec: nothing is left to do, and no write's outcome is open. Only then
    /// something is claimed for the spec's generation.
    fn is_conclusive(&self) -> bool {
        self.settled && !self.has_open_result()
    }

    fn has_open_result(&self) -> bool {
        match &self.done {
            Done::Enforced { results, .. } => results.values().any(ChildResult::is_open),
            Done::Previewed(_) => false,
        }
    }

    fn result(&self, child: ChildKind) -> Option<&ChildResult> {
        match &self.done {
            Done::Enforced { results, .. } => results.get(&child),
            Done::Previewed(_) => None,
        }
    }

    /// The contested fields.
    pub fn contested(&self) -> &[Contested<ChildKind>] {
        match &self.done {
            Done::Enforced { contested, .. } => contested,
            Done::Previewed(_) => &[],
        }
    }

    fn previewed(&self) -> impl Iterator<Item = (ChildKind, &Tried)> {
        let previewed = match &self.done {
            Done::Enforced { .. } => None,
            Done::Previewed(previewed) => Some(previewed),
        };
        previewed.into_iter().flatten().map(|(child, tried)| (*child, tried))
    }
}
