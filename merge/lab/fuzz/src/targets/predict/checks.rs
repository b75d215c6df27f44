//! The writes of a case, one after the other, and what holds of each: see [`Step::check`].

use baton_merge::{
    Arena, Release,
    fieldpath::PathElement::{self, Field},
    predict::{Apply, Prediction},
    server::{Live, Operation, Resource, Spelling, Write as ServerWrite},
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
    /// Whether all owners come from writes that were made here.
    own: bool,
    /// Whether besides no list ever held an item twice. Sets of other origin may name what isn't there, and items that are
    /// there twice have no owner of their own.
    clean: bool,
}

impl<'c> History<'c> {
    pub(super) fn new(case: &'c Case) -> Self {
        let owned = case.live.as_ref().is_some_and(|live| live["metadata"].get("managedFields").is_some());
        let now = Timestamp::UNIX_EPOCH;
        Self { case, live: case.live.clone(), now, own: !owned, clean: !owned }
    }

    /// Makes a write, where the server would accept it.
    pub(super) fn write(&mut self, write: &Write) {
        self.now += 1.seconds();
        let kind = self.case.kind;
        let Some(resource) = kind.resources().get(&kind.gvk(write.version)) else { return };
        let object = write.object.object(kind, write.version, self.live.as_ref(), write.verb);
        let step =
            Step { case: self.case, resource, write, live: self.live.as_ref(), now: self.now, own: self.own };
        self.clean &= self.live.is_none() || step.is_distinct(self.live.as_ref());
        let stored = match write.verb {
            Verb::Apply { force } => step.apply(&object, force, self.clean),
            Verb::Update => step.update(&object),
        };
        let Some(stored) = stored else { return };
        // A write of the scale may leave an updater two entries: its identity is another there than in the parent.
        self.clean &= write.subresource != "scale" && step.is_distinct(Some(&stored));
        self.live = Some(step.created(stored));
    }

    /// A write as a request of the driver protocol.
    pub(super) fn request(&self, write: &Write) -> Value {
        let kind = self.case.kind;
        let gvk = kind.gvk(write.version);
        let (definition, document) = kind.document();
        let mut request = json!({
            "do": if write.verb == Verb::Update { "update" } else { "apply" },
            "gvk": {"group": gvk.group, "version": gvk.version, "kind": gvk.kind},
            "subresource": write.subresource, "live": self.live, "manager": write.manager,
            "object": write.object.object(kind, write.version, self.live.as_ref(), write.verb),
            "now": (self.now + 1.seconds()).to_string(), "profile": self.case.release.to_string(),
            definition: document,
        });
        if let Verb::Apply { force } = write.verb {
            request["force"] = json!(force);
        }
        request
    }
}

/// One write to the object as it is.
pub(super) struct Step<'s> {
    pub(super) case: &'s Case,
    pub(super) resource: Resource<'static>,
    pub(super) write: &'s Write,
    pub(super) live: Option<&'s Value>,
    now: Timestamp,
    /// Whether all owners come from writes that were made here.
    pub(super) own: bool,
}

