//! Prints JSON as YAML, for people and for any reader: of 1.1, as in Kubernetes, and of 1.2.

use std::{
    borrow::Cow,
    fmt::{self, Write as _},
};

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, MapAccess, SeqAccess, Visitor},
};
use serde_json::Number;

use super::scalar::{Scalar, resolve};

/// The YAML of JSON, with the members in their order.
pub(super) fn print(json: &str) -> Result<String, serde_json::Error> {
    let mut yaml = String::new();
    let value = Position { after: After::Nothing, depth: 0, yaml: &mut yaml };
    value.deserialize(&mut serde_json::Deserializer::from_str(json))?;
    yaml.push('\n');
    Ok(yaml)
}

/// The text before a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum After {
    Nothing,
    /// The colon of a key.
    Key,
    /// The dash of an item, and a blank.
    Dash,
}

/// The position of a value.
struct Position<'y> {
    after: After,
    /// The indentation of a map's keys. The dashes of a list below a key are a level less deep.
    depth: usize,
    yaml: &'y mut String,
}

impl Position<'_> {
    /// Writes a value in the current line.
    fn scalar(self, text: &str) {
        if self.after == After::Key {
            self.yaml.push(' ');
        }
        self.yaml.push_str(text);
    }

    /// Begins the line of a member or an item. The first one is in the line of its dash.
    fn line(&mut self, depth: usize, is_first: bool) {
        if !is_first || self.after == After::Key {
            new_line(self.yaml, depth);
        }
    }
}

fn new_line(yaml: &mut String, depth: usize) {
    yaml.push('\n');
    yaml.extend(std::iter::repeat_n("  ", depth));
}

impl<'de> DeserializeSeed<'de> for Position<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

/// The name of a member, not copied unless it has escapes.
#[derive(Deserialize)]
struct Name<'n>(#[serde(borrow)] Cow<'n, str>);

impl<'de> Visitor<'de> for Position<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        self.scalar("null");
        Ok(())
    }

    fn visit_bool<E>(self, value: bool) -> Result<(), E> {
        self.scalar(if value { "true" } else { "false" });
        Ok(())
    }

    fn visit_i64<E>(self, value: i64) -> Result<(), E> {
        self.scalar(&value.to_string());
        Ok(())
    }

    fn visit_u64<E>(self, value: u64) -> Result<(), E> {
        self.scalar(&value.to_string());
        Ok(())
    }

    fn visit_f64<E>(self, value: f64) -> Result<(), E> {
        // JSON has finite numbers only.
        self.scalar(&Number::from_f64(value).map_or_else(|| "null".to_owned(), |number| number.to_string()));
        Ok(())
    }

    fn visit_str<E>(self, value: &str) -> Result<(), E> {
        if is_block(value) {
            let depth = self.depth.max(1);
            let (lines, header) = match value.strip_suffix('\n') {
                None => (value, "|-"),
                Some(lines) if lines.ends_with('\n') => (lines, "|+"),
                Some(lines) => (lines, "|"),
            };
            let yaml = &mut *self.yaml;
            Position { yaml, ..self }.scalar(header);
            for line in lines.split('\n') {
                new_line(yaml, if line.is_empty() { 0 } else { depth });
                yaml.push_str(line);
            }
        } else {
            self.scalar(&inline(value));
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<(), A::Error> {
        let depth = self.depth - usize::from(self.after == After::Key);
        let mut is_first = true;
        loop {
            let end = self.yaml.len();
            self.line(depth, is_first);
            self.yaml.push_str("- ");
            let item = Position { after: After::Dash, depth: depth + 1, yaml: &mut *self.yaml };
            if items.next_element_seed(item)?.is_none() {
                self.yaml.truncate(end);
                break;
            }
            is_first = false;
        }
        if is_first {
            self.scalar("[]");
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut members: A) -> Result<(), A::Error> {
        /// The longest key in one line with its colon has 1,024 characters.
        const LONGEST_KEY: usize = 1_000;
        let mut is_first = true;
        while let Some(Name(name)) = members.next_key()? {
            self.line(self.depth, is_first);
            is_first = false;
            let key = inline(&name);
            if key.len() > LONGEST_KEY {
                self.yaml.push_str("? ");
                self.yaml.push_str(&key);
                new_line(self.yaml, self.depth);
            } else {
                self.yaml.push_str(&key);
            }
            self.yaml.push(':');
            let depth = self.depth + 1;
            members.next_value_seed(Position { after: After::Key, depth, yaml: &mut *self.yaml })?;
        }
        if is_first {
            self.scalar("{}");
        }
        Ok(())
    }
}

/// A text in one line, quoted if it could be read as anything else.
fn inline(text: &str) -> Cow<'_, str> {
    if is_plain(text) {
        return Cow::Borrowed(text);
    }
    // Easier to read than escapes.
    if text.contains('"') && !text.contains('\'') && text.chars().all(is_printable) {
        return Cow::Owned(format!("'{text}'"));
    }
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            letter if is_printable(letter) => quoted.push(letter),
            // Writing to a string can't fail.
            letter => drop(write!(quoted, "\\u{:04x}", u32::from(letter))),
        }
    }
    quoted.push('"');
    Cow::Owned(quoted)
}

