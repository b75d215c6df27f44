//! Old values that new ones correlate with, as `CorrelatedObject` of apiserver: an update tolerates errors that were there
//! before.

use baton_merge::value::Value;

use super::schema::Schema;

/// A value and the old value that it replaces.
#[derive(Clone, Copy, Debug)]
pub(super) struct Correlated<'s, 'a> {
    pub(super) schema: &'s Schema,
    pub(super) old: Value<'a>,
    pub(super) new: Value<'a>,
}

impl Correlated<'_, '_> {
    /// The correlated value of a member; none if one of them lacks it or the schema doesn't describe it.
    pub(super) fn key(&self, name: &str) -> Option<Self> {
        Some(Self { schema: self.schema.member(name)?, old: self.old.get(name)?, new: self.new.get(name)? })
    }

    /// The correlated value of an item, in lists with keys only.
    pub(super) fn index(&self, position: usize) -> Option<Self> {
        let new = *self.new.as_list()?.get(position)?;
        let old = item_like(self.schema, self.old.as_list()?, new)?;
        Some(Self { schema: self.schema.items.as_deref()?, old, new })
    }

    /// Whether nothing changed, as far as correlation shows.
    pub(super) fn is_unchanged(&self) -> bool {
        match (self.old, self.new) {
            (Value::List(old), Value::List(new)) => {
                let keyed = self.schema.is_list("map") && !self.schema.list_map_keys.is_empty();
                old.len() == new.len()
                    && if keyed && self.schema.items.is_some() {
                        (0..new.len()).all(|index| self.index(index).is_some_and(|item| item.is_unchanged()))
                    } else {
                        old == new
                    }
            }
            (Value::Map(old), Value::Map(new)) => {
                let mut names = new.members().iter().map(|(name, _)| name);
                old.len() == new.len()
                    && names.all(|name| self.key(name).is_some_and(|member| member.is_unchanged()))
            }
            (old, new) => old == new,
        }
    }
}

/// The first item with the same keys, in a list with keys.
pub(super) fn item_like<'a>(list: &Schema, items: &[Value<'a>], item: Value<'a>) -> Option<Value<'a>> {
    if !list.is_list("map") || list.list_map_keys.is_empty() {
        return None;
    }
    let scalar = |item: &Value<'a>, key: &str| {
        item.get(key).filter(|value| !matches!(value, Value::Null | Value::List(_) | Value::Map(_)))
    };
    let keys: Vec<_> = list.list_map_keys.iter().map(|key| scalar(&item, key)).collect::<Option<_>>()?;
    let is_like = |other: &&Value<'a>| {
        list.list_map_keys.iter().zip(&keys).all(|(key, value)| scalar(other, key) == Some(*value))
    };
    items.iter().find(is_like).copied()
}
