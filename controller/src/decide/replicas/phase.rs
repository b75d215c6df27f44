//! What is reported of a state: the phase, and what it waits for.

use baton_crd::HandoverPhase;

use super::{Autoscaler, Replicas, Seen, State, Wanted, Whose};

/// How to resolve an autoscaler that the spec doesn't mention.
const SAY_SO: &str = "to be deleted, or spec.autoscaling.external to be set";

/// A phase, and what it waits for.
type Reported = (HandoverPhase, Option<String>);

pub(super) fn phase(wanted: Wanted, held: &Replicas, seen: &Seen<'_>) -> Reported {
    match wanted {
        Wanted::Autoscaler { whose, .. } => autoscaled(whose, held, seen),
        _ if seen.own_autoscaler => {
            waiting(HandoverPhase::TakingBack, "Baton's HorizontalPodAutoscaler to be deleted")
        }
        Wanted::HandsOff => (HandoverPhase::Unmanaged, None),
        Wanted::Number(number) => taken_back(number, HandoverPhase::Fixed, held, seen),
        Wanted::Suspended => taken_back(0, HandoverPhase::Suspended, held, seen),
    }
}

fn taken_back(number: i32, at_rest: HandoverPhase, held: &Replicas, seen: &Seen<'_>) -> Reported {
    let (state, others) = (held.state(), &held.owners);
    match state {
        State::Scaled { .. } | State::HandingOver { baton: false } if seen.others_undo(number) => {
            let what_to_do =
                if at_rest == HandoverPhase::Suspended { "to be deleted or paused" } else { SAY_SO };
            let awaited = format!("{}, which scales this Deployment, {what_to_do}", names(seen));
            (HandoverPhase::AutoscalerConflict, Some(awaited))
        }
        _ if others.temporary || !others.scale.is_empty() => {
            waiting(HandoverPhase::TakingBack, "Baton to be the only owner of spec.replicas")
        }
        _ if held.count == number && others.baton => (at_rest, None),
        _ => (at_rest, Some(format!("Baton to set spec.replicas to {number}"))),
    }
}

fn autoscaled(whose: Whose, held: &Replicas, seen: &Seen<'_>) -> Reported {
    let others = seen.others;
    let conflict = match whose {
        Whose::Own { .. } if !others.is_empty() => {
            Some(format!("{}, which scales this Deployment too, {SAY_SO}", names(seen)))
        }
        Whose::External if others.len() > 1 => Some(format!(
            "all of {} but one to be deleted: two autoscalers of one Deployment disable each other",
            names(seen)
        )),
        _ => None,
    };
    if conflict.is_some() {
        return (HandoverPhase::AutoscalerConflict, conflict);
    }
    let rests_at_zero = match whose {
        Whose::Own { min_replicas } => min_replicas > 0,
        Whose::External => others.iter().any(Autoscaler::rests_at_zero),
    };
    if held.count == 0 && rests_at_zero {
        let awaited = "the Deployment to be scaled to 1 or more: at 0 its autoscaler does nothing";
        return waiting(HandoverPhase::AutoscalerDisabled, awaited);
    }
    match held.state() {
        State::Scaled { .. } if matches!(whose, Whose::Own { .. }) && !seen.own_autoscaler => {
            waiting(HandoverPhase::AutoscalerMissing, "the HorizontalPodAutoscaler to exist again")
        }
        State::Scaled { .. } => (HandoverPhase::HandedOver, None),
        State::Other { .. } => waiting(
            HandoverPhase::OwnedByOther,
            "the other manager to release spec.replicas, or the autoscaler to write it",
        ),
        State::Absent | State::HandingOver { .. } | State::Held | State::Unheld => {
            waiting(HandoverPhase::HandoverPending, "the autoscaler to write spec.replicas")
        }
    }
}

fn waiting(phase: HandoverPhase, for_what: impl Into<String>) -> Reported {
    (phase, Some(for_what.into()))
}

/// The autoscalers of others, as text.
fn names(seen: &Seen<'_>) -> String {
    let names: Vec<&str> = seen.others.iter().map(|other| other.name.as_str()).collect();
    let kind = if names.len() == 1 { "HorizontalPodAutoscaler" } else { "HorizontalPodAutoscalers" };
    format!("the {kind} {}", names.join(", "))
}
