//! Lists that are sets or maps by their schema: equality ignores order, and `+` merges.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use kube_cel::cel::Value;
use kube_cel::cel::objects::{KeyRef, Map, Opaque, OptionalValue};

/// A set, or a list as a map by its keys.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unordered {
    items: Arc<Vec<Value>>,
    /// The keys of a map, as rules write them.
    keys: Option<Vec<String>>,
}

impl Opaque for Unordered {
    fn runtime_type_name(&self) -> &'static str {
        "list"
    }
}

/// The identity of an item.
type Identity = Vec<Option<String>>;

impl Unordered {
    pub(super) fn set(items: Vec<Value>) -> Value {
        Self::value(items, None)
    }

    pub(super) fn map(items: Vec<Value>, keys: Vec<String>) -> Value {
        Self::value(items, Some(keys))
    }

    fn value(items: Vec<Value>, keys: Option<Vec<String>>) -> Value {
        Value::Opaque(Arc::new(Self { items: Arc::new(items), keys }))
    }

    fn of(value: &Value) -> Option<&Self> {
        match value {
            Value::Opaque(opaque) => opaque.downcast_ref(),
            _ => None,
        }
    }

    fn identity(&self, item: &Value) -> Identity {
        match &self.keys {
            None => vec![Some(text(item))],
            Some(keys) => keys.iter().map(|key| member(item, key).map(text)).collect(),
        }
    }

    fn by_identity(&self) -> HashMap<Identity, usize> {
        self.items.iter().enumerate().map(|(at, item)| (self.identity(item), at)).collect()
    }

    fn equals(&self, others: &[Value]) -> bool {
        let own = self.by_identity();
        let has = |other: &Value| {
            let found = own.get(&self.identity(other));
            found.is_some_and(|at| self.keys.is_none() || equal(&self.items[*at], other))
        };
        self.items.len() == others.len() && others.iter().all(has)
    }

    fn united(&self, others: &[Value]) -> Value {
        let mut places = self.by_identity();
        let mut items = self.items.to_vec();
        for other in others {
            match places.get(&self.identity(other)) {
                Some(at) if self.keys.is_some() => items[*at] = other.clone(),
                Some(_) => {}
                None => {
                    // A map may repeat an item, a set doesn't.
                    if self.keys.is_none() {
                        places.insert(self.identity(other), items.len());
                    }
                    items.push(other.clone());
                }
            }
        }
        Self::value(items, self.keys.clone())
    }
}

/// A text that is equal for equal values. Numbers are equal only if they are of one type.
fn text(value: &Value) -> String {
    match (value, items(value)) {
        (_, Some(items)) => format!("{:?}", items.iter().map(text).collect::<Vec<_>>()),
        (Value::Map(map), _) => {
            let members = map.map.iter().map(|(key, value)| (key.to_string(), text(value)));
            format!("{:?}", members.collect::<BTreeMap<_, _>>())
        }
        (value, _) => format!("{value:?}"),
    }
}

fn member<'v>(map: &'v Value, name: &str) -> Option<&'v Value> {
    match map {
        Value::Map(map) => map.get(&KeyRef::String(name)),
        _ => None,
    }
}

/// The items of any list.
pub(super) fn items(value: &Value) -> Option<&Arc<Vec<Value>>> {
    match value {
        Value::List(items) => Some(items),
        value => Unordered::of(value).map(|list| &list.items),
    }
}

/// The content of an optional value; none for other values.
pub(super) fn optional(value: &Value) -> Option<&OptionalValue> {
    match value {
        Value::Opaque(opaque) => opaque.downcast_ref(),
        _ => None,
    }
}

/// Whether two values are equal. The left one decides whether order matters.
pub(super) fn equal(left: &Value, right: &Value) -> bool {
    if let (Some(left_items), Some(right_items)) = (items(left), items(right)) {
        return match Unordered::of(left) {
            Some(left) => left.equals(right_items),
            None => {
                left_items.len() == right_items.len()
                    && left_items.iter().zip(right_items.iter()).all(|(left, right)| equal(left, right))
            }
        };
    }
    match (left, right) {
        (Value::Map(left), Value::Map(right)) => {
            left.map.len() == right.map.len()
                && left
                    .map
                    .iter()
                    .all(|(key, value)| right.map.get(key).is_some_and(|other| equal(value, other)))
        }
        _ => match (optional(left), optional(right)) {
            (Some(left), Some(right)) => match (left.value(), right.value()) {
                (Some(left), Some(right)) => equal(left, right),
                (left, right) => left.is_none() && right.is_none(),
            },
            _ => left == right,
        },
    }
}

/// The result of `+` for a set or a map and another list; none for other values.
pub(super) fn united(left: &Value, right: &Value) -> Option<Value> {
    Some(Unordered::of(left)?.united(items(right)?))
}

/// The value with plain lists, for functions that don't know others.
pub(super) fn plain(value: &Value) -> Value {
    if let Some(items) = items(value) {
        return Value::List(Arc::new(items.iter().map(plain).collect()));
    }
    match value {
        Value::Map(map) => {
            let members = map.map.iter().map(|(key, value)| (key.clone(), plain(value)));
            Value::Map(Map { map: Arc::new(members.collect()) })
        }
        value => match optional(value).map(OptionalValue::value) {
            Some(Some(value)) => Value::Opaque(Arc::new(OptionalValue::of(plain(value)))),
            _ => value.clone(),
        },
    }
}
