//! How pods fare.

use std::time::Duration;

use baton_apiserver::{Actor, Readiness};
use serde_json::{Value, json};

use crate::cluster::{Cluster, PODS, pass, pod, says};

#[tokio::test(start_paused = true)]
async fn pods_become_ready_when_a_test_says_so() {
    let cluster = Cluster::with([Actor::Pods]);
    cluster.server.pods().set_readiness(Readiness::After(Duration::from_secs(20)));
    cluster.server.pods().set_readiness_of([("app", "broken")], Readiness::Never);
    cluster.server.pods().set_readiness_of([("app", "quick")], Readiness::AtOnce);
    for name in ["slow", "broken", "quick"] {
        cluster.post(PODS, pod(name, "1")).await;
    }
    let ready = async || {
        let pods = cluster.items(PODS).await;
        assert!(pods.iter().all(|pod| pod["status"]["phase"] == "Running"));
        let ready = pods.iter().filter(|pod| says(pod, "Ready")[0] == "True");
        ready.map(|pod| pod["metadata"]["name"].clone()).collect::<Vec<_>>()
    };
    cluster.settle().await;
    assert_eq!(ready().await, ["quick"]);
    let slow = cluster.get(&format!("{PODS}/slow")).await;
    assert_eq!(
        says(&slow, "Ready"),
        ["False", "ContainersNotReady", "containers with unready status: [app]"]
    );
    pass(Duration::from_secs(20)).await;
    assert_eq!(ready().await, ["quick", "slow"]);
    let slow = cluster.get(&format!("{PODS}/slow")).await;
    assert_eq!(says(&slow, "Ready"), ["True", "", ""]);
    let entries = slow["metadata"]["managedFields"].as_array().unwrap();
    let kubelet = entries.iter().find(|entry| entry["subresource"] == "status").unwrap();
    assert_eq!(kubelet["manager"], "kubelet");
    cluster.server.pods().set_readiness_of([("app", "broken")], Readiness::AtOnce);
    cluster.settle().await;
    assert_eq!(ready().await.len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_pod_on_a_node_ends_when_it_is_deleted() {
    let cluster = Cluster::with([Actor::Pods]);
    let mut placed = pod("web", "1");
    placed["spec"]["nodeName"] = "node".into();
    cluster.post(PODS, placed).await;
    let deleted = cluster.delete(&format!("{PODS}/web"), Value::Null).await;
    assert_eq!(deleted["metadata"]["deletionGracePeriodSeconds"], json!(30));
    cluster.settle().await;
    assert!(!cluster.is_there(&format!("{PODS}/web")).await);
}
