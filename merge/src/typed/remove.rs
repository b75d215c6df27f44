//! A value without the paths of a set, or only with these, after `typed/remove.go`.

use super::{Context, kinds::Kind};
use crate::{
    arena::ArenaVec,
    fieldpath::{FieldSet, PathElement, SiblingIndex},
    schema::{List, Map, TypeId},
    value::{self, Value},
};

/// The value without the items and members of the set. Unchanged parts are shared with the value.
pub(super) fn remove<'a>(
    context: Context<'a>,
    type_id: TypeId,
    value: Value<'a>,
    set: FieldSet<'a>,
) -> Value<'a> {
    Walk { context, extract: false }.value(type_id, value, set)
}

/// Only the items and members of the set.
pub(super) fn extract<'a>(
    context: Context<'a>,
    type_id: TypeId,
    value: Value<'a>,
    set: FieldSet<'a>,
) -> Value<'a> {
    Walk { context, extract: true }.value(type_id, value, set)
}

#[derive(Clone, Copy)]
struct Walk<'a> {
    context: Context<'a>,
    extract: bool,
}

impl<'a> Walk<'a> {
    fn value(self, type_id: TypeId, value: Value<'a>, set: FieldSet<'a>) -> Value<'a> {
        let Some(atom) = self.context.schema.atom(type_id) else { return Value::Null };
        match (Kind::of(atom, Some(&value)), value) {
            (Kind::Scalar(_), _) => value,
            (_, Value::Map(members)) if members.is_empty() && self.extracts_as_before() => Value::Null,
            (_, Value::List([])) if self.extracts_as_before() => Value::Null,
            // Removing a part of an atomic value removes all of it, also if it is empty.
            (Kind::Map(map), Value::Map(members)) if map.is_atomic || members.is_empty() => self.whole(value),
            (Kind::List(list), Value::List(items)) if list.is_atomic() || items.is_empty() => {
                self.whole(value)
            }
            (Kind::Map(map), Value::Map(members)) => self.members(map, value, members, set),
            (Kind::List(list), Value::List(items)) => self.items(list, value, items, set),
            _ => Value::Null,
        }
    }

    fn whole(self, value: Value<'a>) -> Value<'a> {
        if self.extract { value } else { Value::Null }
    }

    fn members(
        self,
        map: &'a Map,
        whole: Value<'a>,
        members: value::Map<'a>,
        set: FieldSet<'a>,
    ) -> Value<'a> {
        let mut kept = Kept::new(self.context, members.members());
        let mut siblings = set.siblings();
        for (name, value) in members.members() {
            let found = siblings.seek(&PathElement::Field(name));
            let is_member = found.is_some_and(|(node, _)| node.member);
            let below = found.map(|(_, below)| below).unwrap_or_default();
            let type_id = map.member(name);
            match (is_member, self.extract) {
                (true, false) => kept.drop_one(),
                // Upstream descends with the set of this level, not with that below the member.
                (true, true) => kept.keep((name, self.value(type_id, *value, set))),
                (false, true) if below.is_empty() => kept.drop_one(),
                (false, false) if below.is_empty() => kept.keep((name, *value)),
                (false, _) => kept.keep((name, self.preserved(*value, self.value(type_id, *value, below)))),
            }
        }
        match kept.finish() {
            None => whole,
            Some([]) => Value::Null,
            Some(members) => Value::Map(value::Map::of_sorted(members)),
        }
    }

    fn items(self, list: &'a List, whole: Value<'a>, items: &'a [Value<'a>], set: FieldSet<'a>) -> Value<'a> {
        let index = SiblingIndex::new(self.context.arena, set);
        let mut kept = Kept::new(self.context, items);
        for item in items {
            let name = self.context.element(list, item).unwrap_or(PathElement::Keyless);
            let (is_member, below) = index.find(&name).unwrap_or_default();
            match (is_member, self.extract) {
                (true, false) => kept.drop_one(),
                (false, true) if below.is_empty() => kept.drop_one(),
                (true, true) if self.extracts_as_before() => {
                    kept.keep(self.value(list.element, *item, set));
                    if !below.is_empty() {
                        kept.keep(self.value(list.element, *item, below));
                    }
                }
                _ if below.is_empty() => kept.keep(*item),
                _ => kept.keep(self.preserved(*item, self.value(list.element, *item, below))),
            }
        }
        match kept.finish() {
            None => whole,
            Some([]) => Value::Null,
            Some(items) => Value::List(items),
        }
    }

    /// Whether it extracts as older releases: an item in the set is extracted with the set of this level, and again with
    /// the set below it.
    fn extracts_as_before(self) -> bool {
        self.extract && !self.context.rules.extract_is_exact
    }

    /// A container that becomes empty: null, or in some releases an empty one.
    fn preserved(self, before: Value<'a>, after: Value<'a>) -> Value<'a> {
        match (before, after) {
            _ if self.extract || !self.context.rules.emptied_containers_stay => after,
            (Value::Map(_), Value::Null) => Value::Map(value::Map::default()),
            (Value::List(_), Value::Null) => Value::List(&[]),
            _ => after,
        }
    }
}

/// The kept part of a list or map; allocated once something differs.
struct Kept<'a, T> {
    context: Context<'a>,
    all: &'a [T],
    shared: usize,
    written: Option<ArenaVec<'a, T>>,
}

impl<'a, T: Copy + Same> Kept<'a, T> {
    fn new(context: Context<'a>, all: &'a [T]) -> Self {
        Self { context, all, shared: 0, written: None }
    }

    fn keep(&mut self, item: T) {
        // An item may come twice, so the result may be longer.
        let next = self.all.get(self.shared);
        if self.written.is_none() && next.is_some_and(|next| item.is_same(next)) {
            self.shared += 1;
        } else {
            self.write().push(item);
        }
    }

    fn drop_one(&mut self) {
        self.write();
    }

    fn write(&mut self) -> &mut ArenaVec<'a, T> {
        let (context, all, shared) = (self.context, self.all, self.shared);
        self.written.get_or_insert_with(|| {
            let mut out = context.arena.vec_with_capacity(all.len());
            out.extend_from_slice_copy(&all[..shared]);
            out
        })
    }

    /// The kept part; `None` if all is kept unchanged.
    fn finish(self) -> Option<&'a [T]> {
        Some(self.written?.into_bump_slice())
    }
}

trait Same {
    fn is_same(&self, other: &Self) -> bool;
}

impl Same for Value<'_> {
    fn is_same(&self, other: &Self) -> bool {
        Value::is_same(self, other)
    }
}

impl Same for value::Member<'_> {
    fn is_same(&self, other: &Self) -> bool {
        self.0 == other.0 && self.1.is_same(&other.1)
    }
}
