//! The operator runs with the permissions of `manifests/`, and uses every one of them.

use baton_controller::decide::child::ChildKind;
use baton_e2e::permissions::{Difference, Usage, WORKLOADS, granted};
use baton_e2e::scenarios;
use baton_testbed::{Cluster, eventually};
use kube::api::{DeleteParams, PostParams};
use serde_json::json;

use crate::scene::Scene;

scenarios! {
    every_permission_is_used_and_none_is_missing,
}

/// Makes the operator do everything that it can do, with one Workload.
async fn do_everything(scene: &Scene) {
    let everything = json!({
        "replicas": 2,
        "service": {"ports": [{"port": 80}]},
        "autoscaling": {"minReplicas": 3, "maxReplicas": 4},
        "disruptionBudget": {"minAvailable": 1},
    });
    // Baton reads an object that exists though no cache has it, and refuses it.
    let theirs = [
        (ChildKind::Service, json!({"ports": [{"port": 80}]})),
        (ChildKind::DisruptionBudget, json!({"minAvailable": 1})),
    ];
    for (kind, spec) in &theirs {
        let object = json!({
            "apiVersion": kind.api_version(), "kind": kind.name(), "metadata": {"name": "web"}, "spec": spec,
        });
        let object = serde_json::from_value(object).unwrap();
        scene.children(*kind).create(&PostParams::default(), &object).await.unwrap();
    }
    scene.apply(&everything).await;
    scene.condition("Applied", "False").await;
    for (kind, _) in theirs {
        scene.children(kind).delete("web", &DeleteParams::background()).await.unwrap();
    }
    scene.condition("HandedOver", "True").await;
    scene.condition("Applied", "True").await;
    scene.apply(&json!({"replicas": 5})).await;
    for kind in [ChildKind::Service, ChildKind::Autoscaler, ChildKind::DisruptionBudget] {
        scene.gone(kind).await;
    }
    scene.child_where("five replicas", ChildKind::Deployment, |live| crate::scene::replicas(live) == 5).await;
    scene.condition("Applied", "True").await;
}

async fn every_permission_is_used_and_none_is_missing(cluster: Cluster) {
    let scene = Scene::start(&cluster, "permissions").await;
    do_everything(&scene).await;

    // Only replicas use the permissions of the election.
    let granted = granted(WORKLOADS).unwrap();
    eventually("every permission to be used", async || {
        let requests = scene.requests();
        let denied = requests.iter().find(|request| request.code == Some(403));
        assert!(denied.is_none(), "a permission is missing: {denied:#?}");
        let difference = Usage::of(requests.iter()).compare(&granted);
        if difference == Difference::default() { Ok(()) } else { Err(difference) }
    })
    .await;
}
