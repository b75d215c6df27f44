//! `plan`: the steps for each state that was read.

use std::collections::BTreeSet;

use crate::common::{child, deployment_owned_by, disown, seen, terminate, workload};
use baton_apply::{Change, Guard};
use baton_controller::decide::{
    child::ChildKind,
    plan::{Plan, Step, Then, plan},
    snapshot::Snapshot,
};
use proptest::prelude::*;
use serde_json::{Value, json};

fn plan_of(seen: &Snapshot) -> Plan {
    plan(seen, &BTreeSet::new()).unwrap()
}

/// The plan's steps, each with its text and its child.
fn steps(plan: &Plan) -> Vec<String> {
    plan.steps.iter().map(|step| format!("{} {}", step.describe(), step.child())).collect()
}

/// The replica count that a step applies.
fn replicas_of(step: &Step) -> Option<i64> {
    let Change::Apply { body, .. } = step.request(&workload(&json!({}))).unwrap().change else { return None };
    body["spec"]["replicas"].as_i64()
}

#[test]
fn each_state_of_the_handover_and_of_the_way_back_has_its_next_steps() {
    let autoscaled = json!({"autoscaling": {"minReplicas": 2, "maxReplicas": 5}});
    let fixed = json!({"replicas": 3});
    let create = "create Deployment";
    let hand_over = "hand replicas over to the temporary manager Deployment";
    let apply = "apply Deployment";
    let create_hpa = "create HorizontalPodAutoscaler";
    for (spec, owners, has_autoscaler, expected, then, count) in [
        (&autoscaled, None, false, vec![create], Then::PlanAgain, Some(2)),
        (&autoscaled, Some("b"), false, vec![hand_over], Then::PlanAgain, Some(5)),
        (&autoscaled, Some("bt"), false, vec![apply], Then::PlanAgain, None),
        (&autoscaled, Some("t"), false, vec![apply, create_hpa], Then::Rest, None),
        (&fixed, Some("s"), true, vec!["delete HorizontalPodAutoscaler"], Then::PlanAgain, None),
        (&fixed, Some("s"), false, vec![apply], Then::PlanAgain, Some(5)),
        (&fixed, Some("bts"), false, vec!["release the temporary manager Deployment"], Then::PlanAgain, None),
        (&fixed, Some("bs"), false, vec!["release stale scale entries Deployment"], Then::PlanAgain, None),
        (&fixed, Some("b"), false, vec![apply], Then::Rest, Some(3)),
    ] {
        let deployment = owners.map(|owners| deployment_owned_by(owners, 5));
        let children = deployment.into_iter().chain(has_autoscaler.then(|| child(ChildKind::Autoscaler)));
        let plan = plan_of(&seen(&workload(spec), children));
        assert_eq!(
            (steps(&plan), plan.then),
            (expected.iter().map(|step| (*step).to_owned()).collect(), then)
        );
        assert_eq!(replicas_of(&plan.steps[0]), count, "{spec}, owned by {owners:?}");
        for step in &plan.steps {
            let Step::Apply { guard, .. } = step else { continue };
            assert!(step.creates() || matches!(guard, Guard::Unchanged(_)), "{step:?}");
        }
    }
}

#[test]
fn the_temporary_manager_applies_the_live_count_without_force() {
    let workload = workload(&json!({"autoscaling": {"minReplicas": 2, "maxReplicas": 5}}));
    let plan = plan_of(&seen(&workload, [deployment_owned_by("b", 4)]));
    let Step::HandOver(request) = &plan.steps[0] else { panic!("{plan:?}") };
    let Change::Apply { body, force, .. } = &request.change else { panic!("{request:?}") };
    assert_eq!((body["spec"]["replicas"].as_i64(), force), (Some(4), &false));
    assert_eq!(body["metadata"]["resourceVersion"], "7");
}

