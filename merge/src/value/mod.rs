//! Values: JSON as the API server's merge sees it.
//!
//! A [`Value`] is a small copyable view: strings stay in the object they came from, lists and maps are slices in an
//! [`Arena`], and the members of a map are sorted by name. So a merge can share what it doesn't change,
//! and the check that nothing changed is often a comparison of two pointers.
//!
//! Numbers, equality and order are Go's, since the order of field sets and the results of comparisons depend on them.

mod deserialize;
mod deserializer;
mod json;
mod order;
mod serialize;
mod share;
mod text;

pub(crate) use deserialize::{NameSeed, ValueSeed};
pub use json::{MAX_DEPTH, ValueError};
pub(crate) use text::{
    Dialect, escape_json, go_json, is_plain, is_plain_in_html, plain_length, write_plain_json_string,
};

use crate::arena::{Arena, ArenaVec};

/// A JSON value. Absent is not [`Null`](Self::Null): what may be absent is an `Option<Value>`.
#[derive(Clone, Copy, Debug)]
pub enum Value<'a> {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number written without fraction and exponent that fits 64 bits.
    Int(i64),
    /// Any other number. Equal to an integer of the same value, but it keeps its spelling.
    Float(f64),
    /// A string.
    String(&'a str),
    /// A list.
    List(&'a [Value<'a>]),
    /// A map or struct.
    Map(Map<'a>),
}

/// The members of a map or struct, sorted by name, each name once.
#[derive(Clone, Copy, Debug, Default)]
pub struct Map<'a>(&'a [Member<'a>]);

/// A member of a map: its name and value.
pub type Member<'a> = (&'a str, Value<'a>);

impl<'a> Value<'a> {
    /// The member of this name, where the value is a map that has it.
    pub fn get(&self, name: &str) -> Option<Value<'a>> {
        self.as_map()?.get(name)
    }

    /// The map, where the value is one.
    pub fn as_map(&self) -> Option<Map<'a>> {
        match self {
            Self::Map(map) => Some(*map),
            _ => None,
        }
    }

    /// The items, where the value is a list.
    pub fn as_list(&self) -> Option<&'a [Value<'a>]> {
        match self {
            Self::List(items) => Some(items),
            _ => None,
        }
    }

    /// The text, where the value is a string.
    pub fn as_str(&self) -> Option<&'a str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// The value at a path of fields.
    pub fn at<S: AsRef<str>>(&self, path: &[S]) -> Option<Value<'a>> {
        path.iter().try_fold(*self, |value, name| value.get(name.as_ref()))
    }

    /// This value with the one at a path of fields set, or removed for `None`. Missing parents are created for a set; if a
    /// parent isn't a map nothing changes.
    ///
    /// ```
    /// use baton_merge::{Arena, value::Value};
    ///
    /// let arena = Arena::new();
    /// let scaled = Value::from_text(&arena, "{}")?.with(&arena, &["spec", "replicas"], Some(Value::Int(3)));
    /// assert_eq!(scaled.at(&["spec", "replicas"]), Some(Value::Int(3)));
    /// # Ok::<(), baton_merge::value::ValueError>(())
    /// ```
    #[must_use]
    pub fn with<S: AsRef<str>>(self, arena: &'a Arena, path: &[S], value: Option<Value<'a>>) -> Self {
        let (Self::Map(map), Some((name, rest))) = (self, path.split_first()) else { return self };
        let name = name.as_ref();
        let value = match (rest, value, map.get(name)) {
            ([], value, _) => value,
            (_, None, None) => return self,
            (_, value, Some(child)) => Some(child.with(arena, rest, value)),
            (_, value, None) => Some(Self::Map(Map::default()).with(arena, rest, value)),
        };
        Self::Map(map.with(arena, name, value))
    }

    /// Writes it as JSON, as the API server does: members sorted, floats without a fraction as integers.
    pub fn write_json(&self, out: &mut String) {
        go_json(out, self, Dialect::Standard);
    }

    /// The count of nulls in it.
    pub(crate) fn nulls(&self) -> usize {
        match self {
            Self::Null => 1,
            Self::List(items) => items.iter().map(Self::nulls).sum(),
            Self::Map(map) => map.0.iter().map(|(_, value)| value.nulls()).sum(),
            _ => 0,
        }
    }

    /// Whether `holds` is true for it, or for a value in it.
    pub(crate) fn any(&self, holds: &impl Fn(&Self) -> bool) -> bool {
        holds(self)
            || match self {
                Self::List(items) => items.iter().any(|item| item.any(holds)),
                Self::Map(map) => map.0.iter().any(|(_, value)| value.any(holds)),
                _ => false,
            }
    }

    /// Whether the value is `null`.
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// Whether the server writes both alike: `1` and `1.0`, but not `0` and `-0.0`.
    pub(crate) fn is_written_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Float(left), Self::Float(right)) => left.to_bits() == right.to_bits(),
            (Self::Int(_), Self::Float(_)) | (Self::Float(_), Self::Int(_)) => {
                self == other && {
                    let written = |value| {
                        let mut out = String::new();
                        go_json(&mut out, value, Dialect::Standard);
                        out
                    };
                    written(self) == written(other)
                }
            }
            (Self::List(left), Self::List(right)) => {
                std::ptr::eq(*left, *right)
                    || left.len() == right.len()
                        && left.iter().zip(*right).all(|(left, right)| left.is_written_like(right))
            }
            (Self::Map(left), Self::Map(right)) => {
                std::ptr::eq(left.0, right.0)
                    || left.len() == right.len()
                        && left
                            .0
                            .iter()
                            .zip(right.0)
                            .all(|(left, right)| left.0 == right.0 && left.1.is_written_like(&right.1))
            }
            _ => self == other,
        }
    }

    /// Whether both are equal with the same spelling: `1` isn't `1.0` here.
    pub(crate) fn is_identical(&self, other: &Self) -> bool {
        self.is_same(other)
            || match (self, other) {
                (Self::List(left), Self::List(right)) => {
                    left.len() == right.len()
                        && left.iter().zip(*right).all(|(left, right)| left.is_identical(right))
                }
                (Self::Map(left), Self::Map(right)) => {
                    left.len() == right.len()
                        && left
                            .0
                            .iter()
                            .zip(right.0)
                            .all(|(left, right)| left.0 == right.0 && left.1.is_identical(&right.1))
                }
                _ => false,
            }
    }

    /// Whether both are the same scalar, or the same memory. Cheap, and a true result is certain.
    pub fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Null, Self::Null) => true,
            (Self::Bool(left), Self::Bool(right)) => left == right,
            (Self::Int(left), Self::Int(right)) => left == right,
            (Self::Float(left), Self::Float(right)) => left.to_bits() == right.to_bits(),
            (Self::String(left), Self::String(right)) => left == right,
            (Self::List(left), Self::List(right)) => std::ptr::eq(*left, *right),
            (Self::Map(left), Self::Map(right)) => std::ptr::eq(left.0, right.0),
            _ => false,
        }
    }
}

