//! Whether the operator can do its work, and if not, why.
//!
//! Ready means: the self-check found nothing missing, every cache is filled, the API server's schemas were read, and no watch has
//! been failing for long. A standby is ready as well. So a rollout of a version that can't work in this cluster stops at its
//! first pod, and users see which process gets no changes. Liveness depends on none of this: a restart doesn't bring an API
//! server back.
//!
//! Whoever reaches the port may read the reasons, so they name no namespace, no permission and no message of the API server. The log
//! has these.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use crate::{lock::lock, observe::Stores};

/// How long a watch may fail until the operator isn't ready. Watches end and start again all the time.
const UNREADY_AFTER: Duration = Duration::from_mins(1);

/// What readiness waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Gate {
    /// Whether Baton can work here at all.
    SelfCheck,
    /// Whether it is known that the CRD has every field that this release reads.
    Crd,
    /// Whether the schemas were read.
    Schemas,
    /// Whether it isn't shutting down.
    Shutdown,
}

/// The gates that are closed, and the caches. Clones share them.
#[derive(Clone)]
pub(crate) struct Readiness {
    closed: Arc<Mutex<BTreeMap<Gate, String>>>,
    stores: Stores,
}

impl Readiness {
    pub(crate) fn new(stores: Stores) -> Self {
        Self { closed: Arc::default(), stores }
    }

    /// Not ready from now on, for this reason.
    pub(crate) fn close(&self, gate: Gate, why: impl Into<String>) {
        lock(&self.closed).insert(gate, why.into());
    }

    pub(crate) fn open(&self, gate: Gate) {
        lock(&self.closed).remove(&gate);
    }

    /// Why it isn't ready; empty if it is.
    pub(crate) fn reasons(&self) -> Vec<String> {
        let mut reasons: Vec<String> = lock(&self.closed).values().cloned().collect();
        let unfilled = self.stores.unfilled();
        if !unfilled.is_empty() {
            let kinds: Vec<_> = unfilled.into_iter().collect();
            reasons.push(format!("waiting for the caches to fill: {}", kinds.join(", ")));
        }
        let failing = self.stores.failing_for(UNREADY_AFTER);
        let failing = failing
            .into_iter()
            .map(|(kind, seconds)| format!("a watch has been failing for {seconds} s: {kind}; see the log"));
        reasons.extend(failing);
        reasons
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_ready_when_no_gate_is_closed_and_otherwise_says_why_not() {
        let readiness = Readiness::new(Stores::of_shard(None));
        assert_eq!(readiness.reasons(), Vec::<String>::new());
        readiness.close(Gate::SelfCheck, "there is no CRD");
        readiness.close(Gate::Schemas, "reading the schemas");
        assert_eq!(readiness.reasons(), ["there is no CRD", "reading the schemas"]);
        readiness.open(Gate::SelfCheck);
        assert_eq!(readiness.reasons(), ["reading the schemas"]);
    }
}
