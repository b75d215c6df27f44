//! Passes, writes and Events that needn't be done again, since they would change nothing.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, Instant},
};

use baton_apply::FieldPath;

use super::pace::GATHERS_FOR;
use crate::{
    decide::{child::ChildKind, lacking::Lacking},
    reconcile::{Requeue, fingerprint::Fingerprint},
};

/// Findings of earlier passes of a Workload.
#[derive(Debug, Default)]
pub(crate) struct Memo {
    settled: Option<Settled>,
    /// The intents that would change nothing.
    pub(crate) live: LiveIntents,
    /// The children that the last pass has left; none if there was no pass.
    pub(crate) children: Option<BTreeSet<ChildKind>>,
    /// The fields that the spec lacks although managers own them; since when, if it may have had them.
    lacking: BTreeMap<FieldPath, Option<Instant>>,
    /// Whether an Event has reported that the CRD is older.
    is_outdated: bool,
}

/// The inputs of the last settled pass. While they are unchanged, the next pass is skipped until `until`.
#[derive(Clone, Debug)]
pub(crate) struct Settled {
    fingerprint: Fingerprint,
    since: Instant,
    until: Option<Instant>,
    /// Whether all children were as they should be.
    is_well: bool,
}

impl Settled {
    /// Whether a pass with this fingerprint has nothing to write: all that decides about it was found well.
    pub(crate) fn is_well(&self, fingerprint: &Fingerprint) -> bool {
        self.is_well && self.fingerprint.decides_as(fingerprint)
    }
}

/// The intents that would change nothing of the children, as passes have found.
#[derive(Clone, Debug, Default)]
pub(crate) struct LiveIntents {
    round: u64,
    /// For each child: the digests of the live object and of the intent.
    by_child: [Option<(u64, u64)>; ChildKind::ALL.len()],
}

impl LiveIntents {
    /// The intents that were found in this round, each with its child and the digest of the live object.
    pub(crate) fn new(round: u64, found: impl IntoIterator<Item = (ChildKind, u64, u64)>) -> Self {
        let mut by_child = [None; ChildKind::ALL.len()];
        for (child, live, intent) in found {
            by_child[child as usize] = Some((live, intent));
        }
        Self { round, by_child }
    }

    /// The intent that would change nothing of this live object in this round, if one is known.
    pub(crate) fn of(&self, round: u64, child: ChildKind, live: u64) -> Option<u64> {
        let known = self.by_child[child as usize].filter(|_| self.round == round);
        known.filter(|known| known.0 == live).map(|known| known.1)
    }
}

impl Memo {
    /// A pass begins, and takes how the last one has left things. Should it fail, everything is left to do.
    pub(crate) fn take_settled(&mut self) -> Option<Settled> {
        self.settled.take()
    }

    /// A pass has settled with this fingerprint; the next one is due in this time. `is_well` says whether all children are as they should
    /// be.
    pub(crate) fn settle(
        &mut self,
        fingerprint: Fingerprint,
        is_well: bool,
        next: Option<Duration>,
        now: Instant,
    ) {
        self.settled = Some(Settled { fingerprint, since: now, until: next.map(|next| now + next), is_well });
    }

    /// When the next pass is due, if one with this fingerprint has nothing to do yet.
    pub(crate) fn rests(&self, fingerprint: &Fingerprint, now: Instant) -> Option<Requeue> {
        let settled = self.settled.as_ref()?;
        if !settled.fingerprint.is_as_urgent_as(fingerprint) {
            return None;
        }
        let gathered = (settled.fingerprint != *fingerprint).then_some(settled.since + GATHERS_FOR);
        let next = [gathered, settled.until].into_iter().flatten().min();
        match next.map(|next| next.saturating_duration_since(now)) {
            Some(Duration::ZERO) => None,
            next => Some(Requeue::skipped(next)),
        }
    }

