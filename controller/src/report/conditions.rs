//! The conditions of a Workload.

use baton_apply::contention::Contested;
use baton_crd::{ChildState, ChildStatus, HandoverPhase, Mode, ReplicaOwnership, condition};
use baton_runtime::text::few;
use jiff::Timestamp;
use k8s_openapi::{
    api::apps::v1::DeploymentStatus,
    apimachinery::pkg::apis::meta::v1::{Condition, Time},
};
use kube::Resource;

use super::{Unreadable, limits, planned::summary};
use crate::decide::{
    child::{ChildKind, deployment_status},
    pass::Pass,
    snapshot::Snapshot,
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
    let before = previous.iter().find(|before| all_applied && rollout.keeps(before, generation));
    let ready = ready(&rollout, all_applied, is_suspended, before);
    let progress = progress(pass, &applied, rollout, ownership);
    let mut drafts = vec![ready, applied];
    drafts.extend(progress);
    let count = pass.seen.workload.spec.replicas;
    drafts.extend(ownership.into_iter().flat_map(|ownership| handover(ownership, count)));
    drafts.extend(contested(pass));
    drafts.into_iter().map(|draft| dated(draft, generation, previous, now)).collect()
}

/// The conditions of a Workload whose spec can't be used. Those about its handover stay.
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

/// The reason of conditions while Baton still works on a child.
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

