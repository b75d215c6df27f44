//! Disabled features: their fields are dropped, unless the stored object has them.

use baton_merge::schema::kinds::GroupVersionKind;
use baton_merge::{Arena, value::Value};

use crate::kinds::{
    default::pod_spec_path,
    edit::{change, change_each, items, text},
};

/// The fields, by kind.
const FIELDS: [(&str, &[&str]); 5] = [
    ("Lease", &["spec", "strategy"]),
    ("Lease", &["spec", "preferredHolder"]),
    ("Node", &["spec", "configSource"]),
    ("Node", &["status", "config"]),
    ("StatefulSet", &["spec", "updateStrategy", "rollingUpdate", "maxUnavailable"]),
];

const CONTAINERS: [&str; 3] = ["containers", "initContainers", "ephemeralContainers"];
const STOP_SIGNAL: [&str; 2] = ["lifecycle", "stopSignal"];

/// Drops the fields of disabled features.
pub(super) fn without_disabled<'a>(
    arena: &'a Arena,
    gvk: &GroupVersionKind,
    new: Value<'a>,
    old: Option<Value<'a>>,
) -> Value<'a> {
    let in_use = |path: &[&str]| old.is_some_and(|old| old.at(path).is_some());
    let own = FIELDS.iter().filter(|(kind, path)| *kind == gvk.kind && !in_use(path));
    let new = own.fold(new, |object, (_, path)| match object.at(path) {
        Some(_) => object.with(arena, path, None),
        None => object,
    });
    if gvk.kind == "PersistentVolumeClaim" {
        let reference = ["spec", "dataSourceRef"];
        let is_elsewhere = !text(new, &["spec", "dataSourceRef", "namespace"]).is_empty();
        return if is_elsewhere && !in_use(&reference) { new.with(arena, &reference, None) } else { new };
    }
    let Some(path) = pod_spec_path(gvk) else { return new };
    let old_spec = old.and_then(|old| old.at(path));
    change(arena, new, path, |spec| without_stop_signals(arena, spec, old_spec))
}

fn without_stop_signals<'a>(arena: &'a Arena, spec: Value<'a>, old: Option<Value<'a>>) -> Value<'a> {
    let has_signals = |spec: Value<'_>| {
        let mut containers = CONTAINERS.iter().flat_map(|name| items(spec, &[name]));
        containers.any(|container| container.at(&STOP_SIGNAL).is_some())
    };
    if !has_signals(spec) || old.is_some_and(has_signals) {
        return spec;
    }
    CONTAINERS.iter().fold(spec, |spec, name| {
        change_each(arena, spec, &[name], |container| {
            if container.at(&STOP_SIGNAL).is_none() {
                return container;
            }
            let container = container.with(arena, &STOP_SIGNAL, None);
            let is_empty =
                container.get("lifecycle").and_then(|of| of.as_map()).is_none_or(|of| of.is_empty());
            if is_empty { container.with(arena, &["lifecycle"], None) } else { container }
        })
    })
}
