//! Holds what the operators wrote against who held the lease at that time, both by the API server's audit log.

use std::collections::BTreeMap;

use baton_testbed::{AuditEntries, AuditEntry};
use jiff::Timestamp;

use crate::candidates::Candidates;

/// A change of the holder: since when, and who; empty for nobody.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Term {
    pub since: Timestamp,
    pub holder: String,
}

/// The writes of all operators in a namespace, and who held the lease.
pub struct Record {
    writes: AuditEntries,
    pub terms: Vec<Term>,
}

impl Record {
    pub fn of(candidates: &Candidates) -> Self {
        let of_operators = |entry: &AuditEntry| entry.user.starts_with("system:serviceaccount:");
        let audit = candidates.place.cluster.audit().unwrap();
        let all = audit.entries().unwrap().namespace(candidates.ns()).writes().that(of_operators);
        // The garbage collector and its like are ServiceAccounts too.
        let all = all.that(|entry| !entry.user.starts_with("system:serviceaccount:kube-system:"));
        let stored = all.clone().resource("leases").that(|entry| matches!(entry.code, Some(200 | 201)));
        let mut terms: Vec<Term> = Vec::new();
        // By resource version they would be in the same order: each write is guarded by the one before it.
        let mut stored: Vec<_> = stored.into_iter().collect();
        stored.sort_by_key(|entry| entry.received);
        for entry in stored {
            let body = entry.request_object.as_ref().unwrap();
            let holder = body["spec"]["holderIdentity"].as_str().unwrap_or_default().to_owned();
            if terms.last().is_none_or(|last| last.holder != holder) {
                terms.push(Term { since: entry.received, holder });
            }
        }
        Self { writes: all.that(|entry| entry.resource.as_deref() != Some("leases")), terms }
    }

    /// Panics if any write reached the API server while its writer didn't hold the lease, however it was answered.
    pub fn nobody_wrote_without_the_lease(&self) {
        let strays: Vec<_> = self.writes.iter().filter(|entry| !self.is_by_holder(entry)).collect();
        let terms = &self.terms;
        assert!(strays.is_empty(), "{strays:#?} while the lease was held like this: {terms:#?}");
    }

    fn is_by_holder(&self, entry: &AuditEntry) -> bool {
        let holder = self.terms.iter().rev().find(|term| term.since <= entry.received);
        // The user of `a` is `a-<namespace>`.
        let user = entry.user.rsplit(':').next().unwrap_or_default();
        holder.is_some_and(|term| user.strip_prefix(&*term.holder).is_some_and(|rest| rest.starts_with('-')))
    }

    /// How much each holder wrote.
    pub fn writes_by_user(&self) -> BTreeMap<&str, usize> {
        let mut counts = BTreeMap::new();
        for entry in self.writes.iter() {
            *counts.entry(entry.user.rsplit(':').next().unwrap_or_default()).or_default() += 1;
        }
        counts
    }

    /// When this one began to lead, the last time.
    pub fn began(&self, holder: &str) -> Timestamp {
        self.terms.iter().rev().find(|term| term.holder == holder).unwrap().since
    }
}