/// Whether a text without quotes is read as this text.
fn is_plain(text: &str) -> bool {
    let begins = |letter: char| letter.is_alphanumeric() || "/._$(+".contains(letter);
    text.starts_with(begins)
        && !text.starts_with("...")
        && !text.ends_with([' ', ':'])
        && !text.contains(": ")
        && !text.contains(" #")
        && text.chars().all(is_printable)
        && matches!(resolve(None, text, true), Ok(Scalar::Text(_)))
        && !is_number_elsewhere(text)
}

/// Whether other readers could take a text for a number or a time, as some do with `12:30`, `0o17` or `2026-01-02`.
fn is_number_elsewhere(text: &str) -> bool {
    text.starts_with(|letter: char| letter.is_ascii_digit() || "+.".contains(letter))
        && text.contains(|letter: char| letter.is_ascii_digit())
        && text.chars().all(|letter| letter.is_ascii_hexdigit() || "xXoO_.:+-TtZz ".contains(letter))
        && text.matches('.').count() < 2
}

/// Whether a text of several lines can be a block.
fn is_block(text: &str) -> bool {
    text.contains('\n')
        && !text.starts_with([' ', '\n'])
        && text.split('\n').all(|line| !line.ends_with(' ') && line.chars().all(is_printable))
}

/// Whether a character can be in YAML without an escape. Line breaks of Unicode and the byte order mark can't.
fn is_printable(letter: char) -> bool {
    !letter.is_control() && !matches!(letter, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use crate::yaml;

    #[test]
    fn people_can_read_it() {
        let value = json!({
            "a JSON": "\"1\"", "address": "10.0.0.1", "at": "2026-01-01T00:00:00Z", "country": "no", "cpu": "100m", "empty": "", "float": 1.5,
            "f:data": {".": {}}, "image": "app:1.0", "items": [1, "a", [2, [3]], {"deep": {"list": [{"a": {}, "b": [1]}]}, "name": "x"}, []],
            "message": "It's there, in part.", "mode": "0644", "none": null, "script": "if x; then\n  y # no\nfi\n", "yes": true,
        });
        let expected = r#"
a JSON: '"1"'
address: 10.0.0.1
at: "2026-01-01T00:00:00Z"
country: "no"
cpu: 100m
empty: ""
f:data:
  .: {}
float: 1.5
image: app:1.0
items:
- 1
- a
- - 2
  - - 3
- deep:
    list:
    - a: {}
      b:
      - 1
  name: x
- []
message: It's there, in part.
mode: "0644"
none: null
script: |
  if x; then
    y # no
  fi
"yes": true
"#;
        assert_eq!(yaml::to_string(&value).unwrap(), expected.trim_start());
        assert_eq!(yaml::to_string(&"a\nb").unwrap(), "|-\n  a\n  b\n");
    }

    /// Texts with many special characters of YAML.
    fn text() -> impl Strategy<Value = String> {
        let word = prop_oneof![
            "[-?:,\\[\\]{}#&*!|>'\"%@`~<=. \n\ta0-9_+eExo]{0,8}",
            "(y|n|yes|No|on|OFF|null|~|0644|0o17|1_000|190:20|1e3|[.]inf|<<|2026-01-02|---|[.]{3})",
            "[a:\n ]{0,6}",
            "\\PC{0,4}",
            any::<String>(),
        ];
        prop_oneof![9 => word, 1 => "[a-z]{1000,1100}"]
    }

    fn json() -> impl Strategy<Value = Value> {
        let scalar = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            (-1e9..1e9).prop_map(|number: f64| json!(number.trunc() + 0.5)),
            text().prop_map(Value::from),
        ];
        scalar.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec((text(), inner), 0..4)
                    .prop_map(|members| members.into_iter().collect::<serde_json::Map<_, _>>().into()),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(value in json()) {
            let text = yaml::to_string(&value).unwrap();
            let read: Value = yaml::from_str(&text).map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?;
            prop_assert_eq!(numbers(&read), numbers(&value), "{}", text);
        }
    }

    /// Integral floats as integers, as in JSON.
    fn numbers(value: &Value) -> String {
        value.to_string().replace(".0", "")
    }
}
