//! Whole OpenAPI documents of a Kubernetes release, compared with the Go library.
#![allow(missing_docs, clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use baton_merge::schema::kinds::GroupVersionKind;
use baton_merge::schema::openapi::{self, OpenApi};
use serde_json::Value;

fn read_json(path: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(path);
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

fn document(name: &str) -> OpenApi {
    openapi::parse(&read_json(&format!("openapi/{name}.json"))).unwrap()
}

fn documents() -> BTreeMap<String, OpenApi> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/openapi");
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    names
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .map(|name| (name.clone(), document(&name)))
        .collect()
}

/// The types by name.
fn by_name(definition: &Value) -> BTreeMap<&str, &Value> {
    let types = definition["types"].as_array().unwrap();
    types.iter().map(|each| (each["name"].as_str().unwrap(), each)).collect()
}

#[test]
fn a_document_converts_as_in_go() {
    let expected = read_json("schema/autoscaling__v2.expected.json");
    let actual = document("autoscaling__v2").definition.to_json();
    assert_eq!(by_name(&actual), by_name(&expected));
}

#[test]
fn every_reference_finds_its_type() {
    for (name, document) in documents() {
        let definition = document.definition.to_json();
        let known: BTreeSet<&str> = by_name(&definition).into_keys().collect();
        let mut referred = BTreeSet::new();
        collect_references(&definition, &mut referred);
        let missing: Vec<_> = referred.difference(&known).collect();
        assert!(missing.is_empty(), "{name}: {missing:?}");
        let of_kinds: Vec<_> = document.kinds.values().map(|info| info.type_name.as_str()).collect();
        assert!(of_kinds.iter().all(|name| known.contains(name)), "{name}: {of_kinds:?}");
    }
}

fn collect_references<'a>(value: &'a Value, into: &mut BTreeSet<&'a str>) {
    match value {
        Value::Object(members) => {
            into.extend(members.get("namedType").and_then(Value::as_str));
            members.values().for_each(|value| collect_references(value, into));
        }
        Value::Array(items) => items.iter().for_each(|value| collect_references(value, into)),
        _ => {}
    }
}

#[test]
fn subresources_of_built_in_kinds_are_known() {
    let documents = documents();
    for (name, kind, plural, namespaced, status, scale) in [
        ("apps__v1", GroupVersionKind::new("apps", "v1", "Deployment"), "deployments", true, true, true),
        ("apps__v1", GroupVersionKind::new("apps", "v1", "DaemonSet"), "daemonsets", true, true, false),
        ("v1", GroupVersionKind::new("", "v1", "ConfigMap"), "configmaps", true, false, false),
        ("v1", GroupVersionKind::new("", "v1", "Namespace"), "namespaces", false, true, false),
        ("v1", GroupVersionKind::new("", "v1", "Node"), "nodes", false, true, false),
        (
            "rbac.authorization.k8s.io__v1",
            GroupVersionKind::new("rbac.authorization.k8s.io", "v1", "ClusterRole"),
            "clusterroles",
            false,
            false,
            false,
        ),
    ] {
        let endpoints = documents[name].kinds[&kind].endpoints.clone();
        let expected = openapi::Endpoints { plural: plural.to_owned(), namespaced, status, scale };
        assert_eq!(endpoints, Some(expected), "{kind}");
    }
}

#[test]
fn a_scale_has_a_type_and_no_endpoint() {
    let document = document("apps__v1");
    let scale = &document.kinds[&GroupVersionKind::new("autoscaling", "v1", "Scale")];
    assert_eq!((scale.type_name.as_str(), &scale.endpoints), ("io.k8s.api.autoscaling.v1.Scale", &None));
}

#[test]
fn keys_of_built_in_lists_are_known() {
    let core = document("v1").definition.to_json();
    let container = by_name(&core)["io.k8s.api.core.v1.Container"];
    let fields = container["map"]["fields"].as_array().unwrap();
    let ports = &fields.iter().find(|field| field["name"] == "ports").unwrap()["type"]["list"];
    assert_eq!(ports["keys"], serde_json::json!(["containerPort", "protocol"]));
    assert_eq!(ports["elementRelationship"], "associative");
}

#[test]
fn what_is_no_document_is_refused() {
    for (document, message) in [
        (serde_json::json!([]), "$: expected an object, found a list"),
        (serde_json::json!({"swagger": "2.0", "definitions": {}}), "$: this is no OpenAPI v3 document"),
        (serde_json::json!({"components": {"schemas": []}}), "$.components.schemas: expected an object"),
        (
            serde_json::json!({"components": {"schemas": {"a": null}}}),
            "$.components.schemas.a: expected an object, found null",
        ),
    ] {
        let error = openapi::parse(&document).unwrap_err().to_string();
        assert!(error.starts_with(message), "{error}");
    }
}

#[test]
fn a_document_without_schemas_has_the_untyped_types_only() {
    let read = openapi::parse(&serde_json::json!({"openapi": "3.0.0", "paths": {}})).unwrap();
    assert_eq!((read.definition.types.len(), read.kinds.len()), (2, 0));
}
