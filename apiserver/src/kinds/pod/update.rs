//! Validation of pod updates.

use baton_merge::{
    Arena,
    value::{Map, Value},
};

use super::{
    check_pod, check_pod_annotations, container::check_image_spaces, scheduling::check_tolerations, security,
};
use crate::kinds::cursor::{Cursor, Errors, same};

/// The server's message about mutable fields.
const UPDATABLE: &str = "pod updates may not change fields other than `spec.containers[*].image`,\
    `spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,\
    `spec.tolerations` (only additions to existing tolerations),\
    `spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";

pub(super) const MIRROR: &str = "kubernetes.io/config.mirror";

/// Validates a pod update, except for its metadata, for which `check_metadata` is called.
pub(in crate::kinds) fn check_pod_update(new: &Cursor<'_>, old: &Cursor<'_>, errors: &mut Errors) {
    check_pod(new, errors);
    check_annotation_updates(new, old, errors);
    let (spec, old_spec) = (new.child("spec"), old.child("spec"));
    for name in ["containers", "initContainers"] {
        let (containers, old_containers) = (spec.child(name), old_spec.child(name));
        if containers.len() != old_containers.len() {
            errors.push(containers.forbidden("pod updates may not add or remove containers"));
            return;
        }
        for container in containers.items() {
            let image = container.child("image");
            image.check_present(errors);
            check_image_spaces(&image, errors);
        }
    }
    if !check_deadline(&spec.child("activeDeadlineSeconds"), &old_spec.child("activeDeadlineSeconds"), errors)
    {
        return;
    }
    check_added_tolerations(&spec, &old_spec, errors);
    check_removed_gates(&spec, &old_spec, errors);
    if same(spec.value, old_spec.value) {
        return;
    }
    let arena = Arena::new();
    if let (Some(new), Some(old)) = (spec.value, old_spec.value)
        && with_what_may_change(&arena, new, old, errors) != old
    {
        errors.push(spec.forbidden(UPDATABLE));
    }
}

/// The new spec with the old values of mutable fields.
fn with_what_may_change<'a>(
    arena: &'a Arena,
    new: Value<'a>,
    old: Value<'a>,
    errors: &mut Errors,
) -> Value<'a> {
    const GRACE_PERIOD: &str = "terminationGracePeriodSeconds";

    let mut munged = new;
    for name in ["containers", "initContainers"] {
        let (Some(containers), Some(before)) = (items(new, name), items(old, name)) else { continue };
        let containers = containers
            .iter()
            .zip(before)
            .map(|(container, before)| container.with(arena, &["image"], before.get("image")));
        munged = munged.with(arena, &[name], Some(Value::List(arena.list(containers))));
    }
    for name in ["activeDeadlineSeconds", "schedulingGates", "tolerations"] {
        munged = munged.with(arena, &[name], old.get(name));
    }
    if let (Some(Value::Int(..0)), Some(Value::Int(1))) = (old.get(GRACE_PERIOD), munged.get(GRACE_PERIOD)) {
        munged = munged.with(arena, &[GRACE_PERIOD], old.get(GRACE_PERIOD));
    }
    if items(old, "schedulingGates").is_some_and(|gates| !gates.is_empty()) {
        munged = with_scheduling_of_gated(arena, munged, old, errors);
    }
    munged
}

fn items<'a>(value: Value<'a>, name: &str) -> Option<&'a [Value<'a>]> {
    value.get(name)?.as_list()
}

/// The scheduling constraints of a gated pod can be narrowed.
fn with_scheduling_of_gated<'a>(
    arena: &'a Arena,
    new: Value<'a>,
    old: Value<'a>,
    errors: &mut Errors,
) -> Value<'a> {
    let spec = Cursor { value: Some(new), path: crate::field::FieldPath::new("spec") };
    let selector = spec.child("nodeSelector");
    let old_selector = old.get("nodeSelector").and_then(|selector| selector.as_map()).unwrap_or_default();
    if old_selector.members().iter().any(|(key, value)| selector.get(key) != Some(*value)) {
        let detail = "only additions to spec.nodeSelector are allowed (no mutations or deletions)";
        errors.push(selector.invalid(detail));
    }
    let munged = new.with(arena, &["nodeSelector"], old.get("nodeSelector"));
    check_narrowed_affinity(
        &spec.at(&["affinity", "nodeAffinity"]),
        old.at(&["affinity", "nodeAffinity"]),
        errors,
    );
    let munged = munged.with(arena, &["affinity", "nodeAffinity"], old.at(&["affinity", "nodeAffinity"]));
    let is_nothing =
        |affinity: Value<'_>| affinity.as_map().is_some_and(|affinity: Map<'_>| affinity.is_empty());
    if old.get("affinity").is_none() && munged.get("affinity").is_some_and(is_nothing) {
        return munged.with(arena, &["affinity"], None);
    }
    munged
}

