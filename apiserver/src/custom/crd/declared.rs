//! The types of a schema for rules, with the largest sizes of their values: `SchemaDeclType` in k8s.io/apiserver's
//! `pkg/cel/common`.

use std::collections::BTreeMap;

use super::super::rules::escape;
use super::super::schema::Schema;

/// The largest request.
pub(super) const MAX_REQUEST: u64 = 3 * 1024 * 1024;
/// The longest text in JSON, without its quotes.
const MAX_TEXT: u64 = MAX_REQUEST - 2;

/// The type of a map's keys.
static KEY: Declared = Declared { shape: Shape::Text, max_elements: 0, min_size: 2 };

/// The declared type of a value.
#[derive(Debug)]
pub(super) struct Declared {
    pub(super) shape: Shape,
    /// The most items, members, characters or bytes; 0 for other types.
    pub(super) max_elements: u64,
    /// The length of the shortest JSON.
    pub(super) min_size: u64,
}

#[derive(Debug)]
pub(super) enum Shape {
    /// Known at evaluation only.
    Any,
    Bool,
    Int,
    Double,
    Text,
    Bytes,
    Duration,
    Time,
    List(Box<Declared>),
    Map(Box<Declared>),
    /// The fields, by their escaped names.
    Object(BTreeMap<String, Declared>),
}

impl Declared {
    fn new(shape: Shape, max_elements: u64, min_size: u64) -> Self {
        Self { shape, max_elements, min_size }
    }

    fn text(max_elements: u64) -> Self {
        Self::new(Shape::Text, max_elements, 2)
    }

    /// The declared type of a schema's values; `None` if rules can't access them.
    pub(super) fn of(schema: &Schema, is_object: bool) -> Option<Self> {
        let bound = |most: Option<i64>| most.map(|most| u64::try_from(most).unwrap_or(0));
        // A character has up to four bytes.
        let max_length = bound(schema.max_length).map(|most| most.saturating_mul(4));
        if schema.int_or_string {
            return Some(Self::new(Shape::Any, max_length.unwrap_or(MAX_TEXT), 1));
        }
        Some(match schema.type_name.as_str() {
            "array" => {
                let item = Self::of_below(schema.items.as_deref()?)?;
                let most = bound(schema.max_items).unwrap_or(MAX_TEXT / (item.min_size + 1));
                Self::new(Shape::List(Box::new(item)), most, 2)
            }
            "object" if schema.values().is_some() && !is_object => {
                let value = Self::of_below(schema.values()?)?;
                let most = bound(schema.max_properties).unwrap_or(MAX_TEXT / (value.min_size + 6));
                Self::new(Shape::Map(Box::new(value)), most, 2)
            }
            "object" => Self::object(schema, is_object),
            "string" => match schema.format.as_str() {
                "byte" => Self::new(Shape::Bytes, bound(schema.max_length).unwrap_or(MAX_TEXT), 2),
                "duration" => Self::new(Shape::Duration, 32, 3),
                "date" => Self::new(Shape::Time, 12, 12),
                "date-time" => Self::new(Shape::Time, 32, 21),
                _ => {
                    let values = schema.one_of_values.iter().filter_map(|value| value.as_str());
                    let longest = values.map(|value| value.len() as u64).max();
                    let longest =
                        if schema.one_of_values.is_empty() { None } else { Some(longest.unwrap_or(0)) };
                    Self::text(max_length.or(longest).unwrap_or(MAX_TEXT))
                }
            },
            "boolean" => Self::new(Shape::Bool, 0, 4),
            "number" => Self::new(Shape::Double, 0, 1),
            "integer" => Self::new(Shape::Int, 0, 1),
            _ => return None,
        })
    }

    fn of_below(schema: &Schema) -> Option<Self> {
        Self::of(schema, schema.embedded)
    }

    fn object(schema: &Schema, is_object: bool) -> Self {
        let mut min_size = 2;
        let mut fields = BTreeMap::new();
        for (name, property) in &schema.properties {
            let Some(declared) = Self::of_below(property) else { continue };
            if schema.required.contains(name) && property.default.is_none() {
                min_size += name.len() as u64 + declared.min_size + 4;
            }
            fields.extend(escape(name).map(|name| (name, declared)));
        }
        if is_object {
            let names = ["name", "generateName"].map(|name| (name.to_owned(), Self::text(MAX_TEXT)));
            let metadata = Self::new(Shape::Object(names.into()), 0, 2);
            let kinds = ["kind", "apiVersion"].map(|name| (name.to_owned(), Self::text(MAX_TEXT)));
            fields.extend(kinds.into_iter().chain([("metadata".to_owned(), metadata)]));
        }
        Self::new(Shape::Object(fields), 0, min_size)
    }

    /// The type of a list's items or a map's values.
    pub(super) fn below(&self) -> Option<&Self> {
        match &self.shape {
            Shape::List(below) | Shape::Map(below) => Some(below),
            _ => None,
        }
    }

    /// The type of a map's keys.
    pub(super) fn key(&self) -> Option<&Self> {
        matches!(self.shape, Shape::Map(_)).then_some(&KEY)
    }

    pub(super) fn field(&self, name: &str) -> Option<&Self> {
        match &self.shape {
            Shape::Object(fields) => fields.get(name),
            _ => None,
        }
    }
}
