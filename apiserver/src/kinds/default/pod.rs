//! The defaults of pods and of the specs of pods in other kinds.

use baton_merge::{Arena, value::Value};

use super::image::pull_policy;
use crate::kinds::{
    edit::{change_each, fill, flag, items, list, map, members, text},
    pod::has_source,
};

/// The containers that a pod has from its beginning.
const CONTAINERS: [&str; 2] = ["containers", "initContainers"];

/// The spec of a pod, wherever it is.
pub(super) fn default_spec<'a>(arena: &'a Arena, spec: Value<'a>) -> Value<'a> {
    let mut spec = spec;
    for containers in CONTAINERS.iter().chain(&["ephemeralContainers"]) {
        spec = change_each(arena, spec, &[containers], |container| {
            fill(
                arena,
                container,
                &["imagePullPolicy"],
                Value::String(pull_policy(text(container, &["image"]))),
            )
        });
    }
    spec = change_each(arena, spec, &["volumes"], |volume| default_volume(arena, volume));
    // The account has two names, of which one is an old one.
    match (spec.get("serviceAccountName"), spec.get("serviceAccount")) {
        (Some(name), _) => spec.with(arena, &["serviceAccount"], Some(name)),
        (None, Some(name)) => spec.with(arena, &["serviceAccountName"], Some(name)),
        (None, None) => spec,
    }
}

fn default_volume<'a>(arena: &'a Arena, volume: Value<'a>) -> Value<'a> {
    if !has_source(volume) {
        return volume.with(arena, &["emptyDir"], Some(map(arena, [])));
    }
    if volume.get("image").is_none() {
        return volume;
    }
    let policy = pull_policy(text(volume, &["image", "reference"]));
    fill(arena, volume, &["image", "pullPolicy"], Value::String(policy))
}

/// A pod, and not the template of one.
pub(super) fn default_pod<'a>(arena: &'a Arena, pod: Value<'a>) -> Value<'a> {
    let mut pod = fill(arena, pod, &["spec", "enableServiceLinks"], Value::Bool(true));
    let on_host_network = flag(pod, &["spec", "hostNetwork"]);
    for containers in CONTAINERS {
        pod = change_each(arena, pod, &["spec", containers], |container| {
            let container = with_requests(arena, container);
            if on_host_network { with_host_ports(arena, container) } else { container }
        });
    }
    let seconds = ["spec", "terminationGracePeriodSeconds"];
    if matches!(pod.at(&seconds), Some(Value::Int(..0))) {
        pod = pod.with(arena, &seconds, Some(Value::Int(1)));
    }
    with_addresses(arena, pod)
}

/// A pod whose first address is its only one of old: where they differ, the old one counts.
fn with_addresses<'a>(arena: &'a Arena, pod: Value<'a>) -> Value<'a> {
    let first = items(pod, &["status", "podIPs"]).first().and_then(|address| address.get("ip"));
    match (pod.at(&["status", "podIP"]), first) {
        (Some(address), _) if Some(address) != first => {
            let addresses = list(arena, [map(arena, [("ip", address)])]);
            pod.with(arena, &["status", "podIPs"], Some(addresses))
        }
        (None, Some(_)) => pod.with(arena, &["status", "podIP"], first),
        _ => pod,
    }
}

/// A container asks for what it may use, where it doesn't say what it asks for.
fn with_requests<'a>(arena: &'a Arena, container: Value<'a>) -> Value<'a> {
    members(container, &["resources", "limits"]).iter().fold(container, |container, (name, limit)| {
        fill(arena, container, &["resources", "requests", name], *limit)
    })
}

fn with_host_ports<'a>(arena: &'a Arena, container: Value<'a>) -> Value<'a> {
    change_each(arena, container, &["ports"], |port| match port.get("hostPort") {
        None | Some(Value::Int(0)) => port.with(arena, &["hostPort"], port.get("containerPort")),
        Some(_) => port,
    })
}
