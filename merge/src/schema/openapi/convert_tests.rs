//! One test for each rule of the conversion.

// Tests hand over what `json!` makes, without an `&` before each.
#![allow(clippy::needless_pass_by_value)]

use serde_json::{Value, json};

use super::*;
use crate::schema::at::nested;
use crate::schema::openapi;

/// The conversion of a schema with this name, without its name.
fn convert_as(name: &str, schema: &Value) -> Result<Value> {
    let document = json!({"openapi": "3.0.0", "components": {"schemas": {name: schema}}});
    let mut written = openapi::parse(&document)?.definition.to_json();
    let mut first = written["types"][0].take();
    first.as_object_mut().unwrap().remove("name");
    Ok(first)
}

fn convert(schema: Value) -> Value {
    convert_as("model", &schema).unwrap()
}

fn error_of(schema: Value) -> String {
    convert_as("model", &schema).unwrap_err().to_string()
}

/// The type of a property with this schema.
fn field(schema: Value) -> Value {
    convert(json!({"type": "object", "properties": {"f": schema}}))["map"]["fields"][0].take()
}

#[test]
fn scalars_are_identified_by_type_and_format() {
    for (type_name, format, scalar) in [
        ("integer", "", "numeric"),
        ("number", "double", "numeric"),
        ("boolean", "", "boolean"),
        ("string", "", "string"),
        ("string", "byte", "string"),
        ("string", "int-or-string", "untyped"),
        ("string", "date-time", "untyped"),
        ("string", "quantity", "untyped"),
    ] {
        assert_eq!(convert(json!({"type": type_name, "format": format})), json!({"scalar": scalar}));
    }
}

#[test]
fn the_first_of_several_types_counts() {
    assert_eq!(convert(json!({"type": ["string", "null"]})), json!({"scalar": "string"}));
}

#[test]
fn no_type_is_any_type() {
    let any = json!({
        "scalar": "untyped",
        "list": {"elementType": {"namedType": "__untyped_atomic_"}, "elementRelationship": "atomic"},
        "map": {"elementType": {"namedType": "__untyped_deduced_"}},
    });
    assert_eq!(convert(json!({})), any);
    assert_eq!(convert(json!({"type": null})), any);
    assert_eq!(convert(json!({"type": []})), any);
    assert_eq!(convert(json!({"x-kubernetes-int-or-string": true})), any);
}

#[test]
fn quantity_and_raw_extension_are_what_their_json_is() {
    let quantity = convert_as(QUANTITY, &json!({"type": "string"})).unwrap();
    assert_eq!(quantity, json!({"scalar": "untyped"}));
    let raw = convert_as(RAW_EXTENSION, &json!({"type": "object"})).unwrap();
    assert_eq!(
        raw["map"],
        json!({"elementType": {"namedType": "__untyped_atomic_"}, "elementRelationship": "atomic"})
    );
}

#[test]
fn references_are_by_name() {
    let to = json!({"$ref": "#/components/schemas/other"});
    assert_eq!(field(to.clone()), json!({"name": "f", "type": {"namedType": "other"}}));
    assert_eq!(
        field(json!({"allOf": [to], "default": {}, "description": "…"})),
        json!({"name": "f", "type": {"namedType": "other"}, "default": {}}),
    );
}

#[test]
fn several_all_of_are_no_reference() {
    let to = json!({"$ref": "#/components/schemas/other"});
    let both = field(json!({"type": "string", "allOf": [to, to]}));
    assert_eq!(both, json!({"name": "f", "type": {"scalar": "string"}}));
}

#[test]
fn a_map_type_beside_a_reference_overrides_it() {
    for (map_type, relationship) in [("atomic", "atomic"), ("granular", "separable")] {
        let to = json!({"allOf": [{"$ref": "#/x/other"}], "x-kubernetes-map-type": map_type});
        let expected = json!({"namedType": "other", "elementRelationship": relationship});
        assert_eq!(field(to)["type"], expected);
    }
}

#[test]
fn a_model_that_is_a_reference_is_left_out() {
    let types = convert_as("model", &json!({"$ref": "#/components/schemas/other"})).unwrap();
    assert!(types.get("scalar").is_some(), "the first type left is an untyped one: {types}");
}

#[test]
fn members_that_no_property_names() {
    let deduced = json!({"namedType": "__untyped_deduced_"});
    let with = |additional: Value| {
        convert(json!({"type": "object", "properties": {"a": {}}, "additionalProperties": additional}))["map"]
            .get("elementType")
            .cloned()
    };
    assert_eq!(with(Value::Null), None);
    assert_eq!(with(json!(false)), None);
    assert_eq!(with(json!(true)), Some(deduced.clone()));
    assert_eq!(with(json!({"type": "string"})), Some(json!({"scalar": "string"})));
    assert_eq!(convert(json!({"type": "object"})), json!({"map": {"elementType": deduced}}));
    assert_eq!(convert(json!({"type": "object", "additionalProperties": false})), json!({"map": {}}));
}

