//! Merges two values, after `typed/merge.go`.
//!
//! Parts of the live value that don't change are shared, down to the whole object if nothing changes, so that a no-op is
//! cheap to detect.

use super::{
    Context, Invalid,
    error::Violations,
    kinds::{Kind, NO_KIND, NO_TYPE, description, expectation, fits},
};
use crate::{
    arena::ArenaVec,
    fieldpath::PathElement,
    schema::{List, Map, TypeId, definition::Scalar},
    value::{self, Value},
};

pub(super) fn merge<'a>(
    context: Context<'a>,
    type_id: TypeId,
    live: Value<'a>,
    applied: Value<'a>,
) -> Result<Value<'a>, Invalid> {
    let mut walk = Walk { context, violations: Violations::default() };
    let merged = walk.sides(type_id, Some(live), Some(applied));
    walk.violations.or(merged.unwrap_or(Value::Null))
}

struct Walk<'a> {
    context: Context<'a>,
    violations: Violations,
}

impl<'a> Walk<'a> {
    /// Merges two sides, of which at least one is there.
    fn sides(
        &mut self,
        type_id: TypeId,
        live: Option<Value<'a>>,
        applied: Option<Value<'a>>,
    ) -> Option<Value<'a>> {
        // A value that only one side has is taken as it is: both sides are valid, so nothing in it can be refused.
        if self.context.schema.has_only_named_items() && (live.is_none() || applied.is_none()) {
            return live.or(applied);
        }
        let Some(atom) = self.context.schema.atom(type_id) else {
            self.violations.add(NO_TYPE);
            return None;
        };
        let kind = |value: Option<Value<'a>>| Kind::of(atom, value.as_ref());
        let Some(applied) = applied else { return self.as_kind(kind(live), live, None) };
        let (of_live, of_applied) = (kind(live), kind(Some(applied)));
        if live.is_some() && !of_live.is_same(of_applied) {
            // Only the errors count of the merge as the live value's own kind.
            self.as_kind(of_live, live, Some(applied));
        }
        self.as_kind(of_applied, live, Some(applied))
    }

    fn as_kind(
        &mut self,
        kind: Kind<'a>,
        live: Option<Value<'a>>,
        applied: Option<Value<'a>>,
    ) -> Option<Value<'a>> {
        match kind {
            Kind::Map(map) => self.maps(map, live, applied),
            Kind::Scalar(scalar) => self.scalars(scalar, live, applied),
            Kind::List(list) => self.lists(list, live, applied),
            Kind::None => {
                self.violations.add(NO_KIND);
                None
            }
        }
    }

    fn scalars(
        &mut self,
        scalar: Scalar,
        live: Option<Value<'a>>,
        applied: Option<Value<'a>>,
    ) -> Option<Value<'a>> {
        if let (Some(live), Some(applied)) = (live, applied)
            && !fits(scalar, &live)
            && !fits(scalar, &applied)
        {
            let (expected, found) = (expectation(scalar), description(&applied));
            self.violations.add(format!("expected {expected}, found {found}"));
            return None;
        }
        rhs_or_lhs(live, applied)
    }

    fn maps(
        &mut self,
        map: &'a Map,
        live: Option<Value<'a>>,
        applied: Option<Value<'a>>,
    ) -> Option<Value<'a>> {
        let members = |value: Option<Value<'a>>| value.and_then(|value| value.as_map()).unwrap_or_default();
        let (lhs, rhs) = (members(live), members(applied));
        // Two empty or null values are a leaf, so that `{}` and null differ.
        if map.is_atomic || (lhs.is_empty() && rhs.is_empty()) {
            return rhs_or_lhs(live, applied);
        }
        let mut shared = 0;
        // Allocated once something differs from the live map.
        let mut written: Option<ArenaVec<'a, value::Member<'a>>> = None;
        for (name, live, applied) in value::Map::zip(lhs, rhs) {
            let before = self.violations.len();
            let merged = self.sides(map.member(name), live, applied);
            self.violations.prefix(before, &PathElement::Field(name));
            match (live, merged, &mut written) {
                (Some(live), Some(merged), None) if merged.is_same(&live) => shared += 1,
                (_, merged, None) => {
                    let mut out = self.context.arena.vec_with_capacity(lhs.len() + rhs.len());
                    out.extend_from_slice_copy(&lhs.members()[..shared]);
                    out.extend(merged.map(|merged| (name, merged)));
                    written = Some(out);
                }
                (_, merged, Some(out)) => out.extend(merged.map(|merged| (name, merged))),
            }
        }
        match written {
            None => live,
            Some(out) if out.is_empty() => None,
            Some(out) => Some(Value::Map(value::Map::of_sorted(out.into_bump_slice()))),
        }
    }

    fn lists(
        &mut self,
        list: &'a List,
        live: Option<Value<'a>>,
        applied: Option<Value<'a>>,
    ) -> Option<Value<'a>> {
        let items = |value: Option<Value<'a>>| value.and_then(|value| value.as_list()).unwrap_or_default();
        let (lhs, rhs) = (items(live), items(applied));
        if list.is_atomic() || (lhs.is_empty() && rhs.is_empty()) {
            return rhs_or_lhs(live, applied);
        }
        let lhs_names = self.names(list, lhs)?;
        let rhs_names = self.names(list, rhs)?;
        let rhs_index = Index::new(self.context, rhs, &rhs_names);
        if let Some(duplicate) = rhs_index.duplicate() {
            self.violations.add(format!("duplicate entries for key {duplicate}"));
            return None;
        }
        let out = if lhs_names[..] == rhs_names[..] {
            self.pairwise(list, lhs, rhs)
        } else {
            let lhs_index = Index::new(self.context, lhs, &lhs_names);
            Interleaving {
                list,
                lhs: Side { items: lhs, names: &lhs_names, index: lhs_index },
                rhs: Side { items: rhs, names: &rhs_names, index: rhs_index },
            }
            .merge(self)
        };
        if out.is_empty() {
            return None;
        }
        let unchanged =
            out.len() == lhs.len() && out.iter().zip(lhs).all(|(merged, live)| merged.is_same(live));
        if unchanged { live } else { Some(Value::List(out.into_bump_slice())) }
    }

    /// Merges two lists with the same items in the same order, as in an apply that changes nothing.
    fn pairwise(&mut self, list: &'a List, lhs: &[Value<'a>], rhs: &[Value<'a>]) -> ArenaVec<'a, Value<'a>> {
        let mut out = self.context.arena.vec_with_capacity(lhs.len());
        for (live, applied) in lhs.iter().zip(rhs) {
            out.extend(self.item(list, Some(*live), Some(*applied)));
        }
        out
    }

    /// Merges one item. Violations below an item aren't reported, as upstream.
    fn item(
        &mut self,
        list: &'a List,
        live: Option<Value<'a>>,
        applied: Option<Value<'a>>,
    ) -> Option<Value<'a>> {
        let reported = std::mem::take(&mut self.violations);
        let merged = self.sides(list.element, live, applied);
        self.violations = reported;
        merged
    }

    fn names(&mut self, list: &'a List, items: &[Value<'a>]) -> Option<ArenaVec<'a, PathElement<'a>>> {
        let mut names = self.context.arena.vec_with_capacity(items.len());
        for (position, item) in items.iter().enumerate() {
            match self.context.element(list, item) {
                Ok(name) => names.push(name),
                Err(error) => {
                    self.violations.add(format!("item {position}: {error}"));
                    return None;
                }
            }
        }
        Some(names)
    }
}

