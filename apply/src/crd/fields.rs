//! The fields of a custom resource, as schemas name them.

use std::fmt;

use kube::core::ApiResource;
use serde_json::{Map, Value, json};

use crate::fieldpath::{Path, PathElement};

/// How many missing fields a message names.
const NAMED: usize = 5;

/// The fields of a custom resource that a program knows.
#[derive(Clone, Debug)]
pub struct KnownFields {
    pub(super) kind: ApiResource,
    schema: Value,
}

/// A CRD that lacks fields. Its text names some of them: `it lacks .spec.a, .spec.b[].c`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OlderCrd {
    /// The missing fields, as [`KnownFields::in_schema`] spells them.
    pub lacks: Vec<String>,
}

impl fmt::Display for OlderCrd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (named, more) = self.lacks.split_at(self.lacks.len().min(NAMED));
        write!(f, "it lacks {}", named.join(", "))?;
        if more.is_empty() { Ok(()) } else { write!(f, " and {} more", more.len()) }
    }
}

/// What is known about the cluster's CRD.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// It has every field that the program knows.
    Complete,
    /// It lacks some.
    Older(OlderCrd),
    /// The API server doesn't publish it, or not yet.
    Unpublished,
}

impl KnownFields {
    /// The fields of a kind, by the schema of its CRD or by what [`names`](Self::names) has kept of it.
    pub fn new(kind: ApiResource, schema: Value) -> Self {
        Self { kind, schema }
    }

    /// A schema reduced to the names of fields, such as for a file that the program includes.
    pub fn names(schema: &Value) -> Value {
        let mut kept = Map::new();
        if let Some(fields) = schema["properties"].as_object().filter(|fields| !fields.is_empty()) {
            let fields = fields.iter().map(|(name, schema)| (name.clone(), Self::names(schema)));
            kept.insert("properties".to_owned(), fields.collect());
        }
        for below in ["items", "additionalProperties"] {
            if schema[below].is_object() {
                kept.insert(below.to_owned(), Self::names(&schema[below]));
            }
        }
        kept.into()
    }

    /// Judges the OpenAPI document that the API server publishes; null where it publishes none.
    pub fn judge(&self, document: &Value) -> Judgement {
        let Some(published) = self.schema_in(document) else { return Judgement::Unpublished };
        let mut lacks = Vec::new();
        compare(&self.schema, published, "", &mut lacks);
        if lacks.is_empty() { Judgement::Complete } else { Judgement::Older(OlderCrd { lacks }) }
    }

    /// The path in the schema of a field, such as `.spec.ports[].name`; none if the program doesn't know the field. Below a field
    /// without a schema, it is the path of that field.
    pub fn in_schema(&self, path: Path<'_>) -> Option<String> {
        let (mut schema, mut spelled) = (&self.schema, String::new());
        for element in path.elements() {
            if schema.as_object().is_some_and(Map::is_empty) {
                break;
            }
            let (below, step) = match (element, schema.get("properties")) {
                (PathElement::Field(name), Some(named)) => (named.get(name)?, format!(".{name}")),
                (PathElement::Field(_), None) => (schema.get("additionalProperties")?, "{}".to_owned()),
                _ => (schema.get("items")?, "[]".to_owned()),
            };
            (schema, spelled) = (below, spelled + &step);
        }
        Some(spelled)
    }

    /// The schema of the kind.
    fn schema_in<'d>(&self, document: &'d Value) -> Option<&'d Value> {
        let ApiResource { group, version, kind, .. } = &self.kind;
        let kind = json!({"group": group, "version": version, "kind": kind});
        let mut schemas = document["components"]["schemas"].as_object()?.values();
        schemas.find(|schema| {
            schema["x-kubernetes-group-version-kind"].as_array().is_some_and(|kinds| kinds.contains(&kind))
        })
    }
}

