//! Cells of nodes, certificate requests and flow schemas.

use std::collections::BTreeSet;

use baton_merge::value::Value;

use super::access::{at, condition, int, is_true, list, map, text, text_or};
use super::age::human_duration;

pub(super) fn status(node: Value<'_>) -> String {
    // Here the last condition of a type counts.
    let ready =
        list(node, "status.conditions").iter().rfind(|condition| text(**condition, "type") == "Ready");
    let status = match ready.map(|ready| text(*ready, "status")) {
        None => "Unknown",
        Some("True") => "Ready",
        Some(_) => "NotReady",
    };
    let disabled = if is_true(node, "spec.unschedulable") { ",SchedulingDisabled" } else { "" };
    format!("{status}{disabled}")
}

pub(super) fn roles(node: Value<'_>) -> String {
    let labels = map(node, "metadata.labels").members().iter();
    let roles: BTreeSet<_> = labels
        .filter_map(|(key, value)| match key.strip_prefix("node-role.kubernetes.io/") {
            None if *key == "kubernetes.io/role" => value.as_str(),
            role => role,
        })
        .filter(|role| !role.is_empty())
        .collect();
    if roles.is_empty() { "<none>".to_owned() } else { roles.into_iter().collect::<Vec<_>>().join(",") }
}

/// The first address of a type.
pub(super) fn address(node: Value<'_>, kind: &str) -> String {
    let address = list(node, "status.addresses").iter().find(|address| text(**address, "type") == kind);
    address.map_or("<none>", |address| text(*address, "address")).to_owned()
}

pub(super) fn kernel(node: Value<'_>) -> String {
    let version = text_or(node, "status.nodeInfo.kernelVersion", "<unknown>");
    match text(node, "status.nodeInfo.architecture") {
        "" => version.to_owned(),
        architecture => format!("{version} ({architecture})"),
    }
}

pub(super) fn requested_duration(request: Value<'_>) -> String {
    match at(request, "spec.expirationSeconds") {
        None => "<none>".to_owned(),
        Some(_) => human_duration(int(request, "spec.expirationSeconds")),
    }
}

pub(super) fn certificate_status(request: Value<'_>) -> String {
    let has = |kind| condition(request, kind).is_some();
    let decision = if has("Denied") {
        "Denied"
    } else if has("Approved") {
        "Approved"
    } else {
        "Pending"
    };
    let failed = if has("Failed") { ",Failed" } else { "" };
    let issued = if text(request, "status.certificate").is_empty() { "" } else { ",Issued" };
    format!("{decision}{failed}{issued}")
}

/// Whether the priority level of a flow schema is missing.
pub(super) fn dangling(schema: Value<'_>) -> String {
    condition(schema, "Dangling").map_or("?", |dangling| text(dangling, "status")).to_owned()
}
