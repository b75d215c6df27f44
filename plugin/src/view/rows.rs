//! Rows of tables: changes of fields, moves, managers.

use anstyle::Style;

use super::{Cell, Table};
use crate::{
    model::{ChangeKind, FieldChange, Manager, Move, labels},
    terminal::{CYAN, GREEN, PLAIN, RED, YELLOW},
};

const fn mark(kind: ChangeKind) -> (&'static str, Style) {
    match kind {
        ChangeKind::Added => ("+", GREEN),
        ChangeKind::Changed => ("~", YELLOW),
        ChangeKind::Removed => ("-", RED),
        ChangeKind::Released => ("=", PLAIN),
        ChangeKind::Shared => ("*", PLAIN),
        ChangeKind::Conflict => ("!", RED),
    }
}

/// A change: its mark, the field, the values, a note.
fn change_row(change: &FieldChange) -> [Cell; 4] {
    let FieldChange { path, kind, old, new, from, equal } = change;
    let (mark, style) = mark(*kind);
    let values = match (old, new) {
        (Some(old), Some(new)) if old != new => format!("{old} → {new}"),
        (Some(value), _) | (None, Some(value)) => value.clone(),
        (None, None) => String::new(),
    };
    let from = from.join(", ");
    let note = match kind {
        ChangeKind::Conflict if *equal => format!("equal, in another spelling; owned by {from}"),
        ChangeKind::Conflict => format!("owned by {from}"),
        ChangeKind::Released => "released".to_owned(),
        ChangeKind::Shared if new.is_none() => "owned from now on, and not stored".to_owned(),
        ChangeKind::Shared => "owned from now on".to_owned(),
        _ if from.is_empty() => String::new(),
        _ => format!("taken over from {from}"),
    };
    [Cell::new(mark, style), Cell::new(path, style), values.into(), note.into()]
}

/// Changes, one a row.
pub(crate) fn changes_table<'c>(changes: impl IntoIterator<Item = &'c FieldChange>) -> Table<4> {
    let mut table = Table::headless();
    changes.into_iter().for_each(|change| table.row(change_row(change)));
    table
}

/// The value of a field whose owners changed, or the change of the value.
pub(crate) fn moved_values(one: &Move) -> String {
    match (&one.old, &one.new) {
        (Some(old), Some(new)) if old != new => format!("{old} → {new}"),
        (Some(old), None) => format!("{old} → (gone)"),
        (_, Some(new)) => new.clone(),
        (None, None) => String::new(),
    }
}

/// Fields whose owners changed, one a row.
pub(crate) fn moves_table(moves: &[Move]) -> Table<4> {
    let mut table = Table::new(["FIELD", "FROM", "TO", "VALUE"]);
    for one in moves {
        table.row([
            one.path.clone().into(),
            Cell::new(labels(&one.lost), RED),
            Cell::new(labels(&one.gained), GREEN),
            moved_values(one).into(),
        ]);
    }
    table
}

/// Managers, one a row.
pub(crate) fn owners_table(managers: &[Manager]) -> Table<4> {
    let mut table = Table::new(["MANAGER", "OPERATION", "SUBRESOURCE", "LAST WRITE"]);
    for manager in managers {
        table.row(manager_cells(manager));
    }
    table
}

/// A manager: its name, operation, subresource and last write.
pub(crate) fn manager_cells(manager: &Manager) -> [Cell; 4] {
    let or_dash = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned()).into();
    [
        Cell::new(manager.shown_name(), CYAN),
        manager.operation.clone().into(),
        or_dash(&manager.subresource),
        or_dash(&manager.time),
    ]
}
