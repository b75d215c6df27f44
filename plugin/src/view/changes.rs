//! What a write does to single fields, one row each.

use std::collections::{HashMap, HashSet};

use anstyle::Style;
use baton_apply::{Conflicts, Effects, FieldPath, LiveObject};
use baton_merge::{Arena, fieldpath::Path, value::Value};
use serde::Serialize;

use super::{Cell, GREEN, PLAIN, RED, Secrecy, Table, YELLOW, shown};
use crate::{
    owners::{Owners, fields, label, moves},
    path::this_and_above,
};

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
    /// It stays, and the writer comes to own it.
    Shared,
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
            Self::Shared => ("*", PLAIN),
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
    #[serde(rename = "change")]
    pub(crate) kind: ChangeKind,
    /// The value before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) old: Option<String>,
    /// The value afterwards; for a conflict, the one that was meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) new: Option<String>,
    /// The managers that lose it, or that are in the way.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) from: Vec<String>,
    /// Of a conflict, whether the two values are equal in another spelling.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) equal: bool,
}

/// A write whose effects are shown.
pub(crate) struct Changing<'w> {
    pub(crate) before: Option<&'w LiveObject>,
    /// The writer, if it becomes an owner.
    pub(crate) manager: Option<&'w str>,
    pub(crate) secrecy: Secrecy,
}

impl Changing<'_> {
    /// The effects field by field, in their order. What is predicted to change and stays as it was is what the server made of it: it
    /// filled in a default, spelled the value in its own way, or didn't store it.
    pub(crate) fn rows(&self, effects: &Effects, after: &LiveObject) -> Vec<Change> {
        let arena = Arena::new();
        let had = self.before.map(|before| Owners::of(&arena, before));
        let have = Owners::of(&arena, after);
        let [old, new] =
            [had.as_ref(), Some(&have)].map(|owners| owners.map(|owners| Values::of(owners, self.secrecy)));
        let value = |values: &Option<Values<'_>>, path: &FieldPath| values.as_ref()?.shown(path);
        let stays = |path: &FieldPath| {
            let [old, new] = [&old, &new].map(|values| values.as_ref()?.at(path));
            old.map(|(_, value)| value) == new.map(|(_, value)| value)
        };
        let mut takeovers: HashMap<&FieldPath, Vec<String>> = HashMap::new();
        for takeover in &effects.takeovers {
            takeovers.entry(&takeover.path).or_default().push(takeover.manager.clone());
        }
        let from = |path: &FieldPath| takeovers.get(path).cloned().unwrap_or_default();
        let change = |kind, path: &FieldPath| Change {
            path: path.to_string(),
            kind,
            old: value(&old, path),
            new: value(&new, path),
            from: from(path),
            equal: false,
        };
        let removes = match &had {
            Some(had) => values_in(had, &effects.removes),
            None => effects.removes.clone(),
        };
        let written = effects
            .sets
            .iter()
            .chain(&removes)
            .chain(effects.takeovers.iter().map(|takeover| &takeover.path));
        let (mut changes, mut known) = (Vec::new(), HashSet::new());
        for path in written {
            let written = change(ChangeKind::Changed, path);
            let kind = match (&written.old, &written.new) {
                _ if written.from.is_empty() && stays(path) => continue,
                (None, _) => ChangeKind::Added,
                (Some(_), None) => ChangeKind::Removed,
                (Some(_), Some(_)) => ChangeKind::Changed,
            };
            if known.insert(path) {
                changes.push(Change { kind, ..written });
            }
        }
        changes.sort_by_key(|change| change.kind == ChangeKind::Removed);
        changes.extend(effects.releases.iter().map(|path| change(ChangeKind::Released, path)));
        if let Some(had) = &had {
            changes.extend(self.shared(had, &have, &changes));
        }
        changes
    }

    /// The values that the object had before and that are others, or gone, afterwards.
    pub(crate) fn other_values(&self, after: &LiveObject) -> Vec<Change> {
        let arena = Arena::new();
        let had = self.before.map(|before| Owners::of(&arena, before));
        let sets = had.iter().flat_map(values).collect();
        self.rows(&Effects { sets, ..Effects::default() }, after)
    }

    /// The fields that the writer comes to own as well, or that nobody owned.
    fn shared(&self, had: &Owners<'_>, have: &Owners<'_>, known: &[Change]) -> Vec<Change> {
        let known: HashSet<&str> = known.iter().map(|change| change.path.as_str()).collect();
        let gained = moves(had, have, self.secrecy).into_iter().filter(|one| {
            one.gained.iter().any(|manager| Some(manager.name.as_str()) == self.manager)
                && !one.has_fields
                && !this_and_above(&one.path).any(|path| known.contains(path))
        });
        let shared = gained.map(|one| Change {
            path: one.path,
            kind: ChangeKind::Shared,
            old: one.old,
            new: one.new,
            from: Vec::new(),
            equal: false,
        });
        shared.collect()
    }
}

