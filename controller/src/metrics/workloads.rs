//! The metrics about the Workloads themselves. They are counted from the cache at each scrape, so that a deleted Workload is gone
//! here too.

use baton_crd::HandoverPhase;
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

/// What a Workload's status reports: its phase, and its contested children.
pub(crate) type Reported<'w> = (Option<HandoverPhase>, &'w [ChildKind]);

/// Registers the metrics of these Workloads.
pub(super) fn register<'w>(registry: &mut Registry, reported: impl IntoIterator<Item = Reported<'w>>) {
    let mut in_phase = PHASES.map(|phase| (phase, 0));
    let mut in_contention = ChildKind::ALL.map(|kind| (kind, 0));
    for (phase, contested) in reported {
        in_phase.iter_mut().filter(|(of, _)| Some(*of) == phase).for_each(|(_, count)| *count += 1);
        in_contention
            .iter_mut()
            .filter(|(kind, _)| contested.contains(kind))
            .for_each(|(_, count)| *count += 1);
    }
    let phases = Family::<ByPhase, Gauge>::default();
    for (phase, count) in in_phase {
        phases.get_or_create(&ByPhase { phase: as_in_status(phase) }).set(count);
    }
    let contested = Family::<ByKind, Gauge>::default();
    for (kind, count) in in_contention {
        contested.get_or_create(&ByKind { kind }).set(count);
    }

    registry.register(
        "baton_handover_phase",
        "Workloads by where their replicas stand between Baton and an autoscaler",
        phases,
    );
    registry.register(
        "baton_contested_children",
        "Children with a field that Baton and another field manager set again and again",
        contested,
    );
}

/// The value as it is in the Workload's status.
fn as_in_status(value: impl Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use prometheus_client::encoding::text::encode;
    use serde_json::Value;

    use super::*;

    fn text<'w>(reported: impl IntoIterator<Item = Reported<'w>>) -> String {
        let mut text = String::new();
        let mut registry = Registry::default();
        register(&mut registry, reported);
        encode(&mut text, &registry).unwrap();
        text
    }

    #[test]
    fn workloads_are_counted_by_phase() {
        let phases =
            [Some(HandoverPhase::Fixed), Some(HandoverPhase::HandedOver), Some(HandoverPhase::Fixed), None];
        let text = text(phases.map(|phase| (phase, [].as_slice())));
        for line in [
            "baton_handover_phase{phase=\"Fixed\"} 2\n",
            "baton_handover_phase{phase=\"HandedOver\"} 1\n",
            "baton_handover_phase{phase=\"TakingBack\"} 0\n",
        ] {
            assert!(text.contains(line), "missing: {line}{text}");
        }
    }

    #[test]
    fn contested_children_are_counted_by_kind() {
        let text = text([(None, [ChildKind::Deployment].as_slice())]);
        assert!(text.contains("baton_contested_children{kind=\"Deployment\"} 1\n"), "{text}");
        assert!(text.contains("baton_contested_children{kind=\"Service\"} 0\n"), "{text}");
    }

    #[test]
    fn each_phase_of_a_status_has_a_series_from_the_start() {
        let crd = serde_json::to_value(baton_crd::workload_crd()).unwrap();
        let phases = "/spec/versions/0/schema/openAPIV3Schema/properties/status/properties/replicaOwnership/\
                      properties/phase/enum";
        let phases = crd.pointer(phases).and_then(Value::as_array).unwrap();
        assert_eq!(phases.len(), PHASES.len());
        let text = text([]);
        for phase in phases {
            assert!(text.contains(&format!("baton_handover_phase{{phase={phase}}} 0\n")), "{phase}: {text}");
        }
    }
}
