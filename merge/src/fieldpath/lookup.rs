//! A set for many lookups of single paths.

use super::{FieldSet, Node, Path, PathElement, algebra::branch};
use crate::{Arena, arena::ArenaVec};

/// A set that finds a path by binary search. A [`FieldSet`] is read from its start, so looking up each path of another
/// large set would cost the product of both sizes.
#[derive(Clone, Debug)]
pub struct Lookup<'a> {
    nodes: &'a [Node<'a>],
    /// The indexes of the nodes, level by level: those at the top first, and the children of a node together.
    positions: ArenaVec<'a, u32>,
    /// For each node, the range of its children in `positions`.
    below: ArenaVec<'a, Level>,
    top: Level,
}

/// The nodes of one level: a range in `positions`.
#[derive(Clone, Copy, Debug, Default)]
struct Level {
    start: u32,
    end: u32,
}

impl<'a> FieldSet<'a> {
    /// Indexes the set for many lookups.
    ///
    /// ```
    /// use baton_merge::{Arena, fieldpath::{FieldSet, Path}};
    ///
    /// let arena = Arena::new();
    /// let owned = serde_json::json!({"f:spec": {"f:replicas": {}}});
    /// let lookup = FieldSet::from_fields_v1(&arena, &owned)?.lookup(&arena);
    /// assert!(lookup.contains(Path::of_fields(&arena, ["spec", "replicas"])));
    /// assert!(!lookup.contains(Path::of_fields(&arena, ["spec"])));
    /// assert!(lookup.has_within(Path::of_fields(&arena, ["spec"])));
    /// # Ok::<(), baton_merge::fieldpath::FieldsV1Error>(())
    /// ```
    pub fn lookup(self, arena: &'a Arena) -> Lookup<'a> {
        let nodes = self.nodes();
        let mut below = arena.vec_with_capacity(nodes.len());
        below.resize(nodes.len(), Level::default());
        let mut lookup =
            Lookup { nodes, positions: arena.vec_with_capacity(nodes.len()), below, top: Level::default() };
        lookup.top = lookup.add_level(0, nodes.len());
        lookup
    }
}

impl<'a> Lookup<'a> {
    /// Whether this very path is in the set (a path above or below it doesn't count).
    pub fn contains(&self, path: Path<'_>) -> bool {
        self.find(path).is_some_and(|at| self.nodes[at].member)
    }

    /// Whether this path or one below it is in the set.
    pub fn has_within(&self, path: Path<'_>) -> bool {
        self.find(path).is_some()
    }

    /// The paths of a set that are in this one too.
    fn intersection(&self, arena: &'a Arena, set: FieldSet<'a>) -> FieldSet<'a> {
        let mut out = arena.vec();
        self.write(self.top, set, &mut out, &|own, other| own && other);
        FieldSet::of_nodes(out.into_bump_slice())
    }

    /// The paths of a set that are not in this one.
    fn difference(&self, arena: &'a Arena, set: FieldSet<'a>) -> FieldSet<'a> {
        let mut out = arena.vec();
        self.write(self.top, set, &mut out, &|own, other| own && !other);
        FieldSet::of_nodes(out.into_bump_slice())
    }

    /// Writes the paths of a set that `keeps` selects, by membership in both sets.
    fn write(
        &self,
        level: Level,
        set: FieldSet<'a>,
        out: &mut ArenaVec<'a, Node<'a>>,
        is_kept: &impl Fn(bool, bool) -> bool,
    ) {
        for (node, below) in set.siblings() {
            let found = self.search(level, &node.element);
            let (level, member) =
                found.map_or((Level::default(), false), |at| (self.below[at], self.nodes[at].member));
            let node = Node { member: is_kept(node.member, member), ..*node };
            branch(out, node, |out| self.write(level, below, out, is_kept));
        }
    }

    fn add_level(&mut self, from: usize, to: usize) -> Level {
        let start = self.positions.len();
        let mut at = from;
        while let Some(node) = self.nodes[..to].get(at) {
            self.positions.push(position(at));
            at += 1 + node.below as usize;
        }
        let end = self.positions.len();
        for index in start..end {
            let at = self.positions[index] as usize;
            if !self.nodes[at].is_leaf() {
                self.below[at] = self.add_level(at + 1, at + 1 + self.nodes[at].below as usize);
            }
        }
        Level { start: position(start), end: position(end) }
    }

    fn search(&self, level: Level, element: &PathElement<'_>) -> Option<usize> {
        let level = &self.positions[level.start as usize..level.end as usize];
        let found = level.binary_search_by(|at| self.nodes[*at as usize].element.cmp(element)).ok()?;
        Some(level[found] as usize)
    }

    /// The index of a path's last node; none for the empty path.
    fn find(&self, path: Path<'_>) -> Option<usize> {
        let mut level = self.top;
        let mut found = None;
        for element in path.elements() {
            let at = self.search(level, element)?;
            level = self.below[at];
            found = Some(at);
        }
        found
    }
}

/// A set that is compared with many others. For a few, a walk over both is faster than an index.
pub(crate) enum ManyTimes<'a> {
    Few(FieldSet<'a>),
    Many(Lookup<'a>),
}

impl<'a> ManyTimes<'a> {
    const FEW: usize = 16;

    pub(crate) fn new(arena: &'a Arena, set: FieldSet<'a>, others: usize) -> Self {
        if others <= Self::FEW { Self::Few(set) } else { Self::Many(set.lookup(arena)) }
    }

    /// The paths of a set that are in this one too.
    pub(crate) fn intersection(&self, arena: &'a Arena, set: FieldSet<'a>) -> FieldSet<'a> {
        match self {
            Self::Few(own) => set.intersection(arena, *own),
            Self::Many(own) => own.intersection(arena, set),
        }
    }

    /// The paths of a set that are not in this one.
    pub(crate) fn difference(&self, arena: &'a Arena, set: FieldSet<'a>) -> FieldSet<'a> {
        match self {
            Self::Few(own) => set.difference(arena, *own),
            Self::Many(own) => own.difference(arena, set),
        }
    }
}

fn position(length: usize) -> u32 {
    super::builder::position(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set<'a>(arena: &'a Arena, paths: &[&'a str]) -> FieldSet<'a> {
        FieldSet::of_paths(arena, paths.iter().map(|path| Path::of_fields(arena, path.split('.'))))
    }

    #[test]
    fn a_lookup_answers_as_the_set_does() {
        let arena = Arena::new();
        let all = ["a", "a.b", "a.b.c", "b", "b.c.d", "c.d", "c.d.e", "x"];
        for left in [&all[..], &all[..3], &["c.d.e", "a", "q.r"], &[]] {
            for right in [&all[1..6], &all[..], &["a.b", "c", "q"], &[]] {
                let (left, right) = (set(&arena, left), set(&arena, right));
                let lookup = right.lookup(&arena);
                assert_eq!(lookup.intersection(&arena, left), left.intersection(&arena, right));
                assert_eq!(lookup.difference(&arena, left), left.difference(&arena, right));
                for path in all.map(|path| Path::of_fields(&arena, path.split('.'))) {
                    assert_eq!(lookup.contains(path), right.contains(&path), "{path}");
                    let below = path.elements().iter().fold(right, |set, element| set.below(element));
                    assert_eq!(lookup.has_within(path), right.contains(&path) || !below.is_empty(), "{path}");
                }
            }
        }
        assert!(
            !set(&arena, &all).lookup(&arena).contains(Path::default()),
            "the object itself has no owner"
        );
    }
}
