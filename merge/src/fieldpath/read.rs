//! Reading FieldsV1.
//!
//! Accepts the same as `readIterV1` and `DeserializePathElement` of structured-merge-diff: elements of unknown kinds are
//! dropped, unordered members are sorted, duplicates are merged.

use std::fmt;

use serde::de::{self, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::de::StrRead;

use super::{FieldSet, KeyField, Node, PathElement, builder::position, plain, written};
use crate::{
    Arena, Release,
    arena::ArenaVec,
    release::Rules,
    value::{MAX_DEPTH, Map, NameSeed, Value, ValueSeed},
};

/// Text or JSON that isn't FieldsV1.
#[derive(Debug, thiserror::Error)]
#[error("not a field set (FieldsV1): {0}")]
pub struct FieldsV1Error(#[source] serde_json::Error);

impl<'a> FieldSet<'a> {
    /// Reads FieldsV1, as `managedFields` carries it.
    ///
    /// ```
    /// use baton_merge::{Arena, fieldpath::{FieldSet, Path}};
    ///
    /// let owned = serde_json::json!({"f:spec": {"f:replicas": {}}});
    /// let arena = Arena::new();
    /// let set = FieldSet::from_fields_v1(&arena, &owned)?;
    /// assert!(set.contains(&Path::of_fields(&arena, ["spec", "replicas"])));
    /// # Ok::<(), baton_merge::fieldpath::FieldsV1Error>(())
    /// ```
    ///
    /// # Errors
    /// When the API server couldn't read it either: a level isn't an object, or an element is invalid.
    pub fn from_fields_v1(arena: &'a Arena, fields: &'a serde_json::Value) -> Result<Self, FieldsV1Error> {
        read(arena, fields, Trailing::Ignored)
    }

    /// Reads FieldsV1 from a value, such as a part of an object.
    ///
    /// # Errors
    /// As [`from_fields_v1`](Self::from_fields_v1).
    pub fn from_value(arena: &'a Arena, fields: Value<'a>) -> Result<Self, FieldsV1Error> {
        Self::from_value_by(arena, fields, Trailing::Ignored)
    }

    /// As [`from_value`](Self::from_value), by the rules of a release.
    pub(crate) fn from_value_by(
        arena: &'a Arena,
        fields: Value<'a>,
        trailing: Trailing,
    ) -> Result<Self, FieldsV1Error> {
        let mut nodes = arena.vec_with_capacity(32);
        let members = match fields {
            Value::Null => return Ok(Self::default()),
            Value::Map(map) => map,
            _ => return Err(FieldsV1Error(de::Error::custom("expected an object of path elements"))),
        };
        read_level(arena, members, &mut nodes, MAX_DEPTH, trailing)
            .map_err(|error| FieldsV1Error(de::Error::custom(error)))?;
        Ok(Self::of_nodes(nodes.into_bump_slice()))
    }

    /// Reads the text of FieldsV1.
    ///
    /// # Errors
    /// As [`from_fields_v1`](Self::from_fields_v1), and when it isn't JSON.
    pub fn from_fields_v1_text(arena: &'a Arena, text: &'a str) -> Result<Self, FieldsV1Error> {
        Self::from_text_by(arena, text, Trailing::Ignored)
    }

    /// Reads the text of FieldsV1 as a release does: from 1.37 on nothing may follow the key or value in a name.
    ///
    /// # Errors
    /// As [`from_fields_v1_text`](Self::from_fields_v1_text).
    pub fn from_fields_v1_text_for_release(
        release: Release,
        arena: &'a Arena,
        text: &'a str,
    ) -> Result<Self, FieldsV1Error> {
        Self::from_text_by(arena, text, Trailing::by(release.rules()))
    }

    fn from_text_by(arena: &'a Arena, text: &'a str, trailing: Trailing) -> Result<Self, FieldsV1Error> {
        match written::read(arena, text) {
            Some(set) => Ok(set),
            None => read(arena, &mut serde_json::Deserializer::from_str(text), trailing),
        }
    }
}

fn read<'a, D>(arena: &'a Arena, deserializer: D, trailing: Trailing) -> Result<FieldSet<'a>, FieldsV1Error>
where
    D: Deserializer<'a, Error = serde_json::Error>,
{
    let mut nodes = arena.vec();
    let top = Level { arena, nodes: &mut nodes, depth: MAX_DEPTH, trailing };
    top.deserialize(deserializer).map_err(FieldsV1Error)?;
    Ok(FieldSet::of_nodes(nodes.into_bump_slice()))
}

/// Reads one level of a value, as [`Level`] reads one of a text; returns whether its element is a member.
fn read_level<'a>(
    arena: &'a Arena,
    members: Map<'a>,
    nodes: &mut ArenaVec<'a, Node<'a>>,
    depth: usize,
    trailing: Trailing,
) -> Result<bool, String> {
    let depth = depth.checked_sub(1).ok_or("nested too deep")?;
    let start = nodes.len();
    let mut is_member = false;
    // Names of fields are sorted as the fields are; other elements have their own order.
    let (mut others, mut sorted) = (0, true);
    for (name, below) in members.members() {
        if *name == "." {
            is_member = true;
            continue;
        }
        let Some(element) = parse(arena, name, trailing)? else { continue };
        if !matches!(element, PathElement::Field(_)) {
            others += 1;
            sorted &= others == 1;
        }
        let at = nodes.len();
        nodes.push(Node { element, below: 0, member: true });
        match below {
            Value::Null => {}
            Value::Map(map) if map.is_empty() => {}
            Value::Map(map) => {
                nodes[at].member = read_level(arena, *map, nodes, depth, trailing)?;
                nodes[at].below = position(nodes.len() - at - 1);
            }
            _ => return Err(format!("expected an object of path elements below {name:?}")),
        }
    }
    if !sorted {
        sort_level(arena, nodes, start);
    }
    Ok(is_member || nodes.len() == start)
}

