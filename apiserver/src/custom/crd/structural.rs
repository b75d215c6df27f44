//! Structural schemas, with the messages of apiextensions-apiserver.

use super::super::schema::{Additional, Schema};
use crate::field::{FieldError, FieldPath};

/// The level of a schema.
#[derive(Clone, Copy, PartialEq)]
enum Level {
    Root,
    Item,
    Field,
}

/// The violations of a schema, in upstream's order.
pub(super) fn validate(schema: &Schema, path: &FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    invariants(schema, Level::Root, path, &mut errors);
    completeness(schema, Some(schema), path, path, &mut errors);
    errors.sort_by_cached_key(ToString::to_string);
    errors
}

/// Whether a schema can't be converted to a structural one.
pub(super) fn is_unsupported(schema: &Schema) -> bool {
    let mut found = false;
    schema.each(&mut |each| {
        found |= each.unsupported.iter().any(|name| !["uniqueItems", "title", "description"].contains(name));
    });
    found
}

fn invariants(schema: &Schema, level: Level, path: &FieldPath, errors: &mut Vec<FieldError>) {
    if schema.type_name == "array" && schema.items.is_none() {
        errors.push(FieldError::required(&path.child("items"), "must be specified"));
    }
    if let Some(items) = &schema.items {
        invariants(items, Level::Item, &path.child("items"), errors);
    }
    let properties = path.child("properties");
    for (name, property) in &schema.properties {
        invariants(property, Level::Field, &properties.key(name), errors);
    }
    let additional = path.child("additionalProperties");
    if schema.additional.is_some() && level == Level::Root {
        errors.push(FieldError::forbidden(&additional, "must not be used at the root"));
    }
    if let Some(values) = schema.values() {
        invariants(values, Level::Field, &additional, errors);
    }
    extensions(schema, path, errors);
    let skip_any = is_int_or_string(&schema.any_of);
    let skip_first = schema.all_of.first().is_some_and(|first| is_int_or_string(&first.any_of));
    junctors(schema, skip_any, skip_first, path, errors);
    type_of(schema, level, path, errors);
    object_fields(schema, level, path, errors);
}

fn extensions(schema: &Schema, path: &FieldPath, errors: &mut Vec<FieldError>) {
    let both = "must be false if x-kubernetes-int-or-string is true";
    for (is_set, name) in [
        (schema.preserves(), "x-kubernetes-preserve-unknown-fields"),
        (schema.embedded, "x-kubernetes-embedded-resource"),
    ] {
        if schema.int_or_string && is_set {
            errors.push(FieldError::invalid_json(&path.child(name), "true", both));
        }
    }
}

fn type_of(schema: &Schema, level: Level, path: &FieldPath, errors: &mut Vec<FieldError>) {
    let at = path.child("type");
    let type_name = schema.type_name.as_str();
    let must_be_object = "must be object if x-kubernetes-embedded-resource is true";
    if schema.embedded && type_name != "object" {
        errors.push(if type_name.is_empty() {
            FieldError::required(&at, must_be_object)
        } else {
            FieldError::invalid_text(&at, type_name, must_be_object)
        });
    } else if type_name.is_empty() && !schema.int_or_string && !schema.preserves() {
        let detail = match level {
            Level::Root => "must not be empty at the root",
            Level::Item => "must not be empty for specified array items",
            Level::Field => "must not be empty for specified object fields",
        };
        errors.push(FieldError::required(&at, detail));
    }
    if schema.embedded && schema.additional.is_some() {
        let detail = "must not be used if x-kubernetes-embedded-resource is set";
        errors.push(FieldError::forbidden(&path.child("additionalProperties"), detail));
    }
    if level == Level::Root && !type_name.is_empty() && type_name != "object" {
        errors.push(FieldError::invalid_text(&at, type_name, "must be object at the root"));
    }
}

fn object_fields(schema: &Schema, level: Level, path: &FieldPath, errors: &mut Vec<FieldError>) {
    let is_object = level == Level::Root || schema.embedded;
    let properties = path.child("properties");
    for name in ["kind", "apiVersion"] {
        if let Some(property) =
            schema.properties.get(name).filter(|each| is_object && each.type_name != "string")
        {
            let at = properties.key(name).child("type");
            errors.push(FieldError::invalid_text(&at, &property.type_name, "must be string"));
        }
    }
    if let Some(metadata) = schema.properties.get("metadata") {
        let at = properties.key("metadata");
        if is_object && metadata.type_name != "object" {
            errors.push(FieldError::invalid_text(&at.child("type"), &metadata.type_name, "must be object"));
        }
        if level == Level::Root && !only_names(metadata) {
            let detail = "must not specify anything other than name and generateName, but metadata is implicitly specified";
            errors.push(FieldError::forbidden(&at, detail));
        }
    }
    if schema.embedded && !schema.preserves() && schema.properties.is_empty() {
        let detail = "must not be empty if x-kubernetes-embedded-resource is true without \
                      x-kubernetes-preserve-unknown-fields";
        errors.push(FieldError::required(&properties, detail));
    }
}

