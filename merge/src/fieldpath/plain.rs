//! Names of items that need no JSON parser: keys and values of plain strings, short integers and booleans.
//!
//! Nearly all names are such, and starting a parser for each of them was most of the cost of reading a set. Others are left
//! to the parser.

use super::KeyField;
use crate::{
    Arena,
    value::{Value, plain_length},
};

/// Reads a key after `k:`; `None` if it isn't plain.
pub(super) fn key<'a>(arena: &'a Arena, text: &'a str) -> Option<&'a [KeyField<'a>]> {
    let (fields, rest) = key_quoted_by("\"", arena, text)?;
    rest.is_empty().then_some(fields)
}

/// Reads a value after `v:`; `None` if it isn't plain.
pub(super) fn value(text: &str) -> Option<Value<'_>> {
    let (value, rest) = scalar("\"", text)?;
    rest.is_empty().then_some(value)
}

/// Reads a key with this spelling of quotes, and returns the text after it.
pub(super) fn key_quoted_by<'a>(
    quote: &str,
    arena: &'a Arena,
    text: &'a str,
) -> Option<(&'a [KeyField<'a>], &'a str)> {
    let mut fields = arena.vec_with_capacity(2);
    let mut rest = text.strip_prefix('{')?;
    loop {
        let (name, after) = string(quote, rest)?;
        let (value, after) = scalar(quote, after.strip_prefix(':')?)?;
        fields.push((name, value));
        match after.as_bytes().first()? {
            b',' => rest = &after[1..],
            b'}' => {
                rest = &after[1..];
                break;
            }
            _ => return None,
        }
    }
    let fields: &[KeyField<'_>] = fields.into_bump_slice();
    fields.is_sorted_by(|left, right| left.0 < right.0).then_some((fields, rest))
}

/// Reads a value with this spelling of quotes, and returns the text after it.
pub(super) fn scalar<'a>(quote: &str, text: &'a str) -> Option<(Value<'a>, &'a str)> {
    match text.as_bytes().first()? {
        b't' => text.strip_prefix("true").map(|rest| (Value::Bool(true), rest)),
        b'f' => text.strip_prefix("false").map(|rest| (Value::Bool(false), rest)),
        b'1'..=b'9' => number(text),
        _ => string(quote, text).map(|(text, rest)| (Value::String(text), rest)),
    }
}

fn string<'a>(quote: &str, text: &'a str) -> Option<(&'a str, &'a str)> {
    let text = text.strip_prefix(quote)?;
    let (string, rest) = text.split_at(plain_length(text));
    Some((string, rest.strip_prefix(quote)?))
}

/// A positive integer that a float holds exactly. All numbers in names of items are floats.
fn number(text: &str) -> Option<(Value<'_>, &str)> {
    const EXACT: usize = 9;
    let end = text.bytes().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    // A fraction or an exponent follows.
    if end > EXACT || rest.starts_with(['.', 'e', 'E']) {
        return None;
    }
    let number: u32 = digits.parse().ok()?;
    Some((Value::Float(number.into()), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_names_are_read() {
        let arena = Arena::new();
        let fields = key(&arena, r#"{"port":80,"protocol":"TCP","tls":true}"#).unwrap();
        let expected =
            [("port", Value::Float(80.0)), ("protocol", Value::String("TCP")), ("tls", Value::Bool(true))];
        assert_eq!(fields, expected);
        assert_eq!(value(r#""ä b""#), Some(Value::String("ä b")));
        assert_eq!(value("443"), Some(Value::Float(443.0)));
    }

    #[test]
    fn what_is_not_plain_is_left_to_the_parser() {
        let arena = Arena::new();
        for text in [
            r#"{"b":1,"a":1}"#,
            r#"{"a":1,"a":1}"#,
            r#"{"a":"\n"}"#,
            r#"{"a": 1}"#,
            "{}",
            r#"{"a":1}x"#,
            r#"{"a":1"#,
            "null",
        ] {
            assert!(key(&arena, text).is_none(), "{text}");
        }
        for text in
            ["1.0", "1e3", "-1", "0", "01", "12345678901", r#""a\"b""#, r#""a"#, "", "null", "1x", "[1]"]
        {
            assert!(value(text).is_none(), "{text}");
        }
    }
}
