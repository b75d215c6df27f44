//! What a request will do to its object.

use std::{fmt, sync::Arc};

use baton_merge::{
    Arena, Release,
    fieldpath::{FieldSet, Path, PathElement::Field},
    predict::{self, Apply, PredictError, Prediction, Taken},
    server::{Certainty, Live, ManagerId, Operation, Resource, Spelling, Stored, Write},
    typed::{Duplicates, Typed},
    updater,
    value::{Value, ValueError},
};
use jiff::Timestamp;
use serde_json::Value as Json;

use crate::{
    Change, FieldPath, LiveObject, NoSchema, Request, Schemas, Secrecy,
    find::find,
    leftovers::{Changing, First},
    repeat::Repeat,
    scratch::with_arena,
    spelling::unstored,
    stored_form::stored_form,
};

/// What a request will do.
#[derive(Clone, Debug)]
pub enum Forecast {
    /// Certainly nothing: it needn't be sent.
    NoOp,
    /// The object will be this, including its `managedFields`.
    Stored(Box<PredictedObject>),
    /// The API server will refuse it: other managers own fields.
    Conflicts(Conflicts),
    /// The API server will refuse it for another reason, with about this message.
    Refused(String),
    /// The object will be deleted.
    Deleted,
}

/// Why an apply without force is refused. Prints as the API server's message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflicts {
    /// The fields, by manager. A field that several managers own is there once for each.
    pub fields: Vec<Conflict>,
    message: String,
}

/// A field that an apply would set, and that another manager owns with another value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The field's path.
    pub path: FieldPath,
    /// The manager that owns it.
    pub manager: String,
    /// How that manager wrote it.
    pub operation: Operation,
    /// The subresource that it wrote through, such as `scale`; absent for the object itself.
    pub subresource: Option<String>,
    /// The live value, [without secrets](Secrecy::shown).
    pub live: Option<String>,
    /// The value in the intent, without secrets.
    pub intended: Option<String>,
}

impl Conflicts {
    fn new(conflicts: &predict::Conflicts<'_>, secrecy: Secrecy, live: Value<'_>, intent: Value<'_>) -> Self {
        let conflict = |&updater::Conflict { manager, path }: &updater::Conflict<'_, ManagerId<'_>>| {
            let at = |object| find(path, object).map(|value| secrecy.shown(path, value));
            Conflict {
                path: path.into(),
                manager: manager.manager.to_owned(),
                operation: manager.operation,
                subresource: Some(manager.subresource.to_owned()).filter(|name| !name.is_empty()),
                live: at(live),
                intended: at(intent),
            }
        };
        Self { fields: conflicts.iter().map(conflict).collect(), message: conflicts.to_string() }
    }
}

impl fmt::Display for Conflicts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// An object as it will be after a write.
#[derive(Clone, Debug)]
pub struct PredictedObject {
    /// The whole object.
    pub object: LiveObject,
    /// Whether anything is stored: if not, the object keeps its resourceVersion.
    pub changed: bool,
    /// How far this can be relied on.
    pub certainty: Certainty,
    /// What changes, and for which managers.
    pub effects: Effects,
    /// Whether the apply needn't be sent: no value changes, only the owners of values that the server doesn't store, such as `value: ""`,
    /// and the times and order of the entries of `managedFields`.
    pub is_repeat: bool,
    /// The time that the write was predicted for.
    pub at: Timestamp,
}

impl PredictedObject {
    /// The object as the server would return it, for further predictions without sending. A changed object has another version than
    /// `before`, a new one an invented uid.
    ///
    /// # Errors
    /// When the prediction isn't an object with metadata.
    pub fn returned(self, before: Option<&LiveObject>) -> Result<LiveObject, serde_json::Error> {
        let mut object = self.object.as_json().clone();
        let before = before.map(LiveObject::revision);
        let version = before.as_ref().map_or("0", |before| before.resource_version.as_str());
        if self.changed {
            object["metadata"]["resourceVersion"] = format!("{version}+").into();
        }
        if before.is_none() {
            object["metadata"]["uid"] = "made-up".into();
        }
        LiveObject::from_json(object)
    }
}

