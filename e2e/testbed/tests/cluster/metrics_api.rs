//! The metrics API behind a real kube-apiserver: what autoscalers and people get to see through it.
use baton_testbed::{Cluster, ControlPlane, MetricsApi, PATIENCE};
use serde_json::Value;

#[tokio::test]
#[ignore = "on a real control plane"]
async fn the_load_of_a_workload_is_shared_by_its_pods_and_found_through_the_api_server() {
    let cluster = ControlPlane::shared().await;
    let metrics = MetricsApi::of(&Cluster::Real(cluster.clone())).await;
    let namespace = cluster.namespace("metrics").await.unwrap();
    let in_namespace = ["--namespace", namespace.name()];
    let kubectl = async |args: &[&str]| {
        cluster.kubectl(args.iter().chain(&in_namespace)).await.unwrap().success().unwrap()
    };

    let resources = kubectl(&["api-resources", "--api-group=metrics.k8s.io", "--no-headers"]).await;
    assert!(resources.contains("PodMetrics"), "discovery lists it: {resources}");
    let available =
        kubectl(&["wait", "apiservice", "v1beta1.metrics.k8s.io", "--for=condition=Available"]).await;
    assert!(available.contains("condition met"), "{available}");

    for pod in ["a", "b"] {
        kubectl(&["run", pod, "--image=app:1", "--labels=app=web"]).await;
    }
    kubectl(&["run", "c", "--image=app:1", "--labels=app=other"]).await;
    kubectl(&[
        "wait",
        "pods",
        "--all",
        "--for=condition=Ready",
        &format!("--timeout={}s", PATIENCE.as_secs()),
    ])
    .await;
    metrics.set_cpu(namespace.name(), "app=web", 500);
    let path = format!("/apis/metrics.k8s.io/v1beta1/namespaces/{namespace}/pods?labelSelector=app");
    let used = kubectl(&["get", "--raw", &path]).await;
    let used: Value = serde_json::from_str(&used).unwrap();
    let used: Vec<(&str, &str)> = used["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|pod| {
            (
                pod["metadata"]["name"].as_str().unwrap(),
                pod["containers"][0]["usage"]["cpu"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(used, [("a", "250m"), ("b", "250m")]);

    let top = kubectl(&["top", "pods", "--no-headers"]).await;
    assert!(top.contains("250m"), "{top}");
}
