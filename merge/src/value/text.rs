//! Values as text, spelled as Go spells them.

use std::fmt::{self, Write};

use super::Value;

/// The one of Go's JSON writers that is followed where they differ: in backspaces, form feeds and small exponents.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// `encoding/json`: writes backspace and form feed as `\b` and `\f`.
    Standard,
    /// json-iterator, which writes the values in field sets: `\u0008` and `\u000c`.
    Iterator,
}

/// Writes a value as Go's `json` packages do: members sorted, `<`, `>` and `&` escaped.
pub(crate) fn go_json(out: &mut String, value: &Value<'_>, dialect: Dialect) {
    match *value {
        Value::Null => out.push_str("null"),
        Value::Bool(value) => out.push_str(if value { "true" } else { "false" }),
        Value::Int(value) => push(out, format_args!("{value}")),
        Value::Float(value) => write_json_float(out, value, dialect),
        Value::String(text) => write_html_safe_string(out, text, dialect),
        Value::List(items) => {
            out.push('[');
            for (position, item) in items.iter().enumerate() {
                if position > 0 {
                    out.push(',');
                }
                go_json(out, item, dialect);
            }
            out.push(']');
        }
        Value::Map(map) => {
            out.push('{');
            for (position, (name, value)) in map.members().iter().enumerate() {
                if position > 0 {
                    out.push(',');
                }
                write_html_safe_string(out, name, dialect);
                out.push(':');
                go_json(out, value, dialect);
            }
            out.push('}');
        }
    }
}

/// Writes a string as json-iterator does where HTML isn't escaped: the names in field sets.
pub(crate) fn write_plain_json_string(out: &mut String, text: &str) {
    out.push('"');
    escape_json(out, text);
    out.push('"');
}

/// Escapes a string as json-iterator does where HTML isn't escaped, without the quotes.
pub(crate) fn escape_json(out: &mut String, text: &str) {
    let mut rest = text;
    loop {
        let (plain, tail) = rest.split_at(plain_length(rest));
        out.push_str(plain);
        let Some(character) = tail.chars().next() else { return };
        escape_character(out, character, Dialect::Iterator);
        rest = &tail[character.len_utf8()..];
    }
}

/// Whether a text is written as it is.
#[inline]
pub(crate) fn is_plain(text: &str) -> bool {
    plain_length(text) == text.len()
}

/// The count of bytes before the first that a JSON string escapes: a quote, a backslash or a control character. Reads
/// eight bytes at a time.
#[inline]
pub(crate) fn plain_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let (words, rest) = bytes.as_chunks::<8>();
    for (position, word) in words.iter().enumerate() {
        if let Some(at) = first_escaped(*word) {
            return 8 * position + at;
        }
    }
    // The last eight may overlap some that were found plain.
    if let (Some(last), false) = (bytes.last_chunk::<8>(), rest.is_empty()) {
        return bytes.len() - 8 + first_escaped(*last).unwrap_or(8);
    }
    let is_plain = |byte: &&u8| **byte >= b' ' && **byte != b'"' && **byte != b'\\';
    8 * words.len() + rest.iter().take_while(is_plain).count()
}

/// The position of the first of eight bytes that a JSON string escapes.
#[inline]
fn first_escaped(bytes: [u8; 8]) -> Option<usize> {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    const HIGH: u64 = u64::from_le_bytes([0x80; 8]);
    let word = u64::from_le_bytes(bytes);
    // Sets the high bit of the first byte that is less, and perhaps of some after it: subtracting borrows from these.
    let less_than = |word: u64, limit: u8| word.wrapping_sub(ONES * u64::from(limit)) & !word & HIGH;
    let equal_to = |byte: u8| less_than(word ^ (ONES * u64::from(byte)), 1);
    let escaped = less_than(word, b' ') | equal_to(b'"') | equal_to(b'\\');
    (escaped != 0).then(|| escaped.trailing_zeros() as usize / 8)
}

/// Whether a text is written as it is where HTML is escaped. Beyond ASCII some is, so that counts as not plain.
pub(crate) fn is_plain_in_html(text: &str) -> bool {
    is_plain(text)
        && text
            .bytes()
            .fold(true, |plain, byte| plain & byte.is_ascii() & !matches!(byte, b'<' | b'>' | b'&'))
}

