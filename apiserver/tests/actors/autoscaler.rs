//! HorizontalPodAutoscalers.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use baton_apiserver::{Actor, ApiServer, Load};
use serde_json::{Value, json};

use crate::cluster::{Cluster, PODS, condition, pass, pod};

const WEB: &str = "/apis/apps/v1/namespaces/default/deployments/web";
const AUTOSCALERS: &str = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers";
const AUTOSCALER: &str = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers/web";

async fn cluster(replicas: u32, behavior: Value) -> Cluster {
    let cluster = Cluster::with([Actor::Deployments, Actor::Pods, Actor::Autoscaler]);
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
        "spec": {
            "replicas": replicas, "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{
                    "name": "app", "image": "app:1", "resources": {"requests": {"cpu": "200m"}},
                }]},
            },
        },
    });
    cluster.post("/apis/apps/v1/namespaces/default/deployments", deployment).await;
    cluster.settle().await;
    let mut autoscaler = json!({
        "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "web"},
        "spec": {
            "minReplicas": 2, "maxReplicas": 6,
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "metrics": [{"type": "Resource", "resource": {
                "name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50},
            }}],
        },
    });
    if !behavior.is_null() {
        autoscaler["spec"]["behavior"] = behavior;
    }
    cluster.post(AUTOSCALERS, autoscaler).await;
    cluster.settle().await;
    cluster
}

async fn replicas(cluster: &Cluster) -> i64 {
    cluster.get(WEB).await["spec"]["replicas"].as_i64().unwrap()
}

#[tokio::test(start_paused = true)]
async fn without_metrics_only_the_bounds_count() {
    for (before, after) in [(1, 2), (3, 3), (9, 6)] {
        let cluster = cluster(before, json!(null)).await;
        assert_eq!(replicas(&cluster).await, after, "from {before}");
    }
    let cluster = cluster(3, json!(null)).await;
    let autoscaler = cluster.get(AUTOSCALER).await;
    assert_eq!(
        condition(&autoscaler, "ScalingActive"),
        [
            "False",
            "FailedGetResourceMetric",
            "the HPA was unable to compute the replica count: failed to get cpu utilization: unable to get metrics \
             for resource cpu: no metrics returned from resource metrics API"
        ]
    );
    assert_eq!(
        condition(&autoscaler, "AbleToScale"),
        ["True", "SucceededGetScale", "the HPA controller was able to get the target's current scale"]
    );
}

#[tokio::test(start_paused = true)]
async fn a_target_is_scaled_to_its_load_through_its_scale() {
    let cluster = cluster(2, json!(null)).await;
    // 75 percent of the 400m that two pods request; the target is 50 percent.
    cluster.server.set_load("default", "Deployment", "web", Load::Millicores(300));
    cluster.settle().await;
    assert_eq!(replicas(&cluster).await, 3);
    let autoscaler = cluster.get(AUTOSCALER).await;
    let rescaled = "the HPA controller was able to update the target scale to 3";
    assert_eq!(condition(&autoscaler, "AbleToScale"), ["True", "SucceededRescale", rescaled]);
    assert_eq!(
        condition(&autoscaler, "ScalingActive"),
        [
            "True",
            "ValidMetricFound",
            "the HPA was able to successfully calculate a replica count from cpu resource utilization (percentage of request)"
        ]
    );
    assert_eq!(
        autoscaler["status"]["currentMetrics"][0]["resource"],
        json!({"name": "cpu", "current": {"averageUtilization": 75, "averageValue": "150m"}})
    );
    assert_eq!(
        (&autoscaler["status"]["currentReplicas"], &autoscaler["status"]["desiredReplicas"]),
        (&json!(2), &json!(3))
    );
    let web = cluster.get(WEB).await;
    let entries = web["metadata"]["managedFields"].as_array().unwrap();
    let scaled = entries.iter().find(|entry| entry["subresource"] == "scale").unwrap();
    assert_eq!(
        (&scaled["manager"], &scaled["operation"]),
        (&json!("kube-controller-manager"), &json!("Update"))
    );

    pass(Duration::from_secs(16)).await;
    let autoscaler = cluster.get(AUTOSCALER).await;
    assert_eq!(condition(&autoscaler, "AbleToScale")[1], "ReadyForNewScale");
    assert_eq!(condition(&autoscaler, "ScalingLimited")[1], "DesiredWithinRange");
    assert_eq!(autoscaler["status"]["currentReplicas"], 3);
}

