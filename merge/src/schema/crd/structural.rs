//! Structural schemas. The server ignores a schema that isn't structural.
//!
//! Follows `NewStructural` and `ValidateStructural` of apiextensions-apiserver, except that a `pattern` isn't checked for
//! Go's syntax: the server refuses a CRD with an invalid one.

use super::props::{Additional, Items, Props};
use crate::schema::at::At;
use crate::schema::error::{Problem, SchemaError};

type Result = std::result::Result<(), SchemaError>;

/// Members that aren't allowed in custom resources.
const UNSUPPORTED: &[&str] =
    &["id", "$schema", "$ref", "patternProperties", "dependencies", "additionalItems", "definitions"];

const TYPES: &[&str] = &["array", "boolean", "integer", "number", "object", "string"];

/// Members that aren't allowed below `allOf`, `anyOf`, `oneOf` and `not`.
#[rustfmt::skip]
const STRUCTURAL_ONLY: &[&str] = &[
    "type", "default", "title", "description", "nullable", "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-embedded-resource", "x-kubernetes-int-or-string", "x-kubernetes-list-map-keys",
    "x-kubernetes-list-type", "x-kubernetes-map-type", "x-kubernetes-validations",
];

/// Checks the root schema of a custom resource.
pub(super) fn check(root: &Props<'_>, at: &At<'_>) -> Result {
    check_supported(root, at)?;
    check_invariants(root, true, at)?;
    check_complete(root, root, at)
}

fn rule(holds: bool, at: &At<'_>, message: &'static str) -> Result {
    if holds { Ok(()) } else { Err(at.error(Problem::NotStructural(message))) }
}

/// Refuses members that aren't allowed anywhere.
fn check_supported(props: &Props<'_>, at: &At<'_>) -> Result {
    let supported = !props.set_members.iter().any(|name| UNSUPPORTED.contains(name));
    rule(
        supported,
        at,
        "id, $schema, $ref, patternProperties, dependencies, additionalItems and definitions aren't supported",
    )?;
    let known = props.type_name.is_empty() || TYPES.contains(&props.type_name);
    rule(known, at, "the type must be one of array, boolean, integer, number, object, string")?;
    let preserves = props.preserve_unknown_fields != Some(false);
    rule(preserves, at, "x-kubernetes-preserve-unknown-fields must be true or absent")?;
    rule(!matches!(props.items, Some(Items::Several)), at, "items must be one schema")?;
    for_each_child(props, at, check_supported)
}

fn for_each_child(props: &Props<'_>, at: &At<'_>, check: fn(&Props<'_>, &At<'_>) -> Result) -> Result {
    if let Some(items) = props.one_item() {
        check(items, &at.member("items"))?;
    }
    if let Some(schema) = props.additional_schema() {
        check(schema, &at.member("additionalProperties"))?;
    }
    for (name, property) in &props.properties {
        check(property, &at.member("properties").member(name))?;
    }
    for_each_junctor(props, at, |_, below, at| check(below, at))
}

/// Visits the schemas that only validate, with the name of their junctor.
fn for_each_junctor(
    props: &Props<'_>,
    at: &At<'_>,
    mut check: impl FnMut(Junctor, &Props<'_>, &At<'_>) -> Result,
) -> Result {
    for (junctor, name, schemas) in [
        (Junctor::AllOf, "allOf", &props.all_of),
        (Junctor::AnyOf, "anyOf", &props.any_of),
        (Junctor::OneOf, "oneOf", &props.one_of),
    ] {
        let at = at.member(name);
        for (index, schema) in schemas.iter().enumerate() {
            check(junctor, schema, &at.index(index))?;
        }
    }
    props.not.iter().try_for_each(|not| check(Junctor::Not, not, &at.member("not")))
}

#[derive(Clone, Copy, PartialEq)]
enum Junctor {
    AllOf,
    AnyOf,
    OneOf,
    Not,
}

