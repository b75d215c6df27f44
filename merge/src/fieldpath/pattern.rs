//! Patterns that paths match, for the fields that a manager may own at all.

use super::{FieldSet, Node, PathElement, algebra::branch};
use crate::{Arena, arena::ArenaVec};

/// A tree of elements, some of them wildcards. A set [filtered](FieldSet::filter) by it keeps the paths along its
/// branches and everything below their ends.
///
/// Follows `SetMatcher` of structured-merge-diff, with which the API server lets the `status` of some kinds own no more
/// than named conditions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pattern<'a> {
    /// At the end of a branch everything matches.
    everything: bool,
    /// Wildcards first; the first element that matches decides.
    branches: Vec<(PatternElement<'a>, Pattern<'a>)>,
}

/// An element of a pattern.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PatternElement<'a> {
    /// Matches every element.
    Any,
    /// Matches this element.
    Exactly(PathElement<'a>),
}

impl<'a> Pattern<'a> {
    /// Matches every path.
    pub fn everything() -> Self {
        Self { everything: true, branches: Vec::new() }
    }

    /// Matches the path through these elements, what is above it and everything below it.
    pub fn prefix(
        elements: impl IntoIterator<Item = PatternElement<'a>, IntoIter: DoubleEndedIterator>,
    ) -> Self {
        elements.into_iter().rev().fold(Self::everything(), |below, element| Self {
            everything: false,
            branches: vec![(element, below)],
        })
    }

    /// Matches what either of the two matches.
    #[must_use]
    pub fn or(mut self, other: Self) -> Self {
        if self.everything || other.everything {
            return Self::everything();
        }
        for (element, below) in other.branches {
            match self.branches.iter_mut().find(|(own, _)| *own == element) {
                Some((_, own)) => *own = std::mem::take(own).or(below),
                None => self.branches.push((element, below)),
            }
        }
        self.branches.sort_by(|(left, _), (right, _)| left.cmp(right));
        self
    }

    fn find(&self, element: &PathElement<'_>) -> Option<&Self> {
        let matches = |pattern: &PatternElement<'_>| match pattern {
            PatternElement::Any => true,
            PatternElement::Exactly(own) => own == element,
        };
        self.branches.iter().find(|(pattern, _)| matches(pattern)).map(|(_, below)| below)
    }
}

impl<'a> FieldSet<'a> {
    /// The paths that match the pattern.
    #[must_use]
    pub fn filter(self, arena: &'a Arena, pattern: &Pattern<'_>) -> Self {
        if pattern.everything {
            return self;
        }
        let mut out = arena.vec();
        filter(self, pattern, &mut out);
        Self::of_nodes(out.into_bump_slice())
    }
}

fn filter<'a>(set: FieldSet<'a>, pattern: &Pattern<'_>, out: &mut ArenaVec<'a, Node<'a>>) {
    for (node, below) in set.siblings() {
        let Some(pattern) = pattern.find(&node.element) else { continue };
        branch(out, *node, |out| {
            if pattern.everything {
                out.extend_from_slice_copy(below.nodes());
            } else {
                filter(below, pattern, out);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fieldpath::Path;

    #[test]
    fn a_filter_keeps_the_branch_and_what_is_below_its_end() {
        let arena = Arena::new();
        let paths = ["status", "status.a", "status.a.x", "status.a.x.y", "status.b.z", "spec.a"];
        let set = FieldSet::of_paths(&arena, paths.map(|path| Path::of_fields(&arena, path.split('.'))));
        let exactly = |name| PatternElement::Exactly(PathElement::Field(name));
        let pattern = Pattern::prefix([exactly("status"), PatternElement::Any, exactly("x")]);
        assert_eq!(
            set.filter(&arena, &pattern).to_string(),
            ".status\n.status.a\n.status.a.x\n.status.a.x.y"
        );
        let both = pattern.or(Pattern::prefix([exactly("spec")]));
        assert!(set.filter(&arena, &both).contains(&Path::of_fields(&arena, ["spec", "a"])));
        assert_eq!(set.filter(&arena, &Pattern::everything()), set);
    }
}
