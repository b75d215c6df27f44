//! Compiles a schema of the API server's document to a structural schema for a `CustomResourceDefinition`.
//!
//! The two differ in what they allow, not in what they mean; each function below is one of these differences. The
//! rule for all of them: an object inside a Workload merges exactly as the same object does inside a built-in kind.
//! Rules without a part in the merge are left to the server that gets the child, which may be newer than the document:
//! the values of an enum are a description here, and not a restriction.

use std::collections::BTreeMap;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    JSON, JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};
use serde_json::{Map, Value};

use super::Document;

/// The form of a quantity such as `500m` or `1.5Gi`: a number and a decimal, binary or exponent suffix.
const QUANTITY: &str = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?$";

/// The one object of unknown content that the server merges as a single value; it recognizes it by its name.
const RAW_EXTENSION: &str = "io.k8s.apimachinery.pkg.runtime.RawExtension";

/// Why a schema of the document can't be compiled.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum CompileError {
    /// A name that the document lacks.
    #[error("`{path}` refers to the schema `{name}`, which the document lacks: refresh the document")]
    Missing {
        /// Where the reference is.
        path: String,
        /// The type that it refers to.
        name: String,
    },
    /// A type that contains itself. A structural schema has no references, so it would never end.
    #[error("`{path}` contains the schema `{name}` inside of itself, which a CRD has no way to say")]
    Recursive {
        /// Where the inner reference is.
        path: String,
        /// The schema that contains itself.
        name: String,
    },
    /// A construct without a rule here.
    #[error(
        "`{path}` has a schema that the compiler doesn't know ({what}): teach it to `builtin/compile.rs`"
    )]
    Unsupported {
        /// Where the construct is.
        path: String,
        /// Its type.
        what: String,
    },
}

/// Compiles the schema `name` of the document and everything that it refers to into one structural schema.
pub fn compile(document: &Document, name: &str) -> Result<JSONSchemaProps, CompileError> {
    let root = Map::from_iter([("$ref".to_owned(), format!("#/components/schemas/{name}").into())]);
    let mut compiler = Compiler { document, inside: Vec::new() };
    compiler.schema(&root, name)
}

/// Walks the document; `inside` are the names of the schemas around the current place.
struct Compiler<'a> {
    document: &'a Document,
    inside: Vec<String>,
}