impl<'s> Step<'s> {
    pub(super) fn typed<'a>(
        &self,
        arena: &'a Arena,
        json: &'a Value,
        duplicates: Duplicates,
    ) -> Option<Typed<'a>> {
        let schema = self.case.kind.resources().schema();
        let value = Merged::from_json(arena, json).ok()?;
        Typed::for_release(self.release(), arena, schema, self.resource.type_id(), value, duplicates).ok()
    }

    pub(super) fn release(&self) -> Release {
        self.case.release
    }

    /// Whether an object fits its schema and no list holds an item twice.
    fn is_distinct(&self, object: Option<&Value>) -> bool {
        object.is_some_and(|object| self.typed(&Arena::new(), object, Duplicates::Forbidden).is_some())
    }

    fn fits(&self, object: &Value) -> bool {
        self.typed(&Arena::new(), object, Duplicates::Allowed).is_some()
    }

    /// What is stored, with what the server adds to a new object. Without it an object counts as about to be created.
    pub(super) fn created(&self, mut stored: Value) -> Value {
        if self.live.is_none() && stored["metadata"].is_object() {
            stored["metadata"]["uid"] = json!("1");
        }
        stored
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
            release: self.release(),
        };
        let stored =
            self.resource.update(&arena, live, Merged::from_json(&arena, object).ok()?, write).ok()?;
        let json = stored.to_json();
        for entry in &stored.managed_fields {
            check_wire_form(entry.fields);
        }
        Self::check_entries(&stored, &json);
        Some(json)
    }

    fn apply(&self, intent: &Value, force: bool, clean: bool) -> Option<Value> {
        self.check_noop(intent);
        let arena = Arena::new();
        let predict = |force| self.predict(&arena, self.live, intent, force);
        let prediction = predict(force)?;
        self.check_same_from_text(intent, force, &prediction);
        if prediction.conflicts.is_empty() {
            return Some(self.check(&arena, intent, &prediction, clean));
        }
        assert!(!force, "a forced apply has conflicts: {}", prediction.conflicts);
        self.check_conflicts(&arena, &prediction);
        self.check_unchanged(&prediction, clean);
        let forced = predict(true)?;
        self.check_forced(&arena, &prediction, &forced);
        Some(self.check(&arena, intent, &forced, clean))
    }

    pub(super) fn apply_as(&self, force: bool) -> Apply<'s> {
        Apply {
            manager: &self.write.manager,
            force,
            subresource: &self.write.subresource,
            now: self.now,
            release: self.release(),
        }
    }

    pub(super) fn predict<'a>(
        &self,
        arena: &'a Arena,
        live: Option<&'a Value>,
        intent: &'a Value,
        force: bool,
    ) -> Option<Prediction<'a>>
    where
        's: 'a,
    {
        self.resource.predict(arena, live, intent, self.apply_as(force)).ok()
    }

    pub(super) fn manager(&self) -> &str {
        if self.write.manager.is_empty() { "unknown" } else { &self.write.manager }
    }

    /// The same question has one answer, wherever the objects come from.
    fn check_same_from_text(&self, intent: &Value, force: bool, prediction: &Prediction<'_>) {
        let (live, intent) = (self.live.map(ToString::to_string), intent.to_string());
        let arena = Arena::new();
        let value = |text| Merged::from_text(&arena, text).expect("what was written is read");
        let apply = self.apply_as(force);
        let again = self.resource.predict_values(&arena, live.as_deref().map(value), value(&intent), apply);
        let again = again.expect("a prediction is made again");
        assert_eq!(prediction.stored.to_json(), again.stored.to_json(), "predicted in two ways");
        assert_eq!(prediction.conflicts.to_string(), again.conflicts.to_string(), "two sorts of conflicts");
        assert_eq!(prediction.changed, again.changed, "changed once, and once not");
        assert_eq!(prediction.certainty, again.certainty, "certain in two ways");
    }

    /// Everything that holds of an apply without conflicts. What is there afterwards.
    ///
    /// - Where nothing is changed, nothing is: the object and its entries stay as they are.
    /// - The entries can be read, are in the server's order, and each is another's.
    /// - The applier owns what it applied, but for what is never owned and what the subresource resets.
    /// - Nobody else owns anything more, but for what stands above it (a schema may have become atomic).
    /// - What anybody has lost is told, once, as what became of it.
    ///
    /// And where the history is clean:
    /// - The new object fits the schema.
    /// - With neither nulls nor empty containers in the intent: the object lacks nothing of the intent, and applying the
    ///   same again conflicts with nobody and changes nothing. With some of them it takes a few times to get there.
    ///
    /// Null keeps what is in a map that it is applied to; nobody owns an empty list of items, so pruning takes it; and an
    /// applied empty map from which all was pruned becomes null, and empty again with the next apply. The server does so.
    fn check(&self, arena: &Arena, intent: &Value, prediction: &Prediction<'_>, clean: bool) -> Value {
        let stored = prediction.stored.to_json();
        for entry in &prediction.stored.managed_fields {
            check_wire_form(entry.fields);
        }
        Self::check_entries(&prediction.stored, &stored);
        if self.is_of_scale() {
            return stored;
        }
        if !prediction.changed {
            self.check_unchanged(prediction, clean);
        }
        self.check_own(intent, prediction);
        self.check_others(arena, prediction);
        self.check_losses(arena, prediction);
        self.check_comparison(arena, prediction);
        if !clean {
            return stored;
        }
        assert!(self.fits(&stored), "what is stored doesn't fit its schema: {stored}");
        if is_hollow(intent) {
            self.check_settles(intent, &stored);
        } else {
            self.check_result(intent, &stored);
            self.check_again(intent, &stored);
        }
        stored
    }

    fn check_unchanged(&self, prediction: &Prediction<'_>, clean: bool) {
        assert!(!prediction.changed, "conflicts, and something changes");
        assert!(prediction.comparison.is_same(), "nothing changes, and something differs");
        for (what, lost) in [("taken", &prediction.taken), ("dropped", &prediction.dropped)] {
            assert!(lost.is_empty(), "nothing changes, and something is {what}: {lost:?}");
        }
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

    /// The comparison is that of the object before and after.
    fn check_comparison(&self, arena: &Arena, prediction: &Prediction<'_>) {
        let Some(live) = self.live else { return };
        let without_owners = |mut object: Value| {
            object["apiVersion"] = self.resource.api_version().into();
            object["metadata"].as_object_mut().map(|metadata| metadata.remove("managedFields"));
            object
        };
        let (old, new) = (without_owners(live.clone()), without_owners(prediction.stored.to_json()));
        let (Some(old), Some(new)) =
            (self.typed(arena, &old, Duplicates::Allowed), self.typed(arena, &new, Duplicates::Allowed))
        else {
            return;
        };
        let expected = old.compare(&new).expect("both are of one type");
        assert_eq!(prediction.comparison.is_same(), expected.is_same(), "the comparison is another's");
        assert_eq!(prediction.comparison.added, expected.added, "not what is added");
        assert_eq!(prediction.comparison.modified, expected.modified, "not what is modified");
        assert_eq!(prediction.comparison.removed, expected.removed, "not what is removed");
    }

    /// What a write through the subresource resets.
    pub(super) fn resets(&self) -> &'static [&'static [PathElement<'static>]] {
        match (self.case.kind, self.write.subresource.as_str()) {
            // The kind has no status of its own.
            (Kind::Blob, _) => &[],
            (_, "") if self.write.version == 2 => &[],
            (_, "") => &[&[Field("status")]],
            (Kind::Deployment, _) => &[&[Field("metadata"), Field("labels")], &[Field("spec")]],
            (Kind::Gadget, _) => &[&[Field("metadata")], &[Field("spec")]],
        }
    }

    /// The object has what was applied.
    fn check_result(&self, intent: &Value, stored: &Value) {
        let arena = Arena::new();
        let result = self.typed(&arena, stored, Duplicates::Allowed).expect("what is stored fits its schema");
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
}

/// The operation by its name; anything else is an update.
pub(super) fn operation(name: &str) -> Operation {
    if name == "Apply" { Operation::Apply } else { Operation::Update }
}

fn is_hollow(json: &Value) -> bool {
    match json {
        Value::Null => true,
        Value::Array(items) => items.is_empty() || items.iter().any(is_hollow),
        Value::Object(members) => members.is_empty() || members.values().any(is_hollow),
        _ => false,
    }
}
