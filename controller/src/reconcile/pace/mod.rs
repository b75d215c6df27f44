//! What is remembered between passes: nothing that decides what is written, only how soon. After a restart it is learnt anew.
//!
//! One record for each Workload, forgotten with it.

mod backoff;
mod rate;
mod resync;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    time::{Duration, Instant},
};

use baton_apply::{
    FieldPath,
    contention::{Contention, Correction},
};
use baton_crd::{Mode, WorkloadStatus, condition};
use jiff::Timestamp;

pub use backoff::{Backoff, Setback};
pub use rate::WriteRate;
pub use resync::Resync;

use crate::{
    decide::{
        child::ChildKind,
        course::ChildResult,
        lacking::Lacking,
        plan::{Cause, Refusal},
    },
    report::{Haste, Unreported},
};

/// A Workload whose pass isn't settled is reconciled again after this.
const PAUSE_WHEN_UNSETTLED: Duration = Duration::from_secs(1);

/// How long the status of a contested Workload may be out of date, so that it isn't written as often as the contested field.
const OLDEST_CONTESTED_STATUS: Duration = Duration::from_secs(30);

/// How long a status, and the next pass of a Workload whose spec hasn't changed, wait for further changes: it is reconciled
/// and written once.
const GATHERS_FOR: Duration = Duration::from_millis(500);
/// How long a status waits for what is certainly about to happen: as long as a controller may take that is busy with many others.
const AWAITS_FOR: Duration = Duration::from_secs(10);

/// How long a new Workload's Deployment waits at most for what others have beside theirs.
const LETS_NEWCOMERS_FIRST_FOR: Duration = Duration::from_secs(5);

/// How often in a row a status may be about a Workload that has changed, before that counts as a failure.
const MOST_STALE_STATUSES: u32 = 8;

/// What is remembered of all Workloads.
#[derive(Debug)]
pub struct Pace {
    resync: Duration,
    records: HashMap<Key, WorkloadPace>,
    /// How fast all of them are written.
    pub rate: WriteRate,
}

/// A Workload's namespace and name.
pub type Key = (String, String);

/// What is remembered of one Workload.
#[derive(Debug)]
pub struct WorkloadPace {
    uid: String,
    /// Failures, and when each child may be tried again.
    pub backoff: Backoff,
    /// Contested fields.
    pub contention: Contention<ChildKind>,
    /// When everything is applied for real.
    pub resync: Resync,
    /// What wasn't reported yet.
    pub unreported: Unreported,
    /// How many passes in a row ended early.
    failed_passes: u32,
    /// How many statuses in a row were about a Workload that had changed.
    stale_statuses: u32,
    /// The fields that its spec lacks although managers own them; since when, if it may have had them.
    lacking: BTreeMap<FieldPath, Option<Instant>>,
    is_recalled: bool,
    /// Whether an Event has said that the CRD is older.
    is_outdated: bool,
    /// When the status was written last, and whether the Workload was contested then.
    written: Option<(Instant, bool)>,
    /// Since when the status isn't what should be written.
    unwritten: Option<Instant>,
    /// What the last pass has seen, if it left nothing to do.
    rest: Option<Rest>,
    /// The intents that would change nothing.
    pub live: LiveIntents,
    /// The children that the last pass has left; none if there was no pass.
    pub children: Option<BTreeSet<ChildKind>>,
    /// The turn of its next write, if that can wait.
    turn: Option<Instant>,
    /// Until when it lets newcomers first.
    newcomers_first: Option<Instant>,
}

/// The intents that would change nothing of the children, as passes have found.
#[derive(Clone, Debug, Default)]
pub struct LiveIntents {
    round: u64,
    /// For each child: the digests of the live object and of the intent.
    by_child: [Option<(u64, u64)>; ChildKind::ALL.len()],
}

impl LiveIntents {
    /// What was found in this round.
    pub fn new(round: u64, found: impl IntoIterator<Item = (ChildKind, u64, u64)>) -> Self {
        let mut by_child = [None; ChildKind::ALL.len()];
        for (child, live, intent) in found {
            by_child[child as usize] = Some((live, intent));
        }
        Self { round, by_child }
    }

    /// The intent that would change nothing of this child in this round, if one is known.
    pub fn of(&self, round: u64, child: ChildKind, live: u64) -> Option<u64> {
        let known = self.by_child[child as usize].filter(|_| self.round == round);
        known.filter(|known| known.0 == live).map(|known| known.1)
    }
}

