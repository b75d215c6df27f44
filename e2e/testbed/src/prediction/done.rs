//! A write that a server was sent, and what became of it.

use jiff::Timestamp;
use kube::core::Status;

use super::{
    Accuracy, Method, Resource, Write, judge,
    question::{Answered, question, version_of},
    response,
    time::{seconds, time_of},
};
use crate::Json;

/// A write, and what came of it.
#[derive(Clone, Copy, Debug)]
pub struct Done<'a> {
    /// The kind of object, in the version of the write.
    pub resource: &'a Resource,
    /// The write.
    pub write: &'a Write,
    /// The object before. A creation begins with nothing, even if the object exists.
    pub before: Option<&'a Json>,
    /// The object after the write, or the result of a dry run; or the refusal.
    pub outcome: Result<&'a Json, &'a Status>,
    /// When the write began.
    pub began: Timestamp,
    /// Whether it is a dry run.
    pub dry_run: bool,
}

/// A write in the form in which it is predicted and recorded.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The merge core's input, in the merge driver protocol.
    pub question: Json,
    /// The server's result.
    pub response: Json,
}

impl Asked {
    /// Whether this prediction came true.
    pub fn judge(&self, prediction: &Json) -> Accuracy {
        judge(&self.question, &self.response, prediction)
    }
}

/// Whether a refusal is about the request itself, before any object was read.
fn is_for_the_request(status: &Status) -> bool {
    let kind = status.details.as_ref().map_or("", |details| details.kind.as_str());
    matches!(status.code, 401 | 403 | 405 | 406 | 413 | 415 | 429) || kind.ends_with("Options")
}

impl Done<'_> {
    /// The question to the merge core about it: none where there is no object to write to, and where a write other than
    /// an apply is refused: then it isn't known which object would have come of it.
    pub fn asked(&self) -> Option<Asked> {
        let before = self.before.filter(|_| self.write.method != Method::Create);
        // A scale that isn't stored doesn't show the parent that it would lead to.
        if self.dry_run && self.write.subresource == "scale" && self.outcome.is_ok() {
            return None;
        }
        if before.is_none() && !matches!(self.write.method, Method::Apply { .. } | Method::Create) {
            return None;
        }
        if self.outcome.is_err_and(is_for_the_request) {
            return None;
        }
        let after = self.outcome.ok();
        let now = after.and_then(|after| time_of(self.write, after, self.began));
        let now = now.unwrap_or_else(|| seconds(self.began));
        let changed = match (before, after) {
            (_, None) => false,
            (None, Some(_)) => true,
            // Nothing that isn't stored gets a version.
            (Some(before), Some(after)) if self.dry_run => !before.same_value(after),
            (Some(before), Some(after)) => version_of(before) != version_of(after),
        };
        let answered = Answered { live: before, after, changed, now: &now };
        let response = match self.outcome {
            Ok(after) => response::done(self.write, changed, after),
            Err(status) => response::refused(status),
        };
        Some(Asked { question: question(self.resource, self.write, &answered)?, response })
    }
}
