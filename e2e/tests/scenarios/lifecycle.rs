//! From the first apply to the deletion: Baton removes what the spec drops, and nothing else.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use baton_controller::decide::child::ChildKind;
use baton_e2e::{End, OperatorOptions, scenarios};
use baton_testbed::{Action, Cluster, Proxy};
use kube::api::DeleteParams;
use serde_json::json;

use crate::scene::Scene;

scenarios! {
    an_env_var_that_the_workload_drops_is_removed_from_the_deployment,
    the_child_of_a_part_that_the_workload_drops_is_deleted,
    the_children_of_a_deleted_workload_are_deleted,
    the_children_of_a_deleted_workload_stay_deleted_while_the_watch_of_workloads_fails,
    a_paused_workload_gets_no_write_until_it_is_enforced_again,
    sigterm_ends_the_operator_cleanly,
}

async fn an_env_var_that_the_workload_drops_is_removed_from_the_deployment(cluster: Cluster) {
    let scene = Scene::start(&cluster, "env").await;
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

async fn the_child_of_a_part_that_the_workload_drops_is_deleted(cluster: Cluster) {
    let scene = Scene::start(&cluster, "drop").await;
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

async fn the_children_of_a_deleted_workload_are_deleted(cluster: Cluster) {
    let scene = Scene::start(&cluster, "deletion").await;
    scene.apply_with_every_child().await;
    scene.condition("Applied", "True").await;
    for kind in ChildKind::ALL {
        assert!(scene.child(kind).await.is_some(), "{kind} before the deletion");
    }
    scene.workloads().delete("web", &DeleteParams::background()).await.unwrap();
    for kind in ChildKind::ALL {
        scene.gone(kind).await;
    }
}

async fn the_children_of_a_deleted_workload_stay_deleted_while_the_watch_of_workloads_fails(
    cluster: Cluster,
) {
    let is_cut = Arc::new(AtomicBool::new(false));
    let fails = is_cut.clone();
    let proxy = Proxy::start(&cluster, move |request| {
        if request.path.ends_with("/workloads") && fails.load(Ordering::Relaxed) {
            Action::fail(500, "InternalError", "not today")
        } else {
            Action::Forward
        }
    });
    let proxy = proxy.await.unwrap();
    let options = OperatorOptions { by_way_of: Some(proxy.route()), ..OperatorOptions::default() };
    let scene = Scene::start_with(&cluster, "stays-deleted", options).await;
    scene.apply_with_every_child().await;
    scene.condition("Applied", "True").await;
    scene.at_rest().await;

    is_cut.store(true, Ordering::Relaxed);
    proxy.cut_watches();
    let mark = scene.mark();
    scene.workloads().delete("web", &DeleteParams::background()).await.unwrap();
    for kind in ChildKind::ALL {
        scene.gone(kind).await;
    }
    tokio::time::sleep(Duration::from_secs(20)).await;
    let written = scene.requests_since(mark).writes();
    let children = written
        .that(|write| write.name.as_deref() == Some("web") && write.resource.as_deref() != Some("workloads"));
    assert!(children.is_empty(), "nothing is created:\n{children}");
    is_cut.store(false, Ordering::Relaxed);
}

async fn a_paused_workload_gets_no_write_until_it_is_enforced_again(cluster: Cluster) {
    let scene = Scene::start(&cluster, "paused").await;
    scene.apply(&json!({"mode": "Paused"})).await;
    assert_eq!(scene.condition("Applied", "Unknown").await.reason, "Paused");
    assert!(scene.child(ChildKind::Deployment).await.is_none());
    scene.apply(&json!({})).await;
    scene.condition("Ready", "True").await;
}

async fn sigterm_ends_the_operator_cleanly(cluster: Cluster) {
    let scene = Scene::start(&cluster, "sigterm").await;
    scene.apply(&json!({})).await;
    scene.condition("Applied", "True").await;
    assert_eq!(scene.operator.stop().await.unwrap(), End::Success, "{}", scene.operator.logs());
    assert!(scene.operator.logs().contains("stopped"), "{}", scene.operator.logs());
}
