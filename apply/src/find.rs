//! Finds the value at a path in an object to which the server hasn't added its defaults yet.

use baton_merge::{
    fieldpath::{Path, PathElement},
    value::Value,
};
use serde_json::Value as Json;

/// The value at a path, if there is one. An item may leave out a key that has a default, such as the `protocol` of a port,
/// although the key is in its path. An item that has all keys comes first.
pub(crate) fn find<'v>(path: Path<'_>, object: Value<'v>) -> Option<Value<'v>> {
    path.elements().iter().try_fold(object, |value, element| {
        let PathElement::Key(keys) = element else {
            return Path::new(std::slice::from_ref(element)).find(value);
        };
        let items = value.as_list()?;
        let has = |item: &Value<'v>, name: &str, key: Value<'_>| item.get(name).map(|found| found == key);
        let spells_all =
            |item: &&Value<'v>| keys.iter().all(|(name, key)| has(item, name, *key) == Some(true));
        let spells_no_other = |item: &&Value<'v>| {
            keys.iter().any(|(name, key)| has(item, name, *key) == Some(true))
                && keys.iter().all(|(name, key)| has(item, name, *key) != Some(false))
        };
        items.iter().find(spells_all).or_else(|| items.iter().find(spells_no_other)).copied()
    })
}

/// The same, for a change.
pub(crate) fn find_mut<'v>(path: Path<'_>, object: &'v mut Json) -> Option<&'v mut Json> {
    path.elements().iter().try_fold(object, |value, element| match element {
        PathElement::Field(name) => value.get_mut(name),
        PathElement::Key(keys) => {
            let items = value.as_array_mut()?;
            let has =
                |item: &Json, name: &str, key: Value<'_>| item.get(name).map(|found| *found == key.to_json());
            let spells_all = |item: &Json| keys.iter().all(|(name, key)| has(item, name, *key) == Some(true));
            let spells_no_other = |item: &Json| {
                keys.iter().any(|(name, key)| has(item, name, *key) == Some(true))
                    && keys.iter().all(|(name, key)| has(item, name, *key) != Some(false))
            };
            let position =
                items.iter().position(spells_all).or_else(|| items.iter().position(spells_no_other));
            items.get_mut(position?)
        }
        PathElement::Value(_) | PathElement::Index(_) | PathElement::Nameless => None,
    })
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
            find(Path::new(&elements), ports).map(|name| name.to_json())
        };
        assert_eq!(name_of(53, "TCP"), Some(json!("default")));
        assert_eq!(name_of(53, "UDP"), Some(json!("udp")));
        assert_eq!(name_of(80, "UDP"), None);
        assert_eq!(name_of(443, "TCP"), None);
    }
}
