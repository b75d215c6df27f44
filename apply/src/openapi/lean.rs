//! Reads of an OpenAPI document what describes some kinds: their models with all that these refer to, and their paths with the
//! kind that each operation is about. Descriptions and everything else are left out.
//!
//! The core group alone publishes a megabyte and a half, which would be held ten times over while it is read.

use std::{collections::BTreeMap, fmt};

use kube::core::ApiResource;
use serde::{
    Deserialize,
    de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_json::{Map, Value, json, value::RawValue};

/// What says which kind an operation is about, and of which kinds a model is.
const KIND: &str = "x-kubernetes-group-version-kind";

#[derive(Deserialize)]
struct Document<'a> {
    openapi: Option<Value>,
    #[serde(borrow, default)]
    paths: BTreeMap<String, &'a RawValue>,
    #[serde(borrow)]
    components: Option<Components<'a>>,
}

#[derive(Deserialize)]
struct Components<'a> {
    #[serde(borrow, default)]
    schemas: BTreeMap<String, &'a RawValue>,
}

#[derive(Deserialize)]
struct Model {
    #[serde(rename = "x-kubernetes-group-version-kind", default)]
    kinds: Value,
}

/// Reads what a document says about these kinds, in whichever version, and about [`Scale`](is_scale).
///
/// # Errors
/// When it isn't JSON, or no OpenAPI document.
pub(super) fn read(text: &str, kinds: &[ApiResource]) -> Result<Value, serde_json::Error> {
    let document: Document<'_> = serde_json::from_str(text)?;
    let is_wanted = |kind: &Value| {
        is_scale(kind)
            || kinds.iter().any(|wanted| kind["group"] == wanted.group && kind["kind"] == wanted.kind)
    };
    let mut paths = Map::new();
    for (path, text) in document.paths {
        let item = Part::Path.read(text)?;
        let mut operations = item.as_object().into_iter().flat_map(Map::values);
        if operations.any(|operation| operation.get(KIND).is_some_and(is_wanted)) {
            paths.insert(path, item);
        }
    }
    let mut lean = json!({"openapi": document.openapi, "paths": paths});
    if let Some(Components { schemas }) = document.components {
        lean["components"] = json!({"schemas": models(schemas, is_wanted)?});
    }
    Ok(lean)
}

/// What the subresource of that name reads and writes, whichever kind it belongs to.
fn is_scale(kind: &Value) -> bool {
    kind["group"] == "autoscaling" && kind["kind"] == "Scale"
}

/// The models of the kinds that are wanted, and those that these refer to.
fn models(
    mut all: BTreeMap<String, &RawValue>,
    is_wanted: impl Fn(&Value) -> bool,
) -> Result<Map<String, Value>, serde_json::Error> {
    let mut wanted = Vec::new();
    for (name, text) in &all {
        let Model { kinds } = serde_json::from_str(text.get())?;
        if kinds.as_array().into_iter().flatten().any(&is_wanted) {
            wanted.push(name.clone());
        }
    }
    let mut models = Map::new();
    while let Some(name) = wanted.pop() {
        // It may have been read already.
        let Some(text) = all.remove(&name) else { continue };
        let model = Part::Rest.read(text)?;
        add_references(&model, &mut wanted);
        models.insert(name, model);
    }
    Ok(models)
}

fn add_references(schema: &Value, names: &mut Vec<String>) {
    match schema {
        Value::Object(members) => {
            if let Some(Value::String(reference)) = members.get("$ref") {
                names.extend(reference.rsplit('/').next().map(ToOwned::to_owned));
            }
            members.values().for_each(|member| add_references(member, names));
        }
        Value::Array(items) => items.iter().for_each(|item| add_references(item, names)),
        _ => {}
    }
}

/// Where in the document a value is.
#[derive(Clone, Copy)]
enum Part {
    Path,
    Operation,
    /// Part of a model, in which only descriptions are left out.
    Rest,
}

impl Part {
    fn read(self, text: &RawValue) -> Result<Value, serde_json::Error> {
        self.deserialize(&mut serde_json::Deserializer::from_str(text.get()))
    }

    /// What a member is; nothing where nobody asks for it.
    fn member(self, name: &str) -> Option<Self> {
        match self {
            Self::Path => Some(Self::Operation),
            Self::Operation => (name == KIND).then_some(Self::Rest),
            Self::Rest => Some(Self::Rest),
        }
    }
}
impl<'de> DeserializeSeed<'de> for Part {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Part {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        // What is in a list of parameters is as little asked for as a member would be.
        while let Some(item) = sequence.next_element_seed(self)? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut members = Map::new();
        while let Some(name) = map.next_key::<String>()? {
            let Some(part) = self.member(&name) else {
                map.next_value::<IgnoredAny>()?;
                continue;
            };
            let value = map.next_value_seed(part)?;
            // A schema may have a property of this name, which is no text.
            if !(name == "description" && value.is_string()) {
                members.insert(name, value);
            }
        }
        Ok(Value::Object(members))
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::apps::v1::Deployment;

    use super::*;

    #[test]
    fn what_describes_a_kind_is_kept_and_nothing_else() {
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
                "/apis/apps/v1/deployments/{name}": {"get": {KIND: kind("Deployment")}, "parameters": [{}]},
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
