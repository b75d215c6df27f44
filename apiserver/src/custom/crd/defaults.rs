//! Validation of defaults against their schema.

use baton_merge::Arena;
use baton_merge::value::Value;
use serde_json::Value as Json;

use super::super::prune::{OBJECT_FIELDS, prune};
use super::super::rules::{self, Past};
use super::super::schema::Schema;
use super::super::validate;
use crate::field::{FieldError, FieldPath};

/// Validates all defaults of a schema.
pub(super) fn check(schema: &Schema, path: &FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    visit_defaults(schema, true, path, &mut errors);
    errors
}

/// The default of a whole object needs `apiVersion` and `kind`.
fn check_identity(default: &Json, path: &FieldPath, errors: &mut Vec<FieldError>) {
    for name in ["apiVersion", "kind"] {
        if default[name].as_str().is_none_or(str::is_empty) {
            errors.push(FieldError::required(&path.child(name), ""));
        }
    }
}

fn visit_defaults(schema: &Schema, is_root: bool, path: &FieldPath, errors: &mut Vec<FieldError>) {
    if let Some(default) = &schema.default {
        let (path, before) = (path.child("default"), errors.len());
        if is_root || schema.embedded {
            check_identity(default, &path, errors);
        }
        if errors.len() == before {
            errors.extend(check_default(schema, default, &path));
        }
    }
    if let Some(items) = &schema.items {
        visit_defaults(items, false, &path.child("items"), errors);
    }
    for (name, property) in &schema.properties {
        visit_defaults(property, false, &path.child("properties").key(name), errors);
    }
}

fn check_default(schema: &Schema, default: &Json, path: &FieldPath) -> Vec<FieldError> {
    let arena = Arena::new();
    let Ok(value) = Value::from_json(&arena, default) else { return Vec::new() };
    let mut errors = Vec::new();
    // Only an embedded object's own fields are known.
    let (_, unknown) = prune(&arena, schema, value);
    let is_foreign = |name: &&str| {
        !schema.embedded && !schema.preserves() && value.get(name).is_some() && schema.member(name).is_none()
    };
    if !unknown.is_empty() || OBJECT_FIELDS.iter().any(is_foreign) && schema.additional.is_none() {
        errors.push(FieldError::invalid(path, value, "must not have unknown fields"));
    }
    let found = validate::validate(path, schema, value, None);
    if !found.is_empty() {
        errors.extend(found);
        return errors;
    }
    let found = rules::validate(schema, schema.embedded, path, value, Some(value), Past::default());
    let found = if found.errors.is_empty() {
        rules::validate(schema, schema.embedded, path, value, None, Past::default())
    } else {
        found
    };
    errors.extend(found.errors);
    errors
}
