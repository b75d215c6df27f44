//! Who should hold `spec.replicas`, and the next move towards it: a pure state machine.
//!
//! It derives everything from what was seen (the spec, the Deployment's `managedFields` and number, whether Baton's
//! autoscaler is there), so a crash between two moves loses nothing: the next look finds the state again.
//! It refuses to know how a move is made.
//!
//! The rule behind every row: **Baton lets go of the number only while somebody else holds it too.** Dropping a field
//! that nobody else owns makes the server reset it to its default, which is 1.

use baton_crd::HandoverPhase;

use crate::live::{Live, ReplicaHolders, ScaleEntry};

/// Who the spec wants to decide the number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Baton: `spec.replicas` is set and nobody scales.
    Number(i32),
    /// Nobody that Baton knows of: neither `spec.replicas` nor `spec.autoscaling` is set.
    HandsOff,
    /// An autoscaler, which finds this number where Baton has to create the Deployment.
    Autoscaler {
        /// `spec.replicas`, else `minReplicas`, else 1.
        start: i32,
        /// Whether the autoscaler is Baton's own child.
        own: bool,
    },
}

/// What was seen of the Deployment and the autoscaler.
#[derive(Clone, Debug)]
pub struct Seen<'a> {
    /// The live Deployment; absent if there is none.
    pub deployment: Option<&'a Live>,
    /// Whether Baton's own HorizontalPodAutoscaler is there.
    pub autoscaler: bool,
}

/// The next move with `spec.replicas`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Move {
    /// Rest: apply the whole intent with this number.
    Set(i32),
    /// Rest: apply the whole intent without a number, guarded by the resourceVersion that was seen, because it is safe
    /// only while somebody else holds the number.
    LeaveOut,
    /// Create the Deployment with this number (absent: the server's default), then look again.
    Create(Option<i32>),
    /// Apply the live number alone as the temporary manager, never forced, then look again.
    HandOver(i32),
    /// Apply the whole intent with the live number, forced and guarded by its resourceVersion, then look again.
    TakeBack(i32),
    /// Baton holds the number: release those who held it before, then look again.
    Release {
        /// Whether the temporary manager still holds it.
        temporary: bool,
        /// Entries that writes of the `scale` subresource left behind.
        scale: Vec<ScaleEntry>,
    },
    /// Write nothing to the Deployment: an autoscaler that is no longer wanted has to go first.
    Hold,
}

/// The next move and what to tell people about the state it was derived from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// What to do.
    pub next: Move,
    /// The phase that the state is in.
    pub phase: HandoverPhase,
    /// What the phase waits for, in words; absent at rest.
    pub waiting_for: Option<&'static str>,
}

/// Decides the next move.
pub fn decide(wanted: Wanted, seen: &Seen<'_>) -> Decision {
    let Some(deployment) = seen.deployment else { return create(wanted) };
    let holders = deployment.replica_holders();
    let value = deployment.replicas();
    match wanted {
        Wanted::Autoscaler { own, .. } => {
            Decision { next: let_go(&holders, value), ..autoscaled_phase(&holders, own && !seen.autoscaler) }
        }
        Wanted::Number(_) | Wanted::HandsOff if seen.autoscaler => Decision {
            next: if holders.baton { Move::Hold } else { Move::LeaveOut },
            phase: HandoverPhase::TakingBack,
            waiting_for: Some("the HorizontalPodAutoscaler to be deleted"),
        },
        Wanted::Number(number) => take_back(number, value, holders),
        Wanted::HandsOff => {
            Decision { next: let_go(&holders, value), phase: HandoverPhase::Unmanaged, waiting_for: None }
        }
    }
}

fn create(wanted: Wanted) -> Decision {
    let (number, phase) = match wanted {
        Wanted::Number(number) => (Some(number), HandoverPhase::Fixed),
        Wanted::HandsOff => (None, HandoverPhase::Unmanaged),
        Wanted::Autoscaler { start, .. } => (Some(start), HandoverPhase::HandoverPending),
    };
    Decision { next: Move::Create(number), phase, waiting_for: Some("the Deployment to be created") }
}

fn let_go(holders: &ReplicaHolders, value: i32) -> Move {
    if holders.baton && !holders.shared() { Move::HandOver(value) } else { Move::LeaveOut }
}

fn take_back(number: i32, value: i32, holders: ReplicaHolders) -> Decision {
    let left_behind = holders.temporary || !holders.scale.is_empty();
    let next = match (left_behind, holders.baton) {
        (false, _) => Move::Set(number),
        (true, false) => Move::TakeBack(value),
        (true, true) => Move::Release { temporary: holders.temporary, scale: holders.scale },
    };
    if left_behind {
        let waiting_for = Some("the number to be held by Baton alone");
        Decision { next, phase: HandoverPhase::TakingBack, waiting_for }
    } else {
        Decision { next, phase: HandoverPhase::Fixed, waiting_for: None }
    }
}

