//! Which Workloads wait for a pass.
//!
//! The controller's own queue can't be asked, so this one stands beside it, told of what goes in and what comes out.
//! Passes that the operator has planned for later by itself (a retry, a resync) aren't in it: they wait by intention.

use std::collections::HashSet;

use kube::runtime::reflector::{Lookup, ObjectRef};

/// The Workloads that something was seen of, and whose pass hasn't begun since. However much is seen of a Workload, one
/// pass looks at all of it.
#[derive(Debug, Default)]
pub(super) struct Queue(HashSet<(Option<String>, String)>);

impl Queue {
    /// Something was seen that concerns this Workload.
    pub(super) fn enter<K: Lookup>(&mut self, workload: &ObjectRef<K>) {
        self.0.insert(key(workload));
    }

    /// Its pass begins; or there is nothing to have a pass for.
    pub(super) fn leave<K: Lookup>(&mut self, workload: &ObjectRef<K>) {
        self.0.remove(&key(workload));
    }

    /// How many wait.
    pub(super) fn depth(&self) -> usize {
        self.0.len()
    }
}

/// Namespace and name; the reference itself also has a type, which the controller's errors have lost.
fn key<K: Lookup>(workload: &ObjectRef<K>) -> (Option<String>, String) {
    (workload.namespace.clone(), workload.name.clone())
}

#[cfg(test)]
mod tests {
    use baton_crd::Workload;

    use super::*;

    fn workload(name: &str) -> ObjectRef<Workload> {
        ObjectRef::new(name).within("shop")
    }

    #[test]
    fn a_workload_waits_once_however_often_it_is_seen() {
        let mut queue = Queue::default();
        queue.enter(&workload("web"));
        queue.enter(&workload("web"));
        queue.enter(&workload("api"));
        assert_eq!(queue.depth(), 2);
    }

    #[test]
    fn it_waits_again_when_something_is_seen_while_its_pass_runs() {
        let mut queue = Queue::default();
        queue.enter(&workload("web"));
        queue.leave(&workload("web"));
        assert_eq!(queue.depth(), 0);
        queue.enter(&workload("web"));
        assert_eq!(queue.depth(), 1);
    }

    #[test]
    fn a_pass_that_nothing_asked_for_changes_nothing() {
        let mut queue = Queue::default();
        queue.enter(&workload("web"));
        queue.leave(&workload("api"));
        assert_eq!(queue.depth(), 1);
    }

    #[test]
    fn one_that_is_gone_leaves_by_its_name_alone() {
        let mut queue = Queue::default();
        queue.enter(&workload("web"));
        queue.leave(&workload("web").erase());
        assert_eq!(queue.depth(), 0);
    }
}
