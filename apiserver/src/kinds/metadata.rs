//! Validation of metadata, of built-in and custom objects.

use std::collections::BTreeSet;

use baton_merge::{Arena, value::Value};

use super::{
    cursor::{Cursor, Errors, IMMUTABLE},
    format::{self, NameRule},
};
use crate::field::{FieldError, FieldPath};

/// The limit of all annotations together.
const ANNOTATIONS_LENGTH: usize = 256 << 10;

/// The longest name of a field manager.
const MANAGER_LENGTH: usize = 128;

/// The longest name of a subresource in `managedFields`.
const SUBRESOURCE_LENGTH: usize = 256;

/// Finalizers without a prefix.
pub(crate) const STANDARD_FINALIZERS: [&str; 3] = ["kubernetes", ORPHAN, FOREGROUND];
pub(crate) const ORPHAN: &str = "orphan";
pub(crate) const FOREGROUND: &str = "foregroundDeletion";

/// Validates the metadata of an embedded object, which needs no name.
pub(crate) fn validate_embedded(metadata: Value<'_>, path: &FieldPath) -> Vec<FieldError> {
    let mut errors = Errors::new();
    let arena = Arena::new();
    let is_unnamed = metadata.get("name").and_then(|name| name.as_str()).is_none_or(str::is_empty);
    let named =
        if is_unnamed { metadata.with(&arena, &["name"], Some(Value::String("unnamed"))) } else { metadata };
    let namespaced =
        metadata.get("namespace").and_then(|name| name.as_str()).is_some_and(|name| !name.is_empty());
    check(&Cursor::root(named).shown_at(path.clone()), &mut errors, NameRule::PathSegment, namespaced);
    errors
}

/// Validates the metadata of a new object or, with `old`, of an update, without the rules of the kind.
pub(crate) fn validate_metadata(
    new: Value<'_>,
    old: Option<Value<'_>>,
    name_rule: NameRule,
    namespaced: bool,
) -> Vec<FieldError> {
    let mut errors = Errors::new();
    let new = Cursor::root(new).child("metadata");
    match old {
        None => check(&new, &mut errors, name_rule, namespaced),
        Some(old) => {
            let old = Cursor::root(old).child("metadata");
            check_common_update(&new, &old, &mut errors, namespaced);
            check_update(&new, &old, &mut errors);
        }
    }
    errors
}

/// Validates updates of all kinds.
pub(super) fn check_common_update(new: &Cursor<'_>, old: &Cursor<'_>, errors: &mut Errors, namespaced: bool) {
    check(new, errors, NameRule::PathSegment, namespaced);
    check_update(new, old, errors);
}

/// Validates metadata.
pub(super) fn check(meta: &Cursor<'_>, errors: &mut Errors, rule: NameRule, namespaced: bool) {
    let prefix = meta.child("generateName");
    if !prefix.text().is_empty() {
        let problems = rule.problems_of_prefix(prefix.text());
        errors.extend(problems.iter().map(|problem| prefix.invalid_text(problem)));
    }
    let name = meta.child("name");
    if name.text().is_empty() {
        errors.push(name.required("name or generateName is required"));
    } else {
        name.check(errors, rule.of_name());
    }
    let namespace = meta.child("namespace");
    if namespaced {
        namespace.check_required(errors, format::dns_label);
    } else if !namespace.text().is_empty() {
        errors.push(namespace.forbidden("not allowed on this type"));
    }
    meta.child("generation").check_non_negative(errors);
    check_labels(&meta.child("labels"), errors);
    check_annotations(&meta.child("annotations"), errors);
    check_owners(&meta.child("ownerReferences"), errors);
    check_finalizers(&meta.child("finalizers"), errors);
    check_managed_fields(&meta.child("managedFields"), errors);
}

/// Validates the change of metadata.
pub(super) fn check_update(new: &Cursor<'_>, old: &Cursor<'_>, errors: &mut Errors) {
    if old.has("deletionTimestamp") {
        check_no_new_finalizers(&new.child("finalizers"), &old.child("finalizers"), errors);
    }
    let version = new.child("resourceVersion");
    if version.text().is_empty() {
        errors.push(version.invalid_text("must be specified for an update"));
    }
    let generation = new.child("generation");
    if generation.int() < old.int_of("generation") {
        errors.push(generation.invalid_int("must not be decremented"));
    }
    for name in ["name", "namespace", "uid"] {
        let text = new.child(name);
        if text.text() != old.text_of(name) {
            errors.push(text.invalid_text(IMMUTABLE));
        }
    }
    for name in ["creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"] {
        new.child(name).check_immutable(errors, &old.child(name));
    }
    check_labels(&new.child("labels"), errors);
    check_annotations(&new.child("annotations"), errors);
    check_owners(&new.child("ownerReferences"), errors);
    check_managed_fields(&new.child("managedFields"), errors);
}

/// Finalizers of built-in kinds have a prefix or are well-known.
pub(super) fn check_kube_finalizers(meta: &Cursor<'_>, errors: &mut Errors) {
    for finalizer in meta.child("finalizers").items() {
        check_kube_finalizer(&finalizer, errors);
    }
}

/// As [`check_kube_finalizers`], for one.
pub(super) fn check_kube_finalizer(finalizer: &Cursor<'_>, errors: &mut Errors) {
    if !finalizer.text().contains('/') && !STANDARD_FINALIZERS.contains(&finalizer.text()) {
        let problem = "name is neither a standard finalizer name nor is it fully qualified";
        errors.push(finalizer.invalid_text(problem));
    }
}

