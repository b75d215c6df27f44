//! The status of a Workload.

use baton_apply::{LiveObject, contention::Contested};
use baton_crd::{
    ChildState, ChildStatus, HandoverPhase, Mode, PlannedAction, ReplicaOwnership, WorkloadStatus,
};
use jiff::Timestamp;
use k8s_openapi::api::{apps::v1::DeploymentStatus, core::v1::ServiceSpec};
use kube::ResourceExt;

use super::{
    Unreadable,
    conditions::{self, conditions, seconds},
    limits::{limited, managers},
    planned::planned,
    takeovers::takeovers,
};
use crate::decide::{
    child::{ChildKind, deployment_status},
    intent::Selector,
    pass::{ChildResult, Pass, Rehearsed},
    plan::wants,
    replicas::{Decision, ReplicaOwners, Replicas, autoscaler_names, decide, ineffective_autoscalers},
};

/// The complete status after a pass. Equal to the previous one if nothing in it has changed.
pub fn status(pass: &Pass, previous: &WorkloadStatus, now: Timestamp) -> WorkloadStatus {
    let workload = &pass.seen.workload;
    let deployment = pass.seen.own(ChildKind::Deployment);
    let reported = deployment.map(deployment_status);
    let number = |of: fn(&DeploymentStatus) -> Option<i32>| {
        reported.as_ref().map(|status| of(status).unwrap_or_default())
    };
    let children = children(pass, previous);
    let ownership = ownership(pass, previous, now);
    limited(WorkloadStatus {
        observed_generation: if pass.is_conclusive() {
            workload.metadata.generation
        } else {
            previous.observed_generation
        },
        conditions: conditions(pass, &children, ownership.as_ref(), &previous.conditions, now),
        replicas: number(|status| status.replicas),
        ready_replicas: number(|status| status.ready_replicas),
        selector: Selector::of(workload, deployment).to_text(),
        replica_ownership: ownership,
        children,
        takeovers: takeovers(pass, &previous.takeovers, now),
        plan: planned(pass),
    })
}

/// The status of a Workload that can't be read: the previous one, and the problem.
pub fn unreadable(
    generation: Option<i64>,
    previous: &WorkloadStatus,
    problem: &Unreadable,
    now: Timestamp,
) -> WorkloadStatus {
    limited(WorkloadStatus {
        observed_generation: generation,
        conditions: conditions::unreadable(problem, generation, &previous.conditions, now),
        plan: Vec::new(),
        ..previous.clone()
    })
}

fn children(pass: &Pass, previous: &WorkloadStatus) -> Vec<ChildStatus> {
    let workload = &pass.seen.workload;
    let enforced = workload.spec.mode == Mode::Enforce;
    let status = |kind: ChildKind| {
        let live = pass.seen.own(kind);
        let wanted = wants(workload, kind);
        let was_reported = || previous.children.iter().any(|child| child.kind == kind.name());
        let (state, message) = match (wanted, live) {
            // It may still exist.
            (false, None) if failure(pass, kind).is_some() && was_reported() => undeleted(pass, kind),
            (false, None) => return None,
            (false, Some(_)) if enforced => undeleted(pass, kind),
            (false, Some(_)) => (ChildState::Applied, Some("the spec no longer asks for it".to_owned())),
            (true, live) => written(pass, kind, live),
        };
        Some(ChildStatus {
            kind: kind.name().to_owned(),
            name: workload.name_any(),
            api_version: kind.api_version().to_owned(),
            state,
            message,
        })
    };
    ChildKind::ALL.into_iter().filter_map(status).collect()
}

/// A child that the spec no longer asks for. While it is being deleted, it has no message.
fn undeleted(pass: &Pass, kind: ChildKind) -> (ChildState, Option<String>) {
    let is_terminating = pass.seen.own(kind).is_some_and(LiveObject::is_terminating);
    match failure(pass, kind) {
        Some(message) if matches!(pass.results.get(&kind), Some(ChildResult::Rejected(_))) => {
            (ChildState::Rejected, Some(message))
        }
        None if !is_terminating => (ChildState::Deleting, Some("not deleted yet".to_owned())),
        message => (ChildState::Deleting, message),
    }
}

