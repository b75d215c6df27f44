//! `replicas::decide`: the next move with the replica count, and the phase, for each state.

use baton_controller::decide::{
    child::ChildKind,
    replicas::{Autoscaler, Decision, Move, decide},
    snapshot::Snapshot,
};
use baton_crd::{HandoverPhase, Workload, labels};
use serde_json::{Value, json};

use crate::common::{autoscaler, change, child, deployment_owned_by, seen, workload};

const FIXED: &str = r#"{"replicas": 3}"#;
const HANDS_OFF: &str = "{}";
const SUSPENDED: &str = r#"{"replicas": 3, "suspend": true}"#;
const OWN: &str = r#"{"autoscaling": {"minReplicas": 2, "maxReplicas": 9}}"#;
const EXTERNAL: &str = r#"{"autoscaling": {"external": {}}}"#;
const ALL: [&str; 5] = [FIXED, HANDS_OFF, SUSPENDED, OWN, EXTERNAL];
/// Autoscaled from zero, which the autoscaler may not choose itself, or may.
const STARTS_AT_ZERO: &str = r#"{"replicas": 0, "autoscaling": {"minReplicas": 2, "maxReplicas": 9}}"#;
const MAY_REST: &str = r#"{"autoscaling": {"minReplicas": 0, "maxReplicas": 9}}"#;

fn of(spec: &str) -> Workload {
    workload(&serde_json::from_str::<Value>(spec).unwrap())
}

/// A Workload whose Deployment has this replica count, owned by these managers. `others` are the autoscalers of others, each with a name
/// of one letter; that of `k` has a controller, KEDA's `ScaledObject`.
fn scene(spec: &str, managers: &str, count: i32, has_own_autoscaler: bool, others: &str) -> Snapshot {
    let own = has_own_autoscaler.then(|| child(ChildKind::Autoscaler));
    let mut seen = seen(&of(spec), [deployment_owned_by(managers, count)].into_iter().chain(own));
    let other = |name: char| {
        let controller = (name == 'k').then(|| ("ScaledObject".to_owned(), "uid".to_owned()));
        Autoscaler { controller, ..autoscaler(&name.to_string()) }
    };
    seen.autoscalers = others.chars().map(other).collect();
    seen
}

/// The next move as text, without the owners whose entries are released.
fn next(Decision { next, .. }: &Decision) -> String {
    let text = format!("{next:?}");
    if matches!(next, Move::ReleaseScale(_)) { "ReleaseScale".to_owned() } else { text }
}

#[test]
fn each_state_has_its_next_move_and_its_phase() {
    use HandoverPhase::{
        AutoscalerConflict, AutoscalerDisabled, AutoscalerMissing, Fixed, HandedOver, HandoverPending,
        OwnedByOther, Suspended, TakingBack, Unmanaged,
    };
    for (spec, managers, count, has_own, others, expected, phase) in [
        // Baton hands the live count over before it releases it, and releases it at once if another manager owns it too.
        (OWN, "b", 5, false, "", "HandOver(5)", HandoverPending),
        (OWN, "bt", 5, false, "", "LeaveOut", HandoverPending),
        (OWN, "t", 5, false, "", "LeaveOut", HandoverPending),
        (OWN, "t", 5, true, "", "LeaveOut", HandoverPending),
        (OWN, "s", 5, true, "", "LeaveOut", HandedOver),
        (OWN, "s", 5, false, "", "LeaveOut", AutoscalerMissing),
        (OWN, "bs", 5, true, "", "LeaveOut", HandedOver),
        (OWN, "o", 5, true, "", "LeaveOut", OwnedByOther),
        (OWN, "to", 5, true, "", "LeaveOut", OwnedByOther),
        (OWN, "bo", 5, true, "", "LeaveOut", OwnedByOther),
        // A user may scale.
        (EXTERNAL, "s", 5, false, "", "LeaveOut", HandedOver),
        // A count without an owner gets the temporary manager, so that its next owner is recorded. A scale to zero leaves no owner.
        (OWN, "", 5, true, "", "HandOver(5)", HandoverPending),
        (EXTERNAL, "", 5, false, "", "HandOver(5)", HandoverPending),
        (EXTERNAL, "", 0, false, "", "HandOver(0)", HandedOver),
        (FIXED, "", 0, false, "k", "LeaveOut", AutoscalerConflict),
        // Baton's zero is handed over only if the spec says zero: at zero an autoscaler does nothing, unless it may choose zero or
        // has a controller.
        (OWN, "b", 0, false, "", "Claim(2)", AutoscalerDisabled),
        (STARTS_AT_ZERO, "b", 0, false, "", "HandOver(0)", AutoscalerDisabled),
        (OWN, "s", 0, true, "", "LeaveOut", AutoscalerDisabled),
        (MAY_REST, "s", 0, true, "", "LeaveOut", HandedOver),
        (EXTERNAL, "s", 0, false, "a", "LeaveOut", AutoscalerDisabled),
        (EXTERNAL, "s", 0, false, "k", "LeaveOut", HandedOver),
        (EXTERNAL, "s", 0, false, "", "LeaveOut", HandedOver),
        // More autoscalers than the spec names are a conflict, and their count isn't contested.
        (OWN, "s", 5, false, "a", "LeaveOut", AutoscalerConflict),
        (EXTERNAL, "s", 5, false, "a", "LeaveOut", HandedOver),
        (EXTERNAL, "s", 5, false, "ab", "LeaveOut", AutoscalerConflict),
        (FIXED, "s", 5, false, "a", "LeaveOut", AutoscalerConflict),
        (FIXED, "bs", 5, false, "a", "LeaveOut", AutoscalerConflict),
        (FIXED, "t", 5, false, "a", "LeaveOut", AutoscalerConflict),
        (FIXED, "b", 5, false, "a", "Set(3)", Fixed),
        // On the way back the autoscaler is deleted first, then the live count is taken over, then the other owners release it.
        (FIXED, "s", 5, true, "", "LeaveOut", TakingBack),
        (FIXED, "bs", 5, true, "", "Wait", TakingBack),
        (FIXED, "s", 5, false, "", "Claim(5)", TakingBack),
        (FIXED, "t", 5, false, "", "Claim(5)", TakingBack),
        (FIXED, "bts", 5, false, "", "ReleaseTemporary", TakingBack),
        (FIXED, "bs", 5, false, "", "ReleaseScale", TakingBack),
        (FIXED, "b", 5, false, "", "Set(3)", Fixed),
        // A suspended count is taken over in the same way, before it becomes zero. At zero, a plain autoscaler does nothing.
        (SUSPENDED, "s", 5, true, "", "LeaveOut", TakingBack),
        (SUSPENDED, "s", 5, false, "", "Claim(5)", TakingBack),
        (SUSPENDED, "b", 5, false, "", "Set(0)", Suspended),
        (SUSPENDED, "s", 5, false, "a", "Claim(5)", TakingBack),
        (SUSPENDED, "s", 5, false, "k", "LeaveOut", AutoscalerConflict),
        // Without replicas and autoscaling the live count stays, whoever owns it.
        (HANDS_OFF, "b", 5, false, "", "HandOver(5)", Unmanaged),
        (HANDS_OFF, "b", 0, false, "", "HandOver(0)", Unmanaged),
        (HANDS_OFF, "", 5, false, "", "LeaveOut", Unmanaged),
        (HANDS_OFF, "", 0, false, "", "LeaveOut", Unmanaged),
        (HANDS_OFF, "t", 5, false, "", "LeaveOut", Unmanaged),
        (HANDS_OFF, "bt", 5, false, "", "LeaveOut", Unmanaged),
        (HANDS_OFF, "s", 5, false, "a", "LeaveOut", Unmanaged),
        (HANDS_OFF, "bs", 5, false, "", "LeaveOut", Unmanaged),
        (HANDS_OFF, "o", 5, false, "", "LeaveOut", Unmanaged),
    ] {
        let decision = decide(&scene(spec, managers, count, has_own, others));
        let state = format!("{spec}, {count} owned by {managers:?}, own: {has_own}, others: {others:?}");
        assert_eq!((&*next(&decision), decision.phase), (expected, phase), "{state}");
    }
    let conflict = decide(&scene(OWN, "s", 5, false, "a")).waiting_for.unwrap();
    assert!(conflict.contains("HorizontalPodAutoscaler a"), "{conflict}");
}

