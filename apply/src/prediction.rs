//! Predictions: the result of a request before it is sent.

use std::fmt;

use baton_merge::{
    Arena,
    fieldpath::Path,
    predict::{self, Apply, PredictError},
    server::{Certainty, Live, ManagerId, Operation, Spelling, Stored, Write},
    updater,
    value::{Value, ValueError},
};
use jiff::Timestamp;
use serde::de::Error as _;
use serde_json::Value as Json;

use crate::{
    Change, Effects, FieldPath, LiveObject, NoSchema, PatchError, Request, Schemas, Secrecy,
    effects::{ShownValues, unstored_zeros},
    find::Finder,
    leftovers::{Changing, Preparatory},
    patch::patched,
    quoted::without_mistyped_secrets,
    repeat::Repeat,
    scratch::with_arena,
    spelling::is_filled_in,
    stored_form::stored_form,
};

/// The predicted result of a request.
#[derive(Clone, Debug)]
pub enum Prediction {
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

/// The conflicts of an apply without force. Prints as the API server's message.
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
    /// The operation by which that manager wrote it.
    pub operation: Operation,
    /// The subresource that it wrote through, such as `scale`; absent for the object itself.
    pub subresource: Option<String>,
    /// The live value, [without secrets](Secrecy::shown).
    pub live: Option<String>,
    /// The value in the intent, without secrets.
    pub intended: Option<String>,
    /// Whether the intended value is the live one in another spelling, such as `1000m` for `1`, as far as
    /// [`Schemas::as_stored`] has found out.
    pub is_respelled: bool,
}