/// What a pass has seen that left nothing to do: another one would do no more, before a moment comes.
#[derive(Clone, Copy, Debug)]
pub struct Rest {
    seen: Seen,
    since: Instant,
    until: Option<Instant>,
    /// Whether all children were as they should be.
    is_well: bool,
}

impl Rest {
    /// Whether there is nothing to write for a pass that sees this, since all that decides about it was found well.
    pub fn is_well(&self, seen: Seen) -> bool {
        self.is_well && self.seen.decisive == seen.decisive
    }
}

/// Digests of what a pass reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Of all of it.
    pub all: u64,
    /// Of what decides about writes.
    pub decisive: u64,
    /// Of what isn't waited with.
    pub urgent: u64,
}

impl Pace {
    /// Nothing is remembered yet. Everything is applied for real about this often.
    pub fn new(resync: Duration, rate: WriteRate) -> Self {
        Self { resync, records: HashMap::new(), rate }
    }

    /// The record of a Workload. Another Workload of the same name begins anew.
    pub fn of(&mut self, key: Key, uid: &str, now: Instant) -> &mut WorkloadPace {
        let fresh = || WorkloadPace::new(uid.to_owned(), Resync::new(self.resync, uid, now));
        let record = self.records.entry(key).or_insert_with(fresh);
        if record.uid != uid {
            *record = fresh();
        }
        record
    }

    /// How long the first write of a pass waits that can wait; not at all where its turn has come.
    pub fn write_may_wait(&mut self, key: Key, uid: &str, now: Instant) -> Option<Duration> {
        let turn = match self.of(key.clone(), uid, now).turn.take() {
            Some(turn) if turn <= now => return None,
            Some(turn) => turn,
            None => self.rate.turn(now)?,
        };
        self.of(key, uid, now).turn = Some(turn);
        Some(turn - now)
    }

    /// How long a Workload waits that lets newcomers first, while some of so many Workloads have had no pass yet.
    pub fn newcomers_come_first(
        &mut self,
        key: Key,
        uid: &str,
        workloads: usize,
        now: Instant,
    ) -> Option<Duration> {
        let until = self.of(key, uid, now).newcomers_first.filter(|_| self.records.len() < workloads)?;
        Some(until.saturating_duration_since(now).min(GATHERS_FOR)).filter(|wait| !wait.is_zero())
    }

    /// A Workload is gone.
    pub fn forget(&mut self, key: &Key) {
        self.records.remove(key);
    }
}

impl WorkloadPace {
    fn new(uid: String, resync: Resync) -> Self {
        Self {
            uid,
            backoff: Backoff::default(),
            contention: Contention::default(),
            resync,
            unreported: Unreported::default(),
            failed_passes: 0,
            stale_statuses: 0,
            lacking: BTreeMap::new(),
            is_recalled: false,
            is_outdated: false,
            written: None,
            unwritten: None,
            rest: None,
            live: LiveIntents::default(),
            children: None,
            turn: None,
            newcomers_first: None,
        }
    }

    /// The spec lacks these fields although managers own them. Returns those that it may have had, and since when it lacks them.
    pub fn may_have_lost(&mut self, lacking: Vec<Lacking>, now: Instant) -> Vec<(Lacking, Instant)> {
        let known = std::mem::take(&mut self.lacking);
        let mut may_be_lost = Vec::new();
        for field in lacking {
            let since = known.get(&field.path).copied().unwrap_or(Some(now));
            self.lacking.insert(field.path.clone(), since);
            may_be_lost.extend(since.map(|since| (field, since)));
        }
        may_be_lost
    }

    /// The spec never had what it lacks, such as where an admission policy removes it.
    pub fn never_had(&mut self) {
        self.lacking.values_mut().for_each(|since| *since = None);
    }

