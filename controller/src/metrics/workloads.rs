//! What the metrics say of the Workloads themselves: counted anew from the cache at each scrape, never remembered, so that
//! a Workload that is gone is gone from here too.

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
pub(crate) type Told<'w> = (Option<HandoverPhase>, &'w [ChildKind]);

/// Registers the metrics of these Workloads.
pub(super) fn register<'w>(registry: &mut Registry, told: impl IntoIterator<Item = Told<'w>>) {
    let mut in_phase = PHASES.map(|phase| (phase, 0));
    let mut fought_about = ChildKind::ALL.map(|kind| (kind, 0));
    for (phase, contested) in told {
        in_phase.iter_mut().filter(|(of, _)| Some(*of) == phase).for_each(|(_, count)| *count += 1);
        fought_about
            .iter_mut()
            .filter(|(kind, _)| contested.contains(kind))
            .for_each(|(_, count)| *count += 1);
    }
    let phases = Family::<ByPhase, Gauge>::default();
    for (phase, count) in in_phase {
        phases.get_or_create(&ByPhase { phase: as_in_status(phase) }).set(count);
    }
    let contested = Family::<ByKind, Gauge>::default();
    for (kind, count) in fought_about {
        contested.get_or_create(&ByKind { kind }).set(count);
    }

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
}

/// The word that people read in the Workload's status.
fn as_in_status(value: impl Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use prometheus_client::encoding::text::encode;
    use serde_json::Value;

    use super::*;

    fn text<'w>(told: impl IntoIterator<Item = Told<'w>>) -> String {
        let mut text = String::new();
        let mut registry = Registry::default();
        register(&mut registry, told);
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
    fn children_in_a_fight_are_counted_by_kind() {
        let text = text([(None, [ChildKind::Deployment].as_slice())]);
        assert!(text.contains("baton_contested_children{kind=\"Deployment\"} 1\n"), "{text}");
        assert!(text.contains("baton_contested_children{kind=\"Service\"} 0\n"), "{text}");
    }

    #[test]
    fn each_phase_that_a_status_can_have_is_there_from_the_start() {
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
