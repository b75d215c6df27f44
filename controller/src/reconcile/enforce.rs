//! The mode `Enforce`: a [`Course`] with the API server.

use std::{
    collections::{BTreeMap, HashSet},
    time::{Duration, Instant},
};

use baton_apply::{ApiError, DryRun, FieldPath, LiveObject, Outcome, Schemas, ownership::applied_fields};
use baton_merge::Arena;
use kube::ResourceExt;
use tracing::{debug, info, warn};

use super::{
    context::Context,
    pace::{LiveIntents, Setback, WorkloadPace},
};
use crate::{
    FIELD_MANAGER,
    causes::with_causes,
    clock::now,
    decide::{
        child::ChildKind,
        course::{ChildResult, Course, Ended, LiveIntent, Next, Read, Turn, WHOLE_OBJECT},
        intent::IntentError,
        plan::plan,
        snapshot::Snapshot,
    },
    metrics::ApplyOutcome,
    observe::Digests,
    report::{Done, Pass, Unreported},
};

/// How an enforcement ended.
pub(super) enum Enforced {
    /// The pass went as far as it could.
    Passed(Box<Pass>),
    /// Others come first: its turn is in this time.
    PutOff(Duration),
}

/// Brings the children to what the spec says, as far as one pass that `begun` then can. `always_send` applies also what would
/// change nothing. `around` says afterwards what the pass has read in the end.
pub(super) async fn enforce(
    seen: Snapshot,
    around: &mut Digests,
    begun: Instant,
    always_send: bool,
    context: &Context,
) -> Result<Enforced, IntentError> {
    let workload = seen.workload.clone();
    let generation = workload.metadata.generation.unwrap_or_default();
    let (failed, held_back) = context.record(&*workload, |record| record.held_back(generation, begun));
    // Before the schemas, whose change begins another round: what was found with the earlier ones doesn't count in it.
    let round = context.rounds();
    let known = if always_send { BTreeMap::new() } else { known_to_be_live(&seen, around, round, context) };
    let left = context.left(&workload);
    let course = Course::new(seen, held_back, always_send);
    let mut course = course.knowing(known).after_pass(left);
    let (mut has_written, mut put_off) = (false, None);
    loop {
        let schemas = context.applier.schemas();
        match course.next(&schemas, context.clock.timestamp()) {
            Next::Read(read) => {
                read_past_caches(&mut course, read, context).await;
                match read {
                    Read::Workload => {}
                    Read::Child(child) | Read::Newer(child) => see(child, &course, around, context),
                    Read::Autoscalers => around.put_autoscalers(&course.seen().autoscalers),
                }
            }
            Next::Plan => {
                let plan = plan(course.seen(), course.held_back())?;
                course.planned(plan);
            }
            Next::Send { write, turn } => {
                put_off = match turn {
                    Turn::Next => None,
                    Turn::AfterNewcomers => context.newcomers_come_first(&workload),
                    Turn::Last if has_written => None,
                    Turn::Last => context.write_may_wait(&workload),
                };
                if put_off.is_some() {
                    break;
                }
                has_written = true;
                let response = context.send(&write.request).await;
                if let Some(child) = respond(&mut course, &schemas, response, context) {
                    see(child, &course, around, context);
                }
            }
            Next::Done => break,
        }
    }
    let finished = course.finish();
    for child in &finished.skipped {
        context.metrics.applied(*child, ApplyOutcome::Skipped);
    }
    let now = now();
    let live = finished.live.iter().map(|(child, live)| (*child, around.child(*child), live.intent));
    let live = LiveIntents::new(round, live);
    let news = Unreported { milestones: finished.milestones, takeovers: finished.takeovers };
    let contested = context.record(&*workload, |record| {
        record.live = live;
        record.children = Some(finished.seen.own_children().collect());
        record.passed(&finished.results, &finished.refused, generation, begun, now);
        record.unreported.add(news);
        for (child, result) in &finished.results {
            if record.contention.is_about(child) && result.is_written() {
                let set = fields_of(finished.seen.own(*child));
                record.contention.retain(child, |path| set.contains(path));
            }
        }
        record.contention.contested(now)
    });
    if let Some(wait) = put_off {
        return Ok(Enforced::PutOff(wait));
    }
    let (mut results, mut refused) = (finished.results, finished.refused);
    for (child, setback) in failed {
        match setback {
            Setback::Result(result) => drop(results.entry(child).or_insert(result)),
            Setback::Refusal(refusal) => refused.push(refusal),
        }
    }
    let pass = Pass {
        seen: finished.seen,
        refused,
        unreported: Unreported::default(),
        settled: finished.settled,
        done: Done::Enforced { results, contested },
    };
    Ok(Enforced::Passed(pass.into()))
}