/// The rules of a structural schema.
fn check_invariants(props: &Props<'_>, is_root: bool, at: &At<'_>) -> Result {
    check_type(props, is_root, at)?;
    check_extensions(props, at)?;
    check_metadata(props, is_root, at)?;
    check_validations(props, at)?;
    if let Some(items) = props.one_item() {
        check_invariants(items, false, &at.member("items"))?;
    }
    if let Some(schema) = props.additional_schema() {
        check_invariants(schema, false, &at.member("additionalProperties"))?;
    }
    let at = at.member("properties");
    props.properties.iter().try_for_each(|(name, each)| check_invariants(each, false, &at.member(name)))
}

fn check_type(props: &Props<'_>, is_root: bool, at: &At<'_>) -> Result {
    let preserves = props.preserve_unknown_fields.is_some();
    rule(props.type_name != "array" || props.items.is_some(), at, "an array must have items")?;
    rule(!is_root || props.additional.is_none(), at, "additionalProperties must not be used at the root")?;
    if props.type_name.is_empty() {
        let may_be_empty = (props.int_or_string || preserves) && !props.embedded_resource;
        return rule(may_be_empty, at, "the type must be set");
    }
    rule(!is_root || props.type_name == "object", at, "the type at the root must be object")
}

fn check_extensions(props: &Props<'_>, at: &At<'_>) -> Result {
    let preserves = props.preserve_unknown_fields.is_some();
    if props.int_or_string {
        rule(!preserves, at, "x-kubernetes-int-or-string and -preserve-unknown-fields exclude each other")?;
        rule(
            !props.embedded_resource,
            at,
            "x-kubernetes-int-or-string and -embedded-resource exclude each other",
        )?;
    }
    if props.embedded_resource {
        rule(props.type_name == "object", at, "the type of an embedded resource must be object")?;
        rule(props.additional.is_none(), at, "an embedded resource must not have additionalProperties")?;
        let is_described = preserves || !props.properties.is_empty();
        rule(is_described, at, "an embedded resource must have properties or preserve unknown fields")?;
    }
    Ok(())
}

/// A schema of `metadata` may only restrict the name.
fn check_metadata(props: &Props<'_>, is_root: bool, at: &At<'_>) -> Result {
    if !is_root && !props.embedded_resource {
        return Ok(());
    }
    for name in ["kind", "apiVersion"] {
        let is_string = props.properties.get(name).is_none_or(|each| each.type_name == "string");
        rule(is_string, at, "the properties apiVersion and kind must be strings")?;
    }
    let Some(metadata) = props.properties.get("metadata") else { return Ok(()) };
    rule(metadata.type_name == "object", at, "the property metadata must be an object")?;
    let names_only = metadata.properties.keys().all(|name| ["name", "generateName"].contains(name));
    let has_no_more =
        metadata.set_members.iter().all(|name| ["type", "default", "properties"].contains(name));
    rule(
        !is_root || (names_only && has_no_more),
        at,
        "the property metadata may restrict name and generateName, and nothing else",
    )
}

/// The rules of the schemas below that only validate.
fn check_validations(props: &Props<'_>, at: &At<'_>) -> Result {
    let skip_any_of = is_int_or_string(&props.any_of);
    let skip_in_first_all_of = props.all_of.first().is_some_and(|first| is_int_or_string(&first.any_of));
    let mut first_all_of = skip_in_first_all_of;
    for_each_junctor(props, at, |junctor, schema, at| match junctor {
        Junctor::AnyOf if skip_any_of => Ok(()),
        Junctor::AllOf => check_nested(schema, std::mem::take(&mut first_all_of), at),
        _ => check_nested(schema, false, at),
    })
}

