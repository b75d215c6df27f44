//! Whether the cluster's CRD has the fields that this version knows.
//!
//! The API server silently drops a field that the CRD lacks, so Baton would never read what a Workload sets there. Fields that
//! only the CRD has belong to a newer version, and do no harm.

use std::sync::LazyLock;

use baton_apply::fieldpath::{Path, PathElement};
use serde_json::{Map, Value, json};

/// How many missing fields a message names.
const NAMED: usize = 5;

/// The fields of a Workload that this version knows; a test says how to write them again.
const OWN_TEXT: &str = include_str!("fields.json");

static OWN: LazyLock<Value> = LazyLock::new(|| serde_json::from_str(OWN_TEXT).unwrap_or_default());

/// A CRD that lacks fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Older {
    /// The missing fields, as [`in_schema`] spells them.
    pub(crate) lacks: Vec<String>,
    /// A message that names some of them, and what to do.
    pub(crate) message: String,
}

/// What is known about the cluster's CRD.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Judgement {
    /// It has every field that this version knows.
    Complete,
    /// It lacks some.
    Older(Older),
    /// The API server doesn't publish it, or not yet.
    Unpublished,
    /// The API server has no schemas, or none for Baton: its message.
    Withheld(String),
}

/// Judges the OpenAPI document that the API server publishes; null where it publishes none.
pub(super) fn judge(document: &Value) -> Judgement {
    let Some(published) = workload_in(document) else { return Judgement::Unpublished };
    let mut missing = Vec::new();
    compare(&OWN, published, "", &mut missing);
    if missing.is_empty() {
        return Judgement::Complete;
    }
    let (named, more) = missing.split_at(missing.len().min(NAMED));
    let more = if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
    let message = format!(
        "the CRD is older than this operator (version {}): it lacks {}{more}. Install this version's: \
         `baton crd | kubectl apply --server-side -f -`, or with all of Baton by `kubectl apply --server-side -k manifests`",
        env!("CARGO_PKG_VERSION"),
        named.join(", ")
    );
    Judgement::Older(Older { message, lacks: missing })
}

/// The path in the schema of a field of a Workload, such as `.spec.service.ports[].name`; none if this version doesn't know the field.
/// Below a field without a schema, it is the path of that field.
pub(crate) fn in_schema(path: Path<'_>) -> Option<String> {
    let (mut schema, mut spelled): (&Value, _) = (&OWN, String::new());
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

/// The schema of a Workload.
fn workload_in(document: &Value) -> Option<&Value> {
    let workload = json!({"group": baton_crd::GROUP, "version": baton_crd::VERSION, "kind": "Workload"});
    let mut schemas = document["components"]["schemas"].as_object()?.values();
    schemas.find(|schema| {
        schema["x-kubernetes-group-version-kind"].as_array().is_some_and(|kinds| kinds.contains(&workload))
    })
}

/// Adds the paths of the fields that one schema has and the other lacks, without the fields below a missing one.
fn compare(own: &Value, other: &Value, path: &str, missing: &mut Vec<String>) {
    for (name, own) in own["properties"].as_object().into_iter().flatten() {
        let path = format!("{path}.{name}");
        match other["properties"].get(name) {
            Some(other) => compare(own, other, &path, missing),
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
    use std::{env, fs};

    use super::*;

    /// A schema reduced to the names of fields.
    fn fields(schema: &Value) -> Value {
        let mut fields_only = Map::new();
        if let Some(named) = schema["properties"].as_object().filter(|named| !named.is_empty()) {
            let named = named.iter().map(|(name, schema)| (name.clone(), fields(schema)));
            fields_only.insert("properties".to_owned(), named.collect());
        }
        for below in ["items", "additionalProperties"] {
            if schema[below].is_object() {
                fields_only.insert(below.to_owned(), fields(&schema[below]));
            }
        }
        fields_only.into()
    }

    #[test]
    fn the_fields_in_the_data_file_are_those_of_the_crd() {
        let mut own = fields(&own_schema());
        // The metadata of all objects is published differently.
        own["properties"].as_object_mut().unwrap().retain(|name, _| matches!(&**name, "spec" | "status"));
        let own = own.to_string() + "\n";
        if env::var_os("BATON_WRITE_DOCS").is_some() {
            let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/observe/crd/fields.json");
            fs::write(path, &own).unwrap();
        }
        let hint = "fields.json is stale: BATON_WRITE_DOCS=1 cargo test -p baton-controller fields, and once more without";
        assert!(OWN_TEXT == own, "{hint}");
    }

    /// The judgement when an API server publishes this schema.
    fn judged(schema: &Value) -> Judgement {
        let kind = json!([{"group": "baton.rs", "version": "v1alpha1", "kind": "Workload"}]);
        let mut model = schema.clone();
        model["x-kubernetes-group-version-kind"] = kind;
        let document = json!({"components": {"schemas": {"rs.baton.v1alpha1.Workload": model}}});
        judge(&document)
    }

    fn own_schema() -> Value {
        let crd = baton_crd::workload_crd();
        serde_json::to_value(&crd.spec.versions[0].schema.as_ref().unwrap().open_api_v3_schema).unwrap()
    }

    #[test]
    fn this_versions_crd_has_every_field() {
        assert_eq!(judged(&own_schema()), Judgement::Complete);
    }

    #[test]
    fn fields_that_the_cluster_lacks_are_named_with_the_fix() {
        let mut older = own_schema();
        let fields = |schema: &mut Value, path: &[&str]| {
            let at = path.iter().fold(schema, |at, name| &mut at[*name]);
            at.as_object_mut().unwrap().clone()
        };
        assert!(!fields(&mut older, &["properties", "spec", "properties"]).is_empty());
        older["properties"]["spec"]["properties"].as_object_mut().unwrap().remove("adoption");
        let pods =
            &mut older["properties"]["spec"]["properties"]["template"]["properties"]["spec"]["properties"];
        pods["containers"]["items"]["properties"].as_object_mut().unwrap().remove("image");
        let Judgement::Older(Older { message, .. }) = judged(&older) else { panic!("the CRD is older") };
        assert!(message.contains(".spec.adoption, .spec.template.spec.containers[].image"), "{message}");
        assert!(message.contains("kubectl apply --server-side"), "{message}");
    }

    #[test]
    fn a_newer_crd_does_no_harm() {
        let mut newer = own_schema();
        newer["properties"]["spec"]["properties"]["more"] = json!({"type": "string"});
        assert_eq!(judged(&newer), Judgement::Complete);
    }

    #[test]
    fn a_document_without_workloads_is_no_obstacle() {
        for document in [json!({"components": {"schemas": {"other": {"type": "object"}}}}), Value::Null] {
            assert_eq!(judge(&document), Judgement::Unpublished);
        }
    }
}
