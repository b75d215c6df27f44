//! Laws of every apply, for any live object and any owners, which responses alone don't show: a prediction reports all
//! losses, the no-op check agrees with the prediction, and trees and text lead to the same result.

use std::collections::{BTreeMap, BTreeSet};

use baton_merge::{
    Arena,
    fieldpath::FieldSet,
    predict::{Apply, PredictedApply, Taken},
    schema::kinds::GroupVersionKind,
    server::{ManagerId, Operation, Resource, Resources},
    typed::{Duplicates, Typed},
    value::{Map, Value},
};
use jiff::Timestamp;
use serde_json::Value as Json;

/// An apply to a live object.
#[derive(Clone, Copy)]
pub(crate) struct Laws<'s> {
    pub(crate) resources: &'s Resources,
    pub(crate) resource: Resource<'s>,
    pub(crate) live: Option<&'s Json>,
    /// Whether the field sets of the live object are in an order that a server stores.
    pub(crate) in_order: bool,
    pub(crate) intent: &'s Json,
    pub(crate) apply: Apply<'s>,
}

impl<'s> Laws<'s> {
    /// Panics if a law is broken.
    pub(crate) fn check(&self) {
        self.check_noop();
        let arena = Arena::new();
        let Some(prediction) = self.predict(&arena, self.apply.force) else { return };
        self.check_same_from_text(&prediction);
        if prediction.conflicts.is_empty() {
            return self.check_done(&arena, &prediction);
        }
        assert!(!self.apply.force, "a forced apply has conflicts: {}", prediction.conflicts);
        self.check_conflicts(&arena, &prediction);
        check_unchanged(&prediction);
        if let Some(forced) = self.predict(&arena, true) {
            self.check_forced(&arena, &prediction, &forced);
            self.check_done(&arena, &forced);
        }
    }