/// Whether a schema of metadata restricts only names.
fn only_names(metadata: &Schema) -> bool {
    let names = ["name", "generateName"];
    let has_nothing_else = metadata.unsupported.is_empty()
        && metadata.format.is_empty()
        && !(metadata.nullable || metadata.embedded || metadata.int_or_string)
        && metadata.preserve.is_none()
        && metadata.required.is_empty()
        && metadata.one_of_values.is_empty()
        && metadata.additional.is_none()
        && metadata.map_type.is_none()
        && metadata.rules.is_empty()
        && metadata.min_properties.is_none()
        && metadata.max_properties.is_none()
        && metadata.not.is_none()
        && [&metadata.all_of, &metadata.any_of, &metadata.one_of].iter().all(|list| list.is_empty());
    has_nothing_else && metadata.properties.keys().all(|name| names.contains(&name.as_str()))
}

/// The only `anyOf` with types that `x-kubernetes-int-or-string` allows.
fn is_int_or_string(any_of: &[Schema]) -> bool {
    let is = |schema: &Schema, type_name| schema.type_name == type_name;
    matches!(any_of, [first, second] if is(first, "integer") && is(second, "string"))
}

fn junctors(
    schema: &Schema,
    skip_any: bool,
    skip_first: bool,
    path: &FieldPath,
    errors: &mut Vec<FieldError>,
) {
    if !skip_any {
        for (index, each) in schema.any_of.iter().enumerate() {
            nested(each, false, &path.child("anyOf").index(index), errors);
        }
    }
    for (index, each) in schema.all_of.iter().enumerate() {
        nested(each, skip_first && index == 0, &path.child("allOf").index(index), errors);
    }
    for (index, each) in schema.one_of.iter().enumerate() {
        nested(each, false, &path.child("oneOf").index(index), errors);
    }
    if let Some(not) = &schema.not {
        nested(not, false, &path.child("not"), errors);
    }
    if let Some(pattern) = &schema.pattern
        && let Err(why) = &pattern.regex
    {
        let detail = format!("must be a valid regular expression, but isn't: {why}");
        errors.push(FieldError::invalid_text(&path.child("pattern"), &pattern.source, &detail));
    }
}

/// Members that aren't allowed below `allOf` and the like.
fn nested(schema: &Schema, skip_any: bool, path: &FieldPath, errors: &mut Vec<FieldError>) {
    junctors(schema, skip_any, false, path, errors);
    if let Some(items) = &schema.items {
        nested(items, false, &path.child("items"), errors);
    }
    for (name, property) in &schema.properties {
        nested(property, false, &path.child("properties").key(name), errors);
    }
    let has = |name| schema.unsupported.contains(&name);
    let closed = matches!(schema.additional, None | Some(Additional::Allowed(false)));
    for (is_wrong, name, form) in [
        (!schema.type_name.is_empty(), "type", "empty"),
        (!closed, "additionalProperties", "undefined"),
        (schema.default.is_some(), "default", "undefined"),
        (has("title"), "title", "empty"),
        (has("description"), "description", "empty"),
        (schema.nullable, "nullable", "false"),
        (schema.preserves(), "x-kubernetes-preserve-unknown-fields", "false"),
        (schema.embedded, "x-kubernetes-embedded-resource", "false"),
        (schema.int_or_string, "x-kubernetes-int-or-string", "false"),
        (!schema.list_map_keys.is_empty(), "x-kubernetes-list-map-keys", "empty"),
        (schema.list_type.is_some(), "x-kubernetes-list-type", "undefined"),
        (schema.map_type.is_some(), "x-kubernetes-map-type", "undefined"),
        (!schema.rules.is_empty(), "x-kubernetes-validations", "empty"),
    ] {
        if is_wrong {
            errors
                .push(FieldError::forbidden(&path.child(name), &format!("must be {form} to be structural")));
        }
    }
    if schema.properties.contains_key("metadata") {
        let at = path.child("properties").key("metadata");
        errors.push(FieldError::forbidden(&at, "must not be specified in a nested context"));
    }
}

/// Fields that are validated must be in the structure as well.
fn completeness(
    validation: &Schema,
    structure: Option<&Schema>,
    at: &FieldPath,
    defined: &FieldPath,
    errors: &mut Vec<FieldError>,
) {
    let not = validation.not.as_deref().map(|not| (defined.child("not"), not));
    let lists = [("allOf", &validation.all_of), ("anyOf", &validation.any_of), ("oneOf", &validation.one_of)];
    let listed = lists.into_iter().flat_map(|(name, list)| {
        let defined = defined.child(name);
        list.iter().enumerate().map(move |(index, each)| (defined.index(index), each))
    });
    for (defined, each) in not.into_iter().chain(listed) {
        nested_completeness(each, structure, at, &defined, errors);
    }
}

fn nested_completeness(
    validation: &Schema,
    structure: Option<&Schema>,
    at: &FieldPath,
    defined: &FieldPath,
    errors: &mut Vec<FieldError>,
) {
    let Some(schema) = structure else {
        return errors.push(FieldError::required(at, &format!("because it is defined in {defined}")));
    };
    completeness(validation, structure, at, defined, errors);
    if let Some(items) = &validation.items {
        let (at, defined) = (at.child("items"), defined.child("items"));
        nested_completeness(items, schema.items.as_deref(), &at, &defined, errors);
    }
    for (name, property) in &validation.properties {
        let at = at.child("properties").key(name);
        let defined = defined.child("properties").key(name);
        nested_completeness(property, schema.properties.get(name), &at, &defined, errors);
    }
}
