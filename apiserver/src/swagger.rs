//! OpenAPI v2: one document with the schemas of all kinds and all paths. kubectl validates lists with it, and can explain
//! kinds by it. Clients get JSON, kubectl protobuf, after `openapiv2/OpenAPIv2.proto` of gnostic.

mod protobuf;

use serde_json::{Map, Value, json};

/// The media type that kubectl accepts.
pub(crate) const ACCEPTED: &str = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";

/// The media type of the response; the accepted one is malformed.
pub(crate) const PROTOBUF: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

const OLD_REFERENCE: &str = "#/components/schemas/";
const REFERENCE: &str = "#/definitions/";
const KIND: &str = "x-kubernetes-group-version-kind";

/// Converts documents of version 3 to one of version 2.
pub(crate) fn document<'d>(documents: impl Iterator<Item = &'d str>, version: &str) -> Value {
    let (mut paths, mut definitions) = (Map::new(), Map::new());
    for text in documents {
        let mut version: Value = serde_json::from_str(text).unwrap_or_default();
        if let Value::Object(own) = version["paths"].take() {
            paths.extend(own);
        }
        if let Value::Object(own) = version["components"]["schemas"].take() {
            own.into_iter().for_each(|(name, schema)| add(&mut definitions, name, schema));
        }
    }
    definitions.values_mut().for_each(downgrade);
    paths.iter_mut().for_each(|(path, operations)| downgrade_path(path, operations));
    json!({
        "swagger": "2.0", "info": {"title": "Kubernetes", "version": version}, "paths": paths,
        "definitions": definitions,
    })
}

/// Adds a schema. Documents list different kinds for shared options.
fn add(definitions: &mut Map<String, Value>, name: String, schema: Value) {
    let Some(known) = definitions.get_mut(&name) else {
        definitions.insert(name, schema);
        return;
    };
    if let (Some(known), Some(new)) =
        (known.get_mut(KIND).and_then(Value::as_array_mut), schema.get(KIND).and_then(Value::as_array))
    {
        let others: Vec<_> = new.iter().filter(|kind| !known.contains(kind)).cloned().collect();
        known.extend(others);
    }
}

/// The document in protobuf.
pub(crate) fn in_protobuf(document: &Value) -> Vec<u8> {
    protobuf::document(document)
}

/// Converts the operations of a path.
fn downgrade_path(path: &str, operations: &mut Value) {
    // Lists of groups, versions and resources have `consumes`.
    let is_list = path.starts_with("/api") && path.ends_with('/');
    for (method, part) in operations.as_object_mut().into_iter().flatten() {
        match method.as_str() {
            "parameters" => part.as_array_mut().into_iter().flatten().for_each(downgrade_parameter),
            _ => downgrade_operation(part),
        }
        if is_list {
            part["consumes"] = part["produces"].clone();
        }
    }
}

/// In version 2, a parameter has its type itself.
fn downgrade_parameter(parameter: &mut Value) {
    let Some(members) = parameter.as_object_mut() else { return };
    if let Some(Value::Object(schema)) = members.remove("schema") {
        members.extend(schema);
    }
}

/// In version 2, a body is a parameter, and an operation lists the media types.
fn downgrade_operation(operation: &mut Value) {
    let Some(members) = operation.as_object_mut() else { return };
    let mut parameters = match members.remove("parameters") {
        Some(Value::Array(parameters)) => parameters,
        _ => Vec::new(),
    };
    parameters.iter_mut().for_each(downgrade_parameter);
    let (mut consumed, mut produced) = (json!(["*/*"]), json!(["*/*"]));
    if let Some(body) = members.remove("requestBody") {
        let (media, schema) = content(&body);
        consumed = media;
        let mut parameter = json!({"name": "body", "in": "body", "schema": schema});
        if body["required"] == true {
            parameter["required"] = true.into();
        }
        parameters.push(parameter);
    }
    let responses = members.get_mut("responses").and_then(Value::as_object_mut);
    for response in responses.into_iter().flat_map(Map::values_mut) {
        if response["content"].is_object() {
            let (media, schema) = content(response);
            produced = media;
            *response = json!({"description": response["description"], "schema": schema});
        } else if let Some(members) = response.as_object_mut() {
            members.remove("content");
        }
    }
    let own = [("consumes", consumed), ("produces", produced), ("schemes", json!(["https"]))];
    members.extend(own.map(|(name, value)| (name.to_owned(), value)));
    if !parameters.is_empty() {
        members.insert("parameters".to_owned(), parameters.into());
    }
}

/// The media types and the schema of a body.
fn content(body: &Value) -> (Value, Value) {
    let content = body["content"].as_object();
    let media: Vec<_> = content.into_iter().flat_map(Map::keys).cloned().collect();
    let mut schema =
        content.and_then(|all| all.values().next()).map_or(Value::Null, |of| of["schema"].clone());
    downgrade(&mut schema);
    (media.into(), schema)
}

/// Converts a schema.
fn downgrade(schema: &mut Value) {
    let Some(members) = schema.as_object_mut() else { return };
    if let Some(Value::Array(all)) = members.remove("allOf")
        && let [Value::Object(only)] = all.as_slice()
    {
        members.extend(only.clone());
    }
    // Version 2 has no `oneOf`, which becomes a string, and no `nullable`.
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
