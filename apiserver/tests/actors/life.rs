//! The lifetime of actors.

use std::time::Duration;

use baton_apiserver::{Actor, ApiServer, StartError};

use serde_json::json;

use crate::{
    cluster::{Cluster, PODS, pass, pod},
    stateful_sets,
};

#[tokio::test(start_paused = true)]
async fn nothing_is_left_when_a_server_is_dropped() {
    let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let before = tasks();
    let cluster = Cluster::with(Actor::all());
    cluster.settle().await;
    assert!(tasks() > before);
    drop(cluster);
    pass(Duration::from_millis(1)).await;
    assert_eq!(tasks(), before);
}

#[tokio::test(start_paused = true)]
async fn a_cluster_comes_to_rest() {
    let cluster = Cluster::with(Actor::all());
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
        "spec": {
            "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": pod("web", "100m")["spec"]},
        },
    });
    cluster.post("/apis/apps/v1/namespaces/default/deployments", deployment).await;
    let autoscaler = json!({
        "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "web"},
        "spec": {
            "minReplicas": 2, "maxReplicas": 3,
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
        },
    });
    cluster.post("/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers", autoscaler).await;
    let quota = json!({
        "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": {"hard": {"pods": "5"}},
    });
    cluster.post("/api/v1/namespaces/default/resourcequotas", quota).await;
    let budget = json!({
        "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "web"},
        "spec": {"maxUnavailable": "50%", "selector": {"matchLabels": {"app": "web"}}},
    });
    cluster.post("/apis/policy/v1/namespaces/default/poddisruptionbudgets", budget).await;
    cluster.post(stateful_sets::SETS, stateful_sets::set(2)).await;
    pass(Duration::from_secs(1)).await;
    assert_eq!(cluster.items(PODS).await.len(), 4);
    let budget = cluster.get("/apis/policy/v1/namespaces/default/poddisruptionbudgets/web").await;
    assert_eq!(budget["status"]["expectedPods"], 2);
    let version = async || cluster.get(PODS).await["metadata"]["resourceVersion"].clone();
    pass(Duration::from_mins(1)).await;
    let before = version().await;
    pass(Duration::from_mins(10)).await;
    assert_eq!(version().await, before);
}

#[test]
fn actors_need_a_runtime() {
    let refused = ApiServer::builder().actor(Actor::Pods).start().unwrap_err();
    assert!(matches!(refused, StartError::NoRuntime(_)), "{refused}");
    ApiServer::builder().start().unwrap();
}
