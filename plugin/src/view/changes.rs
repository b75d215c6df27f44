//! What a write does to single fields, one row each.

use anstyle::Style;
use baton_apply::{Conflicts, Effects, FieldPath, LiveObject};
use baton_merge::{Arena, fieldpath::Path, value::Value};
use serde::Serialize;

use super::{Cell, GREEN, PLAIN, RED, Secrecy, Table, YELLOW, shown};
use crate::{owners::Owners, path::every_path};

/// What happens to a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum ChangeKind {
    /// It is new.
    Added,
    /// It gets another value.
    Changed,
    /// It goes.
    Removed,
    /// It stays, and the writer doesn't own it any more.
    Released,
    /// Another manager owns it, so the write is refused.
    Conflict,
}

impl ChangeKind {
    const fn mark(self) -> (&'static str, Style) {
        match self {
            Self::Added => ("+", GREEN),
            Self::Changed => ("~", YELLOW),
            Self::Removed => ("-", RED),
            Self::Released => ("=", PLAIN),
            Self::Conflict => ("!", RED),
        }
    }
}

/// What happens to one field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Change {
    /// The field.
    pub(crate) path: String,
    /// What happens.
    pub(crate) change: ChangeKind,
    /// The value before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) old: Option<String>,
    /// The value afterwards; for a conflict, the one that was meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) new: Option<String>,
    /// The managers that lose it, or that are in the way.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) from: Vec<String>,
}

/// The effects of a write, field by field, in the order of the effects.
pub(crate) fn changes(
    effects: &Effects,
    before: Option<&LiveObject>,
    after: Option<&LiveObject>,
    secrecy: Secrecy,
) -> Vec<Change> {
    let arena = Arena::new();
    let [before, after] = [before, after].map(|object| object.map(|object| Values::of(&arena, object, secrecy)));
    let value = |values: &Option<Values<'_>>, path: &FieldPath| values.as_ref()?.at(path);
    let from = |path: &FieldPath| {
        effects.takes.iter().filter(|take| take.path == *path).map(|take| take.manager.clone()).collect()
    };
    let change = |kind, path: &FieldPath| Change {
        path: path.to_string(),
        change: kind,
        old: value(&before, path),
        new: value(&after, path),
        from: from(path),
    };
    let sets = effects.sets.iter().map(|path| {
        let change = change(ChangeKind::Changed, path);
        if change.old.is_none() { Change { change: ChangeKind::Added, ..change } } else { change }
    });
    let removes = effects.removes.iter().map(|path| change(ChangeKind::Removed, path));
    let is_listed = |path: &FieldPath| effects.sets.contains(path) || effects.removes.contains(path);
    let mut taken: Vec<&FieldPath> = Vec::new();
    for take in effects.takes.iter().filter(|take| !is_listed(&take.path)) {
        if !taken.contains(&&take.path) {
            taken.push(&take.path);
        }
    }
    let takes = taken.into_iter().map(|path| {
        let change = change(ChangeKind::Changed, path);
        if change.new.is_none() { Change { change: ChangeKind::Removed, ..change } } else { change }
    });
    let releases = effects.releases.iter().map(|path| change(ChangeKind::Released, path));
    sets.chain(removes).chain(takes).chain(releases).collect()
}

impl Change {
    /// The conflicts of an apply. A field that several managers own is one.
    pub(crate) fn conflicts(conflicts: &Conflicts, secrecy: Secrecy) -> Vec<Self> {
        let mut changes: Vec<Self> = Vec::new();
        for conflict in &conflicts.fields {
            let path = conflict.path.to_string();
            let subresource = conflict.subresource.as_ref().map(|name| format!(" {name}")).unwrap_or_default();
            let manager = match (conflict.operation.as_str(), subresource.as_str()) {
                ("Apply", "") => conflict.manager.clone(),
                (operation, subresource) => format!("{} ({operation}{subresource})", conflict.manager),
            };
            if let Some(known) = changes.iter_mut().find(|known| known.path == path) {
                known.from.push(manager);
                continue;
            }
            let is_data = path.starts_with(".data") || path.starts_with(".stringData");
            let value = |value: &Option<String>| {
                let hidden = secrecy == Secrecy::Secret && is_data;
                value.as_ref().map(|value| if hidden { super::HIDDEN.to_owned() } else { super::shortened(value) })
            };
            changes.push(Self {
                change: ChangeKind::Conflict,
                old: value(&conflict.live),
                new: value(&conflict.intended),
                from: vec![manager],
                path,
            });
        }
        changes
    }

    /// Adds a row for people.
    pub(crate) fn row(&self, table: &mut Table<4>) {
        let (mark, style) = self.change.mark();
        let values = match (&self.old, &self.new) {
            (Some(old), Some(new)) if old != new => format!("{old} → {new}"),
            (Some(value), _) | (None, Some(value)) => value.clone(),
            (None, None) => String::new(),
        };
        let from = self.from.join(", ");
        let note = match self.change {
            ChangeKind::Conflict => format!("owned by {from}"),
            ChangeKind::Released => "released".to_owned(),
            _ if from.is_empty() => String::new(),
            _ => format!("taken from {from}"),
        };
        table.row([
            Cell::new(mark, style),
            Cell::new(&self.path, style),
            values.into(),
            note.into(),
        ]);
    }
}

/// The values of an object by the spelling of their paths.
struct Values<'a> {
    fields: Vec<(String, Path<'a>, Value<'a>)>,
    secrecy: Secrecy,
}

impl<'a> Values<'a> {
    fn of(arena: &'a Arena, object: &'a LiveObject, secrecy: Secrecy) -> Self {
        let owners = Owners::of(arena, object);
        let fields = every_path(arena, owners.object, owners.owned()).into_iter();
        let fields = fields.filter_map(|(path, value)| Some((path.to_string(), path, value?)));
        Self { fields: fields.collect(), secrecy }
    }

    fn at(&self, path: &FieldPath) -> Option<String> {
        let (_, path, value) = self.fields.iter().find(|(text, ..)| text == path.as_str())?;
        Some(shown(self.secrecy, *path, *value))
    }
}
