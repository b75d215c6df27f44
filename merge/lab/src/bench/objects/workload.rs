//! A large custom resource: a Workload with the pod template of twenty containers, a set, lists by two keys, and a status.

use serde_json::{Value, json};

use super::{
    Types, condition, pod,
    story::{Other, Story},
    workload_definition,
};

pub(super) fn story() -> Story {
    Story {
        name: "custom resource",
        types: Types::Crd(workload_definition()),
        intent: intent(),
        applier: "app-team",
        defaults: |object| {
            object["spec"]["adoption"] = json!("Refuse");
            object["spec"]["mode"] = json!("Enforce");
        },
        others: vec![
            Other::Applies { manager: "platform-team", intent: platform() },
            Other::Updates { manager: "baton", subresource: "status", change: status },
        ],
        next: |intent| {
            intent["spec"]["template"]["spec"]["containers"][7]["image"] =
                json!("registry.example/part-7:1.1.0");
        },
        updater: "kubectl-edit",
        update: |object| {
            object["spec"]["template"]["spec"]["containers"][3]["env"][4]["value"] = json!("changed");
            object["spec"]["service"]["loadBalancerSourceRanges"][10] = json!("192.0.2.0/24");
        },
    }
}

fn intent() -> Value {
    let ports = (0..20).map(|at| json!({"name": format!("port-{at}"), "port": 80 + at, "protocol": "TCP", "targetPort": 8000 + 10 * at}));
    let ranges = (0..100).map(|at| format!("10.{at}.0.0/16"));
    let metrics = ["cpu", "memory"].map(|name| {
        json!({"type": "Resource", "resource": {"name": name, "target": {"type": "Utilization", "averageUtilization": 70}}})
    });
    json!({
        "apiVersion": "baton.rs/v1alpha1",
        "kind": "Workload",
        "metadata": {"name": "mesh", "namespace": "store", "labels": {"team.example.com/name": "app"}},
        "spec": {
            "template": {"metadata": {"labels": {"app.kubernetes.io/name": "mesh"}}, "spec": pod::template()},
            "rollout": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": 0}}},
            "service": {
                "type": "LoadBalancer", "ports": ports.collect::<Vec<_>>(),
                "loadBalancerSourceRanges": ranges.collect::<Vec<_>>(),
            },
            "autoscaling": {"minReplicas": 2, "maxReplicas": 40, "metrics": metrics},
            "disruptionBudget": {"maxUnavailable": 1},
        },
    })
}

fn platform() -> Value {
    let container =
        |at: usize| json!({"name": format!("part-{at}"), "resources": {"limits": {"cpu": "500m"}}});
    json!({
        "apiVersion": "baton.rs/v1alpha1",
        "kind": "Workload",
        "metadata": {"name": "mesh", "namespace": "store", "labels": {"team.example.com/platform": "true"}},
        "spec": {
            "template": {"spec": {
                "containers": (0..20).map(container).collect::<Vec<_>>(),
                "tolerations": [{"key": "dedicated", "operator": "Equal", "value": "mesh", "effect": "NoSchedule"}],
            }},
            "service": {"loadBalancerSourceRanges": ["172.16.0.0/12", "192.168.0.0/16"]},
        },
    })
}

fn status(object: &mut Value) {
    let child = |(version, kind): (&str, &str)| json!({"apiVersion": version, "kind": kind, "name": "mesh", "state": "Current"});
    let takeover = |at: usize| {
        json!({
            "kind": "Deployment", "name": "mesh", "manager": "kubectl-edit", "count": 1,
            "path": format!(".spec.template.spec.containers[name=\"part-{at}\"].image"),
            "firstTime": "2026-01-05T08:10:00Z", "lastTime": "2026-01-05T08:10:00Z",
            "oldValue": "registry.example/hot-fix:1", "newValue": format!("registry.example/part-{at}:1.0.0"),
        })
    };
    let conditions = ["Ready", "Progressing", "Applied", "HandedOver"]
        .map(|kind| condition(kind, "AsPlanned", "All children are as planned."));
    let children = [
        ("apps/v1", "Deployment"),
        ("v1", "Service"),
        ("autoscaling/v2", "HorizontalPodAutoscaler"),
        ("policy/v1", "PodDisruptionBudget"),
    ];
    object["status"] = json!({
        "observedGeneration": 1, "replicas": 4, "readyReplicas": 4, "selector": "baton.rs/workload=mesh",
        "replicaOwnership": {"holder": "kube-controller-manager", "phase": "HandedOver", "value": 4, "since": "2026-01-05T08:05:00Z"},
        "conditions": conditions,
        "children": children.map(child),
        "takeovers": (0..10).map(takeover).collect::<Vec<_>>(),
    });
}
