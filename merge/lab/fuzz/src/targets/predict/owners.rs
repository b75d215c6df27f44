//! What holds of who owns what after a write.

use std::collections::{BTreeMap, BTreeSet};

use baton_merge::{
    Arena,
    fieldpath::{FieldSet, Path, PathElement, PathElement::Field},
    predict::{Prediction, Taken},
    schema::kinds::GroupVersionKind,
    server::{ManagerId, Operation, Stored},
    typed::{Duplicates, Typed},
    value::Value as Merged,
};
use jiff::Timestamp;
use serde_json::Value;

use super::checks::{Step, operation};

impl<'s> Step<'s> {
    /// The entries as JSON are those of the answer: in the server's order, each another's, none empty, and each is read
    /// as it was written.
    pub(super) fn check_entries(stored: &Stored<'_>, json: &Value) {
        let entries = json["metadata"].get("managedFields").and_then(Value::as_array);
        let entries = entries.map(Vec::as_slice).unwrap_or_default();
        assert_eq!(entries.len(), stored.managed_fields.len(), "entries get lost: {json}");
        let arena = Arena::new();
        for (entry, own) in entries.iter().zip(&stored.managed_fields) {
            let text = |name| entry.get(name).and_then(Value::as_str).unwrap_or_default();
            assert_eq!(text("manager"), own.manager);
            assert_eq!(text("operation"), own.operation.as_str());
            assert_eq!(text("apiVersion"), own.api_version);
            assert_eq!(text("subresource"), own.subresource);
            let time = own.time.map(|time| time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string());
            assert_eq!(text("time"), time.unwrap_or_default());
            let fields = FieldSet::from_fields_v1(&arena, &entry["fieldsV1"]);
            let fields = fields.unwrap_or_else(|error| panic!("{} can't be read: {error}", own.id()));
            assert!(fields.len() <= own.fields.len(), "{} is read with more than it has", own.id());
            assert!(
                fields.len() < own.fields.len() || fields == own.fields,
                "{} is read otherwise",
                own.id()
            );
        }
        if !stored.changed {
            return;
        }
        let key = |entry: &&Value| {
            ["operation", "time", "manager", "apiVersion", "subresource"]
                .map(|name| entry.get(name).and_then(Value::as_str).unwrap_or_default().to_owned())
        };
        assert!(
            entries.iter().collect::<Vec<_>>().is_sorted_by_key(key),
            "the entries aren't sorted: {json}"
        );
    }

    /// Each conflict is about something that another manager owned; none is told twice. (Updaters of a scale are told with
    /// its version, while their entries have the parent's.)
    pub(super) fn check_conflicts<'a>(&self, arena: &'a Arena, refused: &Prediction<'a>)
    where
        's: 'a,
    {
        let mut seen = BTreeSet::new();
        for conflict in &refused.conflicts {
            assert!(!self.is_applier(conflict.manager), "the applier conflicts with itself");
            // An object that nobody owns is given to somebody first, who isn't there yet.
            let is_new = self.owners(arena).is_empty();
            let owned =
                is_new || self.is_of_scale() || self.before(arena, conflict.manager).contains(&conflict.path);
            assert!(owned, "{} doesn't own {}", conflict.manager, conflict.path);
            assert!(
                seen.insert((conflict.manager.to_string(), conflict.path)),
                "told twice: {}",
                conflict.path
            );
        }
    }

