//! The modes `Preview` and `Paused`: what a pass would do, without doing it.
//!
//! The plan is rehearsed against the merge core in the API server's place, and the first write of each child is tried on the
//! API server itself, which stores nothing. Refuses to write anything.

mod rehearsal;

use std::collections::{BTreeMap, BTreeSet};

use baton_crd::DryRun;
use jiff::Timestamp;

pub use rehearsal::{Rehearsal, Rehearsed, rehearse};

use crate::{
    act::{Effect, Outcome},
    causes::with_causes,
    child::ChildKind,
    context::Context,
    course::about_to_be_created,
    intent::IntentError,
    observe::Observed,
    plan::Refusal,
    predict::{Schemas, Verdict},
    report::Pass,
    request::Request,
    write::answer,
};

/// How often an object may change between being seen and being tried, before the next pass goes on.
const MOST_LOOKS: usize = 3;

/// A rehearsed child with what the API server said about it.
#[derive(Clone, Debug)]
pub struct Tried {
    /// What would be done.
    pub rehearsed: Rehearsed,
    /// What the API server said.
    pub dry_run: DryRun,
    /// Its words, or how its answer differs.
    pub words: Option<String>,
}

/// What one pass would do.
pub(crate) async fn preview(mut seen: Observed, context: &Context) -> Result<Pass, IntentError> {
    let schemas = context.writer.schemas();
    for child in about_to_be_created(&seen, &BTreeSet::new()) {
        // One that can't be read is planned as if it weren't there; the dry run tells.
        if let Ok(live) = context.writer.actor.read(&seen.workload, child).await {
            seen.put(child, live);
        }
    }
    let mut looks = 0;
    loop {
        looks += 1;
        let Rehearsal { children, refused } = rehearse(&seen, &schemas, Timestamp::now())?;
        let (mut plan, mut stale) = (BTreeMap::new(), Vec::new());
        for (child, rehearsed) in children {
            match try_out(&seen, rehearsed, &schemas, context).await {
                Ok(tried) => {
                    plan.insert(child, tried);
                }
                Err(Stale) => stale.push(child),
            }
        }
        if stale.is_empty() || looks == MOST_LOOKS {
            return Ok(pass(seen, plan, refused, stale.is_empty()));
        }
        for child in stale {
            if let Ok(live) = context.writer.actor.read(&seen.workload, child).await {
                seen.put(child, live);
            }
        }
    }
}

fn pass(seen: Observed, plan: BTreeMap<ChildKind, Tried>, refused: Vec<Refusal>, settled: bool) -> Pass {
    Pass { plan: Some(plan), refused, settled, ..Pass::new(seen) }
}

/// The object isn't what was seen any more.
struct Stale;

/// Has the API server try the first write of a child.
async fn try_out(
    seen: &Observed,
    rehearsed: Rehearsed,
    schemas: &Schemas,
    context: &Context,
) -> Result<Tried, Stale> {
    let Some((request, forecast)) = &rehearsed.first else {
        return Ok(Tried { rehearsed, dry_run: DryRun::NotRun, words: None });
    };
    let (child, workload) = (request.child, &seen.workload);
    let base = seen.children.get(&child);
    let mut request: Request = request.clone();
    if let Some(base) = base {
        request.require_unchanged(&base.revision());
    }
    let outcome = context.writer.actor.send(workload, request, Effect::DryRun).await;
    let verdict = forecast.as_ref().and_then(|forecast| {
        let answer = answer(&outcome, Effect::DryRun)?;
        context.writer.check(workload, schemas, child.into(), forecast, base, answer)
    });
    let (dry_run, words) = match (&outcome, verdict) {
        (Outcome::Stale(_), None) => return Err(Stale),
        (_, Some(Verdict::Mismatch(differences))) => {
            let lines: Vec<String> = differences.iter().map(ToString::to_string).collect();
            (DryRun::Disagreed, Some(format!("the API server disagrees: {}", lines.join("; "))))
        }
        (_, Some(Verdict::Unknown(reason))) => {
            (DryRun::Disagreed, Some(format!("only the API server knows: {reason}")))
        }
        (Outcome::Done(_), _) if forecast.is_none() => {
            (DryRun::NotRun, Some("the API server would accept it".to_owned()))
        }
        (Outcome::Done(_), _) => (DryRun::Agreed, None),
        (Outcome::Failed(error), _) if !error.is_rejection() => {
            (DryRun::NotRun, Some(format!("the API server couldn't be asked: {}", with_causes(error))))
        }
        (Outcome::Stale(error) | Outcome::Failed(error), _) => {
            (DryRun::Rejected, Some(format!("the API server would refuse it: {}", with_causes(error))))
        }
    };
    Ok(Tried { rehearsed, dry_run, words })
}
