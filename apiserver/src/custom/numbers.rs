//! Validation of numbers, with the messages of kube-openapi.

use baton_merge::value::Value;
use serde_json::Value as Json;

use super::schema::{Bound, Schema};
use super::validate::{Outcome, Validator};

/// Validates the range of the type, `multipleOf`, `maximum` and `minimum`.
pub(super) fn check(
    validator: Validator<'_>,
    schema: &Schema,
    format: &str,
    value: Value<'_>,
    path: &str,
    outcome: &mut Outcome,
) {
    let type_name = if schema.int_or_string { "" } else { schema.type_name.as_str() };
    let holds = |number: Value<'_>| fits(number, type_name, format);
    let mut check_range = |number: Value<'_>, what: &str| {
        if holds(number) {
            return;
        }
        let format =
            if format.is_empty() { "(default format)".to_owned() } else { format!("with format {format}") };
        let message = format!("{what} value must be of type {type_name} {format} in {path}");
        outcome.add(validator.plain(&message));
    };
    check_range(value, "Checked");
    if let Some(factor) = schema.multiple_of {
        check_range(Value::Float(factor), "MultipleOf");
    }
    if let Some(bound) = schema.maximum {
        check_range(Value::Float(bound.limit), "Maximum boundary");
    }
    if let Some(bound) = schema.minimum {
        check_range(Value::Float(bound.limit), "Minimum boundary");
    }
    if let Some(factor) = schema.multiple_of
        && !is_multiple(value, factor)
    {
        outcome.add(validator.invalid(path, value, &format!("should be a multiple of {factor}")));
    }
    for (bound, is_above, words) in [
        (schema.maximum, true, ["less than or equal to", "less than"]),
        (schema.minimum, false, ["greater than or equal to", "greater than"]),
    ] {
        let Some(bound) = bound.filter(|bound| is_outside(value, *bound, is_above)) else { continue };
        let word = words[usize::from(bound.exclusive)];
        outcome.add(validator.invalid(
            path,
            value,
            &format!("should be {word} {}", shown(value, bound.limit)),
        ));
    }
}

/// Whether a type can hold a number. Numbers with a fraction aren't integers.
fn fits(number: Value<'_>, type_name: &str, format: &str) -> bool {
    match (type_name, number) {
        ("integer", Value::Int(number)) => format != "int32" || i32::try_from(number).is_ok(),
        ("integer", Value::Float(number)) => {
            let limit = if format == "int32" { 2_f64.powi(31) } else { 2_f64.powi(63) };
            number.fract() == 0.0 && number >= -limit && number < limit
        }
        ("number", Value::Float(number)) => format != "float" || number.abs() <= f64::from(f32::MAX),
        _ => true,
    }
}

#[expect(clippy::cast_precision_loss, reason = "Go converts integers so, too")]
fn as_float(value: Value<'_>) -> f64 {
    match value {
        Value::Int(number) => number as f64,
        Value::Float(number) => number,
        _ => 0.0,
    }
}

#[expect(clippy::cast_possible_truncation, reason = "Go compares integers with the whole part of a bound")]
fn as_int(number: f64) -> i64 {
    number as i64
}

fn is_multiple(value: Value<'_>, factor: f64) -> bool {
    match value {
        Value::Int(number) => as_int(factor) > 0 && number % as_int(factor) == 0,
        _ if factor < 1.0 => is_nearly_integer(1.0 / factor * as_float(value)),
        _ => is_nearly_integer(as_float(value) / factor),
    }
}

/// Whether a number is an integer within the error of doubles, as `IsFloat64AJSONInteger` of go-openapi.
fn is_nearly_integer(number: f64) -> bool {
    const MOST: f64 = 9_007_199_254_740_991.0;
    let rounded = number.round();
    number.abs() <= MOST && (number - rounded).abs() <= 1e-9 * rounded.abs()
}

#[expect(clippy::float_cmp, reason = "the bound itself is meant")]
fn is_outside(value: Value<'_>, bound: Bound, is_above: bool) -> bool {
    let (is_over, is_equal) = match value {
        Value::Int(number) => {
            let limit = as_int(bound.limit);
            (if is_above { number > limit } else { number < limit }, number == limit)
        }
        _ => {
            let number = as_float(value);
            let limit = bound.limit;
            (if is_above { number > limit } else { number < limit }, number == limit)
        }
    };
    is_over || (bound.exclusive && is_equal)
}

fn shown(value: Value<'_>, limit: f64) -> String {
    match value {
        Value::Int(_) => as_int(limit).to_string(),
        _ => limit.to_string(),
    }
}

/// Whether a value equals this JSON.
pub(super) fn is_json(value: Value<'_>, json: &Json) -> bool {
    match (value, json) {
        (Value::Null, Json::Null) => true,
        (Value::Bool(left), Json::Bool(right)) => left == *right,
        (Value::String(left), Json::String(right)) => left == right,
        (Value::Int(left), Json::Number(right)) if right.is_i64() => Some(left) == right.as_i64(),
        (Value::Int(_) | Value::Float(_), Json::Number(right)) => right.as_f64() == Some(as_float(value)),
        (Value::List(left), Json::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| is_json(*left, right))
        }
        (Value::Map(left), Json::Object(right)) => {
            let is_same = |(name, value): &(&str, Value<'_>)| {
                right.get(*name).is_some_and(|right| is_json(*value, right))
            };
            left.len() == right.len() && left.members().iter().all(is_same)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_multiple_of_a_fraction_may_miss_it_by_a_rounding_error() {
        for (number, factor) in [(0.3, 0.1), (0.7, 0.1), (0.07, 0.01), (1.15, 0.05), (4.5, 1.5), (-0.3, 0.1)]
        {
            assert!(is_multiple(Value::Float(number), factor), "{number} of {factor}");
        }
        for (number, factor) in [(0.35, 0.1), (1e-12, 0.1), (5.0, 1.5), (1e300, 0.1)] {
            assert!(!is_multiple(Value::Float(number), factor), "{number} of {factor}");
        }
    }
}
