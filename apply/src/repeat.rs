//! Applies that repeat the live object: no value changes that the server stores.
//!
//! A zero value such as `value: ""` or `hostNetwork: false` is owned, and mostly not stored. So each apply of it adds it to the live
//! object again: the server takes the field from every other manager and renews the time of the applier's entry. Two managers that
//! apply the same zero would take it from each other again and again. Therefore it stays with the manager that owns it.

use std::collections::BTreeMap;

use baton_merge::{
    Arena,
    fieldpath::FieldSet,
    predict::PredictedApply,
    server::{Entry, Operation},
    value::Value,
};

use crate::object::entries;

/// The kind of an apply that repeats the live object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Repeat {
    /// The server stores nothing.
    Exact,
    /// The server stores nothing but other owners of values that it doesn't store, and other times or another order of the
    /// entries of `managedFields`.
    ButForOwners,
}

impl Repeat {
    /// The kind of a predicted apply by this manager; `None` if it changes something else. `unstored` are the
    /// fields that get a zero which the server doesn't store.
    pub(crate) fn of<'a>(
        arena: &'a Arena,
        live: Value<'a>,
        prediction: &PredictedApply<'a>,
        unstored: FieldSet<'a>,
        writer: &str,
    ) -> Option<Self> {
        let comparison = prediction.comparison;
        // A field in an atomic list or map has no owner of its own, so it proves nothing.
        let values_stay = comparison.modified.is_empty()
            && comparison.removed.is_empty()
            && comparison.added.leaves(arena).difference(arena, unstored).is_empty()
            && is_live_but_for_additions(prediction.stored.object, live);
        if !values_stay {
            return None;
        }
        let before: Option<Vec<OwnerFields<'a>>> =
            entries(live).iter().map(|entry| OwnerFields::of_live(arena, *entry)).collect();
        let (before, after) = (before?, &prediction.stored.managed_fields);
        let after: Vec<OwnerFields<'a>> = after.iter().map(OwnerFields::of_entry).collect();
        let applies = |id: &[&str; 4]| id[1] == Operation::Apply.as_str();
        let is_own = |id: &[&str; 4]| id[0] == writer && applies(id);
        // An entry gets the time of the server's clock, by which entries are sorted: only the last one certainly stays where it is.
        let is_last = after.iter().rfind(|owned| applies(&owned.id)).is_some_and(|owned| is_own(&owned.id));
        if is_last && before == after {
            return Some(Self::Exact);
        }
        let by_id = |all: &[OwnerFields<'a>]| all.iter().map(|owned| (owned.id, owned.fields)).collect();
        let (before, after): (BTreeMap<_, FieldSet<'a>>, BTreeMap<_, _>) = (by_id(&before), by_id(&after));
        let stored =
            |fields: Option<&FieldSet<'a>>| fields.copied().unwrap_or_default().difference(arena, unstored);
        let stays = |id: &[&'a str; 4]| stored(before.get(id)) == stored(after.get(id));
        let taken = FieldSet::of_paths(arena, prediction.taken.iter().map(|taken| taken.path));
        let is_taken = |(id, fields): (&[&'a str; 4], &FieldSet<'a>)| {
            let gained = fields.difference(arena, before.get(id).copied().unwrap_or_default());
            gained.is_subset(taken)
        };
        let owners_stay = before.keys().chain(after.keys()).all(stays);
        (owners_stay && after.iter().filter(|(id, _)| is_own(id)).all(is_taken)).then_some(Self::ButForOwners)
    }
}

/// Whether a predicted object has all of the live one, with its lists in the same order.
fn is_live_but_for_additions(predicted: Value<'_>, live: Value<'_>) -> bool {
    match (predicted, live) {
        (Value::Map(predicted), Value::Map(live)) => live.members().iter().all(|(name, live)| {
            let found = predicted.get(name);
            *name == "managedFields"
                || found.is_some_and(|predicted| is_live_but_for_additions(predicted, *live))
        }),
        (Value::List(predicted), Value::List(live)) => {
            let mut pairs = predicted.iter().zip(live);
            predicted.len() == live.len()
                && pairs.all(|(predicted, live)| is_live_but_for_additions(*predicted, *live))
        }
        (predicted, live) => predicted == live,
    }
}

/// An entry of `managedFields` without its time.
#[derive(PartialEq)]
struct OwnerFields<'a> {
    /// Manager, operation, version and subresource.
    id: [&'a str; 4],
    fields: FieldSet<'a>,
}

impl<'a> OwnerFields<'a> {
    /// An entry of a live object; `None` if it can't be read.
    fn of_live(arena: &'a Arena, entry: Value<'a>) -> Option<Self> {
        let text = |name| entry.get(name).and_then(|text| text.as_str()).unwrap_or_default();
        let id = [text("manager"), text("operation"), text("apiVersion"), text("subresource")];
        Some(Self { id, fields: FieldSet::from_value(arena, entry.get("fieldsV1")?).ok()? })
    }

    fn of_entry(entry: &Entry<'a>) -> Self {
        let id = [entry.manager, entry.operation.as_str(), entry.api_version, entry.subresource];
        Self { id, fields: entry.fields }
    }
}
