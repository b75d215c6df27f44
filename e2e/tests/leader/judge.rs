//! Compares the operators' writes with the holder of the lease at that time, both from the API server's audit log.

use std::collections::BTreeMap;

use baton_testbed::AuditEntry;
use jiff::Timestamp;

use crate::candidates::Candidates;

/// A change of the lease's holder, which is empty if there is none.
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

/// The writes of all operators in a namespace, and the holders of the lease.
pub struct Record {
    writes: Vec<AuditEntry>,
    /// The writes of operators that didn't hold the lease.
    strays: Vec<AuditEntry>,
    pub terms: Vec<Term>,
}

impl Record {
    pub fn of(candidates: &Candidates) -> Self {
        let of_operators = |entry: &AuditEntry| entry.user.starts_with("system:serviceaccount:");
        let audit = candidates.env.cluster.audit().unwrap();
        let all = audit.entries().unwrap().namespace(candidates.ns()).writes().that(of_operators);
        // Kubernetes' own controllers are ServiceAccounts too.
        let all = all.that(|entry| !entry.user.starts_with("system:serviceaccount:kube-system:"));
        let mut all: Vec<_> = all.into_iter().collect();
        // Requests of the same time stay in the order of their responses.
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

    /// Panics if a write reached the API server while its operator didn't hold the lease, even if it was refused.
    pub fn no_operator_wrote_without_the_lease(&self) {
        let Self { strays, terms, .. } = self;
        assert!(strays.is_empty(), "{strays:#?} without the lease, whose holders were: {terms:#?}");
    }

    /// How many writes each operator sent.
    pub fn writes_by_user(&self) -> BTreeMap<&str, usize> {
        let mut counts = BTreeMap::new();
        for entry in &self.writes {
            *counts.entry(user(entry)).or_default() += 1;
        }
        counts
    }

    /// When this operator last became the leader.
    pub fn began(&self, holder: &str) -> Timestamp {
        self.terms.iter().rev().find(|term| term.holder == holder).unwrap().since
    }
}

fn user(entry: &AuditEntry) -> &str {
    entry.user.rsplit(':').next().unwrap_or_default()
}
