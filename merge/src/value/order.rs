//! Equality and order of values, as structured-merge-diff's `value.Equals` and `value.Compare` have them.

use std::cmp::Ordering;

use super::{Map, Member, Value};

/// Equality of values: numbers by what they are worth, maps without regard to the order of their members.
impl PartialEq for Value<'_> {
    fn eq(&self, other: &Self) -> bool {
        match (*self, *other) {
            (Self::Null, Self::Null) => true,
            (Self::Bool(left), Self::Bool(right)) => left == right,
            (Self::Int(left), Self::Int(right)) => left == right,
            (Self::Float(left), Self::Float(right)) => floats_equal(left, right),
            (Self::Float(float), Self::Int(int)) | (Self::Int(int), Self::Float(float)) => {
                floats_equal(float, as_float(int))
            }
            (Self::String(left), Self::String(right)) => left == right,
            (Self::List(left), Self::List(right)) => std::ptr::eq(left, right) || left == right,
            (Self::Map(left), Self::Map(right)) => left == right,
            _ => false,
        }
    }
}

impl PartialEq for Map<'_> {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0, other.0) || self.0 == other.0
    }
}

impl Value<'_> {
    /// The order of values in field sets: numbers, strings, booleans, lists, maps, null.
    pub fn compare(&self, other: &Self) -> Ordering {
        match (*self, *other) {
            (Self::Int(left), Self::Int(right)) => left.cmp(&right),
            (Self::Float(left), Self::Float(right)) => compare_floats(left, right),
            (Self::Float(left), Self::Int(right)) => compare_floats(left, as_float(right)),
            (Self::Int(left), Self::Float(right)) => compare_floats(as_float(left), right),
            (Self::String(left), Self::String(right)) => left.cmp(right),
            (Self::Bool(left), Self::Bool(right)) => left.cmp(&right),
            (Self::List(left), Self::List(right)) => compare_lists(left, right),
            (Self::Map(left), Self::Map(right)) => compare_maps(left.0, right.0),
            (left, right) => left.rank().cmp(&right.rank()),
        }
    }

    /// Whether a float is so large that it equals several integers.
    pub(crate) fn has_rounded_numbers(&self) -> bool {
        const EXACT: f64 = 9_007_199_254_740_992.0;
        match self {
            Self::Float(number) => number.abs() >= EXACT,
            Self::List(items) => items.iter().any(Self::has_rounded_numbers),
            Self::Map(map) => map.members().iter().any(|(_, value)| value.has_rounded_numbers()),
            _ => false,
        }
    }

    fn rank(self) -> u8 {
        match self {
            Self::Int(_) | Self::Float(_) => 0,
            Self::String(_) => 1,
            Self::Bool(_) => 2,
            Self::List(_) => 3,
            Self::Map(_) => 4,
            Self::Null => 5,
        }
    }
}

// The server compares an integer with a float as floats, digits beyond 2^53 lost; so do we.
#[expect(clippy::cast_precision_loss, reason = "the server loses the same digits")]
fn as_float(int: i64) -> f64 {
    int as f64
}

#[expect(clippy::float_cmp, reason = "equality of values is exact")]
fn floats_equal(left: f64, right: f64) -> bool {
    left == right
}

fn compare_floats(left: f64, right: f64) -> Ordering {
    // No JSON has a NaN; and `0.0` equals `-0.0` here, which a total order would distinguish.
    left.partial_cmp(&right).unwrap_or(Ordering::Equal)
}

fn compare_lists(left: &[Value<'_>], right: &[Value<'_>]) -> Ordering {
    left.iter()
        .zip(right)
        .map(|(left, right)| left.compare(right))
        .find(|order| order.is_ne())
        .unwrap_or_else(|| left.len().cmp(&right.len()))
}

/// Follows `MapCompareUsing`: the first name in order that only one side has makes that side the greater one, unless
/// the other side has already run out of as many members as names were compared.
fn compare_maps(left: &[Member<'_>], right: &[Member<'_>]) -> Ordering {
    for (seen, (_, left_value, right_value)) in Map::zip(Map(left), Map(right)).enumerate() {
        let order = match (left_value, right_value) {
            _ if seen == left.len() => Ordering::Less,
            _ if seen == right.len() => Ordering::Greater,
            (None, _) => Ordering::Greater,
            (_, None) => Ordering::Less,
            (Some(left), Some(right)) => left.compare(&right),
        };
        if order.is_ne() {
            return order;
        }
    }
    Ordering::Equal
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Arena;

    fn compare(left: &serde_json::Value, right: &serde_json::Value) -> Ordering {
        let arena = Arena::new();
        let of = |json| Value::from_json(&arena, json).unwrap();
        of(left).compare(&of(right))
    }

    #[test]
    fn an_integer_equals_the_float_of_the_same_value() {
        assert_eq!(Value::Int(1), Value::Float(1.0));
        assert_eq!(compare(&json!(1), &json!(1.0)), Ordering::Equal);
        assert_eq!(compare(&json!(2), &json!(1.5)), Ordering::Greater);
        assert_eq!(compare(&json!(0.0), &json!(-0.0)), Ordering::Equal);
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

    #[test]
    fn of_two_maps_that_share_a_beginning_the_one_with_the_earlier_name_is_less() {
        assert_eq!(compare(&json!({"a": 1, "c": 1}), &json!({"b": 1, "c": 1})), Ordering::Less);
        assert_eq!(compare(&json!({"b": 1}), &json!({"a": 1})), Ordering::Greater);
    }
}
