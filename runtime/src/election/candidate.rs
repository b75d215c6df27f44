//! One candidate's view of the Lease, and what it does next: a state machine without I/O that gets the time as an argument.
//!
//! Another process's lease has run out when its record hasn't changed for its own duration, by *this* machine's clock, as in
//! client-go: clocks of different machines are never compared. By the times in a record, a candidate recognizes its own writes.

use std::time::Duration;

use jiff::Timestamp;

use super::{
    Lost, Timing,
    record::{Draft, ElectionRecord, stamp},
    watchdog::Suspect,
};
use crate::clock::Moment;

/// The next thing that a candidate does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ElectionStep {
    /// Reads the Lease.
    Read,
    /// Writes it.
    Write(Draft),
    /// Nothing before this moment.
    Wait(Moment),
    /// Ends: it doesn't lead any more.
    Resign(Lost),
}

/// The Lease as it is known.
#[derive(Clone, Debug, PartialEq, Eq)]
enum View {
    /// It has to be read: at the start, and after a write that failed or was refused.
    Unknown,
    /// It doesn't exist.
    Absent,
    /// It is as `Candidate::known` has it.
    Known,
}

/// How many own writes are remembered that may be stored. With the shortest pauses between them, these take longer than any request.
const MOST_MARKS: usize = 100;

/// A candidate.
#[derive(Debug)]
pub(super) struct Candidate {
    identity: String,
    timing: Timing,
    view: View,
    /// The Lease as it was last read or written, and since when it has been like that.
    known: Option<(ElectionRecord, Moment)>,
    /// No request before this moment.
    not_before: Option<Moment>,
    /// The `renewTime` of each own write that may be stored.
    marks: Vec<Timestamp>,
    /// When the last write was sent that is known to be stored; absent while it doesn't lead.
    held: Option<Moment>,
    /// The note that the Lease is to have.
    suspect: Option<Suspect>,
    /// The last apply, unless it failed.
    sent: Option<Draft>,
    /// Whether the last write was refused.
    was_refused: bool,
}

impl Candidate {
    pub(super) fn new(identity: String, timing: Timing) -> Self {
        Self {
            identity,
            timing,
            view: View::Unknown,
            known: None,
            not_before: None,
            marks: Vec::new(),
            held: None,
            suspect: None,
            sent: None,
            was_refused: false,
        }
    }

    /// The Lease is to note this. That is written soon, and at once where nothing is noted yet.
    pub(super) fn note(&mut self, suspect: Option<Suspect>) {
        self.suspect = suspect;
    }

    /// Whether it leads, as far as is known.
    pub(super) fn leads(&self) -> bool {
        self.held.is_some()
    }

    /// The note of the Lease as it is known.
    pub(super) fn noted(&self) -> Option<Suspect> {
        self.known.as_ref().and_then(|(record, _)| record.suspect.clone())
    }

    /// The last known holder of the lease, if there is one: for logs.
    pub(super) fn holder(&self) -> Option<&str> {
        let (record, _) = self.known.as_ref().filter(|_| self.view != View::Absent)?;
        (!record.holder.is_empty()).then_some(record.holder.as_str())
    }

    /// How long a request may take: there is time for another before the lease is lost.
    pub(super) fn limit(&self, now: Moment) -> Duration {
        let limit = self.timing.renew_deadline / 3;
        self.held.map_or(limit, |sent| limit.min((sent + self.timing.renew_deadline).after(now)))
    }

