//! A struct that a server-side apply empties in a Workload means the same as one that was never there. What a Deployment accepts,
//! a Workload accepts.

use baton_controller::decide::child::ChildKind;
use baton_e2e::{Environment, scenarios};
use baton_testbed::Cluster;
use kube::api::DeleteParams;
use serde_json::{Value, json};

scenarios! {
    every_optional_struct_can_be_emptied,
    a_service_that_stays_headless_is_reported_as_not_applied,
    a_number_for_a_quantity_and_null_for_an_annotation_are_accepted_as_in_a_deployment,
}

async fn every_optional_struct_can_be_emptied(cluster: Cluster) {
    let env = Environment::start(&cluster, "emptied").await;
    let service = |mut service: Value| {
        service["ports"] = json!([{"port": 80}]);
        json!({"service": service})
    };
    let behavior = json!({"scaleDown": {"stabilizationWindowSeconds": 30}});
    let cases = [
        (service(json!({"labels": {"a": "b"}})), service(json!({"labels": {}}))),
        (service(json!({"annotations": {"a": "b"}})), service(json!({"annotations": {}}))),
        (
            service(json!({"type": "LoadBalancer", "loadBalancerSourceRanges": ["10.0.0.0/8"]})),
            service(json!({"loadBalancerSourceRanges": []})),
        ),
        (service(json!({"headless": true})), json!({"service": {"headless": true, "ports": []}})),
        (json!({"deployment": {"labels": {"a": "b"}}}), json!({"deployment": {}})),
        (
            json!({"disruptionBudget": {"minAvailable": 1, "labels": {"a": "b"}, "annotations": {"a": "b"}}}),
            json!({"disruptionBudget": {"minAvailable": 1, "labels": {}, "annotations": {}}}),
        ),
        (
            json!({"autoscaling": {"maxReplicas": 3, "labels": {"a": "b"}, "annotations": {"a": "b"}}}),
            json!({"autoscaling": {"maxReplicas": 3, "labels": {}, "annotations": {}}}),
        ),
        (json!({"rollout": {"minReadySeconds": 1}}), json!({"rollout": {}})),
        (json!({"rollout": {"strategy": {"type": "Recreate"}}}), json!({"rollout": {"strategy": {}}})),
        (
            json!({"rollout": {"strategy": {"rollingUpdate": {"maxSurge": 1}}}}),
            json!({"rollout": {"strategy": {"rollingUpdate": {}}}}),
        ),
        (
            json!({"autoscaling": {"maxReplicas": 3, "behavior": behavior}}),
            json!({"autoscaling": {"maxReplicas": 3, "behavior": {}}}),
        ),
        (
            json!({"adoption": "Adopt", "retiredManagers": ["helm"]}),
            json!({"adoption": "Adopt", "retiredManagers": []}),
        ),
    ];
    for (before, after) in cases {
        env.apply_until("Applied", &before).await;
        env.apply(&after).await;
        let applied = env.condition("Applied", "True").await;
        assert_eq!(applied.reason, "Applied", "{after}");
        // The next case must not begin with leftovers of this one.
        env.workloads().delete("web", &DeleteParams::default()).await.unwrap();
        for kind in ChildKind::ALL {
            env.gone(kind).await;
        }
    }
}

async fn a_service_that_stays_headless_is_reported_as_not_applied(cluster: Cluster) {
    let env = Environment::start(&cluster, "headless").await;
    let port = json!([{"port": 80}]);
    env.apply_until("Applied", &json!({"service": {"headless": true, "ports": port}})).await;
    env.apply(&json!({"service": {"ports": port}})).await;
    let applied = env.condition("Applied", "False").await;
    assert!(applied.message.contains("the Service is headless"), "{}", applied.message);
    env.children(ChildKind::Service).delete("web", &DeleteParams::default()).await.unwrap();
    env.condition("Applied", "True").await;
}

async fn a_number_for_a_quantity_and_null_for_an_annotation_are_accepted_as_in_a_deployment(
    cluster: Cluster,
) {
    let env = Environment::start(&cluster, "lenient").await;
    let container =
        json!({"name": "app", "image": "app:1", "resources": {"limits": {"cpu": 0.5, "memory": 1e9}}});
    let mut spec = json!({"template": {
        "metadata": {"annotations": {"note": null}}, "spec": {"containers": [container]},
    }});
    spec["service"] = json!({"ports": [{"port": 80}], "annotations": {"note": null}});
    env.apply_until("Applied", &spec).await;
    let deployment = env.child(ChildKind::Deployment).await.unwrap();
    let template = &deployment.data["spec"]["template"];
    assert_eq!(template["metadata"]["annotations"], json!({"note": ""}));
    let limits = &template["spec"]["containers"][0]["resources"]["limits"];
    assert_eq!(limits, &json!({"cpu": "500m", "memory": "1G"}));
    let service = env.child(ChildKind::Service).await.unwrap();
    assert_eq!(service.metadata.annotations.unwrap()["note"], "");
}
