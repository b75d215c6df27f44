//! Holds the API server's answer against the forecast.
//!
//! Where the forecast is exact, the object has to be just that. Where the server fills in defaults, it may touch what nobody
//! owns, and spell what is owned in its own way; what somebody owns has to have the predicted value. Who owns what is
//! compared to the last path in any case.

use std::fmt;

use baton_merge::{
    Arena, Release,
    fieldpath::{FieldSet, Path},
    server::{Certainty, Resource},
    typed::{Duplicates, Typed},
    value::Value,
};
use jiff::Timestamp;
use serde_json::Value as Json;

use super::{Forecast, Schemas, Stored, find::find, forecast::is_zero_scalar, shown};
use crate::{
    child::Kind,
    live::{Live, managed_fields},
    quantity,
};

/// What the API server answered to a request.
#[derive(Clone, Copy, Debug)]
pub enum Answer<'a> {
    /// The object, as it was stored.
    Stored(&'a Live),
    /// The object, as it would have been stored.
    Tried(&'a Live),
    /// Others own what the request sets.
    Conflict,
    /// Something else is wrong with it.
    Refused,
}

/// What came of a comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The answer is what was predicted.
    Match,
    /// The answer is what was predicted, but for what the server fills in or spells in its own way.
    ModuloDefaulting,
    /// The answer differs, and the forecast had said that only the server can know.
    Unknown(&'static str),
    /// The answer differs: the first few differences.
    Mismatch(Vec<Difference>),
}

/// One difference between what was predicted and what was answered. Values are those that [may be shown](shown).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Where it is: a path in the object, or what else was compared.
    pub place: String,
    /// What was predicted.
    pub predicted: String,
    /// What was answered.
    pub answered: String,
}

/// How many differences are told.
const MOST_DIFFERENCES: usize = 5;
const NOTHING: &str = "nothing";
/// What only a server writes, of which no write says anything.
const SERVERS_METADATA: [&str; 6] =
    ["uid", "resourceVersion", "generation", "creationTimestamp", "selfLink", "managedFields"];

impl Difference {
    fn new(place: impl Into<String>, predicted: impl Into<String>, answered: impl Into<String>) -> Self {
        Self { place: place.into(), predicted: predicted.into(), answered: answered.into() }
    }
}

/// On one line of its own.
impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: predicted {}, answered {}", self.place, self.predicted, self.answered)
    }
}

impl Schemas {
    /// Compares an answer with its forecast. `base` is the object for which the forecast was made, and which the server
    /// found there. Absent where the two can't be compared: the server refused the write for a reason that no merge can
    /// know, or found another object.
    pub fn check(
        &self,
        kind: impl Into<Kind>,
        forecast: &Forecast,
        base: Option<&Live>,
        answer: Answer<'_>,
    ) -> Option<Verdict> {
        let refusal = |predicted: &str, answered: &str| {
            Verdict::Mismatch(vec![Difference::new("the write", predicted, answered)])
        };
        let (answered, is_stored) = match answer {
            Answer::Stored(answered) => (answered, true),
            Answer::Tried(answered) => (answered, false),
            // One that wasn't predicted says nothing: the server looks for conflicts before it looks at the
            // resourceVersion, so the object may not be the one that the forecast was made for.
            Answer::Conflict => return matches!(forecast, Forecast::Conflicts(_)).then_some(Verdict::Match),
            Answer::Refused => return matches!(forecast, Forecast::Refused(_)).then_some(Verdict::Match),
        };
        let predicted = match forecast {
            Forecast::NoOp => Predicted::unchanged(base?),
            Forecast::Stored(stored) => Predicted::stored(stored),
            Forecast::Conflicts(words) | Forecast::Refused(words) => {
                return Some(refusal(&format!("a refusal: {words}"), ACCEPTED));
            }
            Forecast::Deleted => return None,
        };
        let resource = self.resource(kind).ok()?;
        let comparison = Comparison { resource, release: self.release(), arena: &Arena::new() };
        let was_changed = base.filter(|_| is_stored).map(|base| base.revision() != answered.revision());
        comparison.verdict(&predicted, base, answered, was_changed)
    }
}

const ACCEPTED: &str = "accepted";

/// An object as it was predicted.
struct Predicted<'p> {
    object: &'p Json,
    changed: bool,
    certainty: Certainty,
    /// When it was predicted for; entries that change get about this time.
    at: Option<Timestamp>,
}

impl<'p> Predicted<'p> {
    fn unchanged(base: &'p Live) -> Self {
        Self { object: base.as_json(), changed: false, certainty: Certainty::Exact, at: None }
    }

