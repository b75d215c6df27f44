//! `plan`, by the states it is asked about: what was seen on one side, the steps on the other.

use std::collections::BTreeSet;

use crate::common::{child, deployment_held_by, disown, seen, terminate, workload};
use baton_apply::{Change, Guard};
use baton_controller::decide::{
    child::ChildKind,
    plan::{Plan, Step, Then, plan},
    snapshot::Snapshot,
};
use proptest::prelude::*;
use serde_json::json;

fn plan_of(seen: &Snapshot) -> Plan {
    plan(seen, &BTreeSet::new()).unwrap()
}

/// The plan's steps, a word and a child each.
fn told(plan: &Plan) -> Vec<String> {
    plan.steps.iter().map(|step| format!("{} {}", step.describe(), step.child())).collect()
}

fn replicas_of(step: &Step) -> Option<i64> {
    let Step::Apply { intent, .. } = step else { panic!("{step:?} is no apply") };
    intent.as_value()["spec"]["replicas"].as_i64()
}

#[test]
fn a_new_workload_gets_its_children_in_one_plan() {
    let workload = workload(&json!({
        "replicas": 3,
        "service": {"ports": [{"port": 80}]},
        "disruptionBudget": {"maxUnavailable": 1},
    }));
    let plan = plan_of(&seen(&workload, []));
    assert_eq!(told(&plan), ["create Service", "create PodDisruptionBudget", "create Deployment"]);
    assert_eq!(plan.then, Then::Rest);
    assert_eq!(replicas_of(&plan.steps[2]), Some(3));
}

#[test]
fn a_new_autoscaled_workload_starts_with_its_deployment_alone() {
    let workload = workload(&json!({"autoscaling": {"minReplicas": 2, "maxReplicas": 5}}));
    let plan = plan_of(&seen(&workload, []));
    assert_eq!(told(&plan), ["create Deployment"]);
    assert_eq!(plan.then, Then::PlanAgain);
    assert_eq!(replicas_of(&plan.steps[0]), Some(2));
}

#[test]
fn replicas_pass_to_the_temporary_manager_before_baton_lets_go_and_the_autoscaler_comes_last() {
    let workload = workload(&json!({"autoscaling": {"minReplicas": 2, "maxReplicas": 5}}));

    let first = plan_of(&seen(&workload, [deployment_held_by("b", 4)]));
    assert_eq!(told(&first), ["hand replicas over to the temporary manager Deployment"]);
    let Step::HandOver(request) = &first.steps[0] else { panic!("{:?}", first.steps) };
    let Change::Apply { body, force, .. } = &request.change else { panic!("{request:?}") };
    assert_eq!((body["spec"]["replicas"].as_i64(), force), (Some(4), &false));
    assert_eq!(body["metadata"]["resourceVersion"], "7");
    assert_eq!(first.then, Then::PlanAgain);

    let second = plan_of(&seen(&workload, [deployment_held_by("bt", 4)]));
    assert_eq!(told(&second), ["apply Deployment"]);
    assert_eq!(replicas_of(&second.steps[0]), None);
    assert!(matches!(second.steps[0], Step::Apply { guard: Guard::Unchanged(_), .. }));
    assert_eq!(second.then, Then::PlanAgain);

    let third = plan_of(&seen(&workload, [deployment_held_by("t", 4)]));
    assert_eq!(told(&third), ["apply Deployment", "create HorizontalPodAutoscaler"]);
    assert_eq!(replicas_of(&third.steps[0]), None);
    assert_eq!(third.then, Then::Rest);
}

#[test]
fn the_way_back_deletes_the_autoscaler_takes_the_live_number_and_releases_the_others() {
    let workload = workload(&json!({"replicas": 3}));

    let plan = plan_of(&seen(&workload, [deployment_held_by("s", 5), child(ChildKind::Autoscaler)]));
    assert_eq!(told(&plan), ["delete HorizontalPodAutoscaler"]);
    assert_eq!(plan.then, Then::PlanAgain);

    let plan = plan_of(&seen(&workload, [deployment_held_by("s", 5)]));
    assert_eq!(told(&plan), ["apply Deployment"]);
    assert_eq!(replicas_of(&plan.steps[0]), Some(5));
    assert!(matches!(plan.steps[0], Step::Apply { guard: Guard::Unchanged(_), .. }));
    assert_eq!(plan.then, Then::PlanAgain);

    let plan = plan_of(&seen(&workload, [deployment_held_by("bts", 5)]));
    assert_eq!(told(&plan), ["release the temporary manager Deployment"]);
    let plan = plan_of(&seen(&workload, [deployment_held_by("bs", 5)]));
    assert_eq!(told(&plan), ["release stale scale entries Deployment"]);

    let plan = plan_of(&seen(&workload, [deployment_held_by("b", 5)]));
    assert_eq!((told(&plan), replicas_of(&plan.steps[0])), (vec!["apply Deployment".to_owned()], Some(3)));
    assert_eq!(plan.then, Then::Rest);
}