#[tokio::test(start_paused = true)]
async fn a_load_within_a_tenth_of_the_target_scales_nothing() {
    let cluster = cluster(2, json!(null)).await;
    cluster.server.set_load("default", "Deployment", "web", Load::Percent(54));
    cluster.settle().await;
    assert_eq!(replicas(&cluster).await, 2);
    cluster.server.set_load("default", "Deployment", "web", Load::Percent(56));
    cluster.settle().await;
    assert_eq!(replicas(&cluster).await, 3);
}

#[tokio::test(start_paused = true)]
async fn a_target_grows_at_most_to_its_maximum_and_shrinks_late() {
    let cluster = cluster(4, json!(null)).await;
    cluster.server.set_load("default", "Deployment", "web", Load::Percent(100));
    cluster.settle().await;
    assert_eq!(replicas(&cluster).await, 6);
    let autoscaler = cluster.get(AUTOSCALER).await;
    assert_eq!(
        condition(&autoscaler, "ScalingLimited"),
        ["True", "TooManyReplicas", "the desired replica count is more than the maximum replica count"]
    );
    cluster.server.set_load("default", "Deployment", "web", Load::Millicores(10));
    pass(Duration::from_mins(1)).await;
    assert_eq!(replicas(&cluster).await, 6);
    assert_eq!(condition(&cluster.get(AUTOSCALER).await, "AbleToScale")[1], "ScaleDownStabilized");
    pass(Duration::from_mins(5)).await;
    assert_eq!(replicas(&cluster).await, 2);
    assert_eq!(
        condition(&cluster.get(AUTOSCALER).await, "ScalingLimited"),
        ["True", "TooFewReplicas", "the desired replica count is less than the minimum replica count"]
    );
}

#[tokio::test(start_paused = true)]
async fn policies_limit_how_fast_a_target_changes() {
    let one_a_minute = json!({"policies": [{"type": "Pods", "value": 1, "periodSeconds": 60}]});
    let cluster = cluster(2, json!({"scaleUp": one_a_minute})).await;
    cluster.server.set_load("default", "Deployment", "web", Load::Percent(100));
    cluster.settle().await;
    assert_eq!(replicas(&cluster).await, 3);
    assert_eq!(
        condition(&cluster.get(AUTOSCALER).await, "ScalingLimited"),
        [
            "True",
            "ScaleUpLimit",
            "the desired replica count is increasing faster than the maximum scale rate"
        ]
    );
    pass(Duration::from_secs(50)).await;
    assert_eq!(replicas(&cluster).await, 3);
    pass(Duration::from_secs(30)).await;
    assert_eq!(replicas(&cluster).await, 4);
}

const WIDGET: &str = "/apis/example.com/v1/namespaces/default/widgets/web";
const WIDGETS: &str = r"
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {kind: Widget, plural: widgets}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    subresources:
      status: {}
      scale:
        specReplicasPath: .spec.replicas
        statusReplicasPath: .status.replicas
        labelSelectorPath: .status.selector
    schema:
      openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}
---
apiVersion: example.com/v1
kind: Widget
metadata: {name: web, namespace: default}
spec: {replicas: 2}
status: {replicas: 2, selector: app=web}
";

async fn widget_with_autoscaler() -> Cluster {
    let cluster = Cluster::with([Actor::Autoscaler, Actor::Pods]);
    cluster.server.load(WIDGETS).unwrap();
    let status = json!({"status": {"replicas": 2, "selector": "app=web"}});
    cluster.patch(&format!("{WIDGET}/status"), status).await;
    let autoscaler = json!({
        "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "web"},
        "spec": {
            "maxReplicas": 5,
            "scaleTargetRef": {"apiVersion": "example.com/v1", "kind": "Widget", "name": "web"},
        },
    });
    cluster.post(AUTOSCALERS, autoscaler).await;
    cluster.server.set_load("default", "Widget", "web", Load::Percent(120));
    cluster.settle().await;
    cluster
}