/// Reads one level; returns whether its element is a member.
struct Level<'n, 'a> {
    arena: &'a Arena,
    nodes: &'n mut ArenaVec<'a, Node<'a>>,
    depth: usize,
    trailing: Trailing,
}

impl<'de: 'a, 'a> DeserializeSeed<'de> for Level<'_, 'a> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de: 'a, 'a> Visitor<'de> for Level<'_, 'a> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of path elements")
    }

    fn visit_unit<E>(self) -> Result<bool, E> {
        Ok(true)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<bool, A::Error> {
        let Self { arena, nodes, depth, trailing } = self;
        let depth = depth.checked_sub(1).ok_or_else(|| de::Error::custom("nested too deep"))?;
        let start = nodes.len();
        let mut last = None;
        let (mut sorted, mut is_member) = (true, false);
        while let Some(name) = members.next_key_seed(NameSeed(arena))? {
            if name == "." {
                is_member = true;
                members.next_value::<IgnoredAny>()?;
                continue;
            }
            let Some(element) = parse(arena, name, trailing).map_err(de::Error::custom)? else {
                members.next_value::<IgnoredAny>()?;
                continue;
            };
            sorted &= last.is_none_or(|last| last < element);
            last = Some(element);
            let at = nodes.len();
            nodes.push(Node { element, below: 0, member: false });
            let member = members.next_value_seed(Level { arena, nodes, depth, trailing })?;
            nodes[at].member = member;
            nodes[at].below = position(nodes.len() - at - 1);
        }
        if !sorted {
            sort_level(arena, nodes, start);
        }
        Ok(is_member || nodes.len() == start)
    }
}

/// Sorts the branches from `start` on and merges those of one element: it is a member if one of them is, and the last one
/// with children keeps them.
fn sort_level<'a>(arena: &'a Arena, nodes: &mut ArenaVec<'a, Node<'a>>, start: usize) {
    let unsorted = FieldSet::of_nodes(arena.slice(&nodes[start..]));
    let mut branches = arena.vec();
    branches.extend(unsorted.siblings());
    if branches.is_sorted_by(|(left, _), (right, _)| left.element < right.element) {
        return;
    }
    branches.sort_by(|(left, _), (right, _)| left.element.cmp(&right.element));
    nodes.truncate(start);
    for same in branches.chunk_by(|(left, _), (right, _)| left.element == right.element) {
        let Some((first, _)) = same.first() else { continue };
        let below =
            same.iter().rev().map(|(_, below)| *below).find(|below| !below.is_empty()).unwrap_or_default();
        let member = same.iter().any(|(node, _)| node.member);
        nodes.push(Node { element: first.element, below: position(below.nodes().len()), member });
        nodes.extend_from_slice_copy(below.nodes());
    }
}

/// Text after the first JSON value in the name of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trailing {
    /// Ignored, as by most releases.
    Ignored,
    /// An error.
    Refused,
}

impl Trailing {
    /// By the rules of a release.
    pub(crate) fn by(rules: Rules) -> Self {
        if rules.trailing_data_is_refused { Self::Refused } else { Self::Ignored }
    }

    fn check(self, reader: &mut serde_json::Deserializer<StrRead<'_>>) -> serde_json::Result<()> {
        if self == Self::Refused { reader.end() } else { Ok(()) }
    }
}

