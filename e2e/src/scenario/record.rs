//! What is kept of the steps of a scenario, and how many there were.

use std::{fmt, sync::Mutex};

use baton_testbed::{Json, lock, prediction::Accuracy};

/// One step, as a reader wants to see it.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// The step as a sentence: `apply as kubectl, by force`.
    pub sentence: String,
    /// The subresource that is written; empty for the object itself.
    pub subresource: &'static str,
    /// Whether a controller wrote it, unasked.
    pub by_others: bool,
    /// What was sent, without what says which object is meant.
    pub sent: Option<Json>,
    /// The server's message where it refused.
    pub refusal: Option<String>,
    /// The object before.
    pub before: Option<Json>,
    /// The object after, or in a dry run the response.
    pub after: Option<Json>,
}

/// Counts steps, from all scenarios at once.
#[derive(Debug, Default)]
pub struct Tally(Mutex<Counts>);

/// How many steps there were, and what became of the predictions for them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Writes that were sent.
    pub steps: usize,
    /// Predictions that came true to the letter.
    pub matched: usize,
    /// Predictions that came true but for what the server fills in by itself.
    pub modulo_defaulting: usize,
    /// Writes that something behind the field manager refused: validation, admission, a stale version.
    pub refused_later: usize,
    /// Writes for which the merge core says that it can't know.
    pub unknown: usize,
}

impl Tally {
    /// Counts a step, with what became of the prediction, where there was one.
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
        let unasked = steps - matched - modulo_defaulting - refused_later - unknown;
        write!(
            f,
            "{steps} steps: {matched} predicted to the letter, {modulo_defaulting} but for defaults, {refused_later} refused \
             behind the field manager, {unknown} where the core abstains, {unasked} where there is nothing to predict"
        )
    }
}
