//! Deployments, their ReplicaSets and pods.

use std::time::Duration;

use baton_apiserver::{Actor, Readiness};
use serde_json::{Value, json};

use crate::cluster::{Cluster, PODS, condition, pass};

const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";
const WEB: &str = "/apis/apps/v1/namespaces/default/deployments/web";
const SETS: &str = "/apis/apps/v1/namespaces/default/replicasets";

fn deployment(replicas: u32, spec: &Value) -> Value {
    let mut deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "annotations": {"team": "blue"}},
        "spec": {
            "replicas": replicas, "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "app", "image": "app:1"}]},
            },
        },
    });
    for (field, value) in spec.as_object().unwrap() {
        deployment["spec"][field] = value.clone();
    }
    deployment
}

fn image(image: &str) -> Value {
    json!({"spec": {"template": {"spec": {"containers": [{"name": "app", "image": image}]}}}})
}

async fn cluster(replicas: u32, spec: Value) -> Cluster {
    let cluster = Cluster::with([Actor::Deployments, Actor::Pods, Actor::GarbageCollector]);
    cluster.post(DEPLOYMENTS, deployment(replicas, &spec)).await;
    cluster.settle().await;
    cluster
}

/// The replica counts of ReplicaSets, by the images of their templates.
async fn sizes(cluster: &Cluster) -> Vec<(String, i64)> {
    let sets = cluster.items(SETS).await;
    let size = |set: &Value| {
        let spec = &set["spec"];
        let image = spec["template"]["spec"]["containers"][0]["image"].as_str().unwrap().to_owned();
        (image, spec["replicas"].as_i64().unwrap())
    };
    let mut sizes: Vec<_> = sets.iter().map(size).collect();
    sizes.sort();
    sizes
}

fn size(image: &str, size: i64) -> (String, i64) {
    (image.to_owned(), size)
}

#[tokio::test(start_paused = true)]
async fn a_deployment_gets_its_pods() {
    let cluster = cluster(2, json!({})).await;
    let sets = cluster.items(SETS).await;
    let set = &sets[0];
    let hash = set["metadata"]["labels"]["pod-template-hash"].as_str().unwrap();
    assert_eq!(set["metadata"]["name"], format!("web-{hash}"));
    assert_eq!(
        set["metadata"]["annotations"],
        json!({
            "deployment.kubernetes.io/desired-replicas": "2", "deployment.kubernetes.io/max-replicas": "3",
            "deployment.kubernetes.io/revision": "1", "team": "blue",
        })
    );
    assert_eq!(
        set["status"],
        json!({
            "replicas": 2, "fullyLabeledReplicas": 2, "readyReplicas": 2, "availableReplicas": 2,
            "terminatingReplicas": 0, "observedGeneration": 1,
        })
    );
    let pods = cluster.items(PODS).await;
    assert_eq!(pods.len(), 2);
    let name = pods[0]["metadata"]["name"].as_str().unwrap();
    assert_eq!(name.strip_prefix(&format!("web-{hash}-")).map(str::len), Some(5));
    assert_eq!(pods[0]["metadata"]["ownerReferences"][0]["kind"], "ReplicaSet");
    assert_eq!(pods[0]["status"]["phase"], "Running");

    let web = cluster.get(WEB).await;
    assert_eq!(web["metadata"]["annotations"]["deployment.kubernetes.io/revision"], "1");
    let mut status = web["status"].clone();
    status.as_object_mut().unwrap().remove("conditions");
    assert_eq!(
        status,
        json!({
            "observedGeneration": 1, "replicas": 2, "updatedReplicas": 2, "readyReplicas": 2,
            "availableReplicas": 2, "terminatingReplicas": 0,
        })
    );
    assert_eq!(
        condition(&web, "Available"),
        ["True", "MinimumReplicasAvailable", "Deployment has minimum availability."]
    );
    let progressed = format!("ReplicaSet \"web-{hash}\" has successfully progressed.");
    assert_eq!(condition(&web, "Progressing"), ["True", "NewReplicaSetAvailable", &progressed]);
    let owner = |subresource: &str| {
        let entries = web["metadata"]["managedFields"].as_array().unwrap();
        let of = |entry: &&Value| entry["subresource"].as_str().unwrap_or_default() == subresource;
        entries.iter().find(of).unwrap()["manager"].clone()
    };
    assert_eq!(owner("status"), "kube-controller-manager");
}

