//! The requests of users, and of programs other than Baton.

use baton_controller::decide::child::ChildKind;
use http::{Method, Request, header::CONTENT_TYPE};
use serde_json::{Value, json};

use super::plan::{Limits, Spec, WorkloadId};

const APPLY: &str = "application/apply-patch+yaml";
const MERGE: &str = "application/merge-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";
const JSON: &str = "application/json";
/// A manager that takes over a replica count, though it shouldn't.
pub(super) const ROGUE: &str = "rogue";
/// An image that no Workload has.
const FOREIGN_IMAGE: u8 = 9;

/// An image, by its number.
pub(super) fn image(number: u8) -> String {
    format!("app:{number}")
}

/// The path of a Workload's children, or of Workloads.
pub(super) fn collection(workload: WorkloadId, resource: &str) -> String {
    let group = match resource {
        "workloads" => "apis/baton.rs/v1alpha1",
        "deployments" => "apis/apps/v1",
        "horizontalpodautoscalers" => "apis/autoscaling/v2",
        "poddisruptionbudgets" => "apis/policy/v1",
        _ => "api/v1",
    };
    format!("/{group}/namespaces/{}/{resource}", workload.namespace())
}

/// The path of a Workload's child, or of the Workload.
pub(super) fn object(workload: WorkloadId, resource: &str) -> String {
    format!("{}/{}", collection(workload, resource), workload.name())
}

fn child_path(workload: WorkloadId, child: ChildKind) -> String {
    object(workload, &child.api_resource().plural)
}

/// The path of another owner's autoscaler.
pub(super) fn their_autoscaler(workload: WorkloadId) -> String {
    format!("{}-theirs", object(workload, "horizontalpodautoscalers"))
}

/// Applies a Workload.
pub(super) fn workload(workload: WorkloadId, spec: Spec) -> Request<Vec<u8>> {
    let body = json!({
        "apiVersion": "baton.rs/v1alpha1", "kind": "Workload",
        "metadata": {"name": workload.name()}, "spec": spec.to_json(),
    });
    applied(&object(workload, "workloads"), "author", &body)
}

/// Scales a Deployment or a Workload.
pub(super) fn scaled(workload: WorkloadId, resource: &str, manager: &str, count: i32) -> Request<Vec<u8>> {
    let path = format!("{}/scale?fieldManager={manager}", object(workload, resource));
    built(Method::PATCH, path, MERGE, &json!({"spec": {"replicas": count}}))
}

/// Applies another owner's autoscaler.
pub(super) fn autoscaler(workload: WorkloadId, limits: Limits) -> Request<Vec<u8>> {
    let name = format!("{}-theirs", workload.name());
    let body = crate::autoscaler(&name, &workload.name(), limits.autoscaling());
    applied(&their_autoscaler(workload), "their-owner", &body)
}

/// Force-applies the replica count as the rogue, or releases it.
pub(super) fn rogue(workload: WorkloadId, count: Option<i32>) -> Request<Vec<u8>> {
    let mut body = head(workload, ChildKind::Deployment);
    if let Some(count) = count {
        body["spec"] = json!({"replicas": count});
    }
    applied(&object(workload, "deployments"), ROGUE, &body)
}

/// Force-applies something to a child.
pub(super) fn force_applied(workload: WorkloadId, child: ChildKind) -> Request<Vec<u8>> {
    let mut body = head(workload, child);
    body["spec"] = match child {
        ChildKind::Deployment => containers(FOREIGN_IMAGE),
        ChildKind::Service => json!({"ports": [{"name": "http", "port": 80, "targetPort": 8080}]}),
        ChildKind::Autoscaler => json!({"maxReplicas": 7}),
        ChildKind::DisruptionBudget => json!({"minAvailable": 2}),
    };
    applied(&child_path(workload, child), "person", &body)
}

/// Edits a child.
pub(super) fn edited(workload: WorkloadId, child: ChildKind) -> Request<Vec<u8>> {
    let edit = match child {
        ChildKind::Deployment => json!({"spec": containers(FOREIGN_IMAGE)}),
        _ => json!({"metadata": {"labels": {"app.kubernetes.io/managed-by": "a-team"}}}),
    };
    let path = format!("{}?fieldManager=kubectl-edit", child_path(workload, child));
    built(Method::PATCH, path, STRATEGIC, &edit)
}

/// Creates a Deployment with a Workload's name.
pub(super) fn foreign_deployment(workload: WorkloadId, count: i32) -> Request<Vec<u8>> {
    let mut body = head(workload, ChildKind::Deployment);
    let labels = json!({"app": workload.name()});
    body["spec"] = containers(FOREIGN_IMAGE);
    body["spec"]["replicas"] = count.into();
    body["spec"]["selector"] = json!({"matchLabels": labels});
    body["spec"]["template"]["metadata"] = json!({"labels": labels});
    let path = format!("{}?fieldManager=kubectl-create", collection(workload, "deployments"));
    built(Method::POST, path, JSON, &body)
}

/// One request of a contention.
pub(super) fn contention(workload: WorkloadId) -> Request<Vec<u8>> {
    let mut body = head(workload, ChildKind::Deployment);
    body["spec"] = containers(FOREIGN_IMAGE - 1);
    applied(&object(workload, "deployments"), "fighter", &body)
}

/// A dry run of an apply.
pub(super) fn tried(path: &str, manager: &str, force: bool, object: &Value) -> Request<Vec<u8>> {
    let path = format!("{path}?fieldManager={manager}&force={force}&dryRun=All");
    built(Method::PATCH, path, APPLY, object)
}

pub(super) fn get(path: impl Into<String>) -> Request<Vec<u8>> {
    built(Method::GET, path.into(), JSON, &Value::Null)
}

pub(super) fn deleted(path: &str) -> Request<Vec<u8>> {
    built(Method::DELETE, path.to_owned(), JSON, &json!({}))
}

fn head(workload: WorkloadId, child: ChildKind) -> Value {
    json!({"apiVersion": child.api_version(), "kind": child.name(), "metadata": {"name": workload.name()}})
}

fn containers(number: u8) -> Value {
    json!({"template": {"spec": {"containers": [{"name": "app", "image": image(number)}]}}})
}

fn applied(path: &str, manager: &str, object: &Value) -> Request<Vec<u8>> {
    built(Method::PATCH, format!("{path}?fieldManager={manager}&force=true"), APPLY, object)
}

fn built(method: Method, path: String, content_type: &str, body: &Value) -> Request<Vec<u8>> {
    let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
    let request = Request::builder().method(method).uri(path).header(CONTENT_TYPE, content_type).body(body);
    request.expect("these are paths")
}
