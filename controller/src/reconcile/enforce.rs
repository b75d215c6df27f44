//! The mode `Enforce`: a [`Course`] with the API server.

use std::{
    collections::{BTreeMap, HashSet},
    time::Duration,
};

use baton_apply::{ApiError, DryRun, FieldPath, LiveObject, Outcome, Schemas, ownership::applied_fields};
use baton_merge::Arena;
use baton_runtime::{clock::now, text::with_causes};
use kube::ResourceExt;
use tracing::{debug, info, warn};

use super::{
    Context, Start,
    fingerprint::Fingerprint,
    records::{LiveIntents, Setback},
};
use crate::{
    FIELD_MANAGER,
    decide::{
        child::ChildKind,
        course::{Course, EndedWrite, LiveIntent, Next, Priority, Read, WHOLE_OBJECT},
        intent::IntentError,
        pass::{ChildResult, Pass},
        plan::plan,
        snapshot::Snapshot,
    },
    metrics::WriteOutcome,
};

/// The course of a pass, with what is remembered of earlier ones.
pub(super) fn course(
    seen: Snapshot,
    start: &Start<'_>,
    fingerprint: &Fingerprint,
    context: &Context,
) -> Course {
    let workload = seen.workload.clone();
    let generation = workload.metadata.generation.unwrap_or_default();
    let held_back = context.record(&*workload, |record| record.pace.held_back(generation, start.at));
    let known = if start.is_resync { BTreeMap::new() } else { known_to_be_live(&seen, fingerprint, context) };
    let left = context.left(&workload);
    Course::new(seen, held_back, start.is_resync).knowing(known).after_pass(left)
}

/// The intents that an earlier pass has found to change nothing of the children as they are.
fn known_to_be_live(
    seen: &Snapshot,
    fingerprint: &Fingerprint,
    context: &Context,
) -> BTreeMap<ChildKind, LiveIntent> {
    let known = context.record(&*seen.workload, |record| record.memo.live.clone());
    let of = |child| {
        let intent = known.of(fingerprint.round, child, fingerprint.around.child(child))?;
        Some((child, LiveIntent { intent, revision: seen.child(child)?.revision() }))
    };
    ChildKind::ALL.into_iter().filter_map(of).collect()
}

/// Brings the children to what the spec says, as far as one pass can.
pub(super) async fn enforce(
    mut course: Course,
    start: &Start<'_>,
    fingerprint: &mut Fingerprint,
    context: &Context,
) -> Result<Pass, IntentError> {
    let (workload, mut deferred) = (course.seen().workload.clone(), None);
    loop {
        let schemas = context.applier.schemas();
        match course.next(&schemas, context.clock.timestamp()) {
            Next::Read(read) => {
                read_past_caches(&mut course, read, context).await;
                match read {
                    Read::Workload => {}
                    Read::Child(child) | Read::Newer(child) => note(child, &course, fingerprint, context),
                    Read::Autoscalers => fingerprint.around.put_autoscalers(&course.seen().autoscalers),
                }
            }
            Next::Plan => {
                let plan = plan(course.seen(), course.held_back())?;
                course.planned(plan);
            }
            Next::Send { write, priority } => {
                if priority == Priority::Low {
                    deferred = context.deferral(&workload);
                }
                if deferred.is_some() {
                    break;
                }
                let response = context.send(&write.request).await;
                if let Some(child) = respond(&mut course, &schemas, response, context) {
                    note(child, &course, fingerprint, context);
                }
            }
            Next::Done => break,
        }
    }
    Ok(finish(course, deferred, start, fingerprint, context))
}

/// Records what the pass has done, and adds what is known of the children that it didn't write.
fn finish(
    course: Course,
    deferred: Option<Duration>,
    start: &Start<'_>,
    fingerprint: &Fingerprint,
    context: &Context,
) -> Pass {
    let found = course.live_intents().iter();
    let found = found.map(|(child, live)| (*child, fingerprint.around.child(*child), live.intent));
    let live = LiveIntents::new(fingerprint.round, found);
    let mut pass = course.finish();
    pass.deferred = deferred;
    for child in &pass.skipped {
        context.metrics.applied(*child, WriteOutcome::Skipped);
    }
    let now = now();
    let workload = pass.seen.workload.clone();
    let generation = workload.metadata.generation.unwrap_or_default();
    context.record(&*workload, |record| {
        record.memo.live = live;
        record.memo.children = Some(pass.seen.own_children().collect());
        record.outbox.add(std::mem::take(&mut pass.outbox));
        let setbacks = record.pace.backoff.held_back(generation, start.at);
        record.pace.passed(&pass, start.at, now);
        for (child, result) in &pass.results {
            if record.pace.contention.is_about(child) && result.is_written() {
                let set = fields_of(pass.seen.own(*child));
                record.pace.contention.retain(child, |path| set.contains(path));
            }
        }
        pass.contested = record.pace.contention.contested(now);
        for (child, setback) in setbacks {
            match setback {
                Setback::Result(result) => drop(pass.results.entry(child).or_insert(result)),
                Setback::Refusal(refusal) => pass.refused.push(refusal),
            }
        }
    });
    pass
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

/// Notes the newest version of a child in the fingerprint and the caches.
fn note(child: ChildKind, course: &Course, fingerprint: &mut Fingerprint, context: &Context) {
    let seen = course.seen();
    context.stores.take_child(child, seen.child(child), &mut fingerprint.around);
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

/// Takes in a response, with logs and metrics; returns the child that it shows.
fn respond(
    course: &mut Course,
    schemas: &Schemas,
    response: Result<Option<LiveObject>, ApiError>,
    context: &Context,
) -> Option<ChildKind> {
    let ended = course.responded(schemas, response)?;
    let EndedWrite { step, write, outcome, takeovers, corrections, result } = ended;
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
    let is_contested =
        context.record(&*workload, |record| record.pace.corrected(child, generation, corrections, now()));
    if is_contested {
        course.hold_back(child);
    }
    matches!(outcome, Outcome::Stored { .. } | Outcome::Deleted(_)).then_some(child)
}

fn warn_of(course: &Course, child: ChildKind, what: &str, error: &ApiError) {
    let workload = &course.seen().workload;
    let (name, namespace) = (workload.name_any(), workload.namespace());
    warn!(%child, name, namespace, error = with_causes(error), "{what} failed");
}
