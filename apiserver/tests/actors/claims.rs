//! PersistentVolumeClaims and their volumes.

use baton_apiserver::Actor;
use serde_json::{Value, json};

use crate::cluster::{Cluster, PODS, condition, pod};

const CLAIMS: &str = "/api/v1/namespaces/default/persistentvolumeclaims";
const VOLUMES: &str = "/api/v1/persistentvolumes";
const ATTRIBUTES: &str = "/apis/storage.k8s.io/v1/volumeattributesclasses";
const CLASSES: &str = "/apis/storage.k8s.io/v1/storageclasses";

fn claim(name: &str, class: Value) -> Value {
    let mut claim = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    });
    if !class.is_null() {
        claim["spec"]["storageClassName"] = class;
    }
    claim
}

fn volume(name: &str, size: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name},
        "spec": {
            "capacity": {"storage": size}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/data"},
        },
    })
}

fn user(name: &str, claim: &str) -> Value {
    let mut user = pod(name, "1");
    user["spec"]["volumes"] = json!([{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]);
    user
}

async fn phase(cluster: &Cluster, claim: &str) -> Value {
    cluster.settle().await;
    cluster.get(&format!("{CLAIMS}/{claim}")).await["status"]["phase"].clone()
}

#[tokio::test(start_paused = true)]
async fn a_claim_gets_a_volume_and_takes_it_along() {
    let cluster = Cluster::with([Actor::Claims]);
    cluster.post(CLAIMS, claim("data", Value::Null)).await;
    assert_eq!(phase(&cluster, "data").await, "Bound");
    let live = cluster.get(&format!("{CLAIMS}/data")).await;
    assert_eq!(live["status"]["capacity"], json!({"storage": "1Gi"}));
    let volumes = cluster.items(VOLUMES).await;
    assert_eq!(volumes[0]["metadata"]["name"], live["spec"]["volumeName"]);
    assert_eq!(volumes[0]["status"]["phase"], "Bound");
    cluster.delete(&format!("{CLAIMS}/data"), Value::Null).await;
    cluster.settle().await;
    assert!(cluster.items(CLAIMS).await.is_empty());
    assert!(cluster.items(VOLUMES).await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_claim_takes_the_smallest_volume_that_fits() {
    let cluster = Cluster::with([Actor::Claims]);
    for (name, size) in [("large", "10Gi"), ("small", "2Gi"), ("tiny", "1Mi")] {
        cluster.post(VOLUMES, volume(name, size)).await;
    }
    cluster.post(CLAIMS, claim("data", json!(""))).await;
    assert_eq!(phase(&cluster, "data").await, "Bound");
    assert_eq!(cluster.get(&format!("{CLAIMS}/data")).await["spec"]["volumeName"], "small");
    // A volume that wasn't provisioned for the claim stays, unbound.
    cluster.delete(&format!("{CLAIMS}/data"), Value::Null).await;
    cluster.post(CLAIMS, claim("other", json!(""))).await;
    assert_eq!(phase(&cluster, "other").await, "Bound");
    assert_eq!(cluster.get(&format!("{CLAIMS}/other")).await["spec"]["volumeName"], "large");
    assert_eq!(cluster.get(&format!("{VOLUMES}/small")).await["status"]["phase"], "Released");
    assert_eq!(cluster.get(&format!("{VOLUMES}/tiny")).await["status"]["phase"], "Available");
}

#[tokio::test(start_paused = true)]
async fn a_class_decides_when_and_whether_a_claim_is_bound() {
    let cluster = Cluster::with([Actor::Claims, Actor::Pods]);
    cluster.post(CLAIMS, claim("lost", json!("missing"))).await;
    assert_eq!(phase(&cluster, "lost").await, "Pending");
    cluster.post(PODS, user("stuck", "lost")).await;
    cluster.settle().await;
    assert_eq!(
        condition(&cluster.get(&format!("{PODS}/stuck")).await, "PodScheduled"),
        [
            "False",
            "Unschedulable",
            "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims. not found"
        ]
    );
    let class = json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "late"},
        "provisioner": "example.com/late", "volumeBindingMode": "WaitForFirstConsumer",
        "allowVolumeExpansion": true, "reclaimPolicy": "Retain",
    });
    cluster.post(CLASSES, class).await;
    cluster.post(CLAIMS, claim("late", json!("late"))).await;
    assert_eq!(phase(&cluster, "late").await, "Pending");
    cluster.post(PODS, user("first", "late")).await;
    assert_eq!(phase(&cluster, "late").await, "Bound");
    assert_eq!(cluster.get(&format!("{PODS}/first")).await["status"]["phase"], "Running");
    let larger = json!({"spec": {"resources": {"requests": {"storage": "2Gi"}}}});
    cluster.patch(&format!("{CLAIMS}/late"), larger).await;
    cluster.settle().await;
    assert_eq!(cluster.get(&format!("{CLAIMS}/late")).await["status"]["capacity"]["storage"], "2Gi");
}

#[tokio::test(start_paused = true)]
async fn claims_and_volumes_in_use_wait_for_their_users() {
    let cluster = Cluster::with([Actor::Claims, Actor::Pods]);
    cluster.post(VOLUMES, volume("disk", "1Gi")).await;
    cluster.post(CLAIMS, claim("data", json!(""))).await;
    cluster.post(PODS, user("web", "data")).await;
    cluster.settle().await;
    cluster.delete(&format!("{VOLUMES}/disk"), Value::Null).await;
    cluster.delete(&format!("{CLAIMS}/data"), Value::Null).await;
    cluster.settle().await;
    assert!(cluster.is_there(&format!("{CLAIMS}/data")).await);
    cluster.delete(&format!("{PODS}/web"), Value::Null).await;
    cluster.settle().await;
    assert!(!cluster.is_there(&format!("{CLAIMS}/data")).await);
    assert!(!cluster.is_there(&format!("{VOLUMES}/disk")).await);
}

#[tokio::test(start_paused = true)]
async fn a_namespace_with_a_claim_ends() {
    let cluster = Cluster::with([Actor::Claims, Actor::Namespaces]);
    let shop = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}});
    cluster.post("/api/v1/namespaces", shop).await;
    cluster.post(&CLAIMS.replace("default", "shop"), claim("data", Value::Null)).await;
    cluster.settle().await;
    cluster.delete("/api/v1/namespaces/shop", Value::Null).await;
    cluster.settle().await;
    assert!(!cluster.is_there("/api/v1/namespaces/shop").await);
}

#[tokio::test(start_paused = true)]
async fn a_class_of_attributes_goes_once_no_claim_has_it() {
    let cluster = Cluster::with([Actor::Claims]);
    let class = json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttributesClass", "metadata": {"name": "fast"},
        "driverName": "example.com", "parameters": {"iops": "1"},
    });
    cluster.post(ATTRIBUTES, class).await;
    let mut held = claim("data", Value::Null);
    held["spec"]["volumeAttributesClassName"] = "fast".into();
    cluster.post(CLAIMS, held).await;
    cluster.delete(&format!("{ATTRIBUTES}/fast"), Value::Null).await;
    cluster.settle().await;
    assert!(cluster.is_there(&format!("{ATTRIBUTES}/fast")).await);
    cluster.delete(&format!("{CLAIMS}/data"), Value::Null).await;
    cluster.settle().await;
    assert!(!cluster.is_there(&format!("{ATTRIBUTES}/fast")).await);
}
