//! Preparation before validation: resets the fields that the write may not change, and sets those that the server owns.

mod features;
mod job;
mod pod;
mod service;
mod storage;

use baton_merge::schema::kinds::GroupVersionKind;
use baton_merge::{Arena, value::Value};
use jiff::Timestamp;

use super::{
    admission,
    cursor::same,
    default::TEMPLATE_GENERATION,
    edit::{change_each, items, keep, list, map, text},
    kind_of,
    strategies::Kind,
};
use crate::types;

pub(super) use self::pod::class_of_service;

const GENERATION: [&str; 2] = ["metadata", "generation"];

/// The object to be stored, if it is valid: with the changes of plugins and of its kind's strategy, and with the old values
/// of fields that this write may not change.
pub(crate) fn prepare<'a>(
    arena: &'a Arena,
    gvk: &GroupVersionKind,
    subresource: &str,
    new: Value<'a>,
    old: Option<Value<'a>>,
    now: Timestamp,
) -> Value<'a> {
    let kind = kind_of(gvk);
    match old {
        None => prepare_new(arena, gvk, kind, new),
        Some(old) => {
            let new = keep(arena, new, &GENERATION, old);
            match subresource {
                "" | "scale" => prepare_update(arena, gvk, kind, new, old),
                "status" => prepare_status_update(arena, gvk, new, old, now),
                "finalize" => keep(arena, new, &["status"], old),
                "ephemeralcontainers" | "resize" => pod::prepare_part(arena, subresource, new, old),
                _ => new,
            }
        }
    }
}

fn prepare_new<'a>(
    arena: &'a Arena,
    gvk: &GroupVersionKind,
    kind: Option<&Kind>,
    new: Value<'a>,
) -> Value<'a> {
    let mut new = admission::admit(arena, gvk, new, None);
    let Some(kind) = kind else { return new };
    new = features::without_disabled(arena, gvk, new, None);
    if let Some(status) = kind.status.and_then(|status| Value::from_text(arena, status).ok()) {
        new = new.with(arena, &["status"], Some(status));
    }
    if kind.has_generation || kind.name == "PriorityClass" {
        new = new.with(arena, &GENERATION, Some(Value::Int(1)));
    }
    match kind.name {
        "ServiceAccount" => with_plain_secrets(arena, new),
        "Namespace" => with_finalizer(arena, new),
        "DaemonSet" => with_template_generation(arena, new, template_generation(new).max(1)),
        "Job" => job::with_generated_selector(arena, new),
        "Pod" => pod::prepare_new(arena, new),
        "PersistentVolumeClaim" => storage::with_data_sources(arena, new, None),
        "PersistentVolume" => {
            let now = new.at(&["metadata", "creationTimestamp"]);
            new.with(arena, &["status", "lastPhaseTransitionTime"], now)
        }
        "Service" => service::prepare_new(arena, new),
        "EndpointSlice" => without_topology(arena, new),
        _ => new,
    }
}

fn prepare_update<'a>(
    arena: &'a Arena,
    gvk: &GroupVersionKind,
    kind: Option<&Kind>,
    new: Value<'a>,
    old: Value<'a>,
) -> Value<'a> {
    let mut new = admission::admit(arena, gvk, new, Some(old));
    let has_status = |kind: &Kind| kind.status_rule.is_some();
    if kind.is_none_or(has_status) {
        new = keep(arena, new, &["status"], old);
    }
    let Some(kind) = kind else { return new };
    new = features::without_disabled(arena, gvk, new, Some(old));
    new = match kind.name {
        "Secret" if text(new, &["type"]).is_empty() => keep(arena, new, &["type"], old),
        "ServiceAccount" => with_plain_secrets(arena, new),
        "Namespace" => keep(arena, new, &["spec", "finalizers"], old),
        "DaemonSet" => {
            let changed = new.at(&["spec", "template"]) != old.at(&["spec", "template"]);
            with_template_generation(arena, new, template_generation(old).saturating_add(i64::from(changed)))
        }
        "PersistentVolumeClaim" => storage::with_data_sources(arena, new, Some(old)),
        "Service" => service::prepare_update(arena, new, old),
        "EndpointSlice" if same(new.get("endpoints"), old.get("endpoints")) => new,
        "EndpointSlice" => without_topology(arena, new),
        _ => new,
    };
    if kind.has_generation && has_new_generation(kind, new, old) {
        new = with_next_generation(arena, new, old);
    }
    new
}

