//! Objects of a kind: made from its OpenAPI schema, so that they mostly fit it, out of few names and values, so that
//! two of them often have something in common.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::{
    choices::Choices,
    json_trees::{any, scalar},
};

/// A schema in the document that its references are resolved in.
#[derive(Clone, Copy)]
pub(super) struct Shape<'s> {
    document: &'s Value,
    schema: &'s Value,
}

/// Fields that are set more often than others of a large struct.
const FAVOURITES: &[&str] = &[
    "replicas",
    "template",
    "spec",
    "containers",
    "name",
    "image",
    "ports",
    "env",
    "labels",
    "annotations",
    "selector",
    "strategy",
    "matchLabels",
    "metadata",
    "tolerations",
    "volumes",
    "protocol",
    "containerPort",
    "resources",
    "limits",
];

const TEXTS: &[&str] = &["a", "b", "c", "", "TCP", "100m", "2026-01-02T03:04:05Z", "ä<\"&\u{2028}"];
const KEYS: &[&str] = &["a", "b", "app", "x.y/z"];
const NUMBERS: &[i64] = &[1, 2, 80, 0, -1, 443, 10];

impl<'s> Shape<'s> {
    /// The shape at a JSON pointer.
    pub(super) fn at(document: &'s Value, pointer: &str) -> Self {
        Self { document, schema: document.pointer(pointer).expect("the schema is there") }.resolved()
    }

    /// The shape of a field.
    pub(super) fn field(self, name: &str) -> Option<Self> {
        Some(self.with(self.schema.get("properties")?.get(name)?))
    }

    fn with(self, schema: &'s Value) -> Self {
        Self { schema, ..self }.resolved()
    }

    fn resolved(self) -> Self {
        let reference = self.schema.get("$ref").or_else(|| self.schema.get("allOf")?.get(0)?.get("$ref"));
        match reference
            .and_then(Value::as_str)
            .and_then(|path| self.document.pointer(path.strip_prefix('#')?))
        {
            Some(schema) => Self { schema, ..self }.resolved(),
            None => self,
        }
    }