/// The applied one of two leaves; the live one if they are identical, so that it stays shared.
fn rhs_or_lhs<'a>(live: Option<Value<'a>>, applied: Option<Value<'a>>) -> Option<Value<'a>> {
    match (live, applied) {
        (Some(live), Some(applied)) if !live.is_identical(&applied) => Some(applied),
        (Some(live), _) => Some(live),
        (None, applied) => applied,
    }
}

/// The items of a list by their path elements.
struct Index<'a> {
    /// Sorted by element; null for an element with several items.
    items: ArenaVec<'a, (PathElement<'a>, Value<'a>)>,
    duplicate: Option<PathElement<'a>>,
}

impl<'a> Index<'a> {
    fn new(context: Context<'a>, items: &[Value<'a>], names: &[PathElement<'a>]) -> Self {
        let mut sorted = context.arena.vec_with_capacity(items.len());
        sorted.extend(names.iter().copied().zip(items.iter().copied()));
        if !sorted.is_sorted_by(|(left, _), (right, _)| left < right) {
            sorted.sort_by_key(|(name, _)| *name);
        }
        let mut duplicate = None;
        sorted.dedup_by(|later, earlier| {
            let same = later.0 == earlier.0;
            if same {
                // Duplicates aren't merged with the new value: they count as null.
                earlier.1 = Value::Null;
                duplicate = Some(later.0);
            }
            same
        });
        Self { items: sorted, duplicate }
    }

    fn duplicate(&self) -> Option<PathElement<'a>> {
        self.duplicate
    }

    fn find(&self, name: &PathElement<'_>) -> Option<usize> {
        self.items.binary_search_by(|(own, _)| own.cmp(name)).ok()
    }

    fn get(&self, name: &PathElement<'_>) -> Option<Value<'a>> {
        self.find(name).map(|at| self.items[at].1)
    }
}

struct Side<'n, 'a> {
    items: &'a [Value<'a>],
    names: &'n [PathElement<'a>],
    index: Index<'a>,
}

/// Merges two lists whose items or order differ.
///
/// The result has the order of the applied list, and items that only the live list has keep their place relative to those
/// around them. This is upstream's loop, step for step: its result for reordered lists is surprising (`[a, b, c]` with `[c,
/// a]` applied is `[b, c, a]`) and people rely on it.
struct Interleaving<'n, 'a> {
    list: &'a List,
    lhs: Side<'n, 'a>,
    rhs: Side<'n, 'a>,
}

