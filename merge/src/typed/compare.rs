//! The differences of two values, after `typed/compare.go`.

use super::{
    Context, Invalid,
    error::Violations,
    kinds::{Kind, NO_KIND, NO_TYPE, description, expectation, fits},
};
use crate::{
    Arena,
    fieldpath::{FieldSet, PathElement, SetBuilder},
    schema::{List, Map, TypeId, definition::Scalar},
    value::{self, Value},
};

/// The differences of an old and a new value. No path is in more than one of the sets, except for items that were or become
/// duplicates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ValueComparison<'a> {
    /// Paths that only the new value has: leaves and all new parents.
    pub added: FieldSet<'a>,
    /// Paths with different values.
    pub modified: FieldSet<'a>,
    /// Paths that only the old value has.
    pub removed: FieldSet<'a>,
}

impl<'a> ValueComparison<'a> {
    /// Whether there are no differences.
    pub fn is_same(&self) -> bool {
        self.added.is_empty() && self.modified.is_empty() && self.removed.is_empty()
    }

    /// Changes each of the sets.
    pub(crate) fn map(self, change: impl Fn(FieldSet<'a>) -> FieldSet<'a>) -> Self {
        Self { added: change(self.added), modified: change(self.modified), removed: change(self.removed) }
    }

    /// The paths that the new value sets: added or modified.
    pub(crate) fn set(&self, arena: &'a Arena) -> FieldSet<'a> {
        self.modified.union(arena, self.added)
    }
}

pub(super) fn compare<'a>(
    context: Context<'a>,
    type_id: TypeId,
    old: Value<'a>,
    new: Value<'a>,
) -> Result<ValueComparison<'a>, Invalid> {
    if old.is_same(&new) && context.schema.has_only_named_items() {
        return Ok(ValueComparison::default());
    }
    let set = || SetBuilder::new(context.arena);
    let mut walk = Walk {
        context,
        path: Vec::new(),
        added: set(),
        modified: set(),
        removed: set(),
        violations: Violations::default(),
    };
    walk.either(type_id, Some(old), Some(new));
    let comparison = ValueComparison {
        added: walk.added.finish(),
        modified: walk.modified.finish(),
        removed: walk.removed.finish(),
    };
    walk.violations.or(comparison)
}

struct Walk<'a> {
    context: Context<'a>,
    path: Vec<PathElement<'a>>,
    added: SetBuilder<'a>,
    modified: SetBuilder<'a>,
    removed: SetBuilder<'a>,
    violations: Violations,
}

/// Whether a walk treats a value as a leaf.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Leaf {
    Yes,
    No,
}

impl<'a> Walk<'a> {
    fn either(&mut self, type_id: TypeId, old: Option<Value<'a>>, new: Option<Value<'a>>) {
        let Some(atom) = self.context.schema.atom(type_id) else {
            return self.violations.add(NO_TYPE);
        };
        let (of_old, of_new) = (Kind::of(atom, old.as_ref()), Kind::of(atom, new.as_ref()));
        let leaf = if new.is_none() {
            self.as_kind(of_old, old, new)
        } else {
            // Values of two kinds are compared as both.
            if old.is_some() && !of_old.is_same(of_new) {
                self.as_kind(of_old, old, new);
            }
            self.as_kind(of_new, old, new)
        };
        if leaf == Leaf::No {
            match (old, new) {
                (None, _) => self.added.mark_here(&self.path),
                (_, None) => self.removed.mark_here(&self.path),
                _ => {}
            }
        }
    }

    fn as_kind(&mut self, kind: Kind<'a>, old: Option<Value<'a>>, new: Option<Value<'a>>) -> Leaf {
        match kind {
            Kind::Map(map) => self.maps(map, old, new),
            Kind::Scalar(scalar) => self.scalars(scalar, old, new),
            Kind::List(list) => self.lists(list, old, new),
            Kind::None => {
                self.violations.add(NO_KIND);
                Leaf::No
            }
        }
    }

    fn leaf(&mut self, old: Option<Value<'a>>, new: Option<Value<'a>>) -> Leaf {
        match (old, new) {
            (None, _) => self.added.mark_here(&self.path),
            (_, None) => self.removed.mark_here(&self.path),
            (Some(old), Some(new)) if old != new => self.modified.mark_here(&self.path),
            _ => {}
        }
        Leaf::Yes
    }

