//! The modes `Preview` and `Paused`: what a pass would do, without doing it.
//!
//! The pass is rehearsed with its own predictions, and the server gets the first write of each child as a dry run.

use std::collections::BTreeSet;

use baton_apply::{Comparison, DryRun, LiveObject, Obstacle, Outcome, PreparedWrite};
use baton_crd::DryRunResult;
use baton_runtime::text::with_causes;

use super::{Context, context::key};
use crate::decide::{
    child::ChildKind,
    course::out_of_sight,
    intent::IntentError,
    pass::{Pass, Rehearsed},
    rehearsal::rehearse,
    snapshot::Snapshot,
};

/// How often an object may change between being read and its dry run, before the rest is left to the next pass.
const MOST_READS: usize = 3;

/// The writes that one pass would do.
pub(super) async fn preview(mut seen: Snapshot, context: &Context) -> Result<Pass, IntentError> {
    let left = context.left(&seen.workload);
    let mut to_read = out_of_sight(&seen, &left, &BTreeSet::new());
    let mut reads = 0;
    loop {
        for child in to_read {
            // A child that can't be read is planned as it was; the dry run shows whether that holds.
            if let Ok(live) = context.read_child(&seen.workload, child).await {
                seen.put(child, live);
            }
        }
        reads += 1;
        let schemas = context.applier.schemas();
        let mut pass = rehearse(&seen, &schemas, context.clock.timestamp())?;
        let mut stale = BTreeSet::new();
        for (child, rehearsed) in &mut pass.rehearsed {
            if !try_out(&seen, rehearsed, context).await {
                stale.insert(*child);
            }
        }
        pass.rehearsed.retain(|child, _| !stale.contains(child));
        pass.settled = stale.is_empty();
        if pass.settled || reads == MOST_READS {
            return Ok(pass);
        }
        to_read = stale;
    }
}

/// Sends the first write of a child as a dry run. Returns whether the server has the object that was read.
async fn try_out(seen: &Snapshot, rehearsed: &mut Rehearsed, context: &Context) -> bool {
    let Some(write) = &rehearsed.first else { return true };
    let live = ChildKind::of(&write.request.target).and_then(|child| seen.child(child));
    context.write_comes().await;
    let trial = context.applier.perform(write, live, DryRun::Yes);
    let outcome = context.passes.patiently(key(&*seen.workload), trial).await;
    let Some((dry_run, message)) = compare(write, live, &outcome) else { return false };
    (rehearsed.dry_run, rehearsed.message) = (dry_run, message);
    true
}

/// How the server's response to a dry run compares with the prediction; `None` where the server has another object.
fn compare(
    write: &PreparedWrite,
    live: Option<&LiveObject>,
    outcome: &Outcome,
) -> Option<(DryRunResult, Option<String>)> {
    let (dry_run, message) = match outcome {
        Outcome::Stale { expected: false, .. } => return None,
        Outcome::Stored { comparison: Some(Comparison::Mismatch(differences)), .. } => {
            let lines: Vec<String> = differences.iter().map(ToString::to_string).collect();
            (DryRunResult::Disagreed, format!("the API server disagrees: {}", lines.join("; ")))
        }
        Outcome::Stored { comparison: Some(Comparison::Unknown(reason)), .. } => {
            (DryRunResult::Disagreed, format!("only the API server can decide: {reason}"))
        }
        Outcome::Stored { .. } | Outcome::Deleted(_) | Outcome::Skipped if write.prediction.is_err() => {
            (DryRunResult::NotRun, "the API server would accept it".to_owned())
        }
        Outcome::Stored { .. } | Outcome::Deleted(_) | Outcome::Skipped => {
            return Some((DryRunResult::Agreed, None));
        }
        Outcome::Stale { error, .. } | Outcome::Rejected { error, .. } => {
            let why = Obstacle::explain(with_causes(error), error, write, live);
            (DryRunResult::Rejected, format!("the API server would refuse it: {why}"))
        }
        Outcome::Failed(error) => {
            (DryRunResult::NotRun, format!("the dry run failed: {}", with_causes(error)))
        }
    };
    Some((dry_run, Some(message)))
}