#[test]
fn preserving_unknown_fields_is_inherited_in_place_only() {
    let inner = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    let outer = convert(json!({
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": true,
        "properties": {"in-place": inner, "referred": {"$ref": "#/components/schemas/other"}},
    }));
    let deduced = json!({"namedType": "__untyped_deduced_"});
    assert_eq!(outer["map"]["elementType"], deduced);
    assert_eq!(outer["map"]["fields"][0]["type"]["map"]["elementType"], deduced);
    assert_eq!(outer["map"]["fields"][1]["type"], json!({"namedType": "other"}));
}

#[test]
fn only_the_boolean_preserves() {
    let not =
        json!({"type": "object", "properties": {"a": {}}, "x-kubernetes-preserve-unknown-fields": "true"});
    assert_eq!(convert(not)["map"].get("elementType"), None);
}

#[test]
fn lists_by_type_keys_and_patch_strategy() {
    let list = |extensions: Value| {
        let mut schema = json!({"type": "array", "items": {"type": "string"}});
        schema.as_object_mut().unwrap().extend(extensions.as_object().unwrap().clone());
        let mut list = convert(schema)["list"].take();
        list.as_object_mut().unwrap().remove("elementType");
        list
    };
    let atomic = json!({"elementRelationship": "atomic"});
    let set = json!({"elementRelationship": "associative"});
    let keyed = json!({"elementRelationship": "associative", "keys": ["name"]});
    assert_eq!(list(json!({})), atomic);
    assert_eq!(list(json!({"x-kubernetes-list-type": "atomic"})), atomic);
    assert_eq!(list(json!({"x-kubernetes-list-type": "set"})), set);
    let map = json!({"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name", 1]});
    assert_eq!(list(map), keyed);
    let merge = json!({"x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": "name"});
    assert_eq!(list(merge), keyed);
    assert_eq!(list(json!({"x-kubernetes-patch-strategy": "merge,retainKeys"})), set);
    assert_eq!(list(json!({"x-kubernetes-patch-strategy": "retainKeys"})), atomic);
    let both = json!({"x-kubernetes-list-type": "atomic", "x-kubernetes-patch-strategy": "merge"});
    assert_eq!(list(both), atomic);
}

#[test]
fn markers_without_a_meaning_are_refused_with_their_place() {
    let at = "$.components.schemas.model";
    let array = |name: &str, value: Value| json!({"type": "array", "items": {}, name: value});
    for (schema, message) in [
        (
            array("x-kubernetes-list-type", json!("bag")),
            "\"bag\" is no list type; use one of atomic, set, map",
        ),
        (array("x-kubernetes-list-type", Value::Null), "null is no list type; use one of atomic, set, map"),
        (
            array("x-kubernetes-patch-strategy", json!("replace")),
            "\"replace\" is no patch strategy; use one of merge, merge,retainKeys, retainKeys",
        ),
        (
            json!({"type": "object", "x-kubernetes-map-type": "set"}),
            "\"set\" is no map type; use one of atomic, granular",
        ),
        (json!({"type": "array"}), "an array needs `items`: say what its items are"),
        (
            array("x-kubernetes-list-type", json!("map")),
            "a list of type map needs x-kubernetes-list-map-keys: name the fields that identify its items",
        ),
    ] {
        assert_eq!(error_of(schema), format!("{at}: {message}"));
    }
    assert!(
        error_of(json!({"type": "file"})).starts_with("$.components.schemas.model.type: \"file\" is no type")
    );
}

#[test]
fn keys_must_be_names() {
    let keys = json!({
        "type": "array", "items": {}, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": "name",
    });
    assert!(error_of(keys).contains("x-kubernetes-list-map-keys must be a list of strings, it is \"name\""));
    let key = json!({
        "type": "array", "items": {}, "x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": 1,
    });
    assert!(error_of(key).contains("x-kubernetes-patch-merge-key must be a string, it is 1"));
}

#[test]
fn items_must_be_one_schema() {
    for items in [json!([]), json!([{}]), json!("string")] {
        assert!(error_of(json!({"type": "array", "items": items})).contains("exactly one type of items"));
    }
}

#[test]
fn an_error_deep_inside_has_its_place() {
    let schema =
        json!({"type": "object", "properties": {"a": {"type": "array", "items": {"type": "array"}}}});
    assert_eq!(
        error_of(schema),
        "$.components.schemas.model.properties.a.items: an array needs `items`: say what its items are"
    );
}

#[test]
fn wrong_types_are_refused() {
    for (member, value) in [
        ("type", json!(1)),
        ("type", json!([1])),
        ("format", json!(1)),
        ("properties", json!([])),
        ("additionalProperties", json!("yes")),
        ("allOf", json!({})),
    ] {
        assert!(error_of(json!({member: value})).contains("expected"), "{member}");
    }
}

#[test]
fn a_cycle_of_references_is_fine() {
    let tree = convert(json!({
        "type": "object", "properties": {"child": {"$ref": "#/components/schemas/model"}},
    }));
    assert_eq!(tree["map"]["fields"][0]["type"], json!({"namedType": "model"}));
}

#[test]
fn endless_nesting_is_refused() {
    for members in [&["items"][..], &["additionalProperties"], &["properties", "a"]] {
        let schema = nested(1_000, members, Value::Null);
        let mut document = json!({"openapi": "3.0.0", "components": {"schemas": {}}});
        document["components"]["schemas"]["model"] = schema;
        assert!(openapi::parse(&document).unwrap_err().to_string().contains("nested deeper"));
    }
}
