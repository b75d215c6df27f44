//! What is stored after a write, or that nothing is.

use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

use super::{
    Certainty, Request,
    chain::Written,
    entries::{Entry, Managed, time_text},
    objects,
};
use crate::{Arena, fieldpath::FieldSet, value::Value};

/// In which order the members of a field set are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// In the order of the set, as the server keeps those of a built-in kind: numbers by value.
    Set,
    /// By their names as strings, as in custom resources, and in built-in ones after a write of their scale.
    Names,
}

/// How the field sets of an object are spelled in the store. It matters where a write of a built-in object would change
/// nothing but this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spelling {
    /// Whether their members are in the order of the sets.
    pub in_set_order: bool,
    /// Whether their members are in the order of their names.
    pub in_name_order: bool,
}

impl Spelling {
    /// How nothing is told of it: a JSON tree may have lost the order of its members. The server's own is assumed.
    pub const UNKNOWN: Self = Self { in_set_order: true, in_name_order: true };

    /// How a FieldsV1 text is spelled.
    pub fn of_fields_v1(text: &str) -> Self {
        let arena = Arena::new();
        let Ok(set) = FieldSet::from_fields_v1_text(&arena, text) else {
            return Self { in_set_order: false, in_name_order: false };
        };
        let text = compact(text);
        let mut by_name = String::with_capacity(text.len());
        set.sorted_by_name().write(&mut by_name);
        Self { in_set_order: set.to_fields_v1_text() == text, in_name_order: by_name == text }
    }

    /// How several are spelled together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            in_set_order: self.in_set_order && other.in_set_order,
            in_name_order: self.in_name_order && other.in_name_order,
        }
    }

    fn is(self, order: Order) -> bool {
        match order {
            Order::Set => self.in_set_order,
            Order::Names => self.in_name_order,
        }
    }
}

impl Default for Spelling {
    fn default() -> Self {
        Self::UNKNOWN
    }
}

/// JSON without the space between its parts.
fn compact(json: &str) -> String {
    let (mut in_string, mut escaped) = (false, false);
    json.chars()
        .filter(|character| {
            let keep = in_string || !character.is_ascii_whitespace();
            in_string ^= *character == '"' && !escaped;
            escaped = in_string && *character == '\\' && !escaped;
            keep
        })
        .collect()
}

/// What a write leads to.
#[derive(Clone, Debug)]
pub struct Stored<'a> {
    /// The object, without its `managedFields`.
    pub object: Value<'a>,
    /// Its `managedFields`, in the server's order. Where nothing changes these are the live ones, as they can be read.
    pub managed_fields: Vec<Entry<'a>>,
    /// Whether anything is stored; if not, the object stays as it is and so does its `resourceVersion`.
    pub changed: bool,
    /// How far this can be relied on.
    pub certainty: Certainty,
    order: Order,
}

impl<'a> Request<'a> {
    /// Decides whether a write is stored: not where it differs from what is there in time stamps alone, or not at all.
    pub(super) fn stored(&self, written: Written<'a>, order: Order) -> Stored<'a> {
        let managed_fields = written.managed.encode();
        let certainty = self.certainty(&written);
        let stored = Stored { object: written.object, managed_fields, changed: true, certainty, order };
        let Some(live) = self.live else { return stored };
        let live_object = objects::without_managed_fields(self.arena, live.object);
        match self.owners_that_stay(&stored) {
            Some(managed_fields) if live_object == stored.object => {
                Stored { object: live_object, managed_fields, changed: false, ..stored }
            }
            _ => stored,
        }
    }

    /// The live entries, where those after the write are the same but for their times.
    fn owners_that_stay(&self, stored: &Stored<'a>) -> Option<Vec<Entry<'a>>> {
        let live = self.live?;
        if !self.resource.is_custom() && !live.spelling.is(stored.order) {
            return None;
        }
        super::entries::unchanged(&live.object, &stored.managed_fields)
    }

    fn certainty(&self, written: &Written<'a>) -> Certainty {
        if let Some(reason) = self.unknowable(&written.managed) {
            return Certainty::Unknown(reason);
        }
        if self.resource.has_defaults() { Certainty::ModuloDefaulting } else { Certainty::Exact }
    }

    fn unknowable(&self, managed: &Managed<'a>) -> Option<&'static str> {
        let other_version =
            managed.fields.iter().any(|(_, owned)| owned.version != self.resource.api_version());
        (other_version && self.resource.converts_by_webhook())
            .then_some("a webhook converts between versions")
    }
}

impl Stored<'_> {
    /// The complete object as JSON. Whether the members of field sets keep their order is up to `serde_json`'s map.
    pub fn to_json(&self) -> serde_json::Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

/// Serializes the complete object, with its `managedFields`.
impl Serialize for Stored<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let map = self.object.as_map().unwrap_or_default();
        let mut out = serializer.serialize_map(None)?;
        let mut has_metadata = false;
        for (name, value) in map.members() {
            match (*name, value) {
                ("metadata", Value::Map(_)) => {
                    has_metadata = true;
                    out.serialize_entry(name, &Metadata { metadata: *value, stored: self })?;
                }
                _ => out.serialize_entry(name, value)?,
            }
        }
        if !has_metadata && !self.managed_fields.is_empty() {
            out.serialize_entry("metadata", &Metadata { metadata: Value::Null, stored: self })?;
        }
        out.end()
    }
}

struct Metadata<'s, 'a> {
    metadata: Value<'a>,
    stored: &'s Stored<'a>,
}

impl Serialize for Metadata<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_map(None)?;
        for (name, value) in self.metadata.as_map().unwrap_or_default().members() {
            out.serialize_entry(name, value)?;
        }
        if !self.stored.managed_fields.is_empty() {
            out.serialize_entry("managedFields", &Entries(self.stored))?;
        }
        out.end()
    }
}

struct Entries<'s, 'a>(&'s Stored<'a>);

impl Serialize for Entries<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_seq(Some(self.0.managed_fields.len()))?;
        for entry in &self.0.managed_fields {
            out.serialize_element(&Spelled { entry, order: self.0.order })?;
        }
        out.end()
    }
}

struct Spelled<'s, 'a> {
    entry: &'s Entry<'a>,
    order: Order,
}

impl Serialize for Spelled<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let entry = self.entry;
        let mut out = serializer.serialize_map(None)?;
        let mut text =
            |name, value: &str| if value.is_empty() { Ok(()) } else { out.serialize_entry(name, value) };
        text("apiVersion", entry.api_version)?;
        text("fieldsType", "FieldsV1")?;
        out.serialize_entry("fieldsV1", &Ordered { fields: entry.fields, order: self.order })?;
        let mut text =
            |name, value: &str| if value.is_empty() { Ok(()) } else { out.serialize_entry(name, value) };
        text("manager", entry.manager)?;
        text("operation", entry.operation.as_str())?;
        text("subresource", entry.subresource)?;
        if let Some(time) = entry.time {
            out.serialize_entry("time", &time_text(time))?;
        }
        out.end()
    }
}

/// A field set with its members in an order.
struct Ordered<'a> {
    fields: FieldSet<'a>,
    order: Order,
}

impl Serialize for Ordered<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.order {
            Order::Set => self.fields.serialize(serializer),
            Order::Names => self.fields.sorted_by_name().serialize(serializer),
        }
    }
}