impl Compiler<'_> {
    /// Follows references, then compiles the result.
    fn schema(&mut self, schema: &Map<String, Value>, path: &str) -> Result<JSONSchemaProps, CompileError> {
        let Some(name) = Document::reference(schema) else { return self.resolved(schema, path) };
        if self.inside.iter().any(|outer| outer == name) {
            return Err(CompileError::Recursive { path: path.to_owned(), name: name.to_owned() });
        }
        let whole = self.dereference(schema, path)?;
        self.inside.push(name.to_owned());
        let compiled = self.schema(&whole, path);
        self.inside.pop();
        compiled
    }

    /// The schema that a reference stands for. Members beside the reference win.
    fn dereference(
        &self,
        schema: &Map<String, Value>,
        path: &str,
    ) -> Result<Map<String, Value>, CompileError> {
        let Some(name) = Document::reference(schema) else { return Ok(schema.clone()) };
        let missing = || CompileError::Missing { path: path.to_owned(), name: name.to_owned() };
        let mut whole = self.document.schemas.get(name).ok_or_else(missing)?.clone();
        let siblings = schema.iter().filter(|(key, _)| !matches!(key.as_str(), "$ref" | "allOf"));
        whole.extend(siblings.map(|(key, value)| (key.clone(), value.clone())));
        Ok(whole)
    }

    /// Compiles a schema that isn't a reference.
    fn resolved(&mut self, schema: &Map<String, Value>, path: &str) -> Result<JSONSchemaProps, CompileError> {
        let compiled = match text(schema, "type") {
            Some("object") => self.object(schema, path)?,
            Some("array") => self.list(schema, path)?,
            Some(scalar @ ("string" | "integer" | "number" | "boolean")) => JSONSchemaProps {
                type_: Some(scalar.to_owned()),
                format: text(schema, "format").map(str::to_owned),
                ..JSONSchemaProps::default()
            },
            None => int_or_string(schema)
                .ok_or_else(|| unsupported(path, "neither a type nor one of number and string"))?,
            Some(other) => return Err(unsupported(path, &format!("type {other}"))),
        };
        Ok(JSONSchemaProps { description: text(schema, "description").map(str::to_owned), ..compiled })
    }

    /// A struct, a map, or an object of unknown content.
    fn object(&mut self, schema: &Map<String, Value>, path: &str) -> Result<JSONSchemaProps, CompileError> {
        let mut compiled = JSONSchemaProps {
            type_: Some("object".to_owned()),
            x_kubernetes_map_type: Some(
                text(schema, "x-kubernetes-map-type").unwrap_or("granular").to_owned(),
            ),
            ..JSONSchemaProps::default()
        };
        if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
            let required = schema.get("required").and_then(texts);
            let mut fields = BTreeMap::new();
            for (name, property) in properties {
                let path = format!("{path}.{name}");
                let mut field = self.schema(member(property, &path)?, &path)?;
                // Built-in kinds read `null` as absent, and many charts contain it. For a custom resource, the API server
                // drops it in a creation, but refuses it in a server-side apply, unless the schema allows it.
                let optional = !required.as_ref().is_some_and(|names| names.contains(name));
                field.nullable = optional.then_some(true);
                fields.insert(name.clone(), field);
            }
            compiled.properties = Some(fields);
            compiled.required = required;
        } else if let Some(value) = schema.get("additionalProperties") {
            let path = format!("{path}[*]");
            let mut value = self.schema(member(value, &path)?, &path)?;
            // A value that is `null` is read as an empty one.
            value.nullable = Some(true);
            compiled.additional_properties = Some(JSONSchemaPropsOrBool::Schema(Box::new(value)));
        } else {
            compiled.x_kubernetes_preserve_unknown_fields = Some(true);
            if self.inside.last().is_some_and(|name| name == RAW_EXTENSION) {
                compiled.x_kubernetes_map_type = Some("atomic".to_owned());
            }
        }
        Ok(compiled)
    }

    /// A list, and the way it merges.
    fn list(&mut self, schema: &Map<String, Value>, path: &str) -> Result<JSONSchemaProps, CompileError> {
        let path = format!("{path}[]");
        let items = schema.get("items").ok_or_else(|| unsupported(&path, "a list without items"))?;
        let items = member(items, &path)?;
        let mut item = self.schema(items, &path)?;
        let (list_type, keys) = list_type(schema);
        if let Some(keys) = &keys {
            let fields = self.dereference(items, &path)?;
            for key in keys {
                self.map_key(&mut item, &fields, key, &path)?;
            }
        }
        Ok(JSONSchemaProps {
            type_: Some("array".to_owned()),
            items: Some(JSONSchemaPropsOrArray::Schema(Box::new(item))),
            x_kubernetes_list_type: Some(list_type),
            x_kubernetes_list_map_keys: keys,
            ..JSONSchemaProps::default()
        })
    }

    /// Makes a field of a list's item fit to be a key of the list.
    ///
    /// In a CRD a key has to be required or have a default. Built-in kinds have both: the merge gives a missing key its
    /// default, such as the empty string or zero, and validation then refuses the empty key. So the default stays, or
    /// the merge would differ. The refusal is written beside the key instead of into its schema, where it would refuse
    /// the default.
    fn map_key(
        &self,
        item: &mut JSONSchemaProps,
        fields: &Map<String, Value>,
        key: &str,
        path: &str,
    ) -> Result<(), CompileError> {
        let no_field = || unsupported(path, &format!("its key `{key}` isn't a field of its items"));
        let source = fields.get("properties").and_then(|all| all.get(key)).ok_or_else(no_field)?;
        let default = self.dereference(member(source, path)?, path)?.get("default").cloned();
        let field = item.properties.as_mut().and_then(|all| all.get_mut(key)).ok_or_else(no_field)?;
        field.nullable = None;
        field.default = default.clone().map(JSON);

        let required = item.required.as_ref().is_some_and(|names| names.iter().any(|name| name == key));
        let refusal = match default {
            Some(Value::String(empty)) if required && empty.is_empty() => {
                JSONSchemaProps { min_length: Some(1), ..JSONSchemaProps::default() }
            }
            Some(Value::Number(zero)) if required && zero.as_i64() == Some(0) => {
                JSONSchemaProps { minimum: Some(1.0), ..JSONSchemaProps::default() }
            }
            _ => return Ok(()),
        };
        item.all_of.get_or_insert_default().push(JSONSchemaProps {
            properties: Some([(key.to_owned(), refusal)].into()),
            ..JSONSchemaProps::default()
        });
        Ok(())
    }
}

