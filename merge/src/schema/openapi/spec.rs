//! A schema of an OpenAPI v3 document, with the members that affect merging.
//!
//! Decodes as kube-openapi does a `spec.Schema`: null is absent, `type` is a string or a list of strings, an extension
//! counts by its exact name and may have any value. Members that only validate aren't read, and so aren't refused.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::schema::at::{At, present};
use crate::schema::error::SchemaError;

/// A schema, borrowed from its document.
#[derive(Default)]
pub(in crate::schema) struct Schema<'a> {
    /// `$ref`; empty if absent.
    pub(in crate::schema) reference: &'a str,
    /// The `$ref` of the only item of `allOf`; otherwise empty.
    pub(in crate::schema) all_of_reference: &'a str,
    /// The first type; empty for any type.
    pub(in crate::schema) type_name: &'a str,
    pub(in crate::schema) format: &'a str,
    pub(in crate::schema) default: Option<&'a Value>,
    pub(in crate::schema) items: Items<'a>,
    pub(in crate::schema) properties: BTreeMap<&'a str, Schema<'a>>,
    pub(in crate::schema) additional: Additional<'a>,
    pub(in crate::schema) extensions: Extensions<'a>,
}

/// `items`.
#[derive(Default)]
pub(in crate::schema) enum Items<'a> {
    #[default]
    Absent,
    One(Box<Schema<'a>>),
    /// A list of schemas, or an invalid one: legal unless an array needs it.
    NotOne,
}

/// `additionalProperties`.
#[derive(Default)]
pub(in crate::schema) enum Additional<'a> {
    #[default]
    Absent,
    Allowed(bool),
    Of(Box<Schema<'a>>),
}

/// The extensions that affect merging, unchecked: their users check them.
#[derive(Default)]
pub(in crate::schema) struct Extensions<'a> {
    pub(in crate::schema) preserve_unknown_fields: bool,
    pub(in crate::schema) list_type: Option<&'a Value>,
    pub(in crate::schema) list_map_keys: Option<&'a Value>,
    pub(in crate::schema) map_type: Option<&'a Value>,
    pub(in crate::schema) patch_strategy: Option<&'a Value>,
    pub(in crate::schema) patch_merge_key: Option<&'a Value>,
}

impl<'a> Schema<'a> {
    /// A reference to a named schema.
    pub(in crate::schema) fn refer_to(reference: &'a str) -> Self {
        Self { reference, ..Self::default() }
    }

    /// A schema with only a type.
    pub(in crate::schema) fn of_type(type_name: &'a str) -> Self {
        Self { type_name, ..Self::default() }
    }

    /// Reads a schema; null is the empty one.
    pub(in crate::schema) fn read(value: &'a Value, at: &At<'_>) -> Result<Self, SchemaError> {
        at.check_depth()?;
        if value.is_null() {
            return Ok(Self::default());
        }
        let object = at.object(value)?;
        Ok(Self {
            reference: object.get("$ref").and_then(Value::as_str).unwrap_or_default(),
            all_of_reference: read_all_of(object, at)?,
            type_name: read_type(object, at)?,
            format: match present(object, "format") {
                None => "",
                Some(format) => at.member("format").text(format)?,
            },
            default: present(object, "default"),
            items: read_items(object, at)?,
            properties: read_properties(object, at)?,
            additional: read_additional(object, at)?,
            extensions: Extensions::read(object),
        })
    }
}

impl<'a> Extensions<'a> {
    fn read(object: &'a Map<String, Value>) -> Self {
        Self {
            preserve_unknown_fields: object.get("x-kubernetes-preserve-unknown-fields")
                == Some(&Value::Bool(true)),
            list_type: object.get("x-kubernetes-list-type"),
            list_map_keys: object.get("x-kubernetes-list-map-keys"),
            map_type: object.get("x-kubernetes-map-type"),
            patch_strategy: object.get("x-kubernetes-patch-strategy"),
            patch_merge_key: object.get("x-kubernetes-patch-merge-key"),
        }
    }
}

fn read_type<'a>(object: &'a Map<String, Value>, at: &At<'_>) -> Result<&'a str, SchemaError> {
    let at = at.member("type");
    match object.get("type") {
        None | Some(Value::Null) => Ok(""),
        Some(Value::String(name)) => Ok(name),
        Some(Value::Array(names)) => {
            let names: Vec<&str> = names.iter().map(|name| at.text(name)).collect::<Result<_, _>>()?;
            Ok(names.first().copied().unwrap_or_default())
        }
        Some(other) => at.refuse("a string or a list of strings", other),
    }
}

fn read_all_of<'a>(object: &'a Map<String, Value>, at: &At<'_>) -> Result<&'a str, SchemaError> {
    let Some(all) = present(object, "allOf") else { return Ok("") };
    let reference = match at.member("allOf").list(all)? {
        [only] => only.get("$ref").and_then(Value::as_str),
        _ => None,
    };
    Ok(reference.unwrap_or_default())
}

fn read_items<'a>(object: &'a Map<String, Value>, at: &At<'_>) -> Result<Items<'a>, SchemaError> {
    Ok(match present(object, "items") {
        None => Items::Absent,
        Some(items @ Value::Object(_)) => Items::One(Box::new(Schema::read(items, &at.member("items"))?)),
        Some(items) => {
            let at = at.member("items");
            let items = items.as_array().into_iter().flatten().enumerate();
            items.map(|(index, each)| Schema::read(each, &at.index(index))).collect::<Result<Vec<_>, _>>()?;
            Items::NotOne
        }
    })
}

fn read_properties<'a>(
    object: &'a Map<String, Value>,
    at: &At<'_>,
) -> Result<BTreeMap<&'a str, Schema<'a>>, SchemaError> {
    let Some(properties) = present(object, "properties") else { return Ok(BTreeMap::new()) };
    let at = at.member("properties");
    let properties = at.object(properties)?;
    properties
        .iter()
        .map(|(name, value)| Ok((name.as_str(), Schema::read(value, &at.member(name))?)))
        .collect()
}

fn read_additional<'a>(object: &'a Map<String, Value>, at: &At<'_>) -> Result<Additional<'a>, SchemaError> {
    let at = at.member("additionalProperties");
    Ok(match present(object, "additionalProperties") {
        None => Additional::Absent,
        Some(Value::Bool(allowed)) => Additional::Allowed(*allowed),
        Some(schema @ Value::Object(_)) => Additional::Of(Box::new(Schema::read(schema, &at)?)),
        Some(other) => return at.refuse("a schema or a boolean", other),
    })
}
