//! Which pods a quota is about, where it isn't about all.

use serde_json::Value;

use crate::{
    actors::object::{items, text},
    registry::Resource,
};

/// Whether a quota is about an object.
pub(super) fn matches(quota: &Value, resource: &Resource, object: &Value) -> bool {
    let scopes = items(quota, "/spec/scopes");
    let selectors = items(quota, "/spec/scopeSelector/matchExpressions");
    if scopes.is_empty() && selectors.is_empty() {
        return true;
    }
    // Of what isn't a pod no scope knows anything.
    resource.is("", "Pod")
        && scopes.iter().all(|scope| is_in(object, scope.as_str().unwrap_or_default()))
        && selectors.iter().all(|selector| selects(selector, object))
}

fn selects(selector: &Value, pod: &Value) -> bool {
    let scope = text(selector, "/scopeName");
    let is_listed =
        || items(selector, "/values").iter().any(|value| *value == pod["spec"]["priorityClassName"]);
    match text(selector, "/operator") {
        "Exists" => is_in(pod, scope),
        "DoesNotExist" => !is_in(pod, scope),
        "In" => scope == "PriorityClass" && is_listed(),
        "NotIn" => scope == "PriorityClass" && !is_listed(),
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
        "PriorityClass" => !text(spec, "/priorityClassName").is_empty(),
        _ => false,
    }
}
