//! Values at paths in an object to which the server hasn't added its defaults yet.

use std::{cell::RefCell, collections::HashMap};

use baton_merge::{
    fieldpath::{KeyField, Path, PathElement},
    value::Value,
};
use json_patch::jsonptr::PointerBuf;

/// Finds the values at many paths of one object. The items of a long list are indexed: to search for each would cost the square of the
/// list's length.
pub(crate) struct Finder<'v> {
    object: Value<'v>,
    /// The long lists that were searched, by the address of their items.
    lists: RefCell<HashMap<usize, Vec<ListIndex<'v>>>>,
}

/// Shorter lists are searched.
const SHORT: usize = 16;

impl<'v> Finder<'v> {
    pub(crate) fn new(object: Value<'v>) -> Self {
        Self { object, lists: RefCell::default() }
    }

    /// The value at a path, if there is one. Items are found as [`PathElement::position`] finds them.
    pub(crate) fn find(&self, path: Path<'_>) -> Option<Value<'v>> {
        path.elements().iter().try_fold(self.object, |value, element| self.part(value, *element))
    }

    /// The JSON pointer to that value.
    pub(crate) fn pointer(&self, path: Path<'_>) -> Option<String> {
        let (mut pointer, mut value) = (PointerBuf::new(), self.object);
        for element in path.elements() {
            if let PathElement::Field(name) = element {
                pointer.push_back(*name);
                value = value.get(name)?;
            } else {
                let items = value.as_list()?;
                let at = self.position(items, *element)?;
                pointer.push_back(at);
                value = *items.get(at)?;
            }
        }
        Some(pointer.to_string())
    }

    /// The part of a value that an element leads to.
    pub(crate) fn part(&self, value: Value<'v>, element: PathElement<'_>) -> Option<Value<'v>> {
        if let PathElement::Field(name) = element {
            return value.get(name);
        }
        let items = value.as_list()?;
        items.get(self.position(items, element)?).copied()
    }

    fn position(&self, items: &'v [Value<'v>], element: PathElement<'_>) -> Option<usize> {
        let keys = match element {
            PathElement::Key(keys) => keys,
            PathElement::Value(value) => &[("", value)],
            _ => return element.position(items),
        };
        let kind = if matches!(element, PathElement::Key(_)) { ItemName::ByKeys } else { ItemName::ByValue };
        if items.len() <= SHORT || keys.len() > ListIndex::MOST_KEYS {
            return element.position(items);
        }
        let mut lists = self.lists.borrow_mut();
        let indexes = lists.entry(items.as_ptr().addr()).or_default();
        let at = indexes.iter().position(|index| index.is_of(items, kind, keys)).unwrap_or_else(|| {
            indexes.push(ListIndex::new(items, kind, keys));
            indexes.len() - 1
        });
        indexes[at].find(keys)
    }
}

/// The kind of names that the items of a list have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ItemName {
    ByKeys,
    ByValue,
}

impl ItemName {
    fn part<'v>(self, item: Value<'v>, name: &str) -> Option<Value<'v>> {
        match self {
            Self::ByKeys => item.get(name),
            Self::ByValue => Some(item),
        }
    }
}

/// The items of a list by their values of some keys.
struct ListIndex<'v> {
    kind: ItemName,
    length: usize,
    names: Vec<String>,
    /// By which of the keys an item has, one bit for each: the positions of such items, sorted by these keys' values.
    items: HashMap<u32, Vec<(Vec<PathElement<'v>>, usize)>>,
}

impl<'v> ListIndex<'v> {
    const MOST_KEYS: usize = 8;

    fn new(items: &[Value<'v>], kind: ItemName, keys: &[KeyField<'_>]) -> Self {
        let mut by_mask: HashMap<u32, Vec<_>> = HashMap::new();
        for (position, item) in items.iter().enumerate() {
            let parts: Vec<_> = keys.iter().map(|(name, _)| kind.part(*item, name)).collect();
            let mask = parts.iter().rev().fold(0, |mask, part| mask << 1 | u32::from(part.is_some()));
            // Elements of paths have an order, in which equal values are equal.
            let values = parts.into_iter().flatten().map(PathElement::Value).collect();
            by_mask.entry(mask).or_default().push((values, position));
        }
        for items in by_mask.values_mut() {
            items.sort();
        }
        let names = keys.iter().map(|(name, _)| (*name).to_owned()).collect();
        Self { kind, length: items.len(), names, items: by_mask }
    }

