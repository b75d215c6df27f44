//! The Events of a Workload, one for each change.

use std::collections::{BTreeMap, BTreeSet};

use baton_apply::Takeover;
use baton_crd::{ChildState, HandoverPhase, ReplicaOwnership, WorkloadStatus, condition};
use baton_runtime::text::{cut, few};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use kube::{
    ResourceExt,
    runtime::events::{Event, EventType},
};

use super::{Unreadable, takeovers::news};
use crate::decide::{
    child::ChildKind,
    pass::{ChildResult, Pass},
};

/// How many fields an Event names.
const MOST_FIELDS: usize = 5;
/// How many Events about takeovers one pass sends, before a last one for all others: each is a write, and who may patch a child can
/// forge any number of managers.
const MOST_BURSTS: usize = 5;

/// One for each child and manager from which fields were taken over for the first time in a while; beyond a few, one for the rest.
fn takeovers(pass: &Pass, previous: &WorkloadStatus, now: Timestamp) -> Vec<Event> {
    let mut bursts: BTreeMap<(ChildKind, &str), Vec<&Takeover>> = BTreeMap::new();
    for (child, takeover) in news(pass, &previous.takeovers, now) {
        bursts.entry((child, &takeover.manager)).or_default().push(takeover);
    }
    let name = pass.seen.workload.name_any();
    let burst = |((child, manager), takeovers): ((ChildKind, &str), Vec<&Takeover>)| {
        let fields = few(takeovers.iter().map(|takeover| described(takeover)), MOST_FIELDS, "");
        let note = format!("took over from {manager} in {child} {name}: {}", fields.join("; "));
        about(pass, child, warning("TookOver", &action_against(manager), note))
    };
    let others: Vec<_> = bursts.keys().skip(MOST_BURSTS).copied().collect();
    let fields: usize =
        others.iter().filter_map(|other| bursts.remove(other)).map(|takeovers| takeovers.len()).sum();
    let others = (!others.is_empty()).then(|| {
        let note = format!("took over {fields} fields of {name} from {} more managers", others.len());
        warning("TookOver", "TakeFrom", note)
    });
    bursts.into_iter().map(burst).chain(others).collect()
}

/// Names the manager, since Kubernetes counts Events that differ only in their notes as one.
fn action_against(manager: &str) -> String {
    let mut action = format!("TakeFrom/{manager}");
    action.truncate(action.floor_char_boundary(LONGEST_ACTION));
    action
}

fn described(takeover: &Takeover) -> String {
    // An adoption takes fields over and leaves their values.
    if takeover.old.is_none() && takeover.new.is_none() {
        return takeover.path.to_string();
    }
    let value = |value: &Option<String>| value.clone().unwrap_or_else(|| "nothing".to_owned());
    format!("{} ({} to {})", takeover.path, value(&takeover.old), value(&takeover.new))
}

/// One for all children that were created, and one for each that was adopted or deleted.
fn milestones(pass: &Pass) -> Vec<Event> {
    let name = pass.seen.workload.name_any();
    let mut made = BTreeSet::new();
    let mut others = Vec::new();
    for (child, milestone) in &pass.outbox.milestones {
        let event = match milestone {
            ChildResult::Created => {
                made.insert(*child);
                continue;
            }
            ChildResult::Adopted { retired } => {
                let from = match retired.as_slice() {
                    [] => String::new(),
                    retired => format!("; Baton now owns the fields of {}", retired.join(", ")),
                };
                normal("Adopted", "Adopt", format!("adopted {child} {name}, as spec.adoption asks for{from}"))
            }
            ChildResult::Deleted => {
                let note = format!("deleted {child} {name}: the spec no longer asks for it");
                normal("Deleted", "Delete", note)
            }
            _ => continue,
        };
        others.push(about(pass, *child, event));
    }
    let kinds: Vec<&str> = made.iter().map(|child| child.name()).collect();
    let created = normal("Created", "Apply", format!("created {} {name}", kinds.join(", ")));
    let created = match (made.first(), made.len()) {
        (None, _) => None,
        (Some(child), 1) => Some(about(pass, *child, created)),
        _ => Some(created),
    };
    created.into_iter().chain(others).collect()
}

/// The Events about what writes have done, and about the differences between two statuses.
pub fn events(pass: &Pass, previous: &WorkloadStatus, status: &WorkloadStatus, now: Timestamp) -> Vec<Event> {
    let mut events = milestones(pass);
    events.extend(takeovers(pass, previous, now));
    events.extend(child_changes(pass, previous, status));
    events.extend(handover_event(previous, status));
    events.extend(contested_event(previous, status));
    events
}

/// The Event for a Workload that can't be read.
pub fn unreadable_event(problem: &Unreadable) -> Event {
    warning(problem.reason(), "Read", problem.to_string())
}

/// The Event for a Workload of which the API server may have dropped fields: why, and what to do. No condition says it, because a
/// write of the status would store the Workload without these fields.
pub fn outdated_crd_event(older: &str) -> Event {
    warning(
        "OutdatedCRD",
        "Read",
        format!("neither the Workload's children nor its status are written: {older}"),
    )
}

/// The Event for a Workload that comes after all others, since so many processes have ended during its passes.
pub fn put_last_event(ends: u32) -> Event {
    let note = format!(
        "Baton's process ended during a pass of this Workload, {ends} times in a row: its next pass comes after those of all others"
    );
    warning("PutLast", "Reconcile", note)
}

