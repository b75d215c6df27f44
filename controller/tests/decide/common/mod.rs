//! Workloads and children for tests of the pure parts.

pub mod cluster;

use std::sync::Arc;

use baton_apply::LiveObject;
use baton_controller::decide::{
    child::ChildKind,
    replicas::{Autoscaler, Scales},
    snapshot::Snapshot,
};
use baton_crd::Workload;
use serde_json::{Value, json};

pub const UID: &str = "5f0f2c4e-0000-4000-8000-000000000001";

/// A Workload `web` with one container, and with these fields in its spec.
pub fn workload(spec: &Value) -> Workload {
    let mut object = json!({
        "apiVersion": "baton.rs/v1alpha1",
        "kind": "Workload",
        "metadata": {"name": "web", "namespace": "shop", "uid": UID, "generation": 1},
        "spec": {"template": {"spec": {"containers": [{"name": "app", "image": "app:1"}]}}},
    });
    for (field, value) in spec.as_object().unwrap() {
        object["spec"][field] = value.clone();
    }
    serde_json::from_value(object).unwrap()
}

/// A spec that asks for all four children.
pub fn spec_of_all() -> Value {
    json!({
        "autoscaling": {"minReplicas": 2, "maxReplicas": 5},
        "service": {"type": "ClusterIP", "ports": [{"port": 80}]},
        "disruptionBudget": {"maxUnavailable": 1},
    })
}

/// The Workload with these live children, all its own.
pub fn seen(workload: &Workload, children: impl IntoIterator<Item = (ChildKind, Value)>) -> Snapshot {
    let children = children.into_iter().map(|(kind, object)| (kind, live(object))).collect();
    Snapshot::new(Arc::new(workload.clone()), children, Vec::new())
}

/// A live child as a server would return it.
pub fn child(kind: ChildKind) -> (ChildKind, Value) {
    let object = json!({
        "apiVersion": kind.api_version(),
        "kind": kind.name(),
        "metadata": {
            "name": "web",
            "namespace": "shop",
            "uid": format!("uid-of-{kind}"),
            "resourceVersion": "7",
            "ownerReferences": [
                {"apiVersion": "baton.rs/v1alpha1", "kind": "Workload", "name": "web", "uid": UID, "controller": true},
            ],
        },
        "spec": {},
    });
    (kind, object)
}

/// The Deployment with this replica count, owned by these managers: `b` for Baton, `t` for the temporary manager, `s` for an
/// autoscaler, `o` for another manager.
pub fn deployment_owned_by(managers: &str, replicas: i32) -> (ChildKind, Value) {
    let entries: Vec<Value> = managers
        .chars()
        .map(|letter| {
            let (manager, operation, subresource) = match letter {
                'b' => ("baton", "Apply", None),
                't' => ("handover-to-hpa", "Apply", None),
                's' => ("kube-controller-manager", "Update", Some("scale")),
                _ => ("kubectl", "Update", None),
            };
            let mut entry = json!({
                "manager": manager, "operation": operation, "apiVersion": "apps/v1", "fieldsType": "FieldsV1",
                "fieldsV1": {"f:spec": {"f:replicas": {}}},
            });
            if let Some(subresource) = subresource {
                entry["subresource"] = json!(subresource);
            }
            entry
        })
        .collect();
    let (kind, mut object) = child(ChildKind::Deployment);
    object["metadata"]["managedFields"] = json!(entries);
    object["spec"]["replicas"] = json!(replicas);
    (kind, object)
}

/// Another owner's autoscaler of the Deployment.
pub fn autoscaler(name: &str) -> Autoscaler {
    Autoscaler {
        name: name.to_owned(),
        min_replicas: 2,
        controller: None,
        scales: Scales::Deployment,
        is_ambiguous: false,
    }
}

/// Removes a child's ownerReferences.
pub fn disown(seen: &mut Snapshot, kind: ChildKind) {
    change(seen, kind, |object| object["metadata"]["ownerReferences"] = json!([]));
}

/// Marks a child as being deleted.
pub fn terminate(seen: &mut Snapshot, kind: ChildKind) {
    change(seen, kind, |object| object["metadata"]["deletionTimestamp"] = json!("2026-01-02T03:04:05Z"));
}

/// Changes the JSON of a live child.
pub fn change(seen: &mut Snapshot, kind: ChildKind, with: impl FnOnce(&mut Value)) {
    let changed = cluster::but(seen.child(kind).unwrap(), with);
    seen.put(kind, Some(changed));
}

pub fn live(object: Value) -> LiveObject {
    LiveObject::from_json(object).unwrap()
}
