//! A small Deployment: one container, as most are.

use serde_json::{Value, json};

use super::{
    Types,
    story::{Other, Story},
};

pub(super) fn story() -> Story {
    Story {
        name: "small Deployment",
        types: Types::builtin("apps__v1"),
        intent: intent(),
        applier: "baton",
        defaults,
        others: vec![
            Other::Updates { manager: "kube-controller-manager", subresource: "status", change: status },
            Other::Updates { manager: "kubectl-rollout", subresource: "", change: restart },
        ],
        next: |intent| {
            intent["spec"]["template"]["spec"]["containers"][0]["image"] =
                json!("registry.example/shop:2.4.1");
        },
        updater: "kubectl-edit",
        update: |object| {
            object["spec"]["template"]["spec"]["containers"][0]["env"][1]["value"] = json!("debug");
            object["metadata"]["annotations"]["example.com/reason"] = json!("looking for a leak");
        },
    }
}

fn intent() -> Value {
    let labels = json!({"app.kubernetes.io/name": "shop", "baton.rs/workload": "shop"});
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": "shop",
            "namespace": "store",
            "labels": {"app.kubernetes.io/managed-by": "baton", "app.kubernetes.io/name": "shop"},
            "ownerReferences": [{
                "apiVersion": "baton.rs/v1alpha1", "kind": "Workload", "name": "shop", "controller": true,
                "uid": "1b4e28ba-2fa1-11d2-883f-0016d3cca427",
            }],
        },
        "spec": {
            "replicas": 3,
            "selector": {"matchLabels": {"baton.rs/workload": "shop"}},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{
                    "name": "app",
                    "image": "registry.example/shop:2.4.0",
                    "args": ["--listen", "0.0.0.0:8080"],
                    "env": [
                        {"name": "DATABASE", "value": "postgres://db.store.svc/shop"},
                        {"name": "LOG_LEVEL", "value": "info"},
                        {"name": "REGION", "value": "eu-west-1"},
                    ],
                    "ports": [{"name": "http", "containerPort": 8080, "protocol": "TCP"}],
                    "readinessProbe": {"httpGet": {"path": "/healthz", "port": "http"}, "periodSeconds": 5},
                    "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "256Mi"}},
                    "securityContext": {"runAsNonRoot": true, "readOnlyRootFilesystem": true},
                }]},
            },
        },
    })
}

fn defaults(object: &mut Value) {
    let spec = &mut object["spec"];
    spec["progressDeadlineSeconds"] = json!(600);
    spec["revisionHistoryLimit"] = json!(10);
    let pod = &mut spec["template"]["spec"];
    pod["dnsPolicy"] = json!("ClusterFirst");
    pod["restartPolicy"] = json!("Always");
    pod["schedulerName"] = json!("default-scheduler");
    pod["securityContext"] = json!({});
    pod["terminationGracePeriodSeconds"] = json!(30);
    let container = &mut pod["containers"][0];
    container["imagePullPolicy"] = json!("IfNotPresent");
    container["terminationMessagePath"] = json!("/dev/termination-log");
    container["terminationMessagePolicy"] = json!("File");
    let probe = &mut container["readinessProbe"];
    probe["failureThreshold"] = json!(3);
    probe["successThreshold"] = json!(1);
    probe["timeoutSeconds"] = json!(1);
    probe["httpGet"]["scheme"] = json!("HTTP");
}

fn status(object: &mut Value) {
    let condition = |kind: &str, reason: &str, message: &str| {
        json!({
            "type": kind, "status": "True", "reason": reason, "message": message,
            "lastTransitionTime": "2026-01-05T08:01:07Z", "lastUpdateTime": "2026-01-05T08:01:09Z",
        })
    };
    object["metadata"]["annotations"]["deployment.kubernetes.io/revision"] = json!("1");
    object["status"] = json!({
        "observedGeneration": 1, "replicas": 3, "updatedReplicas": 3, "readyReplicas": 3, "availableReplicas": 3,
        "conditions": [
            condition("Available", "MinimumReplicasAvailable", "Deployment has minimum availability."),
            condition("Progressing", "NewReplicaSetAvailable", "ReplicaSet \"shop-5d9c\" has successfully progressed."),
        ],
    });
}

fn restart(object: &mut Value) {
    object["spec"]["template"]["metadata"]["annotations"]["kubectl.kubernetes.io/restartedAt"] =
        json!("2026-01-05T09:30:00Z");
}
