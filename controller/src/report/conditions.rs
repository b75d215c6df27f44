//! The conditions of a Workload.

use baton_apply::contention::Contested;
use baton_crd::{ChildState, ChildStatus, HandoverPhase, Mode, ReplicaOwnership, condition};
use jiff::Timestamp;
use k8s_openapi::{
    api::apps::v1::DeploymentStatus,
    apimachinery::pkg::apis::meta::v1::{Condition, Time},
};
use kube::Resource;

use super::{Pass, Unreadable, limits, planned::summary};
use crate::{
    cut::few,
    decide::{
        child::{ChildKind, deployment_status},
        snapshot::Snapshot,
    },
};

/// A condition, before it is dated.
struct ConditionDraft {
    type_: &'static str,
    status: &'static str,
    reason: &'static str,
    message: String,
}

impl ConditionDraft {
    fn new(type_: &'static str, status: bool, reason: &'static str, message: impl Into<String>) -> Self {
        Self { type_, status: if status { "True" } else { "False" }, reason, message: message.into() }
    }

    fn unknown(type_: &'static str, reason: &'static str, message: impl Into<String>) -> Self {
        Self { type_, status: "Unknown", reason, message: message.into() }
    }
}

/// All conditions, in a fixed order. The time of one that keeps its status stays what it was.
pub(super) fn conditions(
    pass: &Pass,
    children: &[ChildStatus],
    ownership: Option<&ReplicaOwnership>,
    previous: &[Condition],
    now: Timestamp,
) -> Vec<Condition> {
    let generation = pass.seen.workload.metadata.generation;
    let deployment = pass.seen.own(ChildKind::Deployment);
    let applied = applied(pass, children);
    let rollout = Rollout::of(&pass.seen);
    let all_applied = deployment.is_some()
        && pass.is_conclusive()
        && children.iter().all(|child| child.state == ChildState::Applied || is_going(child));

    let is_suspended = ownership.is_some_and(|ownership| ownership.phase == HandoverPhase::Suspended);
    let progress = progress(pass, &applied, &rollout, ownership);
    let mut drafts = vec![ready(&rollout, all_applied, is_suspended), applied];
    if let Some(before) = still_ready(&rollout, all_applied, previous, generation) {
        let reason = if is_suspended { "Suspended" } else { "Available" };
        drafts[0] = ConditionDraft::new(condition::READY, true, reason, before.message.clone());
    }
    drafts.extend(progress);
    let number = pass.seen.workload.spec.replicas;
    drafts.extend(ownership.into_iter().flat_map(|ownership| handover(ownership, number)));
    drafts.extend(contested(pass));
    drafts.into_iter().map(|draft| dated(draft, generation, previous, now)).collect()
}

/// A Deployment that was ready stays so until its controller has seen a change that isn't the Workload's, such as another replica
/// count from the autoscaler.
fn still_ready<'a>(
    rollout: &Rollout,
    applied: bool,
    previous: &'a [Condition],
    generation: Option<i64>,
) -> Option<&'a Condition> {
    let unseen = applied && matches!(rollout, Rollout::Unseen);
    let was_ready = |before: &&Condition| {
        before.type_ == condition::READY
            && before.status == "True"
            && before.observed_generation == generation
    };
    previous.iter().find(was_ready).filter(|_| unseen)
}

/// The conditions of a Workload whose spec Baton can't go by. Those about its handover stay.
pub(super) fn unreadable(
    problem: &Unreadable,
    generation: Option<i64>,
    previous: &[Condition],
    now: Timestamp,
) -> Vec<Condition> {
    let reason = problem.reason();
    let not_read = "what the spec asks for isn't known; see Applied";
    let drafts = [
        ConditionDraft::unknown(condition::READY, reason, not_read),
        ConditionDraft::new(condition::APPLIED, false, reason, problem.to_string()),
        ConditionDraft::new(condition::STALLED, true, reason, problem.to_string()),
    ];
    let is_replaced = |before: &&Condition| {
        before.type_ == condition::RECONCILING || drafts.iter().any(|draft| draft.type_ == before.type_)
    };
    let kept: Vec<Condition> = previous.iter().filter(|before| !is_replaced(before)).cloned().collect();
    drafts.into_iter().map(|draft| dated(draft, generation, previous, now)).chain(kept).collect()
}

fn dated(
    draft: ConditionDraft,
    generation: Option<i64>,
    previous: &[Condition],
    now: Timestamp,
) -> Condition {
    let ConditionDraft { type_, status, reason, message } = draft;
    let unchanged = previous.iter().find(|before| before.type_ == type_ && before.status == status);
    Condition {
        type_: type_.to_owned(),
        status: status.to_owned(),
        reason: reason.to_owned(),
        message,
        observed_generation: generation,
        last_transition_time: unchanged
            .map_or_else(|| seconds(now), |before| before.last_transition_time.clone()),
    }
}

/// Times in status have whole seconds, as everywhere in the API: what is written comes back equal.
pub(super) fn seconds(now: Timestamp) -> Time {
    Time(Timestamp::from_second(now.as_second()).unwrap_or(now))
}