    /// The next thing to do. `clock` is the time of day, for people who read the Lease.
    pub(super) fn next(&mut self, now: Moment, clock: Timestamp) -> ElectionStep {
        if self.held.is_some_and(|sent| now >= sent + self.timing.renew_deadline) {
            return ElectionStep::Resign(Lost::NotRenewed(self.timing.renew_deadline));
        }
        if let Some(later) = self.not_before.filter(|later| now < *later) {
            return ElectionStep::Wait(later);
        }
        let is_bound = self.bound_until().is_some_and(|end| now < end);
        match (&self.view, &self.known) {
            (View::Unknown, _) | (View::Known, None) => ElectionStep::Read,
            // The holder of a deleted Lease may not know that yet.
            (View::Absent, _) if is_bound => ElectionStep::Read,
            (View::Absent, _) => self.write(clock, 0, clock, None),
            (View::Known, Some((record, _))) => {
                if self.held.is_none() {
                    // The note of the last leader stays until this one leads.
                    self.suspect.clone_from(&record.suspect);
                }
                let pause = match (&record.suspect, &self.suspect) {
                    (noted, wanted) if noted == wanted => self.timing.retry_period,
                    // It isn't stored as it was sent, such as while another manager owns the annotation.
                    (_, wanted) if self.sent.as_ref().is_some_and(|sent| sent.suspect == *wanted) => {
                        self.timing.retry_period
                    }
                    // The process may end in a moment.
                    (None, Some(_)) => Duration::ZERO,
                    _ => self.timing.retry_period / 4,
                };
                let version = Some(record.version.clone());
                let (transitions, acquired) = (record.transitions, record.acquired.unwrap_or(clock));
                match (self.is_own(record), self.held) {
                    (true, Some(sent)) if now < sent + pause => ElectionStep::Wait(sent + pause),
                    (true, _) => self.write(acquired, transitions, clock, version),
                    (false, Some(_)) => ElectionStep::Resign(Lost::TakenBy(record.holder.clone())),
                    (false, None) if is_bound => ElectionStep::Read,
                    (false, None) => self.write(clock, transitions.saturating_add(1), clock, version),
                }
            }
        }
    }

    /// The Lease was read: this is its record, or it doesn't exist.
    pub(super) fn read(&mut self, now: Moment, found: Option<ElectionRecord>) {
        self.view = if found.is_some() { View::Known } else { View::Absent };
        if let Some(record) = found {
            let before = self.known.as_ref().filter(|(known, _)| known.is_not_renewed_by(&record));
            let since = before.map_or(now, |(_, since)| *since);
            self.known = Some((record, since));
        }
        // Reads another's lease every retry period, and when it runs out.
        let end = self.bound_until().filter(|end| self.held.is_none() && now < *end);
        self.not_before = end.map(|end| end.min(now + self.timing.retry_period));
    }

    /// A write that was sent at this moment is stored, as this record.
    pub(super) fn written(&mut self, sent: Moment, now: Moment, record: ElectionRecord) {
        self.marks = record.renewed.into_iter().collect();
        self.known = Some((record, now));
        self.view = View::Known;
        self.not_before = None;
        self.held = Some(sent);
        self.was_refused = false;
    }

    /// Another process was faster: the write isn't stored. The Lease is read at once, and after a pause if that was so before.
    pub(super) fn refused(&mut self, now: Moment) {
        self.marks.pop();
        self.view = View::Unknown;
        self.not_before = self.was_refused.then(|| now + self.timing.retry_period);
        self.was_refused = true;
        self.sent = None;
    }

    /// A request failed; if it was a write, it may be stored all the same.
    pub(super) fn failed(&mut self, now: Moment) {
        self.view = View::Unknown;
        self.not_before = Some(now + self.timing.retry_period);
        self.sent = None;
    }

    /// The write that releases the lease, so that another needn't wait until it runs out. None if this process may not hold it.
    pub(super) fn release(&self, now: Moment, clock: Timestamp) -> Option<Draft> {
        let (record, _) = self.known.as_ref().filter(|(record, _)| self.is_own(record))?;
        let is_held = self.held.is_some_and(|sent| now < sent + self.timing.renew_deadline);
        (is_held && self.view == View::Known).then(|| Draft {
            holder: String::new(),
            // The API server requires at least a second.
            duration: Duration::from_secs(1),
            acquired: stamp(clock),
            renewed: stamp(clock),
            transitions: record.transitions,
            suspect: None,
            version: Some(record.version.clone()),
        })
    }

    fn write(
        &mut self,
        acquired: Timestamp,
        transitions: i32,
        renewed: Timestamp,
        version: Option<String>,
    ) -> ElectionStep {
        let renewed = stamp(renewed);
        if self.marks.len() == MOST_MARKS {
            self.marks.remove(0);
        }
        self.marks.push(renewed);
        let draft = Draft {
            holder: self.identity.clone(),
            duration: self.timing.lease_duration,
            acquired: stamp(acquired),
            renewed,
            transitions,
            suspect: self.suspect.clone(),
            version,
        };
        // A creation has no note.
        self.sent = draft.version.is_some().then(|| draft.clone());
        ElectionStep::Write(draft)
    }

