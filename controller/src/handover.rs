//! Who should hold `spec.replicas`, and the next move towards it: a pure state machine.
//!
//! It derives everything from what was seen: the spec, the Deployment's `managedFields` and number, and the autoscalers that
//! are there. So a crash between two moves loses nothing: the next pass finds the state again.
//!
//! Three rules stand behind every row:
//!
//! - **Baton lets go of the number only while somebody else holds it too.** Dropping a field that nobody else owns makes the
//!   server reset it to its default, which is 1.
//! - **What is passed on is the live number.** A move is guarded by the version that it was read from, so a number that
//!   somebody wrote in the meantime is never undone by an older one.
//! - **As long as an autoscaler scales, Baton doesn't.** On the way back the autoscaler goes first; one that isn't Baton's to
//!   delete is waited for.

mod told;

use baton_crd::HandoverPhase;

use crate::{
    autoscalers::Autoscaler,
    live::{Live, ReplicaHolders, ScaleEntry},
};

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
        /// Who makes it.
        whose: Whose,
    },
}

/// Who makes the autoscaler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// Baton, as a child.
    Own {
        /// The least number that it may choose.
        min_replicas: i32,
    },
    /// Somebody else; or it is somebody who scales without one.
    External,
}

/// What was seen of the Deployment and its autoscalers.
#[derive(Clone, Debug)]
pub struct Seen<'a> {
    /// The live Deployment; absent if there is none.
    pub deployment: Option<&'a Live>,
    /// Whether Baton's own HorizontalPodAutoscaler is there.
    pub own_autoscaler: bool,
    /// The HorizontalPodAutoscalers of others that scale the Deployment, by name.
    pub others: &'a [Autoscaler],
}

/// Who holds the number, as `managedFields` tells it. Several may, as long as they agree; then it is the first that fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// There is no Deployment.
    Absent,
    /// Whoever wrote through the `scale` subresource: an autoscaler or `kubectl scale`, whatever its name. A zero that nobody
    /// holds was written that way too: a `Scale` leaves its number out when that is 0, so nobody gets to own it.
    Scaled {
        /// Whether Baton holds it too.
        baton: bool,
    },
    /// Another manager, which is no autoscaler.
    Other {
        /// Whether Baton holds it too.
        baton: bool,
    },
    /// The temporary manager: the number is on its way to an autoscaler.
    Lent {
        /// Whether Baton holds it too.
        baton: bool,
    },
    /// Baton alone: if it let go, the server would reset the number.
    Held,
    /// Nobody: it is the server's default, or was left behind. Nobody can drop it.
    Unheld,
}

impl State {
    /// The state of a Deployment, or of none.
    pub fn of(deployment: Option<&Live>) -> Self {
        deployment.map_or(Self::Absent, |live| Held::of(live).state())
    }
}

/// The number and who holds it.
struct Held {
    value: i32,
    holders: ReplicaHolders,
}

impl Held {
    fn of(deployment: &Live) -> Self {
        Self { value: deployment.replicas(), holders: deployment.replica_holders() }
    }

    fn state(&self) -> State {
        let ReplicaHolders { baton, temporary, scale, others } = &self.holders;
        let is_held = *baton || *temporary || !others.is_empty();
        match (baton, temporary) {
            _ if !scale.is_empty() || (self.value == 0 && !is_held) => State::Scaled { baton: *baton },
            _ if !others.is_empty() => State::Other { baton: *baton },
            (_, true) => State::Lent { baton: *baton },
            (true, false) => State::Held,
            (false, false) => State::Unheld,
        }
    }
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
    /// Apply the whole intent with this number, forced and guarded by the resourceVersion that was seen, then look again.
    Claim(i32),
    /// Baton holds the number: release those who held it before, then look again.
    Release {
        /// Whether the temporary manager still holds it.
        temporary: bool,
        /// Entries that writes of the `scale` subresource left behind.
        scale: Vec<ScaleEntry>,
    },
    /// Write nothing to the Deployment: an autoscaler that is no longer wanted has to go first.
    Wait,
}

/// The next move and what to tell people about the state it was derived from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// What to do.
    pub next: Move,
    /// The phase that the state is in.
    pub phase: HandoverPhase,
    /// What the phase waits for, in words; absent at rest.
    pub waiting_for: Option<String>,
}

/// Decides the next move.
pub fn decide(wanted: Wanted, seen: &Seen<'_>) -> Decision {
    let Some(deployment) = seen.deployment else { return create(wanted) };
    let held = Held::of(deployment);
    let (phase, waiting_for) = told::phase(wanted, &held, seen);
    let next = match wanted {
        Wanted::Autoscaler { start, .. } => lend(&held, start),
        Wanted::HandsOff if held.state() == State::Held => Move::HandOver(held.value),
        Wanted::HandsOff => Move::LeaveOut,
        Wanted::Number(number) => take_back(number, held, seen),
    };
    Decision { next, phase, waiting_for }
}

fn create(wanted: Wanted) -> Decision {
    let (number, phase) = match wanted {
        Wanted::Number(number) => (Some(number), HandoverPhase::Fixed),
        Wanted::HandsOff => (None, HandoverPhase::Unmanaged),
        Wanted::Autoscaler { start, .. } => (Some(start), HandoverPhase::HandoverPending),
    };
    Decision {
        next: Move::Create(number),
        phase,
        waiting_for: Some("the Deployment to be created".to_owned()),
    }
}

/// Lets go of the number, so that whoever scales may set it. `start` is what an autoscaler should find in the place of a zero
/// that Baton itself had set: at zero it would do nothing.
fn lend(held: &Held, start: i32) -> Move {
    match held.state() {
        State::Held if held.value == 0 && start > 0 => Move::Claim(start),
        // Where nobody holds the number, as after a scale to zero, the API server doesn't tell who scales it next either.
        State::Held | State::Unheld => Move::HandOver(held.value),
        State::Scaled { .. } if held.holders.scale.is_empty() => Move::HandOver(held.value),
        _ => Move::LeaveOut,
    }
}

fn take_back(number: i32, held: Held, seen: &Seen<'_>) -> Move {
    let state = held.state();
    let Held { value, holders: ReplicaHolders { baton, temporary, scale, .. } } = held;
    if seen.own_autoscaler {
        return if baton { Move::Wait } else { Move::LeaveOut };
    }
    match state {
        // Somebody else's autoscaler holds the number, or is about to: taking it back would be a fight without an end.
        State::Scaled { .. } | State::Lent { baton: false } if !seen.others.is_empty() => Move::LeaveOut,
        _ if !temporary && scale.is_empty() => Move::Set(number),
        _ if baton => Move::Release { temporary, scale },
        _ => Move::Claim(value),
    }
}

#[cfg(test)]
mod tests;
