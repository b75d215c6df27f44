//! Reads the parts of an OpenAPI document that describe some kinds: their models with everything that these refer to, and their
//! paths with the kind of each operation. Descriptions and everything else are left out.
//!
//! The core group alone publishes a megabyte and a half, which would take ten times that memory while it is read.

use std::collections::BTreeMap;

use kube::core::ApiResource;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json, value::RawValue};

#[derive(Deserialize)]
struct Document<'a> {
    openapi: Option<Value>,
    #[serde(default)]
    paths: BTreeMap<String, PathItem>,
    #[serde(borrow)]
    components: Option<Components<'a>>,
}

#[derive(Deserialize)]
struct PathItem {
    get: Option<About>,
    put: Option<About>,
    post: Option<About>,
    patch: Option<About>,
    delete: Option<About>,
}

#[derive(Deserialize)]
struct Components<'a> {
    #[serde(borrow, default)]
    schemas: BTreeMap<String, &'a RawValue>,
}

/// The kind that an operation is about, or the kinds of a model.
#[derive(Deserialize, Serialize)]
struct About {
    #[serde(rename = "x-kubernetes-group-version-kind", default)]
    kind: Value,
}

/// Reads the parts of a document about these kinds, in any version, and about [`Scale`](is_scale).
///
/// # Errors
/// When it isn't the JSON of an OpenAPI document.
pub(super) fn read(text: &str, kinds: &[ApiResource]) -> Result<Value, serde_json::Error> {
    let document: Document<'_> = serde_json::from_str(text)?;
    let is_requested = |kind: &Value| {
        is_scale(kind) || kinds.iter().any(|one| kind["group"] == one.group && kind["kind"] == one.kind)
    };
    let mut paths = Map::new();
    for (path, PathItem { get, put, post, patch, delete }) in document.paths {
        let verbs = [("get", get), ("put", put), ("post", post), ("patch", patch), ("delete", delete)];
        let operations = verbs.into_iter().filter_map(|(verb, about)| Some((verb, about?)));
        let operations: BTreeMap<_, _> = operations.filter(|(_, about)| is_requested(&about.kind)).collect();
        if !operations.is_empty() {
            paths.insert(path, json!(operations));
        }
    }
    let mut lean = json!({"openapi": document.openapi, "paths": paths});
    if let Some(Components { schemas }) = document.components {
        lean["components"] = json!({"schemas": models(schemas, is_requested)?});
    }
    Ok(lean)
}

/// Whether this is the kind that `scale` subresources read and write.
fn is_scale(kind: &Value) -> bool {
    kind["group"] == "autoscaling" && kind["kind"] == "Scale"
}

/// The models of the requested kinds, and those that these refer to.
fn models(
    mut all: BTreeMap<String, &RawValue>,
    is_requested: impl Fn(&Value) -> bool,
) -> Result<Map<String, Value>, serde_json::Error> {
    let mut needed = Vec::new();
    for (name, text) in &all {
        let About { kind: kinds } = serde_json::from_str(text.get())?;
        if kinds.as_array().into_iter().flatten().any(&is_requested) {
            needed.push(name.clone());
        }
    }
    let mut models = Map::new();
    while let Some(name) = needed.pop() {
        // It may have been read already.
        let Some(text) = all.remove(&name) else { continue };
        let mut model = serde_json::from_str(text.get())?;
        strip(&mut model, &mut needed);
        models.insert(name, model);
    }
    Ok(models)
}

/// Removes the descriptions of a schema, and adds the names of those that it refers to.
fn strip(schema: &mut Value, references: &mut Vec<String>) {
    match schema {
        Value::Object(members) => {
            if let Some(Value::String(reference)) = members.get("$ref") {
                references.extend(reference.rsplit('/').next().map(ToOwned::to_owned));
            }
            // A schema may have a property of this name, which isn't a text.
            members.retain(|name, member| !(name == "description" && member.is_string()));
            members.values_mut().for_each(|member| strip(member, references));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| strip(item, references)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::apps::v1::Deployment;

    use super::*;

    const KIND: &str = "x-kubernetes-group-version-kind";

    #[test]
    fn only_the_parts_that_describe_a_kind_are_kept() {
        let kind = |kind: &str| json!({"group": "apps", "version": "v1", "kind": kind});
        let reference = |name: &str| json!({"$ref": format!("#/components/schemas/{name}")});
        let document = json!({
            "openapi": "3.0.0",
            "info": {"title": "x", "description": "about"},
            "paths": {
                "/apis/apps/v1/deployments/{name}": {
                    "get": {KIND: kind("Deployment"), "description": "reads", "parameters": [{"name": "a"}]},
                    "parameters": [{"name": "name", "in": "path"}],
                },
                "/apis/apps/v1/daemonsets/{name}": {"get": {KIND: kind("DaemonSet")}},
            },
            "components": {"schemas": {
                "deployment": {
                    "description": "about Deployments",
                    KIND: [kind("Deployment")],
                    "properties": {
                        "description": {"type": "string", "description": "a property"},
                        "n": {"default": 1.5, "enum": ["b", null, true, -3]},
                        "below": {"allOf": [reference("below")]},
                    },
                },
                "below": {"items": reference("deployment")},
                "daemonset": {KIND: [kind("DaemonSet")], "properties": {"other": reference("other")}},
                "other": {},
            }},
        });
        let lean = json!({
            "openapi": "3.0.0",
            "paths": {
                "/apis/apps/v1/deployments/{name}": {"get": {KIND: kind("Deployment")}},
            },
            "components": {"schemas": {
                "deployment": {
                    KIND: [kind("Deployment")],
                    "properties": {
                        "description": {"type": "string"},
                        "n": {"default": 1.5, "enum": ["b", null, true, -3]},
                        "below": {"allOf": [reference("below")]},
                    },
                },
                "below": {"items": reference("deployment")},
            }},
        });
        let kinds = [ApiResource::erase::<Deployment>(&())];
        assert_eq!(read(&document.to_string(), &kinds).unwrap(), lean);
        assert!(read("{", &kinds).is_err() && read("{} {}", &kinds).is_err());
    }
}
