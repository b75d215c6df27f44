//! What holds of a write: see [`Step::check`].

use std::collections::BTreeMap;

use baton_merge::{
    Arena,
    fieldpath::{FieldSet, Path, PathElement::Field},
    predict::{Apply, Prediction},
    server::{Live, ManagerId, Operation, Resource, Spelling, Write as ServerWrite},
    typed::{Duplicates, Typed},
    value::Value as Merged,
};
use jiff::{Timestamp, ToSpan};
use serde_json::{Value, json};

use super::{
    Kind,
    case::{Case, Verb, Write},
};
use crate::targets::field_sets::check_wire_form;

/// An object and what was written to it so far.
pub(super) struct History<'c> {
    case: &'c Case,
    live: Option<Value>,
    now: Timestamp,
    /// Whether all owners come from writes that were made here, and no list ever held an item twice. Sets of other
    /// origin may name what isn't there, and items that are there twice have no owner of their own.
    clean: bool,
}

impl<'c> History<'c> {
    pub(super) fn new(case: &'c Case) -> Self {
        let owned = case.live.as_ref().is_some_and(|live| live["metadata"].get("managedFields").is_some());
        let now = Timestamp::UNIX_EPOCH;
        Self { case, live: case.live.clone(), now, clean: !owned }
    }

    /// Makes a write, where the server would accept it.
    pub(super) fn write(&mut self, write: &Write) {
        self.now += 1.seconds();
        let kind = self.case.kind;
        let Some(resource) = kind.resources().get(&kind.gvk(write.version)) else { return };
        let object = write.object.object(kind, write.version, self.live.as_ref(), write.verb);
        let step = Step { case: self.case, resource, write, live: self.live.as_ref(), now: self.now };
        self.clean &= self.live.is_none() || step.is_distinct(self.live.as_ref());
        let stored = match write.verb {
            Verb::Apply { force } => step.apply(&object, force, self.clean),
            Verb::Update => step.update(&object),
        };
        let Some(mut stored) = stored else { return };
        // A write of the scale may leave an updater two entries: its identity is another there than in the parent.
        self.clean &= write.subresource != "scale" && step.is_distinct(Some(&stored));
        if self.live.is_none() && stored["metadata"].is_object() {
            // What the server adds to a new object. Without it an object counts as one that is about to be created.
            stored["metadata"]["uid"] = json!("1");
        }
        self.live = Some(stored);
    }
}

/// One write to the object as it is.
struct Step<'s> {
    case: &'s Case,
    resource: Resource<'static>,
    write: &'s Write,
    live: Option<&'s Value>,
    now: Timestamp,
}

impl<'s> Step<'s> {
    fn typed<'a>(&self, arena: &'a Arena, json: &'a Value, duplicates: Duplicates) -> Option<Typed<'a>> {
        let schema = self.case.kind.resources().schema();
        let value = Merged::from_json(arena, json).ok()?;
        Typed::for_release(self.case.release, arena, schema, self.resource.type_id(), value, duplicates).ok()
    }

    /// Whether an object fits its schema and no list holds an item twice.
    fn is_distinct(&self, object: Option<&Value>) -> bool {
        object.is_some_and(|object| self.typed(&Arena::new(), object, Duplicates::Forbidden).is_some())
    }

    fn fits(&self, object: &Value) -> bool {
        self.typed(&Arena::new(), object, Duplicates::Allowed).is_some()
    }

    fn update(&self, object: &Value) -> Option<Value> {
        let arena = Arena::new();
        let live = match self.live {
            Some(live) => {
                Some(self.resource.in_its_version(&arena, Merged::from_json(&arena, live).ok()?).ok()?)
            }
            None => None,
        };
        let live = live.map(|object| Live { object, spelling: Spelling::UNKNOWN });
        let write = ServerWrite {
            manager: &self.write.manager,
            subresource: &self.write.subresource,
            now: self.now,
            release: self.case.release,
        };
        let stored =
            self.resource.update(&arena, live, Merged::from_json(&arena, object).ok()?, write).ok()?;
        for entry in &stored.managed_fields {
            check_wire_form(entry.fields);
        }
        Some(stored.to_json())
    }