    /// Whether the CRD is older than this version; whether that is news.
    pub fn is_under_older_crd(&mut self, is_older: bool) -> bool {
        !std::mem::replace(&mut self.is_outdated, is_older) && is_older
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
    pub fn held_back(
        &self,
        generation: i64,
        now: Instant,
    ) -> (BTreeMap<ChildKind, Setback>, BTreeSet<ChildKind>) {
        let failed = self.backoff.held_back(generation, now);
        let paused = self.contention.paused(generation, now);
        let all = failed.keys().copied().chain(paused).collect();
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

    /// The status was written.
    pub fn status_is_stored(&mut self) {
        self.stale_statuses = 0;
    }

    /// The status wasn't written, because the Workload had changed; whether that is so again and again.
    pub fn status_is_stale(&mut self) -> bool {
        self.stale_statuses += 1;
        self.stale_statuses >= MOST_STALE_STATUSES
    }

    /// A pass has ended with a report.
    pub fn pass_ended(&mut self) {
        self.failed_passes = 0;
    }

    /// A pass has ended early; the next one follows after this.
    pub fn pass_failed(&mut self) -> Duration {
        let pause = backoff::pause_after(self.failed_passes);
        self.failed_passes += 1;
        pause
    }

    /// A pass that `begun` then has ended like this.
    pub fn passed(
        &mut self,
        results: &BTreeMap<ChildKind, ChildResult>,
        refused: &[Refusal],
        generation: i64,
        begun: Instant,
        now: Instant,
    ) {
        for (child, result) in results {
            if result.is_written() {
                self.backoff.succeeded(*child);
            } else {
                self.backoff.failed(*child, generation, Setback::Result(result.clone()), now - begun, now);
            }
        }
        // No watch reports when an object of another owner is gone.
        for refusal in refused.iter().filter(|refusal| refusal.cause == Cause::NotOwned) {
            self.backoff.failed(
                refusal.child,
                generation,
                Setback::Refusal(refusal.clone()),
                Duration::ZERO,
                now,
            );
        }
    }

    /// How long the status may wait. The first change is written at once, and what follows within a moment is written once; while
    /// others write, so is the first. While the Workload is contested, what the other side does isn't written each time.
    pub fn status_may_wait(&mut self, news: &News, now: Instant) -> Option<Duration> {
        let since = *self.unwritten.get_or_insert(now);
        let gathered = match self.written {
            _ if news.has_time => since + GATHERS_FOR,
            Some((written, _)) => written + GATHERS_FOR,
            None => now,
        };
        let due = match news.haste {
            Haste::AtOnce => now,
            Haste::Awaits if news.has_time || !news.is_of_new_spec => since + AWAITS_FOR,
            Haste::Gathers | Haste::Awaits => gathered,
        };
        let last_contested = self.written.filter(|(_, contested)| *contested).map(|(written, _)| written);
        let oldest = |pause: Duration| Some(last_contested? + pause.min(OLDEST_CONTESTED_STATUS));
        let due = news.contested.and_then(oldest).map_or(due, |oldest| due.max(oldest));
        let wait = due.saturating_duration_since(now);
        if news.matters || wait.is_zero() {
            self.status_is_current();
            self.written = Some((now, news.contested.is_some()));
            return None;
        }
        Some(wait)
    }

    /// It lets newcomers first from now on, for a while.
    pub fn lets_newcomers_first(&mut self, now: Instant) {
        self.newcomers_first.get_or_insert(now + LETS_NEWCOMERS_FIRST_FOR);
    }

    /// The status is what it should be.
    pub fn status_is_current(&mut self) {
        self.unwritten = None;
    }

    /// A pass begins, for which this is how the last one left things. Should it fail, everything is left to do.
    pub fn begins(&mut self) -> Option<Rest> {
        self.rest.take()
    }

    /// A pass has left nothing to do of what it has seen, before the next one is due in this time. `is_well` says whether all
    /// children are as they should be.
    pub fn rests(&mut self, seen: Seen, is_well: bool, next: Option<Duration>, now: Instant) {
        self.rest = Some(Rest { seen, since: now, until: next.map(|next| now + next), is_well });
    }

    /// Whether a pass that would read this has nothing to do yet: until when, or until something changes.
    pub fn is_at_rest(&self, seen: Seen, now: Instant) -> Option<Option<Duration>> {
        let rest = self.rest.filter(|rest| rest.seen.urgent == seen.urgent)?;
        let gathered = (rest.seen != seen).then_some(rest.since + GATHERS_FOR);
        let next = [gathered, rest.until].into_iter().flatten().min();
        match next.map(|next| next.saturating_duration_since(now)) {
            Some(Duration::ZERO) => None,
            next => Some(next),
        }
    }

    /// When to reconcile again after a pass that `begun` then: something that was left alone may be tried again, contention may
    /// be over, everything is due to be applied for real, the status has waited long enough, or the pass isn't settled. `None`
    /// where the next change is waited for.
    pub fn next_pass(&self, pass: &PassEnd, begun: Instant, now: Instant) -> Option<Duration> {
        let moments = [
            self.backoff.next_pass(pass.generation, begun),
            self.contention.next_pass(begun),
            (pass.mode == Mode::Enforce).then(|| self.resync.due()),
        ];
        let next = moments.into_iter().flatten().min().map(|moment| moment.saturating_duration_since(now));
        let unsettled = (!pass.settled).then_some(PAUSE_WHEN_UNSETTLED);
        [pass.report_again, unsettled, next].into_iter().flatten().min()
    }
}

/// What a pass would write in the status.
#[derive(Clone, Copy, Debug)]
pub struct News {
    /// How soon it is to be written.
    pub haste: Haste,
    /// While the Workload is contested, the longest that a child is left alone for.
    pub contested: Option<Duration>,
    /// Whether it is the first about a spec.
    pub is_of_new_spec: bool,
    /// Whether more is about to be written in any case: the Workload is new, or other passes wait for their writes.
    pub has_time: bool,
    /// Whether it is to be written whatever else: Baton took something, or a contested Workload has a new spec.
    pub matters: bool,
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

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::*;

    const CHILD: ChildKind = ChildKind::Deployment;
    const HOUR: Duration = Duration::from_hours(1);
    const SECOND: Duration = Duration::from_secs(1);

    fn key() -> Key {
        ("shop".to_owned(), "web".to_owned())
    }

    fn record(now: Instant) -> WorkloadPace {
        WorkloadPace::new("u".to_owned(), Resync::new(HOUR, "u", now))
    }

    fn end(mode: Mode, settled: bool) -> PassEnd {
        PassEnd { mode, generation: 1, settled, report_again: None }
    }

    fn news(haste: Haste) -> News {
        News { haste, contested: None, is_of_new_spec: false, has_time: false, matters: false }
    }

    fn correction() -> Vec<Correction> {
        vec![Correction { path: FieldPath::spelled(".spec.paused"), from: Some("rogue".to_owned()) }]
    }

    /// Corrects the same field until that is contention.
    fn contested(record: &mut WorkloadPace, now: Instant) {
        assert!(!record.corrected(CHILD, 1, correction(), now));
        assert!(!record.corrected(CHILD, 1, correction(), now));
        assert!(record.corrected(CHILD, 1, correction(), now), "the third time the child is left alone");
    }

    #[test]
    fn a_settled_pass_is_followed_by_the_resync_and_without_enforcement_by_nothing() {
        let now = Instant::now();
        let record = record(now);
        let next = record.next_pass(&end(Mode::Enforce, true), now, now).unwrap();
        assert!((HOUR / 2..=HOUR).contains(&next), "{next:?}");
        assert_eq!(record.next_pass(&end(Mode::Preview, true), now, now), None);
        assert_eq!(record.next_pass(&end(Mode::Preview, false), now, now), Some(PAUSE_WHEN_UNSETTLED));
    }

    #[test]
    fn a_failed_child_is_retried_after_a_pause() {
        let now = Instant::now();
        let mut record = record(now);
        let rejected = BTreeMap::from([(CHILD, ChildResult::Rejected("no".to_owned()))]);
        record.passed(&rejected, &[], 1, now, now);
        assert!(record.held_back(1, now).0.contains_key(&CHILD));
        assert!(record.held_back(2, now).0.is_empty(), "an edit of the spec ends the pause");
        assert_eq!(record.next_pass(&end(Mode::Enforce, true), now, now), Some(SECOND));

        record.passed(&BTreeMap::from([(CHILD, ChildResult::Applied)]), &[], 1, now, now);
        assert!(record.held_back(1, now).1.is_empty());
    }

    #[test]
    fn passes_that_end_early_are_repeated_after_longer_and_longer_pauses() {
        let mut record = record(Instant::now());
        let pauses: Vec<u64> = (0..9).map(|_| record.pass_failed().as_secs()).collect();
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 64, 120, 120]);
        record.pass_ended();
        assert_eq!(record.pass_failed(), SECOND);
    }

