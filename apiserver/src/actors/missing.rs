//! Kinds that no actor of a server works on. A test that waits for such an object times out, so the server reports the
//! kind.

use std::sync::{Mutex, PoisonError};

use super::{Actor, Actors};
use crate::registry::Resource;

/// Kinds whose objects clients wait for, and the actor of each.
const WORKED_ON: [(&str, &str, Option<Actor>); 11] = [
    ("", "PersistentVolumeClaim", Some(Actor::Claims)),
    ("", "Pod", Some(Actor::Pods)),
    ("", "ReplicationController", None),
    ("apps", "DaemonSet", None),
    ("apps", "Deployment", Some(Actor::Deployments)),
    ("apps", "ReplicaSet", Some(Actor::Deployments)),
    ("apps", "StatefulSet", Some(Actor::StatefulSets)),
    ("autoscaling", "HorizontalPodAutoscaler", Some(Actor::Autoscaler)),
    ("batch", "CronJob", None),
    ("batch", "Job", None),
    ("policy", "PodDisruptionBudget", Some(Actor::DisruptionBudgets)),
];

/// Kinds already reported.
pub(super) type Reported = Mutex<Vec<&'static str>>;

impl Actors {
    /// Reports the first object of a kind that no actor works on, on standard error, which a failed test shows. The
    /// response has no warning, as on a real server.
    pub(crate) fn report_missing(&self, resource: &Resource) {
        let Some((_, kind, actor)) = WORKED_ON.iter().find(|(group, kind, _)| resource.is(group, kind))
        else {
            return;
        };
        let Some(report) = missing(&self.active, kind, *actor) else { return };
        let mut reported = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
        if !reported.contains(kind) {
            reported.push(kind);
            eprintln!("baton-apiserver: {report}");
        }
    }
}

/// The report about a kind, on a server with actors for workloads.
fn missing(active: &[Actor], kind: &str, actor: Option<Actor>) -> Option<String> {
    if !active.iter().any(|actor| matches!(actor, Actor::Deployments | Actor::Pods)) {
        return None;
    }
    match actor {
        None => Some(format!("no actor works on a {kind}: its status stays as clients write it")),
        Some(actor) if active.contains(&actor) => None,
        Some(actor) => {
            Some(format!("no actor works on a {kind} here: the server was started without {actor}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_runs_workloads_names_the_actor_that_is_missing() {
        let report = |active: &[Actor], actor| missing(active, "StatefulSet", actor);
        assert_eq!(report(&[Actor::AccessControl], Some(Actor::StatefulSets)), None);
        assert_eq!(report(&[Actor::Pods, Actor::StatefulSets], Some(Actor::StatefulSets)), None);
        assert_eq!(
            report(&[Actor::Pods], Some(Actor::StatefulSets)).unwrap(),
            "no actor works on a StatefulSet here: the server was started without stateful-sets"
        );
        assert_eq!(
            report(&[Actor::Pods], None).unwrap(),
            "no actor works on a StatefulSet: its status stays as clients write it"
        );
    }
}
