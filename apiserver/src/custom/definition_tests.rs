//! Decoding, defaults and validation of custom resources.

use serde_json::json;

use super::*;

fn definition() -> Definition {
    Definition::new(&json!({"spec": {
        "group": "example.com", "scope": "Namespaced",
        "names": {"plural": "shops", "singular": "shop", "kind": "Shop", "listKind": "ShopList"},
        "versions": [{
            "name": "v1", "served": true, "storage": true,
            "subresources": {"status": {}, "scale": {
                "specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas",
            }},
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                "spec": {"type": "object", "required": ["image"], "properties": {
                    "image": {"type": "string"}, "replicas": {"type": "integer", "default": 1},
                }, "x-kubernetes-validations": [{"rule": "self.replicas < 5", "message": "too many"}]},
                "status": {"type": "object", "properties": {"replicas": {"type": "integer", "minimum": 0}}},
            }}},
        }],
    }}))
}

#[expect(clippy::unnecessary_wraps, reason = "that's what a reader of metadata inputs like")]
fn known(metadata: Value<'_>) -> Result<(Value<'_>, Vec<String>), String> {
    Ok((metadata, Vec::new()))
}

fn check(new: &Json, old: Option<&Json>, status: bool) -> Vec<String> {
    let arena = Arena::new();
    let value = |json| Value::from_json(&arena, json).unwrap();
    let write = Write { new: value(new), old: old.map(value), status, check_metadata: &|_, _| Vec::new() };
    let findings = definition().version("v1").unwrap().validate(&arena, write, Vec::new());
    findings.errors.iter().map(ToString::to_string).collect()
}

#[test]
fn reading_fills_in_defaults_and_takes_out_what_is_unknown() {
    let object = json!({
        "apiVersion": "example.com/v1", "kind": "Shop", "metadata": {"name": "a"},
        "spec": {"image": "x", "foo": 1},
    });
    let (arena, definition) = (Arena::new(), definition());
    let version = definition.version("v1").unwrap();
    let decoded = version.decode(&arena, Value::from_json(&arena, &object).unwrap(), &known).unwrap();
    assert_eq!(decoded.object.to_json()["spec"], json!({"image": "x", "replicas": 1}));
    assert_eq!(decoded.unknown_fields, ["spec.foo"]);
}

#[test]
fn writes_change_what_their_subresource_is_for_and_count_generations() {
    let (arena, definition) = (Arena::new(), definition());
    let version = definition.version("v1").unwrap();
    let value = |json| Value::from_json(&arena, json).unwrap();
    let new = json!({"metadata": {"labels": {"a": "b"}}, "spec": {"image": "y"}, "status": {"replicas": 2}});
    let old = json!({"metadata": {"generation": 4}, "spec": {"image": "x"}, "status": {"replicas": 1}});
    let prepare = |new, old, status| version.prepare(&arena, new, old, status).to_json();
    let created = json!({"metadata": {"labels": {"a": "b"}, "generation": 1}, "spec": {"image": "y"}});
    assert_eq!(prepare(value(&new), None, false), created);
    let updated = json!({
        "metadata": {"labels": {"a": "b"}, "generation": 5}, "spec": {"image": "y"}, "status": {"replicas": 1},
    });
    assert_eq!(prepare(value(&new), Some(value(&old)), false), updated);
    let status = json!({"metadata": {"generation": 4}, "spec": {"image": "x"}, "status": {"replicas": 2}});
    assert_eq!(prepare(value(&new), Some(value(&old)), true), status);
}

#[test]
fn objects_are_checked_in_upstreams_order() {
    let object = |spec: &Json, status: &Json| json!({"apiVersion": "example.com/v1", "kind": "Shop", "spec": spec, "status": status});
    let rules_skipped = "<nil>: Invalid value: null: some validation rules were not checked because the object was \
                         invalid; correct the existing errors to complete validation";
    let missing = object(&json!({"replicas": -1}), &json!({}));
    let expected = [
        "spec.image: Required value",
        ".spec.replicas: Invalid value: -1: should be a non-negative integer",
        rules_skipped,
    ];
    assert_eq!(check(&missing, None, false), expected);
    let many = object(&json!({"image": "x", "replicas": 7}), &json!({}));
    assert_eq!(check(&many, None, false), ["spec: Invalid value: too many"]);
    let status = object(&json!({"image": "x", "replicas": 1}), &json!({"replicas": "x"}));
    let expected = [
        r#"status.replicas: Invalid value: "string": replicas in body must be of type integer: "string""#,
        ".status.replicas: Invalid value: 0: .status.replicas accessor error: x is of the type string, expected int64",
        rules_skipped,
    ];
    assert_eq!(check(&status, Some(&object(&json!({"image": "x"}), &json!({}))), true), expected);
    let wrong_type = json!({"apiVersion": "example.com/v2", "kind": "Shop"});
    let expected = [r#"apiVersion: Invalid value: "example.com/v2": must be example.com/v1"#];
    assert_eq!(check(&wrong_type, None, false), expected);
}

#[test]
fn added_finalizers_should_name_a_domain() {
    let arena = Arena::new();
    let object =
        json!({"metadata": {"finalizers": ["orphan", "example.com/a", "b.example.com", "old", "c"]}});
    let old = json!({"metadata": {"finalizers": ["old"]}});
    let value = |json| Value::from_json(&arena, json).unwrap();
    let warnings = finalizer_warnings(value(&object), Some(value(&old)));
    let expected = [
        r#"metadata.finalizers: "b.example.com": prefer a domain-qualified finalizer name including a path (/) to avoid accidental conflicts with other finalizer writers"#,
        r#"metadata.finalizers: "c": prefer a domain-qualified finalizer name to avoid accidental conflicts with other finalizer writers"#,
    ];
    assert_eq!(warnings, expected);
}

#[test]
fn a_deprecated_version_names_the_one_to_use() {
    let version =
        |name: &str, deprecated: bool| json!({"name": name, "served": true, "deprecated": deprecated});
    let crd = json!({"spec": {
        "group": "example.com", "names": {"kind": "Shop"},
        "versions": [version("v1alpha1", true), version("v1", false), version("v2beta1", false), version("v2", true)],
    }});
    let definition = Definition::new(&crd);
    let deprecation_of = |name| definition.version(name).unwrap().deprecation.clone();
    let use_v1 = "example.com/v1alpha1 Shop is deprecated; use example.com/v1 Shop";
    assert_eq!(deprecation_of("v1alpha1").as_deref(), Some(use_v1));
    assert_eq!(deprecation_of("v1"), None);
    assert_eq!(deprecation_of("v2").as_deref(), Some("example.com/v2 Shop is deprecated"));
}

#[test]
fn definitions_can_be_shared_between_threads() {
    fn is_shared<T: Send + Sync>() {}
    is_shared::<Definition>();
}