    #[test]
    fn a_status_that_is_always_too_late_is_a_failure() {
        let mut record = record(Instant::now());
        let mut failures = || (0..10).filter(|_| record.status_is_stale()).count();
        assert_eq!(failures(), 3);
        assert_eq!(failures(), 10);
        record.status_is_stored();
        assert!(!record.status_is_stale());
    }

    #[test]
    fn an_object_of_another_owner_is_read_again_since_no_watch_reports_its_deletion() {
        let now = Instant::now();
        let mut record = record(now);
        let refusal =
            |cause| [Refusal { child: ChildKind::Service, cause, message: "it isn't ours".to_owned() }];
        record.passed(&BTreeMap::new(), &refusal(Cause::OtherAutoscaler), 1, now, now);
        assert!(record.held_back(1, now).0.is_empty());
        record.passed(&BTreeMap::new(), &refusal(Cause::NotOwned), 1, now, now);
        assert_eq!(record.next_pass(&end(Mode::Enforce, true), now, now), Some(SECOND));
    }

    #[test]
    fn a_contested_child_is_held_back_without_counting_as_failed() {
        let now = Instant::now();
        let mut record = record(now);
        contested(&mut record, now);
        let (failed, all) = record.held_back(1, now);
        assert!(failed.is_empty() && all.contains(&CHILD));
        assert_eq!(record.next_pass(&end(Mode::Enforce, true), now, now), Some(SECOND));
    }

