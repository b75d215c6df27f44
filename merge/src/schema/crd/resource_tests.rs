//! Reading a CRD, rule by rule.

// Tests hand over what `json!` makes, without an `&` before each.
#![allow(clippy::needless_pass_by_value)]

use serde_json::{Value, json};

use super::*;
use crate::schema::at::nested;

/// A definition with one version of this schema.
fn definition(schema: Value) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "spec": {
            "group": "notes.baton.rs",
            "scope": "Namespaced",
            "names": {"kind": "Note", "plural": "notes"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}],
        },
    })
}

/// The definition with one part of it replaced.
fn changed(pointer: &str, value: Value) -> Value {
    let mut definition = definition(json!({"type": "object"}));
    *definition.pointer_mut(pointer).unwrap() = value;
    definition
}

/// The map of the type of the only version.
fn map_of(definition: &Value) -> Value {
    let resource = parse(definition).unwrap();
    let types = resource.api.definition.to_json();
    let own = types["types"].as_array().unwrap().iter().find(|each| each["name"] == "rs.baton.notes.v1.Note");
    own.unwrap()["map"].clone()
}

/// The type that a field of this schema gets.
fn field(schema: Value) -> Value {
    let map = map_of(&definition(json!({"type": "object", "properties": {"aField": schema}})));
    map["fields"][0]["type"].clone()
}

fn error_of(definition: Value) -> String {
    parse(&definition).unwrap_err().to_string()
}

#[test]
fn the_root_has_what_every_object_has() {
    let map = map_of(&definition(json!({"type": "object", "properties": {
        "spec": {"type": "object", "properties": {"text": {"type": "string"}}},
        "metadata": {"type": "object", "properties": {"name": {"type": "string", "maxLength": 3}}},
    }})));
    let meta = json!({"namedType": "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"});
    let spec = json!({"map": {"fields": [{"name": "text", "type": {"scalar": "string"}}]}});
    let expected = json!({"fields": [
        {"name": "apiVersion", "type": {"scalar": "string"}},
        {"name": "kind", "type": {"scalar": "string"}},
        {"name": "metadata", "type": meta},
        {"name": "spec", "type": spec},
    ]});
    assert_eq!(map, expected);
}

#[test]
fn object_meta_is_shipped() {
    let types = parse(&definition(json!({"type": "object"}))).unwrap().api.definition.types;
    let names: Vec<&str> = types.iter().map(|each| each.name.as_str()).collect();
    assert!(names.contains(&"io.k8s.apimachinery.pkg.apis.meta.v1.OwnerReference"), "{names:?}");
    assert!(!names.contains(&models::SCALE), "{names:?}");
}

