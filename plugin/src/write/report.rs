//! The result of a write, for programs; the view prints it for people.

use baton_apply::{Certainty, Comparison, Obstacle, Outcome, Prediction};
use serde::Serialize;

use super::{DryRunStrategy, Written};
use crate::{
    cluster::name_of,
    error::Exit,
    model::{ChangeKind, FieldChange},
};

/// A write, for programs.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WrittenReport {
    /// The object: `deployment.apps/web`.
    pub(crate) object: String,
    /// `created`, `changed`, `unchanged`, `conflict`, `refused` or `unknown`; of a dry run, what the write would do.
    pub(crate) result: &'static str,
    /// `none`, `client` or `server`.
    pub(crate) dry_run: &'static str,
    /// Field by field.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) changes: Vec<FieldChange>,
    /// The server's message, if it refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) message: Option<String>,
    /// How far the prediction goes, if the server wasn't asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) certainty: Option<String>,
    /// How the server's response compares with the prediction: `agreed`, `filledIn`, `uncertain` or `differs`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) prediction: Option<&'static str>,
    /// The differences from the prediction.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) differences: Vec<String>,
    /// The server's warnings.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) warnings: Vec<String>,
}

impl WrittenReport {
    /// The report of a write that couldn't be tried.
    pub(super) fn failed(object: String, dry_run: DryRunStrategy, message: String) -> Self {
        Self { object, result: "refused", dry_run: dry_run.name(), message: Some(message), ..Self::default() }
    }

    /// Whether the server refuses it, and not because of other managers' fields.
    pub(crate) fn is_refused(&self) -> bool {
        self.result == "refused"
    }

    /// The reason of a refusal, and how far the prediction goes, line by line.
    pub(crate) fn notes(&self) -> impl Iterator<Item = &str> {
        let message = self.message.as_deref().filter(|_| self.result != "conflict");
        message.into_iter().chain(self.certainty.as_deref()).flat_map(str::lines)
    }

    /// The exit code.
    pub(crate) fn exit(&self) -> Exit {
        match self.result {
            "conflict" | "refused" => Exit::Differs,
            _ => Exit::Done,
        }
    }
}

impl Written {
    /// Its result, for programs.
    pub(crate) fn report(&self, dry_run: DryRunStrategy) -> WrittenReport {
        let (result, message) = self.result();
        let (prediction, differences) = self.compared();
        let changes = self.changes();
        WrittenReport {
            object: name_of(&self.write.request.target),
            result,
            dry_run: dry_run.name(),
            certainty: self.certainty(&changes),
            changes,
            message,
            prediction,
            differences,
            warnings: self.warnings.clone(),
        }
    }

    /// The result for the object, and the server's message if it refuses the write.
    fn result(&self) -> (&'static str, Option<String>) {
        let stored = |changed: bool| match (&self.before, changed) {
            (None, _) => "created",
            (Some(_), false) => "unchanged",
            (Some(_), true) => "changed",
        };
        match (&self.outcome, &self.write.prediction) {
            (Some(Outcome::Stored { changed, .. }), _) => (stored(*changed), None),
            (Some(Outcome::Stale { error, .. } | Outcome::Rejected { error, .. }), _) => {
                let result = if error.is_ownership_conflict() { "conflict" } else { "refused" };
                let message = Obstacle::explain(error.to_string(), error, &self.write, self.before.as_ref());
                (result, Some(message))
            }
            (Some(Outcome::Deleted(_)), _) => (stored(true), None),
            (Some(Outcome::Skipped | Outcome::Failed(_)), _)
            | (None, Ok(Prediction::NoOp | Prediction::Deleted)) => ("unchanged", None),
            (None, Ok(Prediction::Stored(predicted))) => (stored(predicted.changed), None),
            (None, Ok(Prediction::Conflicts(conflicts))) => ("conflict", Some(conflicts.to_string())),
            (None, Ok(Prediction::Refused(message))) => ("refused", Some(message.clone())),
            (None, Err(error)) => ("unknown", Some(error.to_string())),
        }
    }

    /// How the server's response compares with the prediction, and where it differs.
    fn compared(&self) -> (Option<&'static str>, Vec<String>) {
        let compared = match &self.outcome {
            Some(Outcome::Stored { comparison, .. }) => match comparison {
                Some(Comparison::Match) => Some("agreed"),
                Some(Comparison::ModuloDefaulting) => Some("filledIn"),
                Some(Comparison::Unknown(_)) => Some("uncertain"),
                Some(Comparison::Mismatch(found)) => {
                    return (Some("differs"), found.iter().map(ToString::to_string).collect());
                }
                None => None,
            },
            Some(Outcome::Stale { expected: true, .. } | Outcome::Rejected { expected: true, .. }) => {
                Some("agreed")
            }
            // Admission and validation aren't predicted.
            Some(Outcome::Stale { error, .. } | Outcome::Rejected { error, .. }) => {
                error.is_ownership_conflict().then_some("differs")
            }
            _ => None,
        };
        (compared, Vec::new())
    }

    /// How far the prediction goes, if the server wasn't asked.
    fn certainty(&self, changes: &[FieldChange]) -> Option<String> {
        let (None, Ok(Prediction::Stored(stored))) = (&self.outcome, &self.write.prediction) else {
            return None;
        };
        let sets_values =
            |change: &FieldChange| !matches!(change.kind, ChangeKind::Shared | ChangeKind::Released);
        if let Some(reason) = stored.certainty.doubt() {
            Some(format!("uncertain: {reason}"))
        } else if !changes.iter().any(sets_values) {
            None
        } else if stored.certainty == Certainty::ModuloDefaulting {
            Some("the server's defaults and its validation aren't predicted".to_owned())
        } else {
            Some("the server's validation isn't predicted".to_owned())
        }
    }
}
