//! Scopes of a quota: which pods and claims it counts.

use serde_json::Value;

use crate::{
    actors::object::{items, text},
    registry::Resource,
};

/// Whether a quota counts an object.
pub(super) fn matches(quota: &Value, resource: &Resource, object: &Value) -> bool {
    items(quota, "/spec/scopes").iter().all(|scope| selects(text(scope, ""), "Exists", &[], resource, object))
        && items(quota, "/spec/scopeSelector/matchExpressions").iter().all(|selector| {
            let (scope, operator) = (text(selector, "/scopeName"), text(selector, "/operator"));
            selects(scope, operator, items(selector, "/values"), resource, object)
        })
}

fn selects(scope: &str, operator: &str, values: &[Value], resource: &Resource, object: &Value) -> bool {
    let classes: &[&str] = match scope {
        "PriorityClass" if resource.is("", "Pod") => &["/spec/priorityClassName"],
        "VolumeAttributesClass" if resource.is("", "PersistentVolumeClaim") => &[
            "/spec/volumeAttributesClassName",
            "/status/currentVolumeAttributesClassName",
            "/status/modifyVolumeStatus/targetVolumeAttributesClassName",
        ],
        // The other scopes are about pods only.
        _ => return resource.is("", "Pod") && is_in(object, scope),
    };
    let classes = classes.iter().map(|class| text(object, class)).filter(|class| !class.is_empty());
    let classes: Vec<_> = classes.collect();
    let is_listed = |class: &&str| values.iter().any(|value| value == *class);
    match operator {
        "Exists" => !classes.is_empty(),
        "DoesNotExist" => classes.is_empty(),
        "In" => classes.iter().any(is_listed),
        "NotIn" => classes.is_empty() || !classes.iter().all(is_listed),
        _ => false,
    }
}

fn is_in(pod: &Value, scope: &str) -> bool {
    let spec = &pod["spec"];
    let ends = spec["activeDeadlineSeconds"].is_i64();
    let has_resources = |container: &Value| {
        let some =
            |of: &str| container.pointer(of).and_then(Value::as_object).is_some_and(|of| !of.is_empty());
        some("/resources/requests") || some("/resources/limits")
    };
    let asks_for_some =
        || items(pod, "/spec/containers").iter().chain(items(pod, "/spec/initContainers")).any(has_resources);
    match scope {
        "Terminating" => ends,
        "NotTerminating" => !ends,
        "BestEffort" => !asks_for_some(),
        "NotBestEffort" => asks_for_some(),
        "CrossNamespacePodAffinity" => is_affine_to_other_namespaces(spec),
        _ => false,
    }
}

fn is_affine_to_other_namespaces(spec: &Value) -> bool {
    ["podAffinity", "podAntiAffinity"].into_iter().any(|kind| {
        let terms = |list: &str| {
            items(spec, &format!("/affinity/{kind}/{list}DuringSchedulingIgnoredDuringExecution"))
        };
        let preferred = terms("preferred").iter().map(|term| &term["podAffinityTerm"]);
        terms("required").iter().chain(preferred).any(|term| {
            !items(term, "/namespaces").is_empty()
                || term.get("namespaceSelector").is_some_and(Value::is_object)
        })
    })
}