#[test]
fn an_embedded_resource_has_what_every_object_has() {
    let embedded = field(json!({
        "type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true,
    }));
    let names: Vec<&str> = embedded["map"]["fields"]
        .as_array()
        .unwrap()
        .iter()
        .map(|each| each["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["apiVersion", "kind", "metadata"]);
    assert_eq!(embedded["map"]["elementType"], json!({"namedType": "__untyped_deduced_"}));
}

#[test]
fn merge_markers_count() {
    let list = json!({
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["port"],
        "items": {"type": "object", "x-kubernetes-map-type": "atomic", "properties": {
            "port": {"type": "integer", "default": 80},
        }},
    });
    let port = json!({"name": "port", "type": {"scalar": "numeric"}, "default": 80});
    let item = json!({"map": {"elementRelationship": "atomic", "fields": [port]}});
    let expected =
        json!({"list": {"elementRelationship": "associative", "keys": ["port"], "elementType": item}});
    assert_eq!(field(list), expected);
}

#[test]
fn patch_strategies_do_not_count() {
    let list = json!({"type": "array", "items": {"type": "string"}, "x-kubernetes-patch-strategy": "merge"});
    assert_eq!(field(list)["list"]["elementRelationship"], "atomic");
}

#[test]
fn junctors_do_not_count() {
    let text =
        json!({"type": "string", "allOf": [{"minLength": 1}], "anyOf": [{"pattern": "a"}, {"pattern": "b"}]});
    assert_eq!(field(text), json!({"scalar": "string"}));
}

#[test]
fn an_integer_or_string_is_any_value() {
    let either = json!({
        "x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}],
    });
    assert_eq!(field(either)["scalar"], "untyped");
}

#[test]
fn a_formatted_string_is_any_scalar() {
    assert_eq!(field(json!({"type": "string", "format": "date-time"})), json!({"scalar": "untyped"}));
}

#[test]
fn a_version_without_a_schema_is_free_form() {
    let free = json!({"elementType": {"namedType": "__untyped_deduced_"}});
    for schema in [Value::Null, json!({}), json!({"openAPIV3Schema": null})] {
        let definition = changed("/spec/versions/0/schema", schema);
        assert_eq!(parse(&definition).unwrap().versions[0].schema, VersionSchema::Absent);
        assert_eq!(map_of(&definition), free);
    }
}

#[test]
fn a_schema_that_is_not_structural_is_passed_over() {
    let definition = definition(json!({"type": "object", "properties": {"a": {}}}));
    let VersionSchema::NotStructural(why) = &parse(&definition).unwrap().versions[0].schema else { panic!() };
    let expected =
        "$.spec.versions[0].schema.openAPIV3Schema.properties.a: not structural: the type must be set";
    assert_eq!(why.to_string(), expected);
    assert_eq!(map_of(&definition), json!({"elementType": {"namedType": "__untyped_deduced_"}}));
}

#[test]
fn preserving_unknown_fields_opens_every_struct() {
    let deduced = json!({"namedType": "__untyped_deduced_"});
    let at_root = definition(json!({
        "type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {"a": {"type": "string"}},
    }));
    assert_eq!(map_of(&at_root)["elementType"], deduced);
    let mut everywhere = definition(json!({"type": "object", "properties": {"a": {"type": "string"}}}));
    everywhere["spec"]["preserveUnknownFields"] = json!(true);
    assert_eq!(map_of(&everywhere)["elementType"], deduced);
}

#[test]
fn versions_and_subresources_are_read() {
    let mut definition = definition(json!({"type": "object"}));
    definition["spec"]["scope"] = json!("Cluster");
    definition["spec"]["conversion"] = json!({"strategy": "Webhook", "webhook": {}});
    definition["spec"]["versions"][0]["subresources"] = json!({
        "status": {},
        "scale": {"specReplicasPath": ".spec.size.replicas", "statusReplicasPath": ".status.replicas"},
    });
    let old = json!({"name": "v0", "served": false, "storage": false});
    definition["spec"]["versions"].as_array_mut().unwrap().push(old);
    let resource = parse(&definition).unwrap();
    assert_eq!((resource.scope, resource.conversion), (Scope::Cluster, Conversion::Webhook));
    let [new, old] = resource.versions.as_slice() else { panic!() };
    assert!(new.served && new.storage && new.status && !old.served && !old.storage && !old.status);
    let paths = new.scale.as_ref().unwrap();
    assert_eq!(paths.spec_replicas_fields().collect::<Vec<_>>(), ["spec", "size", "replicas"]);
    assert_eq!(paths.label_selector, None);
    let kinds: Vec<String> = resource.api.kinds.keys().map(ToString::to_string).collect();
    assert_eq!(
        kinds,
        ["autoscaling/v1, Kind=Scale", "notes.baton.rs/v0, Kind=Note", "notes.baton.rs/v1, Kind=Note"]
    );
    let endpoints = Endpoints { plural: "notes".into(), namespaced: false, status: true, scale: true };
    assert_eq!(resource.api.kinds[&resource.group_version_kind("v1")].endpoints, Some(endpoints));
    assert_eq!(resource.version("v0").unwrap().type_name, "rs.baton.notes.v0.Note");
}

#[test]
fn items_of_a_list_may_lack_api_version_and_kind() {
    let mut item = definition(json!({"type": "object"}));
    item.as_object_mut().unwrap().retain(|name, _| name == "spec");
    parse(&item).unwrap();
}

#[test]
fn bad_input_is_refused_with_its_place() {
    for (pointer, value, message) in [
        ("/kind", json!("Pod"), "$.kind: expected \"CustomResourceDefinition\", found \"Pod\""),
        (
            "/apiVersion",
            json!("apiextensions.k8s.io/v1beta1"),
            "$.apiVersion: expected \"apiextensions.k8s.io/v1\"",
        ),
        ("/spec", Value::Null, "$: the member \"spec\" is missing"),
        ("/spec/group", Value::Null, "$.spec: the member \"group\" is missing"),
        ("/spec/names/kind", json!(1), "$.spec.names.kind: expected a string, found a number"),
        (
            "/spec/scope",
            json!("World"),
            "$.spec.scope: \"World\" is no scope; use one of Namespaced, Cluster",
        ),
        ("/spec/versions", json!({}), "$.spec.versions: expected a list, found an object"),
        ("/spec/versions/0", json!({}), "$.spec.versions[0]: the member \"name\" is missing"),
        ("/spec/versions/0/served", json!("yes"), "$.spec.versions[0].served: expected a boolean"),
        (
            "/spec/versions",
            json!([{"name": "v1"}, {"name": "v1"}]),
            "$.spec.versions[1]: there are two versions called \"v1\"",
        ),
        (
            "/spec/versions/0/schema/openAPIV3Schema",
            json!({"type": "object", "x-kubernetes-map-type": "odd"}),
            "$.spec.versions[0].schema.openAPIV3Schema: \"odd\" is no map type",
        ),
        (
            "/spec/versions/0/schema/openAPIV3Schema",
            json!({"properties": []}),
            "$.spec.versions[0].schema.openAPIV3Schema.properties: expected an object, found a list",
        ),
    ] {
        let error = error_of(changed(pointer, value));
        assert!(error.starts_with(message), "{error}");
    }
    assert_eq!(error_of(json!([])), "$: expected an object, found a list");
}

#[test]
fn endless_nesting_is_refused() {
    for members in [&["items"][..], &["additionalProperties"], &["properties", "a"], &["not"]] {
        let schema = nested(1_000, members, Value::Null);
        let error = error_of(changed("/spec/versions/0/schema/openAPIV3Schema", schema));
        assert!(error.contains("nested deeper"), "{error}");
    }
}
