//! Timestamps, quantities and bytes.

use base64::{Engine, prelude::BASE64_STANDARD};
use baton_merge::{
    quantity::{self, Precision},
    value::Value,
};
use jiff::{Timestamp, tz::Offset};

use super::{Scalar, Shape};

/// Whether a value has the shape as it is.
pub(super) fn fits(shape: &Shape, value: Value<'_>) -> bool {
    match (shape, value) {
        (Shape::Any(_), _) | (Shape::IntOrString, Value::String(_)) => true,
        (Shape::Scalar(scalar, _), value) => match (scalar, value) {
            (Scalar::Bool, Value::Bool(_))
            | (Scalar::Text, Value::String(_))
            | (Scalar::Int64, Value::Int(_))
            | (Scalar::Float, Value::Int(_) | Value::Float(_)) => true,
            (Scalar::Int32, Value::Int(number)) => i32::try_from(number).is_ok(),
            _ => false,
        },
        (Shape::IntOrString, Value::Int(number)) => i32::try_from(number).is_ok(),
        _ => false,
    }
}

/// A timestamp as the server writes it: in UTC, to the second or the microsecond.
pub(super) fn time(text: &str, is_micro: bool) -> Result<String, String> {
    let layout = if is_micro { "2006-01-02T15:04:05.000000Z07:00" } else { "2006-01-02T15:04:05Z07:00" };
    match unread_part(text, is_micro) {
        Some((rest, "")) => return Err(format!("parsing time {text:?}: extra text: {rest:?}")),
        Some((rest, part)) => {
            return Err(format!("parsing time {text:?} as {layout:?}: cannot parse {rest:?} as {part:?}"));
        }
        None => {}
    }
    let read = text.parse::<Timestamp>();
    let read = read.map_err(|_| format!("parsing time {text:?}: {} out of range", wrong_part(text)))?;
    Ok(if is_micro { micro_time(read) } else { second_time(read) })
}

/// Where a text leaves the layout of a timestamp: the rest of the text, and the expected part of the layout. As Go's
/// `time.Parse`.
fn unread_part(text: &str, is_micro: bool) -> Option<(&str, &'static str)> {
    const PARTS: [&str; 11] = ["2006", "-", "01", "-", "02", "T", "15", ":", "04", ":", "05"];
    const FRACTION: &str = ".000000";

    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let mut rest = text;
    for part in PARTS {
        let is_there = if part.len() == 1 { rest.starts_with(part) } else { digits(rest) >= part.len() };
        if !is_there {
            return Some((rest, part));
        }
        rest = &rest[part.len()..];
    }
    let fraction = rest.strip_prefix('.').map_or(0, digits);
    if is_micro && fraction < FRACTION.len() - 1 {
        return Some((rest, FRACTION));
    }
    rest = &rest[if is_micro { FRACTION.len() } else { fraction + usize::from(fraction > 0) }..];
    let zone = match rest.as_bytes() {
        [b'Z', ..] => 1,
        [b'+' | b'-', hour, hour2, b':', minute, minute2, ..]
            if [hour, hour2, minute, minute2].iter().all(|digit| digit.is_ascii_digit()) =>
        {
            6
        }
        _ => return Some((rest, "Z07:00")),
    };
    (rest.len() > zone).then(|| (&rest[zone..], ""))
}

/// The part of a timestamp that is out of range.
fn wrong_part(text: &str) -> &'static str {
    let number = |place: std::ops::Range<usize>| text[place].parse::<u32>().unwrap_or_default();
    match (number(5..7), number(11..13), number(14..16), number(17..19)) {
        (month, ..) if !(1..=12).contains(&month) => "month",
        (_, 24.., ..) => "hour",
        (_, _, 60.., _) => "minute",
        (.., 60..) => "second",
        _ => "day",
    }
}