impl<'a> Map<'a> {
    /// The map of these members in any order. Of two with one name the last counts, as in JSON.
    ///
    /// ```
    /// use baton_merge::{Arena, value::{Map, Value}};
    ///
    /// let arena = Arena::new();
    /// let map = Map::new(&arena, [("name", Value::String("web")), ("image", Value::String("nginx"))]);
    /// assert_eq!(map.members()[0].0, "image", "they are sorted");
    /// ```
    pub fn new(arena: &'a Arena, members: impl IntoIterator<Item = Member<'a>>) -> Self {
        let mut all = arena.vec();
        all.extend(members);
        Self::of_unsorted(all)
    }

    /// The map of these members, sorted by name without duplicates.
    pub(crate) fn of_sorted(members: &'a [Member<'a>]) -> Self {
        debug_assert!(members.is_sorted_by(|left, right| left.0 < right.0), "members aren't sorted");
        Self(members)
    }

    /// The map of these members in any order. Of two with one name the last counts, as in JSON.
    fn of_unsorted(mut members: ArenaVec<'a, Member<'a>>) -> Self {
        // Stable, so that the last stays the last.
        members.sort_by_key(|(name, _)| *name);
        members.dedup_by(|later, earlier| {
            let same = later.0 == earlier.0;
            if same {
                earlier.1 = later.1;
            }
            same
        });
        Self::of_sorted(members.into_bump_slice())
    }

    /// The member of this name.
    pub fn get(&self, name: &str) -> Option<Value<'a>> {
        let at = self.0.binary_search_by(|(member, _)| (*member).cmp(name)).ok()?;
        Some(self.0[at].1)
    }

    /// Whether there is a member of this name.
    pub fn contains(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// The members, sorted by name.
    pub fn members(&self) -> &'a [Member<'a>] {
        self.0
    }

    /// How many members there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The map with a member set, or removed for `None`.
    #[must_use]
    pub fn with(self, arena: &'a Arena, name: &str, value: Option<Value<'a>>) -> Self {
        let at = self.0.binary_search_by(|(own, _)| (*own).cmp(name));
        let (end, begin) = match (at, value) {
            (Err(_), None) => return self,
            (Err(at), Some(_)) => (at, at),
            (Ok(at), _) => (at, at + 1),
        };
        let mut members = arena.vec_with_capacity(self.0.len() + 1);
        members.extend_from_slice_copy(&self.0[..end]);
        if let Some(value) = value {
            let name = if begin > end { self.0[end].0 } else { arena.copy_text(name) };
            members.push((name, value));
        }
        members.extend_from_slice_copy(&self.0[begin..]);
        Self::of_sorted(members.into_bump_slice())
    }

    /// Walks over two maps together, in the order of their names: each name once, with what either side has.
    pub(crate) fn zip(left: Self, right: Self) -> Zip<'a> {
        Zip { left: left.0, right: right.0 }
    }
}

/// Looks a member up among those from here on, and goes on to the next: for names in their order.
#[inline]
pub(crate) fn seek<'a>(members: &mut &'a [Member<'a>], name: &str) -> Option<&'a Member<'a>> {
    while let Some((member, rest)) = members.split_first() {
        let order = member.0.cmp(name);
        if order.is_gt() {
            return None;
        }
        *members = rest;
        if order.is_eq() {
            return Some(member);
        }
    }
    None
}

/// The members of two maps side by side.
pub(crate) struct Zip<'a> {
    left: &'a [Member<'a>],
    right: &'a [Member<'a>],
}

impl<'a> Iterator for Zip<'a> {
    type Item = (&'a str, Option<Value<'a>>, Option<Value<'a>>);

    fn next(&mut self) -> Option<Self::Item> {
        use std::cmp::Ordering::{Equal, Greater, Less};

        let order = match (self.left.first(), self.right.first()) {
            (None, None) => return None,
            (Some(_), None) => Less,
            (None, Some(_)) => Greater,
            (Some((left, _)), Some((right, _))) => left.cmp(right),
        };
        let mut name = "";
        let mut take = |side: &mut &'a [Member<'a>]| {
            let ((member, value), rest) = side.split_first()?;
            *side = rest;
            name = member;
            Some(*value)
        };
        let left = if order == Greater { None } else { take(&mut self.left) };
        let right = if order == Less { None } else { take(&mut self.right) };
        debug_assert!(order != Equal || (left.is_some() && right.is_some()));
        Some((name, left, right))
    }
}
