//! Documents that describe kinds: OpenAPI, CRDs, structured-merge-diff schemas. Objects are merged by the accepted ones.

use std::sync::LazyLock;

use baton_merge::{
    Arena, Release,
    predict::Apply,
    schema::{
        Schema,
        crd::{self as definitions},
        definition::SchemaDefinition,
        kinds::GroupVersionKind,
        openapi::{self as documents},
    },
    server::Resources,
    typed::{Duplicates, Typed},
};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{
    choices::Choices,
    json_trees::{any, mutate},
};

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).expect("the document is JSON")
}

static CRDS: LazyLock<[Value; 2]> = LazyLock::new(|| {
    [
        parsed(include_str!("../../../../tests/corpus/data/gadget.crd.json")),
        parsed(include_str!("../../../../tests/data/schema/markers.crd.json")),
    ]
});

static OPENAPI: LazyLock<[Value; 3]> = LazyLock::new(|| {
    [
        parsed(include_str!("../../../../tests/data/openapi/policy__v1.json")),
        parsed(include_str!("../../../../tests/data/openapi/autoscaling__v1.json")),
        parsed(include_str!("../../../../tests/data/openapi/discovery.k8s.io__v1.json")),
    ]
});

static SCHEMA: LazyLock<Value> =
    LazyLock::new(|| parsed(include_str!("../../../../tests/corpus/data/traps.schema.json")));