    #[test]
    fn the_status_of_a_contested_workload_waits_unless_something_was_taken() {
        let now = Instant::now();
        let mut record = record(now);
        let news = |contested, matters| News { contested, matters, ..news(Haste::AtOnce) };
        let pause = Some(4 * SECOND);
        assert_eq!(record.status_may_wait(&news(pause, false), now), None, "the first is written at once");
        assert_eq!(record.status_may_wait(&news(pause, false), now + SECOND), Some(3 * SECOND));
        assert_eq!(record.status_may_wait(&news(pause, true), now + SECOND), None);
        assert_eq!(record.status_may_wait(&news(None, false), now + 2 * SECOND), None, "it is over");
        assert_eq!(record.status_may_wait(&news(pause, false), now + 2 * SECOND), None);
    }

    #[test]
    fn the_first_change_of_a_status_is_written_at_once_and_what_follows_within_a_moment_once() {
        let now = Instant::now();
        let mut record = record(now);
        let half = SECOND / 2;
        assert_eq!(record.status_may_wait(&news(Haste::Gathers), now), None);
        assert_eq!(record.status_may_wait(&news(Haste::Gathers), now + half / 2), Some(half / 2));
        assert_eq!(record.status_may_wait(&news(Haste::AtOnce), now + half / 2), None);
        assert_eq!(record.status_may_wait(&news(Haste::Gathers), now + half), Some(half / 2));
        assert_eq!(record.status_may_wait(&news(Haste::Gathers), now + half / 2 * 3), None);
        assert_eq!(record.status_may_wait(&news(Haste::Awaits), now + SECOND), Some(10 * SECOND));
        let edit = News { is_of_new_spec: true, ..news(Haste::Awaits) };
        assert_eq!(record.status_may_wait(&edit, now + 2 * SECOND), None, "an edit is current at once");
    }

    #[test]
    fn a_status_that_has_time_is_written_once_for_all_that_happens_within_a_moment() {
        let now = Instant::now();
        let mut record = record(now);
        let news = |haste| News { has_time: true, is_of_new_spec: true, ..news(haste) };
        let half = SECOND / 2;
        assert_eq!(record.status_may_wait(&news(Haste::Awaits), now), Some(10 * SECOND));
        assert_eq!(record.status_may_wait(&news(Haste::Awaits), now + SECOND), Some(9 * SECOND));
        assert_eq!(
            record.status_may_wait(&news(Haste::Gathers), now + SECOND),
            None,
            "it has waited already"
        );
        assert_eq!(record.status_may_wait(&news(Haste::Gathers), now + SECOND), Some(half));
        assert_eq!(record.status_may_wait(&news(Haste::AtOnce), now + SECOND), None);
    }

    #[test]
    fn a_pass_over_unchanged_objects_has_nothing_to_do_before_it_is_due() {
        let now = Instant::now();
        let mut record = record(now);
        let seen = Seen { all: 7, decisive: 7, urgent: 7 };
        assert_eq!(record.is_at_rest(seen, now), None);
        record.rests(seen, true, Some(SECOND), now);
        assert_eq!(record.is_at_rest(seen, now), Some(Some(SECOND)));
        assert_eq!(record.is_at_rest(seen, now + SECOND), None);
        record.begins();
        assert_eq!(record.is_at_rest(seen, now), None, "a pass that fails leaves everything to do");
        record.rests(seen, true, None, now);
        assert_eq!(record.is_at_rest(seen, now + HOUR), Some(None));
    }

