//! The operator runs with the permissions of `manifests/`, and uses every one of them.

use baton_controller::decide::child::ChildKind;
use baton_e2e::permissions::{Difference, Usage, WORKLOADS, granted};
use baton_e2e::scenarios;
use baton_testbed::{Cluster, eventually};
use serde_json::json;

use crate::scene::Scene;

scenarios! {
    every_permission_is_used_and_none_is_missing,
}

/// Everything that the operator can be made to do, in one life of a Workload.
async fn live_through_everything(scene: &Scene) {
    let everything = json!({
        "replicas": 2,
        "service": {"ports": [{"port": 80}]},
        "autoscaling": {"minReplicas": 3, "maxReplicas": 4},
        "disruptionBudget": {"minAvailable": 1},
    });
    scene.apply(&everything).await;
    scene.condition("HandedOver", "True").await;
    scene.condition("Applied", "True").await;
    scene.apply(&json!({"replicas": 5})).await;
    for kind in [ChildKind::Service, ChildKind::Autoscaler, ChildKind::DisruptionBudget] {
        scene.gone(kind).await;
    }
    scene.child_where("five replicas", ChildKind::Deployment, |live| crate::scene::replicas(live) == 5).await;

    // The same Event twice in a row becomes a series, which is a patch of the first.
    for _ in 0..2 {
        scene.apply(&json!({"replicas": 5, "disruptionBudget": {"minAvailable": 1}})).await;
        scene.child_where("the budget", ChildKind::DisruptionBudget, |_| true).await;
        scene.apply(&json!({"replicas": 5})).await;
        scene.gone(ChildKind::DisruptionBudget).await;
    }
    scene.condition("Applied", "True").await;
}

async fn every_permission_is_used_and_none_is_missing(cluster: Cluster) {
    let scene = Scene::start(&cluster, "permissions").await;
    live_through_everything(&scene).await;

    // Those of the election are used by replicas only.
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
