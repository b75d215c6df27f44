//! When to try again: pauses after failures and contention, the resync, and the delay of the status.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use baton_apply::{
    FieldPath,
    contention::{Contention, Correction},
};
use baton_crd::{Mode, WorkloadStatus, condition};
use baton_runtime::pace::{Backoff, Resync, pause_after};
use jiff::Timestamp;

use crate::{
    decide::{
        child::ChildKind,
        pass::{ChildResult, Pass},
        plan::{Cause, Refusal},
    },
    report::{Haste, StatusChange},
};

/// A Workload whose pass isn't settled is reconciled again after this.
const PAUSE_WHEN_UNSETTLED: Duration = Duration::from_secs(1);

/// How long the status of a contested Workload may be out of date, so that it isn't written as often as the contested field.
const OLDEST_CONTESTED_STATUS: Duration = Duration::from_secs(30);

/// How long a status, and the next pass of a Workload whose spec hasn't changed, wait for further changes: it is reconciled
/// and written once.
pub(super) const GATHERS_FOR: Duration = Duration::from_millis(500);
/// How long a status waits for a change that is certainly about to happen: as long as a controller may take that is busy with many
/// others.
const AWAITS_FOR: Duration = Duration::from_secs(10);

/// How often in a row a status may be about a Workload that has changed, before that counts as a failure.
const MOST_STALE_STATUSES: u32 = 8;

/// How the last write of a child ended, until the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Setback {
    /// A write wasn't stored, or a read failed.
    Result(ChildResult),
    /// There is an object of another owner.
    Refusal(Refusal),
}

/// The pace of one Workload.
#[derive(Debug)]
pub(crate) struct Pace {
    /// Failures, and when each child may be tried again.
    pub(crate) backoff: Backoff<ChildKind, Setback>,
    /// Contested fields.
    pub(crate) contention: Contention<ChildKind>,
    /// When everything is applied for real.
    pub(crate) resync: Resync,
    /// How many passes in a row ended early.
    pub(super) failed_passes: u32,
    /// How many statuses in a row were about a Workload that had changed.
    stale_statuses: u32,
    /// Whether the contention in the status was taken up.
    is_recalled: bool,
    /// When the status was written last, and whether the Workload was contested then.
    written: Option<(Instant, bool)>,
    /// Since when the status isn't what should be written.
    unwritten: Option<Instant>,
    /// When a deferred pass may send a write of low priority.
    pub(super) reserved: Option<Instant>,
}

impl Pace {
    pub(super) fn new(resync: Resync) -> Self {
        Self {
            backoff: Backoff::default(),
            contention: Contention::default(),
            resync,
            failed_passes: 0,
            stale_statuses: 0,
            is_recalled: false,
            written: None,
            unwritten: None,
            reserved: None,
        }
    }

