//! The paths of a value, after `typed/tofieldset.go`.

use super::{
    Context, Invalid,
    error::Violations,
    kinds::{Kind, NO_KIND, NO_TYPE},
};
use crate::{
    fieldpath::{FieldSet, PathElement, SetBuilder},
    schema::{List, Map, TypeId},
    value::{self, Value},
};

pub(super) fn to_set<'a>(
    context: Context<'a>,
    type_id: TypeId,
    value: Value<'a>,
) -> Result<FieldSet<'a>, Invalid> {
    let mut walk = Walk {
        context,
        path: Vec::new(),
        set: SetBuilder::new(context.arena),
        violations: Violations::default(),
    };
    walk.value(type_id, &value);
    walk.violations.or(walk.set.finish())
}

struct Walk<'a> {
    context: Context<'a>,
    path: Vec<PathElement<'a>>,
    set: SetBuilder<'a>,
    violations: Violations,
}

impl<'a> Walk<'a> {
    fn mark(&mut self) {
        self.set.mark_here(&self.path);
    }

    fn value(&mut self, type_id: TypeId, value: &Value<'a>) {
        let Some(atom) = self.context.schema.atom(type_id) else {
            return self.violations.add(NO_TYPE);
        };
        match Kind::of(atom, Some(value)) {
            Kind::Map(map) if map.is_atomic => self.mark(),
            Kind::Map(map) => {
                if let Value::Map(members) = value {
                    self.members(map, *members);
                }
            }
            Kind::Scalar(_) => self.mark(),
            Kind::List(list) if list.is_atomic() => self.mark(),
            Kind::List(list) => {
                if let Value::List(items) = value {
                    self.items(list, items);
                }
            }
            Kind::None => self.violations.add(NO_KIND),
        }
    }

    fn members(&mut self, map: &'a Map, members: value::Map<'a>) {
        for (name, value) in members.members() {
            let named = map.named_field(name);
            self.path.push(PathElement::Field(name));
            self.value(named.unwrap_or(map.element), value);
            // A struct field is owned by its content, unless it is empty.
            let is_empty = value.is_null() || value.as_map().is_some_and(|map| map.is_empty());
            if is_empty || named.is_none() {
                self.mark();
            }
            self.leave();
        }
    }

    fn items(&mut self, list: &'a List, items: &'a [Value<'a>]) {
        let mut named = self.context.arena.vec_with_capacity(items.len());
        named.extend(items.iter().map(|item| {
            let element = self.context.element(list, item);
            (element.unwrap_or(PathElement::Keyless), item)
        }));
        if !named.is_sorted_by(|(left, _), (right, _)| left <= right) {
            named.sort_by_key(|(name, _)| *name);
        }
        for same in named.chunk_by(|(left, _), (right, _)| left == right) {
            // Of duplicates with two spellings the second one counts.
            let Some((element, item)) = same.get(1).or(same.first()) else { continue };
            self.path.push(*element);
            if same.len() == 1 {
                self.value(list.element, item);
            }
            // Duplicates are owned as one, with any content.
            self.mark();
            self.leave();
        }
    }

    fn leave(&mut self) {
        self.set.leave(self.path.len());
        self.path.pop();
    }
}
