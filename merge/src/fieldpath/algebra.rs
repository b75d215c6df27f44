//! Union, intersection, differences and leaves of sets.
//!
//! Each is one walk over one or two slices of nodes that writes a third. As in `fieldpath/set.go` of structured-merge-diff,
//! a path and the paths below it are separate members.

use std::cmp::Ordering;

use super::{FieldSet, Node, builder::position};
use crate::{Arena, arena::ArenaVec};

type Nodes<'a> = ArenaVec<'a, Node<'a>>;

impl<'a> FieldSet<'a> {
    /// The paths that are in either set.
    #[must_use]
    pub fn union(self, arena: &'a Arena, other: Self) -> Self {
        if other.is_empty() {
            return self;
        }
        if self.is_empty() {
            return other;
        }
        let mut out = arena.vec_with_capacity(self.nodes().len() + other.nodes().len());
        union(self, other, &mut out);
        Self::of_nodes(out.into_bump_slice())
    }

    /// The paths that are in any of these sets. A union one by one would copy the first sets once for each later one.
    #[must_use]
    pub fn union_all(arena: &'a Arena, sets: impl IntoIterator<Item = Self>) -> Self {
        let mut sets: Vec<Self> = sets.into_iter().collect();
        while sets.len() > 1 {
            let unite = |pair: &[Self]| pair.iter().fold(Self::default(), |all, set| all.union(arena, *set));
            sets = sets.chunks(2).map(unite).collect();
        }
        sets.pop().unwrap_or_default()
    }

    /// The paths that are in both sets.
    #[must_use]
    pub fn intersection(self, arena: &'a Arena, other: Self) -> Self {
        if self.is_empty() || other.is_empty() {
            return Self::default();
        }
        let mut out = arena.vec();
        intersection(self, other, &mut out);
        Self::of_nodes(out.into_bump_slice())
    }

    /// The paths of this set that aren't in the other. Paths below a path of the other set stay.
    #[must_use]
    pub fn difference(self, arena: &'a Arena, other: Self) -> Self {
        if self.is_empty() || other.is_empty() {
            return self;
        }
        let mut out = arena.vec_with_capacity(self.nodes().len());
        difference(self, other, &mut out);
        Self::of_nodes(out.into_bump_slice())
    }

    /// The paths of this set that are neither in the other nor below one of its paths.
    #[must_use]
    pub fn recursive_difference(self, arena: &'a Arena, other: Self) -> Self {
        if self.is_empty() || other.is_empty() {
            return self;
        }
        let mut out = arena.vec_with_capacity(self.nodes().len());
        recursive_difference(self, other, &mut out);
        Self::of_nodes(out.into_bump_slice())
    }

    /// The paths that have no path of the set below them.
    #[must_use]
    pub fn leaves(self, arena: &'a Arena) -> Self {
        let mut out = arena.vec_with_capacity(self.nodes().len());
        out.extend(self.nodes().iter().map(|node| Node { member: node.member && node.below == 0, ..*node }));
        Self::of_nodes(out.into_bump_slice())
    }

    /// Whether every path of this set is in the other.
    pub fn is_subset(self, other: Self) -> bool {
        if std::ptr::eq(self.nodes(), other.nodes()) {
            return true;
        }
        let mut others = other.siblings();
        self.siblings().all(|(node, below)| match others.seek(&node.element) {
            Some((other, other_below)) => (!node.member || other.member) && below.is_subset(other_below),
            None => false,
        })
    }

    /// Whether no path is in both sets.
    pub fn is_disjoint(self, other: Self) -> bool {
        let mut others = other.siblings();
        self.siblings().all(|(node, below)| match others.seek(&node.element) {
            Some((other, other_below)) => !(node.member && other.member) && below.is_disjoint(other_below),
            None => true,
        })
    }
}

/// Writes a node and its children; removes it if it is no member and has none.
pub(super) fn branch<'a>(out: &mut Nodes<'a>, node: Node<'a>, below: impl FnOnce(&mut Nodes<'a>)) {
    let at = out.len();
    out.push(node);
    below(out);
    let length = out.len() - at - 1;
    if length == 0 && !node.member {
        out.pop();
    } else {
        out[at].below = position(length);
    }
}

fn union<'a>(left: FieldSet<'a>, right: FieldSet<'a>, out: &mut Nodes<'a>) {
    let (mut lefts, mut rights) = (left.siblings(), right.siblings());
    while let (Some(left), Some(right)) = (lefts.peek(), rights.peek()) {
        match left.element.cmp(&right.element) {
            Ordering::Less => out.extend_from_slice_copy(lefts.next_branch().unwrap_or_default()),
            Ordering::Greater => out.extend_from_slice_copy(rights.next_branch().unwrap_or_default()),
            Ordering::Equal => {
                let Some([(left, left_below), (right, right_below)]) = lefts.next_pair(&mut rights) else {
                    break;
                };
                // Of `1` and `1.0` the members' list keeps the right one's spelling, the children's list the left one's.
                // The children's is written, if there are any.
                let element = if left.is_leaf() { right.element } else { left.element };
                let node = Node { element, below: 0, member: left.member || right.member };
                if left.is_leaf() && right.is_leaf() {
                    out.push(node);
                } else {
                    branch(out, node, |out| union(left_below, right_below, out));
                }
            }
        }
    }
    out.extend_from_slice_copy(lefts.rest());
    out.extend_from_slice_copy(rights.rest());
}

