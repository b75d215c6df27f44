//! Changes of single fields by a write.

use std::collections::{HashMap, HashSet};

use baton_apply::{Conflicts, Effects, FieldPath, LiveObject};
use baton_merge::{Arena, fieldpath::Path, value::Value};
use serde::Serialize;

use super::{
    owners::{Owners, fields, label, moves},
    path::this_and_above,
};
use crate::text::shortened;

/// The kind of change of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum ChangeKind {
    /// The field is new.
    Added,
    /// The field gets another value.
    Changed,
    /// The field is removed.
    Removed,
    /// The field stays, and the writer doesn't own it any more.
    Released,
    /// The field stays, and the writer comes to own it.
    Shared,
    /// Another manager owns the field, so the write is refused.
    Conflict,
}

/// The change of one field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct FieldChange {
    /// The field.
    pub(crate) path: String,
    /// The kind of the change.
    #[serde(rename = "change")]
    pub(crate) kind: ChangeKind,
    /// The value before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) old: Option<String>,
    /// The value afterwards; of a conflict, the one in the manifest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) new: Option<String>,
    /// The managers that lose it, or that conflict.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) from: Vec<String>,
    /// Of a conflict, whether the two values are equal in another spelling.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) equal: bool,
}

impl FieldChange {
    /// The conflicts of an apply. A field that several managers own is one conflict.
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
            let value = |value: &Option<String>| value.as_deref().map(shortened);
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

    /// Whether it removes or changes a value.
    pub(crate) fn loses_a_value(&self) -> bool {
        matches!(self.kind, ChangeKind::Changed | ChangeKind::Removed)
    }
}

/// A write, for its changes field by field.
pub(crate) struct Write<'w> {
    pub(crate) before: Option<&'w LiveObject>,
    /// The writer, if it becomes an owner.
    pub(crate) manager: Option<&'w str>,
}

impl Write<'_> {
    /// The effects field by field, in their order. A field that is predicted to change and stays as it was is left out: the server
    /// filled in a default, spelled the value in its own way, or didn't store it.
    pub(crate) fn changes(&self, effects: &Effects, after: &LiveObject) -> Vec<FieldChange> {
        let arena = Arena::new();
        let had = self.before.map(|before| Owners::of(&arena, before));
        let have = Owners::of(&arena, after);
        let [old, new] = [had.as_ref().map(Values::of), Some(Values::of(&have))];
        let value = |values: &Option<Values<'_, '_>>, path: &FieldPath| values.as_ref()?.shown(path);
        let stays = |path: &FieldPath| {
            let [old, new] = [&old, &new].map(|values| values.as_ref()?.at(path));
            old.map(|(_, value)| value) == new.map(|(_, value)| value)
        };
        let mut losers: HashMap<&FieldPath, Vec<String>> = HashMap::new();
        for takeover in &effects.takeovers {
            losers.entry(&takeover.path).or_default().push(takeover.manager.clone());
        }
        let change = |kind, path: &FieldPath| FieldChange {
            path: path.to_string(),
            kind,
            old: value(&old, path),
            new: value(&new, path),
            from: losers.get(path).cloned().unwrap_or_default(),
            equal: false,
        };
        let removes = match &had {
            Some(had) => values_in(had, &effects.removes),
            None => effects.removes.clone(),
        };
        let taken_over = effects.takeovers.iter().map(|takeover| &takeover.path);
        let (mut changes, mut known) = (Vec::new(), HashSet::new());
        for path in effects.sets.iter().chain(&removes).chain(taken_over) {
            let written = change(ChangeKind::Changed, path);
            let kind = match (&written.old, &written.new) {
                _ if written.from.is_empty() && stays(path) => continue,
                (None, _) => ChangeKind::Added,
                (Some(_), None) => ChangeKind::Removed,
                (Some(_), Some(_)) => ChangeKind::Changed,
            };
            if known.insert(path) {
                changes.push(FieldChange { kind, ..written });
            }
        }
        changes.sort_by_key(|change| change.kind == ChangeKind::Removed);
        changes.extend(effects.releases.iter().map(|path| change(ChangeKind::Released, path)));
        if let Some(had) = &had {
            changes.extend(self.shared(had, &have, &changes));
        }
        changes
    }

    /// The values of the object before that differ afterwards, or are gone.
    pub(crate) fn other_values(&self, after: &LiveObject) -> Vec<FieldChange> {
        let arena = Arena::new();
        let had = self.before.map(|before| Owners::of(&arena, before));
        let sets = had.iter().flat_map(values).collect();
        self.changes(&Effects { sets, ..Effects::default() }, after)
    }

    /// The fields that the writer comes to own as well, or that had no owner.
    fn shared(&self, had: &Owners<'_>, have: &Owners<'_>, known: &[FieldChange]) -> Vec<FieldChange> {
        let known: HashSet<&str> = known.iter().map(|change| change.path.as_str()).collect();
        let gained = moves(had, have).into_iter().filter(|one| {
            one.gained.iter().any(|manager| Some(manager.name.as_str()) == self.manager)
                && !one.has_fields
                && !this_and_above(&one.path).any(|path| known.contains(path))
        });
        let shared = gained.map(|one| FieldChange {
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
struct Values<'o, 'a> {
    owners: &'o Owners<'a>,
    fields: HashMap<String, (Path<'a>, Value<'a>)>,
}

impl<'o, 'a> Values<'o, 'a> {
    fn of(owners: &'o Owners<'a>) -> Self {
        // Of several items with one key it is the first.
        let fields = owners.every_path().into_iter().rev();
        let fields = fields.filter_map(|(path, value)| Some((path.to_string(), (path, value?))));
        Self { owners, fields: fields.collect() }
    }

    fn at(&self, path: &FieldPath) -> Option<(Path<'a>, Value<'a>)> {
        self.fields.get(path.as_str()).copied()
    }

    fn shown(&self, path: &FieldPath) -> Option<String> {
        let (path, value) = self.at(path)?;
        Some(self.owners.shown(path, value))
    }
}
