//! JSON as YAML that readers of YAML 1.1 take for the same: what could be anything but a text is quoted.

use std::fmt::Write as _;

use serde_json::Value;

/// A value as a document.
pub(crate) fn document(value: &Value) -> String {
    let mut text = String::new();
    write(&mut text, value, 0);
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text.trim_start_matches('\n').to_owned()
}

/// Writes what stands after a key, or after the dash of an item.
fn write(text: &mut String, value: &Value, depth: usize) {
    match value {
        Value::Object(members) if !members.is_empty() => {
            for (position, (key, value)) in members.iter().enumerate() {
                // The first member stands beside the dash of its item.
                if position > 0 || !text.ends_with("- ") {
                    new_line(text, depth);
                }
                write_text(text, key);
                text.push(':');
                if is_nested(value) {
                    // The dashes of a list stand below its key.
                    write(text, value, depth + usize::from(value.is_object()));
                } else {
                    text.push(' ');
                    write(text, value, depth);
                }
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for (position, item) in items.iter().enumerate() {
                if position > 0 || !text.ends_with("- ") {
                    new_line(text, depth);
                }
                text.push_str("- ");
                write(text, item, depth + 1);
            }
        }
        Value::String(value) => write_text(text, value),
        other => {
            // Writing to a string can't fail.
            let _ = write!(text, "{other}");
        }
    }
}

fn is_nested(value: &Value) -> bool {
    value.as_object().is_some_and(|members| !members.is_empty())
        || value.as_array().is_some_and(|items| !items.is_empty())
}

fn new_line(text: &mut String, depth: usize) {
    text.push('\n');
    text.extend(std::iter::repeat_n("  ", depth));
}

fn write_text(text: &mut String, value: &str) {
    if is_plain(value) {
        text.push_str(value);
        return;
    }
    text.push('"');
    for letter in value.chars() {
        let _ = match letter {
            '"' | '\\' => write!(text, "\\{letter}"),
            '\n' => write!(text, "\\n"),
            letter if letter.is_control() || matches!(letter, '\u{2028}' | '\u{2029}' | '\u{feff}') => {
                write!(text, "\\u{:04x}", u32::from(letter))
            }
            letter => write!(text, "{letter}"),
        };
    }
    text.push('"');
}

/// Whether it is a text without quotes, too.
fn is_plain(value: &str) -> bool {
    const OTHERS: [&str; 10] = ["true", "false", "yes", "no", "on", "off", "y", "n", "null", "nan"];
    value.starts_with(|letter: char| letter.is_ascii_alphabetic())
        && value
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.' | '/'))
        && !OTHERS.iter().any(|other| value.eq_ignore_ascii_case(other))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_document_is_read_as_what_was_written() {
        let value = json!({
            "at": "2026-01-01T00:00:00Z", "no": "no", "yes": true, "number": "1", "float": 1.5, "none": null, "empty": "",
            "none of it": [], "nothing": {}, "text": "two\nlines: \"quoted\" \\ \u{7f} ü",
            "items": [1, "a", [2, [3]], {"name": "x", "deep": {"list": [{"a": {}, "b": [1]}]}}, []],
        });
        let text = document(&value);
        assert!(text.contains("at: \"2026-01-01T00:00:00Z\"\n"), "{text}");
        let read: Value = baton_merge::yaml::from_str(&text).unwrap();
        assert_eq!(read, value, "{text}");
        assert_eq!(document(&json!("x")), "x\n");
        assert_eq!(document(&json!([{"a": 1}])), "- a: 1\n");
    }
}