#[tokio::test(start_paused = true)]
async fn a_rollout_goes_on_as_its_pods_become_ready() {
    let cluster = cluster(4, json!({})).await;
    cluster.server.pods().set_readiness(Readiness::After(Duration::from_secs(10)));
    cluster.patch(WEB, image("app:2")).await;
    cluster.settle().await;
    // One surplus pod, and one unavailable.
    assert_eq!(sizes(&cluster).await, [size("app:1", 3), size("app:2", 2)]);
    let web = cluster.get(WEB).await;
    assert_eq!(web["status"]["updatedReplicas"], 2);
    assert_eq!(web["status"]["unavailableReplicas"], 2);
    pass(Duration::from_secs(11)).await;
    assert_eq!(sizes(&cluster).await, [size("app:1", 1), size("app:2", 4)]);
    pass(Duration::from_secs(11)).await;
    assert_eq!(sizes(&cluster).await, [size("app:1", 0), size("app:2", 4)]);
    let web = cluster.get(WEB).await;
    assert_eq!(condition(&web, "Progressing")[1], "NewReplicaSetAvailable");
    assert_eq!(web["metadata"]["annotations"]["deployment.kubernetes.io/revision"], "2");

    cluster.server.pods().set_readiness(Readiness::AtOnce);
    cluster.patch(WEB, image("app:1")).await;
    cluster.settle().await;
    assert_eq!(sizes(&cluster).await, [size("app:1", 4), size("app:2", 0)]);
    let sets = cluster.items(SETS).await;
    let back = sets.iter().find(|set| set["spec"]["replicas"] == 4).unwrap();
    assert_eq!(back["metadata"]["annotations"]["deployment.kubernetes.io/revision"], "3");
    assert_eq!(back["metadata"]["annotations"]["deployment.kubernetes.io/revision-history"], "1");
}

#[tokio::test(start_paused = true)]
async fn a_rollout_without_progress_times_out() {
    let cluster = cluster(2, json!({"progressDeadlineSeconds": 60})).await;
    cluster.server.pods().set_readiness_of([("app", "web")], Readiness::Never);
    cluster.patch(WEB, image("broken:1")).await;
    pass(Duration::from_secs(50)).await;
    assert_eq!(condition(&cluster.get(WEB).await, "Progressing")[1], "ReplicaSetUpdated");
    pass(Duration::from_secs(11)).await;
    let [status, reason, message] = condition(&cluster.get(WEB).await, "Progressing").map(str::to_owned);
    assert_eq!([status.as_str(), &reason], ["False", "ProgressDeadlineExceeded"]);
    assert!(message.starts_with("ReplicaSet \"web-") && message.ends_with("\" has timed out progressing."));
    assert_eq!(sizes(&cluster).await, [size("app:1", 2), size("broken:1", 1)]);
}

#[tokio::test(start_paused = true)]
async fn recreating_ends_all_old_pods_first() {
    let cluster = cluster(3, json!({"strategy": {"type": "Recreate"}})).await;
    cluster.server.pods().set_readiness(Readiness::Never);
    let before = cluster.items(PODS).await;
    cluster.patch(WEB, image("app:2")).await;
    cluster.settle().await;
    let after = cluster.items(PODS).await;
    assert_eq!((before.len(), after.len()), (3, 3));
    assert!(after.iter().all(|pod| pod["spec"]["containers"][0]["image"] == "app:2"));
    assert_eq!(
        condition(&cluster.get(WEB).await, "Available"),
        ["False", "MinimumReplicasUnavailable", "Deployment does not have minimum availability."]
    );
}

