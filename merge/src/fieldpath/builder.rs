//! Building a set by walking over the tree that it describes.

use super::{FieldSet, Node, PathElement};
use crate::{Arena, arena::ArenaVec};

/// Builds a set from paths that come in order.
///
/// The caller keeps its current path; the builder keeps which part of it is written. So three builders (added, modified,
/// removed) can follow one walk, and a branch without members leaves no trace.
pub(crate) struct SetBuilder<'a> {
    nodes: ArenaVec<'a, Node<'a>>,
    /// The indexes of the nodes on the current path.
    open: ArenaVec<'a, u32>,
}

impl<'a> SetBuilder<'a> {
    pub(crate) fn new(arena: &'a Arena) -> Self {
        Self { nodes: arena.vec(), open: arena.vec() }
    }

    /// Adds a path, which follows all added ones, or is above the last one.
    pub(crate) fn mark(&mut self, path: &[PathElement<'a>]) {
        if path.is_empty() {
            return;
        }
        let shared = self
            .open
            .iter()
            .zip(path)
            .take_while(|(node, element)| self.nodes[**node as usize].element == **element)
            .count();
        self.close_to(shared);
        for element in &path[shared..] {
            self.open_node(*element);
        }
        if let Some(last) = self.open.last() {
            self.nodes[*last as usize].member = true;
        }
    }

    /// Adds the current path, for a walk that [leaves](Self::leave) its elements.
    pub(crate) fn mark_here(&mut self, path: &[PathElement<'a>]) {
        for element in &path[self.open.len()..] {
            self.open_node(*element);
        }
        if let Some(last) = self.open.last() {
            self.nodes[*last as usize].member = true;
        }
    }

    /// Leaves the last of `depth` elements.
    pub(crate) fn leave(&mut self, depth: usize) {
        if self.open.len() >= depth {
            self.close_to(depth - 1);
        }
    }

    fn open_node(&mut self, element: PathElement<'a>) {
        self.open.push(position(self.nodes.len()));
        self.nodes.push(Node { element, below: 0, member: false });
    }

    fn close_to(&mut self, depth: usize) {
        while self.open.len() > depth {
            let Some(node) = self.open.pop() else { return };
            self.nodes[node as usize].below = position(self.nodes.len()) - node - 1;
        }
    }

    pub(crate) fn finish(mut self) -> FieldSet<'a> {
        self.close_to(0);
        FieldSet::of_nodes(self.nodes.into_bump_slice())
    }
}

/// An index into nodes. An object with four billion fields doesn't fit into memory.
pub(super) fn position(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}