    /// Forcing an apply takes what it would have conflicted about.
    pub(super) fn check_forced<'a>(&self, arena: &'a Arena, refused: &Prediction<'a>, forced: &Prediction<'a>)
    where
        's: 'a,
    {
        assert!(forced.conflicts.is_empty(), "a forced apply has conflicts: {}", forced.conflicts);
        let own = self.owned_by_applier(forced);
        for conflict in refused.conflicts.iter().filter(|_| !self.is_of_scale()) {
            let entry = forced.stored.managed_fields.iter().find(|entry| entry.id() == conflict.manager);
            let left = entry.map(|entry| entry.fields).unwrap_or_default();
            assert!(!left.contains(&conflict.path), "{} still owns {}", conflict.manager, conflict.path);
            // What pruning empties, or what is never owned, isn't the applier's afterwards: it is dropped, not taken.
            let told = if own.contains(&conflict.path) { &forced.taken } else { &forced.dropped };
            let is_told =
                told.iter().any(|taken| taken.path == conflict.path && taken.from == conflict.manager);
            assert!(
                is_told || self.owners(arena).is_empty(),
                "{} isn't told to be lost by {}",
                conflict.path,
                conflict.manager
            );
        }
    }

    pub(super) fn is_of_scale(&self) -> bool {
        self.write.subresource == "scale"
    }

    fn is_applier(&self, id: ManagerId<'_>) -> bool {
        id.operation == Operation::Apply
            && id.manager == self.manager()
            && id.subresource == self.write.subresource
    }

    fn owned_by_applier<'a>(&self, prediction: &Prediction<'a>) -> FieldSet<'a> {
        let own = prediction.stored.managed_fields.iter().find(|entry| self.is_applier(entry.id()));
        own.map(|entry| entry.fields).unwrap_or_default()
    }

    /// The applier owns what the intent sets.
    pub(super) fn check_own(&self, intent: &Value, prediction: &Prediction<'_>) {
        let arena = Arena::new();
        let Some(typed) = self.typed(&arena, intent, Duplicates::Forbidden) else {
            panic!("an intent that doesn't fit its schema was applied")
        };
        let set = typed.to_set().expect("what was applied has a set");
        let resets = FieldSet::of_paths(&arena, self.resets().iter().map(|fields| Path::new(fields)));
        let expected = set
            .recursive_difference(&arena, resets)
            .difference(&arena, FieldSet::of_paths(&arena, stripped()));
        let own = self.owned_by_applier(prediction);
        assert!(
            own.is_subset(expected) && expected.is_subset(own),
            "the applier owns\n{own}\ninstead of\n{expected}"
        );
    }

    /// Nobody else gains anything.
    pub(super) fn check_others<'a>(&self, arena: &'a Arena, prediction: &Prediction<'a>)
    where
        's: 'a,
    {
        for entry in &prediction.stored.managed_fields {
            let is_new = entry.operation == Operation::Update && entry.manager == "before-first-apply";
            if self.is_applier(entry.id()) || is_new {
                continue;
            }
            let before = self.before(arena, entry.id());
            assert!(entry.fields.is_subset(before), "{} gains something", entry.id());
        }
    }

    /// What anybody has lost is told, and nothing else: of the applier as released; of others as taken, where the applier
    /// owns it now, else as dropped.
    pub(super) fn check_losses<'a>(&self, arena: &'a Arena, prediction: &Prediction<'a>)
    where
        's: 'a,
    {
        let own = self.owned_by_applier(prediction);
        assert!(prediction.released.is_disjoint(own), "released, and still owned");
        for (told, is_own) in [(&prediction.taken, true), (&prediction.dropped, false)] {
            for Taken { path, from } in told {
                assert!(!self.is_applier(*from), "the applier loses {path} to itself");
                assert_eq!(own.contains(path), is_own, "{path} of {from} is told as the other sort of loss");
            }
        }
        for (id, before) in self.owners(arena) {
            let entry = prediction.stored.managed_fields.iter().find(|entry| entry.id() == id);
            let lost = before.difference(arena, entry.map(|entry| entry.fields).unwrap_or_default());
            let told: Vec<_> =
                prediction.taken.iter().chain(&prediction.dropped).filter(|one| one.from == id).collect();
            let set = FieldSet::of_paths(arena, told.iter().map(|one| one.path));
            assert_eq!(set.len(), told.len(), "something that {id} loses is told twice: {told:?}");
            let set = if self.is_applier(id) { prediction.released } else { set };
            let expected = if prediction.changed { lost } else { FieldSet::default() };
            assert_eq!(set, expected, "{id} loses something else than what is told");
        }
    }

    /// What a manager owned before.
    fn before<'a>(&self, arena: &'a Arena, manager: ManagerId<'_>) -> FieldSet<'a>
    where
        's: 'a,
    {
        self.owners(arena).get(&manager).copied().unwrap_or_default()
    }

    /// The entries of the live object, read under the schema of their version; of two of one manager the last counts. None
    /// where one of them is no entry.
    fn owners<'a>(&self, arena: &'a Arena) -> BTreeMap<ManagerId<'a>, FieldSet<'a>>
    where
        's: 'a,
    {
        let entries = self.live.and_then(|live| live["metadata"].get("managedFields")?.as_array());
        let text = |entry: &'a Value, name| entry.get(name).and_then(Value::as_str).unwrap_or_default();
        let read = |entry: &'a Value| {
            let operation = operation(text(entry, "operation"));
            let version = text(entry, "apiVersion");
            let api_version = if operation == Operation::Apply { "" } else { version };
            let (manager, subresource) = (text(entry, "manager"), text(entry, "subresource"));
            let fields = entry.get("fieldsV1").unwrap_or(&Value::Null);
            let set = FieldSet::from_fields_v1(arena, fields).ok()?;
            let id = ManagerId { manager, operation, api_version, subresource };
            Some((id, self.reconciled(arena, version, set)))
        };
        let are_entries = entries.is_some_and(|entries| entries.iter().all(is_entry));
        entries.filter(|_| are_entries).into_iter().flatten().filter_map(read).collect()
    }

    /// A set as it is read under the schema of today.
    fn reconciled<'a>(&self, arena: &'a Arena, api_version: &str, set: FieldSet<'a>) -> FieldSet<'a>
    where
        's: 'a,
    {
        let resources = self.case.kind.resources();
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let gvk = GroupVersionKind::new(group, version, self.resource.kind());
        let Some(resource) = resources.get(&gvk) else { return set };
        let empty = Merged::Map(baton_merge::value::Map::default());
        let typed = Typed::for_release(
            self.release(),
            arena,
            resources.schema(),
            resource.type_id(),
            empty,
            Duplicates::Forbidden,
        );
        typed.and_then(|typed| typed.reconcile(set)).ok().flatten().unwrap_or(set)
    }
}

/// Whether the server's decoder takes this for an entry at all.
fn is_entry(entry: &Value) -> bool {
    let Some(members) = entry.as_object() else { return false };
    ["manager", "operation", "apiVersion", "time", "fieldsType", "subresource"].iter().all(|name| {
        match members.get(*name) {
            None | Some(Value::Null) => true,
            Some(Value::String(text)) => *name != "time" || text.parse::<Timestamp>().is_ok(),
            Some(_) => false,
        }
    })
}

/// What nobody ever owns.
fn stripped<'a>() -> impl Iterator<Item = Path<'a>> {
    const PATHS: &[&[PathElement<'static>]] = &[
        &[Field("apiVersion")],
        &[Field("kind")],
        &[Field("metadata")],
        &[Field("metadata"), Field("name")],
        &[Field("metadata"), Field("namespace")],
        &[Field("metadata"), Field("creationTimestamp")],
        &[Field("metadata"), Field("selfLink")],
        &[Field("metadata"), Field("uid")],
        &[Field("metadata"), Field("clusterName")],
        &[Field("metadata"), Field("generation")],
        &[Field("metadata"), Field("managedFields")],
        &[Field("metadata"), Field("resourceVersion")],
    ];
    PATHS.iter().copied().map(Path::new)
}
