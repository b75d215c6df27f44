//! The order and equality that the API server's merge gives to JSON values.
//!
//! Follows `value.Compare` of structured-merge-diff: numbers before strings before booleans before lists before maps
//! before null, and `1` equal to `1.0`. It refuses to know schemas.

use std::cmp::Ordering;

use serde_json::{Map, Value};

/// Compares two values the way the API server orders the keys and items of field sets.
pub fn compare(left: &Value, right: &Value) -> Ordering {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => compare_numbers(left, right),
        (Value::String(left), Value::String(right)) => left.cmp(right),
        (Value::Bool(left), Value::Bool(right)) => left.cmp(right),
        (Value::Array(left), Value::Array(right)) => compare_lists(left, right),
        (Value::Object(left), Value::Object(right)) => compare_maps(left, right),
        _ => rank(left).cmp(&rank(right)),
    }
}

fn rank(value: &Value) -> u8 {
    match value {
        Value::Number(_) => 0,
        Value::String(_) => 1,
        Value::Bool(_) => 2,
        Value::Array(_) => 3,
        Value::Object(_) => 4,
        Value::Null => 5,
    }
}

fn compare_numbers(left: &serde_json::Number, right: &serde_json::Number) -> Ordering {
    match (left.as_i64(), right.as_i64()) {
        (Some(left), Some(right)) => left.cmp(&right),
        _ => {
            let (left, right) = (left.as_f64().unwrap_or(f64::NAN), right.as_f64().unwrap_or(f64::NAN));
            left.total_cmp(&right)
        }
    }
}

fn compare_lists(left: &[Value], right: &[Value]) -> Ordering {
    left.iter()
        .zip(right)
        .map(|(left, right)| compare(left, right))
        .find(|order| order.is_ne())
        .unwrap_or_else(|| left.len().cmp(&right.len()))
}

fn compare_maps(left: &Map<String, Value>, right: &Map<String, Value>) -> Ordering {
    let (left, right) = (sorted(left), sorted(right));
    left.iter()
        .zip(&right)
        .map(|((left_key, left), (right_key, right))| {
            left_key.cmp(right_key).then_with(|| compare(left, right))
        })
        .find(|order| order.is_ne())
        .unwrap_or_else(|| left.len().cmp(&right.len()))
}

fn sorted(map: &Map<String, Value>) -> Vec<(&String, &Value)> {
    let mut members: Vec<_> = map.iter().collect();
    members.sort_by_key(|(key, _)| *key);
    members
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_integer_equals_the_float_of_the_same_value() {
        assert_eq!(compare(&json!(1), &json!(1.0)), Ordering::Equal);
        assert_eq!(compare(&json!(2), &json!(1.5)), Ordering::Greater);
    }

    #[test]
    fn kinds_are_ordered_numbers_strings_booleans_lists_maps_null() {
        let ordered = [json!(80), json!("80"), json!(true), json!([1]), json!({"a": 1}), json!(null)];
        for pair in ordered.windows(2) {
            assert_eq!(compare(&pair[0], &pair[1]), Ordering::Less, "{} before {}", pair[0], pair[1]);
        }
    }

    #[test]
    fn a_prefix_comes_before_what_it_begins() {
        assert_eq!(compare(&json!([1]), &json!([1, 2])), Ordering::Less);
        assert_eq!(compare(&json!({"a": 1}), &json!({"a": 1, "b": 2})), Ordering::Less);
    }
}
