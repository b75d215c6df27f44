//! The objects that users of an environment make.

use serde_json::{Value, json};

/// The Workload `web` with one container and these fields in its spec.
///
/// # Panics
/// When `spec` isn't an object.
pub fn web(spec: &Value) -> Value {
    workload("web", spec)
}

/// Like [`web`], with this name.
///
/// # Panics
/// When `spec` isn't an object.
pub fn workload(name: &str, spec: &Value) -> Value {
    let mut workload = json!({
        "apiVersion": "baton.rs/v1alpha1",
        "kind": "Workload",
        "metadata": {"name": name},
        "spec": {"template": {"spec": {"containers": [{"name": "app", "image": "app:1"}]}}},
    });
    for (field, value) in spec.as_object().expect("a spec is an object") {
        workload["spec"][field] = value.clone();
    }
    workload
}

/// A user's HorizontalPodAutoscaler of this name for a Deployment, with the rest of its spec.
pub fn autoscaler(name: &str, deployment: &str, mut spec: Value) -> Value {
    spec["scaleTargetRef"] = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": deployment});
    json!({
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": name},
        "spec": spec,
    })
}

/// The common fields of a HorizontalPodAutoscaler and of `spec.autoscaling`: limits, the target for the CPU, and the fastest steps,
/// because the API server's default is one in 15 s.
pub fn autoscaling(min: i32, max: i32, target: &Value) -> Value {
    let at_once = json!({
        "stabilizationWindowSeconds": 0,
        "policies": [{"type": "Pods", "value": 100, "periodSeconds": 1}],
    });
    json!({
        "minReplicas": min,
        "maxReplicas": max,
        "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": target}}],
        "behavior": {"scaleUp": at_once, "scaleDown": at_once},
    })
}
