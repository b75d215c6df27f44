//! Defaults of pods and pod templates.

use baton_merge::{Arena, value::Value};

use super::image::pull_policy;
use crate::kinds::{
    edit::{change_each, fill, flag, items, list, map, members, text},
    pod::has_source,
};

/// The containers of a new pod.
const CONTAINERS: [&str; 2] = ["containers", "initContainers"];

/// The defaults of a pod spec.
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
    // `serviceAccount` is the deprecated name of `serviceAccountName`.
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

/// The defaults of a pod, not of a template.
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

/// Syncs `podIP` and `podIPs`: where they differ, `podIP` wins.
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

/// Requests default to limits.
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
