//! The fields of an object in its order, each with its owners.

use std::collections::BTreeSet;

use baton_merge::{
    fieldpath::{Branch, FieldSet, Path, PathElement},
    value::Value,
};

use super::Owners;
use crate::model::path::{is_of_the_server, name_among, name_beside};

/// A field that has an owner, or a value without fields in it.
#[derive(Clone, Debug)]
pub(crate) struct OwnedField<'a> {
    /// Its path.
    pub(crate) path: Path<'a>,
    /// Its value; none if a manager owns it and the object doesn't have it, such as a `false` that isn't stored.
    pub(crate) value: Option<Value<'a>>,
    /// Whether there are fields in it, each with its own owners.
    pub(crate) has_fields: bool,
    /// Its owners, by their position.
    pub(crate) owners: Vec<usize>,
}

/// All fields of an object, each before those in it. Structs and maps without an owner of their own are left out.
pub(crate) fn fields<'a>(owners: &Owners<'a>) -> Vec<OwnedField<'a>> {
    let sets: Vec<_> = owners.sets.iter().copied().enumerate().collect();
    let mut walk = FieldTree { owners, path: Vec::new(), found: Vec::new() };
    walk.children(Some(owners.object), &sets, FieldSet::default());
    walk.found
}

/// The fields that managers own below a place, by their position.
type Sets<'a> = [(usize, FieldSet<'a>)];

struct FieldTree<'o, 'a> {
    owners: &'o Owners<'a>,
    path: Vec<PathElement<'a>>,
    found: Vec<OwnedField<'a>>,
}

impl<'a> FieldTree<'_, 'a> {
    /// `unowned` are fields that the schema has here and no manager owns.
    fn children(&mut self, value: Option<Value<'a>>, sets: &Sets<'a>, unowned: FieldSet<'a>) {
        let branches = |(position, set): &(usize, FieldSet<'a>)| (*position, set.branches().collect());
        let sets: Vec<(usize, Vec<Branch<'a>>)> = sets.iter().map(branches).collect();
        let owned = sets.iter().flat_map(|(_, branches)| branches.iter().copied()).chain(unowned.branches());
        let owned: BTreeSet<_> = owned.map(|branch| branch.element).collect();
        let names: Vec<_> = owned.iter().copied().collect();
        let mut children: Vec<(PathElement<'a>, Option<Value<'a>>)> = Vec::new();
        match value {
            Some(Value::Map(map)) => {
                children.extend(
                    map.members().iter().map(|(name, value)| (PathElement::Field(name), Some(*value))),
                );
            }
            Some(Value::List(items)) => children.extend(items.iter().zip(0..).map(|(item, index)| {
                let element = name_among(*item, items, &names);
                let element = element.or_else(|| name_beside(self.owners.arena, *item, &names));
                (element.unwrap_or(PathElement::Index(index)), Some(*item))
            })),
            _ => {}
        }
        let known: BTreeSet<_> = children.iter().map(|(element, _)| *element).collect();
        children.extend(owned.difference(&known).map(|element| (*element, None)));
        for (element, value) in children {
            self.path.push(element);
            if !is_of_the_server(&self.path) {
                self.child(element, value, &sets);
            }
            self.path.pop();
        }
    }

    fn child(
        &mut self,
        element: PathElement<'a>,
        value: Option<Value<'a>>,
        sets: &[(usize, Vec<Branch<'a>>)],
    ) {
        let (mut owners, mut below) = (Vec::new(), Vec::new());
        for (position, branches) in sets {
            let Some(branch) = Branch::find(branches, &element) else { continue };
            if branch.is_member {
                owners.push(*position);
            }
            if !branch.below.is_empty() {
                below.push((*position, branch.below));
            }
        }
        let unowned = match &below[..] {
            [] if !owners.is_empty() => self.owners.in_schema(&self.path),
            _ => FieldSet::default(),
        };
        // Without an owner, the members of a map are fields and the items of a list aren't: they have no names.
        let has_fields = !below.is_empty()
            || !unowned.is_empty()
            || (owners.is_empty()
                && value.and_then(|value| value.as_map()).is_some_and(|map| !map.is_empty()));
        let is_item = !matches!(element, PathElement::Field(_));
        if !has_fields || !owners.is_empty() || is_item {
            let path = Path::new(self.owners.arena.list(self.path.iter().copied()));
            self.found.push(OwnedField { path, value, has_fields, owners });
        }
        if has_fields {
            self.children(value, &below, unowned);
        }
    }
}