/// What a write does to single fields, in the order of the object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Effects {
    /// The fields that get another value. If no object was read, all that is applied.
    pub sets: Vec<FieldPath>,
    /// The fields that are removed. For a list item or a struct that is removed as a whole, only its own path.
    pub removes: Vec<FieldPath>,
    /// The fields that an apply takes over from other managers. For a [`Release`](crate::ownership::Release), see its `managers`.
    pub takes: Vec<Take>,
    /// The fields that the writer no longer owns, and that stay.
    pub releases: Vec<FieldPath>,
}

/// A field that another manager loses to the writer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Take {
    /// The field's path.
    pub path: FieldPath,
    /// The manager that owned it.
    pub manager: String,
    /// The value before, [without secrets](Secrecy::shown).
    pub old: Option<String>,
    /// The value afterwards, without secrets; `None` if the field is gone.
    pub new: Option<String>,
}

impl Take {
    /// Whether the response to a write confirms it: the manager owned the field before and doesn't any more. If a schema is wrong, or
    /// the server spells a value in its own way, no manager has lost anything.
    pub fn is_confirmed(&self, before: &LiveObject, after: &LiveObject) -> bool {
        before.is_owned_by(&self.manager, &self.path) && !after.is_owned_by(&self.manager, &self.path)
    }
}

impl Effects {
    /// Whether no value changes, and no field is released.
    pub(crate) fn change_nothing(&self) -> bool {
        self.sets.is_empty() && self.removes.is_empty() && self.releases.is_empty()
    }

    /// Adds those of a later write.
    pub fn add(&mut self, later: Self) {
        fn join<T: PartialEq>(all: &mut Vec<T>, more: Vec<T>) {
            for one in more {
                if !all.contains(&one) {
                    all.push(one);
                }
            }
        }
        join(&mut self.sets, later.sets);
        join(&mut self.removes, later.removes);
        join(&mut self.takes, later.takes);
        join(&mut self.releases, later.releases);
    }

    /// The effects that the response confirms. If nothing was stored, nothing was set.
    pub(crate) fn confirmed(mut self, before: Option<&LiveObject>, after: &LiveObject) -> Self {
        let Some(before) = before else { return self };
        if before.revision() == after.revision() {
            return Self::default();
        }
        self.takes.retain(|take| take.is_confirmed(before, after));
        self
    }
}

