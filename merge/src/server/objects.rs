//! Small changes to objects: a new object that shares all but what changes with the old one.

use crate::{
    Arena,
    value::{Map, Value},
};

/// The value at a path of plain fields.
pub(super) fn get<'a, S: AsRef<str>>(value: Value<'a>, path: &[S]) -> Option<Value<'a>> {
    path.iter().try_fold(value, |value, name| value.get(name.as_ref()))
}

/// The object with a member set, or taken out where the value is `None`.
pub(super) fn with_member<'a>(
    arena: &'a Arena,
    map: Map<'a>,
    name: &'a str,
    value: Option<Value<'a>>,
) -> Map<'a> {
    let at = map.members().binary_search_by(|(own, _)| (*own).cmp(name));
    let mut members = arena.vec_with_capacity(map.len() + 1);
    match (at, value) {
        (Err(_), None) => return map,
        (Ok(at), value) => {
            members.extend_from_slice_copy(&map.members()[..at]);
            members.extend(value.map(|value| (name, value)));
            members.extend_from_slice_copy(&map.members()[at + 1..]);
        }
        (Err(at), Some(value)) => {
            members.extend_from_slice_copy(&map.members()[..at]);
            members.push((name, value));
            members.extend_from_slice_copy(&map.members()[at..]);
        }
    }
    Map::of_sorted(members.into_bump_slice())
}

/// The object with the value at a path set, or taken out where it is `None`. Parents that are missing are made for a
/// value to set; where a parent is something else than a map nothing changes.
pub(super) fn with<'a, S: AsRef<str>>(
    arena: &'a Arena,
    object: Value<'a>,
    path: &'a [S],
    value: Option<Value<'a>>,
) -> Value<'a> {
    let (Value::Map(map), Some((name, rest))) = (object, path.split_first()) else { return object };
    let name = name.as_ref();
    let value = match (rest, value, map.get(name)) {
        ([], value, _) => value,
        (_, None, None) => return object,
        (_, value, Some(child)) => Some(with(arena, child, rest, value)),
        (_, value, None) => Some(with(arena, Value::Map(Map::default()), rest, value)),
    };
    Value::Map(with_member(arena, map, name, value))
}

/// The zero value of a Go type with the null that servers before 1.34 have for a time that nobody set.
pub(super) fn with_null_times<'a>(arena: &'a Arena, zero: Value<'a>) -> Value<'a> {
    let Value::Map(map) = zero else { return zero };
    let mut members = arena.vec_with_capacity(map.len());
    members.extend(map.members().iter().map(|(name, value)| match (*name, value) {
        ("metadata", Value::Map(metadata)) if metadata.is_empty() => {
            (*name, with(arena, *value, &["creationTimestamp"], Some(Value::Null)))
        }
        _ => (*name, with_null_times(arena, *value)),
    }));
    Value::Map(Map::of_sorted(members.into_bump_slice()))
}

/// The object without its `managedFields`.
pub(super) fn without_managed_fields<'a>(arena: &'a Arena, object: Value<'a>) -> Value<'a> {
    if super::entries::managed_fields_of(&object).is_none() {
        return object;
    }
    with(arena, object, &["metadata", "managedFields"], None)
}