    fn predict<'a>(&self, arena: &'a Arena, force: bool) -> Option<PredictedApply<'a>>
    where
        's: 'a,
    {
        self.resource.predict(arena, self.live, self.intent, Apply { force, ..self.apply }).ok()
    }

    fn is_noop(&self, force: bool) -> bool {
        let arena = Arena::new();
        let (Some(live), Ok(intent)) = (self.live, Value::from_json(&arena, self.intent)) else {
            return false;
        };
        let live = Value::from_json(&arena, live);
        live.is_ok_and(|live| self.resource.is_noop(live, intent, Apply { force, ..self.apply }))
    }

    /// The no-op check is right, with and without force.
    fn check_noop(&self) {
        let noop = self.is_noop(false);
        assert_eq!(noop, self.is_noop(true), "a no-op only by force, or only without");
        // A tree doesn't show in which order a server has stored field sets, and the check assumes its own order.
        if !noop || !self.in_order || !self.live.is_some_and(is_as_served) {
            return;
        }
        for force in [false, true] {
            let arena = Arena::new();
            let prediction = self.predict(&arena, force);
            let prediction = prediction.unwrap_or_else(|| panic!("a no-op, and refused (force: {force})"));
            assert!(prediction.conflicts.is_empty(), "a no-op, and conflicting: {}", prediction.conflicts);
            assert!(!prediction.changed, "a no-op, and changed to {}", prediction.stored.to_json());
        }
    }

    /// The response is the same from trees and from text.
    fn check_same_from_text(&self, prediction: &PredictedApply<'_>) {
        let (live, intent) = (self.live.map(ToString::to_string), self.intent.to_string());
        let arena = Arena::new();
        let value = |text| Value::from_text(&arena, text).expect("what was written is read");
        let live = live.as_deref().map(value);
        let again = self.resource.predict_values(&arena, live, value(&intent), self.apply);
        let again = again.expect("a prediction is made again");
        assert_eq!(prediction.stored.to_json(), again.stored.to_json(), "predicted in two ways");
        assert_eq!(prediction.conflicts.to_string(), again.conflicts.to_string(), "two sorts of conflicts");
        assert_eq!(prediction.changed, again.changed, "changed once, and once not");
        assert_eq!(prediction.certainty, again.certainty, "certain in two ways");
    }

    fn check_done<'a>(&self, arena: &'a Arena, prediction: &PredictedApply<'a>)
    where
        's: 'a,
    {
        // Those owners are of another object.
        if self.is_of_scale() {
            return;
        }
        if !prediction.changed {
            check_unchanged(prediction);
        }
        self.check_losses(arena, prediction);
        self.check_comparison(arena, prediction);
    }

    /// The comparison is that of the object before and after.
    fn check_comparison(&self, arena: &Arena, prediction: &PredictedApply<'_>) {
        // A stored object always has metadata, which owners add.
        let Some(live) = self.live.filter(|live| live["metadata"].is_object()) else { return };
        let without_owners = |mut object: Json| {
            object["apiVersion"] = self.resource.api_version().into();
            object["metadata"].as_object_mut().map(|metadata| metadata.remove("managedFields"));
            object
        };
        let (old, new) = (without_owners(live.clone()), without_owners(prediction.stored.to_json()));
        let (schema, id) = (self.resource.schema(), self.resource.type_id());
        let typed = |json| {
            let value = Value::from_json(arena, json).ok()?;
            Typed::for_release(self.apply.release, arena, schema, id, value, Duplicates::Allowed).ok()
        };
        let (Some(old), Some(new)) = (typed(&old), typed(&new)) else { return };
        let expected = old.compare(&new).expect("both are of one type");
        assert_eq!(prediction.comparison.added, expected.added, "not what is added");
        assert_eq!(prediction.comparison.modified, expected.modified, "not what is modified");
        assert_eq!(prediction.comparison.removed, expected.removed, "not what is removed");
    }

    /// Each conflict is about a field that another manager owned, and is reported once. (Updaters of a scale are reported
    /// with its version, while their entries have the parent's.)
    fn check_conflicts<'a>(&self, arena: &'a Arena, refused: &PredictedApply<'a>)
    where
        's: 'a,
    {
        let (owners, mut seen) = (self.owners(arena), BTreeSet::new());
        for conflict in &refused.conflicts {
            let (manager, path) = (conflict.manager, conflict.path);
            assert!(!self.is_applier(manager), "the applier conflicts with itself");
            // An object without owners gets a new manager first.
            let is_owned = owners.is_empty()
                || self.is_of_scale()
                || owners.get(&manager).is_some_and(|owned| owned.contains(&path));
            assert!(is_owned, "{manager} doesn't own {path}");
            assert!(seen.insert((manager.to_string(), path)), "reported twice: {path}");
        }
    }

    /// A forced apply takes the fields of its conflicts.
    fn check_forced<'a>(&self, arena: &'a Arena, refused: &PredictedApply<'a>, forced: &PredictedApply<'a>)
    where
        's: 'a,
    {
        assert!(forced.conflicts.is_empty(), "a forced apply has conflicts: {}", forced.conflicts);
        let own = self.owned_by_applier(forced);
        let is_nobodys = self.owners(arena).is_empty();
        for conflict in refused.conflicts.iter().filter(|_| !self.is_of_scale()) {
            let (manager, path) = (conflict.manager, conflict.path);
            assert!(!owned_by(forced, manager).contains(&path), "{manager} still owns {path}");
            // Pruned and unowned fields don't become the applier's: they are dropped, not taken.
            let reported = if own.contains(&path) { &forced.taken } else { &forced.dropped };
            let is_reported = reported.iter().any(|taken| taken.path == path && taken.from == manager);
            assert!(is_reported || is_nobodys, "{path} isn't reported as lost by {manager}");
        }
    }

    /// All losses are reported once, and nothing else: of the applier as released; of others as taken if the applier owns
    /// them now, otherwise as dropped.
    fn check_losses<'a>(&self, arena: &'a Arena, prediction: &PredictedApply<'a>)
    where
        's: 'a,
    {
        let own = self.owned_by_applier(prediction);
        assert!(prediction.released.is_disjoint(own), "released, and still owned");
        for (reported, is_own) in [(&prediction.taken, true), (&prediction.dropped, false)] {
            for Taken { path, from } in reported {
                assert!(!self.is_applier(*from), "the applier loses {path} to itself");
                assert_eq!(
                    own.contains(path),
                    is_own,
                    "{path} of {from} is reported as the other sort of loss"
                );
            }
        }
        for (id, before) in self.owners(arena) {
            let lost = before.difference(arena, owned_by(prediction, id));
            let all = prediction.taken.iter().chain(&prediction.dropped);
            let reported: Vec<_> = all.filter(|one| one.from == id).map(|one| one.path).collect();
            let set = FieldSet::of_paths(arena, reported.iter().copied());
            assert_eq!(set.len(), reported.len(), "a loss of {id} is reported twice: {reported:?}");
            let set = if self.is_applier(id) { prediction.released } else { set };
            let expected = if prediction.changed { lost } else { FieldSet::default() };
            assert_eq!(set, expected, "{id} loses something else than what is reported");
        }
    }

    fn is_of_scale(&self) -> bool {
        self.apply.subresource == "scale"
    }

    fn is_applier(&self, id: ManagerId<'_>) -> bool {
        let manager = if self.apply.manager.is_empty() { "unknown" } else { self.apply.manager };
        id.operation == Operation::Apply && id.manager == manager && id.subresource == self.apply.subresource
    }

    fn owned_by_applier<'a>(&self, prediction: &PredictedApply<'a>) -> FieldSet<'a> {
        let own = prediction.stored.managed_fields.iter().find(|entry| self.is_applier(entry.id()));
        own.map(|entry| entry.fields).unwrap_or_default()
    }

    /// The entries of the live object, read under the schema of their version; of two entries of one manager the last
    /// counts. None if an entry can't be read.
    fn owners<'a>(&self, arena: &'a Arena) -> BTreeMap<ManagerId<'a>, FieldSet<'a>>
    where
        's: 'a,
    {
        let entries = self.live.and_then(|live| live["metadata"].get("managedFields")?.as_array());
        let text = |entry: &'a Json, name| entry.get(name).and_then(Json::as_str).unwrap_or_default();
        let read = |entry: &'a Json| {
            let is_apply = text(entry, "operation") == "Apply";
            let operation = if is_apply { Operation::Apply } else { Operation::Update };
            let version = text(entry, "apiVersion");
            let api_version = if is_apply { "" } else { version };
            let (manager, subresource) = (text(entry, "manager"), text(entry, "subresource"));
            let set = FieldSet::from_fields_v1(arena, entry.get("fieldsV1").unwrap_or(&Json::Null)).ok()?;
            let id = ManagerId { manager, operation, api_version, subresource };
            Some((id, self.reconciled(arena, version, set)))
        };
        let are_entries = entries.is_some_and(|entries| entries.iter().all(is_entry));
        entries.filter(|_| are_entries).into_iter().flatten().filter_map(read).collect()
    }

    /// A set, read under the current schema.
    fn reconciled<'a>(&self, arena: &'a Arena, api_version: &str, set: FieldSet<'a>) -> FieldSet<'a>
    where
        's: 'a,
    {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let gvk = GroupVersionKind::new(group, version, self.resource.kind());
        let Some(resource) = self.resources.get(&gvk) else { return set };
        let (schema, id) = (self.resources.schema(), resource.type_id());
        let empty = Value::Map(Map::default());
        Typed::for_release(self.apply.release, arena, schema, id, empty, Duplicates::Forbidden)
            .and_then(|typed| typed.reconcile(set))
            .ok()
            .flatten()
            .unwrap_or(set)
    }
}