/// Why a request can't be predicted.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ForecastError {
    /// There is no schema.
    #[error(transparent)]
    NoSchema(#[from] NoSchema),
    /// A JSON patch doesn't fit the live object.
    #[error("the JSON patch doesn't fit the live object")]
    Patch(#[source] Arc<json_patch::PatchError>),
    /// The merge core can't read an object.
    #[error(transparent)]
    Object(PredictError),
}

impl Schemas {
    /// Predicts what a request will do to the live object, or without one.
    ///
    /// # Errors
    /// When nothing can be predicted: there is no schema, or an object can't be read.
    pub fn forecast(
        &self,
        request: &Request,
        live: Option<&LiveObject>,
        now: Timestamp,
    ) -> Result<Forecast, ForecastError> {
        self.forecast_with_first(request, live, now).map(|(forecast, _)| forecast)
    }

    /// The same, with the write that has to come before it, if there is one.
    pub(crate) fn forecast_with_first(
        &self,
        request: &Request,
        live: Option<&LiveObject>,
        now: Timestamp,
    ) -> Result<(Forecast, Option<First>), ForecastError> {
        let subresource = request.target.subresource.unwrap_or_default();
        match &request.change {
            Change::Apply { body, manager, force } => {
                let apply = Apply { manager, force: *force, subresource, now, release: self.release() };
                with_arena(|arena| self.forecast_apply(arena, request, live, body, apply))
            }
            Change::Patch { operations, manager } => {
                let write = Write { manager, subresource, now, release: self.release() };
                self.forecast_patch(request, live, operations, write).map(|forecast| (forecast, None))
            }
            Change::Delete(_) => Ok((Forecast::Deleted, None)),
        }
    }

    fn forecast_apply(
        &self,
        arena: &Arena,
        request: &Request,
        live: Option<&LiveObject>,
        body: &Json,
        apply: Apply<'_>,
    ) -> Result<(Forecast, Option<First>), ForecastError> {
        let alone = |forecast| Ok((forecast, None));
        let secrecy = Secrecy::of(&request.target.resource);
        let resource = self.resource(&request.target.resource)?;
        let before = live.map(|live| readable("live object", live.value(arena))).transpose()?;
        let intent = readable("intent", Value::from_json(arena, body))?;
        if before.is_some_and(|before| resource.is_noop(before, intent, apply)) {
            return alone(Forecast::NoOp);
        }
        let mut prediction = match resource.predict_values(arena, before, intent, apply) {
            Ok(prediction) => prediction,
            Err(PredictError::Refused(message)) => return alone(Forecast::Refused(message)),
            Err(error) => return Err(ForecastError::Object(error)),
        };
        if !prediction.conflicts.is_empty() {
            let live = before.unwrap_or(Value::Null);
            return alone(Forecast::Conflicts(Conflicts::new(&prediction.conflicts, secrecy, live, intent)));
        }
        if live.is_some() && !prediction.changed && prediction.certainty == Certainty::Exact {
            return alone(Forecast::NoOp);
        }
        let copied = stored_form(arena, resource, before, &mut prediction);
        let unstored =
            unstored_zeros(resource, arena, &prediction, before.unwrap_or(Value::Null), apply.release);
        let unstored = unstored.union(arena, copied);
        let repeat = before
            .filter(|_| prediction.certainty == Certainty::ModuloDefaulting)
            .and_then(|before| Repeat::of(arena, before, &prediction, unstored, apply.manager));
        if repeat == Some(Repeat::Exact) {
            return alone(Forecast::NoOp);
        }
        let object = predicted(&prediction.stored)?;
        let effects =
            effects(arena, &prediction, secrecy, before.unwrap_or(Value::Null), unstored, apply.manager);
        let first = live.zip(before).filter(|_| !effects.change_nothing()).and_then(|(live, before)| {
            let changing = Changing {
                resource,
                release: apply.release,
                live,
                before,
                after: &prediction.stored,
                intent,
            };
            changing.first(arena, request)
        });
        let (changed, certainty) = (prediction.changed, prediction.certainty);
        let stored = PredictedObject {
            object,
            changed,
            certainty,
            effects,
            is_repeat: repeat.is_some(),
            at: apply.now,
        };
        Ok((Forecast::Stored(Box::new(stored)), first))
    }

    fn forecast_patch(
        &self,
        request: &Request,
        live: Option<&LiveObject>,
        operations: &json_patch::Patch,
        write: Write<'_>,
    ) -> Result<Forecast, ForecastError> {
        let resource = self.resource(&request.target.resource)?;
        let mut patched = live.map(|live| live.as_json().clone()).unwrap_or_default();
        json_patch::patch(&mut patched, operations)
            .map_err(|source| ForecastError::Patch(Arc::new(source)))?;
        let arena = Arena::new();
        let before = live.map(|live| readable("live object", live.value(&arena))).transpose()?;
        let before = before.map(|object| Live { object, spelling: Spelling::UNKNOWN });
        let patched = readable("patched object", Value::from_json(&arena, &patched))?;
        match resource.update(&arena, before, patched, write) {
            Ok(stored) => Ok(Forecast::Stored(Box::new(PredictedObject {
                object: predicted(&stored)?,
                changed: stored.changed,
                certainty: stored.certainty,
                effects: Effects::default(),
                is_repeat: false,
                at: write.now,
            }))),
            Err(refusal) => Ok(Forecast::Refused(refusal.to_string())),
        }
    }
}

fn readable<T>(what: &'static str, read: Result<T, ValueError>) -> Result<T, ForecastError> {
    read.map_err(|source| ForecastError::Object(PredictError::Value { what, source }))
}

fn predicted(stored: &Stored<'_>) -> Result<LiveObject, ForecastError> {
    let object = serde_json::to_string(stored).and_then(LiveObject::from_text);
    readable("predicted object", object.map_err(|error| ValueError::NotJson(error.to_string())))
}

/// The effects of an apply by this manager. Zeros that the server doesn't store, `unstored`, are neither set nor taken over.
fn effects<'a>(
    arena: &'a Arena,
    prediction: &Prediction<'a>,
    secrecy: Secrecy,
    before: Value<'a>,
    unstored: FieldSet<'a>,
    writer: &str,
) -> Effects {
    let (comparison, after) = (prediction.comparison, prediction.stored.object);
    let sets = comparison.added.union(arena, comparison.modified).leaves(arena);
    let sets = sets.difference(arena, unstored).paths(arena);
    // A field that is applied as null is removed.
    let is_null = |path: &Path<'_>| find(*path, after).is_some_and(|value| value.is_null());
    let (nulls, sets): (Vec<_>, Vec<_>) = sets.into_iter().partition(is_null);
    let removed = comparison.removed.union(arena, FieldSet::of_paths(arena, nulls));
    let gone = |path: Path<'a>| {
        let elements = path.elements();
        let is_gone =
            |end: &usize| find(Path::new(&elements[..*end]), after).is_none_or(|value| value.is_null());
        (1..elements.len()).find(is_gone).map_or(path, |end| Path::new(&elements[..end]))
    };
    let kept = prediction.released.difference(arena, comparison.removed).leaves(arena);
    let mut takes = Vec::new();
    for lost in [&prediction.taken, &prediction.dropped] {
        for (manager, paths) in by_manager(arena, lost, writer) {
            for path in paths.difference(arena, unstored).paths(arena) {
                let take = Take {
                    path: path.into(),
                    manager: manager.to_owned(),
                    old: find(path, before).map(|value| secrecy.shown(path, value)),
                    new: find(path, after).map(|value| secrecy.shown(path, value)),
                };
                // A manager may own it twice, by an apply and by an update.
                if !takes.contains(&take) {
                    takes.push(take);
                }
            }
        }
    }
    Effects {
        sets: owned(sets.into_iter().filter(|path| !is_identity(*path))),
        removes: owned(topmost(removed.paths(arena).into_iter().map(gone).collect())),
        takes,
        releases: owned(kept.paths(arena)),
    }
}

