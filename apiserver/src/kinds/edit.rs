//! Small changes to values.

use baton_merge::{
    Arena,
    value::{Map, Value},
};

/// A value with a field set where nothing is there yet.
pub(super) fn fill<'a>(arena: &'a Arena, value: Value<'a>, path: &[&str], default: Value<'a>) -> Value<'a> {
    if value.at(path).is_some() { value } else { value.with(arena, path, Some(default)) }
}

/// A value with what is at a path changed, where there is something.
pub(super) fn change<'a>(
    arena: &'a Arena,
    value: Value<'a>,
    path: &[&str],
    change: impl FnOnce(Value<'a>) -> Value<'a>,
) -> Value<'a> {
    match value.at(path) {
        Some(found) => value.with(arena, path, Some(change(found))),
        None => value,
    }
}

/// A value with each item of the list at a path changed.
pub(super) fn change_each<'a>(
    arena: &'a Arena,
    value: Value<'a>,
    path: &[&str],
    change_item: impl Fn(Value<'a>) -> Value<'a>,
) -> Value<'a> {
    change(arena, value, path, |list| match list.as_list() {
        Some(items) => Value::List(arena.list(items.iter().map(|item| change_item(*item)))),
        None => list,
    })
}

/// A value with what is at a path taken from another one, also that there is nothing.
pub(super) fn keep<'a>(arena: &'a Arena, value: Value<'a>, path: &[&str], other: Value<'a>) -> Value<'a> {
    value.with(arena, path, other.at(path))
}

/// A map of these members.
pub(super) fn map<'a>(
    arena: &'a Arena,
    members: impl IntoIterator<Item = (&'a str, Value<'a>)>,
) -> Value<'a> {
    Value::Map(Map::new(arena, members))
}

/// A list of these items.
pub(super) fn list<'a>(arena: &'a Arena, items: impl IntoIterator<Item = Value<'a>>) -> Value<'a> {
    Value::List(arena.list(items))
}

/// The text at a path, empty where there is none.
pub(super) fn text<'a>(value: Value<'a>, path: &[&str]) -> &'a str {
    value.at(path).and_then(|value| value.as_str()).unwrap_or_default()
}

/// The items of the list at a path.
pub(super) fn items<'a>(value: Value<'a>, path: &[&str]) -> &'a [Value<'a>] {
    value.at(path).and_then(|value| value.as_list()).unwrap_or_default()
}

/// The members of the map at a path.
pub(super) fn members<'a>(value: Value<'a>, path: &[&str]) -> &'a [(&'a str, Value<'a>)] {
    value.at(path).and_then(|value| value.as_map()).unwrap_or_default().members()
}

/// Whether it is `true` at a path.
pub(super) fn flag(value: Value<'_>, path: &[&str]) -> bool {
    value.at(path) == Some(Value::Bool(true))
}
