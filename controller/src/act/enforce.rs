//! The mode `Enforce`: a [`Course`] with the API server.

use std::time::Instant;

use baton_apply::{ApiError, Effect, LiveObject, Outcome, Schemas};
use kube::ResourceExt;
use tracing::{debug, info, warn};

use super::{context::Context, pace::WorkloadPace};
use crate::{
    causes::with_causes,
    clock::now,
    decide::{
        child::ChildKind,
        course::{ChildResult, Course, Ended, Next, Read},
        intent::IntentError,
        plan::plan,
        snapshot::Snapshot,
    },
    metrics::ApplyOutcome,
    report::{Done, Pass},
};

/// Brings the children to what the spec says, as far as one pass that `begun` then can. `always_send` applies also what would
/// change nothing.
pub(super) async fn enforce(
    seen: Snapshot,
    begun: Instant,
    always_send: bool,
    context: &Context,
) -> Result<Pass, IntentError> {
    let workload = seen.workload.clone();
    let generation = workload.metadata.generation.unwrap_or_default();
    let (failed, held_back) = context.record(&*workload, |record| record.held_back(generation, begun));
    let mut course = Course::new(seen, held_back, always_send);
    loop {
        let schemas = context.applier.schemas();
        match course.next(&schemas, context.clock.timestamp()) {
            Next::Read(read) => read_past_caches(&mut course, read, context).await,
            Next::Plan => {
                let plan = plan(course.seen(), course.held_back())?;
                course.planned(plan);
            }
            Next::Send(write) => {
                let response = context.applier.send(&write.request, Effect::Stored).await;
                respond(&mut course, &schemas, response, context);
            }
            Next::Done => break,
        }
    }
    let finished = course.finish();
    for child in &finished.skipped {
        context.metrics.applied(*child, ApplyOutcome::Skipped);
    }
    let now = now();
    let contested = context.record(&*workload, |record| {
        record.passed(&finished.results, &finished.refused, generation, now);
        record.contention.contested(now)
    });
    let mut results = finished.results;
    for child in failed {
        results.entry(child).or_insert(ChildResult::HeldBack);
    }
    Ok(Pass {
        seen: finished.seen,
        refused: finished.refused,
        takes: finished.takes,
        settled: finished.settled,
        done: Done::Enforced { results, contested },
    })
}

async fn read_past_caches(course: &mut Course, read: Read, context: &Context) {
    let workload = course.seen().workload.clone();
    let outcome = match read {
        Read::Child(child) => {
            context.read_child(&workload, child).await.map(|live| course.read_child(child, live))
        }
        Read::Workload => {
            context.read_workload(&workload).await.map(|now| course.read_workload(now.as_ref()))
        }
        Read::Autoscalers => {
            context.read_autoscalers(&workload).await.map(|all| course.read_autoscalers(all))
        }
    };
    if let Err(error) = outcome {
        warn_of(course, read.child(), "read", &error);
        course.unreadable(read, &error);
    }
}

fn respond(
    course: &mut Course,
    schemas: &Schemas,
    response: Result<Option<LiveObject>, ApiError>,
    context: &Context,
) {
    let Some(ended) = course.responded(schemas, response) else { return };
    let Ended { step, write, outcome, takes, corrections, result } = ended;
    let (child, what, workload) = (step.child(), step.describe(), course.seen().workload.clone());
    let (name, namespace) = (workload.name_any(), workload.namespace());
    context.applier.note(&write, Effect::Stored, &outcome);
    match &outcome {
        Outcome::Skipped => {}
        Outcome::Stored { .. } | Outcome::Deleted(_) => match result {
            Some(ChildResult::Created | ChildResult::Adopted { .. } | ChildResult::Deleted) => {
                info!(%child, name, namespace, "{what}: done");
            }
            _ => debug!(%child, name, namespace, "{what}: done"),
        },
        Outcome::Stale { error, .. } => {
            debug!(%child, name, namespace, %error, "{what}: the live object changed; reading it");
        }
        Outcome::Rejected { error, .. } | Outcome::Failed(error) => warn_of(course, child, what, error),
    }
    for take in &takes {
        context.metrics.took_over(child, &take.manager, 1);
    }
    let generation = workload.metadata.generation.unwrap_or_default();
    let corrected = |record: &mut WorkloadPace| record.corrected(child, generation, corrections, now());
    if context.record(&*workload, corrected) {
        course.hold_back(child);
    }
}

fn warn_of(course: &Course, child: ChildKind, what: &str, error: &ApiError) {
    let workload = &course.seen().workload;
    let (name, namespace) = (workload.name_any(), workload.namespace());
    warn!(%child, name, namespace, error = with_causes(error), "{what} failed");
}
