//! A field set after a change of the schema, after `typed/reconcile_schema.go`.

use super::{
    Context, Invalid,
    kinds::{Kind, NO_KIND, NO_TYPE},
};
use crate::{
    arena::ArenaVec,
    fieldpath::{FieldSet, Node, PathElement},
    schema::TypeId,
};

pub(super) fn reconcile<'a>(
    context: Context<'a>,
    type_id: TypeId,
    set: FieldSet<'a>,
) -> Result<Option<FieldSet<'a>>, Invalid> {
    // Almost always nothing changes, and nothing is written then.
    let change = change_below(context, type_id, set, false)?;
    Ok(match change {
        Change::None => None,
        // The object itself has no owner: such a set stays as it is, but counts as changed.
        Change::Whole => Some(set),
        Change::Below => {
            let mut out = context.arena.vec_with_capacity(set.nodes().len());
            write(context, type_id, set, &mut out)?;
            Some(FieldSet::of_nodes(out.into_bump_slice()))
        }
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Change {
    /// Unchanged.
    None,
    /// The path replaces all paths below it.
    Whole,
    /// A path below it changes.
    Below,
}

/// The change of a path. `is_leaf`: it is in the set, and no path below it.
fn change_below<'a>(
    context: Context<'a>,
    type_id: TypeId,
    below: FieldSet<'a>,
    is_leaf: bool,
) -> Result<Change, Invalid> {
    let atom = context.schema.atom(type_id).ok_or_else(|| Invalid::whole(NO_TYPE))?;
    let mut change = Change::None;
    let mut visit = |type_id, node: &Node<'a>, below: FieldSet<'a>| {
        if change_below(context, type_id, below, node.member && below.is_empty())? != Change::None {
            change = Change::Below;
        }
        Ok::<(), Invalid>(())
    };
    match Kind::of(atom, None) {
        Kind::Map(map) if map.is_untyped => {}
        Kind::Map(map) if map.is_atomic && !is_leaf => {
            if !below.is_empty() {
                return Ok(Change::Whole);
            }
        }
        Kind::List(list) if list.is_atomic() && !is_leaf => return Ok(Change::Whole),
        Kind::Map(map) => {
            for (node, below) in below.siblings() {
                match member_type(map, &node.element) {
                    TypeId::EMPTY => {}
                    member => visit(member, node, below)?,
                }
            }
        }
        Kind::List(list) => {
            for (node, below) in below.siblings() {
                visit(list.element, node, below)?;
            }
        }
        Kind::Scalar(_) => {}
        Kind::None => return Err(Invalid::whole(NO_KIND)),
    }
    Ok(change)
}

fn member_type(map: &crate::schema::Map, element: &PathElement<'_>) -> TypeId {
    match element {
        PathElement::Field(name) => map.member(name),
        _ => map.element,
    }
}

/// Writes the set, without paths below those that replace them.
fn write<'a>(
    context: Context<'a>,
    type_id: TypeId,
    set: FieldSet<'a>,
    out: &mut ArenaVec<'a, Node<'a>>,
) -> Result<(), Invalid> {
    let atom = context.schema.atom(type_id).ok_or_else(|| Invalid::whole(NO_TYPE))?;
    for (node, below) in set.siblings() {
        let member = match Kind::of(atom, None) {
            Kind::Map(map) => member_type(map, &node.element),
            Kind::List(list) => list.element,
            Kind::Scalar(_) | Kind::None => TypeId::EMPTY,
        };
        let change = match member {
            TypeId::EMPTY => Change::None,
            member => change_below(context, member, below, node.member && below.is_empty())?,
        };
        let at = out.len();
        out.push(*node);
        match change {
            Change::None => out.extend_from_slice_copy(below.nodes()),
            Change::Whole => out[at].member = true,
            Change::Below => write(context, member, below, out)?,
        }
        let length = out.len() - at - 1;
        out[at].below = u32::try_from(length).unwrap_or(u32::MAX);
    }
    Ok(())
}
