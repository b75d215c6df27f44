//! The phase of a state, and the event that it waits for.

use baton_crd::HandoverPhase;

use super::{Autoscaler, Observed, Replicas, Scales, State, Wanted, Whose};
use crate::decide::snapshot::Snapshot;

/// How to resolve an autoscaler that the spec doesn't mention.
const DELETE_OR_DECLARE: &str = "to be deleted, or spec.autoscaling.external to be set";

/// A phase, and what it waits for.
type Reported = (HandoverPhase, Option<String>);

pub(super) fn phase(wanted: Wanted, live: &Replicas, observed: &Observed<'_>) -> Reported {
    match wanted {
        Wanted::Autoscaler { whose, .. } => autoscaled(whose, live, observed),
        _ if observed.own_autoscaler => {
            waiting(HandoverPhase::TakingBack, "Baton's HorizontalPodAutoscaler to be deleted")
        }
        Wanted::HandsOff => (HandoverPhase::Unmanaged, None),
        Wanted::Fixed(count) => taken_back(count, HandoverPhase::Fixed, live, observed),
        Wanted::Suspended => taken_back(0, HandoverPhase::Suspended, live, observed),
    }
}

fn taken_back(count: i32, at_rest: HandoverPhase, live: &Replicas, observed: &Observed<'_>) -> Reported {
    let owners = &live.owners;
    match State::of(live) {
        State::Scaled { .. } | State::HandingOver { baton: false } if observed.others_undo(count) => {
            let what_to_do = if at_rest == HandoverPhase::Suspended {
                "to be deleted or paused"
            } else {
                DELETE_OR_DECLARE
            };
            let awaited = format!("{}, which scales this Deployment, {what_to_do}", names(observed));
            (HandoverPhase::AutoscalerConflict, Some(awaited))
        }
        _ if owners.temporary || !owners.scale.is_empty() => {
            waiting(HandoverPhase::TakingBack, "Baton to be the only owner of spec.replicas")
        }
        _ if live.count == count && owners.baton => (at_rest, None),
        _ => (at_rest, Some(format!("Baton to set spec.replicas to {count}"))),
    }
}

fn autoscaled(whose: Whose, live: &Replicas, observed: &Observed<'_>) -> Reported {
    let others = observed.others;
    let conflict = match whose {
        Whose::Own { .. } if !others.is_empty() => {
            Some(format!("{}, which scales this Deployment too, {DELETE_OR_DECLARE}", names(observed)))
        }
        Whose::External if others.len() > 1 => Some(format!(
            "all of {} but one to be deleted: two autoscalers of one Deployment disable each other",
            names(observed)
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
    if live.count == 0 && rests_at_zero {
        let awaited = "the Deployment to be scaled to 1 or more: at 0 its autoscaler does nothing";
        return waiting(HandoverPhase::AutoscalerDisabled, awaited);
    }
    match State::of(live) {
        State::Scaled { .. } if matches!(whose, Whose::Own { .. }) && !observed.own_autoscaler => {
            waiting(HandoverPhase::AutoscalerMissing, "the HorizontalPodAutoscaler to exist again")
        }
        State::Scaled { .. } => (HandoverPhase::HandedOver, None),
        State::Other => waiting(
            HandoverPhase::OwnedByOther,
            "the other manager to release spec.replicas, or the autoscaler to write it",
        ),
        State::HandingOver { .. } | State::Baton | State::Unowned => {
            waiting(HandoverPhase::HandoverPending, "the autoscaler to write spec.replicas")
        }
    }
}

/// The HorizontalPodAutoscalers that should scale the Deployment and don't: their target is the Workload, can't be resolved, or they
/// were stopped. Returns what has to change, as text. It concerns autoscaled Workloads, and those without a replica count.
pub fn ineffective_autoscalers(seen: &Snapshot) -> Option<String> {
    let whose = match Wanted::of(&seen.workload) {
        Wanted::Autoscaler { whose, .. } => Some(whose),
        Wanted::HandsOff => None,
        Wanted::Fixed(_) | Wanted::Suspended => return None,
    };
    let those = |is_it: &dyn Fn(&Autoscaler) -> bool| {
        let names: Vec<&str> =
            seen.autoscalers.iter().filter(|one| is_it(one)).map(|one| one.name.as_str()).collect();
        (!names.is_empty()).then(|| names.join(", "))
    };
    let of_workload = those(&|one| one.scales == Scales::Workload).map(|names| {
        let why = match whose {
            Some(_) => ": the Workload's spec.replicas has no effect while spec.autoscaling is set",
            None => ", or for the Workload's spec.replicas: without it the Workload has no scale",
        };
        format!("{names} to target the Deployment{why}")
    });
    let stopped = || {
        let is_stopped = |one: &Autoscaler| one.scales == Scales::Deployment && one.is_ambiguous;
        let names = those(&is_stopped).filter(|_| whose.is_some())?;
        Some(format!(
            "another HorizontalPodAutoscaler to stop scaling the same pods: its target's selector overlaps the Deployment's, so \
             Kubernetes has stopped both; the condition ScalingActive of {names} has the names"
        ))
    };
    let unresolved = || {
        let is_scaled = seen.autoscalers.iter().any(|one| one.scales == Scales::Deployment);
        let is_concerned = !matches!(whose, Some(Whose::Own { .. })) && !is_scaled;
        seen.autoscalers.iter().filter(|_| is_concerned).find_map(|one| match &one.scales {
            Scales::Nothing { target } => Some(format!(
                "{} to target the kind Deployment of apps/v1: Kubernetes can't resolve {target}, so it scales nothing",
                one.name
            )),
            Scales::Deployment | Scales::Workload => None,
        })
    };
    of_workload.or_else(stopped).or_else(unresolved)
}

fn waiting(phase: HandoverPhase, awaited: impl Into<String>) -> Reported {
    (phase, Some(awaited.into()))
}

/// The autoscalers of others, as text.
fn names(observed: &Observed<'_>) -> String {
    let names: Vec<&str> = observed.others.iter().map(|other| other.name.as_str()).collect();
    let kind = if names.len() == 1 { "HorizontalPodAutoscaler" } else { "HorizontalPodAutoscalers" };
    format!("the {kind} {}", names.join(", "))
}