fn write_html_safe_string(out: &mut String, text: &str, dialect: Dialect) {
    let is_escaped =
        |character| matches!(character, '\0'..' ' | '"' | '\\' | '<' | '>' | '&' | '\u{2028}' | '\u{2029}');
    out.push('"');
    let mut rest = text;
    while let Some(at) = rest.find(is_escaped) {
        let (plain, tail) = rest.split_at(at);
        out.push_str(plain);
        let Some(character) = tail.chars().next() else { break };
        escape_character(out, character, dialect);
        rest = &tail[character.len_utf8()..];
    }
    out.push_str(rest);
    out.push('"');
}

fn escape_character(out: &mut String, character: char, dialect: Dialect) {
    match character {
        '"' => out.push_str("\\\""),
        '\\' => out.push_str("\\\\"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\u{8}' if dialect == Dialect::Standard => out.push_str("\\b"),
        '\u{c}' if dialect == Dialect::Standard => out.push_str("\\f"),
        other => push(out, format_args!("\\u{:04x}", u32::from(other))),
    }
}

fn write_json_float(out: &mut String, value: f64, dialect: Dialect) {
    /// Up to here a float represents every integer.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let size = value.abs();
    if size < EXACT && value.fract() == 0.0 && !(value == 0.0 && value.is_sign_negative()) {
        #[expect(clippy::cast_possible_truncation, reason = "it's an integer that fits")]
        return push(out, format_args!("{}", value as i64));
    }
    if size != 0.0 && !(1e-6..1e21).contains(&size) {
        // Of small numbers `encoding/json` writes `1e-7`, json-iterator `1e-07`.
        let digits = if dialect == Dialect::Iterator { 2 } else { 1 };
        out.push_str(&with_exponent_sign(&format!("{value:e}"), digits));
    } else {
        push(out, format_args!("{}", Digits(value)));
    }
}

/// A float without exponent, as Go writes it: the digits that distinguish it from all others, then zeros.
struct Digits(f64);

impl fmt::Display for Digits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(value) = *self;
        if value.abs() < 1e16 {
            return write!(f, "{value}");
        }
        // Rust writes all digits of such a number, also those that say nothing.
        let scientific = format!("{value:e}");
        let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
        let digits = mantissa.replace('.', "");
        let zeros =
            (exponent.parse::<usize>().unwrap_or(0) + 1).saturating_sub(digits.trim_start_matches('-').len());
        write!(f, "{digits}{}", "0".repeat(zeros))
    }
}

fn with_exponent_sign(text: &str, digits: usize) -> String {
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |exponent| ('-', exponent));
    format!("{mantissa}e{sign}{exponent:0>digits$}")
}

fn push(out: &mut String, text: fmt::Arguments<'_>) {
    // Writing to a string can't fail.
    let _ = out.write_fmt(text);
}

/// Prints the value as paths and conflict messages of the API server do: strings quoted, maps without braces.
///
/// Follows structured-merge-diff's `value.ToString`. Members of a map come sorted here; Go prints them in random order.
impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Null => f.write_str("null"),
            Self::Bool(value) => write!(f, "{value}"),
            Self::Int(value) => write!(f, "{value}"),
            Self::Float(value) => write_plain_float(f, value),
            Self::String(text) => write_quoted(f, text),
            Self::List(items) => {
                f.write_char('[')?;
                for (position, item) in items.iter().enumerate() {
                    let separator = if position == 0 { "" } else { "," };
                    write!(f, "{separator}{item}")?;
                }
                f.write_char(']')
            }
            Self::Map(map) => map.members().iter().try_for_each(|(name, value)| write!(f, "{name}={value}")),
        }
    }
}

/// Go's `%v` of a float: with an exponent below `1e-4` and from a million on.
fn write_plain_float(f: &mut fmt::Formatter<'_>, value: f64) -> fmt::Result {
    let size = value.abs();
    if size != 0.0 && !(1e-4..1e6).contains(&size) {
        f.write_str(&with_exponent_sign(&format!("{value:e}"), 2))
    } else {
        write!(f, "{value}")
    }
}

