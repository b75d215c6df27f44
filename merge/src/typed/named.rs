//! Named fields that a set implies, after `Set.EnsureNamedFieldsAreMembers`.

use super::Context;
use crate::{
    arena::ArenaVec,
    fieldpath::{FieldSet, Node, PathElement},
    schema::TypeId,
};

/// The set with every struct field above its members. Keys of maps and items of lists aren't implied: they are in a set
/// only by their own path.
pub(super) fn with_named_fields<'a>(
    context: Context<'a>,
    type_id: TypeId,
    set: FieldSet<'a>,
) -> FieldSet<'a> {
    let mut nodes = context.arena.vec_with_capacity(set.nodes().len());
    nodes.extend_from_slice_copy(set.nodes());
    mark(context, type_id, &mut nodes, 0, set.nodes().len());
    FieldSet::of_nodes(nodes.into_bump_slice())
}

fn mark<'a>(
    context: Context<'a>,
    type_id: TypeId,
    nodes: &mut ArenaVec<'a, Node<'a>>,
    from: usize,
    to: usize,
) {
    let atom = context.schema.atom(type_id);
    let map = atom.and_then(|atom| atom.map.as_ref());
    let list = atom.and_then(|atom| atom.list.as_ref());
    let mut at = from;
    while at < to {
        let node = nodes[at];
        let below = node.below as usize;
        if below > 0 {
            let child = match node.element {
                PathElement::Field(name) => map.map_or(TypeId::EMPTY, |map| {
                    let named = map.named_field(name);
                    nodes[at].member |= named.is_some();
                    named.unwrap_or(map.element)
                }),
                PathElement::Key(_) => list.map_or(TypeId::EMPTY, |list| list.element),
                _ => TypeId::EMPTY,
            };
            mark(context, child, nodes, at + 1, at + 1 + below);
        }
        at += 1 + below;
    }
}

/// Whether the set has items of granular map lists without any of their fields.
pub(super) fn has_items_without_fields<'a>(context: Context<'a>, type_id: TypeId, set: FieldSet<'a>) -> bool {
    let has_no_fields = |node: &Node<'_>| node.below == 0 && matches!(node.element, PathElement::Key(_));
    if !set.nodes().iter().any(has_no_fields) {
        return false;
    }
    let atom = context.schema.atom(type_id);
    let map = atom.and_then(|atom| atom.map.as_ref());
    let list = atom.and_then(|atom| atom.list.as_ref());
    set.siblings().any(|(node, below)| {
        let child = match node.element {
            PathElement::Field(name) => map.map_or(TypeId::EMPTY, |map| map.member(name)),
            _ => list.map_or(TypeId::EMPTY, |list| list.element),
        };
        if has_no_fields(node) {
            let map = context.schema.atom(child).and_then(|atom| atom.map.as_ref());
            !map.is_some_and(|map| map.is_atomic)
        } else {
            has_items_without_fields(context, child, below)
        }
    })
}