fn autoscaled_phase(holders: &ReplicaHolders, missing: bool) -> Decision {
    let (phase, waiting_for) = if !holders.scale.is_empty() && missing {
        (HandoverPhase::AutoscalerMissing, Some("the HorizontalPodAutoscaler to exist again"))
    } else if !holders.scale.is_empty() {
        (HandoverPhase::HandedOver, None)
    } else if !holders.others.is_empty() {
        (HandoverPhase::OwnedByOther, Some("the other manager to let go, or the autoscaler to write"))
    } else {
        (HandoverPhase::HandoverPending, Some("the autoscaler's first write"))
    };
    Decision { next: Move::LeaveOut, phase, waiting_for }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const AUTOSCALED: Wanted = Wanted::Autoscaler { start: 2, own: true };

    fn entry(manager: &str, operation: &str, subresource: &str) -> Value {
        json!({
            "manager": manager, "operation": operation, "subresource": subresource, "apiVersion": "apps/v1",
            "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:replicas": {}}},
        })
    }

    /// A Deployment with five replicas that these managers hold, each named by one letter.
    fn held_by(managers: &str) -> Live {
        let entries: Vec<Value> = managers
            .chars()
            .map(|letter| match letter {
                'b' => entry("baton", "Apply", ""),
                't' => entry("handover-to-hpa", "Apply", ""),
                's' => entry("kube-controller-manager", "Update", "scale"),
                _ => entry("kubectl", "Apply", ""),
            })
            .map(|mut entry| {
                if entry["subresource"] == "" {
                    entry.as_object_mut().unwrap().remove("subresource");
                }
                entry
            })
            .collect();
        let object = json!({
            "metadata": {"name": "web", "managedFields": entries},
            "spec": {"replicas": 5},
        });
        Live::from_json(object).unwrap()
    }

    fn next(wanted: Wanted, managers: &str, autoscaler: bool) -> Move {
        decide(wanted, &Seen { deployment: Some(&held_by(managers)), autoscaler }).next
    }

    fn phase(wanted: Wanted, managers: &str, autoscaler: bool) -> HandoverPhase {
        decide(wanted, &Seen { deployment: Some(&held_by(managers)), autoscaler }).phase
    }

    #[test]
    fn a_deployment_that_is_not_there_is_created_with_the_number_its_owner_starts_from() {
        let created = |wanted| decide(wanted, &Seen { deployment: None, autoscaler: false }).next;
        assert_eq!(created(Wanted::Number(3)), Move::Create(Some(3)));
        assert_eq!(created(Wanted::HandsOff), Move::Create(None));
        assert_eq!(created(AUTOSCALED), Move::Create(Some(2)));
    }

    #[test]
    fn baton_hands_the_live_number_over_before_it_lets_go() {
        assert_eq!(next(AUTOSCALED, "b", false), Move::HandOver(5));
        assert_eq!(next(AUTOSCALED, "bt", false), Move::LeaveOut);
        assert_eq!(next(AUTOSCALED, "t", false), Move::LeaveOut);
    }

    #[test]
    fn baton_lets_go_at_once_where_somebody_else_holds_the_number_already() {
        assert_eq!(next(AUTOSCALED, "bs", true), Move::LeaveOut);
        assert_eq!(next(AUTOSCALED, "bo", true), Move::LeaveOut);
    }

    #[test]
    fn the_phase_names_what_is_waited_for() {
        assert_eq!(phase(AUTOSCALED, "t", true), HandoverPhase::HandoverPending);
        assert_eq!(phase(AUTOSCALED, "s", true), HandoverPhase::HandedOver);
        assert_eq!(phase(AUTOSCALED, "s", false), HandoverPhase::AutoscalerMissing);
        assert_eq!(phase(AUTOSCALED, "o", true), HandoverPhase::OwnedByOther);
        assert_eq!(phase(Wanted::Number(3), "b", false), HandoverPhase::Fixed);
        assert_eq!(phase(Wanted::Number(3), "s", false), HandoverPhase::TakingBack);
    }

    #[test]
    fn on_the_way_back_the_autoscaler_goes_first() {
        assert_eq!(next(Wanted::Number(3), "s", true), Move::LeaveOut);
        assert_eq!(next(Wanted::Number(3), "bs", true), Move::Hold);
    }

    #[test]
    fn on_the_way_back_the_live_number_is_taken_before_the_others_are_released() {
        assert_eq!(next(Wanted::Number(3), "s", false), Move::TakeBack(5));
        assert_eq!(next(Wanted::Number(3), "t", false), Move::TakeBack(5));
        assert!(matches!(next(Wanted::Number(3), "bts", false),
            Move::Release { temporary: true, scale } if scale.len() == 1));
        assert_eq!(next(Wanted::Number(3), "b", false), Move::Set(3));
    }

    #[test]
    fn without_number_and_autoscaler_the_number_is_left_alone_but_never_dropped() {
        assert_eq!(next(Wanted::HandsOff, "b", false), Move::HandOver(5));
        for managers in ["", "t", "s", "bt", "bs", "o"] {
            assert_eq!(next(Wanted::HandsOff, managers, false), Move::LeaveOut, "held by {managers:?}");
        }
    }

    #[test]
    fn in_no_state_does_baton_leave_out_a_number_that_it_alone_holds() {
        for wanted in
            [Wanted::Number(3), Wanted::HandsOff, AUTOSCALED, Wanted::Autoscaler { start: 1, own: false }]
        {
            for autoscaler in [false, true] {
                assert_ne!(
                    next(wanted, "b", autoscaler),
                    Move::LeaveOut,
                    "{wanted:?}, autoscaler: {autoscaler}"
                );
            }
        }
    }
}