#[test]
fn of_the_temporary_managers_name_only_the_replica_count_is_added_and_released() {
    let patched = |spec: &Value, managers: &str, fields: Value| {
        let workload = workload(spec);
        let (kind, mut deployment) = deployment_owned_by(managers, 5);
        let entries = deployment["metadata"]["managedFields"].as_array_mut().unwrap();
        entries.last_mut().unwrap()["fieldsV1"] = fields;
        let plan = plan_of(&seen(&workload, [(kind, deployment)]));
        let Change::Patch { operations, .. } = plan.steps[0].request(&workload).unwrap().change else {
            panic!("{plan:?} applies an intent without the other field")
        };
        serde_json::to_value(operations).unwrap()[1].clone()
    };
    let [both, other] = [
        json!({"f:spec": {"f:minReadySeconds": {}, "f:replicas": {}}}),
        json!({"f:spec": {"f:minReadySeconds": {}}}),
    ];
    let replaced = |fields: &Value| json!({"op": "replace", "path": "/metadata/managedFields/1/fieldsV1", "value": fields});
    let autoscaling = json!({"autoscaling": {"maxReplicas": 9}});
    assert_eq!(patched(&autoscaling, "bt", other.clone()), replaced(&both));
    assert_eq!(patched(&json!({"replicas": 3}), "bt", both), replaced(&other));
}

#[test]
fn existing_objects_are_written_only_in_the_state_that_was_read() {
    let workload = workload(&json!({
        "replicas": 3,
        "autoscaling": {"maxReplicas": 5},
        "service": {"ports": [{"port": 80}]},
        "disruptionBudget": {"maxUnavailable": 1},
    }));
    let others = [ChildKind::Service, ChildKind::Autoscaler, ChildKind::DisruptionBudget].map(child);
    let plan = plan_of(&seen(&workload, [deployment_owned_by("s", 4)].into_iter().chain(others)));
    assert_eq!(plan.steps.len(), ChildKind::ALL.len());
    for step in plan.steps {
        assert!(matches!(step, Step::Apply { guard: Guard::Unchanged(_), .. }), "{step:?}");
    }
}

#[test]
fn a_child_that_the_spec_no_longer_has_is_deleted_and_another_owners_object_is_not() {
    let workload = workload(&json!({"replicas": 1}));
    let mut seen = seen(
        &workload,
        [deployment_owned_by("b", 1), child(ChildKind::Service), child(ChildKind::DisruptionBudget)],
    );
    disown(&mut seen, ChildKind::DisruptionBudget);
    assert_eq!(steps(&plan_of(&seen)), ["delete Service", "apply Deployment"]);
}

#[test]
fn a_workload_that_is_being_deleted_gets_no_write() {
    let mut deleted = workload(&json!({"replicas": 1}));
    deleted.metadata.deletion_timestamp = serde_json::from_value(json!("2026-01-02T03:04:05Z")).unwrap();
    assert_eq!(steps(&plan_of(&seen(&deleted, []))), Vec::<String>::new());
}

#[test]
fn a_child_that_is_being_deleted_is_not_written() {
    let workload = workload(&json!({"service": {"ports": [{"port": 80}]}}));
    let mut seen = seen(&workload, [deployment_owned_by("t", 1), child(ChildKind::Service)]);
    terminate(&mut seen, ChildKind::Service);
    assert_eq!(steps(&plan_of(&seen)), ["apply Deployment"]);
}

proptest! {
    /// All other promises rest on this one: a Deployment's intent without replicas is sent only with a guard, and only if another
    /// manager owns the replica count or Baton doesn't.
    #[test]
    fn replicas_are_left_out_only_with_a_guard_and_never_while_only_baton_owns_them(
        owners in proptest::sample::subsequence(vec!['b', 't', 's', 'o'], 0..=4),
        autoscaler in any::<bool>(),
        spec in proptest::sample::select(vec![
            json!({"replicas": 3}),
            json!({}),
            json!({"autoscaling": {"minReplicas": 2, "maxReplicas": 5}}),
            json!({"replicas": 3, "autoscaling": {"external": {}}}),
        ]),
    ) {
        let owners: String = owners.into_iter().collect();
        let workload = workload(&spec);
        let children = std::iter::once(deployment_owned_by(&owners, 4)).chain(autoscaler.then(|| child(ChildKind::Autoscaler)));
        for step in plan_of(&seen(&workload, children)).steps {
            let Step::Apply { child: ChildKind::Deployment, guard, .. } = &step else { continue };
            if replicas_of(&step).is_none() {
                prop_assert!(matches!(guard, Guard::Unchanged(_)), "{step:?}");
                prop_assert!(owners != "b", "{step:?}");
            }
        }
    }
}
