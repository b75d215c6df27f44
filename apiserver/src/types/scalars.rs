//! Values that are read and written by rules of their own: times, quantities, numbers.

use baton_merge::{
    quantity::{self, Precision},
    value::Value,
};
use jiff::{Timestamp, tz::Offset};

use super::{Scalar, Shape};

/// Whether a value is read as it is.
pub(super) fn fits(shape: &Shape, value: Value<'_>) -> bool {
    match (shape, value) {
        (Shape::Any(_), _) | (Shape::IntOrString | Shape::Bytes, Value::String(_)) => true,
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

/// A time as the server writes it: in UTC, to the second or the microsecond.
pub(super) fn time(text: &str, is_micro: bool) -> Result<String, String> {
    let layout = if is_micro { "2006-01-02T15:04:05.000000Z07:00" } else { "2006-01-02T15:04:05Z07:00" };
    let read = text
        .parse::<Timestamp>()
        .map_err(|_| format!("parsing time {text:?} as {layout:?}: cannot parse {text:?} as {:?}", "2006"))?;
    Ok(if is_micro { micro_time(read) } else { second_time(read) })
}

/// A time to the second.
pub(crate) fn second_time(time: Timestamp) -> String {
    format!("{:.0}", Offset::UTC.to_datetime(time).strftime("%Y-%m-%dT%H:%M:%SZ"))
}

/// A time to the microsecond.
pub(crate) fn micro_time(time: Timestamp) -> String {
    Offset::UTC.to_datetime(time).strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string()
}

/// A quantity as the server writes it; none where it can't be read. Lists of resources keep thousandths, others billionths.
pub(super) fn quantity(value: Value<'_>, in_resources: bool) -> Option<String> {
    let precision = if in_resources { Precision::Milli } else { Precision::Nano };
    match value {
        Value::String(text) => quantity::canonical(text, precision),
        other => quantity::canonical(&other.to_json().to_string(), precision),
    }
}
