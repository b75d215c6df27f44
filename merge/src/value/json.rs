//! Values from JSON and back.

use std::sync::LazyLock;

use serde::ser::{Serialize, SerializeMap, Serializer};

use super::{Map, Value};
use crate::Arena;

/// The deepest nesting of lists and maps, counted from the root, so that no input can exhaust the stack. Real objects are
/// nested less than 30 levels deep.
pub const MAX_DEPTH: usize = 256;

/// JSON that can't be a value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ValueError {
    /// Lists and maps are nested too deep.
    #[error("lists and maps are nested more than {MAX_DEPTH} levels deep")]
    TooDeep,
    /// The serialization of a type failed, or isn't JSON (such as a map with keys that aren't strings).
    #[error("can't be written as JSON: {0}")]
    NotJson(String),
}

impl<'a> Value<'a> {
    /// A view of a JSON value. Strings are borrowed; lists and maps are laid out in the arena.
    ///
    /// # Errors
    /// When it is nested deeper than [`MAX_DEPTH`].
    pub fn from_json(arena: &'a Arena, json: &'a serde_json::Value) -> Result<Self, ValueError> {
        let mut layout = Layout { arena, is_too_deep: false };
        let value = layout.value(json, MAX_DEPTH);
        if layout.is_too_deep { Err(ValueError::TooDeep) } else { Ok(value) }
    }

    /// A view of a JSON scalar, which needs no arena; none for a list or a map.
    pub(crate) fn of_scalar(json: &'a serde_json::Value) -> Option<Self> {
        Some(match json {
            serde_json::Value::Null => Self::Null,
            serde_json::Value::Bool(value) => Self::Bool(*value),
            serde_json::Value::Number(value) => number(value),
            serde_json::Value::String(value) => Self::String(value),
            serde_json::Value::Array(_) | serde_json::Value::Object(_) => return None,
        })
    }

    /// The value as an owned JSON value.
    pub fn to_json(&self) -> serde_json::Value {
        match *self {
            Self::Null => serde_json::Value::Null,
            Self::Bool(value) => value.into(),
            Self::Int(value) => value.into(),
            Self::Float(value) => value.into(),
            Self::String(value) => value.into(),
            Self::List(items) => items.iter().map(Self::to_json).collect(),
            Self::Map(map) => {
                map.members().iter().map(|(name, value)| ((*name).to_owned(), value.to_json())).collect()
            }
        }
    }
}

pub(super) fn number<'a>(number: &serde_json::Number) -> Value<'a> {
    // Integers beyond 64 bits are floats, as for the API server's own decoder.
    number.as_i64().map_or_else(|| Value::Float(number.as_f64().unwrap_or_default()), Value::Int)
}

/// Lays JSON out in an arena.
///
/// Containers are calls that return slices, in registers; the values around them are made in place. If values were
/// returned, each would be written, read at once and written again, and the processor would wait for it.
struct Layout<'a> {
    arena: &'a Arena,
    is_too_deep: bool,
}

impl<'a> Layout<'a> {
    /// `depth` is the number of levels left.
    #[inline]
    fn value(&mut self, json: &'a serde_json::Value, depth: usize) -> Value<'a> {
        match json {
            serde_json::Value::Null => Value::Null,
            serde_json::Value::Bool(value) => Value::Bool(*value),
            serde_json::Value::Number(value) => number(value),
            serde_json::Value::String(value) => Value::String(value),
            serde_json::Value::Array(items) => Value::List(self.list(items, depth)),
            serde_json::Value::Object(members) => Value::Map(self.map(members, depth)),
        }
    }

    #[inline(never)]
    fn list(&mut self, items: &'a [serde_json::Value], depth: usize) -> &'a [Value<'a>] {
        let Some(below) = depth.checked_sub(1) else { return self.too_deep() };
        let mut list = self.arena.vec_with_capacity(items.len());
        list.extend(items.iter().map(|item| self.value(item, below)));
        list.into_bump_slice()
    }

    #[inline(never)]
    fn map(&mut self, members: &'a serde_json::Map<String, serde_json::Value>, depth: usize) -> Map<'a> {
        let Some(below) = depth.checked_sub(1) else { return self.too_deep() };
        let mut map = self.arena.vec_with_capacity(members.len());
        map.extend(members.iter().map(|(name, value)| (name.as_str(), self.value(value, below))));
        if *KEEPS_ORDER_OF_TEXT {
            map.sort_unstable_by_key(|(name, _)| *name);
        }
        Map::of_sorted(map.into_bump_slice())
    }

    /// The replacement of a container that is nested too deep.
    fn too_deep<T: Default>(&mut self) -> T {
        self.is_too_deep = true;
        T::default()
    }
}

/// Whether maps of `serde_json` keep the order of the text, a feature that any crate of a program can enable
/// (`preserve_order`). Otherwise they are sorted.
static KEEPS_ORDER_OF_TEXT: LazyLock<bool> = LazyLock::new(|| {
    let members = ["b", "a"].map(|name| (name.to_owned(), serde_json::Value::Null));
    let map: serde_json::Map<_, _> = members.into_iter().collect();
    !map.keys().is_sorted()
});

impl Serialize for Value<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match *self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(value) => serializer.serialize_bool(value),
            Self::Int(value) => serializer.serialize_i64(value),
            Self::Float(value) => serializer.serialize_f64(value),
            Self::String(value) => serializer.serialize_str(value),
            Self::List(items) => serializer.collect_seq(items),
            Self::Map(map) => {
                let mut out = serializer.serialize_map(Some(map.len()))?;
                for (name, value) in map.members() {
                    out.serialize_entry(name, value)?;
                }
                out.end()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_value_goes_to_json_as_it_came() {
        let arena = Arena::new();
        let json =
            json!({"b": [1, 1.0, "x", null, true], "a": {"nested": {}}, "big": 9_007_199_254_740_993_i64});
        let value = Value::from_json(&arena, &json).unwrap();
        assert_eq!(value.to_json(), json);
        assert_eq!(serde_json::to_value(value).unwrap(), json);
    }

    #[test]
    fn an_integer_beyond_64_bits_is_a_float() {
        let arena = Arena::new();
        let json = json!(u64::MAX);
        assert!(matches!(Value::from_json(&arena, &json).unwrap(), Value::Float(_)));
    }

    #[test]
    fn what_is_nested_too_deep_is_refused() {
        let arena = Arena::new();
        let nested = |levels| (0..levels).fold(json!(1), |inner, _| json!([inner]));
        assert!(Value::from_json(&arena, &nested(MAX_DEPTH)).is_ok());
        let error =
            Value::from_json(&arena, &nested(MAX_DEPTH + 1)).map(|value| value.to_json()).unwrap_err();
        assert!(error.to_string().contains("nested"), "{error}");
    }
}