fn child_changes(pass: &Pass, previous: &WorkloadStatus, status: &WorkloadStatus) -> Vec<Event> {
    let name = pass.seen.workload.name_any();
    let mut events = Vec::new();
    for child in ChildKind::ALL {
        let of_kind =
            |status: &WorkloadStatus| status.children.iter().find(|seen| seen.kind == child.name()).cloned();
        let (before, Some(after)) = (of_kind(previous), of_kind(status)) else { continue };
        if before.as_ref() == Some(&after) {
            continue;
        }
        let message = after.message.unwrap_or_default();
        let event = match after.state {
            ChildState::Rejected => {
                warning("Rejected", "Apply", format!("the API server rejected {child} {name}: {message}"))
            }
            ChildState::Refused => warning("NotOwned", "Apply", message),
            ChildState::Pending if matches!(pass.results.get(&child), Some(ChildResult::Overtaken(_))) => {
                warning("Overtaken", "Apply", format!("can't write {child} {name}: {message}"))
            }
            ChildState::Applied if before.is_some_and(|before| before.state == ChildState::Rejected) => {
                normal("Accepted", "Apply", format!("the API server accepts {child} {name} again"))
            }
            _ => continue,
        };
        events.push(about(pass, child, event));
    }
    events
}

/// Names the child that the Event is about. Without it, Kubernetes would count Events of one reason about different children as one.
fn about(pass: &Pass, child: ChildKind, event: Event) -> Event {
    let workload = &pass.seen.workload;
    let reference = ObjectReference {
        api_version: Some(child.api_version().to_owned()),
        kind: Some(child.name().to_owned()),
        name: workload.metadata.name.clone(),
        namespace: workload.metadata.namespace.clone(),
        uid: pass.seen.child(child).map(|live| live.revision().uid),
        ..ObjectReference::default()
    };
    Event { secondary: Some(reference), ..event }
}

fn handover_event(previous: &WorkloadStatus, status: &WorkloadStatus) -> Option<Event> {
    let after = status.replica_ownership.as_ref()?;
    let before = previous.replica_ownership.as_ref().map(|before| before.phase);
    if before == Some(after.phase) {
        return None;
    }
    let (owner, value) = (&after.owner, after.value);
    let normal = |reason, note| normal(reason, "HandOver", note);
    let warning = |reason, note| warning(reason, "HandOver", note);
    Some(match after.phase {
        // For a new Workload, the pending handover is no change.
        HandoverPhase::HandoverPending if before.is_none() => return None,
        HandoverPhase::HandoverPending => normal(
            "HandoverPending",
            format!("{owner} owns spec.replicas ({value}) until the autoscaler writes it"),
        ),
        HandoverPhase::HandedOver => normal(
            "HandedOver",
            format!("the autoscaler sets the replica count: {owner} owns spec.replicas ({value})"),
        ),
        HandoverPhase::OwnedByOther => warning(
            "OwnedByOther",
            format!(
                "{owner} owns spec.replicas ({value}) and isn't an autoscaler: the handover waits until it releases the field"
            ),
        ),
        HandoverPhase::AutoscalerMissing => warning(
            "AutoscalerMissing",
            format!("the autoscaler is gone; the replica count stays {value}, owned by {owner}"),
        ),
        HandoverPhase::AutoscalerDisabled => warning(
            "AutoscalerDisabled",
            format!("the autoscaler does nothing at 0 replicas (owned by {owner}): {}", waiting(after)),
        ),
        HandoverPhase::AutoscalerConflict => warning("AutoscalerConflict", waiting(after)),
        HandoverPhase::Suspended => {
            normal("Suspended", "no pods are to run until spec.suspend is unset".to_owned())
        }
        HandoverPhase::Fixed | HandoverPhase::Unmanaged if before == Some(HandoverPhase::Suspended) => {
            normal("Resumed", format!("{owner} owns spec.replicas ({value}) again"))
        }
        HandoverPhase::Fixed | HandoverPhase::Unmanaged
            if was_autoscaled(before) && after.autoscalers.is_empty() =>
        {
            let note = format!("no autoscaler any more: {owner} owns spec.replicas ({value})");
            event(EventType::Normal, "TakenBack", "TakeBack", note)
        }
        HandoverPhase::Fixed | HandoverPhase::Unmanaged | HandoverPhase::TakingBack => return None,
    })
}

fn waiting(ownership: &ReplicaOwnership) -> String {
    format!("waiting for {}", ownership.waiting_for.as_deref().unwrap_or("nothing"))
}

fn contested_event(previous: &WorkloadStatus, status: &WorkloadStatus) -> Option<Event> {
    let contested = |status: &WorkloadStatus| {
        status.conditions.iter().find(|known| known.type_ == condition::CONTESTED).cloned()
    };
    match (contested(previous), contested(status)) {
        (None, Some(contested)) => Some(warning("Contested", "Apply", contested.message)),
        (Some(_), None) => {
            let note = "the contention is over: Baton corrects without pauses again".to_owned();
            Some(normal("ContentionOver", "Apply", note))
        }
        _ => None,
    }
}

fn was_autoscaled(before: Option<HandoverPhase>) -> bool {
    before.is_some_and(|phase| !matches!(phase, HandoverPhase::Fixed | HandoverPhase::Unmanaged))
}

fn normal(reason: &str, action: &str, note: String) -> Event {
    event(EventType::Normal, reason, action, note)
}

fn warning(reason: &str, action: &str, note: String) -> Event {
    event(EventType::Warning, reason, action, note)
}

fn event(type_: EventType, reason: &str, action: &str, note: String) -> Event {
    Event {
        type_,
        reason: reason.to_owned(),
        note: Some(cut(note, LONGEST_NOTE)),
        action: action.to_owned(),
        secondary: None,
    }
}

/// The API server refuses an Event whose note, or whose action, is longer than this many bytes.
const LONGEST_NOTE: usize = 1024;
const LONGEST_ACTION: usize = 128;
