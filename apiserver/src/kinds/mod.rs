//! Built-in kinds: conditional defaults, preparation of writes, and validation.
//!
//! All functions are pure. Their objects are decoded by the API's types and have their plain defaults.

mod admission;
mod apps;
mod autoscaling;
mod batch;
mod check;
pub(crate) mod convert;
mod core;
mod cursor;
mod default;
mod discovery;
mod edit;
mod event;
pub(crate) mod format;
mod go_json;
mod ip;
mod metadata;
mod networking;
mod nodes;
mod pod;
mod policy;
mod prepare;
mod quantity;
mod quota;
mod rbac;
mod selector;
mod service;
mod storage;
mod strategies;
#[cfg(test)]
mod tests;
mod warnings;

use baton_merge::schema::kinds::GroupVersionKind;
use baton_merge::value::Value;

use self::{
    check::Check,
    cursor::{Cursor, Errors},
    default::TEMPLATE_GENERATION,
    strategies::{KINDS, Kind},
};
#[allow(unused_imports)]
pub(crate) use self::{
    default::{CONDITIONAL, default, unreadable},
    format::NameRule,
    metadata::{FOREGROUND, ORPHAN, STANDARD_FINALIZERS, validate_embedded, validate_metadata},
    policy::SYSTEM_CLASSES,
    prepare::prepare,
    quantity::{Quantity, UNIT},
    warnings::warnings,
};
use crate::field::FieldError;

fn kind_of(gvk: &GroupVersionKind) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| kind.group == gvk.group && kind.name == gvk.kind)
}

/// Metadata for responses without the rest of the object: without fields that conversions add.
pub(crate) fn plain_metadata(mut metadata: serde_json::Value) -> serde_json::Value {
    if let Some(annotations) = metadata.get_mut("annotations").and_then(serde_json::Value::as_object_mut) {
        annotations.remove(TEMPLATE_GENERATION);
        if annotations.is_empty() {
            metadata.as_object_mut().map(|metadata| metadata.remove("annotations"));
        }
    }
    metadata
}

/// Whether the defaults and the validation of a kind are implemented.
pub(crate) fn is_implemented(gvk: &GroupVersionKind) -> bool {
    kind_of(gvk).is_some()
}

/// Validates the addresses of a Service before allocation.
pub(crate) fn validate_addresses(service: Value<'_>, is_new: bool) -> Vec<FieldError> {
    let mut errors = Errors::new();
    service::check_allocated(&Cursor::root(service).child("spec"), is_new, &mut errors);
    errors
}

/// Validates a new object or, with `old`, an update. Of kinds that aren't implemented only the metadata is validated.
pub(crate) fn validate(
    gvk: &GroupVersionKind,
    subresource: &str,
    new: Value<'_>,
    old: Option<Value<'_>>,
) -> Vec<FieldError> {
    let Some(kind) = kind_of(gvk) else {
        let namespaced = new.at(&["metadata", "namespace"]).is_some();
        return validate_metadata(new, old, NameRule::PathSegment, namespaced);
    };
    let mut check = Check { kind, new: Cursor::root(new), old: old.map(Cursor::root), errors: Errors::new() };
    let rule = kind.rule_for(subresource);
    let meta = check.new.child("metadata");
    match (&check.old, kind.name) {
        // A scale isn't stored: the common rules apply to the scaled object.
        (_, "Scale") => rule(&mut check),
        (Some(old), _) => {
            metadata::check_common_update(&meta, &old.child("metadata"), &mut check.errors, kind.namespaced);
            rule(&mut check);
        }
        (None, _) => {
            rule(&mut check);
            if check.errors.is_empty() {
                metadata::check(&meta, &mut check.errors, NameRule::PathSegment, kind.namespaced);
            }
        }
    }
    check.errors
}