    fn stored(stored: &'p Stored) -> Self {
        let Stored { object, changed, certainty, at, .. } = stored;
        Self { object, changed: *changed, certainty: *certainty, at: Some(*at) }
    }
}

struct Comparison<'a> {
    resource: Resource<'a>,
    release: Release,
    arena: &'a Arena,
}

impl<'a> Comparison<'a> {
    fn verdict(
        &self,
        predicted: &Predicted<'a>,
        base: Option<&Live>,
        answered: &'a Live,
        was_changed: Option<bool>,
    ) -> Option<Verdict> {
        let owners = [managed_fields(predicted.object), managed_fields(answered.as_json())];
        if base.is_none() && owners[1].len() > owners[0].len() {
            // Somebody else made the object a moment before: this wasn't a creation.
            return None;
        }
        let mut differences = self.owners(owners, predicted.at);
        let (mut filled_in, exact) = (false, predicted.certainty == Certainty::Exact);
        match self.objects(predicted.object, answered.as_json(), exact) {
            Ok((others, filled)) => {
                differences.extend(others);
                filled_in = filled;
            }
            Err(invalid) => differences.push(Difference::new("the object", "one of this schema", invalid)),
        }
        match was_changed.filter(|was_changed| *was_changed != predicted.changed) {
            // A value that was spelled in another way was the same after all.
            Some(false) if !exact => filled_in = true,
            Some(was_changed) => {
                let words = |changed| if changed { "changes" } else { "stays" };
                let place = "metadata.resourceVersion";
                differences.push(Difference::new(place, words(predicted.changed), words(was_changed)));
            }
            None => {}
        }
        differences.truncate(MOST_DIFFERENCES);
        Some(match predicted.certainty {
            Certainty::Unknown(reason) if !differences.is_empty() => Verdict::Unknown(reason),
            _ if !differences.is_empty() => Verdict::Mismatch(differences),
            _ if filled_in => Verdict::ModuloDefaulting,
            _ => Verdict::Match,
        })
    }

    /// Where the `managedFields` differ. The clocks of the two sides do, so the time of an entry that changes isn't compared,
    /// nor the order that it decides.
    fn owners(&self, [predicted, answered]: [&'a [Json]; 2], at: Option<Timestamp>) -> Vec<Difference> {
        let set = |entry: &'a Json| self.fields_of(entry);
        let mut differences = Vec::new();
        for entry in predicted {
            let place = || format!("managedFields of {}", name(entry));
            let Some(other) = answered.iter().find(|other| name(other) == name(entry)) else {
                differences.push(Difference::new(place(), self.listed(set(entry)), NOTHING));
                continue;
            };
            let (ours, theirs) = (set(entry), set(other));
            let (only_ours, only_theirs) =
                (ours.difference(self.arena, theirs), theirs.difference(self.arena, ours));
            if !only_ours.is_empty() || !only_theirs.is_empty() {
                let [ours, theirs] = [only_ours, only_theirs].map(|only| self.listed(only));
                differences.push(Difference::new(place(), ours, theirs));
            }
            let (time, new) = (text(entry, "time"), at.map(|at| at.to_string()));
            let is_new = new.is_some_and(|new| new.get(..TO_THE_SECOND) == time.get(..TO_THE_SECOND));
            if !is_new && time != text(other, "time") {
                differences.push(Difference::new(
                    format!("time of {}", name(entry)),
                    time,
                    text(other, "time"),
                ));
            }
        }
        let is_predicted = |other: &&Json| predicted.iter().any(|entry| name(entry) == name(other));
        for other in answered.iter().filter(|other| !is_predicted(other)) {
            let place = format!("managedFields of {}", name(other));
            differences.push(Difference::new(place, NOTHING, self.listed(set(other))));
        }
        differences
    }

    /// Where the objects differ beyond what the server may do, and whether it did any of that.
    fn objects(
        &self,
        predicted: &'a Json,
        answered: &Json,
        exact: bool,
    ) -> Result<(Vec<Difference>, bool), String> {
        let owned = managed_fields(predicted).iter().map(|entry| self.fields_of(entry));
        let owned = owned.fold(FieldSet::default(), |all, fields| all.union(self.arena, fields));
        let [ours, theirs] = [self.value(predicted)?, self.value(answered)?];
        let [old, new] = [self.typed(ours)?, self.typed(theirs)?];
        let comparison = old.compare(&new).map_err(|invalid| invalid.to_string())?;
        if comparison.is_same() {
            return Ok((Vec::new(), false));
        }
        let is_tolerated = |path: Path<'a>| {
            let values =
                || Some((find(path, ours)?.to_json(), find(path, theirs).map(|value| value.to_json())));
            let is_owned = owned.contains(&path);
            !exact
                && (!is_owned || values().is_some_and(|(ours, theirs)| is_filled_in(&ours, theirs.as_ref())))
        };
        let changed = comparison.modified.union(self.arena, comparison.removed);
        let changed = if exact { changed.union(self.arena, comparison.added) } else { changed };
        let show = |path: Path<'a>, object: Value<'a>| {
            find(path, object).map_or_else(|| NOTHING.to_owned(), |value| shown(path, value))
        };
        let differences = changed.leaves(self.arena).paths(self.arena).into_iter();
        let differences = differences
            .filter(|path| !is_tolerated(*path))
            .map(|path| Difference::new(path.to_string(), show(path, ours), show(path, theirs)));
        Ok((differences.collect(), true))
    }