/// Why a child isn't applied that Baton still works on.
const PENDING: &str = "Pending";

/// Whether a child that the spec no longer asks for is certain to go.
fn is_going(child: &ChildStatus) -> bool {
    child.state == ChildState::Deleting && child.message.is_none()
}

const UNFINISHED: &str = "other managers wrote meanwhile, so that not all is done; Baton goes on in a moment";

fn applied(pass: &Pass, children: &[ChildStatus]) -> ConditionDraft {
    let reason = match pass.seen.workload.spec.mode {
        Mode::Enforce => None,
        Mode::Paused => Some("Paused"),
        Mode::Preview => Some("Preview"),
    };
    if let Some(mode) = reason {
        let message = format!("spec.mode is {mode}: no child is written. Enforce would {}", summary(pass));
        return ConditionDraft::unknown(condition::APPLIED, mode, message);
    }
    let in_state = |state| {
        children.iter().filter(move |child| match child.state {
            ChildState::Deleting => state == ChildState::Pending && !is_going(child),
            own => own == state,
        })
    };
    let message = |state| -> String {
        let messages: Vec<String> = in_state(state)
            .map(|child| format!("{}: {}", child.kind, child.message.as_deref().unwrap_or("no reason given")))
            .collect();
        messages.join("; ")
    };
    let reasons = [
        (ChildState::Rejected, "Rejected"),
        (ChildState::Refused, "NotOwned"),
        (ChildState::Contested, "Contested"),
        (ChildState::Pending, PENDING),
    ];
    for (state, reason) in reasons {
        if in_state(state).next().is_some() {
            return ConditionDraft::new(condition::APPLIED, false, reason, message(state));
        }
    }
    if !pass.is_conclusive() {
        return ConditionDraft::new(condition::APPLIED, false, PENDING, UNFINISHED);
    }
    let kinds: Vec<&str> = in_state(ChildState::Applied).map(|child| child.kind.as_str()).collect();
    let message = format!("as the spec says: {}", kinds.join(", "));
    ConditionDraft::new(condition::APPLIED, true, "Applied", message)
}

/// How far the Deployment's rollout is.
enum Rollout {
    Missing,
    /// The Deployment controller hasn't seen the latest spec.
    Unseen,
    Stuck(String),
    /// Pods can't be created: why, such as a quota.
    Short(String),
    Underway {
        updated: i32,
        wanted: i32,
        available: i32,
        enough: bool,
    },
    Complete {
        available: i32,
        enough: bool,
    },
}

impl Rollout {
    fn of(seen: &Snapshot) -> Self {
        let Some(live) = seen.own(ChildKind::Deployment) else { return Self::Missing };
        let status = deployment_status(live);
        if status.observed_generation < live.meta().generation {
            return Self::Unseen;
        }
        let condition = |type_, is| message_of(&status, type_, is);
        if let Some(stuck) = condition("Progressing", "False") {
            return Self::Stuck(stuck);
        }
        let wanted = seen.replicas().map_or(1, |replicas| replicas.count);
        let [replicas, updated, available] =
            [status.replicas, status.updated_replicas, status.available_replicas]
                .map(Option::unwrap_or_default);
        let enough = condition("Available", "True").is_some();
        if let Some(failure) = condition("ReplicaFailure", "True").filter(|_| !enough) {
            return Self::Short(failure);
        }
        if updated == wanted && replicas == updated && available == updated {
            Self::Complete { available, enough }
        } else {
            Self::Underway { updated, wanted, available, enough: enough && replicas == updated }
        }
    }
}

/// The message of the Deployment's condition, if it has this status.
fn message_of(deployment: &DeploymentStatus, type_: &str, status: &str) -> Option<String> {
    let mut conditions = deployment.conditions.iter().flatten();
    let condition = conditions.find(|condition| condition.type_ == type_ && condition.status == status)?;
    Some(condition.message.clone().unwrap_or_default())
}

const UNSEEN: &str = "the Deployment controller has not seen the latest spec yet";

fn ready(rollout: &Rollout, applied: bool, suspended: bool) -> ConditionDraft {
    let (status, reason, message) = match rollout {
        _ if !applied => (false, "NotApplied", "not every child is as the spec says; see Applied".to_owned()),
        Rollout::Missing | Rollout::Unseen => (false, "RollingOut", UNSEEN.to_owned()),
        Rollout::Stuck(message) => (false, "Stuck", message.clone()),
        Rollout::Short(message) => (false, "ReplicaFailure", message.clone()),
        Rollout::Complete { enough: true, .. } | Rollout::Underway { enough: true, .. } if suspended => {
            (true, "Suspended", "no pods are to run until spec.suspend is unset".to_owned())
        }
        Rollout::Complete { available, enough: true } => {
            (true, "Available", format!("all {available} pods are available"))
        }
        Rollout::Underway { wanted, available, enough: true, .. } => {
            (true, "Available", format!("{available} of {wanted} pods are available, enough"))
        }
        Rollout::Complete { available: wanted, .. } | Rollout::Underway { wanted, .. } => {
            (false, "RollingOut", format!("not enough of the {wanted} pods are available yet"))
        }
    };
    ConditionDraft::new(condition::READY, status, reason, message)
}