    /// The spec lacks these fields although managers own them. Returns those that it may have had, and since when it lacks them.
    pub(crate) fn may_have_lost(&mut self, lacking: Vec<Lacking>, now: Instant) -> Vec<(Lacking, Instant)> {
        let known = std::mem::take(&mut self.lacking);
        let mut may_be_lost = Vec::new();
        for field in lacking {
            let since = known.get(&field.path).copied().unwrap_or(Some(now));
            self.lacking.insert(field.path.clone(), since);
            may_be_lost.extend(since.map(|since| (field, since)));
        }
        may_be_lost
    }

    /// The spec never had the fields that it lacks, such as where an admission policy removes them.
    pub(crate) fn never_had(&mut self) {
        self.lacking.values_mut().for_each(|since| *since = None);
    }

    /// Records whether the CRD is older than this version; returns whether that is news.
    pub(crate) fn is_under_older_crd(&mut self, is_older: bool) -> bool {
        !std::mem::replace(&mut self.is_outdated, is_older) && is_older
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::Digests;

    const HOUR: Duration = Duration::from_hours(1);
    const SECOND: Duration = Duration::from_secs(1);

    /// A fingerprint whose Workload and spec have these digests.
    fn fingerprint(workload: u64, spec: u64) -> Fingerprint {
        Fingerprint { workload, spec, around: Digests::default(), round: 0 }
    }

    /// The memo after a settled pass.
    fn settled(is_well: bool, next: Option<Duration>, now: Instant) -> Memo {
        let mut memo = Memo::default();
        memo.settle(fingerprint(1, 1), is_well, next, now);
        memo
    }

    #[test]
    fn a_pass_over_unchanged_objects_has_nothing_to_do_before_it_is_due() {
        let now = Instant::now();
        let rests = |memo: &Memo, now| memo.rests(&fingerprint(1, 1), now);
        assert_eq!(rests(&Memo::default(), now), None);
        let mut memo = settled(true, Some(SECOND), now);
        assert_eq!(rests(&memo, now), Some(Requeue::skipped(Some(SECOND))));
        assert_eq!(rests(&memo, now + SECOND), None);
        memo.take_settled();
        assert_eq!(rests(&memo, now), None, "a pass that fails leaves everything to do");
        assert_eq!(rests(&settled(true, None, now), now + HOUR), Some(Requeue::skipped(None)));
    }

    #[test]
    fn changes_of_children_within_a_moment_are_one_pass_and_a_change_of_the_spec_is_immediate() {
        let now = Instant::now();
        let memo = settled(true, Some(HOUR), now);
        assert_eq!(memo.rests(&fingerprint(2, 1), now), Some(Requeue::skipped(Some(GATHERS_FOR))));
        assert_eq!(memo.rests(&fingerprint(2, 1), now + GATHERS_FOR), None);
        assert_eq!(memo.rests(&fingerprint(2, 2), now), None);
        assert_eq!(memo.rests(&Fingerprint { round: 1, ..fingerprint(1, 1) }, now), None);
    }

    #[test]
    fn no_write_is_due_where_all_its_inputs_were_found_settled() {
        let is_well = |was_well, fingerprint: &Fingerprint| {
            let mut memo = settled(was_well, None, Instant::now());
            memo.take_settled().is_some_and(|settled| settled.is_well(fingerprint))
        };
        let mut reported = fingerprint(1, 1);
        reported.around.status = 1;
        assert!(is_well(true, &reported), "a status decides about no write");
        assert!(!is_well(false, &reported));
        assert!(!is_well(true, &fingerprint(2, 1)));
    }

    #[test]
    fn a_field_may_be_lost_until_it_is_known_that_the_spec_never_had_it() {
        let start = Instant::now();
        let later = start + SECOND;
        let mut memo = Memo::default();
        let mut lost = |lacking: &[&str], now, never_had: bool| {
            let lacking = lacking.iter().map(|path| Lacking {
                path: FieldPath::spelled(path),
                manager: "user".to_owned(),
                in_schema: (*path).to_owned(),
            });
            let lost = memo.may_have_lost(lacking.collect(), now).into_iter();
            let lost: Vec<_> = lost.map(|(field, since)| (field.in_schema, since)).collect();
            if never_had {
                memo.never_had();
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
