//! The operator runs with the permissions of `manifests/`, and uses every one of them.

use std::collections::BTreeSet;

use baton_controller::child::ChildKind;
use k8s_openapi::api::rbac::v1::ClusterRole;
use kube::Api;
use serde_json::json;

use crate::scene::Scene;

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

#[tokio::test]
async fn every_permission_is_used_and_none_is_missing() {
    let scene = Scene::start("permissions").await;
    live_through_everything(&scene).await;

    let roles: Api<ClusterRole> = Api::all(scene.client.clone());
    let role = roles.get("baton").await.unwrap();
    let granted: BTreeSet<String> = role
        .rules
        .into_iter()
        .flatten()
        .flat_map(|rule| {
            let resources = rule.resources.unwrap_or_default();
            resources.into_iter().flat_map(move |resource| {
                rule.verbs.clone().into_iter().map(move |verb| format!("{verb} {resource}"))
            })
        })
        .collect();

    scene
        .eventually("every permission to be used", async || {
            let used: BTreeSet<String> = scene
                .requests()
                .into_iter()
                .filter(|entry| entry.resource.is_some())
                .inspect(|entry| assert_ne!(entry.code, Some(403), "a permission is missing: {entry:#?}"))
                .flat_map(|entry| {
                    // An apply that creates is logged as a patch, and the server asks for the permission to create too.
                    let created = (entry.verb == "patch" && entry.code == Some(201)).then_some("create");
                    let resource = entry.resource.unwrap_or_default();
                    let subresource = entry.subresource.map(|name| format!("/{name}")).unwrap_or_default();
                    let used = move |verb: &str| format!("{verb} {resource}{subresource}");
                    std::iter::once(used(&entry.verb)).chain(created.map(used)).collect::<Vec<_>>()
                })
                .collect();
            let unused: Vec<_> = granted.difference(&used).cloned().collect();
            let missing: Vec<_> = used.difference(&granted).cloned().collect();
            if unused.is_empty() && missing.is_empty() { Ok(()) } else { Err((unused, missing)) }
        })
        .await;
}
