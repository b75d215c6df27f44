//! The comparison of the API server's response with the prediction.
//!
//! If the prediction is exact, the object has to be equal to it. If the server fills in defaults, it may change fields without an
//! owner, and spell owned ones in its own way; a field with an owner has to have the predicted value. The owners are always
//! compared completely.

use std::{collections::HashMap, fmt};

use baton_merge::{
    Arena, Release,
    fieldpath::{FieldSet, Path},
    server::{Certainty, Resource},
    typed::{Duplicates, Invalid, Typed},
    value::{Map, Value},
};
use jiff::Timestamp;

use crate::{
    ApiError, DryRun, LiveObject, PredictedObject, Prediction, Request, Schemas, Secrecy, find::Finder,
    object::entries, quoted::without_mistyped_secrets, scratch::with_arena, spelling::is_filled_in,
};

/// The result of a comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// The response is as predicted.
    Match,
    /// The response is as predicted, except for what the server fills in or spells in its own way.
    ModuloDefaulting,
    /// The response differs, and the prediction was uncertain: only the server can know.
    Unknown(&'static str),
    /// The response differs: the first few differences.
    Mismatch(Vec<Difference>),
}

/// A difference between the prediction and the response. Values are [without secrets](Secrecy::shown).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The place: a path in the object, or another part of the response.
    pub place: String,
    /// The predicted value.
    pub predicted: String,
    /// The server's value.
    pub response: String,
}

/// How many differences are reported.
const MOST_DIFFERENCES: usize = 5;
const NOTHING: &str = "nothing";
/// The metadata that only the server writes.
const SERVERS_METADATA: [&str; 6] =
    ["uid", "resourceVersion", "generation", "creationTimestamp", "selfLink", "managedFields"];

impl Difference {
    fn new(place: impl Into<String>, predicted: impl Into<String>, response: impl Into<String>) -> Self {
        Self { place: place.into(), predicted: predicted.into(), response: response.into() }
    }
}

/// On one line.
impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: predicted {}, response {}", self.place, self.predicted, self.response)
    }
}

impl Schemas {
    /// Compares the object in a response with the prediction of the request. `base` is the object that the prediction was made
    /// for, and that the server had. `None` if the two can't be compared: the server had another object.
    pub(crate) fn check(
        &self,
        request: &Request,
        prediction: &Prediction,
        base: Option<&LiveObject>,
        response: &LiveObject,
        dry_run: DryRun,
    ) -> Option<Comparison> {
        let predicted = match prediction {
            Prediction::NoOp => Predicted::unchanged(base?),
            Prediction::Stored(stored) => Predicted::stored(stored),
            Prediction::Conflicts(conflicts) => return Some(accepted(conflicts)),
            Prediction::Refused(message) => return Some(accepted(message)),
            Prediction::Deleted => return None,
        };
        let resource = self.resource(&request.target.resource).ok()?;
        let was_changed =
            base.filter(|_| dry_run == DryRun::No).map(|base| base.revision() != response.revision());
        with_arena(|arena| {
            let secrecy = Secrecy::of(&request.target.resource);
            let comparer = Comparer { resource, secrecy, release: self.release(), arena };
            comparer.comparison(&predicted, base, response, was_changed)
        })
    }
}

impl Prediction {
    /// Whether the server was predicted to refuse the request in this way. A refusal that wasn't predicted doesn't prove an error
    /// of the merge: the server checks conflicts before the resourceVersion, so it may have had another object than the
    /// prediction was made for.
    pub(crate) fn expected(&self, error: &ApiError) -> bool {
        match self {
            Self::Conflicts(_) => error.is_ownership_conflict(),
            // A broken guard isn't a rejection, and has this text.
            Self::Refused(message) => error.is_rejection() || error.to_string() == *message,
            Self::NoOp | Self::Stored(_) | Self::Deleted => false,
        }
    }
}

/// The comparison for a write that was accepted although this refusal was predicted.
fn accepted(refusal: &impl fmt::Display) -> Comparison {
    Comparison::Mismatch(vec![Difference::new("the write", format!("a refusal: {refusal}"), "accepted")])
}

/// A predicted object.
struct Predicted<'p> {
    object: &'p LiveObject,
    changed: bool,
    certainty: Certainty,
    /// The time that it was predicted for; entries that change get about this time.
    at: Option<Timestamp>,
}

impl<'p> Predicted<'p> {
    fn unchanged(base: &'p LiveObject) -> Self {
        Self { object: base, changed: false, certainty: Certainty::Exact, at: None }
    }

