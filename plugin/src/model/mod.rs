//! Field paths, the owners of fields, and changes of fields: data without I/O.

mod change;
mod owners;
mod path;

pub(crate) use self::{
    change::{ChangeKind, FieldChange, Write},
    owners::{Manager, Move, OwnedField, Owners, check_entries, fields, label, labels, moves},
    path::{FieldQuery, PathError, check_droppable, is_within, resolve},
};