#[test]
fn what_is_there_is_written_only_as_it_was_seen() {
    let workload = workload(&json!({
        "replicas": 3,
        "autoscaling": {"maxReplicas": 5},
        "service": {"ports": [{"port": 80}]},
        "disruptionBudget": {"maxUnavailable": 1},
    }));
    let others = [ChildKind::Service, ChildKind::Autoscaler, ChildKind::DisruptionBudget].map(child);
    let plan = plan_of(&seen(&workload, [deployment_held_by("s", 4)].into_iter().chain(others)));
    assert_eq!(plan.steps.len(), ChildKind::ALL.len());
    for step in plan.steps {
        assert!(matches!(step, Step::Apply { guard: Guard::Unchanged(_), .. }), "{step:?}");
    }
}

#[test]
fn a_child_of_somebody_else_is_left_alone_and_the_others_go_on() {
    let workload = workload(&json!({"service": {"ports": [{"port": 80}]}}));
    let mut seen = seen(&workload, [deployment_held_by("b", 1), child(ChildKind::Service)]);
    disown(&mut seen, ChildKind::Service);
    let plan = plan_of(&seen);
    assert_eq!(plan.refused.len(), 1);
    assert!(
        plan.refused[0].message.contains("Service web exists and isn't this Workload's"),
        "{:?}",
        plan.refused
    );
    assert!(plan.steps.iter().all(|step| step.child() == ChildKind::Deployment), "{:?}", told(&plan));
}

#[test]
fn a_child_that_is_no_longer_wanted_goes_and_one_of_somebody_else_stays() {
    let workload = workload(&json!({"replicas": 1}));
    let mut seen = seen(
        &workload,
        [deployment_held_by("b", 1), child(ChildKind::Service), child(ChildKind::DisruptionBudget)],
    );
    disown(&mut seen, ChildKind::DisruptionBudget);
    assert_eq!(told(&plan_of(&seen)), ["delete Service", "apply Deployment"]);
}

#[test]
fn a_workload_that_is_being_deleted_gets_no_write() {
    let mut deleted = workload(&json!({"replicas": 1}));
    deleted.metadata.deletion_timestamp = serde_json::from_value(json!("2026-01-02T03:04:05Z")).unwrap();
    assert_eq!(told(&plan_of(&seen(&deleted, []))), Vec::<String>::new());
}

#[test]
fn what_failed_a_moment_ago_is_held_back_and_the_others_go_on() {
    let workload = workload(&json!({"replicas": 1, "service": {"ports": [{"port": 80}]}}));
    let plan = plan(&seen(&workload, []), &BTreeSet::from([ChildKind::Deployment])).unwrap();
    assert_eq!(told(&plan), ["create Service"]);
}

#[test]
fn a_child_on_its_way_out_is_not_written() {
    let workload = workload(&json!({"service": {"ports": [{"port": 80}]}}));
    let mut seen = seen(&workload, [deployment_held_by("t", 1), child(ChildKind::Service)]);
    terminate(&mut seen, ChildKind::Service);
    assert_eq!(told(&plan_of(&seen)), ["apply Deployment"]);
}

proptest! {
    /// The promise under every other: a Deployment's intent without replicas is only ever sent guarded, and only where
    /// somebody else holds the number or Baton doesn't.
    #[test]
    fn replicas_are_left_out_only_behind_a_guard_and_never_while_baton_alone_holds_them(
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
        let children = std::iter::once(deployment_held_by(&owners, 4)).chain(autoscaler.then(|| child(ChildKind::Autoscaler)));
        for step in plan_of(&seen(&workload, children)).steps {
            let Step::Apply { child: ChildKind::Deployment, guard, .. } = &step else { continue };
            if replicas_of(&step).is_none() {
                prop_assert!(matches!(guard, Guard::Unchanged(_)), "{step:?}");
                prop_assert!(owners != "b", "{step:?}");
            }
        }
    }
}
