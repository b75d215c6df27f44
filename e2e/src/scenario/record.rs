//! The recorded steps of a scenario, and their counts.

use std::{fmt, sync::Mutex};

use baton_testbed::{Json, lock, prediction::Accuracy};

/// One step, as a reader sees it.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// The step as a sentence: `apply as kubectl, by force`.
    pub sentence: String,
    /// The subresource that is written; empty for the object itself.
    pub subresource: &'static str,
    /// Whether a controller wrote it.
    pub by_others: bool,
    /// The body, as the scenario wrote it.
    pub sent: Option<Json>,
    /// The server's message where it refused.
    pub refusal: Option<String>,
    /// The object before.
    pub before: Option<Json>,
    /// The object after, or the response of a dry run.
    pub after: Option<Json>,
}

/// Counts steps, from all scenarios at once.
#[derive(Debug, Default)]
pub struct Tally(Mutex<Counts>);

/// How many steps there were, and how accurate their predictions were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Writes that were sent.
    pub steps: usize,
    /// Predictions that were exact.
    pub matched: usize,
    /// Predictions that were exact except for defaults of the server.
    pub modulo_defaulting: usize,
    /// Writes that were refused after the merge: by validation, by admission, for a stale version.
    pub refused_later: usize,
    /// Writes for which the merge core made no prediction.
    pub unknown: usize,
}

impl Tally {
    /// Counts a step, with the accuracy of its prediction, if there was one.
    pub(super) fn add(&self, accuracy: Option<&Accuracy>) {
        let mut counts = lock(&self.0);
        counts.steps += 1;
        match accuracy {
            Some(Accuracy::Match) => counts.matched += 1,
            Some(Accuracy::ModuloDefaulting) => counts.modulo_defaulting += 1,
            Some(Accuracy::Refused) => counts.refused_later += 1,
            Some(Accuracy::Unknown) => counts.unknown += 1,
            Some(Accuracy::Mismatch(_)) | None => {}
        }
    }

    /// The counts up to now.
    pub fn counts(&self) -> Counts {
        *lock(&self.0)
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { steps, matched, modulo_defaulting, refused_later, unknown } = self;
        let unpredictable = steps - matched - modulo_defaulting - refused_later - unknown;
        write!(
            f,
            "{steps} steps: {matched} predicted exactly, {modulo_defaulting} except for defaults, {refused_later} refused after the \
             merge, {unknown} without a prediction of the core, {unpredictable} where there is nothing to predict"
        )
    }
}