/// A reason and a message.
type Why = (&'static str, String);

/// The Deployment's rollout, as the conditions show it.
struct Rollout {
    /// Whether the Deployment controller hasn't observed the latest spec.
    is_unseen: bool,
    /// Whether enough pods are available.
    is_ready: bool,
    /// Why they are, or aren't.
    ready: Why,
    /// The condition about what is under way or stalled, with its reason and message; none at rest.
    progress: Option<(&'static str, Why)>,
}

impl Rollout {
    /// | the Deployment | `Ready` | progress |
    /// | --- | --- | --- |
    /// | is missing | False `RollingOut` | |
    /// | has an unobserved spec | False `RollingOut` | Reconciling `RollingOut` |
    /// | can't progress | False `Stuck` | Stalled `Stuck` |
    /// | can't create pods, by a quota, say | False `ReplicaFailure` | Reconciling `ReplicaFailure` |
    /// | has too few pods | False `RollingOut` | Reconciling `RollingOut` |
    /// | has enough pods, all of them updated, not all available | True `Available` | Reconciling `RollingOut` |
    /// | is complete | True `Available` | |
    fn of(seen: &Snapshot) -> Self {
        let not_ready = |progress, why: Why| Self {
            is_unseen: false,
            is_ready: false,
            ready: why.clone(),
            progress: Some((progress, why)),
        };
        let unseen = || {
            let why = "the Deployment controller has not seen the latest spec yet".to_owned();
            Self { is_unseen: true, ..not_ready(condition::RECONCILING, ("RollingOut", why)) }
        };
        let Some(live) = seen.own(ChildKind::Deployment) else {
            return Self { progress: None, ..unseen() };
        };
        let status = deployment_status(live);
        if status.observed_generation < live.meta().generation {
            return unseen();
        }
        let condition = |type_, is| message_of(&status, type_, is);
        if let Some(stuck) = condition("Progressing", "False") {
            return not_ready(condition::STALLED, ("Stuck", stuck));
        }
        let enough = condition("Available", "True").is_some();
        if let Some(failure) = condition("ReplicaFailure", "True").filter(|_| !enough) {
            return not_ready(condition::RECONCILING, ("ReplicaFailure", failure));
        }
        let wanted = seen.replicas().map_or(1, |replicas| replicas.count);
        let [replicas, updated, available] =
            [status.replicas, status.updated_replicas, status.available_replicas]
                .map(Option::unwrap_or_default);
        let is_complete = updated == wanted && replicas == updated && available == updated;
        let is_ready = enough && replicas == updated;
        let too_few = || format!("not enough of the {wanted} pods are available yet");
        let (ready, progress) = match (is_ready, is_complete) {
            (true, true) => (format!("all {available} pods are available"), None),
            (true, false) => (format!("{available} of {wanted} pods are available, enough"), Some(())),
            (false, _) => (too_few(), Some(())),
        };
        let progress = progress.map(|()| {
            let updated = || format!("{updated} of {wanted} pods are updated, {available} are available");
            let message = if is_complete { too_few() } else { updated() };
            (condition::RECONCILING, ("RollingOut", message))
        });
        let reason = if is_ready { "Available" } else { "RollingOut" };
        Self { is_unseen: false, is_ready, ready: (reason, ready), progress }
    }

    /// Whether a Workload that was ready stays so: until the Deployment controller has observed a change that isn't the Workload's, such
    /// as another replica count from the autoscaler.
    fn keeps(&self, before: &Condition, generation: Option<i64>) -> bool {
        self.is_unseen
            && before.type_ == condition::READY
            && before.status == "True"
            && before.observed_generation == generation
    }
}

/// The message of the Deployment's condition, if it has this status.
fn message_of(deployment: &DeploymentStatus, type_: &str, status: &str) -> Option<String> {
    let mut conditions = deployment.conditions.iter().flatten();
    let condition = conditions.find(|condition| condition.type_ == type_ && condition.status == status)?;
    Some(condition.message.clone().unwrap_or_default())
}

/// `Ready`. `before` is the condition that stays.
fn ready(rollout: &Rollout, applied: bool, suspended: bool, before: Option<&Condition>) -> ConditionDraft {
    let (reason, message) = &rollout.ready;
    let (status, reason, message) = match before {
        Some(before) => (true, if suspended { "Suspended" } else { "Available" }, before.message.as_str()),
        None if !applied => (false, "NotApplied", "not every child is as the spec says; see Applied"),
        None if suspended && rollout.is_ready => {
            (true, "Suspended", "no pods are to run until spec.suspend is unset")
        }
        None => (rollout.is_ready, *reason, message.as_str()),
    };
    ConditionDraft::new(condition::READY, status, reason, message)
}

/// `Stalled` or `Reconciling`, as kstatus defines them; neither at rest.
fn progress(
    pass: &Pass,
    applied: &ConditionDraft,
    rollout: Rollout,
    ownership: Option<&ReplicaOwnership>,
) -> Option<ConditionDraft> {
    let is_taken_back = applied.status == "True"
        && ownership.is_some_and(|ownership| ownership.phase == HandoverPhase::TakingBack);
    let (type_, (reason, message)) = if applied.status == "False" {
        let goes_on = applied.reason == PENDING || !pass.is_conclusive();
        let type_ = if goes_on { condition::RECONCILING } else { condition::STALLED };
        (type_, (applied.reason, applied.message.clone()))
    } else if !pass.is_conclusive() {
        (condition::RECONCILING, (PENDING, UNFINISHED.to_owned()))
    } else {
        let taking_back =
            || (condition::RECONCILING, ("TakingBack", "Baton takes spec.replicas back".to_owned()));
        rollout.progress.or_else(|| is_taken_back.then(taking_back))?
    };
    Some(ConditionDraft::new(type_, true, reason, message))
}

/// How many contested fields the condition names.
const MOST_CONTESTED: usize = 5;

/// The managers that overwrite fields, with the fields; `None` without contention.
fn contested(pass: &Pass) -> Option<ConditionDraft> {
    let describe = |Contested { key: child, path, manager, count, pause }: &Contested<ChildKind>| {
        let (path, manager) = (limits::path(path), limits::manager(manager));
        format!(
            "{child}: {manager} overwrites {path} again and again; Baton has corrected it {count} times and now waits \
             {pause:?} before each correction"
        )
    };
    let contested = &pass.contested;
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
fn handover(ownership: &ReplicaOwnership, count: Option<i32>) -> Vec<ConditionDraft> {
    let ReplicaOwnership { owner, value, waiting_for, .. } = ownership;
    let idle = count.filter(|count| count != value);
    let idle = idle.map_or_else(String::new, |count| {
        format!("; the Workload's spec.replicas ({count}) has no effect meanwhile")
    });
    let (reason, unusual) = match ownership.phase {
        HandoverPhase::Fixed | HandoverPhase::Unmanaged | HandoverPhase::Suspended => return Vec::new(),
        HandoverPhase::HandedOver => {
            let message =
                format!("the autoscaler sets the replica count: {owner} owns spec.replicas ({value}){idle}");
            return vec![ConditionDraft::new(condition::HANDED_OVER, true, "HandedOver", message)];
        }
        HandoverPhase::HandoverPending => ("HandoverPending", Some(condition::HANDOVER_PENDING)),
        HandoverPhase::AutoscalerMissing => ("AutoscalerMissing", Some(condition::AUTOSCALER_MISSING)),
        HandoverPhase::AutoscalerDisabled => ("AutoscalerDisabled", Some(condition::AUTOSCALER_DISABLED)),
        HandoverPhase::AutoscalerConflict => ("AutoscalerConflict", Some(condition::AUTOSCALER_CONFLICT)),
        HandoverPhase::OwnedByOther => ("OwnedByOther", None),
        HandoverPhase::TakingBack => ("TakingBack", None),
    };
    let waiting = waiting_for.as_deref().unwrap_or("nothing");
    let message = format!("{owner} owns spec.replicas ({value}); waiting for {waiting}{idle}");
    let draft = |type_, status| ConditionDraft::new(type_, status, reason, message.clone());
    std::iter::once(draft(condition::HANDED_OVER, false))
        .chain(unusual.map(|type_| draft(type_, true)))
        .collect()
}
