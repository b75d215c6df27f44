//! The names of items in associative lists.

use super::Context;
use crate::{
    fieldpath::PathElement,
    schema::{Key, KeyDefault, List},
    value::{Map, Value},
};

impl<'a> Context<'a> {
    /// The path element of an item.
    ///
    /// # Errors
    /// When it has no name: the list isn't associative, the item isn't of the list's type, or its keys are missing.
    pub(super) fn element(self, list: &'a List, item: &Value<'a>) -> Result<PathElement<'a>, String> {
        if !list.is_associative() {
            return Err("items of a list that isn't associative have no name".to_owned());
        }
        if list.keys.is_empty() { set_element(item) } else { self.keyed_element(list, item) }
    }

    fn keyed_element(self, list: &'a List, item: &Value<'a>) -> Result<PathElement<'a>, String> {
        let Value::Map(map) = item else {
            return Err(format!(
                "an item of a map list has to be a map, found {}",
                super::kinds::description(item)
            ));
        };
        let mut fields = self.arena.vec_with_capacity(list.keys.len());
        for key in &list.sorted_keys {
            let key = &list.keys[*key];
            if let Some(value) = self.key_value(key, *map)? {
                fields.push((key.name.as_str(), value));
            }
        }
        if fields.is_empty() {
            let names: Vec<_> = list.keys.iter().map(|key| key.name.as_str()).collect();
            return Err(format!(
                "an item omits all keys of its list ({}), and none has a default",
                names.join(", ")
            ));
        }
        Ok(PathElement::Key(fields.into_bump_slice()))
    }

    fn key_value(self, key: &'a Key, item: Map<'a>) -> Result<Option<Value<'a>>, String> {
        if let Some(value) = item.get(&key.name) {
            return Ok(Some(value));
        }
        match &key.default {
            KeyDefault::Value(default) => {
                let value = Value::from_json(self.arena, default);
                value.map(Some).map_err(|error| format!("the default of the key {}: {error}", key.name))
            }
            KeyDefault::None if self.rules.keys_may_be_omitted => Ok(None),
            KeyDefault::None => {
                Err(format!("an item omits the key {} of its list, which has no default", key.name))
            }
            KeyDefault::UnknownType => {
                Err(format!("the items' type is unknown, and so the default of {}", key.name))
            }
            KeyDefault::NotAMap => Err("a list with keys has items that are no maps".to_owned()),
        }
    }
}

fn set_element<'a>(item: &Value<'a>) -> Result<PathElement<'a>, String> {
    match item {
        Value::Map(_) => Err("a set can't have maps as items".to_owned()),
        Value::List(_) => Err("a set can't have lists as items".to_owned()),
        Value::Null => Err("a set can't have null as an item".to_owned()),
        scalar => Ok(PathElement::Value(*scalar)),
    }
}
