//! Validation of in-place resizes.

use baton_merge::{
    Arena,
    value::{Map, Value},
};

use super::{check_pod, update::MIRROR};
use crate::{
    field::{FieldError, FieldPath},
    kinds::{
        cursor::{Cursor, Errors, same},
        prepare::class_of_service,
    },
};

const MUTABLE: &str = "only cpu and memory resources are mutable";

/// Validates an update of a pod's resources, except for its metadata.
pub(in crate::kinds) fn check_resize(new: &Cursor<'_>, old: &Cursor<'_>, errors: &mut Errors) {
    check_pod(new, errors);
    if old.at(&["metadata", "annotations"]).has(MIRROR) {
        errors.clear();
        errors.push(FieldError::forbidden(&FieldPath::new(""), "static pods cannot be resized"));
        return;
    }
    let (spec, old_spec) = (new.child("spec"), old.child("spec"));
    let class = |pod: &Cursor<'_>| pod.value.map(class_of_service);
    if class(new) != class(old) {
        let detail = "Pod QOS Class may not change as a result of resizing";
        errors.push(FieldError::invalid_text(&spec.path, new.at(&["status"]).text_of("qosClass"), detail));
    }
    if !is_supported(old) {
        errors.push(spec.forbidden("Pod running on node without support for resize"));
    }
    if !check_order(&spec, &old_spec, errors) {
        return;
    }
    for name in ["initContainers", "containers"] {
        for (container, before) in spec.child(name).items().zip(old_spec.child(name).items()) {
            for list in ["requests", "limits"] {
                let amounts = container.at(&["resources", list]);
                if before.at(&["resources", list]).members().any(|(name, _)| !amounts.has(name)) {
                    errors.push(amounts.forbidden(&format!("resource {list} cannot be removed")));
                }
            }
            if !same(with_amounts_of(&Arena::new(), &container, &before), before.value) {
                errors.push(spec.forbidden(MUTABLE));
            }
        }
    }
}

/// Whether the pod's node reports the resources of containers.
fn is_supported(pod: &Cursor<'_>) -> bool {
    let statuses = pod.at(&["status", "containerStatuses"]);
    let running = statuses.items().find(|container| container.child("state").has("running"));
    running.is_none_or(|container| container.has("resources"))
}

/// Whether the containers are the same.
fn check_order(spec: &Cursor<'_>, old: &Cursor<'_>, errors: &mut Errors) -> bool {
    let before = errors.len();
    for name in ["containers", "initContainers"] {
        let (containers, old) = (spec.child(name), old.child(name));
        if containers.len() != old.len() {
            let detail = format!("{name} may not be added or removed on resize");
            errors.push(containers.forbidden(&detail));
            continue;
        }
        for (container, old) in containers.items().zip(old.items()) {
            if container.text_of("name") != old.text_of("name") {
                let detail = format!("{name} may not be renamed or reordered on resize");
                errors.push(container.child("name").forbidden(&detail));
            }
        }
    }
    errors.len() == before
}

/// A container with the CPU, the memory and the resize policy of another one.
fn with_amounts_of<'a>(arena: &'a Arena, container: &Cursor<'a>, before: &Cursor<'a>) -> Option<Value<'a>> {
    let (container, before) = (container.value?, before.value?);
    let mut munged = container.with(arena, &["resizePolicy"], before.get("resizePolicy"));
    for list in ["requests", "limits"] {
        for name in ["cpu", "memory"] {
            let path = ["resources", list, name];
            munged = munged.with(arena, &path, before.at(&path));
        }
        let is_empty = munged.at(&["resources", list]).is_some_and(|of| of == Value::Map(Map::default()));
        if is_empty && before.at(&["resources", list]).is_none() {
            munged = munged.with(arena, &["resources", list], None);
        }
    }
    Some(munged)
}