/// Bytes as the server encodes them, or the message of Go's decoder.
pub(super) fn bytes(text: &str) -> Result<Option<String>, String> {
    let engine = &BASE64_STANDARD;
    if engine.decode(text).is_ok() {
        return Ok(None);
    }
    let without_breaks: String = text.chars().filter(|letter| !matches!(letter, '\r' | '\n')).collect();
    match engine.decode(&without_breaks) {
        Ok(bytes) => Ok(Some(engine.encode(bytes))),
        Err(_) => Err(format!("illegal base64 data at input byte {}", corrupt_byte(text.as_bytes()))),
    }
}

/// The offset in Go's message: an invalid byte, or the start of an incomplete group of four.
fn corrupt_byte(text: &[u8]) -> usize {
    let is_break = |byte: u8| matches!(byte, b'\r' | b'\n');
    let next = |from: usize| (from..text.len()).find(|place| !is_break(text[*place]));
    let mut place = 0;
    loop {
        let mut read = 0;
        while read < 4 {
            let Some(found) = next(place) else { return text.len().saturating_sub(read) };
            place = found + 1;
            match text[found] {
                b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'+' | b'/' => read += 1,
                b'=' if read == 2 => {
                    return match next(place) {
                        None => text.len(),
                        Some(second) if text[second] != b'=' => second,
                        Some(second) => next(second + 1).unwrap_or(second),
                    };
                }
                b'=' if read == 3 => return next(place).unwrap_or(found),
                _ => return found,
            }
        }
    }
}

/// A timestamp to the second.
pub(crate) fn second_time(time: Timestamp) -> String {
    format!("{:.0}", Offset::UTC.to_datetime(time).strftime("%Y-%m-%dT%H:%M:%SZ"))
}

/// A timestamp to the microsecond.
pub(crate) fn micro_time(time: Timestamp) -> String {
    Offset::UTC.to_datetime(time).strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string()
}

/// A quantity as the server writes it; none if invalid. Resource lists keep thousandths, others billionths.
pub(super) fn quantity(value: Value<'_>, in_resources: bool) -> Option<String> {
    let precision = if in_resources { Precision::Milli } else { Precision::Nano };
    match value {
        Value::String(text) => quantity::canonical(text, precision),
        other => quantity::canonical(&other.to_json().to_string(), precision),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_refused_with_the_message_of_go() {
        let refused = |text, is_micro| time(text, is_micro).unwrap_err();
        let micro = r#"as "2006-01-02T15:04:05.000000Z07:00": cannot parse"#;
        assert_eq!(
            refused("2026-01-02T03:04:05Z", true),
            format!(r#"parsing time "2026-01-02T03:04:05Z" {micro} "Z" as ".000000""#)
        );
        assert_eq!(
            refused("2026-01-02T03:04:05.1234567Z", true),
            format!(r#"parsing time "2026-01-02T03:04:05.1234567Z" {micro} "7Z" as "Z07:00""#)
        );
        assert_eq!(
            refused("2026-13-02T03:04:05Z", false),
            r#"parsing time "2026-13-02T03:04:05Z": month out of range"#
        );
        assert_eq!(
            refused("2026-01-02T03:04:05Z.", false),
            r#"parsing time "2026-01-02T03:04:05Z.": extra text: ".""#
        );
        assert_eq!(time("2026-01-02T05:04:05.7+02:00", false).unwrap(), "2026-01-02T03:04:05Z");
    }

    #[test]
    fn bytes_are_refused_where_go_gives_up() {
        assert_eq!(bytes("AQ==").unwrap(), None);
        assert_eq!(bytes("A\nQ==").unwrap().unwrap(), "AQ==");
        let at = |text| bytes(text).unwrap_err().rsplit(' ').next().unwrap().parse::<usize>().unwrap();
        assert_eq!([at("AA"), at("not base64"), at("AAA"), at("AA=A"), at("AA==A")], [0, 3, 0, 3, 4]);
    }
}
