//! What people are told: status, conditions and Events, as pure functions of what a pass saw and did.

mod conditions;
mod events;
mod planned;
mod status;
mod takeovers;
mod unreadable;

use std::collections::BTreeMap;

use baton_apply::{Take, contention::Contested};
use baton_crd::DryRun;

pub use events::{events_of_status, events_of_writes, unreadable_event};
pub use status::{status, unreadable};
pub use unreadable::Unreadable;

use crate::decide::{
    child::ChildKind, course::ChildResult, plan::Refusal, rehearsal::Rehearsed, snapshot::Snapshot,
};

/// What one pass of the loop saw and did.
#[derive(Debug)]
pub struct Pass {
    /// The Workload and its children as they are after the pass.
    pub seen: Snapshot,
    /// Children left alone because they aren't this Workload's.
    pub refused: Vec<Refusal>,
    /// What Baton took from other managers and isn't in the status yet, in the order of the writes.
    pub takes: Vec<(ChildKind, Take)>,
    /// Whether nothing was left to do.
    pub settled: bool,
    /// What was done, or would be.
    pub done: Done,
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

/// A rehearsed child with what the API server said about it.
#[derive(Clone, Debug)]
pub struct Tried {
    /// What would be done.
    pub rehearsed: Rehearsed,
    /// What the API server said.
    pub dry_run: DryRun,
    /// Its message, or how its response differs.
    pub message: Option<String>,
}

impl Pass {
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