fn check_unchanged(prediction: &PredictedApply<'_>) {
    assert!(!prediction.changed, "conflicts, and something changes");
    assert!(prediction.comparison.is_same(), "nothing changes, and something differs");
    for (what, lost) in [("taken", &prediction.taken), ("dropped", &prediction.dropped)] {
        assert!(lost.is_empty(), "nothing changes, and something is {what}: {lost:?}");
    }
    assert!(prediction.released.is_empty(), "nothing changes, and something is released");
}

fn owned_by<'a>(prediction: &PredictedApply<'a>, id: ManagerId<'_>) -> FieldSet<'a> {
    let entry = prediction.stored.managed_fields.iter().find(|entry| entry.id() == id);
    entry.map(|entry| entry.fields).unwrap_or_default()
}

/// Whether the field sets of an object are as a server writes them, which the no-op check relies on.
fn is_as_served(object: &Json) -> bool {
    let arena = Arena::new();
    let is_written =
        |fields| FieldSet::from_fields_v1(&arena, fields).is_ok_and(|set| set.to_fields_v1() == *fields);
    let entries = object["metadata"]["managedFields"].as_array();
    entries.is_some_and(|entries| entries.iter().all(|entry| is_written(&entry["fieldsV1"])))
}

/// Whether the server's decoder accepts this as an entry.
fn is_entry(entry: &Json) -> bool {
    let Some(members) = entry.as_object() else { return false };
    ["manager", "operation", "apiVersion", "time", "fieldsType", "subresource"].iter().all(|name| {
        match members.get(*name) {
            None | Some(Json::Null) => true,
            Some(Json::String(text)) => *name != "time" || text.parse::<Timestamp>().is_ok(),
            Some(_) => false,
        }
    })
}