/// The fields that the live object lacks, and that get a zero that the server doesn't store.
fn unstored_zeros<'a>(
    resource: Resource<'a>,
    arena: &'a Arena,
    prediction: &Prediction<'a>,
    before: Value<'a>,
    release: Release,
) -> FieldSet<'a> {
    let after = prediction.stored.object;
    let is_zero = |path: &Path<'a>| find(*path, after).is_some_and(is_zero);
    let added = prediction.comparison.added.leaves(arena).paths(arena).into_iter();
    let zeros = added.filter(is_zero).filter(|path| find(*path, before).is_none());
    let zeros = FieldSet::of_paths(arena, zeros);
    if zeros.is_empty() {
        return zeros;
    }
    let (schema, type_id) = (resource.schema(), resource.type_id());
    let typed = Typed::for_release(release, arena, schema, type_id, after, Duplicates::Allowed);
    typed.map(|after| zeros.intersection(arena, unstored(arena, &after))).unwrap_or_default()
}

fn is_zero(value: Value<'_>) -> bool {
    match value {
        Value::Bool(value) => !value,
        Value::Int(value) => value == 0,
        Value::Float(value) => value == 0.0,
        Value::String(text) => text.is_empty(),
        Value::Null | Value::List(_) | Value::Map(_) => false,
    }
}

/// The leaves that each manager loses. Those that the writer takes from itself, by another operation, are left out.
fn by_manager<'a>(arena: &'a Arena, lost: &[Taken<'a>], writer: &str) -> Vec<(&'a str, FieldSet<'a>)> {
    let mut managers: Vec<ManagerId<'a>> = lost.iter().map(|taken| taken.from).collect();
    managers.dedup();
    managers.retain(|from| from.manager != writer);
    managers
        .into_iter()
        .map(|from| {
            let paths = lost.iter().filter(|taken| taken.from == from).map(|taken| taken.path);
            (from.manager, FieldSet::of_paths(arena, paths).leaves(arena))
        })
        .collect()
}

/// The paths that aren't below another one of them. A path comes before those below it, but not always directly before.
fn topmost<'a>(paths: Vec<Path<'a>>) -> Vec<Path<'a>> {
    let mut tops: Vec<Path<'a>> = Vec::new();
    for path in paths {
        let is_below = |top: &Path<'a>| path.elements().starts_with(top.elements());
        if !tops.iter().any(is_below) {
            tops.push(path);
        }
    }
    tops
}

/// Whether a field only identifies the object.
fn is_identity(path: Path<'_>) -> bool {
    matches!(
        path.elements(),
        [Field("apiVersion" | "kind")] | [Field("metadata"), Field("name" | "namespace" | "resourceVersion")]
    )
}

fn owned<'a>(paths: impl IntoIterator<Item = Path<'a>>) -> Vec<FieldPath> {
    paths.into_iter().map(FieldPath::from).collect()
}
