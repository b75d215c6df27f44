//! Converts OpenAPI schemas to a merge schema.
//!
//! Follows `schemaconv.ToSchemaFromOpenAPI` of kube-openapi, rule by rule. Fields and types are sorted by name; in Go their
//! order is random.

use serde_json::Value;

use super::spec::{Additional, Extensions, Items, Schema};
use crate::schema::at::At;
use crate::schema::definition::{
    AtomDefinition, FieldDefinition, ListDefinition, MapDefinition, Relationship, Scalar, SchemaDefinition,
    TypeDefinition, TypeReference, UNTYPED_ATOMIC, UNTYPED_DEDUCED,
};
use crate::schema::error::{Problem, SchemaError};

type Result<T> = std::result::Result<T, SchemaError>;

/// A number or a string in JSON, although its schema is a string.
const QUANTITY: &str = "io.k8s.apimachinery.pkg.api.resource.Quantity";
/// Any JSON, atomic.
const RAW_EXTENSION: &str = "io.k8s.apimachinery.pkg.runtime.RawExtension";

/// A schema with a name that others refer to.
pub(in crate::schema) struct Model<'a> {
    pub(in crate::schema) name: String,
    /// Its position, for errors.
    pub(in crate::schema) at: String,
    pub(in crate::schema) schema: Schema<'a>,
}

