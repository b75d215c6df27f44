//! The write protocol, without I/O: predict a request, skip it if it changes nothing, guard it, send it, compare the response.
//!
//! [`Schemas::prepare`] comes before the request is sent and [`Schemas::settle`] after. [`Applier`](crate::Applier) does both
//! around a request of its own. Code with other I/O, such as a preview or a model checker, calls them itself.

use std::fmt;

use jiff::Timestamp;

use crate::{
    ApiError, Change, Comparison, Effects, Failure, FieldPath, LiveObject, PredictedObject, Prediction,
    PredictionError, Request, Schemas, leftovers::First,
};

/// Whether a request is only tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DryRun {
    /// The server stores the result.
    No,
    /// The server does everything but store the result.
    Yes,
}

/// A request that is ready to be sent, with what it will do.
#[derive(Clone, Debug)]
pub struct PreparedWrite {
    /// The request, with its guard.
    pub request: Request,
    /// What it will do, or why that can't be predicted.
    pub prediction: Result<Prediction, PredictionError>,
    /// The fields that this write clears, if it [comes before](Self::comes_before) the requested one.
    pub clears: Vec<FieldPath>,
    /// Whether the server's response can be compared with the prediction: both are about the same object.
    is_comparable: bool,
}

impl PreparedWrite {
    /// Whether it only [makes way](crate::leftovers) for the requested write: prepare that one again, for the object that this
    /// one returns.
    pub fn comes_before(&self) -> bool {
        !self.clears.is_empty()
    }

    /// Whether it needn't be sent: it certainly changes nothing, or only [repeats](crate::PredictedObject::is_repeat) what is there.
    pub fn is_noop(&self) -> bool {
        match &self.prediction {
            Ok(Prediction::NoOp) => true,
            Ok(Prediction::Stored(stored)) => stored.is_repeat,
            _ => false,
        }
    }

    /// Why it is sent; `None` if it [needn't be](Self::is_noop). For a log, if writes never stop: see [`spelling`](crate::spelling).
    pub fn reason(&self) -> Option<Reason> {
        let because = |what: String| Some(Reason { path: None, what });
        match &self.prediction {
            _ if self.is_noop() => None,
            Ok(Prediction::Stored(stored)) => Some(stored.reason()),
            Ok(Prediction::Conflicts(conflicts)) => because(conflicts.to_string()),
            Ok(Prediction::Refused(message)) => because(message.clone()),
            Ok(Prediction::NoOp | Prediction::Deleted) => because("it deletes the object".to_owned()),
            Err(error) => because(error.to_string()),
        }
    }
}

/// Why a write is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// The first field that it is about; absent if it isn't about one.
    pub path: Option<FieldPath>,
    /// What about it.
    pub what: String,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.path.iter().try_for_each(|path| write!(f, "{path}: "))?;
        f.write_str(&self.what)
    }
}

impl PredictedObject {
    fn reason(&self) -> Reason {
        let because =
            |path: Option<&FieldPath>, what: &str| Reason { path: path.cloned(), what: what.to_owned() };
        let Effects { sets, removes, takeovers, releases } = &self.effects;
        let is_respelled = |path: &&FieldPath| self.respelled.contains(path);
        if let Some(set) = sets.iter().find(|path| !is_respelled(path)) {
            because(Some(set), "it is set")
        } else if let Some(removed) = removes.first() {
            because(Some(removed), "it is removed")
        } else if let Some(takeover) = takeovers.iter().find(|takeover| !is_respelled(&&takeover.path)) {
            because(Some(&takeover.path), &format!("it is taken over from {}", takeover.manager))
        } else if let Some(released) = releases.first() {
            because(Some(released), "it is released")
        } else if let Some(path) = self.respelled.first() {
            because(
                Some(path),
                "the live value is what the server may make of this one, with defaults or in another spelling",
            )
        } else if let Some(reason) = self.certainty.doubt() {
            because(None, reason)
        } else {
            because(None, "the fields that it applies aren't all its own yet")
        }
    }
}

/// How a write ended.
#[derive(Debug)]
pub enum Outcome {
    /// It changes nothing, and wasn't sent.
    Skipped,
    /// The server accepted it: it was stored, tried in a dry run, or changes nothing.
    Stored {
        /// The object as the server returned it.
        object: LiveObject,
        /// Whether the object isn't the one that was read. If it is, it was sent although it changes nothing: see
        /// [`PreparedWrite::reason`].
        changed: bool,
        /// What it did to single fields, as far as the response confirms it; empty if it couldn't be predicted.
        effects: Effects,
        /// How the response compares with the prediction. `None` if the two can't be compared: there was no prediction, other
        /// managers have written since, or there was an object that hadn't been read.
        comparison: Option<Comparison>,
    },
    /// It was deleted: by a deletion, or by a patch that removes the last finalizer. The object, if any, lives on for now: a finalizer
    /// keeps it, or it is deleted gracefully.
    Deleted(Option<LiveObject>),
    /// The live object isn't the one that was read: read it again and decide again. Or, if `expected`, an apply without force
    /// got a conflict with other owners, as it will again.
    Stale {
        /// The server's response.
        error: ApiError,
        /// Whether that was predicted: an apply without force got a conflict with other owners.
        expected: bool,
    },
    /// The server refused it, and will refuse it again until something changes.
    Rejected {
        /// The server's response.
        error: ApiError,
        /// Whether that was predicted.
        expected: bool,
    },
    /// The request or its response was lost, or the server couldn't do it now. The write may still be stored.
    Failed(ApiError),
}

