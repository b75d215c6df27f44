//! What is stored after a write, or that nothing is.

use std::{borrow::Cow, fmt};

use serde::{
    de::{DeserializeSeed, Deserializer, MapAccess, Visitor},
    ser::{Serialize, SerializeMap, SerializeSeq, Serializer},
};

use super::{
    Certainty, Request,
    chain::Written,
    entries::{Entry, Managed, time_text},
    objects,
};
use crate::{
    Arena,
    fieldpath::FieldSet,
    value::{Value, write_plain_json_string},
};

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
        let Some(text) = normalized(text) else { return Self { in_set_order: false, in_name_order: false } };
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

/// FieldsV1 in its own order, without space and with escapes only where the server writes some: a client can't tell how
/// the server has escaped what it stores.
fn normalized(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    Level(&mut out).deserialize(&mut serde_json::Deserializer::from_str(text)).ok()?;
    Some(out)
}

struct Level<'o>(&'o mut String);

impl<'de> DeserializeSeed<'de> for Level<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Level<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of path elements")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let Self(out) = self;
        out.push('{');
        let start = out.len();
        while let Some(name) = members.next_key::<Cow<'de, str>>()? {
            if out.len() > start {
                out.push(',');
            }
            write_plain_json_string(out, &name);
            out.push(':');
            members.next_value_seed(Level(out))?;
        }
        out.push('}');
        Ok(())
    }
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
        let live_object = self.live.map(|live| objects::without_managed_fields(self.arena, live.object));
        let same_object = live_object.filter(|live| live.is_written_like(&written.object));
        let certainty = self.certainty(&written, live_object, same_object.is_some());
        let stored = Stored { object: written.object, managed_fields, changed: true, certainty, order };
        match (same_object, self.owners_that_stay(&stored)) {
            (Some(object), Some(managed_fields)) => {
                Stored { object, managed_fields, changed: false, ..stored }
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

    fn certainty(&self, written: &Written<'a>, live: Option<Value<'a>>, same_object: bool) -> Certainty {
        if let Some(reason) = self.unknowable(written, live) {
            Certainty::Unknown(reason)
        } else if same_object || !self.resource.has_defaults() {
            // What is stored has its defaults already.
            Certainty::Exact
        } else {
            Certainty::ModuloDefaulting
        }
    }

    fn unknowable(&self, written: &Written<'a>, live: Option<Value<'a>>) -> Option<&'static str> {
        let own = self.resource.api_version();
        let before = self.live.map(|live| Managed::of_live(self.arena, &live.object).unwrap_or_default());
        let before = before.iter().flat_map(|managed| managed.fields.iter());
        let mut versions = written.managed.fields.iter().chain(before).map(|(_, owned)| owned.version);
        if self.resource.converts_by_webhook() && versions.clone().any(|version| version != own) {
            return Some("somebody owns fields in another version, and a webhook converts between the two");
        }
        if versions.any(|version| version != own && self.resource.may_be_served(version)) {
            return Some(
                "somebody owns fields in another version, and only the server can convert between the two",
            );
        }
        let nulls = |value: Option<Value<'_>>| value.map_or(0, |value| value.nulls());
        if self.resource.is_custom() && nulls(Some(written.object)) > nulls(live) + nulls(Some(self.object)) {
            return Some(
                "a map or list loses all it had while somebody else owns it; the schema may refuse the null",
            );
        }
        None
    }
}

impl<'a> Stored<'a> {
    /// An object that stays as it is.
    pub(super) fn unchanged(object: Value<'a>, managed_fields: Vec<Entry<'a>>, is_custom: bool) -> Self {
        let order = if is_custom { Order::Names } else { Order::Set };
        Self { object, managed_fields, changed: false, certainty: Certainty::Exact, order }
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
