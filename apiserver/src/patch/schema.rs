//! The merge strategies of built-in kinds' fields, from an OpenAPI v3 document.

use std::collections::BTreeMap;

use serde_json::Value;

use super::PatchError;

/// The types of a document, by the names of their schemas.
#[derive(Debug, Default)]
pub(crate) struct PatchSchema(BTreeMap<String, BTreeMap<String, Field>>);

/// A field of a type.
#[derive(Debug)]
pub(super) struct Field {
    shape: Shape,
    /// The patch strategy of the field.
    pub(super) strategy: Strategy,
    /// The merge key of the list.
    pub(super) merge_key: Option<String>,
}

/// How a patch changes a list or map. By default lists are replaced and maps merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Strategy {
    Default,
    Merge,
    Replace,
}

/// The shape of a value.
#[derive(Debug)]
pub(super) enum Shape {
    /// A struct, by the name of its schema.
    Struct(String),
    /// A map, whose values a patch can't merge.
    Map,
    List(Box<Shape>),
    /// Others.
    Scalar,
}

impl PatchSchema {
    /// Reads the types of an OpenAPI v3 document.
    pub(crate) fn of(document: &Value) -> Self {
        let schemas = document.pointer("/components/schemas").and_then(Value::as_object);
        let types = schemas.into_iter().flatten().map(|(name, schema)| {
            let properties = schema.get("properties").and_then(Value::as_object);
            let fields =
                properties.into_iter().flatten().map(|(name, schema)| (name.clone(), Field::of(schema)));
            (name.clone(), fields.collect())
        });
        Self(types.collect())
    }

    /// The field with this name.
    pub(super) fn field(&self, shape: &Shape, name: &str) -> Result<&Field, PatchError> {
        let kind = match shape {
            Shape::Struct(type_name) => {
                return self.0.get(type_name).and_then(|fields| fields.get(name)).ok_or_else(|| {
                    let type_name = type_name.rsplit('.').next().unwrap_or_default();
                    let name = baton_merge::value::Value::String(name);
                    PatchError::Internal(format!(
                        "unable to find api field in struct {type_name} for the json field {name}"
                    ))
                });
            }
            Shape::Map => "map",
            Shape::List(_) => "slice",
            Shape::Scalar => "string",
        };
        let message = format!("merging an object in json but data type is not struct, instead is: {kind}");
        Err(PatchError::Internal(message))
    }
}

impl Field {
    fn of(schema: &Value) -> Self {
        let text = |name| schema.get(name).and_then(Value::as_str);
        let strategies = text("x-kubernetes-patch-strategy").unwrap_or_default();
        // `retainKeys` beside them is for clients that compute patches.
        let strategy = match strategies.split(',').find(|strategy| *strategy != "retainKeys") {
            Some("merge") => Strategy::Merge,
            Some("replace") => Strategy::Replace,
            _ => Strategy::Default,
        };
        let merge_key = text("x-kubernetes-patch-merge-key").map(str::to_owned);
        Self { shape: Shape::of(schema), strategy, merge_key }
    }

    /// The shape of the field's value.
    pub(super) fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The shape of the list's items.
    pub(super) fn items(&self) -> Result<&Shape, PatchError> {
        match &self.shape {
            Shape::List(items) => Ok(items),
            _ => Err(PatchError::Internal("expected slice or array type, but got: struct".to_owned())),
        }
    }
}

impl Shape {
    fn of(schema: &Value) -> Self {
        let reference =
            schema.pointer("/allOf/0/$ref").or_else(|| schema.get("$ref")).and_then(Value::as_str);
        if let Some(name) = reference.and_then(|reference| reference.strip_prefix("#/components/schemas/")) {
            return Self::Struct(name.to_owned());
        }
        match schema.get("items") {
            Some(items) => Self::List(Box::new(Self::of(items))),
            None if schema.get("type").is_some_and(|kind| kind == "object") => Self::Map,
            None => Self::Scalar,
        }
    }
}
