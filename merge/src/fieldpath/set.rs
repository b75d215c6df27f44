//! A set of paths.

use std::{cmp::Ordering, fmt};

use super::{Path, PathElement, builder::SetBuilder};
use crate::{Arena, arena::ArenaVec};

/// A set of paths, such as a manager owns.
///
/// A path and the paths below it are independent members: `.spec` can be in the set without `.spec.replicas`, and the other
/// way round.
///
/// The set is one slice: the tree of its elements in preorder, siblings sorted. Reading it is a walk forwards; union,
/// difference and the like walk over two slices and write a third. Where structured-merge-diff has separate lists of
/// members and children, a node here has a flag for membership and a count of descendants.
#[derive(Clone, Copy, Debug, Default)]
pub struct FieldSet<'a> {
    nodes: &'a [Node<'a>],
}

/// An element at the top of a set.
#[derive(Clone, Copy, Debug)]
pub struct Branch<'a> {
    /// The element.
    pub element: PathElement<'a>,
    /// Whether the path that ends with it is in the set.
    pub is_member: bool,
    /// The paths below it, which begin there.
    pub below: FieldSet<'a>,
}

impl Branch<'_> {
    /// The branch with this element, among all [branches](FieldSet::branches) of a set.
    pub fn find<'b>(branches: &'b [Self], element: &PathElement<'_>) -> Option<&'b Self> {
        let at = branches.binary_search_by(|branch| branch.element.cmp(element)).ok()?;
        branches.get(at)
    }
}

/// A node of the tree: a member, or a parent, or both; never neither.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node<'a> {
    pub(crate) element: PathElement<'a>,
    /// The count of descendants, which follow this node.
    pub(crate) below: u32,
    /// Whether the path of this node is in the set.
    pub(crate) member: bool,
}

impl Node<'_> {
    /// Whether it has no children, so that it is a member.
    pub(crate) fn is_leaf(&self) -> bool {
        self.below == 0
    }
}

impl<'a> FieldSet<'a> {
    /// The set of these sorted nodes.
    pub(crate) fn of_nodes(nodes: &'a [Node<'a>]) -> Self {
        Self { nodes }
    }

    pub(crate) fn nodes(&self) -> &'a [Node<'a>] {
        self.nodes
    }

    /// The set of these paths, in any order. The empty path, the object itself, can't be owned and is dropped.
    pub fn of_paths(arena: &'a Arena, paths: impl IntoIterator<Item = Path<'a>>) -> Self {
        let mut paths: Vec<_> = paths.into_iter().collect();
        paths.sort();
        let mut builder = SetBuilder::new(arena);
        for path in &paths {
            builder.mark(path.elements());
        }
        builder.finish()
    }

    /// Whether nothing is in the set.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// How many paths are in the set.
    pub fn len(&self) -> usize {
        self.nodes.iter().filter(|node| node.member).count()
    }

    /// Whether the set can be written as FieldsV1: all its elements have a name.
    pub fn is_writable(&self) -> bool {
        !self.nodes.iter().any(|node| matches!(node.element, PathElement::Keyless))
    }

    /// Whether a number in the name of an item is a float that equals several integers.
    pub(crate) fn has_rounded_numbers(&self) -> bool {
        self.nodes.iter().any(|node| match node.element {
            PathElement::Key(fields) => fields.iter().any(|(_, value)| value.has_rounded_numbers()),
            PathElement::Value(value) => value.has_rounded_numbers(),
            _ => false,
        })
    }

    /// Whether this very path is in the set (a path above or below it doesn't count).
    pub fn contains(&self, path: &Path<'_>) -> bool {
        let Some((last, above)) = path.elements().split_last() else { return false };
        let mut set = *self;
        for element in above {
            set = set.below(element);
        }
        set.siblings().find(|(node, _)| node.element == *last).is_some_and(|(node, _)| node.member)
    }

    /// The part of the set below an element, with paths relative to it.
    #[must_use]
    pub fn below(&self, element: &PathElement<'_>) -> Self {
        self.siblings().find(|(node, _)| node.element == *element).map(|(_, below)| below).unwrap_or_default()
    }

    /// The elements at the top of the set, in order, each with what is below it.
    ///
    /// ```
    /// use baton_merge::{Arena, fieldpath::FieldSet};
    ///
    /// let owned = serde_json::json!({"f:labels": {".": {}, "f:app": {}}, "f:spec": {"f:replicas": {}}});
    /// let arena = Arena::new();
    /// let top: Vec<_> = FieldSet::from_fields_v1(&arena, &owned)?.branches().collect();
    /// assert_eq!(top[0].element.to_string(), ".labels");
    /// assert!(top[0].is_member && !top[1].is_member);
    /// assert_eq!(top[1].below.to_string(), ".replicas");
    /// # Ok::<(), baton_merge::fieldpath::FieldsV1Error>(())
    /// ```
    pub fn branches(&self) -> impl Iterator<Item = Branch<'a>> {
        self.siblings().map(|(node, below)| Branch { element: node.element, is_member: node.member, below })
    }

    /// The elements at the top of the set, in order.
    pub(crate) fn siblings(&self) -> Siblings<'a> {
        Siblings { rest: self.nodes }
    }

    /// Visits all paths in the order of structured-merge-diff's `Set.Iterate`: at every level first the members, then the
    /// children of each element.
    pub fn for_each_path(&self, mut visit: impl FnMut(Path<'_>)) {
        walk(*self, &mut Vec::new(), &mut |elements| visit(Path::new(elements)));
    }

    /// All paths, in the order of [`for_each_path`](Self::for_each_path).
    pub fn paths(&self, arena: &'a Arena) -> Vec<Path<'a>> {
        let mut paths = Vec::new();
        walk(*self, &mut Vec::new(), &mut |elements| paths.push(Path::new(arena.slice(elements))));
        paths
    }
}

fn walk<'a>(set: FieldSet<'a>, above: &mut Vec<PathElement<'a>>, visit: &mut dyn FnMut(&[PathElement<'a>])) {
    for (node, _) in set.siblings().filter(|(node, _)| node.member) {
        above.push(node.element);
        visit(above);
        above.pop();
    }
    for (node, below) in set.siblings().filter(|(_, below)| !below.is_empty()) {
        above.push(node.element);
        walk(below, above, visit);
        above.pop();
    }
}

