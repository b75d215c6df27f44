//! The schemas of all kinds as one document of OpenAPI version 2, without paths: kubectl checks lists by it, and explains kinds
//! by it if it is asked to. Other readers get JSON, kubectl protobuf, after `openapiv2/OpenAPIv2.proto` of gnostic.

mod protobuf;

use serde_json::{Map, Value, json};

use crate::registry::Registry;

/// What kubectl accepts.
pub(crate) const ACCEPTED: &str = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";

/// The media type that it gets then: the other one is none.
pub(crate) const PROTOBUF: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

const OLD_REFERENCE: &str = "#/components/schemas/";
const REFERENCE: &str = "#/definitions/";

/// The document.
pub(crate) fn document(registry: &Registry, version: &str) -> Value {
    let mut definitions = Map::new();
    for of in registry.all() {
        let mut version: Value = serde_json::from_str(of.openapi()).unwrap_or_default();
        if let Value::Object(schemas) = version["components"]["schemas"].take() {
            definitions.extend(schemas);
        }
    }
    definitions.values_mut().for_each(downgrade);
    json!({
        "swagger": "2.0", "info": {"title": "Kubernetes", "version": version}, "paths": {},
        "definitions": definitions,
    })
}

/// The document in protobuf.
pub(crate) fn in_protobuf(document: &Value) -> Vec<u8> {
    protobuf::document(document)
}

/// Makes a schema of version 3 one of version 2.
fn downgrade(schema: &mut Value) {
    let Some(members) = schema.as_object_mut() else { return };
    if let Some(Value::Array(all)) = members.remove("allOf")
        && let [Value::Object(only)] = all.as_slice()
    {
        members.extend(only.clone());
    }
    // What may be of several types is text to version 2, and what may be null can't be expressed at all.
    if let Some(Value::Array(one)) = members.remove("oneOf")
        && one.iter().any(|one| one["type"] == "string")
    {
        members.insert("type".to_owned(), "string".into());
    }
    for unknown in ["anyOf", "not", "default"] {
        members.remove(unknown);
    }
    if members.remove("nullable") == Some(Value::Bool(true)) {
        members.retain(|name, _| {
            !matches!(name.as_str(), "type" | "items" | "properties" | "additionalProperties")
        });
    }
    if let Some(Value::String(reference)) = members.get_mut("$ref")
        && let Some(name) = reference.strip_prefix(OLD_REFERENCE)
    {
        *reference = format!("{REFERENCE}{name}");
    }
    if let Some(Value::Object(properties)) = members.get_mut("properties") {
        properties.values_mut().for_each(downgrade);
    }
    for below in ["items", "additionalProperties"] {
        members.get_mut(below).map(downgrade);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_becomes_one_of_version_2() {
        let mut schema = json!({
            "type": "object",
            "properties": {
                "metadata": {"description": "d", "default": {}, "allOf": [{"$ref": "#/components/schemas/Meta"}]},
                "port": {"oneOf": [{"type": "integer"}, {"type": "string"}], "format": "int-or-string"},
                "list": {"type": "array", "items": {"type": "string", "nullable": true}},
            },
        });
        downgrade(&mut schema);
        let expected = json!({
            "type": "object",
            "properties": {
                "metadata": {"description": "d", "$ref": "#/definitions/Meta"},
                "port": {"type": "string", "format": "int-or-string"},
                "list": {"type": "array", "items": {}},
            },
        });
        assert_eq!(schema, expected);
    }
}