impl<'a> Interleaving<'_, 'a> {
    fn merge(&self, walk: &mut Walk<'a>) -> ArenaVec<'a, Value<'a>> {
        let (lhs, rhs) = (&self.lhs, &self.rhs);
        let arena = walk.context.arena;
        let mut out = arena.vec_with_capacity(lhs.items.len() + rhs.items.len());
        let mut merged = arena.vec_with_capacity(rhs.names.len());
        merged.resize(rhs.names.len(), false);
        let mut shared_order = rhs.names.iter().filter(|name| lhs.index.find(name).is_some());
        let mut next_shared = shared_order.next();

        let (mut lhs_at, mut rhs_at) = (0, 0);
        while lhs_at < lhs.names.len() || rhs_at < rhs.names.len() {
            if let (Some(name), Some(other)) = (lhs.names.get(lhs_at), rhs.names.get(rhs_at)) {
                if name == other {
                    self.take_both(walk, name, &mut merged, &mut out);
                    lhs_at += 1;
                    rhs_at += 1;
                    next_shared = shared_order.next();
                    continue;
                }
                if rhs.index.find(name).is_some() && next_shared.is_some_and(|next| next != name) {
                    // A shared item whose turn is later.
                    lhs_at += 1;
                    continue;
                }
            }
            if let Some(name) = lhs.names.get(lhs_at) {
                match rhs.index.find(name) {
                    None => {
                        out.extend(walk.item(self.list, Some(lhs.items[lhs_at]), None));
                        lhs_at += 1;
                        continue;
                    }
                    // Already merged with the applied item.
                    Some(at) if merged[at] => lhs_at += 1,
                    Some(_) => {}
                }
            }
            if let Some(name) = rhs.names.get(rhs_at) {
                self.take_both(walk, name, &mut merged, &mut out);
                rhs_at += 1;
                if next_shared == Some(name) {
                    next_shared = shared_order.next();
                }
            }
        }
        out
    }

    fn take_both(
        &self,
        walk: &mut Walk<'a>,
        name: &PathElement<'a>,
        merged: &mut [bool],
        out: &mut ArenaVec<'a, Value<'a>>,
    ) {
        if let Some(at) = self.rhs.index.find(name) {
            merged[at] = true;
        }
        out.extend(walk.item(self.list, self.lhs.index.get(name), self.rhs.index.get(name)));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use crate::{
        Arena,
        schema::{Schema, definition::SchemaDefinition},
        typed::{Duplicates, Typed},
        value::Value,
    };

    fn merged_sets(live: &Json, applied: &Json) -> Json {
        let set = json!({"elementType": {"scalar": "untyped"}, "elementRelationship": "associative"});
        let definition = SchemaDefinition::from_json(&json!({"types": [{"name": "set", "list": set}]}));
        let schema = Schema::compile(&definition.unwrap());
        let arena = Arena::new();
        let typed = |json, duplicates| {
            let value = Value::from_json(&arena, json).unwrap();
            Typed::new(&arena, &schema, schema.type_named("set").unwrap(), value, duplicates).unwrap()
        };
        let live = typed(live, Duplicates::Allowed);
        live.merge(&typed(applied, Duplicates::Forbidden)).unwrap().value().to_json()
    }

    #[test]
    fn the_order_of_a_set_follows_what_is_applied() {
        for (live, applied, expected) in [
            (json!(["a", "b", "c"]), json!(["c", "a"]), json!(["b", "c", "a"])),
            (json!(["a", "b"]), json!(["a", "b"]), json!(["a", "b"])),
            (json!(["a", "b", "c"]), json!(["d"]), json!(["a", "b", "c", "d"])),
            (json!(["a", "b", "c"]), json!(["b", "x"]), json!(["a", "b", "c", "x"])),
            (json!(["a", "b", "c", "d"]), json!(["d", "c", "x"]), json!(["a", "b", "d", "c", "x"])),
            (json!(["a", "a", "b"]), json!(["a"]), json!(["a", "b"])),
            (json!(["a", "a", "b"]), json!(["b"]), json!(["a", "a", "b"])),
            (json!([]), json!(["a"]), json!(["a"])),
            (json!(null), json!([]), json!([])),
        ] {
            assert_eq!(merged_sets(&live, &applied), expected, "{live} with {applied}");
        }
    }

    #[test]
    fn what_does_not_change_is_shared() {
        let arena = Arena::new();
        let schema = Schema::deduced();
        let json = json!({"a": {"b": [1, 2]}, "c": {"d": "e"}});
        let typed = |json| {
            let value = Value::from_json(&arena, json).unwrap();
            Typed::new(&arena, schema, schema.deduced_type().unwrap(), value, Duplicates::Forbidden).unwrap()
        };
        let live = typed(&json);
        let part = json!({"a": {"b": [1, 2]}});
        assert!(live.merge(&typed(&part)).unwrap().value().is_same(&live.value()));
        let other = json!({"a": {"b": [1]}});
        let merged = live.merge(&typed(&other)).unwrap().value();
        assert!(!merged.is_same(&live.value()));
        assert!(merged.get("c").unwrap().is_same(&live.value().get("c").unwrap()));
    }
}