    /// Takes up the contention that an earlier process had reported in the status; later the status follows this.
    pub(crate) fn recall(&mut self, status: &WorkloadStatus, now: Instant, clock: Timestamp) {
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

    /// The children that aren't written now, because they failed a moment ago or are contested.
    pub(crate) fn held_back(&self, generation: i64, now: Instant) -> BTreeSet<ChildKind> {
        let failed = self.backoff.held_back(generation, now).into_keys();
        failed.chain(self.contention.paused(generation, now)).collect()
    }

    /// A write has corrected these fields of a child. Returns whether the child is left alone now, because they are contested.
    pub(crate) fn corrected(
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

    /// The status was written.
    pub(crate) fn status_is_stored(&mut self) {
        self.stale_statuses = 0;
    }

    /// The status wasn't written, because the Workload had changed. Returns whether that is so again and again.
    pub(crate) fn status_is_stale(&mut self) -> bool {
        self.stale_statuses += 1;
        self.stale_statuses >= MOST_STALE_STATUSES
    }

    /// A pass has ended with a report.
    pub(crate) fn pass_ended(&mut self) {
        self.failed_passes = 0;
    }

    /// A pass has ended early; the next one follows after this.
    pub(crate) fn pass_failed(&mut self) -> Duration {
        let pause = pause_after(self.failed_passes);
        self.failed_passes += 1;
        pause
    }

    /// A pass that `begun` then has ended.
    pub(crate) fn passed(&mut self, pass: &Pass, begun: Instant, now: Instant) {
        let generation = generation_of(pass);
        for (child, result) in &pass.results {
            if result.is_written() {
                self.backoff.succeeded(*child);
            } else {
                self.backoff.failed(*child, generation, Setback::Result(result.clone()), now - begun, now);
            }
        }
        // No watch reports when an object of another owner is gone.
        for refusal in pass.refused.iter().filter(|refusal| refusal.cause == Cause::NotOwned) {
            let setback = Setback::Refusal(refusal.clone());
            self.backoff.failed(refusal.child, generation, setback, Duration::ZERO, now);
        }
    }

    /// How long the status may wait. The first change is written at once, and all changes within a moment after it are written once;
    /// if the status `has_time`, so is the first. While the Workload is contested, what the other manager does isn't written each time.
    pub(crate) fn status_may_wait(
        &mut self,
        change: &StatusChange,
        has_time: bool,
        now: Instant,
    ) -> Option<Duration> {
        let since = *self.unwritten.get_or_insert(now);
        let gathered = match self.written {
            _ if has_time => since + GATHERS_FOR,
            Some((written, _)) => written + GATHERS_FOR,
            None => now,
        };
        let due = match change.haste {
            Haste::AtOnce => now,
            Haste::Awaits if has_time || !change.is_of_new_spec => since + AWAITS_FOR,
            Haste::Gathers | Haste::Awaits => gathered,
        };
        let last_contested = self.written.filter(|(_, contested)| *contested).map(|(written, _)| written);
        let oldest = |pause: Duration| Some(last_contested? + pause.min(OLDEST_CONTESTED_STATUS));
        let due = change.contested.and_then(oldest).map_or(due, |oldest| due.max(oldest));
        let wait = due.saturating_duration_since(now);
        if change.matters || wait.is_zero() {
            self.status_is_current();
            self.written = Some((now, change.contested.is_some()));
            return None;
        }
        Some(wait)
    }

    /// The status is what it should be.
    pub(crate) fn status_is_current(&mut self) {
        self.unwritten = None;
    }

    /// When to reconcile again after a pass that `begun` then: a child that was left alone may be tried again, contention may be over,
    /// the resync is due, the status has waited long enough (`report_again`), or the pass isn't settled. `None` to wait for a change.
    pub(crate) fn next_pass(
        &self,
        pass: &Pass,
        report_again: Option<Duration>,
        begun: Instant,
        now: Instant,
    ) -> Option<Duration> {
        let moments = [
            self.backoff.next_pass(generation_of(pass), begun),
            self.contention.next_pass(begun),
            (pass.seen.workload.spec.mode == Mode::Enforce).then(|| self.resync.due()),
        ];
        let next = moments.into_iter().flatten().min().map(|moment| moment.saturating_duration_since(now));
        let unsettled = (!pass.settled).then_some(PAUSE_WHEN_UNSETTLED);
        [report_again, unsettled, next].into_iter().flatten().min()
    }
}

fn generation_of(pass: &Pass) -> i64 {
    pass.seen.workload.metadata.generation.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, sync::Arc};

    use baton_crd::{Workload, WorkloadSpec};

    use super::*;
    use crate::decide::snapshot::Snapshot;

    const CHILD: ChildKind = ChildKind::Deployment;
    const HOUR: Duration = Duration::from_hours(1);
    const SECOND: Duration = Duration::from_secs(1);
    const HALF: Duration = Duration::from_millis(500);

    fn pace(now: Instant) -> Pace {
        Pace::new(Resync::new(HOUR, "u", now))
    }

    fn pass(mode: Mode, settled: bool) -> Pass {
        let mut workload = Workload::new("web", WorkloadSpec { mode, ..WorkloadSpec::default() });
        workload.metadata.generation = Some(1);
        let seen = Snapshot::new(Arc::new(workload), BTreeMap::new(), Vec::new());
        Pass { settled, ..Pass::new(seen) }
    }

    /// How soon the next pass follows a settled one.
    fn next(pace: &Pace, now: Instant) -> Option<Duration> {
        pace.next_pass(&pass(Mode::Enforce, true), None, now, now)
    }

    fn change(haste: Haste) -> StatusChange {
        StatusChange { haste, contested: None, is_of_new_spec: false, matters: false }
    }

    /// Corrects the same field until that is contention.
    fn contested(pace: &mut Pace, now: Instant) {
        let correction =
            Correction { path: FieldPath::spelled(".spec.paused"), from: Some("rogue".to_owned()) };
        let paused = [(); 3].map(|()| pace.corrected(CHILD, 1, vec![correction.clone()], now));
        assert_eq!(paused, [false, false, true], "the third time the child is left alone");
    }

    #[test]
    fn a_settled_pass_is_followed_by_the_resync_and_without_enforcement_by_nothing() {
        let now = Instant::now();
        let pace = pace(now);
        let resync = next(&pace, now).unwrap();
        assert!((HOUR / 2..=HOUR).contains(&resync), "{resync:?}");
        assert_eq!(pace.next_pass(&pass(Mode::Preview, true), None, now, now), None);
        let unsettled = pass(Mode::Preview, false);
        assert_eq!(pace.next_pass(&unsettled, None, now, now), Some(PAUSE_WHEN_UNSETTLED));
    }

    #[test]
    fn passes_that_end_early_are_repeated_after_longer_and_longer_pauses() {
        let mut pace = pace(Instant::now());
        let pauses: Vec<u64> = (0..9).map(|_| pace.pass_failed().as_secs()).collect();
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 64, 120, 120]);
        pace.pass_ended();
        assert_eq!(pace.pass_failed(), SECOND);
    }

    #[test]
    fn a_status_that_is_always_too_late_is_a_failure() {
        let mut pace = pace(Instant::now());
        let mut failures = || (0..10).filter(|_| pace.status_is_stale()).count();
        assert_eq!(failures(), 3);
        assert_eq!(failures(), 10);
        pace.status_is_stored();
        assert!(!pace.status_is_stale());
    }

    #[test]
    fn an_object_of_another_owner_is_read_again_since_no_watch_reports_its_deletion() {
        let now = Instant::now();
        let mut pace = pace(now);
        let refused = |cause| {
            let refusal = Refusal { child: ChildKind::Service, cause, message: "it isn't ours".to_owned() };
            Pass { refused: vec![refusal], ..pass(Mode::Enforce, true) }
        };
        for cause in [Cause::OtherAutoscaler, Cause::NoLabels] {
            pace.passed(&refused(cause), now, now);
        }
        assert!(pace.held_back(1, now).is_empty());
        pace.passed(&refused(Cause::NotOwned), now, now);
        assert_eq!(next(&pace, now), Some(SECOND));
    }

    #[test]
    fn a_contested_child_is_held_back_without_counting_as_failed() {
        let now = Instant::now();
        let mut pace = pace(now);
        contested(&mut pace, now);
        assert!(pace.backoff.held_back(1, now).is_empty() && pace.held_back(1, now).contains(&CHILD));
        assert_eq!(next(&pace, now), Some(SECOND));
    }

    #[test]
    fn the_status_of_a_contested_workload_waits_unless_something_was_taken() {
        let now = Instant::now();
        let mut pace = pace(now);
        let pause = Some(4 * SECOND);
        for (at, contested, matters, wait, why) in [
            (0, pause, false, None, "the first is written at once"),
            (1, pause, false, Some(3 * SECOND), "it waits"),
            (1, pause, true, None, "something was taken"),
            (2, None, false, None, "it is over"),
            (2, pause, false, None, "it begins again"),
        ] {
            let change = StatusChange { contested, matters, ..change(Haste::AtOnce) };
            assert_eq!(pace.status_may_wait(&change, false, now + at * SECOND), wait, "{why}");
        }
    }

    #[test]
    fn the_first_change_of_a_status_is_written_at_once_and_what_follows_within_a_moment_once() {
        let now = Instant::now();
        let mut pace = pace(now);
        for (at, haste, wait) in [
            (Duration::ZERO, Haste::Gathers, None),
            (HALF / 2, Haste::Gathers, Some(HALF / 2)),
            (HALF / 2, Haste::AtOnce, None),
            (HALF, Haste::Gathers, Some(HALF / 2)),
            (HALF / 2 * 3, Haste::Gathers, None),
            (SECOND, Haste::Awaits, Some(10 * SECOND)),
        ] {
            assert_eq!(pace.status_may_wait(&change(haste), false, now + at), wait, "{haste:?} after {at:?}");
        }
        let edit = StatusChange { is_of_new_spec: true, ..change(Haste::Awaits) };
        assert_eq!(pace.status_may_wait(&edit, false, now + 2 * SECOND), None, "an edit is current at once");
    }

    #[test]
    fn a_status_that_has_time_is_written_once_for_all_that_happens_within_a_moment() {
        let now = Instant::now();
        let mut pace = pace(now);
        for (at, haste, wait) in [
            (0, Haste::Awaits, Some(10 * SECOND)),
            (1, Haste::Awaits, Some(9 * SECOND)),
            (1, Haste::Gathers, None),
            (1, Haste::Gathers, Some(HALF)),
            (1, Haste::AtOnce, None),
        ] {
            let change = StatusChange { is_of_new_spec: true, ..change(haste) };
            assert_eq!(
                pace.status_may_wait(&change, true, now + at * SECOND),
                wait,
                "{haste:?} after {at} s"
            );
        }
    }

    #[test]
    fn what_an_earlier_process_reported_is_recalled_once() {
        let (now, clock) = (Instant::now(), Timestamp::now());
        let status: WorkloadStatus = serde_json::from_value(serde_json::json!({
            "observedGeneration": 1,
            "conditions": [{
                "type": "Contested", "status": "True", "reason": "Contested", "message": "", "lastTransitionTime": clock,
            }],
            "takeovers": [{
                "kind": "Deployment", "name": "web", "path": ".spec.paused", "manager": "rogue", "count": 9,
                "firstTime": clock, "lastTime": clock,
            }],
        }))
        .unwrap();
        let mut pace = pace(now);
        pace.recall(&status, now, clock);
        assert_eq!(pace.contention.contested(now)[0].count, 9);
        let later = now + HOUR;
        assert!(pace.contention.contested(later).is_empty());
        pace.recall(&status, later, clock);
        assert!(pace.contention.contested(later).is_empty());
    }
}