impl Change {
    /// The conflicts of an apply. A field that several managers own is one.
    pub(crate) fn conflicts(conflicts: &Conflicts) -> Vec<Self> {
        let mut changes: Vec<Self> = Vec::new();
        for conflict in &conflicts.fields {
            let path = conflict.path.to_string();
            let manager =
                label(&conflict.manager, conflict.operation.as_str(), conflict.subresource.as_deref());
            if let Some(known) = changes.iter_mut().find(|known| known.path == path) {
                known.from.push(manager);
                continue;
            }
            let value = |value: &Option<String>| value.as_deref().map(super::shortened);
            changes.push(Self {
                kind: ChangeKind::Conflict,
                old: value(&conflict.live),
                new: value(&conflict.intended),
                from: vec![manager],
                equal: conflict.is_respelled,
                path,
            });
        }
        changes
    }

    /// Adds a row for people.
    pub(crate) fn row(&self, table: &mut Table<4>) {
        let (mark, style) = self.kind.mark();
        let values = match (&self.old, &self.new) {
            (Some(old), Some(new)) if old != new => format!("{old} → {new}"),
            (Some(value), _) | (None, Some(value)) => value.clone(),
            (None, None) => String::new(),
        };
        let from = self.from.join(", ");
        let note = match self.kind {
            ChangeKind::Conflict if self.equal => format!("equal, in another spelling; owned by {from}"),
            ChangeKind::Conflict => format!("owned by {from}"),
            ChangeKind::Released => "released".to_owned(),
            ChangeKind::Shared if self.new.is_none() => "owned from now on, and not stored".to_owned(),
            ChangeKind::Shared => "owned from now on".to_owned(),
            _ if from.is_empty() => String::new(),
            _ => format!("taken from {from}"),
        };
        table.row([Cell::new(mark, style), Cell::new(&self.path, style), values.into(), note.into()]);
    }
}

/// The fields in these parts of an object that have a value of their own, or else the parts.
fn values_in(owners: &Owners<'_>, parts: &[FieldPath]) -> Vec<FieldPath> {
    if parts.is_empty() {
        return Vec::new();
    }
    let mut by_part: HashMap<&str, Vec<FieldPath>> = HashMap::new();
    by_part.extend(parts.iter().map(|part| (part.as_str(), Vec::new())));
    for field in values(owners) {
        for path in this_and_above(field.as_str()) {
            if let Some(within) = by_part.get_mut(path) {
                within.push(field.clone());
            }
        }
    }
    let values = parts.iter().flat_map(|part| match by_part.remove(part.as_str()) {
        Some(within) if !within.is_empty() => within,
        _ => vec![part.clone()],
    });
    values.collect()
}

/// The fields of an object that have a value of their own.
fn values(owners: &Owners<'_>) -> Vec<FieldPath> {
    let fields = fields(owners).into_iter().filter(|field| !field.has_fields && field.value.is_some());
    fields.map(|field| field.path.into()).collect()
}

/// The values of an object by the spelling of their paths.
struct Values<'a> {
    fields: HashMap<String, (Path<'a>, Value<'a>)>,
    secrecy: Secrecy,
}

impl<'a> Values<'a> {
    fn of(owners: &Owners<'a>, secrecy: Secrecy) -> Self {
        // Of several items with one key it is the first.
        let fields = owners.every_path().into_iter().rev();
        let fields = fields.filter_map(|(path, value)| Some((path.to_string(), (path, value?))));
        Self { fields: fields.collect(), secrecy }
    }

    fn at(&self, path: &FieldPath) -> Option<(Path<'a>, Value<'a>)> {
        self.fields.get(path.as_str()).copied()
    }

    fn shown(&self, path: &FieldPath) -> Option<String> {
        let (path, value) = self.at(path)?;
        Some(shown(self.secrecy, path, value))
    }
}
