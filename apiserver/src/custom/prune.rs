//! Pruning of unknown fields, and defaults.

use baton_merge::Arena;
use baton_merge::value::{Map, Value};

use super::schema::{Additional, Schema};

/// The fields of every object, which a schema needn't name.
pub(super) const OBJECT_FIELDS: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Removes all fields that the schema doesn't name, and returns their paths.
pub(super) fn prune<'a>(arena: &'a Arena, schema: &Schema, object: Value<'a>) -> (Value<'a>, Vec<String>) {
    let mut pruner = Pruner { arena, unknown: Vec::new() };
    let known = SchemaAt { schema: Some(schema), is_object: true, preserves: schema.preserves() };
    let kept = pruner.value(object, known, "");
    pruner.unknown.sort();
    (kept, pruner.unknown)
}

/// Drops nulls that aren't allowed and have no default.
pub(super) fn without_nulls<'a>(arena: &'a Arena, schema: Option<&Schema>, value: Value<'a>) -> Value<'a> {
    let may_not_be_there =
        |schema: Option<&Schema>| schema.is_some_and(|schema| !schema.nullable && schema.default.is_none());
    match value {
        Value::Map(map) => {
            let members = map.members().iter().filter_map(|(name, value)| {
                let below = schema.and_then(|schema| schema.member(name));
                let goes = value.is_null() && may_not_be_there(below);
                (!goes).then(|| (*name, without_nulls(arena, below, *value)))
            });
            Value::Map(Map::new(arena, members))
        }
        Value::List(items) => {
            let below = schema.and_then(|schema| schema.items.as_deref());
            Value::List(arena.list(items.iter().map(|item| without_nulls(arena, below, *item))))
        }
        _ => value,
    }
}

/// Sets the defaults of absent values, and of nulls that aren't allowed.
pub(super) fn with_defaults<'a>(arena: &'a Arena, schema: &'a Schema, value: Value<'a>) -> Value<'a> {
    match value {
        Value::Map(map) => {
            let missing = schema.properties.iter().filter(|(name, _)| !map.contains(name));
            let made = missing.filter_map(|(name, property)| {
                let made = default_of(arena, property)?;
                Some((name.as_str(), with_defaults(arena, property, made)))
            });
            let own = map.members().iter().map(|(name, value)| {
                let below = schema.member(name);
                (*name, below.map_or(*value, |below| replaced(arena, below, *value)))
            });
            Value::Map(Map::new(arena, made.chain(own)))
        }
        Value::List(list) => match &schema.items {
            Some(items) => Value::List(arena.list(list.iter().map(|item| replaced(arena, items, *item)))),
            None => value,
        },
        _ => value,
    }
}

fn replaced<'a>(arena: &'a Arena, schema: &'a Schema, value: Value<'a>) -> Value<'a> {
    let is_replaced = value.is_null() && !schema.nullable;
    let value = if is_replaced { default_of(arena, schema).unwrap_or(value) } else { value };
    with_defaults(arena, schema, value)
}

fn default_of<'a>(arena: &'a Arena, schema: &'a Schema) -> Option<Value<'a>> {
    Value::from_json(arena, schema.default.as_ref()?).ok()
}

struct Pruner<'a> {
    arena: &'a Arena,
    unknown: Vec<String>,
}

/// The schema at a value; without one, nothing below the value is known.
#[derive(Clone, Copy)]
struct SchemaAt<'s> {
    schema: Option<&'s Schema>,
    /// Whether it is a whole object, the root or an embedded one.
    is_object: bool,
    preserves: bool,
}

impl<'s> SchemaAt<'s> {
    fn of(schema: Option<&'s Schema>) -> Self {
        let is = |holds: fn(&Schema) -> bool| schema.is_some_and(holds);
        Self { schema, is_object: is(|schema| schema.embedded), preserves: is(Schema::preserves) }
    }

    /// The schema at a member; `None` if the member is unknown.
    fn member(self, name: &str) -> Option<Self> {
        let schema = self.schema?;
        match (schema.properties.get(name), &schema.additional) {
            (Some(property), _) => Some(Self::of(Some(property))),
            (None, Some(Additional::Of(values))) => Some(Self::of(Some(values))),
            (None, Some(Additional::Allowed(_))) => Some(Self::of(None)),
            (None, None) => None,
        }
    }

