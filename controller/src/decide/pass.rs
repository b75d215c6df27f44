//! The result of a pass, from which its status and its Events are made.

use std::{collections::BTreeMap, time::Duration};

use baton_apply::{Effects, PreparedWrite, Takeover, contention::Contested};
use baton_crd::{DryRunResult, Mode, PlannedAction};

use super::{
    child::ChildKind,
    plan::{Refusal, wants},
    snapshot::Snapshot,
};

/// The result of a pass: what it has read and done.
#[derive(Clone, Debug)]
pub struct Pass {
    /// The Workload and its children as they are after the pass.
    pub seen: Snapshot,
    /// How the writes of each child ended; no entry where there was nothing to write.
    pub results: BTreeMap<ChildKind, ChildResult>,
    /// Children that weren't written because an object of another owner is there.
    pub refused: Vec<Refusal>,
    /// The contested fields.
    pub contested: Vec<Contested<ChildKind>>,
    /// The rehearsal of each child, in the modes `Preview` and `Paused`.
    pub rehearsed: BTreeMap<ChildKind, Rehearsed>,
    /// Results of writes that aren't in the status and the Events yet.
    pub outbox: Outbox,
    /// The children whose apply wasn't sent because it would have changed nothing; each as often as that was so.
    pub skipped: Vec<ChildKind>,
    /// Deferred behind urgent writes of other Workloads: the next pass is due after this, and this one reports nothing.
    pub deferred: Option<Duration>,
    /// Whether nothing was left to do.
    pub settled: bool,
}

/// How the writes of one child ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChildResult {
    /// It was created.
    Created,
    /// It had another owner, and is this Workload's now.
    Adopted {
        /// The managers whose fields became Baton's.
        retired: Vec<String>,
    },
    /// It is as it should be: it was applied, or an apply would have changed nothing.
    Applied,
    /// It was deleted.
    Deleted,
    /// The server rejected it, with this message.
    Rejected(String),
    /// The request didn't get through, or the server couldn't do it now.
    Failed(String),
    /// It changed each time between being read and being written; this is the server's last message.
    Overtaken(String),
}

impl ChildResult {
    /// Whether the last write was stored, or would have changed nothing.
    pub fn is_written(&self) -> bool {
        matches!(self, Self::Created | Self::Adopted { .. } | Self::Applied | Self::Deleted)
    }

    /// Whether it is unknown what the server makes of the spec: the next write may be stored.
    pub fn is_open(&self) -> bool {
        matches!(self, Self::Failed(_) | Self::Overtaken(_))
    }
}

/// The rehearsal of a child: what would be done with it.
#[derive(Clone, Debug, Default)]
pub struct Rehearsed {
    /// All in all.
    pub action: PlannedAction,
    /// The single fields.
    pub effects: Effects,
    /// How many requests it would take.
    pub writes: u32,
    /// The first request, with its prediction. It is there too where it would change nothing.
    pub first: Option<PreparedWrite>,
    /// Why the rehearsal of this child ended early.
    pub stopped: Option<String>,
    /// How a dry run of the first request compares with its prediction.
    pub dry_run: DryRunResult,
    /// The API server's message about the dry run, or how its response differs.
    pub message: Option<String>,
}

/// Results of writes that aren't in the status and the Events yet.
#[derive(Clone, Debug, Default)]
pub struct Outbox {
    /// The children that were created, adopted and deleted, in the order of the writes, whatever a later write made of them.
    pub milestones: Vec<(ChildKind, ChildResult)>,
    /// The fields that Baton took over from other managers, in the order of the writes.
    pub takeovers: Vec<(ChildKind, Takeover)>,
}

impl Outbox {
    /// How much of each is kept while no status can be written.
    const MOST: usize = 5_000;

    /// Adds what came later. Of more than can be kept, the oldest is dropped.
    pub fn add(&mut self, later: Self) {
        fn append<T>(all: &mut Vec<T>, later: Vec<T>) {
            all.extend(later);
            all.drain(..all.len().saturating_sub(Outbox::MOST));
        }
        append(&mut self.milestones, later.milestones);
        append(&mut self.takeovers, later.takeovers);
    }
}

impl Pass {
    /// A pass that has done nothing yet.
    pub fn new(seen: Snapshot) -> Self {
        Self {
            seen,
            results: BTreeMap::new(),
            refused: Vec::new(),
            contested: Vec::new(),
            rehearsed: BTreeMap::new(),
            outbox: Outbox::default(),
            skipped: Vec::new(),
            deferred: None,
            settled: false,
        }
    }

    /// A pass that finds all children as the spec says.
    pub fn unchanged(seen: Snapshot) -> Self {
        let results = seen.own_children().filter(|kind| wants(&seen.workload, *kind));
        let results = results.map(|kind| (kind, ChildResult::Applied)).collect();
        Self { results, settled: true, ..Self::new(seen) }
    }

    /// Whether all children that exist are as the spec says after it.
    pub fn is_well(&self) -> bool {
        let workload = &self.seen.workload;
        let is_well = |kind: ChildKind| match (self.results.get(&kind), self.seen.own(kind)) {
            (result, Some(live)) if wants(workload, kind) => {
                result.is_some_and(ChildResult::is_written) && !live.is_terminating()
            }
            (result, _) => result.is_none_or(ChildResult::is_written),
        };
        workload.spec.mode == Mode::Enforce
            && self.settled
            && self.refused.is_empty()
            && self.contested.is_empty()
            && ChildKind::ALL.into_iter().all(is_well)
    }

    /// Whether the server has decided about the whole spec: nothing is left to do, and no write's outcome is open. Only then the status
    /// claims something for the spec's generation.
    pub fn is_conclusive(&self) -> bool {
        self.settled && !self.has_open_result()
    }

    /// Whether the outcome of a write is open.
    pub fn has_open_result(&self) -> bool {
        self.results.values().any(ChildResult::is_open)
    }
}