    fn apply(&self, intent: &Value, force: bool, clean: bool) -> Option<Value> {
        let arena = Arena::new();
        let predict = |force| self.predict(&arena, self.live, intent, force);
        let prediction = predict(force)?;
        let twice = predict(force).expect("a prediction is made again");
        assert_eq!(prediction.stored.to_json(), twice.stored.to_json(), "predicted in two ways");
        if prediction.conflicts.is_empty() {
            return Some(self.check(&arena, intent, &prediction, clean));
        }
        assert!(!force, "a forced apply has conflicts: {}", prediction.conflicts);
        self.check_unchanged(&prediction, clean);
        let forced = predict(true)?;
        self.check_forced(&arena, &prediction, &forced);
        Some(self.check(&arena, intent, &forced, clean))
    }

    fn predict<'a>(
        &self,
        arena: &'a Arena,
        live: Option<&'a Value>,
        intent: &'a Value,
        force: bool,
    ) -> Option<Prediction<'a>>
    where
        's: 'a,
    {
        let apply = Apply {
            manager: &self.write.manager,
            force,
            subresource: &self.write.subresource,
            now: self.now,
            release: self.case.release,
        };
        self.resource.predict(arena, live, intent, apply).ok()
    }

    fn manager(&self) -> &str {
        if self.write.manager.is_empty() { "unknown" } else { &self.write.manager }
    }

    fn owned_by_applier<'a>(&self, prediction: &Prediction<'a>) -> FieldSet<'a> {
        let own = prediction.stored.managed_fields.iter().find(|entry| {
            entry.operation == Operation::Apply
                && entry.manager == self.manager()
                && entry.subresource == self.write.subresource
        });
        own.map(|entry| entry.fields).unwrap_or_default()
    }

    /// Forcing an apply takes what it would have conflicted about.
    fn check_forced<'a>(&self, arena: &'a Arena, refused: &Prediction<'a>, forced: &Prediction<'a>) {
        assert!(forced.conflicts.is_empty(), "a forced apply has conflicts: {}", forced.conflicts);
        let own = self.owned_by_applier(forced);
        for conflict in &refused.conflicts {
            let entry = forced.stored.managed_fields.iter().find(|entry| entry.id() == conflict.manager);
            let left = entry.map(|entry| entry.fields).unwrap_or_default();
            assert!(!left.contains(&conflict.path), "{} still owns {}", conflict.manager, conflict.path);
            // What pruning empties or a stripped field isn't the applier's afterwards: it is lost, not taken.
            let before = self.before(arena, conflict.manager);
            if own.contains(&conflict.path) && before.contains(&conflict.path) {
                let taken = forced
                    .taken
                    .iter()
                    .any(|taken| taken.path == conflict.path && taken.from == conflict.manager);
                assert!(taken, "{} isn't told to be taken from {}", conflict.path, conflict.manager);
            }
        }
    }

    /// Everything that holds of an apply without conflicts. What is there afterwards.
    ///
    /// - Where nothing is changed, nothing is: the object and its entries stay as they are.
    /// - The applier owns what it applied, but for what is never owned and what the subresource resets.
    /// - Nobody else owns anything more, but for what stands above it (a schema may have become atomic).
    /// - What is taken was somebody's before and is the applier's alone.
    ///
    /// And where the history is clean and the intent has neither nulls nor empty containers:
    /// - The new object fits the schema and lacks nothing of the intent.
    /// - Applying the same again conflicts with nobody and changes nothing.
    ///
    /// Null keeps what is in a map that it is applied to; nobody owns an empty list of items, so pruning takes it; and an
    /// applied empty map from which all was pruned becomes null, and empty again with the next apply. The server does so.
    fn check(&self, arena: &Arena, intent: &Value, prediction: &Prediction<'_>, clean: bool) -> Value {
        let stored = prediction.stored.to_json();
        for entry in &prediction.stored.managed_fields {
            check_wire_form(entry.fields);
        }
        if self.write.subresource == "scale" {
            return stored;
        }
        if !prediction.changed {
            self.check_unchanged(prediction, clean);
        }
        self.check_own(intent, prediction);
        self.check_others(arena, prediction);
        for taken in &prediction.taken {
            assert!(self.before(arena, taken.from).contains(&taken.path), "{taken:?} wasn't theirs");
            assert!(self.owned_by_applier(prediction).contains(&taken.path), "{taken:?} isn't the applier's");
        }
        if clean && !is_hollow(intent) {
            self.check_result(intent, &stored);
            self.check_again(intent, &stored);
        } else if clean {
            assert!(self.fits(&stored), "what is stored doesn't fit its schema: {stored}");
        }
        stored
    }

    fn check_unchanged(&self, prediction: &Prediction<'_>, clean: bool) {
        assert!(!prediction.changed, "conflicts, and something changes");
        assert!(prediction.comparison.is_same(), "nothing changes, and something differs");
        assert!(
            prediction.taken.is_empty(),
            "nothing changes, and something is taken: {:?}",
            prediction.taken
        );
        assert!(prediction.released.is_empty(), "nothing changes, and something is released");
        let (Some(live), true) = (self.live, clean) else { return };
        let mut expected = live.clone();
        if self.case.kind.is_custom() {
            expected["apiVersion"] = self.resource.api_version().into();
        }
        let stored = prediction.stored.to_json();
        let arena = Arena::new();
        let value = |json| Merged::from_json(&arena, json).expect("objects aren't deep");
        assert_eq!(value(&stored), value(&expected), "nothing changes, and the object is another");
    }

    /// The applier owns what the intent sets.
    fn check_own(&self, intent: &Value, prediction: &Prediction<'_>) {
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

    /// What a write through the subresource resets.
    fn resets(&self) -> &'static [&'static [baton_merge::fieldpath::PathElement<'static>]] {
        match (self.case.kind, self.write.subresource.as_str()) {
            // The kind has no status of its own.
            (Kind::Blob, _) => &[],
            (_, "") if self.write.version == 2 => &[],
            (_, "") => &[&[Field("status")]],
            (Kind::Deployment, _) => &[&[Field("metadata"), Field("labels")], &[Field("spec")]],
            (Kind::Gadget, _) => &[&[Field("metadata")], &[Field("spec")]],
        }
    }

    /// What a manager owned before.
    fn before<'a>(&self, arena: &'a Arena, manager: ManagerId<'_>) -> FieldSet<'a>
    where
        's: 'a,
    {
        self.owners(arena).get(&manager).copied().unwrap_or_default()
    }

    /// The entries of the live object; of two of one manager the last counts.
    fn owners<'a>(&self, arena: &'a Arena) -> BTreeMap<ManagerId<'a>, FieldSet<'a>>
    where
        's: 'a,
    {
        let entries = self.live.and_then(|live| live["metadata"].get("managedFields")?.as_array());
        let text = |entry: &'a Value, name| entry.get(name).and_then(Value::as_str).unwrap_or_default();
        let read = |entry: &'a Value| {
            let operation =
                if text(entry, "operation") == "Apply" { Operation::Apply } else { Operation::Update };
            let api_version = if operation == Operation::Apply { "" } else { text(entry, "apiVersion") };
            let (manager, subresource) = (text(entry, "manager"), text(entry, "subresource"));
            let fields = entry.get("fieldsV1").unwrap_or(&Value::Null);
            let set = FieldSet::from_fields_v1(arena, fields).ok()?;
            Some((ManagerId { manager, operation, api_version, subresource }, set))
        };
        entries.into_iter().flatten().filter_map(read).collect()
    }

    /// Nobody else gains anything.
    fn check_others(&self, arena: &Arena, prediction: &Prediction<'_>) {
        for entry in &prediction.stored.managed_fields {
            let is_own = entry.operation == Operation::Apply
                && entry.manager == self.manager()
                && entry.subresource == self.write.subresource;
            let is_new = entry.operation == Operation::Update && entry.manager == "before-first-apply";
            if is_own || is_new {
                continue;
            }
            let before = self.before(arena, entry.id());
            let owned = before.paths(arena);
            for path in entry.fields.difference(arena, before).paths(arena) {
                let stands_above = |other: &Path<'_>| other.elements().starts_with(path.elements());
                assert!(owned.iter().any(stands_above), "{} gains {path}", entry.id());
            }
        }
    }

    /// The object fits its schema and has what was applied.
    fn check_result(&self, intent: &Value, stored: &Value) {
        let arena = Arena::new();
        let result =
            self.typed(&arena, stored, Duplicates::Allowed).expect("what is stored doesn't fit its schema");
        let mut kept = intent.clone();
        if let Some(kept) = kept.as_object_mut() {
            match self.write.subresource.as_str() {
                "status" => kept.retain(|name, _| ["apiVersion", "kind", "status"].contains(&name.as_str())),
                _ if self.resets().is_empty() => {}
                _ => {
                    kept.remove("status");
                }
            }
        }
        if self.manager() == "kubectl" {
            // It keeps its intent in an annotation of the object.
            kept["metadata"] = json!({});
        }
        let applied =
            self.typed(&arena, &kept, Duplicates::Forbidden).expect("a part of a good intent is good");
        let lost = applied.compare(&result).expect("both are of one type");
        assert!(lost.removed.is_empty(), "applied, and not there:\n{}", lost.removed);
        assert!(lost.modified.is_empty(), "applied, and other than that:\n{}", lost.modified);
    }

    /// Applying the same again changes nothing.
    fn check_again(&self, intent: &Value, stored: &Value) {
        // A field set read from an object holds its numbers as floats, as the server's does, and so loses digits.
        if has_large_number(intent) {
            return;
        }
        // An object that nobody owns anything of is taken for one from before server-side apply, even if it was just
        // made by an apply of nothing but empty lists.
        if stored["metadata"].get("managedFields").is_none() {
            return;
        }
        // What kubectl applies is kept in the annotation, which can't be what is applied to it at the same time.
        if self.manager() == "kubectl" && intent["metadata"]["annotations"].get(LAST_APPLIED).is_some() {
            return;
        }
        let mut live = stored.clone();
        if live["metadata"].is_object() && self.live.is_none() {
            live["metadata"]["uid"] = json!("1");
        }
        let arena = Arena::new();
        let Some(again) = self.predict(&arena, Some(&live), intent, false) else {
            panic!("applied once, and refused the second time");
        };
        assert!(
            again.conflicts.is_empty(),
            "applied once, and conflicting the second time: {}",
            again.conflicts
        );
        assert!(
            !again.changed,
            "applying the same again changes something:\nfirst: {stored}\nthen:  {}",
            again.stored.to_json()
        );
    }
}

const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// What nobody ever owns.
fn stripped<'a>() -> impl Iterator<Item = Path<'a>> {
    const PATHS: &[&[baton_merge::fieldpath::PathElement<'static>]] = &[
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

fn is_hollow(json: &Value) -> bool {
    match json {
        Value::Null => true,
        Value::Array(items) => items.is_empty() || items.iter().any(is_hollow),
        Value::Object(members) => members.is_empty() || members.values().any(is_hollow),
        _ => false,
    }
}

fn has_large_number(json: &Value) -> bool {
    match json {
        Value::Number(number) => {
            number.as_f64().is_some_and(|number| number.abs() >= 9_007_199_254_740_992.0)
        }
        Value::Array(items) => items.iter().any(has_large_number),
        Value::Object(members) => members.values().any(has_large_number),
        _ => false,
    }
}