    fn is_of(&self, items: &[Value<'_>], kind: ItemName, keys: &[KeyField<'_>]) -> bool {
        let names = keys.iter().map(|(name, _)| *name);
        self.kind == kind && self.length == items.len() && self.names.iter().eq(names)
    }

    /// The position of an item, as [`PathElement::position`] finds it.
    fn find(&self, keys: &[KeyField<'_>]) -> Option<usize> {
        let all = (1 << keys.len()) - 1;
        let with = |mask: u32| {
            let items = self.items.get(&mask).filter(|_| mask != 0)?;
            let is_part = |(bit, _): &(usize, &KeyField<'_>)| mask >> bit & 1 == 1;
            let values = keys.iter().enumerate().filter(is_part);
            let values: Vec<_> = values.map(|(_, (_, key))| PathElement::Value(*key)).collect();
            let at = items.partition_point(|(own, _)| own.as_slice() < values.as_slice());
            items.get(at).filter(|(own, _)| *own == values).map(|(_, position)| *position)
        };
        with(all)
            .or_else(|| self.items.keys().filter(|mask| **mask != all).filter_map(|mask| with(*mask)).min())
    }
}

#[cfg(test)]
mod tests {
    use baton_merge::Arena;
    use serde_json::json;

    use super::*;

    #[test]
    fn an_item_that_leaves_a_key_out_is_found_after_those_that_have_it() {
        let arena = Arena::new();
        let ports = json!([
            {"port": 53, "name": "default"}, {"port": 53, "protocol": "UDP", "name": "udp"}, {"port": 80, "protocol": "TCP"},
        ]);
        let ports = Value::from_json(&arena, &ports).unwrap();
        let name_of = |port: i64, protocol: &'static str| {
            let key = [("port", Value::Int(port)), ("protocol", Value::String(protocol))];
            let elements = [PathElement::Key(&key), PathElement::Field("name")];
            Finder::new(ports).find(Path::new(&elements)).map(|name| name.to_json())
        };
        assert_eq!(name_of(53, "TCP"), Some(json!("default")));
        assert_eq!(name_of(53, "UDP"), Some(json!("udp")));
        assert_eq!(name_of(80, "UDP"), None);
        assert_eq!(name_of(443, "TCP"), None);
    }

    #[test]
    fn a_long_list_is_looked_into_as_a_short_one_is_searched() {
        let arena = Arena::new();
        let port = |at: usize| match at % 4 {
            0 => json!({"port": at / 8, "protocol": "TCP"}),
            1 => json!({"port": at / 8}),
            2 => json!({"port": at / 8, "protocol": "UDP"}),
            _ => json!({"protocol": "TCP"}),
        };
        let ports = json!((0..80).map(port).collect::<Vec<_>>());
        let items = Value::from_json(&arena, &ports).unwrap();
        let finder = Finder::new(items);
        for number in 0..12 {
            for protocol in ["TCP", "UDP", "SCTP"] {
                let keys = [("port", Value::Int(number)), ("protocol", Value::String(protocol))];
                for keys in [&keys[..], &keys[..1], &keys[1..]] {
                    let path = [PathElement::Key(keys)];
                    let searched = path[0].position(items.as_list().unwrap());
                    let pointer = finder.pointer(Path::new(&path));
                    assert_eq!(pointer, searched.map(|at| format!("/{at}")), "{keys:?}");
                }
            }
        }
        let names = json!((0..40).map(|at| format!("n{}", at / 2)).collect::<Vec<_>>());
        let finder = Value::from_json(&arena, &names).map(Finder::new).unwrap();
        for (name, expected) in [("n7", Some("/14")), ("n20", None)] {
            let path = [PathElement::Value(Value::String(name))];
            assert_eq!(finder.pointer(Path::new(&path)).as_deref(), expected);
        }
    }
}