    fn scalars(&mut self, scalar: Scalar, old: Option<Value<'a>>, new: Option<Value<'a>>) -> Leaf {
        if let (Some(old), Some(new)) = (old, new)
            && !fits(scalar, &old)
            && !fits(scalar, &new)
        {
            self.violations.add(format!("expected {}, found {}", expectation(scalar), description(&new)));
            return Leaf::No;
        }
        self.leaf(old, new)
    }

    fn maps(&mut self, map: &'a Map, old: Option<Value<'a>>, new: Option<Value<'a>>) -> Leaf {
        let members = |value: Option<Value<'a>>| value.and_then(|value| value.as_map()).unwrap_or_default();
        let (old_members, new_members) = (members(old), members(new));
        // Two empty or null values are a leaf, so that `{}` and null differ.
        if map.is_atomic || (old_members.is_empty() && new_members.is_empty()) {
            return self.leaf(old, new);
        }
        for (name, old, new) in value::Map::zip(old_members, new_members) {
            self.below(PathElement::Field(name), map.member(name), old, new);
        }
        Leaf::No
    }

    fn lists(&mut self, list: &'a List, old: Option<Value<'a>>, new: Option<Value<'a>>) -> Leaf {
        let items = |value: Option<Value<'a>>| value.and_then(|value| value.as_list()).unwrap_or_default();
        let (old_items, new_items) = (items(old), items(new));
        if list.is_atomic() || (old_items.is_empty() && new_items.is_empty()) {
            return self.leaf(old, new);
        }
        self.items(list, old_items, new_items);
        Leaf::No
    }

    /// Compares the items by name, in the order of their names.
    fn items(&mut self, list: &'a List, old: &'a [Value<'a>], new: &'a [Value<'a>]) {
        let mut items = self.context.arena.vec_with_capacity(old.len() + new.len());
        for (side, values) in [(Side::Old, old), (Side::New, new)] {
            for (position, value) in values.iter().enumerate() {
                match self.context.element(list, value) {
                    Ok(name) => items.push((name, side, value)),
                    Err(error) => self.violations.add(format!("item {position}: {error}")),
                }
            }
        }
        // Stable: within a name the old items come before the new ones, each in their order.
        items.sort_by_key(|(name, ..)| *name);
        for same in items.chunk_by(|(left, ..), (right, ..)| left == right) {
            let split = same.partition_point(|(_, side, _)| *side == Side::Old);
            let (old, new) = same.split_at(split);
            let name = same[0].0;
            let value =
                |items: &[(PathElement<'a>, Side, &'a Value<'a>)]| items.first().map(|(.., value)| **value);
            match (old.len(), new.len()) {
                (0 | 1, 0 | 1) => self.below(name, list.element, value(old), value(new)),
                // Duplicates on both sides count as one leaf.
                (2.., 2..) => {
                    let equal = old.len() == new.len()
                        && old.iter().zip(new).all(|((.., old), (.., new))| old == new);
                    if !equal {
                        self.at(name, |walk| walk.modified.mark_here(&walk.path));
                    }
                }
                // No duplicates any more: they are removed as one, and the remaining item is added.
                (2.., _) => self.at(name, |walk| {
                    if let Some(new) = value(new) {
                        walk.either(list.element, None, Some(new));
                    }
                    walk.removed.mark_here(&walk.path);
                }),
                (_, _) => self.at(name, |walk| {
                    if let Some(old) = value(old) {
                        walk.either(list.element, Some(old), None);
                    }
                    walk.added.mark_here(&walk.path);
                }),
            }
        }
    }

    fn below(
        &mut self,
        element: PathElement<'a>,
        type_id: TypeId,
        old: Option<Value<'a>>,
        new: Option<Value<'a>>,
    ) {
        if let (Some(old), Some(new)) = (old, new)
            && old.is_same(&new)
            && self.context.schema.has_only_named_items()
        {
            return;
        }
        self.at(element, |walk| walk.either(type_id, old, new));
    }

    fn at(&mut self, element: PathElement<'a>, walk: impl FnOnce(&mut Self)) {
        let before = self.violations.len();
        self.path.push(element);
        walk(self);
        let depth = self.path.len();
        self.added.leave(depth);
        self.modified.leave(depth);
        self.removed.leave(depth);
        self.path.pop();
        self.violations.prefix(before, &element);
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Old,
    New,
}
