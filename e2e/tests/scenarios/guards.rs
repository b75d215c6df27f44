//! A write that is safe only in the state that was seen is refused by the server in any other, and the operator takes
//! each such refusal for what it is: a reason to look again.

use std::time::Duration;

use baton_controller::{
    act::{Actor, Effect, Outcome},
    child::ChildKind,
    intent::{Selector, deployment},
    live::{Live, Revision},
    plan::{Guard, Step},
    request::Request,
};
use baton_crd::Workload;
use kube::api::DeleteParams;
use serde_json::json;

use crate::scene::{Scene, replicas};

/// A Workload that the operator leaves alone, and an actor to act in its stead.
async fn actor_for_a_paused_workload(scene: &Scene) -> (Actor, Workload) {
    scene.apply(&json!({"mode": "Paused"})).await;
    scene.condition("Applied", "Unknown").await;
    (Actor::new(scene.client.clone(), Duration::from_secs(30)), scene.workload().await)
}

fn apply(workload: &Workload, replicas: Option<i32>, guard: Guard) -> Step {
    let intent = deployment(workload, replicas, &Selector::of(workload, None)).unwrap();
    Step::Apply { child: ChildKind::Deployment, intent, guard }
}

async fn send(actor: &Actor, workload: &Workload, step: &Step) -> Outcome {
    actor.send(workload, Request::of(step, workload).unwrap(), Effect::Stored).await
}

async fn done(actor: &Actor, workload: &Workload, step: Step) -> Live {
    match send(actor, workload, &step).await {
        Outcome::Done(Some(live)) => live,
        outcome => panic!("{outcome:?}"),
    }
}

async fn assert_stale(actor: &Actor, workload: &Workload, step: Step) {
    let what = step.describe();
    let outcome = send(actor, workload, &step).await;
    assert!(matches!(outcome, Outcome::Stale(_)), "{what} ended in {outcome:?}");
}

#[tokio::test]
async fn an_apply_to_an_object_that_is_gone_never_brings_it_back() {
    let scene = Scene::start("gone").await;
    let (actor, workload) = actor_for_a_paused_workload(&scene).await;
    let live = done(&actor, &workload, apply(&workload, Some(3), Guard::Create)).await;
    let deployments = scene.children(ChildKind::Deployment);
    deployments.delete("web", &DeleteParams::background()).await.unwrap();
    scene.gone(ChildKind::Deployment).await;

    let before = live.revision();
    assert_stale(&actor, &workload, apply(&workload, None, Guard::SameObject(before.uid.clone()))).await;
    assert_stale(&actor, &workload, apply(&workload, None, Guard::Unchanged(before.clone()))).await;
    assert_stale(&actor, &workload, Step::HandOver { replicas: 3, revision: before.clone() }).await;
    assert!(scene.child(ChildKind::Deployment).await.is_none());

    let another = done(&actor, &workload, apply(&workload, Some(4), Guard::Create)).await;
    assert_ne!(another.revision().uid, before.uid);
    assert_stale(&actor, &workload, apply(&workload, Some(1), Guard::SameObject(before.uid))).await;
    assert_eq!(replicas(&scene.child(ChildKind::Deployment).await.unwrap()), 4);
}

#[tokio::test]
async fn a_step_planned_from_an_older_state_is_refused() {
    let scene = Scene::start("older").await;
    let (actor, workload) = actor_for_a_paused_workload(&scene).await;
    done(&actor, &workload, apply(&workload, Some(3), Guard::Create)).await;
    scene.scale_as("autoscaler", 5).await;

    let live = scene.live(ChildKind::Deployment).await;
    let older = Revision { resource_version: "1".into(), ..live.revision() };
    let entries = live.replica_holders().scale;
    assert_eq!(entries.len(), 1, "the write through the scale subresource left its entry");
    for step in [
        apply(&workload, None, Guard::Unchanged(older.clone())),
        Step::HandOver { replicas: 5, revision: older.clone() },
        Step::ReleaseTemporary { revision: older.clone() },
        Step::ReleaseScale { entries, revision: older.clone() },
        Step::Delete { child: ChildKind::Deployment, revision: older },
    ] {
        assert_stale(&actor, &workload, step).await;
    }
    assert_eq!(replicas(&scene.child(ChildKind::Deployment).await.unwrap()), 5);
}

#[tokio::test]
async fn the_temporary_manager_never_takes_the_number_from_somebody_else() {
    let scene = Scene::start("not-forced").await;
    let (actor, workload) = actor_for_a_paused_workload(&scene).await;
    done(&actor, &workload, apply(&workload, Some(3), Guard::Create)).await;
    scene.scale_as("autoscaler", 5).await;

    // The Deployment's controllers write its status meanwhile, so the revision is read until one holds.
    scene
        .eventually("a conflict of owners", async || {
            let live = scene.live(ChildKind::Deployment).await;
            let step = Step::HandOver { replicas: 3, revision: live.revision() };
            match send(&actor, &workload, &step).await {
                Outcome::Stale(error) if error.to_string().contains("conflict with") => Ok(()),
                outcome => Err(outcome),
            }
        })
        .await;
    let deployment = scene.live(ChildKind::Deployment).await;
    assert_eq!(deployment.replicas(), 5);
    assert!(!deployment.replica_holders().temporary);
}
