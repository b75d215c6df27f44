//! The spelling of stored field sets.

use std::{borrow::Cow, fmt};

use serde::de::{DeserializeSeed, Deserializer, MapAccess, Visitor};

use crate::{Arena, fieldpath::FieldSet, value::write_plain_json_string};

/// The order of a field set's members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The order of the set, for built-in kinds: numbers by value.
    Set,
    /// By name, in custom resources, and in built-in ones after a write of their scale.
    Names,
}

/// The spelling of an object's stored field sets. It matters if a write of a built-in object would change nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spelling {
    /// Whether their members are in the order of the sets.
    pub in_set_order: bool,
    /// Whether their members are in the order of their names.
    pub in_name_order: bool,
}

impl Spelling {
    /// Unknown: a JSON tree may have lost the order of its members. The server's own is assumed.
    pub const UNKNOWN: Self = Self { in_set_order: true, in_name_order: true };

    /// The spelling of a FieldsV1 text.
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

    /// The spelling of several texts together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            in_set_order: self.in_set_order && other.in_set_order,
            in_name_order: self.in_name_order && other.in_name_order,
        }
    }

    pub(super) fn is(self, order: Order) -> bool {
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

/// FieldsV1 in its own order, without space and with the server's escapes only: a client can't know the escapes in the
/// store.
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