/// Whether the Deployment doesn't get the spec's replica count yet, because Baton's own autoscaler, which is to go, still sets it.
fn waits_for_autoscaler(pass: &Pass, kind: ChildKind, live: Option<&LiveObject>) -> bool {
    let workload = &pass.seen.workload;
    let wanted = if workload.spec.suspend == Some(true) { Some(0) } else { workload.spec.replicas };
    kind == ChildKind::Deployment
        && pass.seen.own(ChildKind::Autoscaler).is_some()
        && !wants(workload, ChildKind::Autoscaler)
        && wanted
            .is_some_and(|wanted| live.and_then(|live| live.number(&["spec", "replicas"])) != Some(wanted))
}

/// A child that the spec asks for. It is applied if its last write was stored, or would have changed nothing, and it stays.
fn written(pass: &Pass, kind: ChildKind, live: Option<&LiveObject>) -> (ChildState, Option<String>) {
    if let Some(refusal) = pass.refused.iter().find(|refusal| refusal.child == kind) {
        return (ChildState::Refused, Some(refusal.message.clone()));
    }
    let mode = pass.seen.workload.spec.mode;
    if live.is_some_and(LiveObject::is_terminating) {
        let then = if mode == Mode::Enforce { "; Baton creates it again once it is gone" } else { "" };
        return (ChildState::Pending, Some(format!("it is being deleted{then}")));
    }
    if kind == ChildKind::Service && stays_headless(pass) {
        return (ChildState::Rejected, Some(STAYS_HEADLESS.to_owned()));
    }
    if let Some(rehearsed) = pass.rehearsed.get(&kind) {
        return previewed(rehearsed);
    }
    let failure = failure(pass, kind);
    if let Some(contested) =
        pass.contested.iter().find(|contested| contested.key == kind && failure.is_none())
    {
        let Contested { path, manager, .. } = contested;
        let message = format!(
            "{manager} overwrites {path} again and again; Baton corrects it after longer and longer pauses"
        );
        return (ChildState::Contested, Some(message));
    }
    match pass.results.get(&kind) {
        Some(ChildResult::Rejected(_)) => (ChildState::Rejected, failure),
        Some(ChildResult::Failed(_) | ChildResult::Overtaken(_)) => (ChildState::Pending, failure),
        Some(ChildResult::Created | ChildResult::Adopted { .. } | ChildResult::Applied)
            if !waits_for_autoscaler(pass, kind, live) =>
        {
            (ChildState::Applied, None)
        }
        _ => {
            let reason = match (mode, kind) {
                (Mode::Paused | Mode::Preview, _) => KEPT_FROM_WRITING,
                (Mode::Enforce, ChildKind::Autoscaler) => {
                    "waits until the Deployment's replicas are handed over"
                }
                (Mode::Enforce, ChildKind::Deployment) if live.is_some() && pass.settled => {
                    "waits until Baton's HorizontalPodAutoscaler is deleted"
                }
                (Mode::Enforce, _) => "not written yet",
            };
            (ChildState::Pending, Some(reason.to_owned()))
        }
    }
}

const STAYS_HEADLESS: &str = "the Service is headless, which the API server never changes: set spec.service.headless, or delete \
                              the Service, and Baton makes another";

/// Whether the Service is headless though the spec isn't. The server keeps that without an error.
fn stays_headless(pass: &Pass) -> bool {
    let wanted = pass.seen.workload.spec.service.as_ref().is_some_and(|wanted| wanted.headless == Some(true));
    let live =
        pass.seen.own(ChildKind::Service).filter(|_| !wanted).and_then(LiveObject::spec::<ServiceSpec>);
    live.and_then(|live| live.cluster_ip).is_some_and(|address| address == "None")
}

const KEPT_FROM_WRITING: &str = "spec.mode keeps Baton from writing it";