    fn text(self, name: &str) -> &'s str {
        self.schema.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    fn properties(self) -> Option<&'s Map<String, Value>> {
        self.schema.get("properties")?.as_object().filter(|fields| !fields.is_empty())
    }

    /// A value of this shape; seldom one that isn't.
    pub(super) fn value(self, choices: &mut Choices<'_>, depth: usize) -> Value {
        match choices.below(64) {
            60 => return Value::Null,
            61 => return json!({}),
            62 => return json!([]),
            63 => return any(choices, 2),
            _ => {}
        }
        if depth == 0 {
            return Value::Null;
        }
        if self.schema.get("x-kubernetes-int-or-string").is_some() || self.schema.get("oneOf").is_some() {
            return if choices.once_in(2) { json!(choices.one(TEXTS)) } else { json!(choices.one(NUMBERS)) };
        }
        match self.text("type") {
            "object" => self.object(choices, depth),
            "array" => self.list(choices, depth),
            "string" => json!(choices.one(TEXTS)),
            "boolean" => json!(choices.once_in(2)),
            "integer" => json!(choices.one(NUMBERS)),
            "number" => match choices.below(8) {
                6 => json!(0.5),
                7 => json!(1.0),
                _ => json!(choices.one(NUMBERS)),
            },
            _ => any(choices, 3),
        }
    }

    fn object(self, choices: &mut Choices<'_>, depth: usize) -> Value {
        let mut object = Map::new();
        for name in self.required() {
            if let Some(shape) = self.field(name).filter(|_| !choices.once_in(32)) {
                object.insert(name.to_owned(), shape.value(choices, depth - 1));
            }
        }
        for _ in 0..=choices.below(4) {
            self.add_member(choices, &mut object, depth);
        }
        Value::Object(object)
    }

    fn required(self) -> impl Iterator<Item = &'s str> {
        self.schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
    }

    fn add_member(self, choices: &mut Choices<'_>, object: &mut Map<String, Value>, depth: usize) {
        if let Some(fields) = self.properties() {
            let name = favourite(choices, fields);
            if let Some(shape) = self.field(&name) {
                object.insert(name, shape.value(choices, depth - 1));
            }
        } else {
            let value = match self.schema.get("additionalProperties") {
                Some(schema @ Value::Object(_)) => self.with(schema).value(choices, depth - 1),
                _ => any(choices, 2),
            };
            object.insert(choices.one(KEYS).to_string(), value);
        }
    }

    fn list(self, choices: &mut Choices<'_>, depth: usize) -> Value {
        let Some(items) = self.schema.get("items") else { return any(choices, 2) };
        let items = self.with(items);
        let list = (0..choices.below(4)).map(|_| items.value(choices, depth - 1)).collect();
        let duplicates = choices.once_in(32);
        Value::Array(if duplicates { list } else { self.distinct(list) })
    }

    /// Each item of a set or of a list by keys once.
    fn distinct(self, list: Vec<Value>) -> Vec<Value> {
        let keys = self.keys();
        let name = |item: &Value| match (keys.as_slice(), self.text("x-kubernetes-list-type")) {
            ([], "set") => Some(item.to_string()),
            ([], _) => None,
            (keys, _) => {
                let field = |key: &&str| {
                    let default = || self.with(&self.schema["items"]).field(key)?.schema.get("default");
                    item.get(*key).or_else(default).map(ToString::to_string)
                };
                Some(format!("{:?}", keys.iter().map(field).collect::<Vec<_>>()))
            }
        };
        let mut seen = BTreeSet::new();
        list.into_iter().filter(|item| name(item).is_none_or(|name| seen.insert(name))).collect()
    }

    fn keys(self) -> Vec<&'s str> {
        let keys = self.schema.get("x-kubernetes-list-map-keys").and_then(Value::as_array);
        let keys: Vec<_> = keys.into_iter().flatten().filter_map(Value::as_str).collect();
        match self.text("x-kubernetes-patch-merge-key") {
            key if keys.is_empty() && !key.is_empty() => vec![key],
            _ => keys,
        }
    }

    /// The value with some of it changed, added, removed or in another order.
    pub(super) fn vary(self, choices: &mut Choices<'_>, value: &mut Value, depth: usize) {
        if depth == 0 {
            return;
        }
        match value {
            Value::Object(members) => {
                let names: Vec<_> = members.keys().cloned().collect();
                for name in names {
                    let shape = self.member(&name);
                    match (choices.below(8), shape) {
                        (4 | 5, Some(shape)) => shape.vary(choices, &mut members[&name], depth - 1),
                        (6, Some(shape)) => members[&name] = shape.value(choices, depth - 1),
                        (7, _) => {
                            members.remove(&name);
                        }
                        (3, Some(shape)) if members[&name].is_object() || members[&name].is_array() => {
                            shape.vary(choices, &mut members[&name], depth - 1);
                        }
                        _ => {}
                    }
                }
                if choices.once_in(2) {
                    self.add_member(choices, members, depth);
                }
            }
            Value::Array(items) if self.schema.get("items").is_some() => {
                let shape = self.with(&self.schema["items"]);
                items.retain_mut(|item| match choices.below(8) {
                    5 | 6 => {
                        shape.vary(choices, item, depth - 1);
                        true
                    }
                    kept => kept != 7,
                });
                if choices.once_in(2) {
                    items.push(shape.value(choices, depth - 1));
                }
                if choices.once_in(2) && !items.is_empty() {
                    let by = choices.below(items.len().min(256));
                    items.rotate_left(by);
                }
                if !choices.once_in(16) {
                    *items = self.distinct(std::mem::take(items));
                }
            }
            other if choices.once_in(2) => *other = self.value(choices, depth),
            _ => {}
        }
    }

    fn member(self, name: &str) -> Option<Self> {
        self.field(name).or_else(|| match self.schema.get("additionalProperties") {
            Some(schema @ Value::Object(_)) => Some(self.with(schema)),
            _ => None,
        })
    }
}

/// The name of a field, of large structs mostly one that others choose too.
fn favourite(choices: &mut Choices<'_>, fields: &Map<String, Value>) -> String {
    let favourites: Vec<_> = FAVOURITES.iter().filter(|name| fields.contains_key(**name)).collect();
    if !favourites.is_empty() && !choices.once_in(8) {
        return (*choices.one(&favourites)).to_string();
    }
    fields.keys().nth(choices.below(fields.len().min(256))).cloned().unwrap_or_default()
}

/// Any object without a schema.
pub(super) fn loose(choices: &mut Choices<'_>) -> Value {
    let members = 0..=choices.below(3);
    let value =
        |choices: &mut Choices<'_>| if choices.once_in(4) { scalar(choices) } else { any(choices, 3) };
    members.map(|_| (choices.one(KEYS).to_string(), value(choices))).collect()
}
