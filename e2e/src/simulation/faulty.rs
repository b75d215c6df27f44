//! The [faults](Fault) of the model checker, around the whole operator: they change what it sees and what it sends.

use std::collections::BTreeMap;

use baton_apply::{Change, LiveObject, Request, Revision, Target};
use baton_controller::decide::{child::ChildKind, snapshot::Snapshot};
use bytes::Bytes;
use http::{HeaderValue, Method, Request as HttpRequest, StatusCode, header::CONTENT_TYPE};
use serde_json::{Value, json};

use super::{
    network::{Process, WatchEvent},
    plan::WorkloadId,
    requests,
};
use crate::handover_model::{Fault, Instead, applied_deployment, guarded_by, scaler_owns};

const APPLY: &str = "application/apply-patch+yaml";

/// An operator's fault, and what the fault has to remember.
pub(super) struct Faulty {
    pub(super) fault: Fault,
    /// The object that each process was shown last, by its path.
    shown: BTreeMap<(Process, String), Value>,
    /// Deletions of autoscalers that wait until the replica count is taken over.
    pub(super) postponed: BTreeMap<WorkloadId, HttpRequest<Bytes>>,
}

/// The child or the Workload that a request is about.
pub(super) struct About {
    pub(super) workload: WorkloadId,
    pub(super) resource: String,
}

impl About {
    pub(super) fn of(request: &HttpRequest<Bytes>) -> Option<Self> {
        let parts: Vec<&str> = request.uri().path().rsplit('/').collect();
        let [name, resource, namespace, "namespaces", ..] = parts[..] else { return None };
        Some(Self { workload: WorkloadId::of(namespace, name)?, resource: resource.to_owned() })
    }

    fn child(&self) -> Option<ChildKind> {
        ChildKind::ALL.into_iter().find(|kind| kind.api_resource().plural == self.resource)
    }
}

impl Faulty {
    pub(super) fn new(fault: Fault) -> Self {
        Self { fault, shown: BTreeMap::new(), postponed: BTreeMap::new() }
    }

    /// An object as the operator sees it; `None` if it is hidden.
    pub(super) fn shows(
        &mut self,
        process: Process,
        resource: &str,
        object: Value,
        gone: bool,
    ) -> Option<Value> {
        if self.fault == Fault::BlindToOthers && resource == "horizontalpodautoscalers" && !is_batons(&object)
        {
            return None;
        }
        let mut object = object;
        if self.fault == Fault::MatchByName && resource == "deployments" {
            let live = LiveObject::from_json(object.clone()).ok()?;
            object = self.fault.shown(&live).as_json().ok()?.clone();
        }
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let key = format!("{resource} {} {}", text("/metadata/namespace"), text("/metadata/name"));
        if gone {
            self.shown.remove(&(process, key));
        } else {
            self.shown.insert((process, key), object.clone());
        }
        Some(object)
    }

    /// An event of a watch as the operator sees it.
    pub(super) fn shows_event(&mut self, process: Process, event: &WatchEvent) -> Option<Bytes> {
        let Ok(mut shown) = serde_json::from_slice::<Value>(&event.data) else {
            return Some(event.data.clone());
        };
        let gone = match shown["type"].as_str() {
            Some("ADDED" | "MODIFIED") => false,
            Some("DELETED") => true,
            _ => return Some(event.data.clone()),
        };
        let object = self.shows(process, &event.resource, shown["object"].take(), gone)?;
        // The type comes first, as every API server writes it: the operator reads the object by its text.
        Some(format!("{{\"type\":{},\"object\":{object}}}\n", shown["type"]).into())
    }

    /// A response as the operator sees it.
    pub(super) fn shows_response(&mut self, process: Process, path: &str, body: &Bytes) -> Bytes {
        let Ok(mut object) = serde_json::from_slice::<Value>(body) else { return body.clone() };
        let last = path.rsplit('/').next().unwrap_or_default();
        if let Some(Value::Array(items)) = object.get_mut("items").map(Value::take) {
            let shown = items.into_iter().filter_map(|item| {
                let is_hidden = last == "horizontalpodautoscalers" && self.is_postponed(&item);
                if is_hidden { None } else { self.shows(process, last, item, false) }
            });
            object["items"] = shown.collect();
        } else if object["kind"] == ChildKind::Deployment.name()
            && let Ok(live) = LiveObject::from_json(object.clone())
            && let Ok(shown) = self.fault.shown(&live).as_json()
        {
            object = shown.clone();
        }
        object.to_string().into()
    }

