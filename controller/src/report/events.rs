//! The Events of a Workload: what people need to know, once for each change.

use baton_crd::{ChildState, HandoverPhase, WorkloadStatus};
use kube::{
    ResourceExt,
    runtime::events::{Event, EventType},
};

use super::{ChildResult, Pass};

/// The Events that a pass is worth, told from the status before and after it.
pub fn events(pass: &Pass, previous: &WorkloadStatus, status: &WorkloadStatus) -> Vec<Event> {
    let mut events = child_events(pass, previous, status);
    events.extend(handover_event(previous, status));
    events
}

/// The Event for a Workload that can't be read.
pub fn undecodable_event(error: &str) -> Event {
    warning("Undecodable", "Read", format!("can't read the Workload; its children stay as they are: {error}"))
}

fn child_events(pass: &Pass, previous: &WorkloadStatus, status: &WorkloadStatus) -> Vec<Event> {
    let name = pass.seen.workload.name_any();
    let mut events = Vec::new();
    for (child, result) in &pass.results {
        match result {
            ChildResult::Created => {
                events.push(normal("Created", "Apply", format!("created {child} {name}")));
            }

            ChildResult::Deleted => {
                events.push(normal(
                    "Deleted",
                    "Delete",
                    format!("deleted {child} {name}: the spec no longer asks for it"),
                ));
            }
            _ => {}
        }
    }
    for child in &status.children {
        let before = previous.children.iter().find(|before| before.kind == child.kind);
        let said_before =
            before.is_some_and(|before| before.state == child.state && before.message == child.message);
        if said_before {
            continue;
        }
        let message = child.message.clone().unwrap_or_default();
        match child.state {
            ChildState::Rejected => {
                let note = format!("the API server rejected {} {name}: {message}", child.kind);
                events.push(warning("Rejected", "Apply", note));
            }
            ChildState::Refused => events.push(warning("NotOwned", "Apply", message)),
            ChildState::Applied if before.is_some_and(|before| before.state == ChildState::Rejected) => {
                let note = format!("the API server accepts {} {name} again", child.kind);
                events.push(normal("Accepted", "Apply", note));
            }
            _ => {}
        }
    }
    events
}

fn handover_event(previous: &WorkloadStatus, status: &WorkloadStatus) -> Option<Event> {
    let after = status.replica_ownership.as_ref()?;
    let before = previous.replica_ownership.as_ref().map(|before| before.phase);
    if before == Some(after.phase) {
        return None;
    }
    let (holder, value) = (&after.holder, after.value);
    match after.phase {
        HandoverPhase::HandoverPending => Some(normal(
            "HandoverPending",
            "HandOver",
            format!("{holder} holds {value} replicas until the autoscaler writes"),
        )),
        HandoverPhase::HandedOver => Some(normal(
            "HandedOver",
            "HandOver",
            format!("the autoscaler decides: {holder} holds {value} replicas"),
        )),
        HandoverPhase::OwnedByOther => Some(warning(
            "OwnedByOther",
            "HandOver",
            format!(
                "{holder} holds {value} replicas and isn't an autoscaler: the handover waits for it to let go"
            ),
        )),
        HandoverPhase::AutoscalerMissing => Some(warning(
            "AutoscalerMissing",
            "HandOver",
            format!("the autoscaler is gone; {value} replicas stay, held by {holder}"),
        )),
        HandoverPhase::Fixed | HandoverPhase::Unmanaged if was_autoscaled(before) => Some(normal(
            "TakenBack",
            "TakeBack",
            format!("nobody autoscales any more: {holder} holds {value} replicas"),
        )),
        HandoverPhase::Fixed | HandoverPhase::Unmanaged | HandoverPhase::TakingBack => None,
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
        note: Some(shortened(note)),
        action: action.to_owned(),
        secondary: None,
    }
}

/// The API server refuses an Event whose note is longer than this many bytes.
const LONGEST_NOTE: usize = 1024;

fn shortened(mut note: String) -> String {
    const MORE: &str = "…";
    if note.len() > LONGEST_NOTE {
        let end = note.floor_char_boundary(LONGEST_NOTE - MORE.len());
        note.truncate(end);
        note.push_str(MORE);
    }
    note
}
