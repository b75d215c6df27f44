//! Values from the grammar.

use baton_testbed::Random;
use serde_json::{Map, Value, json};

use super::grammar::{Field, Grammar, List, Shape, Struct};

/// How many items are tried for one with a new key.
const ATTEMPTS: usize = 8;

/// A value of this shape.
pub(super) fn value(grammar: &Grammar, shape: &Shape, random: &mut Random) -> Value {
    match grammar.resolved(shape) {
        Shape::Literal(literal) => literal.clone(),
        Shape::AnyOf(all) => value(grammar, &all[random.below(all.len())], random),
        Shape::Struct(fields) => Value::Object(object(grammar, fields, random)),
        Shape::List(list) => {
            let wanted = list.least.max(1) + random.below(list.most - list.least.max(1) + 1);
            let mut items = Vec::new();
            for _ in 0..wanted {
                items.extend(item(grammar, list, &items, random));
            }
            Value::Array(items)
        }
        Shape::Map { keys, value: values } => {
            let mut members = Map::new();
            for key in keys {
                if random.percent(50) {
                    members.insert(key.clone(), value(grammar, values, random));
                }
            }
            Value::Object(members)
        }
        Shape::Named(_) => Value::Null,
    }
}

/// An item with a new key; `None` if none is found.
pub(super) fn item(grammar: &Grammar, list: &List, items: &[Value], random: &mut Random) -> Option<Value> {
    (0..ATTEMPTS).find_map(|_| {
        let item = value(grammar, &list.item, random);
        let key = list.key_of(&item);
        (key.is_none() || items.iter().all(|other| list.key_of(other) != key)).then_some(item)
    })
}

fn object(grammar: &Grammar, fields: &Struct, random: &mut Random) -> Map<String, Value> {
    let mut members = Map::new();
    for field in &fields.fields {
        if random.percent(field.weight) {
            members.insert(field.name.clone(), optional(grammar, field, fields.whole, random));
        } else if !fields.whole && random.percent(1) {
            members.insert(field.name.clone(), Value::Null);
        }
    }
    if fields.needs_one || random.percent(85) {
        member(grammar, fields, &mut members, random);
    }
    members
}

/// Adds a member of the union to the object.
pub(super) fn member(
    grammar: &Grammar,
    fields: &Struct,
    members: &mut Map<String, Value>,
    random: &mut Random,
) {
    if fields.union.is_empty() {
        return;
    }
    let weights: Vec<u32> = fields.union.iter().map(|field| field.weight).collect();
    let chosen = &fields.union[random.weighted(&weights)];
    members.insert(chosen.name.clone(), value(grammar, &chosen.shape, random));
}

/// A value, or sometimes null or an empty one.
fn optional(grammar: &Grammar, field: &Field, whole: bool, random: &mut Random) -> Value {
    if whole || field.is_needed() || random.percent(94) {
        return value(grammar, &field.shape, random);
    }
    if random.percent(50) { Value::Null } else { empty(grammar, &field.shape).unwrap_or_default() }
}

/// The empty list or object of a shape that has one.
pub(super) fn empty(grammar: &Grammar, shape: &Shape) -> Option<Value> {
    match grammar.resolved(shape) {
        Shape::List(_) | Shape::Literal(Value::Array(_)) => Some(json!([])),
        Shape::Struct(_) | Shape::Map { .. } => Some(json!({})),
        Shape::AnyOf(all) => empty(grammar, all.first()?),
        Shape::Literal(_) | Shape::Named(_) => None,
    }
}