/// A child in a mode that writes nothing.
fn previewed(rehearsed: &Rehearsed) -> (ChildState, Option<String>) {
    let message = match rehearsed.action {
        PlannedAction::Nothing if rehearsed.stopped.is_none() => return (ChildState::Applied, None),
        PlannedAction::Nothing => rehearsed.stopped.clone().unwrap_or_default(),
        _ => KEPT_FROM_WRITING.to_owned(),
    };
    (ChildState::Pending, Some(message))
}

/// Why the last write of a child, or the read before it, came to nothing.
fn failure(pass: &Pass, kind: ChildKind) -> Option<String> {
    match pass.results.get(&kind)? {
        ChildResult::Rejected(message) | ChildResult::Failed(message) => Some(message.clone()),
        ChildResult::Overtaken(message) => {
            Some(format!("it changed each time between Baton's read and Baton's write: {message}"))
        }
        _ => None,
    }
}

/// The event that has to come before this change of the phase; none if the change has begun.
fn keeps_from_handover(pass: &Pass, from: HandoverPhase, to: HandoverPhase) -> Option<&'static str> {
    let was_batons = matches!(from, HandoverPhase::Fixed | HandoverPhase::Suspended);
    let is_contested = pass.contested.iter().any(|contested| contested.key == ChildKind::Deployment);
    if pass.seen.workload.spec.mode != Mode::Enforce {
        Some("spec.mode to be Enforce")
    } else if was_batons && to == HandoverPhase::TakingBack && is_contested {
        Some("the end of a pause, see the condition Contested")
    } else {
        None
    }
}

/// The owner of the replica count after the pass, by the handover's state machine.
fn ownership(pass: &Pass, previous: &WorkloadStatus, now: Timestamp) -> Option<ReplicaOwnership> {
    let previous = previous.replica_ownership.as_ref();
    // The count of a deleted Deployment is the one that the next is created with.
    let is_gone = pass.seen.child(ChildKind::Deployment).is_none();
    let gone = |before: &ReplicaOwnership| Replicas { count: before.value, owners: ReplicaOwners::default() };
    let replicas = pass.seen.replicas().cloned().or_else(|| previous.filter(|_| is_gone).map(gone))?;
    let Decision { mut phase, mut waiting_for, .. } = decide(&pass.seen);
    let owner = managers(replicas.owners.describe());
    let autoscalers = autoscaler_names(&pass.seen);
    if let Some(before) = previous.filter(|_| phase == HandoverPhase::HandedOver && autoscalers.is_empty())
        && before.owner == owner
        && (!before.autoscalers.is_empty() || before.phase == HandoverPhase::AutoscalerMissing)
    {
        // Scaling without an autoscaler that Baton can see is fine. An autoscaler that was here and is gone is reported.
        phase = HandoverPhase::AutoscalerMissing;
        waiting_for = Some(
            "a HorizontalPodAutoscaler that scales the Deployment, or another write of spec.replicas"
                .to_owned(),
        );
    }
    let in_vain = ineffective_autoscalers(&pass.seen);
    if in_vain.is_some() && phase != HandoverPhase::AutoscalerConflict {
        (phase, waiting_for) = (HandoverPhase::AutoscalerConflict, in_vain);
    }
    // A mode that writes nothing begins no handover, and neither does a pause before a count that is Baton's is corrected.
    let begins_a_way = matches!(phase, HandoverPhase::HandoverPending | HandoverPhase::TakingBack);
    if let Some(before) = previous.filter(|before| begins_a_way && before.phase != phase)
        && let Some(awaited) = keeps_from_handover(pass, before.phase, phase)
    {
        (phase, waiting_for) = (before.phase, Some(awaited.to_owned()));
    }
    let before = previous.filter(|before| before.owner == owner && before.phase == phase);
    Some(ReplicaOwnership {
        phase,
        value: replicas.count,
        since: before.map_or_else(|| seconds(now), |before| before.since.clone()),
        waiting_for,
        autoscalers,
        owner,
    })
}
