//! Values in each other's memory.
//!
//! Two objects of one write are mostly the same. Seen once and put into the same memory, what is the same is neither
//! walked nor compared again.

use super::{Map, Member, Value};
use crate::{Arena, arena::ArenaVec};

impl<'a> Value<'a> {
    /// The same value, in the memory of another one as far as the two are identical: spelled alike, items of lists at the
    /// same place.
    #[inline]
    pub(crate) fn shared_with(&self, arena: &'a Arena, other: &Self) -> Self {
        match (self, other) {
            (Self::List(items), Self::List(others)) => Self::List(shared(arena, items, others)),
            (Self::Map(map), Self::Map(other)) => Self::Map(Map(shared(arena, map.0, other.0))),
            _ => *self,
        }
    }

    /// Whether both are containers in the same memory.
    pub(crate) fn shares_memory(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::List(left), Self::List(right)) => std::ptr::eq(*left, *right),
            (Self::Map(left), Self::Map(right)) => std::ptr::eq(left.0, right.0),
            _ => false,
        }
    }
}

/// The parts of a container, from the memory of another one where that has the same.
///
/// A call of its own, so that scalars, which most parts are, cost none.
#[inline(never)]
fn shared<'a, T: Part<'a>>(arena: &'a Arena, parts: &'a [T], others: &'a [T]) -> &'a [T] {
    let mut left = others;
    // Written only once something differs.
    let mut written: Option<ArenaVec<'a, T>> = None;
    for (at, part) in parts.iter().enumerate() {
        let other = part.take_counterpart(&mut left);
        let part = other.map_or(*part, |other| part.shared_with(arena, other));
        let is_same = other.is_some_and(|other| part.is_same(other)) && at + 1 + left.len() == others.len();
        match &mut written {
            Some(written) => written.push(part),
            None if is_same => {}
            None => {
                let mut out = arena.vec_with_capacity(parts.len());
                out.extend_from_slice_copy(&others[..at]);
                out.push(part);
                written = Some(out);
            }
        }
    }
    match written {
        Some(written) => written.into_bump_slice(),
        None => &others[..parts.len()],
    }
}

/// A part of a list or map.
trait Part<'a>: Copy {
    /// Takes the counterpart of this part from another container, and skips all parts before it.
    fn take_counterpart(&self, others: &mut &'a [Self]) -> Option<&'a Self>;

    fn shared_with(&self, arena: &'a Arena, other: &Self) -> Self;

    fn is_same(&self, other: &Self) -> bool;
}

impl<'a> Part<'a> for Value<'a> {
    fn take_counterpart(&self, others: &mut &'a [Self]) -> Option<&'a Self> {
        let (first, rest) = others.split_first()?;
        *others = rest;
        Some(first)
    }

    fn shared_with(&self, arena: &'a Arena, other: &Self) -> Self {
        Value::shared_with(self, arena, other)
    }

    fn is_same(&self, other: &Self) -> bool {
        Value::is_same(self, other)
    }
}

impl<'a> Part<'a> for Member<'a> {
    fn take_counterpart(&self, others: &mut &'a [Self]) -> Option<&'a Self> {
        super::seek(others, self.0)
    }

    fn shared_with(&self, arena: &'a Arena, other: &Self) -> Self {
        (self.0, self.1.shared_with(arena, &other.1))
    }

    fn is_same(&self, other: &Self) -> bool {
        self.1.is_same(&other.1)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn address<T>(parts: &[T]) -> usize {
        parts.as_ptr().addr()
    }

    #[test]
    fn what_is_identical_is_in_the_same_memory_and_all_else_stays() {
        let arena = Arena::new();
        let live = json!({"a": {"b": [1, {"c": 2}]}, "d": [{"e": 1}, {"e": 2}, {"e": 3}], "f": {"g": 0.0}});
        let live = Value::from_json(&arena, &live).unwrap();
        for json in [
            json!({"a": {"b": [1, {"c": 2}]}, "d": [{"e": 1}, {"e": 2}, {"e": 3}], "f": {"g": 0.0}}),
            json!({"a": {"b": [1, {"c": 2}]}, "d": [{"e": 1}, {"e": 2}], "f": {"g": -0.0}}),
            json!({"a": {"b": [1, {"c": 2}]}, "d": [{"e": 1}, {"e": 7}, {"e": 3}, {"e": 4}]}),
            json!({"0": {}, "a": {"b": [1, {"c": 2}], "c": []}, "c": [], "d": {}, "f": {"g": 0}}),
            json!({"a": {"0": 1, "b": [1, {"c": 2}]}, "z": 1}),
            json!({}),
            json!([]),
        ] {
            let value = Value::from_json(&arena, &json).unwrap();
            let shared = value.shared_with(&arena, &live);
            assert!(shared.is_identical(&value), "{shared} isn't {value}");
            let list = |value: &Value<'_>| value.get("a")?.get("b")?.as_list().map(address);
            assert_eq!(list(&shared), list(&value).and(list(&live)), "{value}");
            let item =
                |value: &Value<'_>| value.get("d")?.as_list()?.first()?.as_map().map(|map| address(map.0));
            assert_eq!(item(&shared), item(&value).and(item(&live)), "{value}");
        }
    }
}
