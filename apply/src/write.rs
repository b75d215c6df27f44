//! The write protocol, without I/O: predict a request, skip it if it changes nothing, guard it, send it, compare the response.
//!
//! [`Schemas::prepare`] comes before the request is sent and [`Schemas::settle`] after. [`Applier`](crate::Applier) does both
//! around a request of its own. Code with other I/O, such as a preview or a model checker, calls them itself.

use std::fmt;

use jiff::Timestamp;

use crate::{
    ApiError, Change, Comparison, DryRun, Effects, Failure, FieldPath, LiveObject, PredictedObject,
    Prediction, PredictionError, Request, Schemas, leftovers::Preparatory,
};

/// A request that is ready to be sent, with its prediction.
#[derive(Clone, Debug)]
#[must_use]
pub struct PreparedWrite {
    /// The request, with its guard.
    pub request: Request,
    /// The result of the request, or why it can't be predicted.
    pub prediction: Result<Prediction, PredictionError>,
    /// The fields that this write clears, if it is [preparatory](Self::is_preparatory).
    pub clears: Vec<FieldPath>,
    /// Whether the server's response can be compared with the prediction: both are about the same object.
    is_comparable: bool,
}

impl PreparedWrite {
    /// Whether it only [clears fields](crate::leftovers) for the requested write. Prepare that one again, for the object that this
    /// one returns.
    pub fn is_preparatory(&self) -> bool {
        !self.clears.is_empty()
    }

    /// Whether it needn't be sent: it certainly changes nothing, or only [repeats](crate::PredictedObject::is_repeat) the live object.
    pub fn is_noop(&self) -> bool {
        match &self.prediction {
            Ok(Prediction::NoOp) => true,
            Ok(Prediction::Stored(stored)) => stored.is_repeat,
            _ => false,
        }
    }

    /// The reason why it is sent; `None` if it [needn't be](Self::is_noop). For a log, if writes never stop: see [`spelling`](crate::spelling).
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

/// The reason why a write is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// The first field that it is about; absent if it isn't about one.
    pub path: Option<FieldPath>,
    /// The reason, as a part of a sentence.
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

/// The result of a write.
#[derive(Debug)]
#[must_use]
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
        /// The changes of single fields, as far as the response confirms them; empty if they couldn't be predicted.
        effects: Effects,
        /// The comparison of the response with the prediction. `None` if the two can't be compared: there was no prediction, other
        /// managers have written since, or there was an object that hadn't been read.
        comparison: Option<Comparison>,
    },
    /// It was deleted: by a deletion, or by a write that removes the last finalizer. The object, if any, lives on for now: a finalizer
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

/// The way in which a request is prepared.
#[derive(Clone, Copy, Default)]
pub(crate) struct Preparing {
    /// Without a preparatory write.
    pub(crate) exact: bool,
    /// Without a guard that the prediction needs.
    pub(crate) unguarded: bool,
}

impl Schemas {
    /// Predicts a request for the live object, or for none, and guards it. The live object has its
    /// [kind](LiveObject::fill_in_kind).
    ///
    /// A prediction is right only for the object that it was made for. So a request that can be predicted gets a guard: the
    /// server refuses it if the object has changed since. A request without a prediction keeps the guard it has.
    ///
    /// If defaults without an owner contradict it, the result is a [preparatory](PreparedWrite::is_preparatory) write.
    pub fn prepare(&self, request: Request, live: Option<&LiveObject>, now: Timestamp) -> PreparedWrite {
        self.prepare_with(request, live, now, Preparing::default())
    }

    /// Predicts and guards exactly the request, as [`prepare`](Self::prepare) does without a preparatory write.
    pub fn prepare_exact(
        &self,
        request: Request,
        live: Option<&LiveObject>,
        now: Timestamp,
    ) -> PreparedWrite {
        self.prepare_with(request, live, now, Preparing { exact: true, ..Preparing::default() })
    }

    pub(crate) fn prepare_with(
        &self,
        mut request: Request,
        live: Option<&LiveObject>,
        now: Timestamp,
        how: Preparing,
    ) -> PreparedWrite {
        let (prediction, first) = match self.predict_with_first(&request, live, now) {
            Ok((prediction, first)) => (Ok(prediction), first.filter(|_| !how.exact)),
            Err(error) => (Err(error), None),
        };
        if let Some(Preparatory { request, clears }) = first {
            return PreparedWrite {
                clears,
                ..self.prepare_with(request, live, now, Preparing { exact: true, ..how })
            };
        }
        // A version that the intent names is its author's guard, and stays.
        if let Some(live) =
            live.filter(|_| prediction.is_ok() && !how.unguarded && !request.requires_unchanged())
        {
            request.require_unchanged(live);
        }
        let is_comparable = live.is_none() || request.requires_unchanged();
        PreparedWrite { request, prediction, clears: Vec::new(), is_comparable }
    }

    /// The outcome of a write, from the server's response: the object afterwards, or `None` if it is gone.
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
            // The response to a write that removes the last finalizer is the object that it deletes.
            Ok(Some(object)) if object.is_terminating() && !object.lives_on() => Outcome::Deleted(None),
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