fn with_next_generation<'a>(arena: &'a Arena, new: Value<'a>, old: Value<'a>) -> Value<'a> {
    let generation = match old.at(&GENERATION) {
        Some(Value::Int(generation)) => generation,
        _ => 0,
    };
    new.with(arena, &GENERATION, Some(Value::Int(generation.saturating_add(1))))
}

/// Whether `generation` increases.
fn has_new_generation(kind: &Kind, new: Value<'_>, old: Value<'_>) -> bool {
    let changed = |path: &[&str]| !same(new.at(path), old.at(path));
    match kind.name {
        "Deployment" => changed(&["spec"]) || changed(&["metadata", "annotations"]),
        "PodTemplate" => changed(&["template"]),
        "EndpointSlice" => {
            ["addressType", "endpoints", "ports"].iter().any(|name| changed(&[name]))
                || changed(&["metadata", "labels"])
        }
        _ => changed(&["spec"]),
    }
}

fn prepare_status_update<'a>(
    arena: &'a Arena,
    gvk: &GroupVersionKind,
    new: Value<'a>,
    old: Value<'a>,
    now: Timestamp,
) -> Value<'a> {
    let new = keep(arena, new, &["spec"], old);
    match (gvk.group.as_str(), gvk.kind.as_str()) {
        ("apps", "Deployment") => keep(arena, new, &["metadata", "labels"], old),
        ("", "Pod") => {
            let new = keep(arena, new, &["metadata", "ownerReferences"], old);
            if text(new, &["status", "qosClass"]).is_empty() {
                keep(arena, new, &["status", "qosClass"], old)
            } else {
                new
            }
        }
        ("", "PersistentVolume") => {
            const SINCE: [&str; 2] = ["status", "lastPhaseTransitionTime"];
            let same_phase = text(new, &["status", "phase"]) == text(old, &["status", "phase"]);
            match new.at(&SINCE) {
                None if same_phase => keep(arena, new, &SINCE, old),
                since if !same_phase && (since.is_none() || since == old.at(&SINCE)) => {
                    let now = arena.copy_text(&types::second_time(now));
                    new.with(arena, &SINCE, Some(Value::String(now)))
                }
                _ => new,
            }
        }
        _ => new,
    }
}

/// A service account's references to secrets have names only.
fn with_plain_secrets<'a>(arena: &'a Arena, account: Value<'a>) -> Value<'a> {
    change_each(arena, account, &["secrets"], |secret| {
        map(arena, secret.get("name").map(|name| ("name", name)))
    })
}

fn with_finalizer<'a>(arena: &'a Arena, namespace: Value<'a>) -> Value<'a> {
    const FINALIZER: Value<'static> = Value::String("kubernetes");

    let finalizers = items(namespace, &["spec", "finalizers"]);
    if finalizers.contains(&FINALIZER) {
        return namespace;
    }
    let all = list(arena, finalizers.iter().copied().chain([FINALIZER]));
    namespace.with(arena, &["spec", "finalizers"], Some(all))
}

fn template_generation(daemon_set: Value<'_>) -> i64 {
    text(daemon_set, &["metadata", "annotations", TEMPLATE_GENERATION]).parse().unwrap_or(0)
}

fn with_template_generation<'a>(arena: &'a Arena, daemon_set: Value<'a>, generation: i64) -> Value<'a> {
    let generation = Value::String(arena.copy_text(&generation.to_string()));
    daemon_set.with(arena, &["metadata", "annotations", TEMPLATE_GENERATION], Some(generation))
}

fn without_topology<'a>(arena: &'a Arena, slice: Value<'a>) -> Value<'a> {
    change_each(arena, slice, &["endpoints"], |endpoint| endpoint.with(arena, &["deprecatedTopology"], None))
}