    fn is_postponed(&self, object: &Value) -> bool {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let workload = WorkloadId::of(text("/metadata/namespace"), text("/metadata/name"));
        workload.is_some_and(|workload| self.postponed.contains_key(&workload))
    }

    /// The response that the operator gets without sending the request.
    pub(super) fn response(
        &mut self,
        process: Process,
        request: &HttpRequest<Bytes>,
        seen: Option<&Snapshot>,
    ) -> Option<(StatusCode, Value)> {
        let path = request.uri().path();
        let found = |object: Option<Value>| match object {
            Some(object) => (StatusCode::OK, object),
            None => (
                StatusCode::NOT_FOUND,
                json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 404, "reason": "NotFound"}),
            ),
        };
        let about = About::of(request);
        if *request.method() == Method::GET
            && let Some(About { workload, resource }) = &about
        {
            if self.postponed.contains_key(workload) && resource == "horizontalpodautoscalers" {
                return Some(found(None));
            }
            if self.fault.reads_from_cache() {
                let key = format!("{resource} {} {}", workload.namespace(), workload.name());
                let shown = self.shown.get(&(process, key)).cloned();
                return Some(found(shown.map(|object| with_kind(object, resource))));
            }
        }
        let lists = WorkloadId::SIMULATED
            .into_iter()
            .any(|workload| path == requests::collection(workload, "horizontalpodautoscalers"));
        if self.fault.reads_from_cache() && *request.method() == Method::GET && lists {
            let namespace = path.split('/').nth(5).unwrap_or_default();
            let begin = format!("horizontalpodautoscalers {namespace} ");
            let items = self.shown.iter().filter(|((of, key), _)| *of == process && key.starts_with(&begin));
            let items: Vec<Value> =
                items.map(|(_, object)| with_kind(object.clone(), "horizontalpodautoscalers")).collect();
            let list = json!({
                "kind": "HorizontalPodAutoscalerList", "apiVersion": "autoscaling/v2",
                "metadata": {"resourceVersion": "1"}, "items": items,
            });
            return Some((StatusCode::OK, list));
        }
        let takes_back_first = self.fault == Fault::TakeBackFirst
            && *request.method() == Method::DELETE
            && seen.and_then(Snapshot::replicas).is_some_and(scaler_owns);
        if takes_back_first
            && let Some(about) = about.filter(|about| about.resource == "horizontalpodautoscalers")
        {
            self.postponed.insert(about.workload, request.clone());
            let done = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"});
            return Some((StatusCode::OK, done));
        }
        None
    }
}

/// The requests to send instead of this one, in this state of the cluster.
pub(super) fn mistaken(
    fault: Fault,
    request: &HttpRequest<Bytes>,
    seen: &Snapshot,
) -> Option<Vec<HttpRequest<Bytes>>> {
    let original = read(request)?;
    let version = version(&original);
    let mut all = vec![original.clone()];
    if let Some(Instead { other, and_itself }) = fault.instead(&original, seen) {
        let mut other = other.request(&seen.workload).ok()?;
        if other.requires_unchanged() {
            // It was planned from what the operator saw.
            other = guarded_by(other, version.as_deref());
        }
        all.insert(0, other);
        all.truncate(1 + usize::from(and_itself));
    }
    let live = |request: &Request| seen.child(ChildKind::of(&request.target)?);
    let mistaken = all.into_iter().map(|request| {
        let live = live(&request).cloned();
        fault.as_it_is_sent(fault.request(request), live.as_ref())
    });
    let mistaken: Vec<Request> = mistaken.collect();
    (mistaken != [original]).then(|| mistaken.iter().map(|one| write(one, request)).collect())
}