    /// What an entry of `managedFields` owns; nothing where that can't be read.
    fn fields_of(&self, entry: &'a Json) -> FieldSet<'a> {
        let fields = entry.get("fieldsV1");
        fields.and_then(|fields| FieldSet::from_fields_v1(self.arena, fields).ok()).unwrap_or_default()
    }

    /// An object without what only a server writes.
    fn value(&self, object: &Json) -> Result<Value<'a>, String> {
        let mut object = object.clone();
        if let Some(metadata) = object.get_mut("metadata").and_then(Json::as_object_mut) {
            metadata.retain(|name, _| !SERVERS_METADATA.contains(&name.as_str()));
        }
        Value::from_text(self.arena, self.arena.copy_text(&object.to_string()))
            .map_err(|error| error.to_string())
    }

    fn typed(&self, object: Value<'a>) -> Result<Typed<'a>, String> {
        let (schema, type_id) = (self.resource.schema(), self.resource.type_id());
        Typed::for_release(self.release, self.arena, schema, type_id, object, Duplicates::Allowed)
            .map_err(|invalid| invalid.to_string())
    }

    fn listed(&self, set: FieldSet<'a>) -> String {
        const MOST: usize = 3;
        let paths = set.leaves(self.arena).paths(self.arena);
        let mut words: Vec<String> = paths.iter().take(MOST).map(ToString::to_string).collect();
        if paths.len() > MOST {
            words.push(format!("{} more", paths.len() - MOST));
        }
        if words.is_empty() { NOTHING.to_owned() } else { words.join(", ") }
    }
}

/// The length of a time without fractions of a second and without its zone.
const TO_THE_SECOND: usize = "2026-01-02T03:04:05".len();

fn text<'e>(entry: &'e Json, name: &str) -> &'e str {
    entry.get(name).and_then(Json::as_str).unwrap_or_default()
}

/// Who an entry belongs to, such as `baton Apply apps/v1`.
fn name(entry: &Json) -> String {
    let words = ["manager", "operation", "apiVersion", "subresource"].map(|member| text(entry, member));
    words.join(" ").trim_end().to_owned()
}

/// Whether a value is what the server makes of the predicted one: quantities may be spelled in another way, zero values be
/// left out, empty texts taken for what nobody set, and defaults filled in below it.
fn is_filled_in(predicted: &Json, answered: Option<&Json>) -> bool {
    let Some(answered) = answered else { return is_zero(predicted) };
    match (predicted, answered) {
        (Json::Object(ours), Json::Object(theirs)) => {
            ours.iter().all(|(name, ours)| is_filled_in(ours, theirs.get(name)))
        }
        (Json::Array(ours), Json::Array(theirs)) => {
            ours.len() == theirs.len()
                && ours.iter().zip(theirs).all(|(ours, theirs)| is_filled_in(ours, Some(theirs)))
        }
        (Json::String(ours), Json::String(theirs)) => {
            ours == theirs || ours.is_empty() || quantity::are_equal(ours, theirs)
        }
        (Json::Number(ours), Json::String(theirs)) => quantity::are_equal(&ours.to_string(), theirs),
        (ours, theirs) => ours == theirs,
    }
}

/// Whether a Go type without the value looks the same.
fn is_zero(value: &Json) -> bool {
    match value {
        Json::Null => true,
        Json::Array(items) => items.is_empty(),
        Json::Object(members) => members.values().all(is_zero),
        scalar => is_zero_scalar(scalar),
    }
}
