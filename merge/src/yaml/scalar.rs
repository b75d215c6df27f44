//! The types of scalars in YAML 1.1, as in `go.yaml.in/yaml/v2` (`resolve.go`, `decode.go`).

use base64::{Engine as _, prelude::BASE64_STANDARD};

use super::Error;

/// The value of a scalar.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Scalar {
    Null,
    Bool(bool),
    /// Wide enough for both kinds of 64 bits, whose range it never leaves.
    Int(i128),
    Float(f64),
    Text(String),
}

const TAG: &str = "tag:yaml.org,2002:";

/// Resolves a scalar. Without a tag, `plain` text decides its type, and quoted text is a string.
pub(super) fn resolve(tag: Option<&str>, text: &str, plain: bool) -> Result<Scalar, Error> {
    let tag = tag.filter(|tag| !tag.is_empty());
    let Some(tag) = tag else {
        return Ok(if plain { of_plain(text, true).0 } else { Scalar::Text(text.to_owned()) });
    };
    let known = tag.strip_prefix(TAG);
    match known {
        Some("binary") => {
            let bytes = BASE64_STANDARD.decode(text.replace(['\n', '\r'], ""));
            let bytes = bytes.map_err(|_| Error::yaml("!!binary value contains invalid base64 data"))?;
            Ok(Scalar::Text(String::from_utf8_lossy(&bytes).into_owned()))
        }
        Some(wanted @ ("bool" | "int" | "float" | "null" | "timestamp")) => {
            let (value, found) = of_plain(text, wanted == "timestamp");
            match (value, found) {
                (value, found) if found == wanted => Ok(value),
                #[expect(clippy::cast_precision_loss, reason = "that is what a float is")]
                (Scalar::Int(number), _) if wanted == "float" => Ok(Scalar::Float(number as f64)),
                (_, found) => Err(Error::yaml(format!("cannot decode !!{found} `{text}` as a !!{wanted}"))),
            }
        }
        // `!!str`, or an unknown tag, which is ignored.
        _ => Ok(Scalar::Text(text.to_owned())),
    }
}

/// The value of plain text, with the name of its type.
fn of_plain(text: &str, or_timestamp: bool) -> (Scalar, &'static str) {
    if let Some(value) = of_word(text) {
        let name = match value {
            Scalar::Null => "null",
            Scalar::Bool(_) => "bool",
            _ => "float",
        };
        return (value, name);
    }
    let string = || (Scalar::Text(text.to_owned()), "str");
    match text.as_bytes().first() {
        Some(b'.') => float(text).map_or_else(string, |number| (Scalar::Float(number), "float")),
        Some(b'+' | b'-' | b'0'..=b'9') => {
            if or_timestamp && is_timestamp(text) {
                return (Scalar::Text(text.to_owned()), "timestamp");
            }
            let digits = text.replace('_', "");
            if let Some(number) = integer(&digits) {
                return (Scalar::Int(number), "int");
            }
            float(&digits).map_or_else(string, |number| (Scalar::Float(number), "float"))
        }
        _ => string(),
    }
}

fn of_word(text: &str) -> Option<Scalar> {
    Some(match text {
        "" | "~" | "null" | "Null" | "NULL" => Scalar::Null,
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            Scalar::Bool(true)
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            Scalar::Bool(false)
        }
        ".nan" | ".NaN" | ".NAN" => Scalar::Float(f64::NAN),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => Scalar::Float(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => Scalar::Float(f64::NEG_INFINITY),
        _ => return None,
    })
}

/// An integer as Go parses it with an open base: `0x` and `0b`, and `0` or `0o` for octal.
fn integer(text: &str) -> Option<i128> {
    let (sign, magnitude) = match text.as_bytes().first()? {
        b'-' => (-1, &text[1..]),
        b'+' => (1, &text[1..]),
        _ => (1, text),
    };
    let (radix, digits) = match magnitude.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, &magnitude[2..]),
        [b'0', b'b' | b'B', ..] => (2, &magnitude[2..]),
        [b'0', b'o' | b'O', ..] => (8, &magnitude[2..]),
        [b'0', _, ..] => (8, &magnitude[1..]),
        _ => (10, magnitude),
    };
    // A second sign isn't a digit.
    let is_number = digits.chars().all(|digit| digit.is_digit(radix));
    let number = sign * i128::from_str_radix(digits, radix).ok().filter(|_| is_number)?;
    // Go parses it as a signed number first, and then as an unsigned one, which has no sign.
    let is_in_range = i64::try_from(number).is_ok() || (magnitude == text && u64::try_from(number).is_ok());
    is_in_range.then_some(number)
}

/// A float: digits with a point or an exponent. One that is too large is a string.
fn float(text: &str) -> Option<f64> {
    let has_its_characters =
        text.bytes().all(|one| matches!(one, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-'));
    text.parse::<f64>().ok().filter(|number| has_its_characters && number.is_finite())
}

/// Whether a text begins like a date. It stays a string; only an integer of four digits looks different.
fn is_timestamp(text: &str) -> bool {
    let year = text.bytes().take_while(u8::is_ascii_digit).count();
    year == 4 && text[4..].starts_with('-')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str) -> Scalar {
        resolve(None, text, true).unwrap()
    }

    #[test]
    fn numbers_have_bases_and_underscores() {
        for (text, number) in [
            ("0644", 420),
            ("0o644", 420),
            ("0x1F", 31),
            ("0b11", 3),
            ("-0b11", -3),
            ("1_000", 1000),
            ("+7", 7),
            ("0", 0),
            ("18446744073709551615", i128::from(u64::MAX)),
        ] {
            assert_eq!(plain(text), Scalar::Int(number), "{text}");
        }
        for text in
            ["0x", "--1", "+-1", "0o9", "0x-1", "1e", ".", "+", "1.2.3", "1e999", "infinity", "2026-01-02"]
        {
            assert_eq!(plain(text), Scalar::Text(text.to_owned()));
        }
        assert_eq!(plain("08"), Scalar::Float(8.0), "no octal number has an eight");
        assert_eq!(plain("18446744073709551616"), Scalar::Float(18_446_744_073_709_551_616.0));
    }

    #[test]
    fn a_tag_says_what_a_text_must_be() {
        let tagged = |tag: &str, text: &str| resolve(Some(&format!("{TAG}{tag}")), text, false);
        assert_eq!(tagged("str", "1").unwrap(), Scalar::Text("1".to_owned()));
        assert_eq!(tagged("float", "1").unwrap(), Scalar::Float(1.0));
        assert_eq!(tagged("binary", "aGk=").unwrap(), Scalar::Text("hi".to_owned()));
        let error = tagged("int", "x").unwrap_err();
        assert_eq!(error.to_string(), "yaml: cannot decode !!str `x` as a !!int");
    }
}