/// Whether a request is Baton's apply of a Deployment with its replica count.
pub(super) fn takes_over(request: &HttpRequest<Bytes>) -> bool {
    let request = read(request);
    let body = request.as_ref().and_then(applied_deployment);
    body.is_some_and(|body| body.pointer("/spec/replicas").is_some())
}

/// The version that a request is guarded by.
fn version(request: &Request) -> Option<String> {
    match &request.change {
        Change::Apply { body, .. } => body.pointer("/metadata/resourceVersion")?.as_str().map(str::to_owned),
        _ => None,
    }
}

/// A request as the operator's own code has it; `None` if it isn't about a child.
pub(super) fn read(request: &HttpRequest<Bytes>) -> Option<Request> {
    let about = About::of(request)?;
    let child = about.child()?;
    let query = form_urlencoded::parse(request.uri().query().unwrap_or_default().as_bytes());
    let query: BTreeMap<String, String> = query.into_owned().collect();
    let manager = query.get("fieldManager").cloned().unwrap_or_default();
    let body: Value = serde_json::from_slice(request.body()).unwrap_or_default();
    let content_type = request.headers().get(CONTENT_TYPE).and_then(|text| text.to_str().ok());
    let change = match (request.method(), content_type) {
        (&Method::PATCH, Some(APPLY)) => {
            Change::Apply { body, manager, force: query.get("force").is_some_and(|force| force == "true") }
        }
        (&Method::PATCH, _) => Change::Patch { operations: serde_json::from_value(body).ok()?, manager },
        (&Method::DELETE, _) => {
            let text = |name: &str| body["preconditions"][name].as_str().unwrap_or_default().to_owned();
            Change::Delete(Revision { uid: text("uid"), resource_version: text("resourceVersion") })
        }
        _ => return None,
    };
    let namespace = Some(about.workload.namespace().to_owned());
    Some(Request { target: Target::new(child.api_resource(), namespace, about.workload.name()), change })
}

/// A request as HTTP.
pub(super) fn write(request: &Request, original: &HttpRequest<Bytes>) -> HttpRequest<Bytes> {
    let Target { resource, namespace, name, .. } = &request.target;
    let root = if resource.group.is_empty() {
        "api/v1".to_owned()
    } else {
        format!("apis/{}", resource.api_version)
    };
    let path =
        format!("/{root}/namespaces/{}/{}/{name}", namespace.as_deref().unwrap_or_default(), resource.plural);
    let (method, path, content_type, body) = match &request.change {
        Change::Apply { body, manager, force } => {
            (Method::PATCH, format!("{path}?fieldManager={manager}&force={force}"), APPLY, body.clone())
        }
        Change::Patch { operations, manager } => {
            let body = serde_json::to_value(operations).unwrap_or_default();
            (Method::PATCH, format!("{path}?fieldManager={manager}"), "application/json-patch+json", body)
        }
        Change::Delete(Revision { uid, resource_version }) => {
            let mut conditions = json!({"uid": uid});
            if !resource_version.is_empty() {
                conditions["resourceVersion"] = resource_version.as_str().into();
            }
            (Method::DELETE, path, "application/json", json!({"preconditions": conditions}))
        }
    };
    let mut changed = original.clone();
    *changed.method_mut() = method;
    *changed.uri_mut() = path.parse().unwrap_or_default();
    changed.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    *changed.body_mut() = body.to_string().into();
    changed
}

/// An object of a list or a watch of this resource, with the kind that it has outside of one.
fn with_kind(mut object: Value, resource: &str) -> Value {
    let kind = ChildKind::ALL.into_iter().find(|kind| kind.api_resource().plural == resource);
    let (api_version, kind) = match kind {
        Some(kind) => (kind.api_version(), kind.name()),
        None => ("baton.rs/v1alpha1", "Workload"),
    };
    object["apiVersion"] = api_version.into();
    object["kind"] = kind.into();
    object
}

fn is_batons(autoscaler: &Value) -> bool {
    let owners = autoscaler.pointer("/metadata/ownerReferences").and_then(Value::as_array);
    owners.into_iter().flatten().any(|owner| owner["kind"] == "Workload")
}