/// Adds the paths of the fields that one schema has and the other lacks, without the fields below a missing one. The API server drops
/// no fields that a schema lacks where that preserves them, and none of an object's metadata, which it publishes as a reference.
fn compare(own: &Value, other: &Value, path: &str, missing: &mut Vec<String>) {
    let is_set = |flag: &str| other[flag] == true;
    let has_metadata = path.is_empty() || is_set("x-kubernetes-embedded-resource");
    for (name, own) in own["properties"].as_object().into_iter().flatten() {
        let path = format!("{path}.{name}");
        match other["properties"].get(name) {
            _ if has_metadata && name == "metadata" => {}
            Some(other) => compare(own, other, &path, missing),
            None if is_set("x-kubernetes-preserve-unknown-fields") => {}
            None => missing.push(path),
        }
    }
    for (below, mark) in [("items", "[]"), ("additionalProperties", "{}")] {
        // A schema without these allows any content.
        if other[below].is_object() {
            compare(&own[below], &other[below], &format!("{path}{mark}"), missing);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::tests::kind, *};

    /// A custom resource whose spec has these fields.
    fn schema(spec: &Value) -> Value {
        json!({"properties": {"spec": {"properties": spec}}})
    }

    fn own() -> Value {
        let containers = json!({"items": {"properties": {"name": {}, "image": {}}}});
        schema(&json!({"adoption": {}, "labels": {"additionalProperties": {}}, "containers": containers}))
    }

    /// The judgement when an API server publishes this schema.
    fn judged(schema: &Value) -> Judgement {
        let mut model = schema.clone();
        model["x-kubernetes-group-version-kind"] =
            json!([{"group": "example.com", "version": "v1", "kind": "App"}]);
        let known = KnownFields::new(kind(), own());
        known.judge(&json!({"components": {"schemas": {"com.example.v1.App": model}}}))
    }

    #[test]
    fn fields_that_the_cluster_lacks_are_named_and_a_newer_crd_does_no_harm() {
        assert_eq!(judged(&own()), Judgement::Complete);
        let mut newer = own();
        newer["properties"]["spec"]["properties"]["more"] = json!({"type": "string"});
        assert_eq!(judged(&newer), Judgement::Complete);

        let containers = json!({"items": {"properties": {"name": {}}}});
        let older = schema(&json!({"labels": {"additionalProperties": {}}, "containers": containers}));
        let Judgement::Older(older) = judged(&older) else { panic!("the CRD is older") };
        assert_eq!(older.to_string(), "it lacks .spec.adoption, .spec.containers[].image");
        let many = OlderCrd { lacks: (0..7).map(|number| format!(".{number}")).collect() };
        assert_eq!(many.to_string(), "it lacks .0, .1, .2, .3, .4 and 2 more");
    }

    #[test]
    fn a_document_without_the_kind_is_no_obstacle() {
        for document in [json!({"components": {"schemas": {"other": {"type": "object"}}}}), Value::Null] {
            assert_eq!(KnownFields::new(kind(), own()).judge(&document), Judgement::Unpublished);
        }
    }

    #[test]
    fn fields_of_metadata_and_preserved_ones_are_not_dropped() {
        let metadata = || json!({"properties": {"name": {}}});
        let spec = json!({"properties": {"inner": {"properties": {"metadata": metadata(), "spec": {"properties": {"a": {}}}}}}});
        let known = KnownFields::new(kind(), json!({"properties": {"metadata": metadata(), "spec": spec}}));
        let lacks = |inner: Value, spec: Value| {
            let mut published = json!({"properties": {"metadata": {"allOf": []}, "spec": spec}});
            published["properties"]["spec"]["properties"]["inner"] = inner;
            let mut lacks = Vec::new();
            compare(&known.schema, &published, "", &mut lacks);
            lacks
        };
        let embedded = json!({"x-kubernetes-embedded-resource": true, "properties": {"metadata": {}, "spec": {"properties": {"a": {}}}}});
        assert!(lacks(embedded, json!({})).is_empty());
        let preserving = json!({"x-kubernetes-preserve-unknown-fields": true});
        assert!(lacks(preserving.clone(), json!({})).is_empty());
        let below = json!({"x-kubernetes-preserve-unknown-fields": true, "properties": {"spec": {}}});
        assert_eq!(lacks(below, preserving), [".spec.inner.spec.a"]);
    }

    #[test]
    fn only_the_names_of_fields_are_kept_of_a_schema() {
        let mut described = own();
        described["properties"]["spec"]["properties"]["adoption"] = json!({"type": "string", "default": "a"});
        described["properties"]["spec"]["required"] = json!(["adoption"]);
        assert_eq!(KnownFields::names(&described), own());
    }
}
