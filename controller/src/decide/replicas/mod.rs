//! Who should own `spec.replicas`, and the next move towards it: a pure state machine.
//!
//! It derives everything from what was read: the spec, the Deployment's `managedFields` and replica count, and the existing
//! autoscalers. So a crash between two moves loses nothing: the next pass finds the state again.
//!
//! Three rules are behind every row:
//!
//! - **Baton releases the field only while another manager owns it too.** If an apply drops a field that no one else owns, the
//!   server resets it to its default, which is 1.
//! - **The handover passes on the live count.** A move is guarded by the version that it was read from, so it never overwrites a
//!   count that was written in the meantime.
//! - **While an autoscaler scales, Baton doesn't.** On the way back, Baton deletes its autoscaler first, and waits for another one.

mod autoscaler;
mod owners;
mod phase;

use baton_apply::ownership::Owner;
use baton_crd::HandoverPhase;

pub use autoscaler::{Autoscaler, ScaleTarget, Scales};
pub use owners::{REPLICAS, ReplicaOwners, Replicas};

/// Who the spec wants to set the replica count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Baton: `spec.replicas` is set, and no autoscaler.
    Number(i32),
    /// No manager that Baton knows: neither `spec.replicas` nor `spec.autoscaling` is set.
    HandsOff,
    /// Baton, at zero until the Workload is resumed.
    Suspended,
    /// An autoscaler, which starts from this count if Baton has to create the Deployment.
    Autoscaler {
        /// `spec.replicas`, else `minReplicas`, else 1.
        start: i32,
        /// Who creates it.
        whose: Whose,
    },
}

/// Who creates the autoscaler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// Baton, as a child.
    Own {
        /// The smallest count that it may choose.
        min_replicas: i32,
    },
    /// Another manager, with an autoscaler or without.
    External,
}

/// What was seen of the Deployment and its autoscalers.
#[derive(Clone, Debug)]
pub struct Seen<'a> {
    /// The live Deployment's replica count and its owners; absent if there is no Deployment.
    pub deployment: Option<&'a Replicas>,
    /// Whether Baton's own HorizontalPodAutoscaler exists.
    pub own_autoscaler: bool,
    /// The HorizontalPodAutoscalers of others that scale the Deployment, by name.
    pub others: &'a [Autoscaler],
    /// The count that the Deployment had before it was suspended or deleted.
    pub before: Option<i32>,
}

impl Seen<'_> {
    /// Whether another autoscaler would overwrite this count.
    fn others_undo(&self, number: i32) -> bool {
        self.others.iter().any(|other| number != 0 || !other.rests_at_zero())
    }
}

/// Who owns the replica count, by `managedFields`. Several may, as long as they agree; then it is the first that fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// There is no Deployment.
    Absent,
    /// A manager that wrote the `scale` subresource: an autoscaler or `kubectl scale`, whatever its name. A zero without an owner was
    /// written that way too: a `Scale` omits the count when it is 0, so no one gets to own it.
    Scaled {
        /// Whether Baton owns it too.
        baton: bool,
    },
    /// Another manager, which isn't an autoscaler.
    Other {
        /// Whether Baton owns it too.
        baton: bool,
    },
    /// The temporary manager: the field is on its way to an autoscaler.
    HandingOver {
        /// Whether Baton owns it too.
        baton: bool,
    },
    /// Baton alone: if it released the field, the server would reset it.
    Held,
    /// No manager: it is the server's default, or a leftover.
    Unheld,
}

impl State {
    /// The state of a Deployment, or of none.
    pub fn of(deployment: Option<&Replicas>) -> Self {
        deployment.map_or(Self::Absent, Replicas::state)
    }
}

impl Replicas {
    fn state(&self) -> State {
        let ReplicaOwners { baton, temporary, scale, others } = &self.owners;
        let is_held = *baton || *temporary || !others.is_empty();
        match (baton, temporary) {
            _ if !scale.is_empty() || (self.count == 0 && !is_held) => State::Scaled { baton: *baton },
            _ if !others.is_empty() => State::Other { baton: *baton },
            (_, true) => State::HandingOver { baton: *baton },
            (true, false) => State::Held,
            (false, false) => State::Unheld,
        }
    }
}

