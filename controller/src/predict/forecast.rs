//! What a request will do to its object.

use baton_merge::{
    Arena,
    fieldpath::{FieldSet, Path, PathElement::Field},
    predict::{Apply, PredictError, Prediction, Taken},
    server::{Certainty, Live as MergeLive, ManagerId, Spelling, Write as MergeWrite},
    value::Value,
};
use jiff::Timestamp;
use serde_json::Value as Json;

use super::{NoSchema, Schemas, find::find, shown};
use crate::{
    FIELD_MANAGER, HANDOVER_MANAGER,
    child::Kind,
    live::{Live, managed_fields},
    request::{Request, Write},
};

/// What a request will do.
#[derive(Clone, Debug)]
pub enum Forecast {
    /// Certainly nothing: it needn't be sent.
    NoOp,
    /// The object will be this; its `managedFields` with it.
    Stored(Box<Stored>),
    /// The API server will refuse it because others own fields, in these words.
    Conflicts(String),
    /// The API server will refuse it for another reason, in about these words.
    Refused(String),
    /// The object will be deleted.
    Deleted,
}

/// An object as it will be after a write.
#[derive(Clone, Debug)]
pub struct Stored {
    /// The whole object.
    pub object: Json,
    /// Whether anything is stored: if not, the object keeps its resourceVersion.
    pub changed: bool,
    /// How far this can be relied on.
    pub certainty: Certainty,
    /// What becomes different, and for whom.
    pub effects: Effects,
    /// The time that the write was predicted for.
    pub at: Timestamp,
}

/// What a write does to single fields, as paths such as `.spec.replicas`, in the order of the object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Effects {
    /// The fields that get another value.
    pub sets: Vec<String>,
    /// The fields that go. Of a list item or a struct that goes as a whole only its own path is told.
    pub removes: Vec<String>,
    /// The fields that other managers lose.
    pub takes: Vec<Take>,
    /// The fields that Baton no longer owns, and that stay.
    pub releases: Vec<String>,
}

/// A field that another manager loses to Baton.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Take {
    /// The field's path.
    pub path: String,
    /// The manager that held it.
    pub manager: String,
    /// The value before, [as it may be shown](shown).
    pub old: Option<String>,
    /// The value afterwards, as it may be shown; absent where the field is gone.
    pub new: Option<String>,
}