/// `Stalled` or `Reconciling`, as kstatus defines them; neither at rest.
fn progress(
    pass: &Pass,
    applied: &ConditionDraft,
    rollout: &Rollout,
    ownership: Option<&ReplicaOwnership>,
) -> Option<ConditionDraft> {
    let is_applied = applied.status == "True";
    let is_taken_back =
        is_applied && ownership.is_some_and(|ownership| ownership.phase == HandoverPhase::TakingBack);
    let (type_, reason, message) = match rollout {
        _ if applied.status == "False" => {
            let goes_on = applied.reason == PENDING || !pass.is_conclusive();
            let type_ = if goes_on { condition::RECONCILING } else { condition::STALLED };
            (type_, applied.reason, applied.message.clone())
        }
        _ if !pass.is_conclusive() => (condition::RECONCILING, PENDING, UNFINISHED.to_owned()),
        Rollout::Stuck(message) => (condition::STALLED, "Stuck", message.clone()),
        Rollout::Short(message) => (condition::RECONCILING, "ReplicaFailure", message.clone()),
        Rollout::Unseen => (condition::RECONCILING, "RollingOut", UNSEEN.to_owned()),
        Rollout::Underway { updated, wanted, available, .. } => {
            let message = format!("{updated} of {wanted} pods are updated, {available} are available");
            (condition::RECONCILING, "RollingOut", message)
        }
        Rollout::Complete { available, enough: false } => {
            let message = format!("not enough of the {available} pods are available yet");
            (condition::RECONCILING, "RollingOut", message)
        }
        _ if is_taken_back => {
            (condition::RECONCILING, "TakingBack", "Baton takes spec.replicas back".to_owned())
        }
        Rollout::Missing | Rollout::Complete { .. } => return None,
    };
    Some(ConditionDraft::new(type_, true, reason, message))
}

/// How many contested fields the condition names.
const MOST_CONTESTED: usize = 5;

/// Which managers overwrite which fields; nothing without contention.
fn contested(pass: &Pass) -> Option<ConditionDraft> {
    let describe = |Contested { key: child, path, manager, count, pause }: &Contested<ChildKind>| {
        let (path, manager) = (limits::path(path), limits::manager(manager));
        format!(
            "{child}: {manager} overwrites {path} again and again; Baton has corrected it {count} times and now waits \
             {pause:?} before each correction"
        )
    };
    let contested = pass.contested();
    if contested.is_empty() {
        return None;
    }
    let fields = few(contested.iter().map(describe), MOST_CONTESTED, " fields");
    let advice =
        "let only one of them set the field: remove it from the Workload's spec, or stop the other manager";
    let message = format!("{}; {advice}", fields.join("; "));
    Some(ConditionDraft::new(condition::CONTESTED, true, "Contested", message))
}

/// With autoscaling, `HandedOver` says whether the autoscaler owns the replica count. Unusual phases have a condition of their own,
/// which disappears with its cause.
fn handover(ownership: &ReplicaOwnership, number: Option<i32>) -> Vec<ConditionDraft> {
    let ReplicaOwnership { owner, value, waiting_for, .. } = ownership;
    let idle = number.filter(|number| number != value);
    let idle = idle.map_or_else(String::new, |number| {
        format!("; the Workload's spec.replicas ({number}) has no effect meanwhile")
    });
    let waiting = waiting_for.as_deref().unwrap_or("nothing");
    let held = format!("{owner} owns spec.replicas ({value}); waiting for {waiting}{idle}");
    let not_yet = |reason, unusual| {
        let mut drafts = vec![ConditionDraft::new(condition::HANDED_OVER, false, reason, held.clone())];
        drafts.extend(Option::map(unusual, |type_| ConditionDraft::new(type_, true, reason, held.clone())));
        drafts
    };
    match ownership.phase {
        HandoverPhase::Fixed | HandoverPhase::Unmanaged | HandoverPhase::Suspended => Vec::new(),
        HandoverPhase::HandedOver => {
            let message =
                format!("the autoscaler sets the replica count: {owner} owns spec.replicas ({value}){idle}");
            vec![ConditionDraft::new(condition::HANDED_OVER, true, "HandedOver", message)]
        }
        HandoverPhase::HandoverPending => not_yet("HandoverPending", Some(condition::HANDOVER_PENDING)),
        HandoverPhase::AutoscalerMissing => not_yet("AutoscalerMissing", Some(condition::AUTOSCALER_MISSING)),
        HandoverPhase::OwnedByOther => not_yet("OwnedByOther", None),
        HandoverPhase::AutoscalerDisabled => {
            not_yet("AutoscalerDisabled", Some(condition::AUTOSCALER_DISABLED))
        }
        HandoverPhase::AutoscalerConflict => {
            not_yet("AutoscalerConflict", Some(condition::AUTOSCALER_CONFLICT))
        }
        HandoverPhase::TakingBack => not_yet("TakingBack", None),
    }
}