/// How often in a row another manager wrote an object first. Keep it from one try to the next; start again once a write is stored
/// or skipped.
///
/// A guarded write is stored only if no other manager writes between the read and the write. If others write all the time, it
/// might never be stored, so after three tries it is sent without the guard that only makes its prediction comparable. A
/// guard of the original request stays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tries(u32);

impl Tries {
    const MOST_GUARDED: u32 = 3;

    /// Records that a write was [stale](Outcome::Stale).
    pub fn stale(&mut self) {
        self.0 += 1;
    }

    /// Whether the next write gets a guard for its prediction.
    pub fn are_guarded(self) -> bool {
        self.0 < Self::MOST_GUARDED
    }
}

impl Schemas {
    /// Predicts a request for the live object, or for none, and guards it. The live object has its
    /// [kind](LiveObject::fill_in_kind).
    ///
    /// A prediction is right only for the object that it was made for. So a request that can be predicted gets a guard: the
    /// server refuses it if the object has changed since. A request without a prediction keeps the guard it has.
    ///
    /// If defaults without an owner contradict it, this is the write that [comes before](PreparedWrite::comes_before).
    pub fn prepare(
        &self,
        request: Request,
        live: Option<&LiveObject>,
        tries: Tries,
        now: Timestamp,
    ) -> PreparedWrite {
        let (write, first) = self.prepare_with_first(request, live, tries, now);
        match first {
            None => write,
            Some(First { request, clears }) => {
                PreparedWrite { clears, ..self.prepare_itself(request, live, tries, now) }
            }
        }
    }

    /// The same, without a write before it: the server is asked for what was requested, and nothing else.
    pub fn prepare_itself(
        &self,
        request: Request,
        live: Option<&LiveObject>,
        tries: Tries,
        now: Timestamp,
    ) -> PreparedWrite {
        self.prepare_with_first(request, live, tries, now).0
    }

    fn prepare_with_first(
        &self,
        mut request: Request,
        live: Option<&LiveObject>,
        tries: Tries,
        now: Timestamp,
    ) -> (PreparedWrite, Option<First>) {
        let (prediction, first) = match self.predict_with_first(&request, live, now) {
            Ok((prediction, first)) => (Ok(prediction), first),
            Err(error) => (Err(error), None),
        };
        // A version that the intent names is its author's guard, and stays.
        if let Some(live) =
            live.filter(|_| prediction.is_ok() && tries.are_guarded() && !request.requires_unchanged())
        {
            request.require_unchanged(live);
        }
        let is_comparable = live.is_none() || request.requires_unchanged();
        (PreparedWrite { request, prediction, clears: Vec::new(), is_comparable }, first)
    }

    /// Returns how a write ended, from the server's response: the object afterwards, or `None` if it is gone.
    pub fn settle(
        &self,
        write: &PreparedWrite,
        live: Option<&LiveObject>,
        response: Result<Option<LiveObject>, ApiError>,
        dry_run: DryRun,
    ) -> Outcome {
        let prediction = write.prediction.as_ref().ok();
        let comparable = prediction.filter(|_| write.is_comparable);
        let expected = |error: &ApiError| comparable.is_some_and(|prediction| prediction.expected(error));
        match response {
            Ok(Some(object)) if !matches!(write.request.change, Change::Delete(_)) => {
                let comparison = comparable
                    .and_then(|prediction| self.check(&write.request, prediction, live, &object, dry_run));
                let effects = match prediction {
                    // An object that existed and wasn't read: its earlier state is unknown.
                    Some(Prediction::Stored(stored)) if live.is_some() || comparison.is_some() => {
                        stored.effects.clone().confirmed(live, &object)
                    }
                    _ => Effects::default(),
                };
                let changed = live.is_none_or(|live| match dry_run {
                    DryRun::No => live.revision() != object.revision(),
                    // A dry run returns the version that is stored.
                    DryRun::Yes => !live.is_same_as(&object),
                });
                Outcome::Stored { object, changed, effects, comparison }
            }
            Ok(left) => Outcome::Deleted(left),
            Err(error) => match error.of_write(&write.request) {
                Failure::Stale => Outcome::Stale { expected: expected(&error), error },
                Failure::Rejected => Outcome::Rejected { expected: expected(&error), error },
                Failure::Passing => Outcome::Failed(error),
            },
        }
    }
}