#[test]
fn a_new_deployment_has_the_replica_count_its_owner_starts_from() {
    for (spec, first, after_nine) in [
        (FIXED, Some(3), Some(3)),
        (HANDS_OFF, None, Some(9)),
        (SUSPENDED, Some(0), Some(0)),
        (OWN, Some(2), Some(9)),
    ] {
        let mut workload = of(spec);
        assert_eq!(decide(&seen(&workload, [])).next, Move::Create(first), "{spec}");
        let ownership =
            json!({"owner": "baton", "phase": "Fixed", "value": 9, "since": "2026-01-02T03:04:05Z"});
        workload.status = Some(serde_json::from_value(json!({"replicaOwnership": ownership})).unwrap());
        assert_eq!(decide(&seen(&workload, [])).next, Move::Create(after_nine), "{spec}");
    }
}

#[test]
fn after_a_suspension_the_next_owner_finds_the_count_from_before() {
    for (spec, expected) in [
        (OWN, Move::Claim(9)),
        (EXTERNAL, Move::Claim(9)),
        (HANDS_OFF, Move::Claim(9)),
        (FIXED, Move::Set(3)),
    ] {
        let mut seen = scene(spec, "b", 0, false, "");
        change(&mut seen, ChildKind::Deployment, |object| {
            object["metadata"]["annotations"] = json!({labels::REPLICAS_BEFORE_SUSPEND: "9"});
        });
        assert_eq!(decide(&seen).next, expected, "{spec}");
    }
}

#[test]
fn every_phase_reports_what_it_waits_for_except_those_at_rest() {
    use HandoverPhase::{Fixed, HandedOver, Unmanaged};
    for spec in ALL {
        for managers in ["", "b", "t", "bt", "s", "bs", "bts", "o", "bo"] {
            for (own, others) in [(false, ""), (true, ""), (false, "a"), (false, "ab")] {
                let decided = decide(&scene(spec, managers, 5, own, others));
                let at_rest = matches!(decided.phase, Fixed | HandedOver | Unmanaged);
                assert!(
                    decided.waiting_for.is_some() || at_rest,
                    "{spec}, owned by {managers:?}: {decided:?}"
                );
            }
        }
    }
}

#[test]
fn baton_never_leaves_out_a_count_that_it_alone_owns() {
    for spec in ALL {
        for own in [false, true] {
            for others in ["", "a", "ab"] {
                let next = decide(&scene(spec, "b", 5, own, others)).next;
                assert_ne!(next, Move::LeaveOut, "{spec}, own: {own}, others: {others}");
            }
        }
    }
}
