//! From the first apply to the deletion: Baton removes what the spec drops, and nothing else.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use baton_controller::decide::child::ChildKind;
use baton_e2e::{End, Environment, OperatorOptions, scenarios};
use baton_testbed::{Action, Cluster, Proxy};
use kube::api::DeleteParams;
use serde_json::json;

scenarios! {
    an_env_var_that_the_workload_drops_is_removed_from_the_deployment,
    the_child_of_a_part_that_the_workload_drops_is_deleted,
    the_children_of_a_deleted_workload_are_deleted,
    the_children_of_a_deleted_workload_stay_deleted_while_the_watch_of_workloads_fails,
    a_paused_workload_gets_no_write_until_it_is_enforced_again,
    sigterm_ends_the_operator_cleanly,
}

async fn an_env_var_that_the_workload_drops_is_removed_from_the_deployment(cluster: Cluster) {
    let env = Environment::start(&cluster, "env").await;
    let template = |env| json!({"spec": {"containers": [{"name": "app", "image": "app:1", "env": env}]}});
    let both = json!([{"name": "KEEP", "value": "1"}, {"name": "DROP", "value": "2"}]);
    env.apply_until("Applied", &json!({"template": template(both)})).await;
    env.apply(&json!({"template": template(json!([{"name": "KEEP", "value": "1"}]))})).await;
    env.child_where("only KEEP to be left", ChildKind::Deployment, |deployment| {
        deployment.data["spec"]["template"]["spec"]["containers"][0]["env"]
            == json!([{"name": "KEEP", "value": "1"}])
    })
    .await;
}

async fn the_child_of_a_part_that_the_workload_drops_is_deleted(cluster: Cluster) {
    let env = Environment::start(&cluster, "drop").await;
    env.apply_until(
        "Applied",
        &json!({"service": {"ports": [{"port": 80}]}, "disruptionBudget": {"minAvailable": 1}}),
    )
    .await;
    assert!(env.child(ChildKind::Service).await.is_some());
    env.apply(&json!({"disruptionBudget": {"minAvailable": 1}})).await;
    env.gone(ChildKind::Service).await;
    assert!(env.child(ChildKind::DisruptionBudget).await.is_some());
    env.apply(&json!({})).await;
    env.gone(ChildKind::DisruptionBudget).await;
    assert!(env.child(ChildKind::Deployment).await.is_some());
}

async fn the_children_of_a_deleted_workload_are_deleted(cluster: Cluster) {
    let env = Environment::start(&cluster, "deletion").await;
    env.apply_with_every_child().await;
    env.condition("Applied", "True").await;
    for kind in ChildKind::ALL {
        assert!(env.child(kind).await.is_some(), "{kind} before the deletion");
    }
    env.workloads().delete("web", &DeleteParams::background()).await.unwrap();
    for kind in ChildKind::ALL {
        env.gone(kind).await;
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
    let options = OperatorOptions::by_way_of(&proxy);
    let env = Environment::start_with(&cluster, "stays-deleted", options).await;
    env.apply_with_every_child().await;
    env.condition("Applied", "True").await;
    env.at_rest().await;

    is_cut.store(true, Ordering::Relaxed);
    proxy.cut_watches();
    let mark = env.mark();
    env.workloads().delete("web", &DeleteParams::background()).await.unwrap();
    for kind in ChildKind::ALL {
        env.gone(kind).await;
    }
    tokio::time::sleep(Duration::from_secs(20)).await;
    let written = env.requests_since(mark).writes();
    let children = written
        .that(|write| write.name.as_deref() == Some("web") && write.resource.as_deref() != Some("workloads"));
    assert!(children.is_empty(), "nothing is created:\n{children}");
    is_cut.store(false, Ordering::Relaxed);
}

async fn a_paused_workload_gets_no_write_until_it_is_enforced_again(cluster: Cluster) {
    let env = Environment::start(&cluster, "paused").await;
    env.apply(&json!({"mode": "Paused"})).await;
    assert_eq!(env.condition("Applied", "Unknown").await.reason, "Paused");
    assert!(env.child(ChildKind::Deployment).await.is_none());
    env.apply_until("Ready", &json!({})).await;
}

async fn sigterm_ends_the_operator_cleanly(cluster: Cluster) {
    let env = Environment::start(&cluster, "sigterm").await;
    env.apply_until("Applied", &json!({})).await;
    assert_eq!(env.operator().stop().await.unwrap(), End::Success, "{}", env.operator().logs());
    assert!(env.operator().logs().contains("stopped"), "{}", env.operator().logs());
}
