//! The checks at the beginning of a pass. One that fails ends the pass early.

use std::time::{Duration, Instant};

use baton_apply::{LiveObject, crd::LAG};
use baton_crd::Workload;
use baton_runtime::clock::now;
use kube::Resource as _;

use super::{
    Context, End, ReconcileError, Requeue, context::CRD_IS_KNOWN_WITHIN, fingerprint::Fingerprint, status,
};
use crate::{
    decide::{child::ChildKind, lacking::Lacking},
    observe::WatchedWorkload,
    report::Unreadable,
};

fn skip(after: Option<Duration>) -> End {
    End::Early(Requeue::skipped(after))
}

pub(super) fn is_not_deleted(watched: &WatchedWorkload) -> Result<(), End> {
    if watched.meta().deletion_timestamp.is_some() { Err(skip(None)) } else { Ok(()) }
}

/// Something has changed since the last settled pass, or it is time for another one.
pub(super) fn has_changed(
    watched: &WatchedWorkload,
    cached: &Fingerprint,
    context: &Context,
) -> Result<(), End> {
    let rests = context.record(watched, |record| record.memo.rests(cached, now()));
    rests.map_or(Ok(()), |requeue| Err(End::Early(requeue)))
}

/// While the pass waited, the Workload neither changed nor was listed again.
pub(super) fn is_current(
    watched: &WatchedWorkload,
    cached: &Fingerprint,
    context: &Context,
) -> Result<(), End> {
    let current = context.stores.workload(watched).map(|now| now.digest());
    if current == Some(cached.workload) { Ok(()) } else { Err(skip(Some(Duration::ZERO))) }
}

/// The fields that the spec lacks although managers own them, and since when. The CRD may be an older one then, so it is verified
/// again.
pub(super) fn lacking_fields(
    watched: &WatchedWorkload,
    live: &LiveObject,
    context: &Context,
) -> Vec<(Lacking, Instant)> {
    let lacking = WatchedWorkload::lacking(live);
    let lacking = context.record(watched, |record| record.memo.may_have_lost(lacking, now()));
    if lacking.iter().any(|(_, since)| !may_lag(*since).is_zero()) {
        context.crd.suspect();
    }
    lacking
}

/// How long the published schema may still lag behind a CRD under which fields were first missing then. Until it is certain which it
/// was, any write would make the loss final.
fn may_lag(lacking_since: Instant) -> Duration {
    (lacking_since + LAG).saturating_duration_since(now())
}

/// The API server returns the Workload as its author wrote it.
pub(super) async fn crd_is_complete(watched: &WatchedWorkload, context: &Context) -> Result<(), End> {
    match context.has_complete_crd(watched).await {
        Some(true) => Ok(()),
        Some(false) => Err(End::Early(Requeue::failed())),
        None => Err(End::Early(Requeue::unsettled(CRD_IS_KNOWN_WITHIN))),
    }
}

/// The spec hasn't lost the fields that it lacks.
pub(super) async fn has_lost_nothing(
    lacking: Vec<(Lacking, Instant)>,
    watched: &WatchedWorkload,
    cached: &Fingerprint,
    context: &Context,
) -> Result<(), End> {
    let uncertain = lacking.iter().filter(|(_, since)| !context.crd.was_older_since(*since));
    if let Some(wait) = uncertain.map(|(_, since)| may_lag(*since)).max().filter(|wait| !wait.is_zero()) {
        return Err(End::Early(Requeue::unsettled(wait)));
    }
    if lacking.is_empty() {
        return Ok(());
    }
    let lost = lost_among(lacking, watched, cached, context);
    if !lost.is_empty() {
        return Err(unreadable(watched, &Unreadable::lost(&lost), context).await);
    }
    context.record(watched, |record| record.memo.never_had());
    Ok(())
}

/// The fields that a spec has lost, of those that it lacks although managers own them: fields that an older CRD explains, and fields
/// without which a child would be deleted. A policy that removes fields when the Workload is written leaves their owners too, and a
/// backup may bring them along.
fn lost_among(
    lacking: Vec<(Lacking, Instant)>,
    watched: &WatchedWorkload,
    cached: &Fingerprint,
    context: &Context,
) -> Vec<Lacking> {
    let status = watched.status().unwrap_or_default();
    let has_child = |field: &Lacking| {
        let asked_for = |kind: &ChildKind| kind.part() == Some(&*field.in_schema);
        ChildKind::ALL.iter().filter(|kind| asked_for(kind)).any(|kind| cached.around.child(*kind) != 0)
    };
    let is_new = !status.is_written();
    let is_lost = |(field, since): &(Lacking, Instant)| {
        // A new Workload was created since, unless it lacked the field under that CRD.
        let is_explained = !is_new || context.crd.was_older_since(*since);
        (is_explained && context.crd.may_explain(&field.in_schema))
            || Unreadable::was_lost(&status, field)
            || has_child(field)
    };
    lacking.into_iter().filter(is_lost).map(|(field, _)| field).collect()
}

/// The Workload, if this version can read it.
pub(super) async fn readable(
    live: &LiveObject,
    watched: &WatchedWorkload,
    context: &Context,
) -> Result<Workload, End> {
    match WatchedWorkload::read(live) {
        Ok(workload) => Ok(workload),
        Err(error) => Err(unreadable(watched, &Unreadable::Undecodable(error.to_string()), context).await),
    }
}

/// Ends the pass of a Workload whose spec can't be used: its children stay as they are, and the status reports that.
async fn unreadable(watched: &WatchedWorkload, problem: &Unreadable, context: &Context) -> End {
    match status::report_unreadable(watched, problem, context).await {
        Ok(()) => End::Early(Requeue::failed()),
        Err(error) => End::Failed(ReconcileError::Status(error)),
    }
}