/// Converts all models. With `preserve_unknown_fields`, structs may have unknown fields.
pub(in crate::schema) fn definition(
    models: &[Model<'_>],
    preserve_unknown_fields: bool,
) -> Result<SchemaDefinition> {
    let mut types = Vec::with_capacity(models.len() + 2);
    for model in models.iter().filter(|model| model.schema.reference.is_empty()) {
        let atom = match model.name.as_str() {
            QUANTITY => AtomDefinition { scalar: Some(Scalar::Untyped), ..AtomDefinition::default() },
            RAW_EXTENSION => untyped(UNTYPED_ATOMIC, Relationship::Atomic),
            _ => atom(&model.schema, preserve_unknown_fields, &At::root(&model.at))?,
        };
        types.push(TypeDefinition { name: model.name.clone(), atom });
    }
    types.sort_by(|left, right| left.name.cmp(&right.name));
    types.extend(common_types());
    Ok(SchemaDefinition { types })
}

/// The two types that every converted schema has.
pub(in crate::schema) fn common_types() -> [TypeDefinition; 2] {
    [(UNTYPED_ATOMIC, Relationship::Atomic), (UNTYPED_DEDUCED, Relationship::Separable)].map(
        |(name, relationship)| TypeDefinition { name: name.to_owned(), atom: untyped(name, relationship) },
    )
}

/// An untyped value: lists are atomic, maps have this relationship and members of this type.
fn untyped(members: &str, relationship: Relationship) -> AtomDefinition {
    AtomDefinition {
        scalar: Some(Scalar::Untyped),
        list: Some(ListDefinition {
            element_type: named(UNTYPED_ATOMIC),
            relationship: Some(Relationship::Atomic),
            keys: Vec::new(),
        }),
        map: Some(MapDefinition {
            fields: None,
            element_type: named(members),
            relationship: Some(relationship),
        }),
    }
}

fn named(name: &str) -> TypeReference {
    TypeReference { named: Some(name.to_owned()), ..TypeReference::default() }
}

fn atom(schema: &Schema<'_>, preserve: bool, at: &At<'_>) -> Result<AtomDefinition> {
    let preserve = preserve || schema.extensions.preserve_unknown_fields;
    let mut atom = AtomDefinition::default();
    match schema.type_name {
        "" => {
            atom.scalar = Some(Scalar::Untyped);
            atom.list = Some(list(schema, preserve, at)?);
            atom.map = Some(map(schema, preserve, at)?);
        }
        "object" => atom.map = Some(map(schema, preserve, at)?),
        "array" => atom.list = Some(list(schema, preserve, at)?),
        "integer" | "number" => atom.scalar = Some(Scalar::Numeric),
        "boolean" => atom.scalar = Some(Scalar::Boolean),
        // A format may allow other JSON than a string (int-or-string); `byte` is base64 and stays one.
        "string" if matches!(schema.format, "" | "byte") => atom.scalar = Some(Scalar::String),
        "string" => atom.scalar = Some(Scalar::Untyped),
        other => {
            let known = &["object", "array", "string", "integer", "number", "boolean"];
            return at.member("type").refuse_word("type", &other.into(), known);
        }
    }
    Ok(atom)
}

/// A type by reference, or inline. Preservation is inherited inline only.
fn reference(schema: &Schema<'_>, preserve: bool, at: &At<'_>) -> Result<TypeReference> {
    let target = if schema.reference.is_empty() { schema.all_of_reference } else { schema.reference };
    let name = target.rsplit('/').next().unwrap_or_default();
    if name.is_empty() {
        let inlined = Box::new(atom(schema, preserve, at)?);
        return Ok(TypeReference { inlined: Some(inlined), ..TypeReference::default() });
    }
    Ok(TypeReference { relationship: map_relationship(&schema.extensions, at)?, ..named(name) })
}

fn map(schema: &Schema<'_>, preserve: bool, at: &At<'_>) -> Result<MapDefinition> {
    let mut fields = None;
    if !schema.properties.is_empty() {
        let at = at.member("properties");
        let convert = |(name, property): (&&str, &Schema<'_>)| {
            Ok(FieldDefinition {
                name: (*name).to_owned(),
                type_reference: reference(property, preserve, &at.member(name))?,
                default: property.default.cloned(),
            })
        };
        fields = Some(schema.properties.iter().map(convert).collect::<Result<Vec<_>>>()?);
    }
    let element_type = match &schema.additional {
        Additional::Of(schema) => reference(schema, preserve, &at.member("additionalProperties"))?,
        Additional::Allowed(true) => named(UNTYPED_DEDUCED),
        // An object without members in its schema is free-form.
        Additional::Absent if preserve || fields.is_none() => named(UNTYPED_DEDUCED),
        Additional::Absent | Additional::Allowed(false) => TypeReference::default(),
    };
    Ok(MapDefinition { fields, element_type, relationship: map_relationship(&schema.extensions, at)? })
}

fn list(schema: &Schema<'_>, preserve: bool, at: &At<'_>) -> Result<ListDefinition> {
    let (relationship, keys) = list_relationship(&schema.extensions, at)?;
    let element_type = match &schema.items {
        Items::One(items) => reference(items, preserve, &at.member("items"))?,
        Items::NotOne => return Err(at.member("items").error(Problem::ItemsNotOne)),
        Items::Absent if schema.type_name.is_empty() => named(UNTYPED_ATOMIC),
        Items::Absent => return Err(at.error(Problem::MissingItems)),
    };
    Ok(ListDefinition { element_type, relationship: Some(relationship), keys })
}

/// The relationship of items, and their keys: by the list type, then the older patch strategy; atomic by default.
fn list_relationship(extensions: &Extensions<'_>, at: &At<'_>) -> Result<(Relationship, Vec<String>)> {
    if let Some(list_type) = extensions.list_type {
        return match list_type.as_str() {
            Some("atomic") => Ok((Relationship::Atomic, Vec::new())),
            Some("set") => Ok((Relationship::Associative, Vec::new())),
            Some("map") => Ok((Relationship::Associative, map_keys(extensions, at)?)),
            _ => at.refuse_word("list type", list_type, &["atomic", "set", "map"]),
        };
    }
    let Some(strategy) = extensions.patch_strategy else { return Ok((Relationship::Atomic, Vec::new())) };
    match strategy.as_str() {
        Some("merge" | "merge,retainKeys") => Ok((Relationship::Associative, merge_key(extensions, at)?)),
        Some("retainKeys") => Ok((Relationship::Atomic, Vec::new())),
        _ => at.refuse_word("patch strategy", strategy, &["merge", "merge,retainKeys", "retainKeys"]),
    }
}

/// The keys of a map list. Keys that aren't strings are ignored, as upstream.
fn map_keys(extensions: &Extensions<'_>, at: &At<'_>) -> Result<Vec<String>> {
    let value = extensions.list_map_keys.ok_or_else(|| at.error(Problem::MissingMapKeys))?;
    let keys = value.as_array().ok_or_else(|| {
        at.error(Problem::UnreadableKeys {
            member: "x-kubernetes-list-map-keys",
            expected: "a list of strings",
            found: value.to_string(),
        })
    })?;
    Ok(keys.iter().filter_map(Value::as_str).map(str::to_owned).collect())
}

/// The key of a list with the patch strategy merge; without one it is a set.
fn merge_key(extensions: &Extensions<'_>, at: &At<'_>) -> Result<Vec<String>> {
    match extensions.patch_merge_key {
        None => Ok(Vec::new()),
        Some(Value::String(key)) => Ok(vec![key.clone()]),
        Some(other) => Err(at.error(Problem::UnreadableKeys {
            member: "x-kubernetes-patch-merge-key",
            expected: "a string",
            found: other.to_string(),
        })),
    }
}

fn map_relationship(extensions: &Extensions<'_>, at: &At<'_>) -> Result<Option<Relationship>> {
    let Some(map_type) = extensions.map_type else { return Ok(None) };
    match map_type.as_str() {
        Some("atomic") => Ok(Some(Relationship::Atomic)),
        Some("granular") => Ok(Some(Relationship::Separable)),
        _ => at.refuse_word("map type", map_type, &["atomic", "granular"]),
    }
}

#[cfg(test)]
#[path = "convert_tests.rs"]
mod tests;