/// Sets are equal when they hold the same paths.
impl PartialEq for FieldSet<'_> {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.nodes, other.nodes)
            || self.nodes.len() == other.nodes.len()
                && self.nodes.iter().zip(other.nodes).all(|(left, right)| {
                    left.below == right.below && left.member == right.member && left.element == right.element
                })
    }
}

impl Eq for FieldSet<'_> {}

/// Prints one path a line.
impl fmt::Display for FieldSet<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lines = Vec::new();
        self.for_each_path(|path| lines.push(path.to_string()));
        f.write_str(&lines.join("\n"))
    }
}

/// The nodes of one level, each with the set below it.
#[derive(Clone, Debug)]
pub(crate) struct Siblings<'a> {
    rest: &'a [Node<'a>],
}

impl<'a> Siblings<'a> {
    /// The next node, without moving on.
    pub(crate) fn peek(&self) -> Option<&'a Node<'a>> {
        self.rest.first()
    }

    /// The next node with its descendants.
    pub(crate) fn next_branch(&mut self) -> Option<&'a [Node<'a>]> {
        let node = self.rest.first()?;
        let (branch, rest) = self.rest.split_at(1 + node.below as usize);
        self.rest = rest;
        Some(branch)
    }

    /// All remaining nodes with their descendants.
    pub(crate) fn rest(&self) -> &'a [Node<'a>] {
        self.rest
    }

    /// Moves to the node of this element, or to where it would be. Returns the passed nodes, and whether the node exists.
    pub(crate) fn advance_to(&mut self, element: &PathElement<'_>) -> (&'a [Node<'a>], bool) {
        let mut passed = 0;
        let mut found = false;
        while let Some(node) = self.rest.get(passed) {
            match node.element.cmp(element) {
                Ordering::Less => passed += 1 + node.below as usize,
                order => {
                    found = order.is_eq();
                    break;
                }
            }
        }
        let (passed, rest) = self.rest.split_at(passed);
        self.rest = rest;
        (passed, found)
    }

    /// Moves past the node of this element, if it exists. For elements in order.
    pub(crate) fn seek(&mut self, element: &PathElement<'_>) -> Option<(&'a Node<'a>, FieldSet<'a>)> {
        if self.advance_to(element).1 { self.next_node() } else { None }
    }

    /// The next node with its descendants of each level, if both have one.
    pub(crate) fn next_pair(&mut self, other: &mut Self) -> Option<[(&'a Node<'a>, FieldSet<'a>); 2]> {
        Some([self.next_node()?, other.next_node()?])
    }

    /// Passes the leaves that both levels share.
    pub(crate) fn pass_same_leaves(&mut self, other: &mut Self) {
        let same =
            self.rest.iter().zip(other.rest).take_while(|(left, right)| {
                left.is_leaf() && right.is_leaf() && left.element == right.element
            });
        let same = same.count();
        (self.rest, other.rest) = (&self.rest[same..], &other.rest[same..]);
    }

    fn next_node(&mut self) -> Option<(&'a Node<'a>, FieldSet<'a>)> {
        let (node, below) = self.next_branch()?.split_first()?;
        Some((node, FieldSet { nodes: below }))
    }
}

impl<'a> Iterator for Siblings<'a> {
    type Item = (&'a Node<'a>, FieldSet<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        self.next_node()
    }
}

/// The nodes of one level, for lookups in any order.
pub(crate) struct SiblingIndex<'a> {
    nodes: ArenaVec<'a, (&'a Node<'a>, FieldSet<'a>)>,
}

impl<'a> SiblingIndex<'a> {
    pub(crate) fn new(arena: &'a Arena, set: FieldSet<'a>) -> Self {
        let mut nodes = arena.vec();
        nodes.extend(set.siblings());
        Self { nodes }
    }

    /// Whether the element is a member, and the set below it.
    pub(crate) fn find(&self, element: &PathElement<'_>) -> Option<(bool, FieldSet<'a>)> {
        let at = self.nodes.binary_search_by(|(node, _)| node.element.cmp(element)).ok()?;
        let (node, below) = self.nodes[at];
        Some((node.member, below))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_a_member_on_its_own_not_through_its_parent() {
        let arena = Arena::new();
        let set = FieldSet::of_paths(&arena, [Path::new(&[PathElement::Field("spec")])]);
        assert!(set.contains(&Path::of_fields(&arena, ["spec"])));
        assert!(!set.contains(&Path::of_fields(&arena, ["spec", "replicas"])));
        assert!(!set.contains(&Path::default()), "the object itself has no owner");
    }

    #[test]
    fn paths_come_members_first_then_what_is_below_them() {
        let arena = Arena::new();
        let paths = [&["spec", "b"][..], &["a", "x"], &["spec", "a", "deep"], &["spec"], &["spec", "a"], &[]];
        let set =
            FieldSet::of_paths(&arena, paths.map(|fields| Path::of_fields(&arena, fields.iter().copied())));
        assert_eq!(set.to_string(), ".spec\n.a.x\n.spec.a\n.spec.b\n.spec.a.deep");
        assert_eq!(set.len(), 5);
        assert_eq!(set.paths(&arena).len(), 5);
    }
}
