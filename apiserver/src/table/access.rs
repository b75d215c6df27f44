//! Values in objects, where absent ones are the zero of their type.

use baton_merge::value::{Map, Value};

/// The value at a dotted path.
pub(super) fn at<'a>(object: Value<'a>, path: &str) -> Option<Value<'a>> {
    let found = path.split('.').try_fold(object, |value, name| value.get(name));
    found.filter(|value| !value.is_null())
}

/// The string at a dotted path, or an empty one.
pub(super) fn text<'a>(object: Value<'a>, path: &str) -> &'a str {
    at(object, path).and_then(|value| value.as_str()).unwrap_or_default()
}

/// The string at a dotted path, or another one if it is empty.
pub(super) fn text_or<'a>(object: Value<'a>, path: &str, other: &'a str) -> &'a str {
    match text(object, path) {
        "" => other,
        text => text,
    }
}

/// The integer at a dotted path, or zero.
pub(super) fn int(object: Value<'_>, path: &str) -> i64 {
    match at(object, path) {
        Some(Value::Int(number)) => number,
        _ => 0,
    }
}

/// Whether the value at a dotted path is `true`.
pub(super) fn is_true(object: Value<'_>, path: &str) -> bool {
    matches!(at(object, path), Some(Value::Bool(true)))
}

/// The items at a dotted path.
pub(super) fn list<'a>(object: Value<'a>, path: &str) -> &'a [Value<'a>] {
    at(object, path).and_then(|value| value.as_list()).unwrap_or_default()
}

/// The members at a dotted path.
pub(super) fn map<'a>(object: Value<'a>, path: &str) -> Map<'a> {
    at(object, path).and_then(|value| value.as_map()).unwrap_or_default()
}

/// A number or quantity as it is printed, or zero.
pub(super) fn quantity(value: Option<Value<'_>>) -> String {
    match value {
        None | Some(Value::Null) => "0".to_owned(),
        Some(Value::String(text)) => text.to_owned(),
        Some(other) => other.to_string(),
    }
}

/// The first condition of a type.
pub(super) fn condition<'a>(object: Value<'a>, kind: &str) -> Option<Value<'a>> {
    list(object, "status.conditions").iter().copied().find(|condition| text(*condition, "type") == kind)
}

/// Whether the first condition of a type is true.
pub(super) fn has_condition(object: Value<'_>, kind: &str) -> bool {
    condition(object, kind).is_some_and(|condition| text(condition, "status") == "True")
}

/// The first items of a list, and the count of the others.
pub(super) fn first_few(items: &[String], most: usize, separator: &str) -> String {
    match items.split_at_checked(most) {
        Some((first, more)) if !more.is_empty() => {
            format!("{} + {} more...", first.join(separator), more.len())
        }
        _ => items.join(separator),
    }
}