/// How a list merges, and by which keys. An explicit list type wins; the older patch strategy has the same
/// meaning; a list without either is replaced as a whole.
fn list_type(schema: &Map<String, Value>) -> (String, Option<Vec<String>>) {
    if let Some(list_type) = text(schema, "x-kubernetes-list-type") {
        return (list_type.to_owned(), schema.get("x-kubernetes-list-map-keys").and_then(texts));
    }
    let merges = text(schema, "x-kubernetes-patch-strategy")
        .is_some_and(|strategies| strategies.split(',').any(|strategy| strategy == "merge"));
    match text(schema, "x-kubernetes-patch-merge-key") {
        Some(key) if merges => ("map".to_owned(), Some(vec![key.to_owned()])),
        None if merges => ("set".to_owned(), None),
        _ => ("atomic".to_owned(), None),
    }
}

/// A value that is a string or a number: an `IntOrString` with an integer of 32 bits, as the server's own type has it, or
/// a quantity. The latter may be any number, such as `0.5`, which a structural schema has no type for.
fn int_or_string(schema: &Map<String, Value>) -> Option<JSONSchemaProps> {
    let mut types: Vec<_> =
        schema.get("oneOf")?.as_array()?.iter().map(|one| one.get("type")?.as_str()).collect();
    types.sort_unstable();
    match types.as_slice() {
        [Some("integer"), Some("string")] => Some(JSONSchemaProps {
            x_kubernetes_int_or_string: Some(true),
            minimum: Some(i32::MIN.into()),
            maximum: Some(i32::MAX.into()),
            ..JSONSchemaProps::default()
        }),
        [Some("number"), Some("string")] => Some(JSONSchemaProps {
            x_kubernetes_preserve_unknown_fields: Some(true),
            pattern: Some(QUANTITY.to_owned()),
            ..JSONSchemaProps::default()
        }),
        _ => None,
    }
}

/// The schema in a place where only an object is one.
fn member<'v>(value: &'v Value, path: &str) -> Result<&'v Map<String, Value>, CompileError> {
    value.as_object().ok_or_else(|| unsupported(path, &format!("the schema `{value}`")))
}

fn text<'v>(schema: &'v Map<String, Value>, key: &str) -> Option<&'v str> {
    schema.get(key)?.as_str()
}

fn texts(value: &Value) -> Option<Vec<String>> {
    value.as_array()?.iter().map(|text| text.as_str().map(str::to_owned)).collect()
}

fn unsupported(path: &str, what: &str) -> CompileError {
    CompileError::Unsupported { path: path.to_owned(), what: what.to_owned() }
}

#[cfg(test)]
#[expect(clippy::needless_pass_by_value, reason = "`json!` reads better without a `&` before it")]
mod tests {
    use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::JSONSchemaProps;
    use serde_json::{Value, json};

    use super::{CompileError, compile};
    use crate::builtin::Document;

    /// Compiles the schema `Root` of a document with these schemas.
    fn compiled(schemas: Value) -> Result<JSONSchemaProps, CompileError> {
        let document = json!({"release": "v0", "documents": [], "schemas": schemas});
        compile(&serde_json::from_value::<Document>(document).unwrap(), "Root")
    }

    /// The compiled schema of the only property `field` of `Root`, as JSON.
    fn field(property: Value, others: Value) -> Value {
        let mut schemas = json!({"Root": {"type": "object", "properties": {"field": property}}});
        schemas.as_object_mut().unwrap().extend(others.as_object().unwrap().clone());
        serde_json::to_value(compiled(schemas).unwrap()).unwrap()["properties"]["field"].take()
    }

