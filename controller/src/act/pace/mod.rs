//! What is remembered between passes: nothing that decides what is written, only how soon. After a restart it is learnt anew.
//!
//! One record for each Workload, forgotten with it.

mod backoff;
mod resync;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    time::{Duration, Instant},
};

use baton_apply::{
    FieldPath, Take,
    contention::{Contention, Correction},
};
use baton_crd::{Mode, WorkloadStatus, condition};
use jiff::Timestamp;

pub use backoff::Backoff;
pub use resync::Resync;

use crate::decide::{
    child::ChildKind,
    course::ChildResult,
    plan::{Cause, Refusal},
};

/// A Workload whose pass isn't settled is looked at again after this.
const PAUSE_WHEN_UNSETTLED: Duration = Duration::from_secs(1);

/// How long the status of a contested Workload may be out of date, so that it isn't written as often as the contested field.
const OLDEST_CONTESTED_STATUS: Duration = Duration::from_secs(30);

/// What is remembered of all Workloads.
#[derive(Debug)]
pub struct Pace {
    resync: Duration,
    records: HashMap<Key, Record>,
}

/// A Workload's namespace and name.
pub type Key = (String, String);

/// What is remembered of one Workload.
#[derive(Debug)]
pub struct Record {
    uid: String,
    /// Failures, and when each child may be tried again.
    pub backoff: Backoff,
    /// Contested fields.
    pub contention: Contention<ChildKind>,
    /// When everything is applied for real.
    pub resync: Resync,
    /// What was taken and isn't in the status yet, because that couldn't be written.
    pub unreported: Vec<(ChildKind, Take)>,
    /// The generation at which it couldn't be read and that was reported: its status can't be read either, so that it would
    /// be written again and again.
    pub unreadable_at: Option<i64>,
    is_recalled: bool,
    /// When the status was written last while it was contested.
    reported: Option<Instant>,
}

impl Pace {
    /// Nothing is remembered yet. Everything is applied for real about this often.
    pub fn new(resync: Duration) -> Self {
        Self { resync, records: HashMap::new() }
    }

    /// The record of a Workload. Another Workload of the same name begins anew.
    pub fn of(&mut self, key: Key, uid: &str, now: Instant) -> &mut Record {
        let fresh = || Record::new(uid.to_owned(), Resync::new(self.resync, now));
        let record = self.records.entry(key).or_insert_with(fresh);
        if record.uid != uid {
            *record = fresh();
        }
        record
    }

    /// A Workload is gone.
    pub fn forget(&mut self, key: &Key) {
        self.records.remove(key);
    }
}

impl Record {
    fn new(uid: String, resync: Resync) -> Self {
        Self {
            uid,
            backoff: Backoff::default(),
            contention: Contention::default(),
            resync,
            unreported: Vec::new(),
            unreadable_at: None,
            is_recalled: false,
            reported: None,
        }
    }

    /// Takes up the contention that an earlier process had reported in the status; later the status follows this record.
    pub fn recall(&mut self, status: &WorkloadStatus, now: Instant, clock: Timestamp) {
        let is_contested = status
            .conditions
            .iter()
            .any(|known| known.type_ == condition::CONTESTED && known.status == "True");
        if !is_contested || std::mem::replace(&mut self.is_recalled, true) {
            return;
        }
        let generation = status.observed_generation.unwrap_or_default();
        for takeover in &status.takeovers {
            let child = ChildKind::ALL.into_iter().find(|kind| kind.name() == takeover.kind);
            let age = Duration::try_from(clock.duration_since(takeover.last_time.0)).unwrap_or_default();
            if let (Some(child), Some(last)) = (child, now.checked_sub(age)) {
                let count = u32::try_from(takeover.count).unwrap_or_default();
                let path = FieldPath::spelled(&takeover.path);
                self.contention.recall(child, generation, path, takeover.manager.clone(), count, last);
            }
        }
    }

    /// The children that failed a moment ago, and all that are to be left alone now.
    pub fn held_back(&self, generation: i64, now: Instant) -> (BTreeSet<ChildKind>, BTreeSet<ChildKind>) {
        let failed = self.backoff.held_back(generation, now);
        let paused = self.contention.paused(generation, now);
        let all = failed.iter().copied().chain(paused).collect();
        (failed, all)
    }

    /// A write has set these fields of a child right; whether the child is to be left alone now, because they are contested.
    pub fn corrected(
        &mut self,
        child: ChildKind,
        generation: i64,
        fields: Vec<Correction>,
        now: Instant,
    ) -> bool {
        if fields.is_empty() {
            return false;
        }
        self.contention.corrected(child, generation, fields, now);
        self.contention.paused(generation, now).contains(&child)
    }

    /// A pass has ended like this.
    pub fn passed(
        &mut self,
        results: &BTreeMap<ChildKind, ChildResult>,
        refused: &[Refusal],
        generation: i64,
        now: Instant,
    ) {
        for (child, result) in results {
            match result {
                ChildResult::Rejected(_) | ChildResult::Failed(_) => {
                    self.backoff.failed(*child, generation, now);
                }
                ChildResult::HeldBack => {}
                ChildResult::Created
                | ChildResult::Adopted { .. }
                | ChildResult::Applied
                | ChildResult::Deleted => self.backoff.succeeded(*child),
            }
        }
        // No watch tells when somebody else's object is gone.
        for refusal in refused.iter().filter(|refusal| refusal.cause == Cause::NotOwned) {
            self.backoff.failed(refusal.child, generation, now);
        }
    }

    /// How long the status may wait: while the Workload is contested, what the other side does isn't written each time. `pause`
    /// is the longest that a child is left alone for, and `took` says whether Baton took something in this pass.
    pub fn status_may_wait(&mut self, pause: Option<Duration>, took: bool, now: Instant) -> Option<Duration> {
        let Some(pause) = pause else {
            self.reported = None;
            return None;
        };
        let oldest = pause.min(OLDEST_CONTESTED_STATUS);
        let wait = self.reported.and_then(|last| (last + oldest).checked_duration_since(now));
        if !took && wait.is_some_and(|wait| !wait.is_zero()) {
            return wait;
        }
        self.reported = Some(now);
        None
    }

    /// When to reconcile again after a pass that `begun` then: something that was left alone may be tried again, contention may
    /// be over, everything is due to be applied for real, the status has waited long enough, or the pass isn't settled. `None`
    /// where the next change is waited for.
    pub fn next_pass(&self, pass: &PassEnd, begun: Instant, now: Instant) -> Option<Duration> {
        let moments = [
            self.backoff.next_look(pass.generation, begun),
            self.contention.next_look(begun),
            (pass.mode == Mode::Enforce).then(|| self.resync.due()),
        ];
        let next = moments.into_iter().flatten().min().map(|moment| moment.saturating_duration_since(now));
        let unsettled = (!pass.settled).then_some(PAUSE_WHEN_UNSETTLED);
        [pass.report_again, unsettled, next].into_iter().flatten().min()
    }
}

/// What of a pass decides when the next one is due.
#[derive(Clone, Copy, Debug)]
pub struct PassEnd {
    /// The mode of the Workload.
    pub mode: Mode,
    /// The generation of its spec.
    pub generation: i64,
    /// Whether nothing was left to do.
    pub settled: bool,
    /// When the status is to be written, where it has to wait.
    pub report_again: Option<Duration>,
}
