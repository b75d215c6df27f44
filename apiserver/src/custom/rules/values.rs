//! Values as rules see them: only the parts that the schema describes, with escaped names.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use baton_merge::value::{Map, Value};
use kube_cel::cel::objects::{Key, Opaque};
use kube_cel::cel::{self, ExecutionError};
use serde_json::json;

use super::super::formats;
use super::super::schema::Schema;
use super::unordered::Unordered;

/// The schema of the fields that rules see of every object.
static OBJECT: LazyLock<Schema> = LazyLock::new(|| {
    let text = json!({"type": "string"});
    let metadata = json!({"type": "object", "properties": {"name": text, "generateName": text}});
    Schema::read(&json!({"type": "object", "properties": {
        "apiVersion": text, "kind": text, "metadata": metadata,
    }}))
});

/// Reserved words of CEL.
#[rustfmt::skip]
const RESERVED: [&str; 21] = [
    "true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if",
    "import", "let", "loop", "package", "namespace", "return", "var", "void", "while",
];

/// The escaped name of a field; none if it can't be escaped.
pub(in super::super) fn escape(name: &str) -> Option<String> {
    if name.is_empty() || name.starts_with(|first: char| first.is_ascii_digit()) {
        return None;
    }
    if RESERVED.contains(&name) {
        return Some(format!("__{name}__"));
    }
    let is_plain = |each: char| each.is_ascii_alphanumeric() || matches!(each, '_' | '.' | '-' | '/');
    name.chars().all(is_plain).then(|| {
        let name = name.replace("__", "__underscores__");
        name.replace('.', "__dot__").replace('-', "__dash__").replace('/', "__slash__")
    })
}

/// A value that a rule can't read, and the reason.
#[derive(Debug, PartialEq, Eq)]
struct Unreadable(String);

impl Opaque for Unreadable {
    fn runtime_type_name(&self) -> &'static str {
        "error"
    }
}

/// The value, unless it can't be read.
pub(super) fn known(value: cel::Value) -> Result<cel::Value, ExecutionError> {
    match &value {
        cel::Value::Opaque(opaque) => match opaque.downcast_ref::<Unreadable>() {
            Some(Unreadable(why)) => Err(ExecutionError::function_error("", why)),
            None => Ok(value),
        },
        _ => Ok(value),
    }
}

/// Converts a value for rules.
pub(super) fn to_cel(schema: &Schema, is_object: bool, value: Value<'_>) -> cel::Value {
    if schema.int_or_string {
        return plain(value);
    }
    match (value, schema.type_name.as_str()) {
        (Value::Map(map), _) => members(schema, is_object || schema.embedded, map),
        (Value::List(items), _) => {
            let item = |item: &Value<'_>| match &schema.items {
                Some(below) => to_cel(below, false, *item),
                None => plain(*item),
            };
            let items = items.iter().map(item).collect();
            match schema.list_type.as_deref() {
                Some("set") => Unordered::set(items),
                Some("map") => {
                    let keys = schema.list_map_keys.iter();
                    Unordered::map(
                        items,
                        keys.map(|key| escape(key).unwrap_or_else(|| key.clone())).collect(),
                    )
                }
                _ => cel::Value::List(Arc::new(items)),
            }
        }
        (Value::Float(_), "integer") => {
            cel::Value::Opaque(Arc::new(Unreadable("invalid data, expected int, got float64".to_owned())))
        }
        (Value::String(text), "string") => text_to_cel(text, &schema.format),
        #[expect(clippy::cast_precision_loss, reason = "numbers are doubles in CEL, as upstream has it")]
        (Value::Int(number), "number") => cel::Value::Float(number as f64),
        _ => plain(value),
    }
}

fn members(schema: &Schema, is_object: bool, map: Map<'_>) -> cel::Value {
    let is_map = !is_object && schema.properties.is_empty();
    let member = |(name, value): &(&str, Value<'_>)| {
        if is_map {
            let value = schema.values().map_or_else(|| plain(*value), |below| to_cel(below, false, *value));
            return Some((key(name), value));
        }
        // A null field is absent to a rule.
        if value.is_null() {
            return None;
        }
        let own = schema.properties.get(*name);
        let (below, is_metadata) = match OBJECT.properties.get(*name).filter(|_| is_object) {
            Some(known) => (known, *name == "metadata"),
            None => (own?, false),
        };
        let value = match (is_metadata, *value) {
            (true, Value::Map(map)) => members(below, false, map),
            _ => to_cel(below, false, *value),
        };
        Some((key(&escape(name)?), value))
    };
    to_map(map.members().iter().filter_map(member))
}

fn to_map(members: impl Iterator<Item = (Key, cel::Value)>) -> cel::Value {
    let map: HashMap<_, _> = members.collect();
    cel::Value::Map(cel::objects::Map { map: Arc::new(map) })
}

fn key(name: &str) -> Key {
    Key::String(Arc::new(name.to_owned()))
}

/// A value without a schema.
fn plain(value: Value<'_>) -> cel::Value {
    match value {
        Value::Null => cel::Value::Null,
        Value::Bool(value) => cel::Value::Bool(value),
        Value::Int(value) => cel::Value::Int(value),
        Value::Float(value) => cel::Value::Float(value),
        Value::String(text) => cel::Value::String(Arc::new(text.to_owned())),
        Value::List(items) => cel::Value::List(Arc::new(items.iter().map(|item| plain(*item)).collect())),
        Value::Map(map) => to_map(map.members().iter().map(|(name, value)| (key(name), plain(*value)))),
    }
}

fn text_to_cel(text: &str, format: &str) -> cel::Value {
    let read = match format {
        "duration" => {
            formats::parse_duration(text).and_then(|nanoseconds| cel(&format!("duration('{nanoseconds}ns')")))
        }
        "date" => cel(&format!("timestamp('{}T00:00:00Z')", text.replace('\'', ""))),
        "date-time" => cel(&format!("timestamp('{}')", text.replace(['\'', '\\'], "").to_uppercase())),
        "byte" => STANDARD.decode(text).ok().map(|bytes| cel::Value::Bytes(Arc::new(bytes))),
        _ => None,
    };
    read.unwrap_or_else(|| cel::Value::String(Arc::new(text.to_owned())))
}

/// The value of an expression without variables, the only way to make a timestamp without another crate.
fn cel(source: &str) -> Option<cel::Value> {
    cel::Program::compile(source).ok()?.execute(&cel::Context::default()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped_as_upstream_escapes_them() {
        for (name, escaped) in [
            ("namespace", Some("__namespace__")),
            ("a_b", Some("a_b")),
            ("a__b", Some("a__underscores__b")),
            ("a.b-c/d", Some("a__dot__b__dash__c__slash__d")),
            ("ä", None),
            ("1a", None),
        ] {
            assert_eq!(escape(name).as_deref(), escaped);
        }
    }
}
