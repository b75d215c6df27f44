//! StatefulSets, with their pods and claims.

use std::time::Duration;

use baton_apiserver::{Actor, Readiness};
use serde_json::{Value, json};

use crate::cluster::{Cluster, PODS, pass, pod};

pub(crate) const SETS: &str = "/apis/apps/v1/namespaces/default/statefulsets";
const SET: &str = "/apis/apps/v1/namespaces/default/statefulsets/db";
const CLAIMS: &str = "/api/v1/namespaces/default/persistentvolumeclaims";

pub(crate) fn set(replicas: u32) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "db"},
        "spec": {
            "replicas": replicas, "serviceName": "db", "selector": {"matchLabels": {"app": "db"}},
            "template": {"metadata": {"labels": {"app": "db"}}, "spec": pod("db", "100m")["spec"]},
            "volumeClaimTemplates": [{
                "metadata": {"name": "data"},
                "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
            }],
        },
    })
}

async fn with(set: Value) -> Cluster {
    let actors = [Actor::StatefulSets, Actor::Claims, Actor::Pods, Actor::GarbageCollector];
    let cluster = Cluster::with(actors);
    cluster.server.pods().set_readiness(Readiness::After(Duration::from_secs(10)));
    cluster.post(SETS, set).await;
    cluster.settle().await;
    cluster
}

async fn names(cluster: &Cluster, path: &str) -> Vec<String> {
    let items = cluster.items(path).await;
    items.iter().map(|item| item["metadata"]["name"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test(start_paused = true)]
async fn pods_come_up_in_order_each_with_its_claim() {
    let cluster = with(set(2)).await;
    assert_eq!(names(&cluster, PODS).await, ["db-0"]);
    pass(Duration::from_secs(11)).await;
    assert_eq!(names(&cluster, PODS).await, ["db-0", "db-1"]);
    assert_eq!(cluster.get(SET).await["status"]["readyReplicas"], 1);
    pass(Duration::from_secs(11)).await;
    assert_eq!(names(&cluster, CLAIMS).await, ["data-db-0", "data-db-1"]);
    let live = cluster.get(SET).await;
    let revisions = cluster.items("/apis/apps/v1/namespaces/default/controllerrevisions").await;
    let [revision] = revisions.as_slice() else { panic!("{revisions:?}") };
    let name = &revision["metadata"]["name"];
    assert_eq!(
        live["status"],
        json!({
            "observedGeneration": 1, "replicas": 2, "readyReplicas": 2, "availableReplicas": 2,
            "currentReplicas": 2, "updatedReplicas": 2, "currentRevision": name, "updateRevision": name,
            "collisionCount": 0,
        })
    );
    let second = cluster.get(&format!("{PODS}/db-1")).await;
    assert_eq!(
        [&second["spec"]["hostname"], &second["spec"]["subdomain"], &second["spec"]["volumes"][0]],
        [
            &json!("db-1"),
            &json!("db"),
            &json!({"name": "data", "persistentVolumeClaim": {"claimName": "data-db-1"}})
        ]
    );
    let hash = revision["metadata"]["labels"]["controller.kubernetes.io/hash"].as_str().unwrap();
    assert_eq!(*name, format!("db-{hash}"));
    assert_eq!(
        second["metadata"]["labels"],
        json!({
            "app": "db", "statefulset.kubernetes.io/pod-name": "db-1", "apps.kubernetes.io/pod-index": "1",
            "controller-revision-hash": name,
        })
    );
}

#[tokio::test(start_paused = true)]
async fn a_rollout_replaces_pods_from_the_last_to_the_partition() {
    let cluster = with(set(3)).await;
    pass(Duration::from_mins(1)).await;
    let image = |image: &str, partition: u32| {
        let mut containers = pod("db", "100m")["spec"]["containers"].clone();
        containers[0]["image"] = image.into();
        json!({"spec": {
            "updateStrategy": {"rollingUpdate": {"partition": partition}},
            "template": {"spec": {"containers": containers}},
        }})
    };
    cluster.patch(SET, image("app:2", 1)).await;
    pass(Duration::from_mins(1)).await;
    let images = async || {
        let pods = cluster.items(PODS).await;
        pods.iter().map(|pod| pod["spec"]["containers"][0]["image"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(images().await, ["app:1", "app:2", "app:2"]);
    let status = cluster.get(SET).await["status"].clone();
    assert_eq!([&status["currentReplicas"], &status["updatedReplicas"]], [1, 2]);
    assert_ne!(status["currentRevision"], status["updateRevision"]);
    // A pod below the partition is created again from its old revision.
    cluster.delete(&format!("{PODS}/db-0"), Value::Null).await;
    pass(Duration::from_mins(1)).await;
    assert_eq!(images().await, ["app:1", "app:2", "app:2"]);
    cluster.patch(SET, image("app:2", 0)).await;
    pass(Duration::from_mins(1)).await;
    assert_eq!(images().await, ["app:2", "app:2", "app:2"]);
    let status = cluster.get(SET).await["status"].clone();
    assert_eq!(status["currentRevision"], status["updateRevision"]);
    // Back to an earlier template: its revision becomes the newest again.
    cluster.patch(SET, image("app:1", 0)).await;
    pass(Duration::from_mins(1)).await;
    let revisions = cluster.items("/apis/apps/v1/namespaces/default/controllerrevisions").await;
    let mut numbers: Vec<_> =
        revisions.iter().map(|revision| revision["revision"].as_i64().unwrap()).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, [2, 3]);
}

#[tokio::test(start_paused = true)]
async fn claims_outlive_pods_unless_the_retention_policy_says_otherwise() {
    let cluster = with(set(2)).await;
    pass(Duration::from_mins(1)).await;
    cluster.patch(SET, json!({"spec": {"replicas": 1}})).await;
    pass(Duration::from_mins(1)).await;
    assert_eq!(names(&cluster, PODS).await, ["db-0"]);
    assert_eq!(names(&cluster, CLAIMS).await, ["data-db-0", "data-db-1"]);
    let policy = json!({"whenScaled": "Delete", "whenDeleted": "Delete"});
    let retention = json!({"spec": {"replicas": 2, "persistentVolumeClaimRetentionPolicy": policy}});
    cluster.patch(SET, retention).await;
    pass(Duration::from_mins(1)).await;
    cluster.patch(SET, json!({"spec": {"replicas": 1}})).await;
    pass(Duration::from_mins(1)).await;
    assert_eq!(names(&cluster, CLAIMS).await, ["data-db-0"]);
    cluster.delete(SET, Value::Null).await;
    pass(Duration::from_mins(1)).await;
    assert!(names(&cluster, PODS).await.is_empty());
    assert!(names(&cluster, CLAIMS).await.is_empty());
    assert!(names(&cluster, "/api/v1/persistentvolumes").await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn parallel_pods_dont_wait_for_each_other() {
    let mut parallel = set(3);
    parallel["spec"]["podManagementPolicy"] = "Parallel".into();
    let cluster = with(parallel).await;
    assert_eq!(names(&cluster, PODS).await.len(), 3);
    cluster.patch(SET, json!({"spec": {"replicas": 0}})).await;
    cluster.settle().await;
    assert!(names(&cluster, PODS).await.is_empty());
}
