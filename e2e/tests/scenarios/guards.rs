//! The server refuses a write that is safe only in the state that was read, if the state is another. The operator then reads
//! again.

use std::time::Duration;

use baton_apply::{
    Applier, Change, DryRun, Guard, LiveObject, Outcome, Request, Target,
    ownership::{FieldRelease, hand_over},
};
use baton_controller::{
    HANDOVER_MANAGER,
    decide::{
        child::ChildKind,
        intent::{Selector, deployment},
        plan::Step,
        replicas::{REPLICAS, Replicas},
    },
};
use baton_crd::Workload;
use baton_e2e::{Environment, environment::replicas, scenarios};
use baton_testbed::{Cluster, eventually};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use kube::{
    Api,
    api::{DeleteParams, PostParams},
};
use serde_json::json;

scenarios! {
    an_apply_never_recreates_a_deleted_object,
    a_step_planned_from_an_older_state_is_refused,
    the_temporary_manager_never_takes_the_replica_count_from_another_owner,
    a_pod_that_is_deleted_gracefully_is_not_gone,
}

/// A Workload that the operator leaves alone, and an applier without predictions that acts instead.
async fn applier_for_a_paused_workload(env: &Environment) -> (Applier, Workload) {
    env.apply(&json!({"mode": "Paused"})).await;
    env.condition("Applied", "Unknown").await;
    (Applier::new(env.client.clone(), None, Duration::from_secs(30)), env.workload().await)
}

fn apply(workload: &Workload, replicas: Option<i32>, guard: Guard) -> Step {
    let intent = deployment(workload, replicas, &Selector::of(workload, None)).unwrap();
    Step::Apply { child: ChildKind::Deployment, intent, guard }
}

async fn send(applier: &Applier, workload: &Workload, step: &Step) -> Outcome {
    let request = step.request(workload).unwrap();
    let write = applier.schemas().prepare(request, None, Timestamp::now());
    applier.perform(&write, None, DryRun::No).await
}

async fn done(applier: &Applier, workload: &Workload, step: Step) -> LiveObject {
    match send(applier, workload, &step).await {
        Outcome::Stored { object, .. } => object,
        outcome => panic!("{outcome:?}"),
    }
}

async fn assert_stale(applier: &Applier, workload: &Workload, step: Step) {
    let what = step.describe();
    let outcome = send(applier, workload, &step).await;
    assert!(matches!(outcome, Outcome::Stale { .. }), "{what} ended in {outcome:?}");
}

/// Hands over the replica count in this object.
fn handing_over(target: &Target, live: &LiveObject) -> Step {
    Step::HandOver(hand_over(target.clone(), live, REPLICAS, HANDOVER_MANAGER).unwrap().into())
}

async fn an_apply_never_recreates_a_deleted_object(cluster: Cluster) {
    let env = Environment::start(&cluster, "gone").await;
    let (applier, workload) = applier_for_a_paused_workload(&env).await;
    let live = done(&applier, &workload, apply(&workload, Some(3), Guard::Absent)).await;
    let deployments = env.children(ChildKind::Deployment);
    deployments.delete("web", &DeleteParams::background()).await.unwrap();
    env.gone(ChildKind::Deployment).await;

    let before = live.revision();
    assert_stale(&applier, &workload, apply(&workload, None, Guard::SameObject(before.uid.clone()))).await;
    assert_stale(&applier, &workload, apply(&workload, None, Guard::Unchanged(before.clone()))).await;
    let target = ChildKind::Deployment.target(&workload);
    assert_stale(&applier, &workload, handing_over(&target, &live)).await;
    assert!(env.child(ChildKind::Deployment).await.is_none());

    let another = done(&applier, &workload, apply(&workload, Some(4), Guard::Absent)).await;
    assert_ne!(another.revision().uid, before.uid);
    assert_stale(&applier, &workload, apply(&workload, Some(1), Guard::SameObject(before.uid))).await;
    assert_eq!(replicas(&env.child(ChildKind::Deployment).await.unwrap()), 4);
}

async fn a_step_planned_from_an_older_state_is_refused(cluster: Cluster) {
    let env = Environment::start(&cluster, "older").await;
    let (applier, workload) = applier_for_a_paused_workload(&env).await;
    done(&applier, &workload, apply(&workload, Some(3), Guard::Absent)).await;
    env.scale_as("autoscaler", 5).await;

    let live = env.live(ChildKind::Deployment).await;
    let owners = Replicas::of(&live).owners.scale;
    assert_eq!(owners.len(), 1, "the write through the scale subresource left its entry");
    let mut older = live.as_json().unwrap().clone();
    older["metadata"]["resourceVersion"] = json!("2");
    let older = LiveObject::from_json(older).unwrap();
    let target = ChildKind::Deployment.target(&workload);
    for step in [
        apply(&workload, None, Guard::Unchanged(older.revision())),
        handing_over(&target, &older),
        Step::ReleaseTemporary(FieldRelease::new(&older, REPLICAS, &owners)),
        Step::ReleaseScale(FieldRelease::new(&older, REPLICAS, &owners)),
        Step::Delete { child: ChildKind::Deployment, revision: older.revision() },
    ] {
        assert_stale(&applier, &workload, step).await;
    }
    assert_eq!(replicas(&env.child(ChildKind::Deployment).await.unwrap()), 5);
}

async fn the_temporary_manager_never_takes_the_replica_count_from_another_owner(cluster: Cluster) {
    let env = Environment::start(&cluster, "not-forced").await;
    let (applier, workload) = applier_for_a_paused_workload(&env).await;
    done(&applier, &workload, apply(&workload, Some(3), Guard::Absent)).await;
    env.scale_as("autoscaler", 5).await;

    // The Deployment's controllers write its status meanwhile, so this is tried until no write comes between.
    eventually("a conflict of owners", async || {
        let mut stale = env.live(ChildKind::Deployment).await.as_json().unwrap().clone();
        stale["spec"]["replicas"] = json!(3);
        let target = ChildKind::Deployment.target(&workload);
        let step = handing_over(&target, &LiveObject::from_json(stale).unwrap());
        match send(&applier, &workload, &step).await {
            Outcome::Stale { error, .. } if error.to_string().contains("conflict with") => Ok(()),
            outcome => Err(outcome),
        }
    })
    .await;
    let deployment = env.live(ChildKind::Deployment).await;
    let replicas = Replicas::of(&deployment);
    assert_eq!(replicas.count, 5);
    assert!(!replicas.owners.temporary);
}

async fn a_pod_that_is_deleted_gracefully_is_not_gone(cluster: Cluster) {
    let env = Environment::start(&cluster, "graceful").await;
    let pods: Api<Pod> = env.api();
    let pod: Pod = serde_json::from_value(json!({
        "metadata": {"name": "web"},
        "spec": {"nodeName": "somewhere", "terminationGracePeriodSeconds": 30, "containers": [{"name": "app", "image": "app:1"}]},
    }))
    .unwrap();
    let pod = eventually("the pod to be created", async || {
        // Its ServiceAccount may not be there yet.
        pods.create(&PostParams::default(), &pod).await
    })
    .await;
    let applier = Applier::new(env.client.clone(), None, Duration::from_secs(30));
    let left = eventually("the pod to be deleted", async || {
        // Its controllers may write it meanwhile.
        let live = applier.read(&Target::of(&pod, &())).await.unwrap().unwrap();
        let change = Change::Delete(live.revision());
        applier.send(&Request { target: Target::of(&pod, &()), change }, DryRun::No).await
    })
    .await;
    assert!(left.is_some_and(|left| left.is_terminating()), "it lives on for its grace period");
}
