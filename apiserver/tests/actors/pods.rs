//! Pods.

use std::time::Duration;

use baton_apiserver::{Actor, Readiness};
use serde_json::{Value, json};

use crate::cluster::{Cluster, PODS, condition, pass, pod};

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
        let ready = pods.iter().filter(|pod| condition(pod, "Ready")[0] == "True");
        ready.map(|pod| pod["metadata"]["name"].clone()).collect::<Vec<_>>()
    };
    cluster.settle().await;
    assert_eq!(ready().await, ["quick"]);
    let slow = cluster.get(&format!("{PODS}/slow")).await;
    assert_eq!(
        condition(&slow, "Ready"),
        ["False", "ContainersNotReady", "containers with unready status: [app]"]
    );
    pass(Duration::from_secs(20)).await;
    assert_eq!(ready().await, ["quick", "slow"]);
    let slow = cluster.get(&format!("{PODS}/slow")).await;
    assert_eq!(condition(&slow, "Ready"), ["True", "", ""]);
    let entries = slow["metadata"]["managedFields"].as_array().unwrap();
    let kubelet = entries.iter().find(|entry| entry["subresource"] == "status").unwrap();
    assert_eq!(kubelet["manager"], "kubelet");
    cluster.server.pods().set_readiness_of([("app", "broken")], Readiness::AtOnce);
    cluster.settle().await;
    assert_eq!(ready().await.len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_running_pod_is_on_a_node_and_ends_there() {
    let cluster = Cluster::with([Actor::Pods]);
    cluster.post(PODS, pod("web", "1")).await;
    cluster.settle().await;
    assert_eq!(cluster.get(&format!("{PODS}/web")).await["spec"]["nodeName"], "node");
    let deleted = cluster.delete(&format!("{PODS}/web"), Value::Null).await;
    assert_eq!(deleted["metadata"]["deletionGracePeriodSeconds"], json!(30));
    cluster.settle().await;
    assert!(!cluster.is_there(&format!("{PODS}/web")).await);
}

#[tokio::test(start_paused = true)]
async fn gated_pods_and_those_of_another_scheduler_wait() {
    let cluster = Cluster::with([Actor::Pods]);
    let mut gated = pod("gated", "1");
    gated["spec"]["schedulingGates"] = json!([{"name": "example.com/wait"}]);
    let mut others = pod("others", "1");
    others["spec"]["schedulerName"] = "other".into();
    cluster.post(PODS, gated).await;
    cluster.post(PODS, others).await;
    let phases = async || {
        cluster.settle().await;
        let pods = cluster.items(PODS).await;
        pods.iter().map(|pod| pod["status"]["phase"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(phases().await, ["Pending", "Pending"]);
    cluster.patch(&format!("{PODS}/gated"), json!({"spec": {"schedulingGates": null}})).await;
    let binding = json!({
        "apiVersion": "v1", "kind": "Binding", "metadata": {"name": "others"},
        "target": {"kind": "Node", "name": "far"},
    });
    cluster.post(&format!("{PODS}/others/binding"), binding).await;
    assert_eq!(phases().await, ["Running", "Running"]);
    assert_eq!(condition(&cluster.get(&format!("{PODS}/gated")).await, "PodScheduled"), ["True", "", ""]);
}