    fn stored(stored: &'p PredictedObject) -> Self {
        let PredictedObject { object, changed, certainty, at, .. } = stored;
        Self { object, changed: *changed, certainty: *certainty, at: Some(*at) }
    }
}

struct Comparer<'a> {
    resource: Resource<'a>,
    secrecy: Secrecy,
    release: Release,
    arena: &'a Arena,
}

impl<'a> Comparer<'a> {
    fn comparison(
        &self,
        predicted: &Predicted<'a>,
        base: Option<&LiveObject>,
        response: &'a LiveObject,
        was_changed: Option<bool>,
    ) -> Option<Comparison> {
        let read = |object: &'a LiveObject| object.value(self.arena);
        let (ours, theirs) = match (read(predicted.object), read(response)) {
            (Ok(ours), Ok(theirs)) => (ours, theirs),
            (Err(invalid), _) | (_, Err(invalid)) => {
                return Some(Comparison::Mismatch(vec![self.unreadable(&invalid)]));
            }
        };
        let owners = [entries(ours), entries(theirs)];
        if base.is_none() && (owners[1].len() > owners[0].len() || is_older_than_its_owners(theirs)) {
            // Another manager had created the object: this wasn't a creation.
            return None;
        }
        let mut differences = self.owners(owners, predicted.at);
        let (mut filled_in, exact) = (false, predicted.certainty == Certainty::Exact);
        match self.objects(ours, theirs, exact) {
            Ok((others, filled)) => {
                differences.extend(others);
                filled_in = filled;
            }
            Err(invalid) => differences.push(self.unreadable(&invalid)),
        }
        match was_changed.filter(|was_changed| *was_changed != predicted.changed) {
            // The value was the same in another spelling.
            Some(false) if !exact => filled_in = true,
            Some(was_changed) => {
                let text = |changed| if changed { "changes" } else { "stays" };
                let place = "metadata.resourceVersion";
                differences.push(Difference::new(place, text(predicted.changed), text(was_changed)));
            }
            None => {}
        }
        differences.truncate(MOST_DIFFERENCES);
        Some(match predicted.certainty.doubt() {
            Some(reason) if !differences.is_empty() => Comparison::Unknown(reason),
            _ if !differences.is_empty() => Comparison::Mismatch(differences),
            _ if filled_in => Comparison::ModuloDefaulting,
            _ => Comparison::Match,
        })
    }