/// The next move with `spec.replicas`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Move {
    /// Rest: apply the whole intent with this count.
    Set(i32),
    /// Rest: apply the whole intent without the field, guarded by the resourceVersion that was read, because it is safe only while
    /// another manager owns the field.
    LeaveOut,
    /// Create the Deployment with this count (absent: the server's default), then plan again.
    Create(Option<i32>),
    /// Apply the live count alone as the temporary manager, never forced, then plan again.
    HandOver(i32),
    /// Apply the whole intent with this count, forced and guarded by the resourceVersion that was read, then plan again.
    Claim(i32),
    /// Baton owns the count: release the temporary manager, which owns it too, then plan again.
    ReleaseTemporary,
    /// Baton owns the count: release the leftover entries of writes of the `scale` subresource, then plan again.
    ReleaseScale(Vec<Owner>),
    /// Write nothing to the Deployment: Baton's autoscaler has to be deleted first.
    Wait,
}

/// The next move, and what to report about the state that it was derived from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// What to do.
    pub next: Move,
    /// The phase that the state is in.
    pub phase: HandoverPhase,
    /// What the phase waits for, as text; absent at rest.
    pub waiting_for: Option<String>,
}

/// Decides the next move.
pub fn decide(wanted: Wanted, seen: &Seen<'_>) -> Decision {
    let Some(replicas) = seen.deployment else { return create(wanted, seen.before) };
    let (phase, waiting_for) = phase::phase(wanted, replicas, seen);
    let next = match wanted {
        Wanted::Autoscaler { start, .. } => hand_over(replicas, seen.before.unwrap_or(start)),
        Wanted::HandsOff if replicas.state() == State::Held => {
            hand_over(replicas, seen.before.unwrap_or_default())
        }
        Wanted::HandsOff => Move::LeaveOut,
        Wanted::Number(number) => take_back(number, replicas, seen),
        Wanted::Suspended => take_back(0, replicas, seen),
    };
    Decision { next, phase, waiting_for }
}

/// The count that a Deployment is created with, given the one that it had before; absent: the server's default.
pub fn first_number(wanted: Wanted, before: Option<i32>) -> Option<i32> {
    match wanted {
        Wanted::Number(number) => Some(number),
        Wanted::HandsOff => before,
        Wanted::Autoscaler { start, .. } => before.or(Some(start)),
        Wanted::Suspended => Some(0),
    }
}

fn create(wanted: Wanted, before: Option<i32>) -> Decision {
    let phase = match wanted {
        Wanted::Number(_) => HandoverPhase::Fixed,
        Wanted::HandsOff => HandoverPhase::Unmanaged,
        Wanted::Autoscaler { .. } => HandoverPhase::HandoverPending,
        Wanted::Suspended => HandoverPhase::Suspended,
    };
    Decision {
        next: Move::Create(first_number(wanted, before)),
        phase,
        waiting_for: Some("the Deployment to be created".to_owned()),
    }
}

/// Releases the count, so that an autoscaler may set it. `start` replaces a zero that Baton itself had set: at zero an autoscaler
/// would do nothing.
fn hand_over(replicas: &Replicas, start: i32) -> Move {
    match replicas.state() {
        State::Held if replicas.count == 0 && start > 0 => Move::Claim(start),
        // Where no manager owns the count, as after a scale to zero, the API server doesn't record who scales it next either.
        State::Held | State::Unheld => Move::HandOver(replicas.count),
        State::Scaled { .. } if replicas.owners.scale.is_empty() => Move::HandOver(replicas.count),
        _ => Move::LeaveOut,
    }
}

fn take_back(number: i32, replicas: &Replicas, seen: &Seen<'_>) -> Move {
    let ReplicaOwners { baton, temporary, scale, .. } = &replicas.owners;
    if seen.own_autoscaler {
        return if *baton { Move::Wait } else { Move::LeaveOut };
    }
    match replicas.state() {
        // Another autoscaler owns the count, or is about to: taking it back would be endless contention.
        State::Scaled { .. } | State::HandingOver { baton: false } if seen.others_undo(number) => {
            Move::LeaveOut
        }
        _ if !temporary && scale.is_empty() => Move::Set(number),
        _ if !baton => Move::Claim(replicas.count),
        // One at a time: each release changes the resourceVersion that would guard the other.
        _ if *temporary => Move::ReleaseTemporary,
        _ => Move::ReleaseScale(scale.clone()),
    }
}

#[cfg(test)]
mod tests;
