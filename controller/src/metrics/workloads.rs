//! The metrics about the Workloads themselves. They are counted from the cache at each scrape, so that a deleted Workload is gone
//! here too.

use baton_crd::HandoverPhase;
use prometheus_client::registry::Registry;
use serde::Serialize;

use super::{gauges, labels::kind};
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

/// The phase of a Workload and its contested children, as its status reports them.
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
    gauges(
        registry,
        "handover_phase",
        "Workloads by where their replicas stand between Baton and an autoscaler",
        in_phase.map(|(phase, count)| ([("phase", as_in_status(phase).into())], count)),
    );
    gauges(
        registry,
        "contested_children",
        "Children with a field that Baton and another field manager set again and again",
        in_contention.map(|(of, count)| ([kind(of)], count)),
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

    #[test]
    fn each_phase_of_a_status_has_a_series_from_the_start() {
        let crd = serde_json::to_value(baton_crd::workload_crd()).unwrap();
        let phases = "/spec/versions/0/schema/openAPIV3Schema/properties/status/properties/replicaOwnership/\
                      properties/phase/enum";
        let phases = crd.pointer(phases).and_then(Value::as_array).unwrap();
        assert_eq!(phases.len(), PHASES.len());
        let (mut text, mut registry) = (String::new(), super::super::registry_of(None));
        register(&mut registry, []);
        encode(&mut text, &registry).unwrap();
        for phase in phases {
            assert!(text.contains(&format!("baton_handover_phase{{phase={phase}}} 0\n")), "{phase}: {text}");
        }
    }
}