#[tokio::test(start_paused = true)]
async fn a_paused_deployment_is_scaled_but_not_rolled_out() {
    let cluster = cluster(2, json!({})).await;
    cluster.patch(WEB, json!({"spec": {"paused": true}})).await;
    cluster.settle().await;
    let web = cluster.get(WEB).await;
    assert_eq!(condition(&web, "Progressing"), ["Unknown", "DeploymentPaused", "Deployment is paused"]);
    cluster.patch(WEB, image("app:2")).await;
    cluster.patch(WEB, json!({"spec": {"replicas": 3}})).await;
    cluster.settle().await;
    assert_eq!(sizes(&cluster).await, [size("app:1", 3)]);
    cluster.patch(WEB, json!({"spec": {"paused": false}})).await;
    cluster.settle().await;
    assert_eq!(sizes(&cluster).await, [size("app:1", 0), size("app:2", 3)]);
}

#[tokio::test(start_paused = true)]
async fn pods_are_available_once_they_have_been_ready_for_long_enough() {
    let cluster = cluster(1, json!({"minReadySeconds": 30})).await;
    let counts =
        |web: &Value| (web["status"]["readyReplicas"].clone(), web["status"]["availableReplicas"].clone());
    assert_eq!(counts(&cluster.get(WEB).await), (json!(1), json!(null)));
    pass(Duration::from_secs(31)).await;
    assert_eq!(counts(&cluster.get(WEB).await), (json!(1), json!(1)));
}

#[tokio::test(start_paused = true)]
async fn old_replica_sets_are_kept_up_to_a_limit() {
    let cluster = cluster(1, json!({"revisionHistoryLimit": 1})).await;
    for version in 2..5 {
        cluster.patch(WEB, image(&format!("app:{version}"))).await;
        cluster.settle().await;
    }
    assert_eq!(sizes(&cluster).await, [size("app:3", 0), size("app:4", 1)]);
}

#[tokio::test(start_paused = true)]
async fn replicas_are_scaled_and_replaced() {
    let cluster = cluster(3, json!({})).await;
    let first = cluster.items(PODS).await[0]["metadata"]["name"].as_str().unwrap().to_owned();
    cluster.delete(&format!("{PODS}/{first}"), json!(null)).await;
    cluster.settle().await;
    assert!(!cluster.is_there(&format!("{PODS}/{first}")).await);
    assert_eq!(cluster.items(PODS).await.len(), 3);
    cluster.patch(&format!("{WEB}/scale"), json!({"spec": {"replicas": 1}})).await;
    cluster.settle().await;
    assert_eq!(cluster.items(PODS).await.len(), 1);
    cluster.delete(WEB, json!({"propagationPolicy": "Foreground"})).await;
    cluster.settle().await;
    assert!(!cluster.is_there(WEB).await);
    assert_eq!(cluster.items(PODS).await.len() + cluster.items(SETS).await.len(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_deployment_says_that_its_pods_are_refused() {
    let cluster = Cluster::with([Actor::Deployments, Actor::Pods, Actor::Quotas]);
    let quotas = "/api/v1/namespaces/default/resourcequotas";
    let quota = json!({
        "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": {"hard": {"pods": "1"}},
    });
    cluster.post(quotas, quota).await;
    cluster.post(DEPLOYMENTS, deployment(2, &json!({}))).await;
    cluster.settle().await;
    let web = cluster.get(WEB).await;
    let [status, reason, message] = condition(&web, "ReplicaFailure");
    assert_eq!([status, reason], ["True", "FailedCreate"]);
    let why = "is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1";
    assert!(message.starts_with("pods \"web-") && message.ends_with(why), "{message}");
    cluster.patch(&format!("{quotas}/q"), json!({"spec": {"hard": {"pods": "2"}}})).await;
    pass(Duration::from_secs(2)).await;
    let web = cluster.get(WEB).await;
    assert_eq!(web["status"]["readyReplicas"], 2);
    let conditions = web["status"]["conditions"].as_array().unwrap();
    assert!(conditions.iter().all(|condition| condition["type"] != "ReplicaFailure"));
}
