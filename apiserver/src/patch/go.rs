//! JSON values and types as Go prints them in messages.

use std::fmt::Write;

use serde_json::Value;

/// Go's `%v` of a value: `map[a:1 b:[x <nil>]]`.
pub(crate) fn go_printed(value: &Value) -> String {
    let mut out = String::new();
    print(&mut out, value);
    out
}

fn print(out: &mut String, value: &Value) {
    // Writing to a string can't fail.
    let _ = match value {
        Value::Null => out.write_str("<nil>"),
        Value::Bool(value) => write!(out, "{value}"),
        Value::String(text) => out.write_str(text),
        Value::Number(number) => match number.as_f64() {
            Some(float) if number.is_f64() => write!(out, "{}", baton_merge::value::Value::Float(float)),
            _ => write!(out, "{number}"),
        },
        Value::Array(items) => {
            out.push('[');
            for (position, item) in items.iter().enumerate() {
                out.push_str(if position == 0 { "" } else { " " });
                print(out, item);
            }
            out.write_char(']')
        }
        Value::Object(members) => {
            let mut sorted: Vec<_> = members.iter().collect();
            sorted.sort_unstable_by_key(|(name, _)| *name);
            out.push_str("map[");
            for (position, (name, value)) in sorted.into_iter().enumerate() {
                out.push_str(if position == 0 { "" } else { " " });
                out.push_str(name);
                out.push(':');
                print(out, value);
            }
            out.write_char(']')
        }
    };
}

/// The Go type of a decoded value.
pub(super) fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "%!s(<nil>)",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}
