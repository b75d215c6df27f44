//! Values from text, from JSON trees and from typed objects: all three are equal, in one order.

use std::cmp::Ordering;

use baton_merge::{Arena, value::Value};

/// Reads JSON in each way.
pub fn values(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let arena = Arena::new();
    let from_text = Value::from_text(&arena, text);
    let Ok(json) = serde_json::from_str::<serde_json::Value>(text) else {
        assert!(from_text.is_err(), "{text:?} is no JSON and was read");
        return;
    };
    let value = from_text.unwrap_or_else(|error| panic!("{text:?} is JSON and was refused: {error}"));
    let from_json = Value::from_json(&arena, &json).expect("JSON that was read from text isn't too deep");
    let from_typed = Value::from_typed(&arena, &json).expect("a JSON tree is JSON");
    assert_eq!(value, from_json, "text and tree differ");
    assert_eq!(value, from_typed, "text and typed object differ");
    if let (Value::Float(read), Ok(exact)) = (value, text.trim().parse::<f64>()) {
        assert_eq!(read.to_bits(), exact.to_bits(), "{text:?} is read as {read}");
    }

    let written = serde_json::to_string(&value).expect("a value is JSON");
    let again = Value::from_text(&arena, &written).expect("what was written is read");
    assert_eq!(value, again, "a value changes when it is written: {written}");
    assert_eq!(serde_json::to_string(&again).ok(), Some(written), "writing isn't stable");
    let tree = value.to_json();
    assert_eq!(Value::from_json(&arena, &tree), Ok(value), "a value changes when it becomes a tree");
    let _ = value.to_string();
    orders(value);
}

/// The order of all pairs of items agrees with equality and is antisymmetric.
fn orders(value: Value<'_>) {
    assert_eq!(value.compare(&value), Ordering::Equal, "a value isn't as large as itself: {value:?}");
    let mut items: Vec<Value<'_>> = value.as_list().unwrap_or_default().to_vec();
    items.extend(value.as_map().unwrap_or_default().members().iter().map(|(_, value)| *value));
    items.truncate(16);
    for left in &items {
        for right in &items {
            let order = left.compare(right);
            assert_eq!(order, right.compare(left).reverse(), "{left:?} and {right:?} have two orders");
            assert_eq!(order.is_eq(), left == right, "equality and order differ for {left:?} and {right:?}");
        }
        orders(*left);
    }
}
