//! Holds what the merge core predicts against what the server did, for one write.

use baton_testbed::{
    Error, Json,
    prediction::{
        Answered, Method, Resource, Verdict, Write, judge, question, response,
        time::{seconds, time_of},
    },
};
use jiff::Timestamp;

use super::stage::Stage;

/// A write, and what came of it.
pub(super) struct Done<'a> {
    pub(super) resource: &'a Resource,
    pub(super) write: &'a Write,
    /// The object before, in the version of the write.
    pub(super) before: Option<&'a Json>,
    /// The object after, or what a dry run says that it would be; or the refusal.
    pub(super) outcome: Result<&'a Json, &'a kube::core::Status>,
    /// When the write began.
    pub(super) began: Timestamp,
    /// Whether the server was asked to store nothing.
    pub(super) dry_run: bool,
}

/// What was predicted, and what became of it.
#[derive(Clone, Debug)]
pub(super) struct Predicted {
    pub(super) prediction: Json,
    pub(super) verdict: Verdict,
}

/// Whether a refusal is for how something was asked, before anybody looked at any object.
fn is_for_the_request(status: &kube::core::Status) -> bool {
    let kind = status.details.as_ref().map_or("", |details| details.kind.as_str());
    matches!(status.code, 401 | 403 | 405 | 406 | 413 | 415 | 429) || kind.ends_with("Options")
}

impl Done<'_> {
    /// Asks the merge core. Nothing can be asked where there is no object to write to, where what is sent isn't even JSON, and
    /// where a write other than an apply is refused: then it isn't known which object would have come of it.
    pub(super) fn predict(&self, stage: &Stage) -> Result<Option<Predicted>, Error> {
        // A scale that isn't stored doesn't tell what would become of its parent.
        if self.dry_run && self.write.subresource == "scale" && self.outcome.is_ok() {
            return Ok(None);
        }
        if self.before.is_none() && !matches!(self.write.method, Method::Apply { .. } | Method::Create) {
            return Ok(None);
        }
        if self.outcome.is_err_and(is_for_the_request) {
            return Ok(None);
        }
        let after = self.outcome.ok();
        let now = after.and_then(|after| time_of(self.write, after, self.began));
        let now = now.unwrap_or_else(|| seconds(self.began));
        let changed = after.is_some_and(|after| self.changes(after));
        let answered = Answered { live: self.before, after, changed, now: &now };
        let Some(question) = question(self.resource, self.write, &answered) else { return Ok(None) };
        let recorded = match self.outcome {
            Ok(after) => response::done(self.write, changed, after),
            Err(status) => response::refused(status),
        };
        let prediction = stage.predict(&question)?;
        let verdict = judge(&question, &recorded, &prediction);
        Ok(Some(Predicted { prediction, verdict }))
    }

    /// Whether the write stores something, or would.
    fn changes(&self, after: &Json) -> bool {
        let version = |object: &Json| object.at(&["metadata", "resourceVersion"]).cloned();
        match self.before {
            None => true,
            // Nothing that isn't stored gets a version.
            Some(before) if self.dry_run => !before.same_value(after),
            Some(before) => version(before) != version(after),
        }
    }
}
