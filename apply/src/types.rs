//! The types of an OpenAPI v3 document, as far as spelling depends on them.

use std::collections::{BTreeMap, HashMap};

use baton_merge::value as merge;
use serde_json::{Map, Value};

/// The types of the API server's OpenAPI document, by name.
#[derive(Clone, Debug, Default)]
pub struct Types {
    types: HashMap<String, Type>,
    /// The names of the types of objects, by `apiVersion` and `kind`.
    kinds: HashMap<(String, String), String>,
}

/// A type, as far as spelling depends on it.
#[derive(Clone, Debug)]
pub(crate) enum Type {
    /// A type that doesn't matter for spelling.
    Unknown,
    Text,
    /// A quantity, such as `500m`.
    Quantity,
    /// The type of this name.
    Named(String),
    Struct {
        fields: BTreeMap<String, Type>,
        is_atomic: bool,
        /// The fields that have to be set, and that get no default.
        required: Vec<String>,
    },
    Map {
        values: Box<Type>,
        is_atomic: bool,
    },
    List {
        items: Box<Type>,
        is_atomic: bool,
        /// The fields that identify an item.
        keys: Vec<String>,
    },
}

/// The starts of the names of the API server's own types. Types of custom resources are named after their groups.
const BUILT_IN: [&str; 4] = [
    "io.k8s.api.",
    "io.k8s.apimachinery.",
    "io.k8s.apiextensions-apiserver.pkg.",
    "io.k8s.kube-aggregator.pkg.",
];

/// Whether a type is none of a custom resource.
pub(crate) fn is_built_in(name: &str) -> bool {
    BUILT_IN.iter().any(|start| name.starts_with(start))
}

/// The type whose values the server spells in its own way.
const QUANTITY: &str = "io.k8s.apimachinery.pkg.api.resource.Quantity";

impl Types {
    /// The types of the `components.schemas` of a document.
    pub fn from_openapi<'a>(schemas: impl IntoIterator<Item = (&'a String, &'a Map<String, Value>)>) -> Self {
        let mut all = Self::default();
        for (name, schema) in schemas {
            let of = if name == QUANTITY { Type::Quantity } else { Type::of(schema, is_built_in(name)) };
            all.types.insert(name.clone(), of);
            let kinds = schema.get("x-kubernetes-group-version-kind").and_then(Value::as_array);
            all.kinds.extend(kinds.into_iter().flatten().map(|kind| {
                let text = |member: &str| kind[member].as_str().unwrap_or_default().to_owned();
                let (group, version) = (text("group"), text("version"));
                let api_version = if group.is_empty() { version } else { format!("{group}/{version}") };
                ((api_version, text("kind")), name.clone())
            }));
        }
        all
    }

    /// The types of a whole document.
    pub fn from_document(document: &Value) -> Self {
        let schemas = document["components"]["schemas"].as_object().into_iter().flatten();
        Self::from_openapi(schemas.filter_map(|(name, schema)| Some((name, schema.as_object()?))))
    }

    /// Adds the types of another document.
    pub fn add(&mut self, more: Self) {
        self.types.extend(more.types);
        self.kinds.extend(more.kinds);
    }

    /// The name of the type of a kind's objects.
    pub(crate) fn name_of(&self, api_version: &str, kind: &str) -> Option<&str> {
        self.kinds.get(&(api_version.to_owned(), kind.to_owned())).map(String::as_str)
    }

    /// The type of this name.
    pub(crate) fn named(&self, name: &str) -> &Type {
        self.types.get(name).unwrap_or(&Type::Unknown)
    }
}

impl Type {
    fn of(schema: &Map<String, Value>, is_built_in: bool) -> Self {
        let below = |schema: &Map<String, Value>| Self::of(schema, is_built_in);
        let is_atomic = |extension: &str| schema.get(extension).is_some_and(|value| value == "atomic");
        let object = |name: &str| schema.get(name).and_then(Value::as_object);
        if let Some(name) = reference(schema) {
            return Self::Named(name.to_owned());
        }
        match schema.get("type").and_then(Value::as_str) {
            Some("string") => Self::Text,
            Some("array") => {
                let merges =
                    schema.get("x-kubernetes-patch-strategy").and_then(Value::as_str).unwrap_or_default();
                let list_type = schema.get("x-kubernetes-list-type").and_then(Value::as_str);
                let keys = schema.get("x-kubernetes-list-map-keys").and_then(Value::as_array);
                let merge_key = schema.get("x-kubernetes-patch-merge-key").filter(|_| list_type.is_none());
                Self::List {
                    items: Box::new(object("items").map_or(Self::Unknown, below)),
                    is_atomic: match list_type {
                        Some(list_type) => list_type == "atomic",
                        None => !merges.split(',').any(|strategy| strategy == "merge"),
                    },
                    keys: keys
                        .into_iter()
                        .flatten()
                        .chain(merge_key)
                        .filter_map(|key| key.as_str().map(str::to_owned))
                        .collect(),
                }
            }
            Some("object") => {
                let is_atomic = is_atomic("x-kubernetes-map-type");
                match (object("properties"), object("additionalProperties")) {
                    (Some(properties), _) => {
                        let field = |(name, schema): (&String, &Value)| {
                            (name.clone(), schema.as_object().map_or(Self::Unknown, below))
                        };
                        // The default of a field that a Go type always has is its zero, which is no value.
                        let is_filled_in = |name: &str| {
                            let default = properties.get(name).and_then(|schema| schema.get("default"));
                            default.is_some_and(|default| {
                                !(default.is_null() || is_built_in && is_zero(default))
                            })
                        };
                        let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
                        let required = required.filter_map(Value::as_str).filter(|name| !is_filled_in(name));
                        Self::Struct {
                            fields: properties.iter().map(field).collect(),
                            is_atomic,
                            required: required.map(str::to_owned).collect(),
                        }
                    }
                    (None, Some(values)) => Self::Map { values: Box::new(below(values)), is_atomic },
                    (None, None) => Self::Unknown,
                }
            }
            _ => Self::Unknown,
        }
    }
}

/// The name of the schema that a schema refers to. One with siblings, such as a description, is wrapped into an `allOf`.
fn reference(schema: &Map<String, Value>) -> Option<&str> {
    let wrapped = || match schema.get("allOf")?.as_array()?.as_slice() {
        [only] => only.get("$ref"),
        _ => None,
    };
    schema.get("$ref").or_else(wrapped)?.as_str()?.rsplit('/').next()
}

/// Whether the value is the same as its absence in a Go type.
pub(crate) fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.values().all(is_zero),
        scalar => is_zero_scalar(scalar),
    }
}

/// Whether a value without parts is the same as its absence in a Go type.
pub(crate) fn is_zero_scalar(value: &Value) -> bool {
    match value {
        Value::Bool(value) => !value,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Null | Value::Array(_) | Value::Object(_) => false,
    }
}

/// Whether it is a scalar that is the same as its absence in a Go type.
pub(crate) fn is_zero_value(value: merge::Value<'_>) -> bool {
    match value {
        merge::Value::Bool(value) => !value,
        merge::Value::Int(value) => value == 0,
        merge::Value::Float(value) => value == 0.0,
        merge::Value::String(text) => text.is_empty(),
        merge::Value::Null | merge::Value::List(_) | merge::Value::Map(_) => false,
    }
}
