//! What changed hands between two states of an object.

use std::collections::BTreeMap;

use baton_merge::fieldpath::Path;
use serde::Serialize;

use super::{Manager, Owners, fields};
use crate::{
    path::is_within,
    view::{Cell, GREEN, RED, Secrecy, Table, shown},
};

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

    /// The value, or the change of it.
    pub(crate) fn values(&self) -> String {
        match (&self.old, &self.new) {
            (Some(old), Some(new)) if old != new => format!("{old} → {new}"),
            (Some(old), None) => format!("{old} → (gone)"),
            (_, Some(new)) => new.clone(),
            (None, None) => String::new(),
        }
    }

    /// When it happened: the last write of those that gained the field, or else of none.
    pub(crate) fn time(&self) -> Option<&str> {
        self.gained.iter().filter_map(|manager| manager.time.as_deref()).max()
    }
}

/// The fields whose owners changed.
pub(crate) fn moves(before: &Owners<'_>, after: &Owners<'_>, secrecy: Secrecy) -> Vec<Move> {
    let mut paths: BTreeMap<Path<'_>, bool> = BTreeMap::new();
    for field in [before, after].into_iter().flat_map(fields) {
        *paths.entry(field.path).or_default() |= field.has_fields;
    }
    let moves = paths.into_iter().filter_map(|(path, has_fields)| {
        let value = |owners: &Owners<'_>| {
            path.find(owners.object).filter(|_| !has_fields).map(|value| shown(secrecy, path, value))
        };
        let [had, have] = [before.at(path), after.at(path)];
        let without = |these: &[&Manager], those: &[&Manager]| -> Vec<Manager> {
            let is_among = |one: &&&Manager| those.iter().any(|other| other.identity() == one.identity());
            these.iter().filter(|one| !is_among(one)).map(|one| (*one).clone()).collect()
        };
        let (lost, gained) = (without(&had, &have), without(&have, &had));
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

/// The fields that changed hands, one a row.
pub(crate) fn moves_table(moves: &[Move]) -> Table<4> {
    let mut table = Table::new(["FIELD", "FROM", "TO", "VALUE"]);
    for one in moves {
        table.row([
            one.path.clone().into(),
            Cell::new(labels(&one.lost), RED),
            Cell::new(labels(&one.gained), GREEN),
            one.values().into(),
        ]);
    }
    table
}

/// Managers, one a row.
pub(crate) fn owners_table(managers: &[Manager]) -> Table<4> {
    let mut table = Table::new(["MANAGER", "OPERATION", "SUBRESOURCE", "LAST WRITE"]);
    for manager in managers {
        table.row(manager.cells());
    }
    table
}

/// Managers on one line.
pub(crate) fn labels(managers: &[Manager]) -> String {
    match managers {
        [] => "-".to_owned(),
        managers => managers.iter().map(Manager::label).collect::<Vec<_>>().join(", "),
    }
}
