//! A Pod with twenty containers, each with environment, ports, mounts and probes: many associative lists, deep.

use serde_json::{Value, json};

use super::{
    Types, condition,
    story::{Other, Story},
};

const CONTAINERS: usize = 20;

pub(super) fn story() -> Story {
    Story {
        name: "Pod, 20 containers",
        types: Types::builtin("v1"),
        intent: json!({
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": "mesh", "namespace": "store",
                "labels": {"app.kubernetes.io/managed-by": "baton", "app.kubernetes.io/name": "mesh"},
            },
            "spec": template(),
        }),
        applier: "baton",
        defaults: |object| default_template(&mut object["spec"]),
        others: vec![
            Other::Updates { manager: "mesh-injector", subresource: "", change: inject },
            Other::Updates { manager: "kubelet", subresource: "status", change: status },
        ],
        next: |intent| intent["spec"]["containers"][7]["image"] = json!("registry.example/part-7:1.1.0"),
        updater: "kubectl-edit",
        update: |object| {
            object["spec"]["containers"][3]["env"][4]["value"] = json!("changed");
            object["metadata"]["annotations"]["example.com/reason"] = json!("looking for a leak");
        },
    }
}

/// A pod's spec. A Workload's template has the same.
pub(super) fn template() -> Value {
    let volumes: Vec<_> = (0..6)
        .map(|at| json!({"name": format!("volume-{at}"), "configMap": {"name": format!("settings-{at}"), "defaultMode": 420}}))
        .collect();
    json!({
        "containers": (0..CONTAINERS).map(container).collect::<Vec<_>>(),
        "volumes": volumes,
        "serviceAccountName": "mesh",
        "tolerations": [{"key": "dedicated", "operator": "Equal", "value": "mesh", "effect": "NoSchedule"}],
        "topologySpreadConstraints": [{
            "maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"app.kubernetes.io/name": "mesh"}},
        }],
    })
}

fn container(at: usize) -> Value {
    let env = (0..8).map(|variable| json!({"name": format!("VARIABLE_{variable}"), "value": format!("value {variable} of {at}")}));
    let secret = json!({"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "tokens", "key": format!("token-{at}")}}});
    let ports = (0..2).map(|port| json!({"name": format!("port-{port}"), "containerPort": 8000 + 10 * at + port, "protocol": "TCP"}));
    let mounts = (0..3).map(|mount| {
        json!({"name": format!("volume-{}", (at + mount) % 6), "mountPath": format!("/etc/settings-{mount}"), "readOnly": true})
    });
    json!({
        "name": format!("part-{at}"),
        "image": format!("registry.example/part-{at}:1.0.0"),
        "args": ["--part", at.to_string(), "--verbose"],
        "env": env.chain([secret]).collect::<Vec<_>>(),
        "ports": ports.collect::<Vec<_>>(),
        "volumeMounts": mounts.collect::<Vec<_>>(),
        "livenessProbe": {"httpGet": {"path": "/live", "port": "port-0"}, "periodSeconds": 10},
        "readinessProbe": {"httpGet": {"path": "/ready", "port": "port-0"}, "periodSeconds": 5},
        "resources": {"requests": {"cpu": "50m", "memory": "64Mi"}, "limits": {"memory": "128Mi"}},
        "securityContext": {"runAsNonRoot": true, "capabilities": {"drop": ["ALL"]}},
    })
}

/// What a server fills into a pod's spec.
pub(super) fn default_template(spec: &mut Value) {
    spec["dnsPolicy"] = json!("ClusterFirst");
    spec["restartPolicy"] = json!("Always");
    spec["schedulerName"] = json!("default-scheduler");
    spec["terminationGracePeriodSeconds"] = json!(30);
    for container in spec["containers"].as_array_mut().into_iter().flatten() {
        container["imagePullPolicy"] = json!("IfNotPresent");
        container["terminationMessagePath"] = json!("/dev/termination-log");
        container["terminationMessagePolicy"] = json!("File");
        for name in ["livenessProbe", "readinessProbe"] {
            let Some(probe) = container.get_mut(name) else { continue };
            probe["failureThreshold"] = json!(3);
            probe["successThreshold"] = json!(1);
            probe["timeoutSeconds"] = json!(1);
            probe["httpGet"]["scheme"] = json!("HTTP");
        }
    }
}

fn inject(object: &mut Value) {
    object["metadata"]["annotations"] =
        json!({"mesh.example.com/status": "injected", "mesh.example.com/revision": "12"});
    object["metadata"]["labels"]["mesh.example.com/member"] = json!("true");
    if let Some(containers) = object["spec"]["containers"].as_array_mut() {
        containers.push(json!({
            "name": "mesh-proxy", "image": "registry.example/proxy:12",
            "ports": [{"name": "mesh", "containerPort": 15_001, "protocol": "TCP"}],
        }));
    }
}

fn status(object: &mut Value) {
    let container = |at: usize| {
        json!({
            "name": format!("part-{at}"), "image": format!("registry.example/part-{at}:1.0.0"),
            "imageID": format!("registry.example/part-{at}@sha256:{at:064}"), "containerID": format!("containerd://{at:064}"),
            "ready": true, "started": true, "restartCount": 0, "lastState": {},
            "state": {"running": {"startedAt": "2026-01-05T08:01:05Z"}},
        })
    };
    let conditions =
        ["Initialized", "Ready", "ContainersReady", "PodScheduled"].map(|kind| condition(kind, "", ""));
    object["status"] = json!({
        "phase": "Running", "hostIP": "10.0.3.4", "podIP": "10.244.3.17", "podIPs": [{"ip": "10.244.3.17"}],
        "startTime": "2026-01-05T08:01:01Z", "qosClass": "Burstable",
        "conditions": conditions,
        "containerStatuses": (0..CONTAINERS).map(container).collect::<Vec<_>>(),
    });
}