/// Why a request can't be forecast.
#[derive(Debug, thiserror::Error)]
pub enum ForecastError {
    /// There is no schema.
    #[error(transparent)]
    NoSchema(#[from] NoSchema),
    /// A JSON patch doesn't fit the object that was seen.
    #[error("the JSON patch doesn't fit the object that was seen")]
    Patch(#[source] json_patch::PatchError),
    /// An object isn't as the merge core needs it.
    #[error(transparent)]
    Object(PredictError),
}

impl Schemas {
    /// Says what a request will do to the live object, or to none where there is none.
    ///
    /// # Errors
    /// When nothing can be said: there is no schema, or an object can't be read.
    pub fn forecast(
        &self,
        request: &Request,
        live: Option<&Live>,
        now: Timestamp,
    ) -> Result<Forecast, ForecastError> {
        match &request.write {
            Write::Apply { body, manager, force } => {
                let apply = Apply { manager, force: *force, subresource: "", now, release: self.release() };
                self.forecast_apply(request.child.into(), live, body, apply)
            }
            Write::Patch(patch) => self.forecast_patch(request, live, patch, now),
            Write::Delete(_) => Ok(Forecast::Deleted),
        }
    }

    /// Says what an apply of the Workload's status as `baton` will do to the live Workload.
    ///
    /// # Errors
    /// When nothing can be said.
    pub fn forecast_status(
        &self,
        live: &Live,
        body: &Json,
        now: Timestamp,
    ) -> Result<Forecast, ForecastError> {
        let apply = Apply {
            manager: FIELD_MANAGER,
            force: true,
            subresource: "status",
            now,
            release: self.release(),
        };
        self.forecast_apply(Kind::Workload, Some(live), body, apply)
    }

    fn forecast_apply(
        &self,
        kind: Kind,
        live: Option<&Live>,
        body: &Json,
        apply: Apply<'_>,
    ) -> Result<Forecast, ForecastError> {
        let resource = self.resource(kind)?;
        let live = live.map(Live::as_json);
        if live.is_some_and(|live| resource.is_noop(live, body, apply)) {
            return Ok(Forecast::NoOp);
        }
        let arena = Arena::new();
        let prediction = match resource.predict(&arena, live, body, apply) {
            Ok(prediction) => prediction,
            Err(PredictError::Refused(words)) => return Ok(Forecast::Refused(words)),
            Err(error) => return Err(ForecastError::Object(error)),
        };
        if !prediction.conflicts.is_empty() {
            return Ok(Forecast::Conflicts(prediction.conflicts.to_string()));
        }
        if live.is_some() && !prediction.changed && prediction.certainty == Certainty::Exact {
            return Ok(Forecast::NoOp);
        }
        let object = prediction.stored.to_json();
        let is_known = !matches!(prediction.certainty, Certainty::Unknown(_));
        // What is in an atomic list or map isn't owned by itself, which would prove nothing.
        let only_adds = prediction.comparison.modified.is_empty() && prediction.comparison.removed.is_empty();
        if live.is_some_and(|live| is_known && only_adds && is_live_but_for_zeros(&object, live)) {
            return Ok(Forecast::NoOp);
        }
        let before = live.and_then(|live| Value::from_json(&arena, live).ok()).unwrap_or(Value::Null);
        Ok(Forecast::Stored(Box::new(Stored {
            object,
            changed: prediction.changed,
            certainty: prediction.certainty,
            effects: effects(&arena, &prediction, before),
            at: apply.now,
        })))
    }

    fn forecast_patch(
        &self,
        request: &Request,
        live: Option<&Live>,
        patch: &json_patch::Patch,
        now: Timestamp,
    ) -> Result<Forecast, ForecastError> {
        let resource = self.resource(request.child)?;
        let mut patched = live.map(|live| live.as_json().clone()).unwrap_or_default();
        json_patch::patch(&mut patched, patch).map_err(ForecastError::Patch)?;
        let arena = Arena::new();
        let read = |what, json| {
            Value::from_json(&arena, json)
                .map_err(|source| ForecastError::Object(PredictError::Value { what, source }))
        };
        let before = live.map(|live| read("live object", live.as_json())).transpose()?;
        let before = before.map(|object| MergeLive { object, spelling: Spelling::UNKNOWN });
        let write = MergeWrite { manager: FIELD_MANAGER, subresource: "", now, release: self.release() };
        match resource.update(&arena, before, read("patched object", &patched)?, write) {
            Ok(stored) => Ok(Forecast::Stored(Box::new(Stored {
                object: stored.to_json(),
                changed: stored.changed,
                certainty: stored.certainty,
                effects: Effects::default(),
                at: now,
            }))),
            Err(refusal) => Ok(Forecast::Refused(refusal.to_string())),
        }
    }
}

/// Whether a predicted object differs from the live one only in zero values that its owners owned before without their being
/// there. The server doesn't store those: `readOnly: false` in an apply is absent from the object, and owned. Such an
/// apply says again what was said before. Times aside, since what isn't stored changes none.
fn is_live_but_for_zeros(predicted: &Json, live: &Json) -> bool {
    let owners = |object: &Json| -> Vec<Json> {
        let mut entries = managed_fields(object).to_vec();
        entries.iter_mut().filter_map(Json::as_object_mut).for_each(|entry| drop(entry.remove("time")));
        entries
    };
    let (after, before) = (owners(predicted), owners(live));
    let owners_stay = after.len() == before.len() && after.iter().all(|entry| before.contains(entry));
    owners_stay && has_only_zeros_more(predicted, live)
}

fn has_only_zeros_more(predicted: &Json, live: &Json) -> bool {
    match (predicted, live) {
        (Json::Object(predicted), Json::Object(live)) => {
            live.keys().all(|name| predicted.contains_key(name))
                && predicted.iter().all(|(name, predicted)| match live.get(name) {
                    _ if name == "managedFields" => true,
                    Some(live) => has_only_zeros_more(predicted, live),
                    None => is_zero_scalar(predicted),
                })
        }
        (Json::Array(predicted), Json::Array(live)) => {
            predicted.len() == live.len()
                && predicted.iter().zip(live).all(|(predicted, live)| has_only_zeros_more(predicted, live))
        }
        (predicted, live) => predicted == live,
    }
}

/// Whether a Go type without the value looks the same, of values that have nothing in them.
pub(super) fn is_zero_scalar(value: &Json) -> bool {
    match value {
        Json::Bool(value) => !value,
        Json::Number(number) => number.as_f64() == Some(0.0),
        Json::String(text) => text.is_empty(),
        Json::Null | Json::Array(_) | Json::Object(_) => false,
    }
}

fn effects<'a>(arena: &'a Arena, prediction: &Prediction<'a>, before: Value<'a>) -> Effects {
    let comparison = prediction.comparison;
    let after = prediction.stored.object;
    let sets = comparison.added.union(arena, comparison.modified).leaves(arena);
    let kept = prediction.released.difference(arena, comparison.removed).leaves(arena);
    let mut takes = Vec::new();
    for lost in [&prediction.taken, &prediction.dropped] {
        for (manager, paths) in by_manager(arena, lost) {
            for path in paths.paths(arena) {
                let take = Take {
                    path: path.to_string(),
                    manager: manager.to_owned(),
                    old: find(path, before).map(|value| shown(path, value)),
                    new: find(path, after).map(|value| shown(path, value)),
                };
                // By an apply and by an update a manager may hold it twice.
                if !takes.contains(&take) {
                    takes.push(take);
                }
            }
        }
    }
    Effects {
        sets: words(sets.paths(arena).into_iter().filter(|path| !is_identity(*path))),
        removes: words(topmost(comparison.removed.paths(arena))),
        takes,
        releases: words(kept.paths(arena)),
    }
}

/// The leaves of what each manager loses. What Baton takes from itself, by another name or operation, isn't told.
fn by_manager<'a>(arena: &'a Arena, lost: &[Taken<'a>]) -> Vec<(&'a str, FieldSet<'a>)> {
    let is_ours = |from: &ManagerId<'_>| matches!(from.manager, FIELD_MANAGER | HANDOVER_MANAGER);
    let mut managers: Vec<ManagerId<'a>> = lost.iter().map(|taken| taken.from).collect();
    managers.dedup();
    managers.retain(|from| !is_ours(from));
    managers
        .into_iter()
        .map(|from| {
            let paths = lost.iter().filter(|taken| taken.from == from).map(|taken| taken.path);
            (from.manager, FieldSet::of_paths(arena, paths).leaves(arena))
        })
        .collect()
}

/// The paths that aren't below another one of them. A path comes before those below it, though not always just before.
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

/// Whether a field only says which object it is.
fn is_identity(path: Path<'_>) -> bool {
    matches!(
        path.elements(),
        [Field("apiVersion" | "kind")] | [Field("metadata"), Field("name" | "namespace")]
    )
}

fn words<'a>(paths: impl IntoIterator<Item = Path<'a>>) -> Vec<String> {
    paths.into_iter().map(|path| path.to_string()).collect()
}
