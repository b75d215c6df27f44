//! Uniqueness of items in sets and map lists.

use baton_merge::Arena;
use baton_merge::value::{Map, Value};

use super::schema::Schema;
use crate::field::{FieldError, FieldPath};

/// The duplicate items of an object's lists.
pub(super) fn validate(arena: &Arena, schema: &Schema, object: Value<'_>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    visit(arena, schema, object, &FieldPath::default(), &mut errors);
    errors
}

fn visit(arena: &Arena, schema: &Schema, value: Value<'_>, path: &FieldPath, errors: &mut Vec<FieldError>) {
    match value {
        Value::Map(map) => {
            for (name, value) in map.members() {
                if let Some(values) = schema.values() {
                    visit(arena, values, *value, &path.key(name), errors);
                }
                if let Some(property) = schema.properties.get(*name) {
                    visit(arena, property, *value, &path.child(name), errors);
                }
            }
        }
        Value::List(items) => {
            if schema.is_list("set") {
                duplicates(items, |index, item| errors.push(FieldError::duplicate(&path.index(index), item)));
            } else if schema.is_list("map") {
                keyed(arena, schema, items, path, errors);
            }
            if let Some(below) = &schema.items {
                for (index, item) in items.iter().enumerate() {
                    visit(arena, below, *item, &path.index(index), errors);
                }
            }
        }
        _ => {}
    }
}

fn keyed(
    arena: &Arena,
    schema: &Schema,
    items: &[Value<'_>],
    path: &FieldPath,
    errors: &mut Vec<FieldError>,
) {
    let is_wrong = |item: &Value<'_>| !matches!(item, Value::Null | Value::Map(_));
    if let Some(index) = items.iter().position(is_wrong) {
        let detail = "must be an object for an array of list-type map";
        let wrong = items.get(index).copied().unwrap_or(Value::Null);
        return errors.push(FieldError::invalid(&path.index(index), wrong, detail));
    }
    let keys_of = |item: &Value<'_>| {
        let keys =
            schema.list_map_keys.iter().filter_map(|key| Some((key.as_str(), share(arena, item.get(key)?))));
        Value::Map(Map::new(arena, keys.map(|(key, value)| (arena.copy_text(key), value))))
    };
    let keys: Vec<_> = items.iter().map(keys_of).collect();
    duplicates(&keys, |index, keys| errors.push(FieldError::duplicate(&path.index(index), keys)));
}

/// The value in the arena; keys are scalars, so there is little to copy.
fn share<'a>(arena: &'a Arena, value: Value<'_>) -> Value<'a> {
    match value {
        Value::Null => Value::Null,
        Value::Bool(value) => Value::Bool(value),
        Value::Int(value) => Value::Int(value),
        Value::Float(value) => Value::Float(value),
        Value::String(text) => Value::String(arena.copy_text(text)),
        Value::List(items) => Value::List(arena.list(items.iter().map(|item| share(arena, *item)))),
        Value::Map(map) => {
            let members =
                map.members().iter().map(|(name, value)| (arena.copy_text(name), share(arena, *value)));
            Value::Map(Map::new(arena, members))
        }
    }
}

/// Calls `found` once for each duplicate item.
fn duplicates<'a>(items: &[Value<'a>], mut found: impl FnMut(usize, Value<'a>)) {
    let mut order: Vec<usize> = (0..items.len()).collect();
    order.sort_by(|left, right| items[*left].compare(&items[*right]).then(left.cmp(right)));
    // Numbers are equal only if they are written alike.
    let is_same = |left: Value<'a>, right: Value<'a>| {
        left == right && matches!(left, Value::Float(_)) == matches!(right, Value::Float(_))
    };
    let groups = order.chunk_by(|left, right| is_same(items[*left], items[*right]));
    let mut second: Vec<usize> = groups.filter_map(|group| group.get(1).copied()).collect();
    second.sort_unstable();
    for index in second {
        found(index, items[index]);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn duplicate_items_are_reported_once() {
        let schema = Schema::read(&json!({"type": "object", "properties": {
            "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
            "map": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a", "b"],
                    "items": {"type": "object"}},
        }}));
        let object = json!({
            "set": ["x", "y", "x", "x"],
            "map": [{"a": 1, "b": "z"}, {"a": 1}, {"a": 1, "c": 2}, {"a": 1, "b": "z", "c": 3}],
        });
        let arena = Arena::new();
        let errors = validate(&arena, &schema, Value::from_json(&arena, &object).unwrap());
        let errors: Vec<_> = errors.iter().map(ToString::to_string).collect();
        let expected = [
            r#"map[2]: Duplicate value: {"a":1}"#,
            r#"map[3]: Duplicate value: {"a":1,"b":"z"}"#,
            r#"set[2]: Duplicate value: "x""#,
        ];
        assert_eq!(errors, expected);
    }
}