    /// The differences of the `managedFields`. The two sides have different clocks, so the time of an entry that changes isn't compared,
    /// and neither is the order, which depends on it.
    fn owners(&self, [predicted, response]: [&'a [Value<'a>]; 2], at: Option<Timestamp>) -> Vec<Difference> {
        let set = |entry: &Value<'a>| self.fields_of(*entry);
        let by_name = |entries: &'a [Value<'a>]| -> HashMap<String, &'a Value<'a>> {
            // Of two with one name the first.
            entries.iter().rev().map(|entry| (name(entry), entry)).collect()
        };
        let (ours, theirs) = (by_name(predicted), by_name(response));
        let mut differences = Vec::new();
        for entry in predicted {
            let place = || format!("managedFields of {}", name(entry));
            let Some(other) = theirs.get(&name(entry)) else {
                differences.push(Difference::new(place(), self.listed(set(entry)), NOTHING));
                continue;
            };
            if entry.get("fieldsV1") != other.get("fieldsV1") {
                let (ours, theirs) = (set(entry), set(other));
                let only = [ours.difference(self.arena, theirs), theirs.difference(self.arena, ours)];
                if only.iter().any(|only| !only.is_empty()) {
                    let [ours, theirs] = only.map(|only| self.listed(only));
                    differences.push(Difference::new(place(), ours, theirs));
                }
            }
            let (time, new) = (time_of(entry), at.map(|at| at.to_string()));
            let is_new = new.is_some_and(|new| new.get(..TO_THE_SECOND) == time.get(..TO_THE_SECOND));
            if !is_new && time != time_of(other) {
                differences.push(Difference::new(format!("time of {}", name(entry)), time, time_of(other)));
            }
        }
        for other in response.iter().filter(|other| !ours.contains_key(&name(other))) {
            let place = format!("managedFields of {}", name(other));
            differences.push(Difference::new(place, NOTHING, self.listed(set(other))));
        }
        differences
    }

    /// The differences that the server may not make, and whether there are some that it may.
    fn objects(
        &self,
        predicted: Value<'a>,
        response: Value<'a>,
        exact: bool,
    ) -> Result<(Vec<Difference>, bool), Invalid> {
        let [ours, theirs] = [predicted, response].map(|object| self.without_servers_metadata(object));
        if ours == theirs {
            return Ok((Vec::new(), false));
        }
        let [old, new] = [self.typed(ours)?, self.typed(theirs)?];
        let comparison = old.compare(&new)?;
        if comparison.is_same() {
            return Ok((Vec::new(), false));
        }
        let owned = entries(predicted).iter().map(|entry| self.fields_of(*entry));
        let owned = FieldSet::union_all(self.arena, owned).lookup(self.arena);
        let (ours, theirs) = (Finder::new(ours), Finder::new(theirs));
        let is_tolerated = |path: Path<'a>| {
            let values =
                || Some((ours.find(path)?.to_json(), theirs.find(path).map(|value| value.to_json())));
            let is_owned = owned.contains(path);
            !exact
                && (!is_owned
                    || values().is_some_and(|(ours, theirs)| {
                        is_nothing(&ours) || is_filled_in(&ours, theirs.as_ref())
                    }))
        };
        let changed = comparison.modified.union(self.arena, comparison.removed);
        let changed = if exact { changed.union(self.arena, comparison.added) } else { changed };
        let show = |path: Path<'a>, object: &Finder<'a>| {
            object.find(path).map_or_else(|| NOTHING.to_owned(), |value| self.secrecy.shown(path, value))
        };
        let differences = changed.leaves(self.arena).paths(self.arena).into_iter();
        let differences = differences
            .filter(|path| !is_tolerated(*path))
            .take(MOST_DIFFERENCES)
            .map(|path| Difference::new(path.to_string(), show(path, &ours), show(path, &theirs)));
        Ok((differences.collect(), true))
    }

    /// The fields that an entry of `managedFields` owns; none if they can't be read.
    fn fields_of(&self, entry: Value<'a>) -> FieldSet<'a> {
        let fields = entry.get("fieldsV1");
        fields.and_then(|fields| FieldSet::from_value(self.arena, fields).ok()).unwrap_or_default()
    }

    /// An object without the metadata that only the server writes.
    fn without_servers_metadata(&self, object: Value<'a>) -> Value<'a> {
        let Some(Value::Map(metadata)) = object.get("metadata") else { return object };
        let kept = metadata.members().iter().filter(|(name, _)| !SERVERS_METADATA.contains(name));
        let metadata = Value::Map(Map::new(self.arena, kept.copied()));
        object.with(self.arena, &["metadata"], Some(metadata))
    }

    fn typed(&self, object: Value<'a>) -> Result<Typed<'a>, Invalid> {
        let (schema, type_id) = (self.resource.schema(), self.resource.type_id());
        Typed::for_release(self.release, self.arena, schema, type_id, object, Duplicates::Allowed)
    }

    fn unreadable(&self, error: &impl fmt::Display) -> Difference {
        let error = without_mistyped_secrets(&error.to_string(), self.secrecy);
        Difference::new("the object", "one of this schema", error)
    }

    fn listed(&self, set: FieldSet<'a>) -> String {
        const MOST: usize = 3;
        let paths = set.leaves(self.arena).paths(self.arena);
        let mut texts: Vec<String> = paths.iter().take(MOST).map(ToString::to_string).collect();
        if paths.len() > MOST {
            texts.push(format!("{} more", paths.len() - MOST));
        }
        if texts.is_empty() { NOTHING.to_owned() } else { texts.join(", ") }
    }
}

/// Whether a server may have its default for the value: where a type never leaves a field out, that is what is not set.
fn is_nothing(value: &serde_json::Value) -> bool {
    value.is_null() || value.as_array().is_some_and(Vec::is_empty)
}

/// The length of a time without fractions of a second and without its zone.
const TO_THE_SECOND: usize = "2026-01-02T03:04:05".len();

/// The identity of an entry, such as `baton Apply apps/v1`.
fn name(entry: &Value<'_>) -> String {
    let members = ["manager", "operation", "apiVersion", "subresource"];
    members.map(|member| text(*entry, member)).join(" ").trim_end().to_owned()
}

/// Whether an object was created before the time of one of its owners. In a creation, the server records the owner first.
fn is_older_than_its_owners(object: Value<'_>) -> bool {
    let made = object.at(&["metadata", "creationTimestamp"]).and_then(|made| made.as_str());
    made.is_some_and(|made| entries(object).iter().any(|entry| time_of(entry) > made))
}

fn time_of<'a>(entry: &Value<'a>) -> &'a str {
    text(*entry, "time")
}

fn text<'a>(entry: Value<'a>, member: &str) -> &'a str {
    entry.get(member).and_then(|value| value.as_str()).unwrap_or_default()
}
