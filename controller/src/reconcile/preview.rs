//! The modes `Preview` and `Paused`: what a pass would do, without doing it.
//!
//! The pass is rehearsed with its own predictions, and the first write of each child is tried on the API server, which stores
//! nothing.

use std::collections::{BTreeMap, BTreeSet};

use baton_apply::{Comparison, DryRun, LiveObject, Outcome, PreparedWrite};
use baton_crd::DryRunResult;

use super::context::{Context, key};
use crate::{
    causes::{why_refused, with_causes},
    decide::{
        child::ChildKind,
        course::out_of_sight,
        intent::IntentError,
        rehearsal::{Rehearsal, Rehearsed, rehearse},
        snapshot::Snapshot,
    },
    report::{Done, Pass, Tried},
};

/// How often an object may change between being seen and being tried, before the next pass goes on.
const MOST_READS: usize = 3;

/// What one pass would do.
pub(super) async fn preview(mut seen: Snapshot, context: &Context) -> Result<Pass, IntentError> {
    let left = context.left(&seen.workload);
    let mut to_read = out_of_sight(&seen, &left, &BTreeSet::new());
    let mut reads = 0;
    loop {
        for child in to_read {
            // A child that can't be read is planned as it was seen; the dry run shows whether that holds.
            if let Ok(live) = context.read_child(&seen.workload, child).await {
                seen.put(child, live);
            }
        }
        reads += 1;
        let schemas = context.applier.schemas();
        let Rehearsal { children, refused } = rehearse(&seen, &schemas, context.clock.timestamp())?;
        let (mut plan, mut stale) = (BTreeMap::new(), BTreeSet::new());
        for (child, rehearsed) in children {
            match try_out(&seen, rehearsed, context).await {
                Some(tried) => {
                    plan.insert(child, tried);
                }
                None => {
                    stale.insert(child);
                }
            }
        }
        let settled = stale.is_empty();
        if settled || reads == MOST_READS {
            return Ok(Pass { refused, settled, done: Done::Previewed(plan), ..Pass::of_nothing(seen) });
        }
        to_read = stale;
    }
}

/// Has the API server try the first write of a child; `None` where the object isn't what was seen any more.
async fn try_out(seen: &Snapshot, rehearsed: Rehearsed, context: &Context) -> Option<Tried> {
    let Some(write) = &rehearsed.first else {
        return Some(Tried { rehearsed, dry_run: DryRunResult::NotRun, message: None });
    };
    let live = ChildKind::of(&write.request.target).and_then(|child| seen.child(child));
    context.write_comes().await;
    let trial = context.applier.perform(write, live, DryRun::Yes);
    let outcome = context.patiently(key(&*seen.workload), trial).await;
    let (dry_run, message) = comparison(write, live, &outcome)?;
    Some(Tried { rehearsed, dry_run, message })
}

/// What the API server said about a dry run; `None` where it found another object.
fn comparison(
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
            let why = why_refused(error, write, live);
            (DryRunResult::Rejected, format!("the API server would refuse it: {why}"))
        }
        Outcome::Failed(error) => {
            (DryRunResult::NotRun, format!("the dry run failed: {}", with_causes(error)))
        }
    };
    Some((dry_run, Some(message)))
}
