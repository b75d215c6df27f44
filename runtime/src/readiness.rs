//! Whether a program can do its work, and if not, why.
//!
//! A rollout of a version that can't work in a cluster stops at its first pod, if readiness waits for what the version needs. Liveness
//! depends on none of this: a restart doesn't bring an API server back.
//!
//! Whoever reaches the admin port may read the reasons. Keep namespaces, permissions and messages of the API server in the log.

use std::{
    fmt,
    sync::{Arc, Mutex},
};

use crate::lock;

type Check = dyn Fn() -> Vec<String> + Send + Sync;

/// The gates that are closed. Without any, the program is ready. Clones share them.
#[derive(Clone, Default)]
pub struct Readiness {
    /// In the order in which they were closed first.
    closed: Arc<Mutex<Vec<(&'static str, String)>>>,
    checks: Arc<Mutex<Vec<Box<Check>>>>,
}

impl Readiness {
    /// Closes the gate of this name for a reason, which replaces its last one.
    pub fn close(&self, gate: &'static str, why: impl Into<String>) {
        let mut closed = lock(&self.closed);
        match closed.iter_mut().find(|(name, _)| *name == gate) {
            Some((_, reason)) => *reason = why.into(),
            None => closed.push((gate, why.into())),
        }
    }

    /// Opens the gate of this name.
    pub fn open(&self, gate: &'static str) {
        lock(&self.closed).retain(|(name, _)| *name != gate);
    }

    /// Adds a check that runs at each probe and returns why the program isn't ready. It must not block.
    pub fn check(&self, check: impl Fn() -> Vec<String> + Send + Sync + 'static) {
        lock(&self.checks).push(Box::new(check));
    }

    /// Why the program isn't ready; empty if it is.
    pub fn reasons(&self) -> Vec<String> {
        let closed: Vec<String> = lock(&self.closed).iter().map(|(_, why)| why.clone()).collect();
        closed.into_iter().chain(lock(&self.checks).iter().flat_map(|check| check())).collect()
    }
}

impl fmt::Debug for Readiness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Readiness").field(&self.reasons()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_ready_when_no_gate_is_closed_and_otherwise_says_why_not() {
        let readiness = Readiness::default();
        assert_eq!(readiness.reasons(), Vec::<String>::new());
        readiness.close("self-check", "there is no CRD");
        readiness.close("schemas", "reading the schemas");
        readiness.close("self-check", "the CRD is too old");
        readiness.check(|| vec!["a cache is empty".to_owned()]);
        assert_eq!(readiness.reasons(), ["the CRD is too old", "reading the schemas", "a cache is empty"]);
        readiness.open("self-check");
        assert_eq!(readiness.reasons(), ["reading the schemas", "a cache is empty"]);
    }
}