fn intersection<'a>(left: FieldSet<'a>, right: FieldSet<'a>, out: &mut Nodes<'a>) {
    let mut rights = right.siblings();
    for (node, below) in left.siblings() {
        if let Some((other, other_below)) = rights.seek(&node.element) {
            let node = Node { member: node.member && other.member, ..*node };
            branch(out, node, |out| intersection(below, other_below, out));
        }
    }
}

fn difference<'a>(left: FieldSet<'a>, right: FieldSet<'a>, out: &mut Nodes<'a>) {
    let (mut lefts, mut rights) = (left.siblings(), right.siblings());
    while let (Some(left), Some(right)) = (lefts.peek(), rights.peek()) {
        match left.element.cmp(&right.element) {
            Ordering::Less => out.extend_from_slice_copy(lefts.next_branch().unwrap_or_default()),
            Ordering::Greater => drop(rights.next_branch()),
            // Removed leaves leave no trace.
            Ordering::Equal if left.is_leaf() && right.is_leaf() => lefts.pass_same_leaves(&mut rights),
            Ordering::Equal => {
                let Some([(node, below), (other, other_below)]) = lefts.next_pair(&mut rights) else { break };
                let node = Node { member: node.member && !other.member, ..*node };
                branch(out, node, |out| difference(below, other_below, out));
            }
        }
    }
    out.extend_from_slice_copy(lefts.rest());
}

fn recursive_difference<'a>(left: FieldSet<'a>, right: FieldSet<'a>, out: &mut Nodes<'a>) {
    let mut lefts = left.siblings();
    for (other, other_below) in right.siblings() {
        let (before, found) = lefts.advance_to(&other.element);
        out.extend_from_slice_copy(before);
        if !found {
            continue;
        }
        let Some((node, below)) = lefts.next() else { break };
        if !other.member {
            branch(out, *node, |out| recursive_difference(below, other_below, out));
        }
    }
    out.extend_from_slice_copy(lefts.rest());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fieldpath::{Path, PathElement};

    fn set<'a>(arena: &'a Arena, paths: &[&'a str]) -> FieldSet<'a> {
        FieldSet::of_paths(arena, paths.iter().map(|path| Path::of_fields(arena, path.split('.'))))
    }

    fn lines(set: FieldSet<'_>) -> Vec<String> {
        let text = set.to_string();
        if text.is_empty() { Vec::new() } else { text.lines().map(ToOwned::to_owned).collect() }
    }

    #[test]
    fn a_difference_keeps_what_is_below_and_a_recursive_one_does_not() {
        let arena = Arena::new();
        let left = set(&arena, &["a", "a.b", "a.b.c", "d.e"]);
        let right = set(&arena, &["a.b", "d"]);
        assert_eq!(lines(left.difference(&arena, right)), [".a", ".a.b.c", ".d.e"]);
        assert_eq!(lines(left.recursive_difference(&arena, right)), [".a"]);
    }

    #[test]
    fn union_and_intersection_take_members_one_by_one() {
        let arena = Arena::new();
        let left = set(&arena, &["a", "a.b", "c.d"]);
        let right = set(&arena, &["a.b", "a.c", "c", "e"]);
        assert_eq!(lines(left.union(&arena, right)), [".a", ".c", ".e", ".a.b", ".a.c", ".c.d"]);
        assert_eq!(lines(left.intersection(&arena, right)), [".a.b"]);
        assert!(left.is_subset(left.union(&arena, right)));
        assert!(!left.is_subset(right));
        assert!(left.is_disjoint(set(&arena, &["a.x", "c", "d"])));
    }

    #[test]
    fn the_union_of_many_sets_is_that_of_one_after_the_other() {
        let arena = Arena::new();
        for paths in [&[][..], &["a"], &["b", "a", "a.b"], &["a.b", "c", "a", "d.e", "a.c.d"]] {
            let sets = || paths.iter().map(|path| set(&arena, &[*path]));
            let one_by_one = sets().fold(FieldSet::default(), |all, set| all.union(&arena, set));
            assert_eq!(FieldSet::union_all(&arena, sets()), one_by_one);
        }
    }

    #[test]
    fn leaves_are_what_has_nothing_below() {
        let arena = Arena::new();
        assert_eq!(lines(set(&arena, &["a", "a.b", "c"]).leaves(&arena)), [".c", ".a.b"]);
    }

    #[test]
    fn nothing_is_left_of_a_set_without_itself() {
        let arena = Arena::new();
        let all = set(&arena, &["a", "a.b", "c.d.e"]);
        assert!(all.difference(&arena, all).is_empty());
        assert!(all.recursive_difference(&arena, all).is_empty());
        assert_eq!(all.intersection(&arena, all), all);
        assert_eq!(all.union(&arena, all), all);
        assert!(all.below(&PathElement::Field("c")).contains(&Path::of_fields(&arena, ["d", "e"])));
    }
}
