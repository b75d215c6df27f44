//! The checks when the disturbances are over: everything is as the specs say, and no operator writes.

use std::{collections::BTreeMap, sync::Arc};

use baton_apply::{Change, LiveObject};
use baton_controller::decide::{
    child::ChildKind,
    pass::{ChildResult, Pass},
    plan::{Then, plan},
    replicas::{Autoscaler, ScaleTarget, Wanted, Whose, autoscaler_names, others_autoscalers},
    snapshot::Snapshot,
};
use baton_controller::report;
use baton_crd::{Mode, Workload};
use baton_testbed::{AuditEntry, Error, Metrics};
use jiff::Timestamp;
use kube::{Client, ResourceExt as _};
use serde_json::Value;

use super::{judge::Violation, plan::WorkloadId, requests, trace::Trace};
use crate::installed::USER;

/// A cluster that should be at rest.
pub(crate) struct Resting<'a> {
    pub(crate) admin: &'a Client,
    pub(crate) now: Timestamp,
    pub(crate) workloads: &'a [WorkloadId],
    /// The metrics of the operators that run.
    pub(crate) metrics: Vec<String>,
}

/// A broken promise, by its name.
fn violation(what: &str, how: String) -> Violation {
    Violation { what: what.to_owned(), how }
}

/// The first promise that is broken at rest.
pub(crate) async fn violation_at_rest(cluster: &Resting<'_>) -> Result<Option<Violation>, Error> {
    for workload in cluster.workloads {
        if let Some(found) = of_workload(cluster, *workload).await? {
            return Ok(Some(found));
        }
    }
    of_metrics(cluster).await
}

async fn of_workload(cluster: &Resting<'_>, workload: WorkloadId) -> Result<Option<Violation>, Error> {
    let Some(seen) = seen(cluster.admin, workload).await? else { return orphans(cluster, workload).await };
    let status = seen.workload.status.clone().unwrap_or_default();
    let generation = seen.workload.metadata.generation;
    if status.observed_generation != generation {
        let how =
            format!("{workload}: the status is about {:?} of {generation:?}", status.observed_generation);
        return Ok(Some(violation("the status is about the newest spec", how)));
    }
    if seen.workload.spec.mode != Mode::Enforce {
        return Ok(None);
    }
    let planned = plan(&seen, &[].into()).map_err(Error::parse("a plan"))?;
    for step in &planned.steps {
        let request = step.request(&seen.workload).map_err(Error::parse("a step"))?;
        let left = format!("{workload}: {} the {}", step.describe(), step.child());
        let Change::Apply { body, manager, force } = &request.change else {
            return Ok(Some(violation("nothing is left to do", left)));
        };
        let live = seen.child(step.child());
        let path = requests::object(workload, &request.target.resource.plural);
        let tried: Result<Value, _> =
            cluster.admin.request(requests::tried(&path, manager, *force, body)).await;
        let is_done = match (&tried, live) {
            (Ok(tried), Some(live)) => {
                let live = live.as_json().ok();
                let is_same =
                    |member: &str| tried.pointer(member) == live.and_then(|live| live.pointer(member));
                ["/spec", "/metadata/managedFields", "/metadata/labels"].into_iter().all(is_same)
            }
            _ => false,
        };
        if !is_done {
            let live = live.map(LiveObject::as_text);
            let how = format!("{left}\n  live:  {live:?}\n  tried: {tried:?}\n  body: {body}");
            return Ok(Some(violation("nothing is left to do", how)));
        }
    }
    if planned.then != Then::Rest {
        return Ok(Some(violation("nothing is left to do", format!("{workload}: another plan"))));
    }
    if let Some(how) = number(&seen) {
        return Ok(Some(violation("the replica count has the right owner", format!("{workload}: {how}"))));
    }
    // A child that isn't planned waits for something, such as an autoscaler for a Deployment that isn't the Workload's.
    let results = planned.steps.iter().map(|step| (step.child(), ChildResult::Applied)).collect();
    let pass = Pass { refused: planned.refused, results, ..Pass::unchanged(seen) };
    let expected = report::status(&pass, &status, cluster.now);
    let [expected, reported] =
        [expected, status].map(|status| serde_json::to_value(status).unwrap_or_default());
    if expected != reported {
        let how = format!("{workload}:\n  should be {expected}\n  and is    {reported}");
        return Ok(Some(violation("the status is true", how)));
    }
    Ok(None)
}

