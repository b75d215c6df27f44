//! The write protocol, without I/O: forecast a request, leave out what changes nothing, guard it, send it, compare the response.
//!
//! [`Schemas::prepare`] comes before the request is sent and [`Schemas::settle`] after. [`Applier`](crate::Applier) does both
//! around a request of its own; whoever brings other I/O, as a rehearsal or a model checker does, calls them itself.

use jiff::Timestamp;

use crate::{
    ApiError, Change, Effects, FieldPath, Forecast, ForecastError, LiveObject, Request, Schemas, Verdict,
    leftovers::First,
};

/// Whether a request counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It is stored.
    Stored,
    /// The server does everything but store it.
    DryRun,
}

/// A request that is ready to be sent, with what it will do.
#[derive(Clone, Debug)]
pub struct PreparedWrite {
    /// The request, with its guard.
    pub request: Request,
    /// What it will do; why that can't be said, where it can't.
    pub forecast: Result<Forecast, ForecastError>,
    /// The fields for whose sake this write [comes before](Self::comes_before) the one that was asked for.
    pub clears: Vec<FieldPath>,
    /// Whether the server's response can be compared with the forecast: both are about the same object.
    is_comparable: bool,
}

impl PreparedWrite {
    /// Whether it only [clears the way](crate::leftovers) for the write that was asked for: prepare that one again, for the
    /// object that this one returns.
    pub fn comes_before(&self) -> bool {
        !self.clears.is_empty()
    }

    /// Whether it certainly changes nothing, so that it needn't be sent.
    pub fn is_noop(&self) -> bool {
        matches!(self.forecast, Ok(Forecast::NoOp))
    }
}

/// How a write ended.
#[derive(Debug)]
pub enum Outcome {
    /// It would have changed nothing, and wasn't sent.
    Skipped,
    /// It was stored, or tried in a dry run; or it was sent to be sure, and changed nothing: then the object has the revision
    /// that was read.
    Stored {
        /// The object as the server returned it.
        object: LiveObject,
        /// What it did to single fields, as far as the response bears it out; nothing where it couldn't be forecast.
        effects: Effects,
        /// How the response compares with the forecast. Absent where the two can't be compared: there was no forecast, others
        /// have written since, or an object was there that hadn't been read.
        verdict: Option<Verdict>,
    },
    /// It was deleted, which only a deletion does, or a patch that takes the last finalizer away. What is left is kept by
    /// finalizers.
    Deleted(Option<LiveObject>),
    /// The live object isn't the one that was read: read it again and decide anew. Or, if `expected`, an apply that isn't
    /// forced met other owners, as it will again.
    Stale {
        /// The server's response.
        error: ApiError,
        /// Whether the forecast had said so: an apply that isn't forced met other owners.
        expected: bool,
    },
    /// The server refused it, and will go on refusing it until somebody changes something.
    Rejected {
        /// The server's response.
        error: ApiError,
        /// Whether the forecast had said so.
        expected: bool,
    },
    /// The request didn't get through; it may be stored nevertheless.
    Failed(ApiError),
}

/// How often in a row somebody else was faster with an object: kept from one try to the next, and begun anew once a write is
/// stored or skipped.
///
/// A guarded write waits, in effect, for an object that stands still. Where others write all the time it would wait without an
/// end, so after three tries the write goes without the guard that only makes its forecast comparable. A guard that the
/// request came with stays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tries(u32);

impl Tries {
    const MOST_GUARDED: u32 = 3;

    /// Notes that a write was [stale](Outcome::Stale).
    pub fn stale(&mut self) {
        self.0 += 1;
    }

    /// Whether the next write is guarded.
    pub fn are_guarded(self) -> bool {
        self.0 < Self::MOST_GUARDED
    }
}

impl Schemas {
    /// Forecasts a request for the live object, or for none, and guards it. The live object has its
    /// [kind](LiveObject::fill_in_kind).
    ///
    /// A forecast holds for the object that it was made for. So a request that can be forecast gets a guard: the server
    /// refuses it if the object has changed since. A request without a forecast keeps the guard it has.
    ///
    /// Where defaults stand in the way that nobody owns, this is the write that [comes before](PreparedWrite::comes_before).
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

    /// The same, whatever may be in the way.
    pub(crate) fn prepare_itself(
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
        let (forecast, first) = match self.forecast_with_first(&request, live, now) {
            Ok((forecast, first)) => (Ok(forecast), first),
            Err(error) => (Err(error), None),
        };
        if let Some(live) = live.filter(|_| forecast.is_ok() && tries.are_guarded()) {
            request.require_unchanged(live);
        }
        let is_comparable = live.is_none() || request.requires_unchanged();
        (PreparedWrite { request, forecast, clears: Vec::new(), is_comparable }, first)
    }

    /// Says how a write ended, from the server's response: the object afterwards, or none where it is gone.
    pub fn settle(
        &self,
        write: &PreparedWrite,
        live: Option<&LiveObject>,
        response: Result<Option<LiveObject>, ApiError>,
        effect: Effect,
    ) -> Outcome {
        let forecast = write.forecast.as_ref().ok();
        let comparable = forecast.filter(|_| write.is_comparable);
        let expected = |error: &ApiError| comparable.is_some_and(|forecast| forecast.expected(error));
        match response {
            Ok(Some(object)) if !matches!(write.request.change, Change::Delete(_)) => {
                let verdict = comparable
                    .and_then(|forecast| self.check(&write.request, forecast, live, &object, effect));
                let effects = match forecast {
                    // Of an object that was there, though none was read, nobody knows what it was.
                    Some(Forecast::Stored(stored)) if live.is_some() || verdict.is_some() => {
                        stored.effects.clone().borne_out(live, &object)
                    }
                    _ => Effects::default(),
                };
                Outcome::Stored { object, effects, verdict }
            }
            Ok(left) => Outcome::Deleted(left),
            Err(error) if error.is_stale() => Outcome::Stale { expected: expected(&error), error },
            Err(error) if error.is_rejection() => Outcome::Rejected { expected: expected(&error), error },
            Err(error) => Outcome::Failed(error),
        }
    }
}