/// The fields that Baton sets of a child that is as the spec says, and the child itself; none where the spec asks for no child.
fn fields_of(child: Option<&LiveObject>) -> HashSet<FieldPath> {
    let Some(child) = child.filter(|child| !child.is_terminating()) else { return HashSet::new() };
    let (arena, mut fields) = (Arena::new(), HashSet::from([FieldPath::spelled(WHOLE_OBJECT)]));
    applied_fields(&arena, child, FIELD_MANAGER).for_each_path(|path| {
        fields.insert(path.into());
    });
    fields
}

/// The intents of which an earlier pass has found that they would change nothing of the children as they are.
fn known_to_be_live(
    seen: &Snapshot,
    around: &Digests,
    round: u64,
    context: &Context,
) -> BTreeMap<ChildKind, LiveIntent> {
    let known = context.record(&*seen.workload, |record| record.live.clone());
    let of = |child| {
        let intent = known.of(round, child, around.child(child))?;
        Some((child, LiveIntent { intent, revision: seen.child(child)?.revision() }))
    };
    ChildKind::ALL.into_iter().filter_map(of).collect()
}

/// Notes a child as the pass has just come to know it.
fn see(child: ChildKind, course: &Course, around: &mut Digests, context: &Context) {
    let seen = course.seen();
    context.stores.take_child(&seen.workload, child, seen.child(child), around);
}

async fn read_past_caches(course: &mut Course, read: Read, context: &Context) {
    let workload = course.seen().workload.clone();
    let outcome = match read {
        Read::Child(child) => {
            context.read_child(&workload, child).await.map(|live| course.read_child(child, live))
        }
        Read::Newer(child) => {
            let than = course.seen().child(child).cloned();
            let newer = context.newer_child(&workload, child, than.as_ref()).await;
            newer.map(|live| course.read_child(child, live))
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

/// Takes in a response; returns the child that it shows.
fn respond(
    course: &mut Course,
    schemas: &Schemas,
    response: Result<Option<LiveObject>, ApiError>,
    context: &Context,
) -> Option<ChildKind> {
    let ended = course.responded(schemas, response)?;
    let Ended { step, write, outcome, takeovers, corrections, result } = ended;
    let (child, what, workload) = (step.child(), step.describe(), course.seen().workload.clone());
    let (name, namespace) = (workload.name_any(), workload.namespace());
    context.applier.note(&write, DryRun::No, &outcome);
    match &outcome {
        Outcome::Skipped => {}
        Outcome::Stored { .. } | Outcome::Deleted(_) => match result {
            Some(ChildResult::Created | ChildResult::Adopted { .. } | ChildResult::Deleted) => {
                info!(%child, name, namespace, "{what}: done");
            }
            _ => debug!(%child, name, namespace, "{what}: done"),
        },
        Outcome::Stale { error, .. } if result.is_some() => warn_of(course, child, what, error),
        Outcome::Stale { error, .. } => {
            debug!(%child, name, namespace, %error, "{what}: the live object changed; reading it");
        }
        Outcome::Rejected { error, .. } | Outcome::Failed(error) => warn_of(course, child, what, error),
    }
    for takeover in &takeovers {
        context.metrics.took_over(child, &takeover.manager, 1);
    }
    let generation = workload.metadata.generation.unwrap_or_default();
    let corrected = |record: &mut WorkloadPace| record.corrected(child, generation, corrections, now());
    if context.record(&*workload, corrected) {
        course.hold_back(child);
    }
    matches!(outcome, Outcome::Stored { .. } | Outcome::Deleted(_)).then_some(child)
}

fn warn_of(course: &Course, child: ChildKind, what: &str, error: &ApiError) {
    let workload = &course.seen().workload;
    let (name, namespace) = (workload.name_any(), workload.namespace());
    warn!(%child, name, namespace, error = with_causes(error), "{what} failed");
}
