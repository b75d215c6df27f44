//! The requests of users, and of programs other than Baton.

use baton_controller::decide::child::ChildKind;
use http::{Method, Request, header::CONTENT_TYPE};
use serde_json::{Value, json};

use super::event::{Event, Site, image};
use crate::{autoscaler, soak::user};

const APPLY: &str = "application/apply-patch+yaml";
const MERGE: &str = "application/merge-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";
const JSON: &str = "application/json";
/// A manager that takes over a replica count, though it shouldn't.
pub(super) const ROGUE: &str = "rogue";
/// An image that no Workload has.
const FOREIGN_IMAGE: u8 = 9;

/// The path of a Workload's children, or of the Workload.
pub(super) fn path(site: Site, resource: &str) -> String {
    let group = match resource {
        "workloads" => "apis/baton.rs/v1alpha1",
        "deployments" => "apis/apps/v1",
        "horizontalpodautoscalers" => "apis/autoscaling/v2",
        "poddisruptionbudgets" => "apis/policy/v1",
        _ => "api/v1",
    };
    format!("/{group}/namespaces/{}/{resource}", site.namespace())
}

fn child_path(site: Site, child: ChildKind) -> String {
    path(site, &child.api_resource().plural)
}

/// The request of an event, if it is one.
pub(super) fn request(event: &Event) -> Option<Request<Vec<u8>>> {
    let of = |site: Site, resource: &str| format!("{}/{}", path(site, resource), site.name());
    let scale = |site, resource, manager: &str, number: i32| {
        let path = format!("{}/scale?fieldManager={manager}", of(site, resource));
        Some(built(Method::PATCH, path, MERGE, &json!({"spec": {"replicas": number}})))
    };
    match *event {
        Event::Apply(site, spec) => {
            let object = json!({
                "apiVersion": "baton.rs/v1alpha1", "kind": "Workload",
                "metadata": {"name": site.name()}, "spec": spec.to_json(),
            });
            Some(applied(&of(site, "workloads"), "author", &object))
        }
        Event::Delete(site) => Some(deleted(of(site, "workloads"))),
        Event::Scale(site, number) => scale(site, "deployments", "kubectl", number),
        Event::ScaleWorkload(site, number) => scale(site, "workloads", "kubectl", number),
        Event::TheirScale(site, number) => scale(site, "deployments", "their-autoscaler", number),
        Event::TheirAutoscaler(site, limits) => {
            let name = format!("{}-theirs", site.name());
            let path = format!("{}/{name}", path(site, "horizontalpodautoscalers"));
            Some(match limits {
                Some(limits) => {
                    applied(&path, "their-owner", &autoscaler(&name, site.name(), user::scaling(limits)))
                }
                None => deleted(path),
            })
        }
        Event::Rogue(site, number) => {
            let mut object = head(site, ChildKind::Deployment);
            if let Some(number) = number {
                object["spec"] = json!({"replicas": number});
            }
            Some(applied(&of(site, "deployments"), ROGUE, &object))
        }
        Event::Edit(site, child, true) => {
            let mut object = head(site, child);
            object["spec"] = match child {
                ChildKind::Deployment => containers(FOREIGN_IMAGE),
                ChildKind::Service => json!({"ports": [{"name": "http", "port": 80, "targetPort": 8080}]}),
                ChildKind::Autoscaler => json!({"maxReplicas": 7}),
                ChildKind::DisruptionBudget => json!({"minAvailable": 2}),
            };
            Some(applied(&format!("{}/{}", child_path(site, child), site.name()), "person", &object))
        }
        Event::Edit(site, child, false) => {
            let path = format!("{}/{}?fieldManager=kubectl-edit", child_path(site, child), site.name());
            let edit = match child {
                ChildKind::Deployment => json!({"spec": containers(FOREIGN_IMAGE)}),
                _ => json!({"metadata": {"labels": {"app.kubernetes.io/managed-by": "somebody"}}}),
            };
            Some(built(Method::PATCH, path, STRATEGIC, &edit))
        }
        Event::Remove(site, child) => Some(deleted(format!("{}/{}", child_path(site, child), site.name()))),
        Event::Foreign(site, number) => {
            let mut object = head(site, ChildKind::Deployment);
            let labels = json!({"app": site.name()});
            object["spec"] = containers(FOREIGN_IMAGE);
            object["spec"]["replicas"] = number.into();
            object["spec"]["selector"] = json!({"matchLabels": labels});
            object["spec"]["template"]["metadata"] = json!({"labels": labels});
            let path = format!("{}?fieldManager=kubectl-create", path(site, "deployments"));
            Some(built(Method::POST, path, JSON, &object))
        }
        _ => None,
    }
}

/// One request of a contention.
pub(super) fn contention(site: Site) -> Request<Vec<u8>> {
    let mut object = head(site, ChildKind::Deployment);
    object["spec"] = containers(FOREIGN_IMAGE - 1);
    applied(&format!("{}/{}", path(site, "deployments"), site.name()), "fighter", &object)
}

/// A dry run of an apply.
pub(super) fn tried(path: &str, manager: &str, force: bool, object: &Value) -> Request<Vec<u8>> {
    let path = format!("{path}?fieldManager={manager}&force={force}&dryRun=All");
    built(Method::PATCH, path, APPLY, object)
}

pub(super) fn get(path: impl Into<String>) -> Request<Vec<u8>> {
    built(Method::GET, path.into(), JSON, &Value::Null)
}

fn head(site: Site, child: ChildKind) -> Value {
    json!({"apiVersion": child.api_version(), "kind": child.name(), "metadata": {"name": site.name()}})
}

fn containers(number: u8) -> Value {
    json!({"template": {"spec": {"containers": [{"name": "app", "image": image(number)}]}}})
}

fn applied(path: &str, manager: &str, object: &Value) -> Request<Vec<u8>> {
    built(Method::PATCH, format!("{path}?fieldManager={manager}&force=true"), APPLY, object)
}

fn deleted(path: String) -> Request<Vec<u8>> {
    built(Method::DELETE, path, JSON, &json!({}))
}

fn built(method: Method, path: String, content_type: &str, body: &Value) -> Request<Vec<u8>> {
    let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
    let request = Request::builder().method(method).uri(path).header(CONTENT_TYPE, content_type).body(body);
    request.expect("these are paths")
}
