//! A schema as data: named types that refer to each other by name.
//!
//! The shape follows `schema/elements.go` of structured-merge-diff; [`SchemaDefinition::from_json`] reads the same
//! JSON, and YAML that was parsed into it. Nothing here is resolved or checked beyond its form.

mod json;

use serde::Serialize;
use serde_json::Value;

/// A list of named types.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SchemaDefinition {
    /// The types. Of two with one name the last counts.
    pub types: Vec<TypeDefinition>,
}

/// A type and its name.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TypeDefinition {
    /// The name in references.
    pub name: String,
    /// The kinds of its values.
    #[serde(flatten)]
    pub atom: AtomDefinition,
}

/// The kinds of values of a type: any of those that are set.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct AtomDefinition {
    /// A single value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scalar: Option<Scalar>,
    /// A list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub list: Option<ListDefinition>,
    /// A map or struct.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub map: Option<MapDefinition>,
}

/// The kinds of single values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Scalar {
    /// An integer or float.
    Numeric,
    /// A string.
    String,
    /// A boolean.
    Boolean,
    /// Any of these.
    Untyped,
}

/// The relationship of a list's items or a map's members.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Relationship {
    /// The items of a list are owned one by one, named by their keys or (without keys) by their value.
    Associative,
    /// The whole is owned and replaced as one.
    Atomic,
    /// The members of a map are owned one by one.
    Separable,
}

/// A list.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ListDefinition {
    /// The type of the items.
    #[serde(skip_serializing_if = "TypeReference::is_empty")]
    pub element_type: TypeReference,
    /// The relationship of the items. Values other than [`Relationship::Associative`] and [`Relationship::Atomic`] are
    /// unusual but legal.
    #[serde(rename = "elementRelationship", skip_serializing_if = "Option::is_none")]
    pub relationship: Option<Relationship>,
    /// The key fields of an associative list; empty for a set.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub keys: Vec<String>,
}

/// A map or struct.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MapDefinition {
    /// The named fields; `None` isn't the same as an empty list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fields: Option<Vec<FieldDefinition>>,
    /// The type of all other members; the empty reference if there are none.
    #[serde(skip_serializing_if = "TypeReference::is_empty")]
    pub element_type: TypeReference,
    /// The relationship of the members; `None` is separable.
    #[serde(rename = "elementRelationship", skip_serializing_if = "Option::is_none")]
    pub relationship: Option<Relationship>,
}

/// A named field of a struct.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FieldDefinition {
    /// The field's name.
    pub name: String,
    /// The field's type.
    #[serde(rename = "type", skip_serializing_if = "TypeReference::is_empty")]
    pub type_reference: TypeReference,
    /// The default of an absent field, which counts for the keys of list items only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
}

/// A reference to a named type, or a type in place. Both absent: the empty reference.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TypeReference {
    /// The name of the type.
    #[serde(rename = "namedType", skip_serializing_if = "Option::is_none")]
    pub named: Option<String>,
    /// The type itself, without a name.
    #[serde(flatten)]
    pub inlined: Option<Box<AtomDefinition>>,
    /// Overrides the relationship of the referenced map or list.
    #[serde(rename = "elementRelationship", skip_serializing_if = "Option::is_none")]
    pub relationship: Option<Relationship>,
}

impl TypeReference {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The name of the untyped type whose lists and maps are atomic.
pub const UNTYPED_ATOMIC: &str = "__untyped_atomic_";

/// The name of the deduced type: maps are granular, lists atomic.
pub const UNTYPED_DEDUCED: &str = "__untyped_deduced_";