    #[test]
    fn changes_of_children_within_a_moment_are_one_pass_and_a_change_of_the_spec_is_immediate() {
        let now = Instant::now();
        let mut record = record(now);
        let seen = Seen { all: 1, decisive: 1, urgent: 1 };
        record.rests(seen, true, Some(HOUR), now);
        let changed = Seen { all: 2, ..seen };
        assert_eq!(record.is_at_rest(changed, now), Some(Some(GATHERS_FOR)));
        assert_eq!(record.is_at_rest(changed, now + GATHERS_FOR), None);
        assert_eq!(record.is_at_rest(Seen { urgent: 2, ..changed }, now), None);
    }

    #[test]
    fn no_write_is_due_where_all_its_inputs_were_found_settled() {
        let now = Instant::now();
        let seen = Seen { all: 1, decisive: 1, urgent: 1 };
        let is_well = |was_well, sees| {
            let mut record = record(now);
            record.rests(seen, was_well, None, now);
            record.begins().is_some_and(|rest| rest.is_well(sees))
        };
        assert!(is_well(true, Seen { all: 2, ..seen }));
        assert!(!is_well(false, Seen { all: 2, ..seen }));
        assert!(!is_well(true, Seen { decisive: 2, ..seen }));
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
        let mut record = record(now);
        record.recall(&status, now, clock);
        assert_eq!(record.contention.contested(now)[0].count, 9);
        let later = now + HOUR;
        assert!(record.contention.contested(later).is_empty());
        record.recall(&status, later, clock);
        assert!(record.contention.contested(later).is_empty());
    }

    #[test]
    fn newcomers_come_first_for_a_while() {
        let now = Instant::now();
        let mut pace = Pace::new(HOUR, WriteRate::new(NonZeroU32::new(10).unwrap(), now));
        let mut wait = |workloads, after: u32| {
            pace.of(key(), "u", now).lets_newcomers_first(now);
            pace.newcomers_come_first(key(), "u", workloads, now + after * SECOND)
        };
        assert_eq!(wait(1, 0), None, "there are none");
        assert_eq!(wait(2, 0), Some(GATHERS_FOR));
        assert_eq!(wait(2, 5), None, "long enough");
    }

    #[test]
    fn a_write_that_can_wait_keeps_its_turn() {
        let now = Instant::now();
        let mut pace = Pace::new(HOUR, WriteRate::new(NonZeroU32::MIN, now));
        let mut may_wait = |now| pace.write_may_wait(key(), "u", now);
        assert_eq!(may_wait(now), None, "no other pass writes");
        pace.rate.take(now);
        let mut may_wait = |now| pace.write_may_wait(key(), "u", now);
        assert_eq!(may_wait(now), Some(3 * SECOND));
        assert_eq!(may_wait(now + SECOND), Some(2 * SECOND));
        assert_eq!(may_wait(now + 3 * SECOND), None);
        assert_eq!(may_wait(now + 3 * SECOND), None, "its turn is over, and no other pass waits");
    }

    #[test]
    fn a_workload_is_forgotten_when_it_is_deleted_or_its_name_is_reused() {
        let now = Instant::now();
        let mut pace = Pace::new(HOUR, WriteRate::new(NonZeroU32::MIN, now));
        contested(pace.of(key(), "u", now), now);
        assert_eq!(pace.of(key(), "u", now).contention.contested(now).len(), 1);
        assert!(pace.of(key(), "another", now).contention.contested(now).is_empty());
        pace.forget(&key());
        assert!(pace.records.is_empty());
    }

    #[test]
    fn a_field_may_be_lost_until_it_is_known_that_the_spec_never_had_it() {
        let start = Instant::now();
        let later = start + SECOND;
        let mut record = WorkloadPace::new("uid".to_owned(), Resync::new(HOUR, "uid", start));
        let mut lost = |lacking: &[&str], now, never_had: bool| {
            let lacking = lacking.iter().map(|path| Lacking {
                path: FieldPath::spelled(path),
                manager: "user".to_owned(),
                in_schema: (*path).to_owned(),
            });
            let lost = record.may_have_lost(lacking.collect(), now).into_iter();
            let lost: Vec<_> = lost.map(|(field, since)| (field.in_schema, since)).collect();
            if never_had {
                record.never_had();
            }
            lost
        };
        assert_eq!(lost(&["a"], start, false), [("a".to_owned(), start)]);
        let both = [("a".to_owned(), start), ("b".to_owned(), later)];
        assert_eq!(lost(&["a", "b"], later, true), both);
        assert_eq!(lost(&["a", "b"], later, false), []);
        assert_eq!(lost(&["b"], later, false), []);
        assert_eq!(lost(&["a"], later, false), [("a".to_owned(), later)], "it came back meanwhile");
    }
}
