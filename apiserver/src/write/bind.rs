//! Bindings: a scheduler's choice of a pod's node. After `pkg/registry/core/pod/storage/storage.go`.

use baton_merge::{Arena, value::Value};
use jiff::Timestamp;
use serde_json::{Value as Json, json};

use super::{body, check_namespace, metadata_text, one};
use crate::{
    actors::object::{set_condition, text},
    definitions::changed,
    field::{FieldError, FieldPath},
    http::{Request, Response},
    options::WriteOptions,
    server::{RequestTarget, Server, media},
    status::Failure,
};

/// `POST` of a binding to a pod, or to the collection of bindings, where the body names the pod.
pub(crate) fn bind(server: &Server, request: &Request, target: &RequestTarget) -> Result<Response, Failure> {
    media(request, target)?;
    let options = WriteOptions::read("CreateOptions", &request.query, false, request.user_agent())?;
    let arena = Arena::new();
    let (binding, _) = body::object(&arena, request, target)?;
    check_namespace(target, binding)?;
    let name = metadata_text(binding, "name");
    if target.name.is_empty() && name.is_empty() {
        return Err(Failure::bad_request("Name parameter required."));
    }
    if !target.name.is_empty() && target.name != name {
        return Err(Failure::bad_request("name in URL does not match name in Binding object"));
    }
    let binding = binding.to_json();
    check(&binding)?;
    let registry = server.registry();
    let pods = registry.resource("", "v1", "pods").ok_or_else(Failure::no_such_path)?;
    let namespace = target.namespace.clone();
    let pod = RequestTarget { resource: pods.clone(), namespace, name, subresource: String::new() };
    loop {
        let live = server.store.get(&pod.resource.storage, &pod.key());
        let live = live.ok_or_else(|| Failure::not_found(&pod.resource, &pod.name))?;
        let object = Value::from_text(&arena, live.text()).map_err(Failure::internal)?;
        check_preconditions(&pod, options.dry_run, &binding, object)?;
        check_unbound(&pod, object)?;
        let object = changed(&arena, object, |pod| assign(pod, &binding, server.now()));
        // The server writes it itself, without an owner.
        let bound = live.replaced(object, &pod.resource.storage_version);
        if options.dry_run || server.store.put(&pod.resource.storage, pod.key(), Some(&live), &bound).is_ok()
        {
            break;
        }
    }
    let status =
        json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201});
    Ok(Response::json(201, &status))
}

/// Refuses a binding to anything but a node, which the server reports as an internal error.
fn check(binding: &Json) -> Result<(), Failure> {
    let path = FieldPath::new("target");
    let mut errors = Vec::new();
    let kind = text(binding, "/target/kind");
    if !matches!(kind, "" | "Node") {
        let supported = ["Node", "<empty>"];
        errors.push(FieldError::not_supported(&path.child("kind"), Value::String(kind), &supported));
    }
    if text(binding, "/target/name").is_empty() {
        errors.push(FieldError::required(&path.child("name"), ""));
    }
    let texts: Vec<_> = errors.iter().map(ToString::to_string).collect();
    match texts.as_slice() {
        [] => Ok(()),
        [one] => Err(Failure::without_reason(one)),
        all => Err(Failure::without_reason(format!("[{}]", all.join(", ")))),
    }
}

fn check_preconditions(
    pod: &RequestTarget,
    dry_run: bool,
    binding: &Json,
    live: Value<'_>,
) -> Result<(), Failure> {
    for (field, name) in [("uid", "UID"), ("resourceVersion", "ResourceVersion")] {
        let (wanted, found) =
            (binding["metadata"][field].as_str().unwrap_or_default(), metadata_text(live, field));
        if !wanted.is_empty() && wanted != found {
            let why = one::unmet(pod, dry_run, name, wanted, &found);
            return Err(Failure::conflict(&pod.resource, &pod.name, &why));
        }
    }
    Ok(())
}

fn check_unbound(pod: &RequestTarget, live: Value<'_>) -> Result<(), Failure> {
    let name = &pod.name;
    let gates = live.at(&["spec", "schedulingGates"]).and_then(|gates| gates.as_list()).unwrap_or_default();
    let why = if live.at(&["metadata", "deletionTimestamp"]).is_some() {
        format!("pod {name} is being deleted, cannot be assigned to a host")
    } else if let Some(node) = live.at(&["spec", "nodeName"]) {
        format!("pod {name} is already assigned to node {node}")
    } else if gates.is_empty() {
        return Ok(());
    } else {
        format!("pod {name} has non-empty .spec.schedulingGates")
    };
    let mut failure = Failure::conflict(&pod.resource, name, &why);
    failure.message = format!("Operation cannot be fulfilled on pods/binding {name:?}: {why}");
    failure.details = Some(Box::new(json!({"name": name, "kind": "pods/binding"})));
    Err(failure)
}

/// The pod on its node, with the binding's labels and annotations.
fn assign(pod: &mut Json, binding: &Json, now: Timestamp) {
    pod["spec"]["nodeName"] = binding["target"]["name"].clone();
    for field in ["labels", "annotations"] {
        for (name, value) in binding["metadata"][field].as_object().into_iter().flatten() {
            pod["metadata"][field][name] = value.clone();
        }
    }
    if let Some(status) = pod["status"].as_object_mut() {
        status.remove("nominatedNodeName");
    }
    let conditions = &mut pod["status"]["conditions"];
    if !conditions.is_array() {
        *conditions = json!([]);
    }
    if let Some(conditions) = conditions.as_array_mut() {
        let condition = json!({"type": "PodScheduled", "status": "True", "lastProbeTime": null});
        set_condition(conditions, condition, now);
    }
}
