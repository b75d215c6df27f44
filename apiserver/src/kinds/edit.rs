//! Small changes to values.

use baton_merge::{
    Arena,
    value::{Map, Value},
};

/// Sets a field, if it is absent.
pub(super) fn fill<'a>(arena: &'a Arena, value: Value<'a>, path: &[&str], default: Value<'a>) -> Value<'a> {
    if value.at(path).is_some() { value } else { value.with(arena, path, Some(default)) }
}

/// Changes the value at a path, if there is one.
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

/// Changes each item of the list at a path.
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

/// Sets the value at a path to that of another object, also if it is absent there.
pub(super) fn keep<'a>(arena: &'a Arena, value: Value<'a>, path: &[&str], other: Value<'a>) -> Value<'a> {
    value.with(arena, path, other.at(path))
}

pub(super) fn map<'a>(
    arena: &'a Arena,
    members: impl IntoIterator<Item = (&'a str, Value<'a>)>,
) -> Value<'a> {
    Value::Map(Map::new(arena, members))
}

pub(super) fn list<'a>(arena: &'a Arena, items: impl IntoIterator<Item = Value<'a>>) -> Value<'a> {
    Value::List(arena.list(items))
}

/// The string at a path, or an empty one.
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

/// Whether the value at a path is `true`.
pub(super) fn flag(value: Value<'_>, path: &[&str]) -> bool {
    value.at(path) == Some(Value::Bool(true))
}