impl Conflicts {
    fn new(conflicts: &predict::Conflicts<'_>, secrecy: Secrecy, live: Value<'_>, intent: Value<'_>) -> Self {
        let (live, intent) = (Finder::new(live), Finder::new(intent));
        let mut values = ShownValues::of(secrecy, [&live, &intent]);
        let conflict = |&updater::Conflict { manager, path }: &updater::Conflict<'_, ManagerId<'_>>| {
            let (path, [live, intended]) = values.at(path);
            Conflict {
                path,
                manager: manager.manager.to_owned(),
                operation: manager.operation,
                subresource: Some(manager.subresource.to_owned()).filter(|name| !name.is_empty()),
                live,
                intended,
                is_respelled: false,
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
    /// The changes of single fields and of their owners.
    pub effects: Effects,
    /// The fields among those that it [sets](Effects::sets) whose live values may be what the server makes of the intended ones: with
    /// defaults, or spelled in another way. [`Schemas::minimal`] spells them as the server does.
    pub respelled: Vec<FieldPath>,
    /// Whether the apply needn't be sent: nothing changes that a client sees. Or no value changes, only the owners of values that the
    /// server doesn't store, such as `value: ""`, and the times and order of the entries of `managedFields`.
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
        let arena = Arena::new();
        let mut object = self.object.value(&arena).map_err(serde_json::Error::custom)?;
        let before = before.map(LiveObject::revision);
        let version = before.as_ref().map_or("0", |before| before.resource_version.as_str());
        let mut put = |name: &str, text: &str| {
            let text = Value::String(arena.copy_text(text));
            object = object.with(&arena, &["metadata", name], Some(text));
        };
        if self.changed {
            put("resourceVersion", &format!("{version}+"));
        }
        if before.is_none() {
            put("uid", "made-up");
        }
        LiveObject::from_text(serde_json::to_string(&object)?)
    }
}

/// The error of a request that can't be predicted.
#[derive(Clone, Debug, thiserror::Error)]
pub enum PredictionError {
    /// There is no schema.
    #[error(transparent)]
    NoSchema(#[from] NoSchema),
    /// A JSON patch doesn't fit the live object.
    #[error("the JSON patch doesn't fit the live object")]
    Patch(#[from] PatchError),
    /// The merge core can't read an object.
    #[error(transparent)]
    Object(PredictError),
}

impl Schemas {
    /// Predicts the result of a request for the live object, or for none.
    ///
    /// # Errors
    /// When nothing can be predicted: there is no schema, or an object can't be read.
    pub fn predict(
        &self,
        request: &Request,
        live: Option<&LiveObject>,
        now: Timestamp,
    ) -> Result<Prediction, PredictionError> {
        self.predict_with_first(request, live, now).map(|(prediction, _)| prediction)
    }

    /// The prediction, and the write that has to come before the request, if there is one.
    pub(crate) fn predict_with_first(
        &self,
        request: &Request,
        live: Option<&LiveObject>,
        now: Timestamp,
    ) -> Result<(Prediction, Option<Preparatory>), PredictionError> {
        let subresource = request.target.subresource.unwrap_or_default();
        match &request.change {
            Change::Apply { body, manager, force } => {
                let apply = Apply { manager, force: *force, subresource, now, release: self.release() };
                with_arena(|arena| self.predict_apply(arena, request, live, body, apply))
            }
            Change::Patch { operations, manager } => {
                let write = Write { manager, subresource, now, release: self.release() };
                self.predict_patch(request, live, operations, write).map(|prediction| (prediction, None))
            }
            Change::Delete(_) => Ok((Prediction::Deleted, None)),
        }
    }

    fn predict_apply(
        &self,
        arena: &Arena,
        request: &Request,
        live: Option<&LiveObject>,
        body: &Json,
        apply: Apply<'_>,
    ) -> Result<(Prediction, Option<Preparatory>), PredictionError> {
        let alone = |prediction| Ok((prediction, None));
        let secrecy = Secrecy::of(&request.target.resource);
        let resource = self.resource(&request.target.resource)?;
        let before = live.map(|live| readable("live object", live.value(arena))).transpose()?;
        let intent = readable("intent", Value::from_json(arena, body))?;
        let broken = request.broken_guard(live);
        if broken.is_none() && before.is_some_and(|before| resource.is_noop(before, intent, apply)) {
            return alone(Prediction::NoOp);
        }
        let mut prediction = match resource.predict_values(arena, before, intent, apply) {
            Ok(prediction) => prediction,
            Err(PredictError::Refused(message)) => {
                return alone(Prediction::Refused(without_mistyped_secrets(&message, secrecy)));
            }
            Err(error) => return Err(PredictionError::Object(error)),
        };
        if !prediction.conflicts.is_empty() {
            let live = before.unwrap_or(Value::Null);
            return alone(Prediction::Conflicts(Conflicts::new(
                &prediction.conflicts,
                secrecy,
                live,
                intent,
            )));
        }
        if let Some(message) = broken {
            return alone(Prediction::Refused(message));
        }
        if live.is_some() && !prediction.changed && prediction.certainty == Certainty::Exact {
            return alone(Prediction::NoOp);
        }
        let copied = stored_form(arena, resource, before, &mut prediction);
        let (old, new) = (Finder::new(before.unwrap_or(Value::Null)), Finder::new(prediction.stored.object));
        let unstored = unstored_zeros(resource, arena, &prediction, [&old, &new], apply.release);
        let unstored = unstored.union(arena, copied);
        let repeat = before
            .filter(|_| prediction.certainty == Certainty::ModuloDefaulting)
            .and_then(|before| Repeat::of(arena, before, &prediction, unstored, apply.manager));
        if repeat == Some(Repeat::Exact) {
            return alone(Prediction::NoOp);
        }
        let object = predicted(&prediction.stored)?;
        let effects = Effects::of(arena, &prediction, secrecy, [&old, &new], unstored, apply.manager);
        let modified = prediction.comparison.modified.leaves(arena).paths(arena).into_iter();
        let is_respelled = |path: &Path<'_>| {
            let values = old.find(*path).zip(new.find(*path));
            values.is_some_and(|(old, new)| is_filled_in(&new.to_json(), Some(&old.to_json())))
        };
        let respelled = modified.filter(is_respelled).map(FieldPath::from).collect();
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
            respelled,
            is_repeat: repeat.is_some() || (before.is_some() && matches!(certainty, Certainty::Unseen(_))),
            at: apply.now,
        };
        Ok((Prediction::Stored(Box::new(stored)), first))
    }

    fn predict_patch(
        &self,
        request: &Request,
        live: Option<&LiveObject>,
        operations: &json_patch::Patch,
        write: Write<'_>,
    ) -> Result<Prediction, PredictionError> {
        let resource = self.resource(&request.target.resource)?;
        let arena = Arena::new();
        let before = live.map(|live| readable("live object", live.value(&arena))).transpose()?;
        let patched = patched(&arena, before.unwrap_or(Value::Null), operations)?;
        let before = before.map(|object| Live { object, spelling: Spelling::UNKNOWN });
        match resource.update(&arena, before, patched, write) {
            Ok(stored) => Ok(Prediction::Stored(Box::new(PredictedObject {
                object: predicted(&stored)?,
                changed: stored.changed,
                certainty: stored.certainty,
                effects: Effects::default(),
                respelled: Vec::new(),
                is_repeat: false,
                at: write.now,
            }))),
            Err(refusal) => {
                let secrecy = Secrecy::of(&request.target.resource);
                Ok(Prediction::Refused(without_mistyped_secrets(&refusal.to_string(), secrecy)))
            }
        }
    }
}

fn readable<T>(what: &'static str, read: Result<T, ValueError>) -> Result<T, PredictionError> {
    read.map_err(|source| PredictionError::Object(PredictError::Value { what, source }))
}

fn predicted(stored: &Stored<'_>) -> Result<LiveObject, PredictionError> {
    let object = serde_json::to_string(stored).and_then(LiveObject::from_text);
    readable("predicted object", object.map_err(|error| ValueError::NotJson(error.to_string())))
}