    /// Whether this process wrote the record. The identity isn't enough: two processes may have the same one.
    fn is_own(&self, record: &ElectionRecord) -> bool {
        record.holder == self.identity && record.renewed.is_some_and(|mark| self.marks.contains(&mark))
    }

    /// When another's lease runs out, if its record stays as it is; none if no other process holds it.
    fn bound_until(&self) -> Option<Moment> {
        let (record, since) = self.known.as_ref()?;
        let is_anothers = !record.holder.is_empty() && !self.is_own(record);
        is_anothers.then(|| *since + record.duration.unwrap_or(self.timing.lease_duration))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMING: Timing = Timing {
        lease_duration: Duration::from_secs(15),
        renew_deadline: Duration::from_secs(10),
        retry_period: Duration::from_secs(2),
    };

    /// A time of day, this many seconds after a fixed one.
    fn clock(seconds: u32) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + i64::from(seconds)).unwrap()
    }

    fn candidate() -> Candidate {
        Candidate::new("me".to_owned(), TIMING)
    }

    fn record(holder: &str, renewed: u32, version: &str) -> ElectionRecord {
        ElectionRecord {
            holder: holder.to_owned(),
            duration: Some(Duration::from_secs(15)),
            acquired: Some(clock(0)),
            renewed: Some(clock(renewed)),
            transitions: 3,
            suspect: None,
            version: version.to_owned(),
        }
    }

    /// The stored form of a draft.
    fn stored(draft: &Draft, version: &str) -> ElectionRecord {
        ElectionRecord {
            holder: draft.holder.clone(),
            duration: Some(draft.duration),
            acquired: Some(draft.acquired),
            renewed: Some(draft.renewed),
            transitions: draft.transitions,
            suspect: draft.suspect.clone(),
            version: version.to_owned(),
        }
    }

    fn draft(candidate: &mut Candidate, second: u32) -> Draft {
        match candidate.next(Moment::at(second.into()), clock(second)) {
            ElectionStep::Write(draft) => draft,
            step => panic!("expected a write, not {step:?}"),
        }
    }

    /// A candidate that has created the Lease at this second.
    fn leader(second: u32) -> Candidate {
        let (mut candidate, at) = (candidate(), Moment::at(second.into()));
        candidate.read(at, None);
        let draft = draft(&mut candidate, second);
        candidate.written(at, at, stored(&draft, "1"));
        candidate
    }

    fn next(candidate: &mut Candidate, second: u32) -> ElectionStep {
        candidate.next(Moment::at(second.into()), clock(second))
    }

    #[test]
    fn writes_that_fail_for_days_are_not_all_remembered() {
        let mut candidate = candidate();
        for second in (0..86_400).step_by(2) {
            candidate.read(Moment::at(second.into()), Some(record("", 0, "1")));
            draft(&mut candidate, second);
            candidate.failed(Moment::at(second.into()));
        }
        assert_eq!(candidate.marks.len(), MOST_MARKS);
        let last = clock(86_398);
        assert_eq!(candidate.marks.last(), Some(&last), "a late response to the last one is recognized");
    }

    #[test]
    fn it_reads_first_and_creates_a_missing_lease() {
        let mut candidate = candidate();
        assert_eq!(next(&mut candidate, 100), ElectionStep::Read);
        candidate.read(Moment::at(100), None);
        let draft = draft(&mut candidate, 100);
        assert_eq!((draft.version, draft.transitions, &*draft.holder), (None, 0, "me"));
    }

    #[test]
    fn a_lease_without_a_holder_is_acquired_at_once_and_counts_a_transition() {
        let mut candidate = candidate();
        candidate.read(Moment::at(100), Some(record("", 0, "7")));
        let draft = draft(&mut candidate, 100);
        assert_eq!((draft.version.as_deref(), draft.transitions), (Some("7"), 4));
        assert_eq!(draft.acquired, clock(100));
    }

    #[test]
    fn anothers_lease_is_acquired_when_it_has_not_changed_for_its_duration_by_the_local_clock() {
        let mut candidate = candidate();
        // However old it looks by the other machine's clock.
        candidate.read(Moment::at(100), Some(record("other", 0, "7")));
        assert_eq!(candidate.holder(), Some("other"));
        assert_eq!(next(&mut candidate, 100), ElectionStep::Wait(Moment::at(102)));
        assert_eq!(next(&mut candidate, 102), ElectionStep::Read);
        candidate.read(Moment::at(114), Some(record("other", 0, "7")));
        assert_eq!(
            next(&mut candidate, 114),
            ElectionStep::Wait(Moment::at(115)),
            "not longer than the lease"
        );
        let draft = draft(&mut candidate, 115);
        assert_eq!((draft.version.as_deref(), draft.transitions), (Some("7"), 4));
    }

    #[test]
    fn a_renewal_by_the_holder_restarts_the_wait() {
        let mut candidate = candidate();
        candidate.read(Moment::at(100), Some(record("other", 0, "7")));
        candidate.read(Moment::at(110), Some(record("other", 10, "8")));
        candidate.read(Moment::at(124), Some(record("other", 10, "8")));
        assert_eq!(next(&mut candidate, 124), ElectionStep::Wait(Moment::at(125)));
    }

    #[test]
    fn a_deleted_lease_is_respected_until_it_would_have_run_out() {
        let mut candidate = candidate();
        candidate.read(Moment::at(100), Some(record("other", 0, "7")));
        candidate.read(Moment::at(102), None);
        assert_eq!(candidate.holder(), None);
        assert_eq!(next(&mut candidate, 102), ElectionStep::Wait(Moment::at(104)));
        assert_eq!(next(&mut candidate, 104), ElectionStep::Read);
        candidate.read(Moment::at(115), None);
        assert_eq!(draft(&mut candidate, 115).version, None);
    }

    #[test]
    fn a_leader_renews_at_the_version_of_its_last_write() {
        let mut leader = leader(100);
        assert_eq!(next(&mut leader, 101), ElectionStep::Wait(Moment::at(102)));
        let draft = draft(&mut leader, 102);
        assert_eq!((draft.version.as_deref(), draft.transitions), (Some("1"), 0));
        assert_eq!((draft.acquired, draft.renewed), (clock(100), clock(102)));
    }

    #[test]
    fn the_lease_counts_from_the_moment_the_write_was_sent() {
        let mut leader = leader(100);
        let renewal = draft(&mut leader, 102);
        leader.written(Moment::at(102), Moment::at(109), stored(&renewal, "2"));
        assert!(matches!(next(&mut leader, 111), ElectionStep::Write(_)));
        assert_eq!(next(&mut leader, 112), ElectionStep::Resign(Lost::NotRenewed(TIMING.renew_deadline)));
    }

    #[test]
    fn a_renewal_without_a_response_is_read_and_does_not_extend_the_lease_by_itself() {
        let mut leader = leader(100);
        let renewal = draft(&mut leader, 102);
        leader.failed(Moment::at(105));
        assert_eq!(next(&mut leader, 105), ElectionStep::Wait(Moment::at(107)));
        assert_eq!(next(&mut leader, 107), ElectionStep::Read);
        leader.read(Moment::at(107), Some(stored(&renewal, "2")));
        assert_eq!(draft(&mut leader, 107).version.as_deref(), Some("2"), "it was its own");
        leader.failed(Moment::at(109));
        assert_eq!(next(&mut leader, 110), ElectionStep::Resign(Lost::NotRenewed(TIMING.renew_deadline)));
    }

    #[test]
    fn an_acquisition_without_a_response_is_recognized_by_its_mark_and_renewed_before_it_counts() {
        let mut candidate = candidate();
        candidate.read(Moment::at(100), None);
        let created = draft(&mut candidate, 100);
        candidate.failed(Moment::at(103));
        candidate.read(Moment::at(105), Some(stored(&created, "1")));
        assert_eq!(candidate.release(Moment::at(105), clock(105)), None, "it doesn't lead yet");
        assert_eq!(draft(&mut candidate, 105).version.as_deref(), Some("1"));
    }

    #[test]
    fn another_process_with_the_same_identity_is_not_mistaken_for_this_one() {
        let mut candidate = candidate();
        candidate.read(Moment::at(100), Some(record("me", 0, "7")));
        assert_eq!(next(&mut candidate, 100), ElectionStep::Wait(Moment::at(102)));
        let mut leader = leader(100);
        draft(&mut leader, 103);
        leader.refused(Moment::at(103));
        leader.read(Moment::at(103), Some(record("me", 3, "8")));
        assert_eq!(
            next(&mut leader, 103),
            ElectionStep::Resign(Lost::TakenBy("me".to_owned())),
            "at the same time"
        );
    }

    #[test]
    fn a_leader_resigns_at_once_when_another_holds_the_lease() {
        let mut leader = leader(100);
        draft(&mut leader, 102);
        leader.refused(Moment::at(102));
        assert_eq!(next(&mut leader, 102), ElectionStep::Read);
        leader.read(Moment::at(102), Some(record("other", 2, "9")));
        assert_eq!(next(&mut leader, 102), ElectionStep::Resign(Lost::TakenBy("other".to_owned())));
    }

    #[test]
    fn a_leader_whose_lease_was_deleted_creates_it_again() {
        let mut leader = leader(100);
        draft(&mut leader, 102);
        leader.refused(Moment::at(102));
        leader.read(Moment::at(102), None);
        assert_eq!(draft(&mut leader, 102).version, None);
    }

    #[test]
    fn a_refused_write_is_followed_by_a_read_without_a_pause_the_first_time() {
        let mut leader = leader(100);
        for (second, expected) in [
            (102, ElectionStep::Read),
            (103, ElectionStep::Wait(Moment::at(105))),
            (106, ElectionStep::Wait(Moment::at(108))),
        ] {
            let version = second.to_string();
            leader.read(Moment::at(second.into()), Some(record("me", 100, &version)));
            draft(&mut leader, second);
            leader.refused(Moment::at(second.into()));
            assert_eq!(next(&mut leader, second), expected);
        }
    }

    #[test]
    fn a_change_of_the_leases_labels_does_not_prolong_anothers_lease() {
        let mut candidate = candidate();
        candidate.read(Moment::at(100), Some(record("other", 0, "7")));
        candidate.read(Moment::at(110), Some(record("other", 0, "8")));
        assert_eq!(draft(&mut candidate, 115).version.as_deref(), Some("8"));
    }

    #[test]
    fn a_note_that_is_not_stored_is_not_written_again_and_again() {
        let mut leader = leader(100);
        leader.note(Some(suspect(1)));
        let noting = draft(&mut leader, 101);
        leader.written(
            Moment::at(101),
            Moment::at(101),
            ElectionRecord { suspect: None, ..stored(&noting, "2") },
        );
        assert_eq!(next(&mut leader, 101), ElectionStep::Wait(Moment::at(103)));
    }

    #[test]
    fn a_release_empties_the_holder_of_exactly_the_record_that_is_held() {
        let leader = leader(100);
        let release = leader.release(Moment::at(101), clock(101)).unwrap();
        assert_eq!((&*release.holder, release.version.as_deref()), ("", Some("1")));
        assert_eq!(leader.release(Moment::at(110), clock(110)), None, "it may be another's by now");
    }

    fn suspect(ends: u32) -> Suspect {
        Suspect { object: ("shop".to_owned(), "web".to_owned()), ends }
    }

    #[test]
    fn a_suspect_is_noted_at_once_and_removed_soon() {
        let mut leader = leader(100);
        leader.note(Some(suspect(1)));
        let noting = draft(&mut leader, 101);
        assert_eq!(noting.suspect, Some(suspect(1)));
        leader.written(Moment::at(101), Moment::at(101), stored(&noting, "2"));
        assert_eq!(next(&mut leader, 101), ElectionStep::Wait(Moment::at(103)));
        leader.note(None);
        let soon = Moment::at(101) + TIMING.retry_period / 4;
        assert_eq!(next(&mut leader, 101), ElectionStep::Wait(soon));
        assert_eq!(draft(&mut leader, 102).suspect, None);
    }

    #[test]
    fn the_next_leader_keeps_what_the_last_one_has_noted() {
        let mut candidate = candidate();
        let noted = ElectionRecord { suspect: Some(suspect(1)), ..record("other", 0, "7") };
        candidate.read(Moment::at(100), Some(noted));
        let acquisition = draft(&mut candidate, 115);
        assert_eq!(acquisition.suspect, Some(suspect(1)));
        candidate.written(Moment::at(115), Moment::at(115), stored(&acquisition, "8"));
        assert_eq!(candidate.noted(), Some(suspect(1)));
        let release = candidate.release(Moment::at(116), clock(116)).unwrap();
        assert_eq!(release.suspect, None, "it ends in no pass");
    }

    #[test]
    fn a_request_leaves_time_for_another() {
        assert_eq!(candidate().limit(Moment::at(0)), TIMING.renew_deadline / 3);
        assert_eq!(leader(100).limit(Moment::at(109)), Duration::from_secs(1));
    }
}
