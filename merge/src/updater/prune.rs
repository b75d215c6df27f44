//! Pruning: removes fields that an applier no longer applies.
//!
//! Three passes, as upstream: all fields that the applier last owned are removed; the fields of any manager (the new
//! intent's included) come back, with their parent structs; then the fields that the applier never owned.

use super::{Managers, UpdateError, Updater, VersionedSet, known};
use crate::{
    fieldpath::FieldSet,
    typed::Typed,
    value::{Map, Value},
};

impl<'a> Updater<'_, 'a> {
    /// The merged object without the fields that the applier owned last time, doesn't apply now, and no other manager owns.
    /// It matters whether the applier owns all of its intent: the passes lose an item whose key it doesn't own.
    pub(super) fn prune<M: Ord>(
        &self,
        merged: Typed<'a>,
        intent: Typed<'a>,
        owns_all: bool,
        managers: &Managers<'a, M>,
        applier: &M,
        last: Option<VersionedSet<'a>>,
    ) -> Result<Typed<'a>, UpdateError<'a, M>> {
        let Some(last) = last.filter(|last| !last.set.is_empty()) else { return Ok(merged) };
        let keeps_all = || keeps_all(managers, applier, last) && !is_filled(&intent.value(), &merged.value());
        if owns_all
            && merged.has_only_named_items()
            && keeps_all()
            && !merged.has_items_without_fields(last.set)
        {
            // The passes would remove nothing. (From an item without fields they might remove its key.)
            return Ok(merged.remove(FieldSet::default()));
        }
        let Some(merged) = known(self.converter.convert(merged, last.version))? else {
            return Ok(merged);
        };
        let pruned = merged.remove(merged.with_named_fields(last.set));
        let pruned = self.add_back_owned(merged, pruned, last.version, managers)?;
        let pruned = self.add_back_dangling(merged, pruned, last)?;
        let version = managers.get(applier).map_or(last.version, |now| now.version);
        Ok(self.converter.convert(pruned, version)?)
    }

    fn add_back_owned<M: Ord>(
        &self,
        merged: Typed<'a>,
        pruned: Typed<'a>,
        pruned_version: &'a str,
        managers: &Managers<'a, M>,
    ) -> Result<Typed<'a>, UpdateError<'a, M>> {
        // The pruned version comes first: conversions might need its missing fields.
        let mut by_version: Vec<(&'a str, Vec<FieldSet<'a>>)> = Vec::new();
        for (_, owned) in managers {
            match by_version.iter_mut().find(|(version, _)| *version == owned.version) {
                Some((_, sets)) => sets.push(owned.set),
                None => by_version.push((owned.version, vec![owned.set])),
            }
        }
        by_version.sort_by_key(|(version, _)| (*version != pruned_version, *version));
        let (mut merged, mut pruned) = (merged, pruned);
        for (version, owned) in by_version {
            let Some(merged_there) = known(self.converter.convert(merged, version))? else { continue };
            merged = merged_there;
            let Some(pruned_there) = known(self.converter.convert(pruned, version))? else { continue };
            let owned = FieldSet::union_all(self.arena, owned);
            let merged_set = merged.with_named_fields(merged.to_set()?);
            let kept = merged
                .with_named_fields(pruned_there.to_set()?)
                .union(self.arena, merged.with_named_fields(owned));
            pruned = merged.remove(merged_set.difference(self.arena, kept));
        }
        Ok(pruned)
    }

    fn add_back_dangling<M>(
        &self,
        merged: Typed<'a>,
        pruned: Typed<'a>,
        last: VersionedSet<'a>,
    ) -> Result<Typed<'a>, UpdateError<'a, M>> {
        let Some(pruned) = known(self.converter.convert(pruned, last.version))? else {
            return Ok(merged);
        };
        let pruned_set = merged.with_named_fields(pruned.to_set()?);
        let merged_set = merged.with_named_fields(merged.to_set()?);
        let last = merged.with_named_fields(last.set);
        Ok(merged.remove(merged_set.difference(self.arena, pruned_set).intersection(self.arena, last)))
    }
}

/// Whether the applier still applies all its fields, in one version only. An applied item or map key is always owned
/// itself, so its parents are as well. A number that lost digits equals several items, of which not all need to be applied.
fn keeps_all<M: Ord>(managers: &Managers<'_, M>, applier: &M, last: VersionedSet<'_>) -> bool {
    managers.iter().all(|(_, owned)| owned.version == last.version)
        && managers.get(applier).is_some_and(|now| last.set.is_subset(now.set))
        && !last.set.has_rounded_numbers()
}

/// Whether a map that is applied empty may have got content that the passes remove, itself included: an empty list has no
/// path that would keep its parents. Items of lists that aren't as they were applied count as such.
fn is_filled(intent: &Value<'_>, merged: &Value<'_>) -> bool {
    match (intent, merged) {
        _ if intent.shares_memory(merged) => false,
        (Value::Map(intent), Value::Map(merged)) if intent.is_empty() => {
            merged.members().iter().any(|(_, value)| value.any(&is_empty))
        }
        (Value::Map(intent), Value::Map(merged)) => Map::zip(*intent, *merged).any(|(_, intent, merged)| {
            intent.zip(merged).is_some_and(|(intent, merged)| is_filled(&intent, &merged))
        }),
        (Value::List(items), Value::List(merged)) => items.iter().enumerate().any(|(position, item)| {
            item.any(&is_empty) && !merged.get(position).is_some_and(|merged| item.is_identical(merged))
        }),
        _ => false,
    }
}

fn is_empty(value: &Value<'_>) -> bool {
    match value {
        Value::Null => true,
        Value::Map(map) => map.is_empty(),
        Value::List(items) => items.is_empty(),
        _ => false,
    }
}