/// Reads the name of a member; `None` for an unknown kind of element.
fn parse<'a>(arena: &'a Arena, name: &'a str, trailing: Trailing) -> Result<Option<PathElement<'a>>, String> {
    let (kind, text) = match name.as_bytes() {
        [_] | [] => return Err(format!("{name:?} is too short for a path element")),
        [kind, b':', ..] => (kind, &name[2..]),
        _ => return Err(format!("{name:?} has no colon after its kind")),
    };
    let unreadable = |error: &dyn fmt::Display| format!("can't read the path element {name:?}: {error}");
    Ok(Some(match kind {
        b'f' => PathElement::Field(text),
        b'v' => {
            if let Some(value) = plain::value(text) {
                return Ok(Some(PathElement::Value(value)));
            }
            let mut reader = serde_json::Deserializer::from_str(text);
            let value = ValueSeed::new(arena).with_all_numbers_as_floats().deserialize(&mut reader);
            let value = value.map_err(|error| unreadable(&error))?;
            trailing.check(&mut reader).map_err(|error| unreadable(&error))?;
            PathElement::Value(value)
        }
        b'k' => {
            if let Some(key) = plain::key(arena, text) {
                return Ok(Some(PathElement::Key(key)));
            }
            let mut reader = serde_json::Deserializer::from_str(text);
            let key = KeySeed(arena).deserialize(&mut reader).map_err(|error| unreadable(&error))?;
            trailing.check(&mut reader).map_err(|error| unreadable(&error))?;
            PathElement::Key(key)
        }
        b'i' => PathElement::Index(text.parse().map_err(|error| unreadable(&error))?),
        _ => return Ok(None),
    }))
}

/// Reads the fields of a key.
struct KeySeed<'a>(&'a Arena);

impl<'de: 'a, 'a> DeserializeSeed<'de> for KeySeed<'a> {
    type Value = &'a [KeyField<'a>];

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de: 'a, 'a> Visitor<'de> for KeySeed<'a> {
    type Value = &'a [KeyField<'a>];

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of key fields")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(&[])
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        let mut fields = self.0.vec_with_capacity(2);
        while let Some(name) = members.next_key_seed(NameSeed(self.0))? {
            fields
                .push((name, members.next_value_seed(ValueSeed::new(self.0).with_all_numbers_as_floats())?));
        }
        fields.sort_by_key(|(name, _): &KeyField<'_>| *name);
        Ok(fields.into_bump_slice())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reread(text: &str) -> Result<String, String> {
        let arena = Arena::new();
        let set = FieldSet::from_fields_v1_text(&arena, text).map_err(|error| error.to_string())?;
        Ok(set.to_fields_v1_text())
    }

    #[test]
    fn what_a_server_writes_is_read_and_written_alike() {
        let text = concat!(
            r#"{"f:metadata":{"f:labels":{".":{},"f:a.b/c":{}}},"f:spec":{"f:at":{"i:2":{}},"f:ports":{"#,
            r#""k:{\"port\":80,\"protocol\":\"TCP\"}":{".":{},"f:port":{}},"k:{\"port\":443,\"protocol\":\"TCP\"}":{}},"#,
            r#""f:set":{"v:\"a\\\"b\"":{},"v:true":{}}}}"#,
        );
        assert_eq!(reread(text).unwrap(), text);
    }

    #[test]
    fn unknown_kinds_are_dropped_and_order_does_not_matter() {
        assert_eq!(
            reread(r#"{"v:2":{},"x:new":{"f:a":{}},"f:b":{},"f:a":{"x:new":{}}}"#).unwrap(),
            r#"{"f:a":{},"f:b":{},"v:2":{}}"#
        );
    }

    #[test]
    fn what_stands_twice_is_united() {
        let twice = r#"{"f:a":{"f:b":{}},"f:a":{},"f:a":{"f:c":{}},"v:1.0":{},"v:1":{}}"#;
        assert_eq!(reread(twice).unwrap(), r#"{"f:a":{".":{},"f:c":{}},"v:1":{}}"#);
    }

    #[test]
    fn what_a_server_cannot_read_is_an_error() {
        for text in [
            r#"{"f":{}}"#,
            r#"{"name":{}}"#,
            r#"{"f:a":1}"#,
            r#"{"v:{":{}}"#,
            r#"{"k:1":{}}"#,
            r#"{"i:x":{}}"#,
            "[]",
            "",
        ] {
            reread(text).unwrap_err();
        }
        assert_eq!(reread("null").unwrap(), "{}");
        assert_eq!(reread(r#"{"f:a":null}"#).unwrap(), r#"{"f:a":{}}"#);
    }
}
