//! Embedded objects, `x-kubernetes-embedded-resource`: they need a type, and their metadata is read and validated as any
//! object's.

use baton_merge::Arena;
use baton_merge::value::{Map, Value};

use super::names;
use super::schema::Schema;
use crate::field::{FieldError, FieldPath};

/// Reads an object's metadata; returns it with the paths of unknown fields.
pub(crate) type ReadMetadata<'f, 'a> = &'f dyn Fn(Value<'a>) -> Result<(Value<'a>, Vec<String>), String>;

/// Validates an object's metadata.
pub(crate) type CheckMetadata<'f> = &'f dyn Fn(Value<'_>, &FieldPath) -> Vec<FieldError>;

/// Reads the metadata of embedded objects, and adds the paths of unknown fields.
pub(super) fn read<'a>(
    arena: &'a Arena,
    schema: &Schema,
    value: Value<'a>,
    path: &FieldPath,
    read_metadata: ReadMetadata<'_, 'a>,
    unknown: &mut Vec<String>,
) -> Result<Value<'a>, String> {
    let mut below =
        |schema: &Schema, value, path: &FieldPath| read(arena, schema, value, path, read_metadata, unknown);
    match value {
        Value::Map(map) => {
            let mut members = Vec::with_capacity(map.len());
            for (name, value) in map.members() {
                let value = match schema.properties.get(*name) {
                    Some(property) => below(property, *value, &path.child(name))?,
                    None => match schema.values() {
                        Some(values) => below(values, *value, &path.key(name))?,
                        None => *value,
                    },
                };
                members.push((*name, value));
            }
            if schema.embedded {
                read_object(&mut members, path, read_metadata, unknown)?;
            }
            Ok(Value::Map(Map::new(arena, members)))
        }
        Value::List(items) => match &schema.items {
            Some(schema) => {
                let read = items.iter().enumerate();
                let read: Result<Vec<_>, _> =
                    read.map(|(index, item)| below(schema, *item, &path.index(index))).collect();
                Ok(Value::List(arena.list(read?)))
            }
            None => Ok(value),
        },
        _ => Ok(value),
    }
}

fn read_object<'a>(
    members: &mut [(&'a str, Value<'a>)],
    path: &FieldPath,
    read_metadata: ReadMetadata<'_, 'a>,
    unknown: &mut Vec<String>,
) -> Result<(), String> {
    for (name, value) in members {
        let at = path.child(name);
        match *name {
            "apiVersion" | "kind" if value.as_str().is_none() => {
                return Err(FieldError::invalid(&at, *value, "must be a string").to_string());
            }
            "metadata" => {
                let (read, fields) = read_metadata(*value)
                    .map_err(|why| FieldError::invalid(&at, *value, &why).to_string())?;
                unknown.extend(fields.iter().map(|field| format!("{at}.{field}")));
                *value = read;
            }
            _ => {}
        }
    }
    Ok(())
}

/// Validates types and metadata of an object and its embedded ones.
pub(super) fn validate(
    schema: &Schema,
    is_object: bool,
    value: Value<'_>,
    path: &FieldPath,
    check_metadata: CheckMetadata<'_>,
    errors: &mut Vec<FieldError>,
) {
    match value {
        Value::Map(map) => {
            if is_object || schema.embedded {
                validate_object(map, path, check_metadata, errors);
            }
            for (name, value) in map.members() {
                if let Some(property) = schema.properties.get(*name) {
                    validate(property, false, *value, &path.child(name), check_metadata, errors);
                } else if let Some(values) = schema.values() {
                    validate(values, false, *value, &path.key(name), check_metadata, errors);
                }
            }
        }
        Value::List(items) => {
            for (index, item) in items.iter().enumerate() {
                if let Some(schema) = &schema.items {
                    validate(schema, false, *item, &path.index(index), check_metadata, errors);
                }
            }
        }
        _ => {}
    }
}

fn validate_object(
    object: Map<'_>,
    path: &FieldPath,
    check_metadata: CheckMetadata<'_>,
    errors: &mut Vec<FieldError>,
) {
    for name in ["apiVersion", "kind"] {
        if !object.contains(name) {
            errors.push(FieldError::required(&path.child(name), ""));
        }
    }
    for (name, value) in object.members() {
        let at = path.child(name);
        let wrong = match (*name, *value) {
            ("apiVersion" | "kind", Value::String("")) => Some("must not be empty".to_owned()),
            ("apiVersion", Value::String(text)) if text.matches('/').count() > 1 => {
                Some(format!("unexpected GroupVersion string: {text}"))
            }
            ("kind", Value::String(text)) => names::dns_1035_label(&text.to_lowercase())
                .map(|why| format!("may have mixed case, but should otherwise match: {why}")),
            ("apiVersion" | "kind", Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_)) => {
                Some("must be a string".to_owned())
            }
            ("metadata", metadata) => {
                errors.extend(check_metadata(metadata, &at));
                None
            }
            _ => None,
        };
        errors.extend(wrong.map(|why| FieldError::invalid(&at, *value, &why)));
    }
}