    #[test]
    fn members_beside_a_reference_win() {
        let reference = json!({"allOf": [{"$ref": "#/components/schemas/Inner"}], "description": "outer",
            "x-kubernetes-map-type": "atomic", "default": {}});
        let inner = json!({"Inner": {"type": "object", "description": "inner",
            "properties": {"a": {"type": "string"}}}});
        let got = field(reference, inner);
        assert_eq!(got["description"], "outer");
        assert_eq!(got["x-kubernetes-map-type"], "atomic");
        assert_eq!(got["properties"]["a"]["type"], "string");
        assert_eq!(
            got.get("default"),
            None,
            "a default that isn't a list key would be written into Workloads"
        );
    }

    #[test]
    fn a_list_without_a_type_merges_by_its_patch_strategy() {
        let list = |extensions: Value| {
            let mut list = json!({"type": "array", "items": {"type": "object", "required": ["id"],
                "properties": {"id": {"type": "string"}}}});
            list.as_object_mut().unwrap().extend(extensions.as_object().unwrap().clone());
            let got = field(list, json!({}));
            (got["x-kubernetes-list-type"].clone(), got["x-kubernetes-list-map-keys"].clone())
        };
        let merge =
            json!({"x-kubernetes-patch-strategy": "merge,retainKeys", "x-kubernetes-patch-merge-key": "id"});
        assert_eq!(list(merge), (json!("map"), json!(["id"])));
        assert_eq!(list(json!({"x-kubernetes-patch-strategy": "merge"})), (json!("set"), Value::Null));
        assert_eq!(
            list(json!({"x-kubernetes-patch-strategy": "retainKeys"})),
            (json!("atomic"), Value::Null)
        );
        assert_eq!(list(json!({})), (json!("atomic"), Value::Null));
    }

    #[test]
    fn a_required_key_keeps_its_empty_default_and_refuses_it() {
        let got = field(
            json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port", "name"],
                "items": {"type": "object", "required": ["port"], "properties": {
                    "port": {"type": "integer", "default": 0}, "name": {"type": "string", "default": ""}}}}),
            json!({}),
        );
        let item = &got["items"];
        assert_eq!(item["properties"]["port"], json!({"type": "integer", "default": 0}));
        assert_eq!(item["properties"]["name"], json!({"type": "string", "default": ""}));
        assert_eq!(
            item["allOf"],
            json!([{"properties": {"port": {"minimum": 1.0}}}]),
            "only the required one"
        );
    }

    #[test]
    fn null_means_absent_in_an_optional_field() {
        let schemas = json!({"Root": {"type": "object", "required": ["a"],
            "properties": {"a": {"type": "string"}, "b": {"type": "string"}}}});
        let got = serde_json::to_value(compiled(schemas).unwrap()).unwrap();
        assert_eq!(got["properties"]["a"].get("nullable"), None);
        assert_eq!(got["properties"]["b"]["nullable"], true);
    }

    #[test]
    fn objects_of_unknown_content_keep_it() {
        let got = field(json!({"type": "object"}), json!({}));
        assert_eq!(got["x-kubernetes-preserve-unknown-fields"], true);
        assert_eq!(got["x-kubernetes-map-type"], "granular");

        let raw = "io.k8s.apimachinery.pkg.runtime.RawExtension";
        let got =
            field(json!({"$ref": format!("#/components/schemas/{raw}")}), json!({raw: {"type": "object"}}));
        assert_eq!(got["x-kubernetes-map-type"], "atomic");
    }

    #[test]
    fn a_document_that_is_incomplete_or_recursive_is_refused() {
        let to = |name: &str| json!({"$ref": format!("#/components/schemas/{name}")});
        let root = |inner: Value| json!({"Root": {"type": "object", "properties": {"a": inner}}});
        let path = "Root.a".to_owned();
        assert_eq!(
            compiled(root(to("Gone"))),
            Err(CompileError::Missing { path: path.clone(), name: "Gone".to_owned() })
        );
        assert_eq!(
            compiled(root(to("Root"))),
            Err(CompileError::Recursive { path: path.clone(), name: "Root".to_owned() })
        );
        assert!(matches!(
            compiled(root(json!({"anyOf": []}))),
            Err(CompileError::Unsupported { path: at, .. }) if at == path
        ));
    }
}