/// Go's `%q` of a string.
fn write_quoted(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    f.write_char('"')?;
    for character in text.chars() {
        match character {
            '"' => f.write_str("\\\"")?,
            '\\' => f.write_str("\\\\")?,
            '\u{7}' => f.write_str("\\a")?,
            '\u{8}' => f.write_str("\\b")?,
            '\u{c}' => f.write_str("\\f")?,
            '\n' => f.write_str("\\n")?,
            '\r' => f.write_str("\\r")?,
            '\t' => f.write_str("\\t")?,
            '\u{b}' => f.write_str("\\v")?,
            printable if is_printable(printable) => f.write_char(printable)?,
            control if u32::from(control) < 0x80 => write!(f, "\\x{:02x}", u32::from(control))?,
            other if u32::from(other) < 0x1_0000 => write!(f, "\\u{:04x}", u32::from(other))?,
            other => write!(f, "\\U{:08x}", u32::from(other))?,
        }
    }
    f.write_char('"')
}

/// Whether Go's `strconv.IsPrint` lets a character through: letters, marks, numbers, punctuation, symbols and the space.
fn is_printable(character: char) -> bool {
    if character.is_ascii() {
        return (' '..='~').contains(&character);
    }
    // The standard library's `escape_debug` draws the same line, except that it escapes a mark at the beginning of a
    // text; so a letter goes before it.
    let mut encoded = ['x', character].into_iter().collect::<String>();
    let length = encoded.len();
    encoded = encoded.escape_debug().to_string();
    encoded.len() == length
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Arena;

    #[test]
    fn the_first_byte_to_escape_is_found_at_any_position() {
        let plain = "äbcdefghijklmnopqrstuvw";
        assert_eq!(plain_length(plain), plain.len());
        for (at, _) in plain.char_indices() {
            for escaped in ['"', '\\', '\n', '\u{1f}', '\0'] {
                let text = format!("{}{escaped}{}\"", &plain[..at], &plain[at..]);
                assert_eq!(plain_length(&text), at, "{text:?}");
                assert_eq!(plain_length(&text[..=at]), at, "{text:?}");
            }
        }
    }

    fn written(json: &serde_json::Value, dialect: Dialect) -> String {
        let arena = Arena::new();
        let mut out = String::new();
        go_json(&mut out, &Value::from_json(&arena, json).unwrap(), dialect);
        out
    }

    #[test]
    fn json_is_escaped_for_html_and_sorted() {
        let json = json!({"b": "<a> & \"b\"\u{8}\u{2028}", "a": [1.0, 1e21, 1e-7, 0.5]});
        assert_eq!(
            written(&json, Dialect::Standard),
            r#"{"a":[1,1e+21,1e-7,0.5],"b":"\u003ca\u003e \u0026 \"b\"\b\u2028"}"#
        );
        assert!(written(&json, Dialect::Iterator).contains(r"\u0008"));
        assert!(written(&json, Dialect::Iterator).contains("1e-07"));
    }

    #[test]
    fn a_large_float_is_written_with_the_digits_that_count() {
        assert_eq!(
            written(&json!([-9_223_372_036_854_775_808.0, 1e16]), Dialect::Iterator),
            "[-9223372036854776000,10000000000000000]"
        );
    }

    #[test]
    fn values_print_as_in_conflict_messages() {
        let printed = |value: Value<'_>| value.to_string();
        assert_eq!(printed(Value::String("a\"b\u{301}\u{200b}\n")), "\"a\\\"b\u{301}\\u200b\\n\"");
        assert_eq!(printed(Value::Float(80.0)), "80");
        assert_eq!(printed(Value::Float(999_999.5)), "999999.5");
        assert_eq!(printed(Value::Float(1_234_567.0)), "1.234567e+06");
        assert_eq!(printed(Value::Float(0.000_01)), "1e-05");
        assert_eq!(printed(Value::List(&[Value::Int(1), Value::Null])), "[1,null]");
    }
}
