//! Fields whose owners differ between two states of an object.

use std::collections::BTreeMap;

use baton_merge::fieldpath::Path;
use serde::Serialize;

use super::{Manager, OwnedField, Owners, fields};
use crate::model::path::is_within;

/// A field whose owners changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Move {
    /// The field.
    pub(crate) path: String,
    /// The managers that don't own it any more.
    pub(crate) lost: Vec<Manager>,
    /// The managers that own it now and didn't before.
    pub(crate) gained: Vec<Manager>,
    /// The value before; none if there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) old: Option<String>,
    /// The value now; none if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) new: Option<String>,
    /// Whether it only contains fields that have owners.
    #[serde(skip)]
    pub(crate) has_fields: bool,
}

impl Move {
    /// Whether the field is at this path or below.
    pub(crate) fn is_within(&self, path: Path<'_>) -> bool {
        is_within(&self.path, &path.to_string())
    }

    /// The time of the move: the last write of those that gained the field. None if no manager gained it.
    pub(crate) fn time(&self) -> Option<&str> {
        self.gained.iter().filter_map(|manager| manager.time.as_deref()).max()
    }
}

/// The fields whose owners changed.
pub(crate) fn moves(before: &Owners<'_>, after: &Owners<'_>) -> Vec<Move> {
    let mut both: BTreeMap<Path<'_>, [Option<OwnedField<'_>>; 2]> = BTreeMap::new();
    for (side, owners) in [before, after].into_iter().enumerate() {
        for field in fields(owners) {
            let path = field.path;
            both.entry(path).or_default()[side] = Some(field);
        }
    }
    let moves = both.into_iter().filter_map(|(path, sides)| {
        let has_fields = sides.iter().flatten().any(|field| field.has_fields);
        let [had, have] = [(before, &sides[0]), (after, &sides[1])].map(|(all, field)| {
            let owners = field.iter().flat_map(|field| &field.owners);
            owners.filter_map(|at| all.managers.get(*at)).collect::<Vec<_>>()
        });
        let without = |these: &[&Manager], those: &[&Manager]| -> Vec<Manager> {
            let is_among = |one: &&&Manager| those.iter().any(|other| other.identity() == one.identity());
            these.iter().filter(|one| !is_among(one)).map(|one| (*one).clone()).collect()
        };
        let (lost, gained) = (without(&had, &have), without(&have, &had));
        let value = |owners: &Owners<'_>| if has_fields { None } else { owners.shown_at(path) };
        (!lost.is_empty() || !gained.is_empty()).then(|| Move {
            path: path.to_string(),
            lost,
            gained,
            old: value(before),
            new: value(after),
            has_fields,
        })
    });
    moves.collect()
}