/// Creates pods of the widget, and returns why it isn't scaled.
async fn unscaled_with(pods: impl IntoIterator<Item = Value>) -> String {
    let cluster = widget_with_autoscaler().await;
    for mut pod in pods {
        pod["metadata"]["labels"] = json!({"app": "web"});
        cluster.post(PODS, pod).await;
    }
    pass(Duration::from_secs(20)).await;
    let autoscaler = cluster.get(AUTOSCALER).await;
    assert_eq!(cluster.get(WIDGET).await["spec"]["replicas"], 2, "{}", autoscaler["status"]);
    let [status, reason, message] = condition(&autoscaler, "ScalingActive");
    assert_eq!([status, reason], ["False", "FailedGetResourceMetric"], "{message}");
    message.rsplit("failed to get cpu utilization: ").next().unwrap().to_owned()
}

#[tokio::test(start_paused = true)]
async fn a_custom_resource_is_scaled_by_its_pods() {
    let cluster = widget_with_autoscaler().await;
    for name in ["web-0", "web-1"] {
        let mut pod = pod(name, "100m");
        pod["metadata"]["labels"] = json!({"app": "web"});
        cluster.post(PODS, pod).await;
    }
    pass(Duration::from_secs(20)).await;
    assert_eq!(cluster.get(WIDGET).await["spec"]["replicas"], 3);
}

#[tokio::test(start_paused = true)]
async fn a_target_isnt_scaled_without_pods_that_run_and_request_cpu() {
    let none = "unable to get metrics for resource cpu: no metrics returned from resource metrics API";
    assert_eq!(unscaled_with([]).await, none);
    let mut gated = pod("gated", "1");
    gated["spec"]["schedulingGates"] = json!([{"name": "example.com/wait"}]);
    assert_eq!(unscaled_with([gated]).await, none);
    let mut silent = pod("silent", "1");
    silent["spec"]["containers"][0]["resources"] = json!({});
    let missing = "missing request for cpu in container app of Pod silent";
    assert_eq!(unscaled_with([silent.clone(), pod("web", "1")]).await, missing);
    silent["spec"]["resources"] = json!({"requests": {"memory": "1Gi"}});
    let missing = "missing pod-level request for cpu in Pod silent";
    assert_eq!(unscaled_with([silent]).await, missing);
    assert_eq!(unscaled_with([pod("idle", "0")]).await, "no metrics returned matched known pods");
}

#[tokio::test(start_paused = true)]
async fn a_missing_target_is_read_now_and_then_and_reported_once() {
    let requests = Arc::<Mutex<Vec<String>>>::default();
    let log = requests.clone();
    let server = ApiServer::builder().actor(Actor::Autoscaler);
    let server = server.audit(move |line| log.lock().unwrap().push(line.to_owned())).start().unwrap();
    let autoscaler =
        "{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: web}, spec: {
        maxReplicas: 6, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}}";
    server.load(autoscaler).unwrap();
    pass(Duration::from_mins(5)).await;
    let count = |verb: &str| {
        let verb = format!("\"verb\":\"{verb}\"");
        requests.lock().unwrap().iter().filter(|line| line.contains(&verb)).count()
    };
    assert_eq!(count("update"), 1);
    assert!((20..25).contains(&count("get")), "{}", count("get"));
}

#[tokio::test(start_paused = true)]
async fn two_autoscalers_of_one_target_stop_each_other() {
    let cluster = cluster(3, json!(null)).await;
    let mut other = cluster.get(AUTOSCALER).await;
    other["metadata"] = json!({"name": "other"});
    cluster.post(AUTOSCALERS, other).await;
    cluster.server.set_load("default", "Deployment", "web", Load::Percent(90));
    pass(Duration::from_mins(1)).await;
    assert_eq!(replicas(&cluster).await, 3);
    let message = "pods by selector app=web are controlled by multiple HPAs: [{other default} {web default}]";
    let expected = ["False", "AmbiguousSelector", message];
    assert_eq!(condition(&cluster.get(AUTOSCALER).await, "ScalingActive"), expected);
}