pub(super) fn check_labels(labels: &Cursor<'_>, errors: &mut Errors) {
    for (key, value) in labels.members() {
        check_label_key(&labels.shown_at(labels.path.clone()), key, errors);
        value.shown_at(labels.path.clone()).check(errors, format::label_value);
    }
}

/// Validates the key of a label, with the path of the cursor.
pub(super) fn check_label_key(node: &Cursor<'_>, key: &str, errors: &mut Errors) {
    let problems = format::qualified_name(key);
    errors.extend(problems.iter().map(|problem| FieldError::invalid_text(&node.path, key, problem)));
}

pub(super) fn check_annotations(annotations: &Cursor<'_>, errors: &mut Errors) {
    let mut total = 0;
    for (key, value) in annotations.members() {
        let problems = format::qualified_name(&key.to_lowercase());
        errors
            .extend(problems.iter().map(|problem| FieldError::invalid_text(&annotations.path, key, problem)));
        total += key.len() + value.text().len();
    }
    if total > ANNOTATIONS_LENGTH {
        errors.push(FieldError::too_long(&annotations.path, ANNOTATIONS_LENGTH));
    }
}

fn check_owners(owners: &Cursor<'_>, errors: &mut Errors) {
    let mut controller: Option<String> = None;
    for owner in owners.items() {
        check_owner(&owner.shown_at(owners.path.clone()), errors);
        if owner.flag_of("controller") {
            let current = format!("{}/{}", owner.text_of("kind"), owner.text_of("name"));
            if let Some(first) = &controller {
                let detail = format!(
                    "Only one reference can have Controller set to true. Found \"true\" in references for {first} and {current}"
                );
                let all: Vec<_> = owners.items().map(|owner| owner_json(&owner)).collect();
                errors.push(FieldError::invalid_json(&owners.path, &format!("[{}]", all.join(",")), &detail));
            } else {
                controller = Some(current);
            }
        }
    }
}

/// An owner reference as Go prints it.
fn owner_json(owner: &Cursor<'_>) -> String {
    let member = |name: &str| crate::field::shown(owner.get(name).unwrap_or(Value::String("")));
    let mut text = format!(
        "{{\"apiVersion\":{},\"kind\":{},\"name\":{},\"uid\":{}",
        member("apiVersion"),
        member("kind"),
        member("name"),
        member("uid")
    );
    for name in ["controller", "blockOwnerDeletion"] {
        if let Some(value) = owner.get(name) {
            text = format!("{text},\"{name}\":{}", crate::field::shown(value));
        }
    }
    text + "}"
}

fn check_owner(owner: &Cursor<'_>, errors: &mut Errors) {
    let api_version = owner.child("apiVersion");
    let (group, version) = api_version.text().split_once('/').unwrap_or(("", api_version.text()));
    if version.is_empty() || version.contains('/') {
        errors.push(api_version.invalid_text("version must not be empty"));
    }
    for name in ["kind", "name", "uid"] {
        let part = owner.child(name);
        if part.text().is_empty() {
            errors.push(part.invalid_text("must not be empty"));
        }
    }
    if (group, version, owner.text_of("kind")) == ("", "v1", "Event") {
        let detail = "/v1, Kind=Event is disallowed from being an owner";
        errors.push(FieldError::invalid_json(&owner.path, &owner_json(owner), detail));
    }
}

fn check_finalizers(finalizers: &Cursor<'_>, errors: &mut Errors) {
    for finalizer in finalizers.items() {
        finalizer.shown_at(finalizers.path.clone()).check(errors, format::qualified_name);
    }
    let has = |name| finalizers.texts().any(|finalizer| finalizer == name);
    if has(ORPHAN) && has(FOREGROUND) {
        errors.push(finalizers.invalid(&format!("finalizer {ORPHAN} and {FOREGROUND} cannot be both set")));
    }
}

fn check_no_new_finalizers(new: &Cursor<'_>, old: &Cursor<'_>, errors: &mut Errors) {
    let known: BTreeSet<_> = old.texts().collect();
    let added: BTreeSet<_> = new.texts().filter(|finalizer| !known.contains(finalizer)).collect();
    if !added.is_empty() {
        let added: Vec<_> = added.iter().map(|finalizer| format!("{finalizer:?}")).collect();
        errors.push(new.forbidden(&format!(
            "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
            added.join(", ")
        )));
    }
}

fn check_managed_fields(entries: &Cursor<'_>, errors: &mut Errors) {
    for entry in entries.items() {
        let operation = entry.child("operation");
        if !matches!(operation.text(), "Apply" | "Update") {
            errors.push(operation.invalid_text("must be `Apply` or `Update`"));
        }
        let fields_type = entry.child("fieldsType");
        if !matches!(fields_type.text(), "" | "FieldsV1") {
            errors.push(fields_type.invalid_text("must be `FieldsV1`"));
        }
        let manager = entry.child("manager");
        if manager.text().len() > MANAGER_LENGTH {
            errors.push(FieldError::too_long(&manager.path, MANAGER_LENGTH));
        }
        let subresource = entry.child("subresource");
        if subresource.text().len() > SUBRESOURCE_LENGTH {
            errors.push(FieldError::too_long(&subresource.path, SUBRESOURCE_LENGTH));
        }
    }
}
