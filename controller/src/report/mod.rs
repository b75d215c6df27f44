//! What people are told: status, conditions and Events, as pure functions of what a pass saw and did.
//!
//! Refuses to do I/O; the caller writes.

mod conditions;
mod events;
mod planned;
mod status;
mod takeovers;

use std::collections::BTreeMap;

pub use events::{changes, deeds, undecodable_event};
pub use status::{status, undecodable};

use crate::{
    child::ChildKind, contention::Contested, observe::Observed, plan::Refusal, predict::Take, preview::Tried,
};

/// What one pass of the loop saw and did.
#[derive(Debug)]
pub struct Pass {
    /// The Workload and its children as they are after the pass.
    pub seen: Observed,
    /// How the writes of each child ended; no entry where there was nothing to write.
    pub results: BTreeMap<ChildKind, ChildResult>,
    /// Children left alone because they aren't this Workload's.
    pub refused: Vec<Refusal>,
    /// What Baton took from other managers, in the order of the writes.
    pub takes: Vec<(ChildKind, Take)>,
    /// The fields that are fought about.
    pub fights: Vec<Contested>,
    /// What would be done, in a mode that does nothing.
    pub plan: Option<BTreeMap<ChildKind, Tried>>,
    /// Whether the last plan had nothing left to do.
    pub settled: bool,
}

impl Pass {
    /// A pass that has seen this and done nothing yet.
    pub fn new(seen: Observed) -> Self {
        Self {
            seen,
            results: BTreeMap::new(),
            refused: Vec::new(),
            takes: Vec::new(),
            fights: Vec::new(),
            plan: None,
            settled: false,
        }
    }
}

/// How the writes of one child ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChildResult {
    /// It was made.
    Created,
    /// It was somebody else's, and is this Workload's now.
    Adopted {
        /// The managers whose fields became Baton's.
        retired: Vec<String>,
    },
    /// It is as it should be: it was applied, or an apply would have changed nothing.
    Applied,
    /// It was deleted.
    Deleted,
    /// The server rejected it, in these words.
    Rejected(String),
    /// The request didn't get through.
    Failed(String),
    /// It failed a moment ago and wasn't tried; what was said then still holds.
    HeldBack,
}