fn check_narrowed_affinity(new: &Cursor<'_>, old: Option<Value<'_>>, errors: &mut Errors) {
    const TERMS: [&str; 2] = ["requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms"];

    let terms = new.at(&TERMS);
    let old_terms = old.and_then(|old| old.at(&TERMS)?.as_list()).unwrap_or_default();
    if old_terms.is_empty() {
        return;
    }
    if old_terms.len() != terms.len() {
        errors.push(terms.invalid("no additions/deletions to non-empty NodeSelectorTerms list are allowed"));
        return;
    }
    for (term, old_term) in terms.items().zip(old_terms) {
        let parts = ["matchExpressions", "matchFields"].map(|name| {
            (
                term.get(name).and_then(|list| list.as_list()).unwrap_or_default(),
                old_term.get(name).and_then(|list| list.as_list()).unwrap_or_default(),
            )
        });
        let was_empty = parts.iter().all(|(_, old)| old.is_empty());
        let only_added = parts.iter().all(|(new, old)| new.starts_with(old));
        if !only_added || (was_empty && parts.iter().any(|(new, _)| !new.is_empty())) {
            errors.push(term.invalid("only additions are allowed (no mutations or deletions)"));
        }
    }
}

/// Validates changes of annotations with a meaning for pods, and the annotations themselves.
pub(super) fn check_annotation_updates(new: &Cursor<'_>, old: &Cursor<'_>, errors: &mut Errors) {
    let annotations = new.at(&["metadata", "annotations"]);
    let old_annotations = old.at(&["metadata", "annotations"]);
    let place = |key: &str| Cursor { value: None, path: annotations.path.key(key) };
    for (key, value) in old_annotations.members() {
        if annotations.get(key) == value.value {
        } else if security::is_app_armor_annotation(key) {
            errors.push(place(key).forbidden("may not remove or update AppArmor annotations"));
        } else if key == MIRROR {
            errors.push(place(key).forbidden("may not remove or update mirror pod annotation"));
        }
    }
    for (key, _) in annotations.members().filter(|(key, _)| !old_annotations.has(key)) {
        if security::is_app_armor_annotation(key) {
            errors.push(place(key).forbidden("may not add AppArmor annotations"));
        } else if key == MIRROR {
            errors.push(place(key).forbidden("may not add mirror pod annotation"));
        }
    }
    check_pod_annotations(&annotations, &new.child("spec"), errors);
}

/// Returns whether the remaining rules apply.
fn check_deadline(new: &Cursor<'_>, old: &Cursor<'_>, errors: &mut Errors) -> bool {
    if !new.is_set() {
        if old.is_set() {
            errors.push(new.invalid("must not update from a positive integer to nil value"));
        }
        return true;
    }
    let before = errors.len();
    new.check_range(errors, 0, i64::from(i32::MAX));
    if errors.len() == before && old.is_set() && old.int() < new.int() {
        errors.push(new.invalid_int("must be less than or equal to previous value"));
    }
    errors.len() == before
}

fn check_added_tolerations(spec: &Cursor<'_>, old_spec: &Cursor<'_>, errors: &mut Errors) {
    let tolerations = spec.child("tolerations");
    let is_like = |new: &Cursor<'_>, old: &Cursor<'_>| {
        ["key", "operator", "value", "effect"].iter().all(|name| new.get(name) == old.get(name))
    };
    let is_kept = |old: Cursor<'_>| tolerations.items().any(|new| is_like(&new, &old));
    if old_spec.child("tolerations").items().all(is_kept) {
        check_tolerations(&tolerations, errors);
    } else {
        let detail = "existing toleration can not be modified except its tolerationSeconds";
        errors.push(tolerations.forbidden(detail));
    }
}

fn check_removed_gates(spec: &Cursor<'_>, old_spec: &Cursor<'_>, errors: &mut Errors) {
    let known: Vec<_> = old_spec.child("schedulingGates").items().map(|gate| gate.text_of("name")).collect();
    for gate in spec.child("schedulingGates").items() {
        let name = gate.child("name");
        if !known.contains(&name.text()) {
            let detail = format!("only deletion is allowed, but found new scheduling gate '{}'", name.text());
            errors.push(name.forbidden(&detail));
        }
    }
}

/// Validates an update of ephemeral containers, except for the metadata.
pub(in crate::kinds) fn check_ephemeral_containers_update(
    new: &Cursor<'_>,
    old: &Cursor<'_>,
    errors: &mut Errors,
) {
    if old.at(&["metadata", "annotations"]).has(MIRROR) {
        errors.clear();
        let place = Cursor { value: None, path: crate::field::FieldPath::new("") };
        errors.push(place.forbidden("static pods do not support ephemeral containers"));
        return;
    }
    check_pod(new, errors);
    check_annotation_updates(new, old, errors);
    let containers = new.at(&["spec", "ephemeralContainers"]);
    for old in old.at(&["spec", "ephemeralContainers"]).items() {
        let name = old.text_of("name");
        match containers.items().find(|new| new.text_of("name") == name) {
            None => {
                let detail = format!("existing ephemeral containers {name:?} may not be removed\n");
                errors.push(containers.forbidden(&detail));
            }
            Some(new) if !same(new.value, old.value) => {
                let detail = format!("existing ephemeral containers {name:?} may not be changed\n");
                errors.push(containers.forbidden(&detail));
            }
            Some(_) => {}
        }
    }
}