/// The only `anyOf` with types that `x-kubernetes-int-or-string` allows.
fn is_int_or_string(any_of: &[Props<'_>]) -> bool {
    let is = |props: &Props<'_>, type_name| props.set_members == ["type"] && props.type_name == type_name;
    matches!(any_of, [first, second] if is(first, "integer") && is(second, "string"))
}

fn check_nested(props: &Props<'_>, skip_any_of: bool, at: &At<'_>) -> Result {
    rule(
        !props.set_members.iter().any(|name| STRUCTURAL_ONLY.contains(name)),
        at,
        "below allOf, anyOf, oneOf and not, schemas may only validate: no type, default, description or extension",
    )?;
    let closed = matches!(props.additional, None | Some(Additional::Allowed(false)));
    rule(closed, at, "below allOf, anyOf, oneOf and not there must be no additionalProperties")?;
    rule(!props.properties.contains_key("metadata"), at, "metadata must not be validated in part")?;
    for_each_junctor(props, at, |junctor, schema, at| {
        if junctor == Junctor::AnyOf && skip_any_of { Ok(()) } else { check_nested(schema, false, at) }
    })?;
    if let Some(items) = props.one_item() {
        check_nested(items, false, &at.member("items"))?;
    }
    let at = at.member("properties");
    props.properties.iter().try_for_each(|(name, each)| check_nested(each, false, &at.member(name)))
}

/// Fields that are validated must be in the structure as well.
fn check_complete(validation: &Props<'_>, structure: &Props<'_>, at: &At<'_>) -> Result {
    for_each_junctor(validation, at, |_, schema, at| check_nested_complete(schema, structure, at))
}

fn check_nested_complete(validation: &Props<'_>, structure: &Props<'_>, at: &At<'_>) -> Result {
    let missing = "what is validated here has no place in the schema outside of allOf, anyOf, oneOf and not";
    check_complete(validation, structure, at)?;
    if let Some(items) = validation.one_item() {
        let at = at.member("items");
        let structure = structure.one_item().ok_or_else(|| at.error(Problem::NotStructural(missing)))?;
        check_nested_complete(items, structure, &at)?;
    }
    let at = at.member("properties");
    for (name, property) in &validation.properties {
        let at = at.member(name);
        let structure =
            structure.properties.get(name).ok_or_else(|| at.error(Problem::NotStructural(missing)))?;
        check_nested_complete(property, structure, &at)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// Checks a root with one property `p`.
    fn with_property(property: Value) -> Result {
        let mut root = json!({"type": "object", "properties": {}});
        root["properties"]["p"] = property;
        is_structural(&root)
    }

    fn is_structural(root: &Value) -> Result {
        let at = At::root("$");
        check(&Props::read(root, &at)?, &at)
    }

    fn merged(mut root: Value, more: Value) -> Value {
        let Value::Object(more) = more else { unreachable!() };
        root.as_object_mut().unwrap().extend(more);
        root
    }

    #[test]
    fn every_level_has_a_type() {
        assert_eq!(with_property(json!({"type": "string"})), Ok(()));
        assert_eq!(
            with_property(json!({})).unwrap_err().to_string(),
            "$.properties.p: not structural: the type must be set"
        );
        with_property(json!({"x-kubernetes-preserve-unknown-fields": true})).unwrap();
        with_property(json!({"x-kubernetes-int-or-string": true})).unwrap();
        with_property(json!({"type": "array", "items": {}})).unwrap_err();
        with_property(json!({"type": "array"})).unwrap_err();
        with_property(json!({"type": "file"})).unwrap_err();
        with_property(json!({"type": "object", "additionalProperties": {}})).unwrap_err();
    }

    #[test]
    fn the_root_is_an_object_without_additional_properties() {
        is_structural(&json!({"type": "array", "items": {"type": "string"}})).unwrap_err();
        is_structural(&json!({"type": "object", "additionalProperties": true})).unwrap_err();
        is_structural(&json!({"x-kubernetes-preserve-unknown-fields": true})).unwrap();
    }

    #[test]
    fn unsupported_members_are_refused_everywhere() {
        for property in [
            json!({"$ref": "#/x"}),
            json!({"type": "string", "id": "x"}),
            json!({"type": "array", "items": [{"type": "string"}]}),
            json!({"type": "object", "x-kubernetes-preserve-unknown-fields": false}),
            json!({"type": "string", "not": {"definitions": {"a": {}}}}),
        ] {
            with_property(property).unwrap_err();
        }
    }

    #[test]
    fn validation_gives_no_structure() {
        let string = json!({"type": "string"});
        for below in [
            json!({"type": "string"}),
            json!({"description": "…"}),
            json!({"default": 1}),
            json!({"nullable": true}),
            json!({"x-kubernetes-list-type": "set"}),
            json!({"x-kubernetes-validations": [{"rule": "true"}]}),
            json!({"additionalProperties": {"minLength": 1}}),
            json!({"additionalProperties": true}),
            json!({"items": {"not": {"type": "string"}}}),
        ] {
            for junctor in ["allOf", "anyOf", "oneOf"] {
                with_property(merged(string.clone(), json!({junctor: [below]}))).unwrap_err();
            }
            with_property(merged(string.clone(), json!({"not": below}))).unwrap_err();
        }
        with_property(merged(string.clone(), json!({"allOf": [{"minLength": 1}, {"format": "date"}]})))
            .unwrap();
        with_property(merged(string, json!({"not": {"additionalProperties": false}}))).unwrap();
    }

    #[test]
    fn validation_may_allow_an_integer_or_string() {
        let either = json!([{"type": "integer"}, {"type": "string"}]);
        let pattern = json!({"pattern": "^[0-9]+%?$"});
        with_property(json!({"x-kubernetes-int-or-string": true, "anyOf": either})).unwrap();
        with_property(json!({"x-kubernetes-int-or-string": true, "allOf": [{"anyOf": either}, pattern]}))
            .unwrap();
        let second = json!({"x-kubernetes-int-or-string": true, "allOf": [pattern, {"anyOf": either}]});
        with_property(second).unwrap_err();
        let more = json!([{"type": "integer", "minimum": 1}, {"type": "string"}]);
        with_property(json!({"x-kubernetes-int-or-string": true, "anyOf": more})).unwrap_err();
        let swapped = json!([{"type": "string"}, {"type": "integer"}]);
        with_property(json!({"x-kubernetes-int-or-string": true, "anyOf": swapped})).unwrap_err();
    }

    #[test]
    fn extensions_that_exclude_each_other() {
        let preserve = json!({"x-kubernetes-preserve-unknown-fields": true});
        let either = json!({"x-kubernetes-int-or-string": true});
        let embedded = json!({"type": "object", "x-kubernetes-embedded-resource": true});
        with_property(merged(either.clone(), preserve.clone())).unwrap_err();
        with_property(merged(either, embedded.clone())).unwrap_err();
        with_property(embedded.clone()).unwrap_err();
        with_property(merged(embedded.clone(), preserve.clone())).unwrap();
        with_property(merged(embedded.clone(), json!({"properties": {"spec": {"type": "string"}}}))).unwrap();
        with_property(merged(embedded.clone(), json!({"additionalProperties": true}))).unwrap_err();
        with_property(merged(merged(embedded, preserve), json!({"type": "string"}))).unwrap_err();
    }

    #[test]
    fn metadata_at_the_root_may_restrict_the_name_only() {
        let root =
            |metadata: Value| is_structural(&json!({"type": "object", "properties": {"metadata": metadata}}));
        root(json!({"type": "object"})).unwrap();
        root(json!({"type": "object", "properties": {"name": {"type": "string", "maxLength": 9}}})).unwrap();
        root(json!({"type": "object", "properties": {"labels": {"type": "object"}}})).unwrap_err();
        root(json!({"type": "object", "description": "…"})).unwrap_err();
        root(json!({"type": "string"})).unwrap_err();
        with_property(json!({"type": "object", "properties": {"metadata": {"type": "string"}}})).unwrap();
    }

    #[test]
    fn api_version_and_kind_at_the_root_are_strings() {
        is_structural(&json!({"type": "object", "properties": {"kind": {"type": "integer"}}})).unwrap_err();
        is_structural(&json!({"type": "object", "properties": {"kind": {"type": "string"}}})).unwrap();
    }

    #[test]
    fn what_the_root_validates_has_its_place_in_the_structure() {
        let root = json!({"type": "object", "properties": {
            "a": {"type": "string"}, "l": {"type": "array", "items": {"type": "string"}},
        }});
        let with = |validation: Value| is_structural(&merged(root.clone(), json!({"allOf": [validation]})));
        with(json!({"properties": {"a": {"minLength": 1}, "l": {"items": {"minLength": 1}}}})).unwrap();
        with(json!({"properties": {"b": {"minLength": 1}}})).unwrap_err();
        with(json!({"properties": {"a": {"items": {"minLength": 1}}}})).unwrap_err();
        with(json!({"not": {"anyOf": [{"properties": {"b": {}}}]}})).unwrap_err();
        with(json!({"properties": {"metadata": {}}})).unwrap_err();
    }
}
