//! Small changes to objects.

use crate::{
    Arena,
    value::{Map, Value},
};

/// The zero value of a Go type with a null for unset times, as before 1.34.
pub(super) fn with_null_times<'a>(arena: &'a Arena, zero: Value<'a>) -> Value<'a> {
    let Value::Map(map) = zero else { return zero };
    let mut members = arena.vec_with_capacity(map.len());
    members.extend(map.members().iter().map(|(name, value)| match (*name, value) {
        ("metadata", Value::Map(metadata)) if metadata.is_empty() => {
            (*name, value.with(arena, &["creationTimestamp"], Some(Value::Null)))
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
    object.with(arena, &["metadata", "managedFields"], None)
}
