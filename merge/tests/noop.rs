//! A server accepts each apply that the no-op check calls a no-op.
#![allow(missing_docs, clippy::unwrap_used)]

use baton_merge::{
    Arena, Release, predict::Apply, schema::kinds::GroupVersionKind, server::Resources, value::Value,
};
use serde_json::{Value as Json, json};

fn shops() -> Resources {
    let port = json!({"type": "object", "required": ["name"], "properties": {
        "name": {"type": "string"}, "port": {"type": "integer"},
    }});
    let ports = json!({
        "type": "array", "items": port, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
    });
    let spec = json!({"type": "object", "properties": {
        "image": {"type": "string"},
        "numbers": {"type": "array", "items": {"type": "integer"}},
        "tags": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
        "ports": ports,
        "limits": {"type": "object", "additionalProperties": {"type": "string"}},
        "pinned": {"type": "object", "x-kubernetes-map-type": "atomic", "properties": {"ports": ports}},
    }});
    Resources::from_crd(&json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": {"kind": "Shop", "plural": "shops"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object", "properties": {"spec": spec, "status": {"type": "object", "properties": {
                    "seen": {"type": "integer"},
                }}},
            }}}],
        },
    }))
    .unwrap()
}

/// Whether the check finds a no-op, and whether the prediction has the server accept the apply.
fn judge(metadata: &Json, spec: &Json, rest: &Json, intent: &Json, fields: &Json) -> (bool, bool) {
    let resources = shops();
    let shop = resources.get(&GroupVersionKind::new("example.com", "v1", "Shop")).unwrap();
    let mut live = json!({
        "apiVersion": "example.com/v1", "kind": "Shop",
        "metadata": {"name": "books", "managedFields": [
            {"manager": "alice", "operation": "Apply", "apiVersion": "example.com/v1",
             "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": fields}},
        ]},
        "spec": intent,
    });
    let merge = |into: &mut Json, more: &Json| {
        into.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    };
    merge(&mut live["metadata"], metadata);
    merge(&mut live["spec"], spec);
    merge(&mut live, rest);
    let intent = json!({
        "apiVersion": "example.com/v1", "kind": "Shop", "metadata": {"name": "books"}, "spec": intent,
    });
    let apply = Apply {
        manager: "alice",
        force: true,
        subresource: "",
        now: "2026-01-02T03:04:05Z".parse().unwrap(),
        release: Release::LATEST,
    };
    let arena = Arena::new();
    let value = |json| Value::from_json(&arena, json).unwrap();
    let is_noop = shop.is_noop(value(&live), value(&intent), apply);
    let predicted = shop.predict(&arena, Some(&live), &intent, apply);
    (is_noop, predicted.is_ok_and(|prediction| !prediction.changed))
}

#[test]
fn an_apply_beside_a_part_that_does_not_fit_its_schema_is_no_certain_noop() {
    let none = json!({});
    let misfits = [
        (json!({}), json!({"numbers": 0}), json!({})),
        (json!({}), json!({"numbers": ["one"]}), json!({})),
        (json!({}), json!({"ports": [null]}), json!({})),
        (json!({}), json!({"ports": [{"port": 80}]}), json!({})),
        (json!({}), json!({"tags": [null]}), json!({})),
        (json!({}), json!({"tags": {}}), json!({})),
        (json!({}), json!({"limits": []}), json!({})),
        (json!({}), json!({"limits": {"cpu": 1}}), json!({})),
        (json!({}), json!({"undeclared": 1}), json!({})),
        (json!({}), none.clone(), json!({"status": {"seen": "1"}})),
        (json!({}), none.clone(), json!({"undeclared": {}})),
        (json!({"labels": 0}), none.clone(), json!({})),
        (json!({"ownerReferences": [null]}), none.clone(), json!({})),
    ];
    let (intent, fields) = (json!({"image": "shop:1"}), json!({"f:image": {}}));
    for (metadata, spec, rest) in &misfits {
        let judged = judge(metadata, spec, rest, &intent, &fields);
        assert_eq!(judged, (false, false), "{metadata} {spec} {rest}");
    }
    let fitting = json!({
        "numbers": [1, null], "tags": ["a", "a"], "ports": [{"name": "a", "port": null}], "limits": null,
    });
    let judged =
        judge(&json!({"labels": {"a": "b"}}), &fitting, &json!({"status": {"seen": 1}}), &intent, &fields);
    assert_eq!(judged, (true, true), "what fits stays a no-op");
}

#[test]
fn an_apply_of_what_fits_its_schema_no_more_is_no_certain_noop() {
    let port = json!({"name": "a"});
    let owned_port = json!({"f:ports": {"k:{\"name\":\"a\"}": {".": {}, "f:name": {}}}});
    let cases = [
        (json!({"image": 1}), json!({"f:image": {}}), json!({})),
        (json!({"numbers": ["one"]}), json!({"f:numbers": {}}), json!({})),
        (json!({"pinned": {"ports": [port, port]}}), json!({"f:pinned": {}}), json!({})),
        (json!({"ports": [port]}), owned_port, json!({"ports": [null, port]})),
    ];
    for (intent, fields, spec) in &cases {
        let judged = judge(&json!({}), spec, &json!({}), intent, fields);
        assert_eq!(judged, (false, false), "{intent} {spec}");
    }
    let judged =
        judge(&json!({}), &json!({}), &json!({}), &json!({"numbers": [1]}), &json!({"f:numbers": {}}));
    assert_eq!(judged, (true, true), "what fits is a no-op");
}

#[test]
fn an_apply_that_no_longer_owns_the_map_around_an_empty_list_is_no_noop() {
    let judged =
        judge(&json!({}), &json!({"ports": [{"name": "a"}]}), &json!({}), &json!({"ports": []}), &json!({}));
    assert_eq!(judged, (false, false));
}
