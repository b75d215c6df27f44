//! Fields that the server sets in a new pod: its `QoS` class and selectors with `matchLabelKeys`.

use std::collections::BTreeMap;

use baton_merge::{Arena, value::Value};

use crate::kinds::{
    edit::{change, change_each, items, keep, list, map, members, text},
    quantity::Quantity,
};

/// The resources that decide the `QoS` class.
const COMPUTE: [&str; 2] = ["cpu", "memory"];

pub(super) fn prepare_new<'a>(arena: &'a Arena, pod: Value<'a>) -> Value<'a> {
    let mut status =
        vec![("phase", Value::String("Pending")), ("qosClass", Value::String(class_of_service(pod)))];
    if !items(pod, &["spec", "schedulingGates"]).is_empty() {
        let condition = map(
            arena,
            [
                ("type", Value::String("PodScheduled")),
                ("status", Value::String("False")),
                ("reason", Value::String("SchedulingGated")),
                ("message", Value::String("Scheduling is blocked due to non-empty scheduling gates")),
                ("lastProbeTime", Value::Null),
                ("lastTransitionTime", pod.at(&["metadata", "creationTimestamp"]).unwrap_or(Value::Null)),
            ],
        );
        status.push(("conditions", list(arena, [condition])));
    }
    let pod = pod.with(arena, &["status"], Some(map(arena, status)));
    with_label_keys(arena, pod)
}

/// The `QoS` class of a pod, which decides the order of evictions from a node.
pub(in crate::kinds) fn class_of_service(pod: Value<'_>) -> &'static str {
    let (mut requests, mut limits) = (BTreeMap::new(), BTreeMap::new());
    let mut guaranteed = true;
    let mut count = |resources: Value<'_>| {
        for (part, totals) in [("requests", &mut requests), ("limits", &mut limits)] {
            let amounts = members(resources, &[part]).iter();
            for (name, amount) in amounts.filter(|(name, _)| COMPUTE.contains(name)) {
                let amount = Quantity::of(Some(*amount));
                if amount > Quantity::ZERO {
                    let total = totals.entry((*name).to_owned()).or_insert(Quantity::ZERO);
                    *total = total.plus(amount);
                }
            }
        }
        let is_limited = |name: &&str| Quantity::of(resources.at(&["limits", name])) > Quantity::ZERO;
        COMPUTE.iter().all(is_limited)
    };
    if let Some(resources) = pod.at(&["spec", "resources"]) {
        guaranteed &= count(resources) || members(resources, &["limits"]).is_empty();
    } else {
        let nothing = Value::Null;
        for container in ["containers", "initContainers"].iter().flat_map(|name| items(pod, &["spec", name]))
        {
            guaranteed &= count(container.get("resources").unwrap_or(nothing));
        }
    }
    if requests.is_empty() && limits.is_empty() {
        "BestEffort"
    } else if guaranteed && requests == limits {
        "Guaranteed"
    } else {
        "Burstable"
    }
}

/// Adds the labels of `matchLabelKeys` to the selectors of affinity and spread.
fn with_label_keys<'a>(arena: &'a Arena, pod: Value<'a>) -> Value<'a> {
    const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
    const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

    let complete = |term: Value<'a>| completed(arena, term, pod);
    let mut result = pod;
    for affinity in ["podAffinity", "podAntiAffinity"] {
        result = change_each(arena, result, &["spec", "affinity", affinity, PREFERRED], |weighted| {
            change(arena, weighted, &["podAffinityTerm"], complete)
        });
        result = change_each(arena, result, &["spec", "affinity", affinity, REQUIRED], complete);
    }
    change_each(arena, result, &["spec", "topologySpreadConstraints"], complete)
}

fn completed<'a>(arena: &'a Arena, term: Value<'a>, pod: Value<'a>) -> Value<'a> {
    if term.get("labelSelector").is_none() {
        return term;
    }
    let added: Vec<_> = [("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn")]
        .iter()
        .flat_map(|(keys, operator)| items(term, &[keys]).iter().map(move |key| (*key, *operator)))
        .filter_map(|(key, operator)| {
            let label = pod.at(&["metadata", "labels", key.as_str()?])?;
            let members =
                [("key", key), ("operator", Value::String(operator)), ("values", list(arena, [label]))];
            Some(map(arena, members))
        })
        .collect();
    if added.is_empty() {
        return term;
    }
    let path = ["labelSelector", "matchExpressions"];
    let all = list(arena, items(term, &path).iter().copied().chain(added));
    term.with(arena, &path, Some(all))
}

/// The old pod with the new ephemeral containers, or the new resources of its containers.
pub(super) fn prepare_part<'a>(
    arena: &'a Arena,
    subresource: &str,
    new: Value<'a>,
    old: Value<'a>,
) -> Value<'a> {
    let mut pod = keep(arena, new, &["status"], old);
    for name in ["labels", "annotations", "finalizers", "ownerReferences", "deletionTimestamp"] {
        pod = keep(arena, pod, &["metadata", name], old);
    }
    pod = keep(arena, pod, &["spec"], old);
    if subresource == "ephemeralcontainers" {
        pod = keep(arena, pod, &["spec", "ephemeralContainers"], new);
    } else {
        for containers in ["containers", "initContainers"] {
            let wanted = items(new, &["spec", containers]);
            let mut names = wanted.iter().zip(items(old, &["spec", containers]));
            let is_same = |(one, other): (&Value<'_>, &Value<'_>)| one.get("name") == other.get("name");
            if wanted.len() != items(old, &["spec", containers]).len() || !names.all(is_same) {
                // Validation refuses the change and shows it.
                pod = keep(arena, pod, &["spec", containers], new);
                continue;
            }
            pod = change_each(arena, pod, &["spec", containers], |container| {
                let name = text(container, &["name"]);
                let resized = wanted.iter().find(|other| text(**other, &["name"]) == name);
                resized.map_or(container, |resized| {
                    let container = keep(arena, container, &["resources"], *resized);
                    keep(arena, container, &["resizePolicy"], *resized)
                })
            });
        }
    }
    if pod.get("spec") == old.get("spec") {
        return pod;
    }
    let generation = match old.at(&["metadata", "generation"]) {
        Some(Value::Int(generation)) => generation,
        _ => 0,
    };
    pod.with(arena, &["metadata", "generation"], Some(Value::Int(generation.saturating_add(1))))
}
