//! Validation of built-in kinds, with the server's messages.

mod metadata;
mod others;
mod workloads;
mod writes;

use baton_merge::schema::kinds::GroupVersionKind;
use baton_merge::{Arena, value::Value};
use jiff::Timestamp;
use serde_json::{Value as Json, json};

use super::{NameRule, default, prepare, validate, validate_metadata};

fn gvk(group: &str, version: &str, kind: &str) -> GroupVersionKind {
    GroupVersionKind::new(group, version, kind)
}

fn deployments() -> GroupVersionKind {
    gvk("apps", "v1", "Deployment")
}

fn pods() -> GroupVersionKind {
    gvk("", "v1", "Pod")
}

/// The object with a field changed or removed.
fn with(mut object: Json, path: &str, value: Json) -> Json {
    let (parent, name) = path.rsplit_once('/').unwrap();
    let parent = object.pointer_mut(parent).unwrap();
    match (parent, value) {
        (Json::Array(items), value) => items[name.parse::<usize>().unwrap()] = value,
        (Json::Object(members), Json::Null) => {
            members.remove(name);
        }
        (parent, value) => parent[name] = value,
    }
    object
}

fn problems(gvk: &GroupVersionKind, subresource: &str, new: &Json, old: Option<&Json>) -> Vec<String> {
    let arena = Arena::new();
    let value = |json| Value::from_json(&arena, json).unwrap();
    let errors = validate(gvk, subresource, value(new), old.map(value));
    errors
        .iter()
        .map(|error| format!("{error} ({})", error.reason.trim_start_matches("FieldValue")))
        .collect()
}

fn new_problems(gvk: &GroupVersionKind, new: &Json) -> Vec<String> {
    problems(gvk, "", new, None)
}

fn defaulted(gvk: &GroupVersionKind, object: &Json) -> Json {
    let arena = Arena::new();
    default(&arena, gvk, Value::from_json(&arena, object).unwrap()).to_json()
}

fn prepared(gvk: &GroupVersionKind, subresource: &str, new: &Json, old: Option<&Json>) -> Json {
    let arena = Arena::new();
    let value = |json| Value::from_json(&arena, json).unwrap();
    prepare(&arena, gvk, subresource, value(new), old.map(value), Timestamp::UNIX_EPOCH).to_json()
}

fn pod_spec() -> Json {
    json!({
        "containers": [{
            "name": "web",
            "image": "nginx",
            "imagePullPolicy": "Always",
            "terminationMessagePath": "/dev/termination-log",
            "terminationMessagePolicy": "File",
            "resources": {},
        }],
        "restartPolicy": "Always",
        "dnsPolicy": "ClusterFirst",
        "securityContext": {},
        "terminationGracePeriodSeconds": 30,
        "schedulerName": "default-scheduler",
    })
}

fn pod() -> Json {
    json!({"metadata": {"name": "web", "namespace": "default"}, "spec": pod_spec()})
}

fn deployment() -> Json {
    json!({
        "metadata": {"name": "web", "namespace": "default", "uid": "1", "resourceVersion": "1", "generation": 1},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"app": "web"}},
            "strategy": {
                "type": "RollingUpdate",
                "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"},
            },
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": pod_spec()},
            "progressDeadlineSeconds": 600,
            "revisionHistoryLimit": 10,
        },
        "status": {},
    })
}

fn service() -> Json {
    json!({
        "metadata": {"name": "web", "namespace": "default", "uid": "1", "resourceVersion": "1"},
        "spec": {
            "type": "ClusterIP",
            "sessionAffinity": "None",
            "internalTrafficPolicy": "Cluster",
            "clusterIP": "10.0.0.1",
            "clusterIPs": ["10.0.0.1"],
            "ipFamilies": ["IPv4"],
            "ipFamilyPolicy": "SingleStack",
            "ports": [{"port": 80, "protocol": "TCP", "targetPort": 80}],
        },
        "status": {"loadBalancer": {}},
    })
}

fn job() -> Json {
    let labels = json!({
        "batch.kubernetes.io/controller-uid": "1",
        "batch.kubernetes.io/job-name": "once",
        "controller-uid": "1",
        "job-name": "once",
    });
    json!({
        "metadata": {"name": "once", "namespace": "default", "uid": "1", "resourceVersion": "1"},
        "spec": {
            "parallelism": 1,
            "completions": 1,
            "completionMode": "NonIndexed",
            "podReplacementPolicy": "TerminatingOrFailed",
            "manualSelector": false,
            "selector": {"matchLabels": {"batch.kubernetes.io/controller-uid": "1"}},
            "template": {
                "metadata": {"labels": labels},
                "spec": with(pod_spec(), "/restartPolicy", json!("Never")),
            },
        },
        "status": {},
    })
}