    /// The schema at the items. They inherit `preserves` from the list.
    fn items(self) -> Option<Self> {
        let items = self.schema.and_then(|schema| schema.items.as_deref());
        match (items, self.preserves) {
            (None, true) => None,
            (items, preserves) => {
                let known = Self::of(items);
                Some(Self { preserves: preserves || known.preserves, ..known })
            }
        }
    }
}

impl<'a> Pruner<'a> {
    fn value(&mut self, value: Value<'a>, known: SchemaAt<'_>, path: &str) -> Value<'a> {
        match value {
            Value::Map(map) => {
                let mut kept = Vec::with_capacity(map.len());
                for (name, value) in map.members() {
                    if known.is_object && OBJECT_FIELDS.contains(name) {
                        kept.push((*name, *value));
                        continue;
                    }
                    let below = if path.is_empty() { (*name).to_owned() } else { format!("{path}.{name}") };
                    match known.member(name) {
                        Some(known) => kept.push((*name, self.value(*value, known, &below))),
                        None if known.preserves => kept.push((*name, *value)),
                        None => self.unknown.push(below),
                    }
                }
                Value::Map(Map::new(self.arena, kept))
            }
            Value::List(items) => match known.items() {
                Some(known) => {
                    let pruned: Vec<_> = (items.iter().enumerate())
                        .map(|(index, item)| self.value(*item, known, &format!("{path}[{index}]")))
                        .collect();
                    Value::List(self.arena.list(pruned))
                }
                None => value,
            },
            _ => value,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::*;

    fn schema(spec: &Json) -> Schema {
        Schema::read(&json!({"type": "object", "properties": {"spec": spec}}))
    }

    #[test]
    fn unknown_fields_are_dropped_and_reported_by_their_paths() {
        let schema = schema(&json!({"type": "object", "properties": {
            "list": {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "string"}}}},
            "map": {"type": "object", "additionalProperties": {"type": "object"}},
            "any": {"type": "object", "x-kubernetes-preserve-unknown-fields": true,
                    "properties": {"strict": {"type": "object"}}},
            "other": {"type": "object", "x-kubernetes-embedded-resource": true},
        }}));
        let object = json!({"apiVersion": "v1", "metadata": {"name": "a"}, "top": 1, "spec": {
            "list": [{"a": "x"}, {"b": 1}], "map": {"k": {"c": 1}}, "foo": 1,
            "any": {"x": {"y": [1]}, "strict": {"z": 1}},
            "other": {"kind": "Pod", "metadata": {"name": "a"}, "spec": {}},
        }});
        let arena = Arena::new();
        let (pruned, unknown) = prune(&arena, &schema, Value::from_json(&arena, &object).unwrap());
        let expected =
            ["spec.any.strict.z", "spec.foo", "spec.list[1].b", "spec.map.k.c", "spec.other.spec", "top"];
        assert_eq!(unknown, expected);
        let left = json!({"apiVersion": "v1", "metadata": {"name": "a"}, "spec": {
            "list": [{"a": "x"}, {}], "map": {"k": {}}, "any": {"x": {"y": [1]}, "strict": {}},
            "other": {"kind": "Pod", "metadata": {"name": "a"}},
        }});
        assert_eq!(pruned.to_json(), left);
    }

    #[test]
    fn defaults_fill_in_what_is_missing_and_nulls_that_may_not_be() {
        let schema = schema(&json!({"type": "object", "properties": {
            "a": {"type": "integer", "default": 1},
            "deep": {"type": "object", "default": {}, "properties": {"b": {"type": "string", "default": "x"}}},
            "none": {"type": "object", "properties": {"c": {"type": "string", "default": "y"}}},
            "null": {"type": "string", "nullable": true, "default": "z"},
            "list": {"type": "array", "items": {"type": "object", "properties": {"d": {"default": 2}}}},
        }}));
        let object = json!({"spec": {"a": null, "null": null, "none": null, "list": [{}, {"d": 3}]}});
        let arena = Arena::new();
        let value = with_defaults(&arena, &schema, Value::from_json(&arena, &object).unwrap());
        let value = without_nulls(&arena, Some(&schema), value);
        let spec = json!({"a": 1, "deep": {"b": "x"}, "null": null, "list": [{"d": 2}, {"d": 3}]});
        assert_eq!(value.to_json(), json!({"spec": spec}));
    }
}
