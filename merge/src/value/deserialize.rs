//! Values from JSON text.

use std::fmt;

use serde::de::{self, Deserialize, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::{MAX_DEPTH, Map, Value, ValueError};
use crate::Arena;

impl<'a> Value<'a> {
    /// Parses JSON. Strings without escapes are borrowed from the text.
    ///
    /// # Errors
    /// When it isn't JSON, or is nested deeper than [`MAX_DEPTH`].
    pub fn from_text(arena: &'a Arena, text: &'a str) -> Result<Self, ValueError> {
        let mut reader = serde_json::Deserializer::from_str(text);
        let value = ValueSeed::new(arena).deserialize(&mut reader);
        value
            .and_then(|value| reader.end().map(|()| value))
            .map_err(|error| ValueError::NotJson(error.to_string()))
    }
}

/// A reader of `serde_json` stops at 128 levels; deeper ones are read by another reader.
const LEVELS_A_READER: usize = 100;

/// Reads one value from JSON text.
#[derive(Clone, Copy)]
pub(crate) struct ValueSeed<'a> {
    arena: &'a Arena,
    depth: usize,
    all_floats: bool,
}

impl<'a> ValueSeed<'a> {
    pub(crate) fn new(arena: &'a Arena) -> Self {
        Self { arena, depth: MAX_DEPTH, all_floats: false }
    }

    /// Reads every number as a float, as json-iterator does in the names of field sets: digits beyond 2^53 are lost.
    pub(crate) fn with_all_numbers_as_floats(self) -> Self {
        Self { all_floats: true, ..self }
    }

    fn below<E: de::Error>(self) -> Result<Self, E> {
        let depth = self.depth.checked_sub(1).ok_or_else(|| E::custom(ValueError::TooDeep))?;
        Ok(Self { depth, ..self })
    }
}

impl<'de: 'a, 'a> DeserializeSeed<'de> for ValueSeed<'a> {
    type Value = Value<'a>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value<'a>, D::Error> {
        if self.depth == MAX_DEPTH || !self.depth.is_multiple_of(LEVELS_A_READER) {
            return deserializer.deserialize_any(self);
        }
        let below = <&'de RawValue>::deserialize(deserializer)?;
        serde_json::Deserializer::from_str(below.get()).deserialize_any(self).map_err(de::Error::custom)
    }
}

impl<'de: 'a, 'a> Visitor<'de> for ValueSeed<'a> {
    type Value = Value<'a>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value<'a>, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value<'a>, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value<'a>, E> {
        Ok(Value::Bool(value))
    }

    #[expect(clippy::cast_precision_loss, reason = "the server loses the same digits")]
    fn visit_i64<E>(self, value: i64) -> Result<Value<'a>, E> {
        Ok(if self.all_floats { Value::Float(value as f64) } else { Value::Int(value) })
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Value<'a>, E> {
        let number = super::json::number(&value.into());
        match number {
            Value::Int(value) => self.visit_i64(value),
            other => Ok(other),
        }
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value<'a>, E> {
        Ok(Value::Float(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value<'a>, E> {
        Ok(Value::String(self.arena.copy_text(value)))
    }

    fn visit_borrowed_str<E>(self, value: &'de str) -> Result<Value<'a>, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value<'a>, A::Error> {
        let below = self.below()?;
        let mut list = self.arena.vec();
        while let Some(item) = items.next_element_seed(below)? {
            list.push(item);
        }
        Ok(Value::List(list.into_bump_slice()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value<'a>, A::Error> {
        let below = self.below()?;
        let mut map = self.arena.vec();
        let mut sorted = true;
        let mut last = "";
        while let Some(name) = members.next_key_seed(NameSeed(self.arena))? {
            sorted &= map.is_empty() || last < name;
            last = name;
            map.push((name, members.next_value_seed(below)?));
        }
        Ok(Value::Map(if sorted { Map::of_sorted(map.into_bump_slice()) } else { Map::of_unsorted(map) }))
    }
}

/// Reads the name of a member, borrowed if possible.
#[derive(Clone, Copy)]
pub(crate) struct NameSeed<'a>(pub(crate) &'a Arena);

impl<'de: 'a, 'a> DeserializeSeed<'de> for NameSeed<'a> {
    type Value = &'a str;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<&'a str, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de: 'a, 'a> Visitor<'de> for NameSeed<'a> {
    type Value = &'a str;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a member")
    }

    fn visit_str<E>(self, name: &str) -> Result<&'a str, E> {
        Ok(self.0.copy_text(name))
    }

    fn visit_borrowed_str<E>(self, name: &'de str) -> Result<&'a str, E> {
        Ok(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_read_as_the_tree_it_stands_for() {
        let arena = Arena::new();
        let text = r#"{"b":[1,1.0,-2,18446744073709551615,null,true,"a\nb"],"a":{},"b":[]}"#;
        let value = Value::from_text(&arena, text).unwrap();
        assert_eq!(value.to_json(), serde_json::from_str::<serde_json::Value>(text).unwrap());
        assert!(Value::from_text(&arena, "[1] 2").is_err());
        assert!(Value::from_text(&arena, &"[".repeat(100_000)).is_err());
        let nested = |levels| "[".repeat(levels) + &"]".repeat(levels);
        assert!(Value::from_text(&arena, &nested(MAX_DEPTH)).is_ok());
        assert!(Value::from_text(&arena, &nested(MAX_DEPTH + 1)).is_err());
    }
}
