//! What the metrics say of the Workloads themselves: counted anew from the cache at each scrape, never remembered, so that
//! a Workload that is gone is gone from here too.

use baton_crd::{ChildState, HandoverPhase, WorkloadStatus};
use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{family::Family, gauge::Gauge},
    registry::Registry,
};
use serde::Serialize;

use super::labels::ByKind;
use crate::decide::child::ChildKind;

const PHASES: [HandoverPhase; 10] = [
    HandoverPhase::Fixed,
    HandoverPhase::Unmanaged,
    HandoverPhase::HandoverPending,
    HandoverPhase::HandedOver,
    HandoverPhase::OwnedByOther,
    HandoverPhase::AutoscalerMissing,
    HandoverPhase::AutoscalerDisabled,
    HandoverPhase::AutoscalerConflict,
    HandoverPhase::TakingBack,
    HandoverPhase::Suspended,
];

/// The labels of the phase gauge.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByPhase {
    phase: String,
}

/// The metrics of these Workloads.
pub(super) fn metrics_of(statuses: impl IntoIterator<Item = WorkloadStatus>) -> Registry {
    let phases = Family::<ByPhase, Gauge>::default();
    for phase in PHASES {
        phases.get_or_create(&ByPhase { phase: as_in_status(phase) }).set(0);
    }
    let contested = Family::<ByKind, Gauge>::default();
    for kind in ChildKind::ALL {
        contested.get_or_create(&ByKind { kind }).set(0);
    }
    for status in statuses {
        if let Some(ownership) = &status.replica_ownership {
            phases.get_or_create(&ByPhase { phase: as_in_status(ownership.phase) }).inc();
        }
        for child in status.children.iter().filter(|child| child.state == ChildState::Contested) {
            if let Some(kind) = ChildKind::ALL.into_iter().find(|kind| kind.name() == child.kind) {
                contested.get_or_create(&ByKind { kind }).inc();
            }
        }
    }

    let mut registry = Registry::default();
    registry.register(
        "baton_handover_phase",
        "Workloads by where their replicas stand between Baton and an autoscaler",
        phases,
    );
    registry.register(
        "baton_contested_children",
        "Children about whose fields Baton and another field manager fight",
        contested,
    );
    registry
}

/// The word that people read in the Workload's status.
fn as_in_status(value: impl Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use prometheus_client::encoding::text::encode;
    use serde_json::{Value, json};

    use super::*;

    fn with_status(status: Value) -> WorkloadStatus {
        serde_json::from_value(status).unwrap()
    }

    fn in_phase(phase: &str) -> WorkloadStatus {
        let ownership =
            json!({"holder": "baton", "phase": phase, "value": 3, "since": "2026-01-01T00:00:00Z"});
        with_status(json!({"replicaOwnership": ownership}))
    }

    fn text(statuses: impl IntoIterator<Item = WorkloadStatus>) -> String {
        let mut text = String::new();
        encode(&mut text, &metrics_of(statuses)).unwrap();
        text
    }

    #[test]
    fn workloads_are_counted_by_phase() {
        let text =
            text([in_phase("Fixed"), in_phase("HandedOver"), in_phase("Fixed"), with_status(json!({}))]);
        for line in [
            "baton_handover_phase{phase=\"Fixed\"} 2\n",
            "baton_handover_phase{phase=\"HandedOver\"} 1\n",
            "baton_handover_phase{phase=\"TakingBack\"} 0\n",
        ] {
            assert!(text.contains(line), "missing: {line}{text}");
        }
    }

    #[test]
    fn children_in_a_fight_are_counted_by_kind() {
        let child = |kind: &str, state: &str| json!({"kind": kind, "name": "web", "apiVersion": "v1", "state": state});
        let children = json!([child("Deployment", "Contested"), child("Service", "Applied")]);
        let text = text([with_status(json!({"children": children}))]);
        assert!(text.contains("baton_contested_children{kind=\"Deployment\"} 1\n"), "{text}");
        assert!(text.contains("baton_contested_children{kind=\"Service\"} 0\n"), "{text}");
    }

    #[test]
    fn each_phase_that_a_status_can_have_is_there_from_the_start() {
        let definition = serde_json::to_value(baton_crd::workload_crd()).unwrap();
        let phases = "/spec/versions/0/schema/openAPIV3Schema/properties/status/properties/replicaOwnership/\
                      properties/phase/enum";
        let phases = definition.pointer(phases).and_then(Value::as_array).unwrap();
        assert_eq!(phases.len(), PHASES.len());
        let text = text([]);
        for phase in phases {
            assert!(text.contains(&format!("baton_handover_phase{{phase={phase}}} 0\n")), "{phase}: {text}");
        }
    }

    #[test]
    fn children_that_are_well_are_not_contested() {
        let child = json!({"kind": "Deployment", "name": "web", "apiVersion": "apps/v1", "state": "Applied"});
        let text = text([with_status(json!({"children": [child]}))]);
        for kind in ChildKind::ALL {
            assert!(text.contains(&format!("baton_contested_children{{kind=\"{kind}\"}} 0\n")), "{text}");
        }
    }
}
