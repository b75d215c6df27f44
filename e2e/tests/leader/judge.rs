//! Holds what the operators wrote against who held the lease at that time, both by the API server's audit log.

use std::collections::BTreeMap;

use baton_testbed::AuditEntry;
use jiff::Timestamp;

use crate::candidates::Candidates;

/// A change of the holder: since when, and who; empty for nobody.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Term {
    pub since: Timestamp,
    pub holder: String,
}

impl Term {
    /// The user of `a` is `a-<namespace>`.
    fn covers(&self, entry: &AuditEntry) -> bool {
        user(entry).strip_prefix(&*self.holder).is_some_and(|rest| rest.starts_with('-'))
    }
}

/// The writes of all operators in a namespace, and who held the lease.
pub struct Record {
    writes: Vec<AuditEntry>,
    /// The writes of those who didn't hold the lease.
    strays: Vec<AuditEntry>,
    pub terms: Vec<Term>,
}

impl Record {
    pub fn of(candidates: &Candidates) -> Self {
        let of_operators = |entry: &AuditEntry| entry.user.starts_with("system:serviceaccount:");
        let audit = candidates.place.cluster.audit().unwrap();
        let all = audit.entries().unwrap().namespace(candidates.ns()).writes().that(of_operators);
        // The garbage collector and its like are ServiceAccounts too.
        let all = all.that(|entry| !entry.user.starts_with("system:serviceaccount:kube-system:"));
        let mut all: Vec<_> = all.into_iter().collect();
        // Those of the same time stay in the order in which they were answered.
        all.sort_by_key(|entry| entry.received);
        let mut record = Self { writes: Vec::new(), strays: Vec::new(), terms: Vec::new() };
        for entry in all {
            if entry.resource.as_deref() == Some("leases") {
                record.lease_written(&entry);
            } else {
                if !record.terms.last().is_some_and(|term| term.covers(&entry)) {
                    record.strays.push(entry.clone());
                }
                record.writes.push(entry);
            }
        }
        record
    }

    fn lease_written(&mut self, entry: &AuditEntry) {
        if !matches!(entry.code, Some(200 | 201)) {
            return;
        }
        let body = entry.request_object.as_ref().unwrap();
        let holder = body["spec"]["holderIdentity"].as_str().unwrap_or_default().to_owned();
        if self.terms.last().is_none_or(|last| last.holder != holder) {
            self.terms.push(Term { since: entry.received, holder });
        }
    }

    /// Panics if any write reached the API server while its writer didn't hold the lease, however it was answered.
    pub fn nobody_wrote_without_the_lease(&self) {
        let Self { strays, terms, .. } = self;
        assert!(strays.is_empty(), "{strays:#?} while the lease was held like this: {terms:#?}");
    }

    /// How much each holder wrote.
    pub fn writes_by_user(&self) -> BTreeMap<&str, usize> {
        let mut counts = BTreeMap::new();
        for entry in &self.writes {
            *counts.entry(user(entry)).or_default() += 1;
        }
        counts
    }

    /// When this one began to lead, the last time.
    pub fn began(&self, holder: &str) -> Timestamp {
        self.terms.iter().rev().find(|term| term.holder == holder).unwrap().since
    }
}

fn user(entry: &AuditEntry) -> &str {
    entry.user.rsplit(':').next().unwrap_or_default()
}
