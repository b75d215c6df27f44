//! Counts how writes of children end, and logs predictions that were wrong.

use std::{collections::HashSet, sync::Mutex};

use baton_apply::{
    Change, Comparison, Difference, DryRun, Observer, Outcome, PredictionError, PreparedWrite, Target,
};
use baton_runtime::{
    lock,
    text::{cut, with_causes},
};
use tracing::{debug, warn};

use crate::{
    decide::child::ChildKind,
    metrics::{Metrics, PredictionOutcome, WriteOutcome},
};

/// The observer of all writes of children.
pub(crate) struct CountingObserver {
    metrics: Metrics,
    /// The causes of wrong predictions that were logged.
    mismatches: Mutex<HashSet<String>>,
}

impl CountingObserver {
    pub(crate) fn new(metrics: Metrics) -> Self {
        Self { metrics, mismatches: Mutex::default() }
    }

    /// Logs a wrong prediction, once for each cause.
    fn log_mismatch(&self, target: &Target, differences: &[Difference]) {
        const MOST_CAUSES: usize = 1000;
        const LONGEST_CAUSE: usize = 400;
        const LONGEST_LINE: usize = 4096;
        let lines: Vec<String> = differences.iter().map(ToString::to_string).collect();
        let lines = cut(lines.join("; "), LONGEST_LINE);
        let cause = differences.first().map(cause).unwrap_or_default();
        let cause = cut(format!("{} {cause}", target.resource.kind), LONGEST_CAUSE);
        let Target { resource, namespace, name, .. } = target;
        let mut known = lock(&self.mismatches);
        if known.len() < MOST_CAUSES && known.insert(cause) {
            warn!(
                kind = %resource.kind, name, namespace, differences = lines,
                "prediction mismatch: the API server made something else of a write than was predicted. The object is as \
                 the server says; if this isn't an admission webhook's work, it is a bug of Baton's merge core"
            );
        } else {
            debug!(kind = %resource.kind, name, namespace, differences = lines, "prediction mismatch again");
        }
    }
}

impl Observer for CountingObserver {
    fn ended(&self, write: &PreparedWrite, dry_run: DryRun, outcome: &Outcome) {
        let target = &write.request.target;
        let Some(child) = ChildKind::of(target) else { return };
        if matches!(write.request.change, Change::Apply { .. }) && dry_run == DryRun::No {
            self.metrics.applied(child, applied(outcome));
        }
        if let Err(error) = &write.prediction {
            self.metrics.predicted(child, PredictionOutcome::None);
            if !matches!(error, PredictionError::NoSchema(_)) {
                // The API server decides.
                debug!(%target, error = with_causes(error), "can't predict a write");
            }
        }
        if let Some(compared) = compared(outcome) {
            self.metrics.predicted(child, compared);
        }
        if let Outcome::Stored { comparison: Some(Comparison::Mismatch(differences)), .. } = outcome {
            self.log_mismatch(target, differences);
        }
    }
}

fn applied(outcome: &Outcome) -> WriteOutcome {
    match outcome {
        Outcome::Skipped => WriteOutcome::Skipped,
        Outcome::Stored { .. } | Outcome::Deleted(_) => WriteOutcome::Sent,
        Outcome::Stale { .. } => WriteOutcome::Stale,
        Outcome::Rejected { .. } => WriteOutcome::Rejected,
        Outcome::Failed(_) => WriteOutcome::Failed,
    }
}

/// How the response compares with the prediction; nothing where the two can't be compared.
fn compared(outcome: &Outcome) -> Option<PredictionOutcome> {
    match outcome {
        Outcome::Stored { comparison, .. } => Some(match comparison.as_ref()? {
            Comparison::Match => PredictionOutcome::Match,
            Comparison::ModuloDefaulting => PredictionOutcome::ModuloDefaulting,
            Comparison::Unknown(_) => PredictionOutcome::Unknown,
            Comparison::Mismatch(_) => PredictionOutcome::Mismatch,
        }),
        Outcome::Stale { expected, .. } | Outcome::Rejected { expected, .. } => {
            expected.then_some(PredictionOutcome::Match)
        }
        Outcome::Skipped | Outcome::Deleted(_) | Outcome::Failed(_) => None,
    }
}

/// The part of a difference that those of other objects have too: its place without the names of list items.
fn cause(difference: &Difference) -> String {
    let mut depth = 0_usize;
    let is_kept = |character: &char| {
        match character {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            _ => return depth == 0,
        }
        depth <= 1
    };
    difference.place.chars().filter(is_kept).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cause_of_a_mismatch_has_no_names_of_items() {
        let difference = |place: &str| Difference {
            place: place.to_owned(),
            predicted: String::new(),
            response: String::new(),
        };
        assert_eq!(
            cause(&difference(r#".spec.containers[name="a"].ports[containerPort=80].name"#)),
            ".spec.containers[].ports[].name"
        );
        assert_eq!(
            cause(&difference("managedFields of baton Apply apps/v1")),
            "managedFields of baton Apply apps/v1"
        );
    }
}
