//! From the first apply to the deletion: what the spec no longer says goes, and no more.

use baton_controller::decide::child::ChildKind;
use kube::api::DeleteParams;
use serde_json::json;

use crate::scene::Scene;

#[tokio::test]
async fn an_env_var_that_the_workload_drops_leaves_the_deployment() {
    let scene = Scene::start("env").await;
    let template = |env| json!({"spec": {"containers": [{"name": "app", "image": "app:1", "env": env}]}});
    let both = json!([{"name": "KEEP", "value": "1"}, {"name": "DROP", "value": "2"}]);
    scene.apply(&json!({"template": template(both)})).await;
    scene.condition("Applied", "True").await;
    scene.apply(&json!({"template": template(json!([{"name": "KEEP", "value": "1"}]))})).await;
    scene
        .child_where("only KEEP to be left", ChildKind::Deployment, |deployment| {
            deployment.data["spec"]["template"]["spec"]["containers"][0]["env"]
                == json!([{"name": "KEEP", "value": "1"}])
        })
        .await;
}

#[tokio::test]
async fn a_part_that_the_workload_drops_is_deleted_with_its_child() {
    let scene = Scene::start("drop").await;
    scene
        .apply(&json!({"service": {"ports": [{"port": 80}]}, "disruptionBudget": {"minAvailable": 1}}))
        .await;
    scene.condition("Applied", "True").await;
    assert!(scene.child(ChildKind::Service).await.is_some());
    scene.apply(&json!({"disruptionBudget": {"minAvailable": 1}})).await;
    scene.gone(ChildKind::Service).await;
    assert!(scene.child(ChildKind::DisruptionBudget).await.is_some());
    scene.apply(&json!({})).await;
    scene.gone(ChildKind::DisruptionBudget).await;
    assert!(scene.child(ChildKind::Deployment).await.is_some());
}

#[tokio::test]
async fn a_deleted_workload_takes_all_its_children() {
    let scene = Scene::start("deletion").await;
    scene
        .apply(&json!({
            "service": {"ports": [{"port": 80}]},
            "autoscaling": {"minReplicas": 1, "maxReplicas": 2},
            "disruptionBudget": {"minAvailable": 1},
        }))
        .await;
    scene.condition("Applied", "True").await;
    for kind in ChildKind::ALL {
        assert!(scene.child(kind).await.is_some(), "{kind} before the deletion");
    }
    scene.workloads().delete("web", &DeleteParams::background()).await.unwrap();
    for kind in ChildKind::ALL {
        scene.gone(kind).await;
    }
}

#[tokio::test]
async fn a_paused_workload_gets_no_write_until_it_is_enforced_again() {
    let scene = Scene::start("paused").await;
    scene.apply(&json!({"mode": "Paused"})).await;
    assert_eq!(scene.condition("Applied", "Unknown").await.reason, "Paused");
    assert!(scene.child(ChildKind::Deployment).await.is_none());
    scene.apply(&json!({})).await;
    scene.condition("Ready", "True").await;
}

#[tokio::test]
async fn sigterm_ends_the_operator_cleanly() {
    let scene = Scene::start("sigterm").await;
    scene.apply(&json!({})).await;
    scene.condition("Applied", "True").await;
    let status = scene.operator.stop().await.unwrap();
    assert!(status.success(), "{status}\n{}", scene.operator.logs());
    assert!(scene.operator.logs().contains("stopped"), "{}", scene.operator.logs());
}