/// Parts of schemas that affect merging.
static FRAGMENTS: LazyLock<Vec<Value>> = LazyLock::new(|| {
    vec![
        json!({"x-kubernetes-list-type": "set"}),
        json!({"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}),
        json!({"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": []}),
        json!({"x-kubernetes-list-type": "atomic"}),
        json!({"x-kubernetes-map-type": "atomic"}),
        json!({"x-kubernetes-map-type": "granular"}),
        json!({"x-kubernetes-preserve-unknown-fields": true}),
        json!({"x-kubernetes-int-or-string": true}),
        json!({"x-kubernetes-embedded-resource": true}),
        json!({"x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": "name"}),
        json!({"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}),
        json!({"$ref": "#/components/schemas/nothing"}),
        json!({"allOf": [{"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}]}),
        json!({"type": "array", "items": {"type": "string"}}),
        json!({"type": "object", "additionalProperties": {"type": "integer"}}),
        json!({"type": "object", "additionalProperties": true}),
        json!({"namedType": "t0", "elementRelationship": "atomic"}),
        json!({"scalar": "untyped", "list": {"elementType": {}, "elementRelationship": "associative"}}),
        json!({"map": {"elementType": {"namedType": "__untyped_deduced_"}, "elementRelationship": "separable"}}),
        json!({"map": {"elementType": {"namedType": "t0"}}}),
        json!({"list": {"elementType": {"namedType": "t0"}, "elementRelationship": "associative", "keys": ["a", "a"]}}),
        json!({"default": {"a": 1}}),
        json!({"openAPIV3Schema": {"type": "object"}}),
        json!("x-kubernetes-list-type"),
        json!("object"),
        json!("integer"),
    ]
});

/// The document of an input: itself if it is JSON, otherwise one of these with changes.
fn document<'d>(data: &'d [u8], of: &[Value]) -> Option<(Value, Choices<'d>)> {
    if data.first() == Some(&b'{') {
        return Some((serde_json::from_slice(data).ok()?, Choices::new(&[])));
    }
    let mut choices = Choices::new(data);
    let mut document = choices.one(of).clone();
    mutate(&mut choices, &mut document, &FRAGMENTS);
    Some((document, choices))
}

/// Reads an OpenAPI document and predicts with every kind in it.
pub fn openapi(data: &[u8]) {
    let Some((document, mut choices)) = document(data, OPENAPI.as_slice()) else { return };
    let Ok(read) = documents::parse(&document) else {
        assert!(Resources::from_openapi(&document).is_err(), "what can't be read has kinds: {document}");
        return;
    };
    check_definition(&read.definition);
    let resources = Resources::from_openapi(&document)
        .unwrap_or_else(|error| panic!("what was read has no kinds: {error}: {document}"));
    use_all(&resources, read.kinds.keys(), &mut choices);
}

/// Reads a custom resource and predicts with every version of it.
pub fn crd(data: &[u8]) {
    let Some((document, mut choices)) = document(data, CRDS.as_slice()) else { return };
    let Ok(read) = definitions::parse(&document) else {
        assert!(Resources::from_crd(&document).is_err(), "what can't be read has kinds: {document}");
        return;
    };
    check_definition(&read.api.definition);
    for version in &read.versions {
        assert_eq!(read.version(&version.name).map(|found| &found.name), Some(&version.name));
        let _ = version.scale.as_ref().map(|scale| scale.spec_replicas_fields().count());
    }
    let resources = Resources::from_crd(&document)
        .unwrap_or_else(|error| panic!("what was read has no kinds: {error}: {document}"));
    use_all(&resources, read.api.kinds.keys(), &mut choices);
}

/// Reads a schema of structured-merge-diff and runs all operations on values of its types.
pub fn smd_schema(data: &[u8]) {
    let Some((document, mut choices)) = document(data, std::slice::from_ref(&SCHEMA)) else { return };
    let Ok(definition) = SchemaDefinition::from_json(&document) else { return };
    check_definition(&definition);
    let schema = Schema::compile(&definition);
    let _ = schema.deduced_type();
    let values = [sample(&mut choices), sample(&mut choices)];
    let arena = Arena::new();
    for named in definition.types.iter().take(4) {
        let type_id = schema.type_named(&named.name).expect("a named type has an id");
        let [live, applied] = values.each_ref().map(|json| {
            let value = baton_merge::value::Value::from_json(&arena, json).expect("it isn't deep");
            Typed::new(&arena, &schema, type_id, value, Duplicates::Allowed).ok()
        });
        let (Some(live), Some(applied)) = (live, applied) else { continue };
        let _ = live.merge(&applied);
        let _ = live.compare(&applied);
        for value in [live, applied] {
            if let Ok(set) = value.to_set() {
                let _ = live.remove(set);
                let _ = live.extract(set);
                let _ = live.reconcile(set);
            }
        }
    }
}

/// A definition survives writing and reading.
fn check_definition(definition: &SchemaDefinition) {
    let written = definition.to_json();
    let again = SchemaDefinition::from_json(&written)
        .unwrap_or_else(|error| panic!("a definition that was written can't be read: {error}\n{written}"));
    assert_eq!(&again, definition, "a definition changes when it is written: {written}");
}

fn sample(choices: &mut Choices<'_>) -> Value {
    let mut value = json!({
        "s": "x", "n": 1, "struct": {"a": "1", "b": 2, "c": {"d": "3"}}, "map": {"a": "x"}, "set": ["a", "b"],
        "items": [{"name": "a", "value": "1"}], "ports": [{"port": 80}], "list": ["a"], "deduced": {"x": {"y": 1}},
    });
    mutate(choices, &mut value, &[]);
    value
}

fn use_all<'k>(
    resources: &Resources,
    kinds: impl Iterator<Item = &'k GroupVersionKind>,
    choices: &mut Choices<'_>,
) {
    for kind in kinds.take(4) {
        let Some(resource) = resources.get(kind) else { continue };
        let (first, second) = (intent(kind, choices), intent(kind, choices));
        let apply = |manager| Apply {
            manager,
            force: true,
            subresource: "",
            now: Timestamp::UNIX_EPOCH,
            release: Release::LATEST,
        };
        let arena = Arena::new();
        let Ok(created) = resource.predict(&arena, None, &first, apply("one")) else { continue };
        let live = created.stored.to_json();
        let arena = Arena::new();
        for subresource in ["", "status", "scale"] {
            let _ = resource.predict(&arena, Some(&live), &second, Apply { subresource, ..apply("two") });
        }
    }
}

fn intent(kind: &GroupVersionKind, choices: &mut Choices<'_>) -> Value {
    json!({
        "apiVersion": kind.api_version(), "kind": kind.kind, "metadata": {"name": "a", "labels": {"a": "b"}},
        "spec": {
            "replicas": 1, "minReplicas": 1, "selector": {"matchLabels": {"a": "b"}}, "tags": ["a", "b"],
            "byName": [{"name": "a", "value": "x"}], "byNameAndPort": [{"name": "a"}], "anything": any(choices, 3),
        },
        "status": any(choices, 2),
    })
}