/// The error in the replica count or its owners.
fn number(seen: &Snapshot) -> Option<String> {
    let foreign = seen.foreign(ChildKind::Deployment).is_some();
    let Some(replicas) = seen.replicas() else {
        return (!foreign).then(|| "there is no Deployment".to_owned());
    };
    let (owners, others) = (&replicas.owners, !others_autoscalers(seen).is_empty());
    let alone = owners.baton && !owners.temporary && owners.scale.is_empty();
    let own = seen.own(ChildKind::Autoscaler).is_some();
    let (is_right, should) = match Wanted::of(&seen.workload) {
        // Another owner's autoscaler may scale it, and stays the owner then.
        Wanted::Fixed(number) if others => {
            (!owners.baton || replicas.count == number, "the spec's, owned by Baton, or owned by others")
        }
        Wanted::Fixed(number) => {
            (alone && replicas.count == number && !own, "the spec's, owned by Baton alone")
        }
        Wanted::Suspended => (alone && replicas.count == 0 && !own, "0, owned by Baton alone"),
        Wanted::HandsOff | Wanted::Autoscaler { whose: Whose::External, .. } => {
            (!owners.baton && !own, "owned by others")
        }
        Wanted::Autoscaler { whose: Whose::Own { .. }, .. } => {
            let is_there = own || others || seen.foreign(ChildKind::Autoscaler).is_some();
            (!owners.baton && is_there, "owned by others, and scaled by an autoscaler")
        }
    };
    (!is_right).then(|| {
        let autoscalers = autoscaler_names(seen).join(", ");
        format!(
            "{} owned by {}, scaled by [{autoscalers}]; it should be {should}",
            replicas.count,
            owners.describe()
        )
    })
}

/// Leftover children of a Workload that is gone.
async fn orphans(cluster: &Resting<'_>, workload: WorkloadId) -> Result<Option<Violation>, Error> {
    for child in ChildKind::ALL {
        let Some(live) = object(cluster.admin, workload, &child.api_resource().plural).await else {
            continue;
        };
        let live = LiveObject::from_json(live).map_err(Error::parse("a child"))?;
        if live.owner_references().iter().any(|owner| owner.kind == "Workload") {
            let how = format!("{workload}: the {child} still exists, and the Workload doesn't");
            return Ok(Some(violation("a deleted Workload has no leftovers", how)));
        }
    }
    Ok(None)
}

/// The Workloads in the metrics.
async fn of_metrics(cluster: &Resting<'_>) -> Result<Option<Violation>, Error> {
    let mut workloads = 0;
    for workload in cluster.workloads {
        workloads += u32::from(object(cluster.admin, *workload, "workloads").await.is_some());
    }
    for text in &cluster.metrics {
        let metrics = Metrics::parse(text).map_err(Error::parse("metrics"))?;
        let counted = metrics.value("baton_handover_phase", &[]);
        let contested = metrics.value("baton_contested_children", &[]);
        if counted > f64::from(workloads) || contested > 0.0 {
            let how =
                format!("{workloads} Workloads, {counted} counted by phase, {contested} contested children");
            return Ok(Some(violation("the operator forgets deleted Workloads", how)));
        }
    }
    Ok(None)
}

async fn object(admin: &Client, workload: WorkloadId, resource: &str) -> Option<Value> {
    admin.request(requests::get(requests::object(workload, resource))).await.ok()
}

/// A Workload and its children, as the server has them.
pub(super) async fn seen(admin: &Client, id: WorkloadId) -> Result<Option<Snapshot>, Error> {
    let Some(workload) = object(admin, id, "workloads").await else { return Ok(None) };
    let workload: Workload = serde_json::from_value(workload).map_err(Error::parse("a Workload"))?;
    let mut children = BTreeMap::new();
    for child in ChildKind::ALL {
        if let Some(live) = object(admin, id, &child.api_resource().plural).await {
            children.insert(child, LiveObject::from_json(live).map_err(Error::parse("a child"))?);
        }
    }
    let all = requests::get(requests::collection(id, "horizontalpodautoscalers"));
    let all: Value = admin.request(all).await.map_err(Error::api("list autoscalers"))?;
    let target = ScaleTarget::of(&workload);
    let all = all["items"].as_array().into_iter().flatten();
    let all = all.filter_map(|one| LiveObject::from_json(one.clone()).ok());
    let scaling = all.filter_map(|one| Autoscaler::of(&one)).filter(|(scaled, _)| *scaled == target);
    let autoscalers = scaling.map(|(_, autoscaler)| autoscaler).collect();
    Ok(Some(Snapshot::new(Arc::new(workload), children, autoscalers)))
}

/// Writes of operators since a mark in the trace, though everything was at rest.
pub(super) fn writes(trace: &Trace, mark: usize, resyncs: bool) -> Option<Violation> {
    let requests = trace.lines()[mark..].iter().filter(|line| line.starts_with('{'));
    let requests = requests.filter(|line| line.contains(USER));
    let requests = requests.filter_map(|line| serde_json::from_str::<AuditEntry>(line).ok());
    let changes = |request: &AuditEntry| {
        request.is_write() && !request.is_dry_run() && request.resource.as_deref() != Some("leases")
    };
    let mut stored = requests.filter(changes).filter(|request| !resyncs || request.subresource.is_some());
    let first = stored.next()?;
    let how = format!("{first}, and {} more: {:?}", stored.count(), first.request_object);
    Some(violation("operators don't write at rest", how))
}
