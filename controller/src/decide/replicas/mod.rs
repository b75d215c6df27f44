//! Decides about `spec.replicas`: who should own it, and the next move towards that. A pure state machine.
//!
//! It derives everything from what was read: the spec, the Deployment's `managedFields` and replica count, and the existing
//! autoscalers. So a crash between two moves loses nothing: the next pass finds the state again.
//!
//! Three rules are behind every row:
//!
//! - **Baton releases the field only while another manager owns it too.** If an apply drops a field without another owner, the
//!   server resets it to its default, which is 1.
//! - **The handover passes on the live count.** A move is guarded by the version that it was read from, so it never overwrites a
//!   count that was written in the meantime.
//! - **While an autoscaler scales, Baton doesn't.** On the way back, Baton deletes its autoscaler first, and waits for another one.

mod phase;
mod wanted;

use baton_apply::ownership::Owner;
use baton_crd::{Adoption, HandoverPhase, labels};
use kube::ResourceExt;

pub use phase::ineffective_autoscalers;
pub use wanted::{Wanted, Whose};

pub use super::{
    autoscaler::{Autoscaler, ScaleTarget, Scales},
    owners::{REPLICAS, ReplicaOwners, Replicas, temporary_owners},
};
use super::{child::ChildKind, snapshot::Snapshot};

/// The replica count of a Deployment without `spec.replicas`.
const SERVERS_DEFAULT: i32 = 1;

/// The grounds of a decision beside the spec.
#[derive(Clone, Debug)]
struct Observed<'a> {
    /// The live Deployment's replica count and its owners; absent if there is no Deployment.
    deployment: Option<&'a Replicas>,
    /// Whether Baton's own HorizontalPodAutoscaler exists.
    own_autoscaler: bool,
    /// The HorizontalPodAutoscalers of others that scale the Deployment, by name.
    others: &'a [Autoscaler],
    /// The count that the Deployment had before it was suspended or deleted.
    before: Option<i32>,
}

impl Observed<'_> {
    /// Whether another autoscaler would overwrite this count.
    fn others_undo(&self, count: i32) -> bool {
        self.others.iter().any(|other| count != 0 || !other.rests_at_zero())
    }
}

/// The owner of the replica count, by `managedFields`. Several may own it, as long as they agree; then it is the first that fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// A manager that wrote the `scale` subresource: an autoscaler or `kubectl scale`, whatever its name. A zero without an owner was
    /// written that way too: a `Scale` omits the count when it is 0, so the server records no owner.
    Scaled {
        /// Whether Baton owns it too.
        baton: bool,
    },
    /// Another manager, which isn't an autoscaler.
    Other,
    /// The temporary manager: the field is on its way to an autoscaler.
    HandingOver {
        /// Whether Baton owns it too.
        baton: bool,
    },
    /// Baton alone: if it released the field, the server would reset it.
    Baton,
    /// No manager: it is the server's default, or a leftover.
    Unowned,
}

impl State {
    fn of(replicas: &Replicas) -> Self {
        let ReplicaOwners { baton, temporary, scale, others } = &replicas.owners;
        let is_owned = *baton || *temporary || !others.is_empty();
        match (baton, temporary) {
            _ if !scale.is_empty() || (replicas.count == 0 && !is_owned) => Self::Scaled { baton: *baton },
            _ if !others.is_empty() => Self::Other,
            (_, true) => Self::HandingOver { baton: *baton },
            (true, false) => Self::Baton,
            (false, false) => Self::Unowned,
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
    /// The next move.
    pub next: Move,
    /// The phase that the state is in.
    pub phase: HandoverPhase,
    /// The event that the phase waits for, as text; absent at rest.
    pub waiting_for: Option<String>,
}

/// Decides about the replica count of a Workload's Deployment.
pub fn decide(seen: &Snapshot) -> Decision {
    let observed = Observed {
        deployment: seen.replicas(),
        own_autoscaler: seen.own(ChildKind::Autoscaler).is_some(),
        others: &others_autoscalers(seen),
        before: count_before(seen),
    };
    decision(Wanted::of(&seen.workload), &observed)
}

fn decision(wanted: Wanted, observed: &Observed<'_>) -> Decision {
    let Some(replicas) = observed.deployment else { return create(wanted, observed.before) };
    let (phase, waiting_for) = phase::phase(wanted, replicas, observed);
    let next = match wanted {
        Wanted::Autoscaler { start, .. } => hand_over(replicas, observed.before.unwrap_or(start)),
        Wanted::HandsOff if State::of(replicas) == State::Baton => {
            hand_over(replicas, observed.before.unwrap_or_default())
        }
        Wanted::HandsOff => Move::LeaveOut,
        Wanted::Fixed(count) => take_back(count, replicas, observed),
        Wanted::Suspended => take_back(0, replicas, observed),
    };
    Decision { next, phase, waiting_for }
}

fn create(wanted: Wanted, before: Option<i32>) -> Decision {
    let phase = match wanted {
        Wanted::Fixed(_) => HandoverPhase::Fixed,
        Wanted::HandsOff => HandoverPhase::Unmanaged,
        Wanted::Autoscaler { .. } => HandoverPhase::HandoverPending,
        Wanted::Suspended => HandoverPhase::Suspended,
    };
    Decision {
        next: Move::Create(wanted.initial_count(before)),
        phase,
        waiting_for: Some("the Deployment to be created".to_owned()),
    }
}

/// Releases the count, so that an autoscaler may set it. `start` replaces a zero that Baton itself had set: at zero an autoscaler
/// would do nothing.
fn hand_over(replicas: &Replicas, start: i32) -> Move {
    match State::of(replicas) {
        State::Baton if replicas.count == 0 && start > 0 => Move::Claim(start),
        // Where no manager owns the count, as after a scale to zero, the API server doesn't record who scales it next either.
        State::Baton | State::Unowned => Move::HandOver(replicas.count),
        State::Scaled { .. } if replicas.owners.scale.is_empty() => Move::HandOver(replicas.count),
        _ => Move::LeaveOut,
    }
}

/// Makes Baton the only owner, at this count.
fn take_back(count: i32, replicas: &Replicas, observed: &Observed<'_>) -> Move {
    let ReplicaOwners { baton, temporary, scale, .. } = &replicas.owners;
    if observed.own_autoscaler {
        return if *baton { Move::Wait } else { Move::LeaveOut };
    }
    match State::of(replicas) {
        // Another autoscaler owns the count, or is about to: taking it back would be endless contention.
        State::Scaled { .. } | State::HandingOver { baton: false } if observed.others_undo(count) => {
            Move::LeaveOut
        }
        _ if !temporary && scale.is_empty() => Move::Set(count),
        _ if !baton => Move::Claim(replicas.count),
        // One at a time: each release changes the resourceVersion that would guard the other.
        _ if *temporary => Move::ReleaseTemporary,
        _ => Move::ReleaseScale(scale.clone()),
    }
}

/// The HorizontalPodAutoscalers that scale the Deployment and aren't this Workload's, nor about to be.
pub fn others_autoscalers(seen: &Snapshot) -> Vec<Autoscaler> {
    let (uid, name, workload) = (seen.uid(), seen.workload.name_any(), &seen.workload);
    let adopts = workload.spec.adoption == Adoption::Adopt && Wanted::of(workload).has_own_autoscaler();
    let is_others = |one: &&Autoscaler| {
        one.scales == Scales::Deployment && !one.is_controlled_by(&uid) && !(adopts && one.name == name)
    };
    seen.autoscalers.iter().filter(is_others).cloned().collect()
}

/// The names of all HorizontalPodAutoscalers that scale the Deployment.
pub fn autoscaler_names(seen: &Snapshot) -> Vec<String> {
    let own = seen.own(ChildKind::Autoscaler).map(ResourceExt::name_any);
    let mut names: Vec<String> =
        others_autoscalers(seen).into_iter().map(|other| other.name).chain(own).collect();
    names.sort();
    names
}

/// The replica count to restore, while the Workload is suspended.
pub fn count_to_resume(seen: &Snapshot) -> Option<i32> {
    if Wanted::of(&seen.workload) != Wanted::Suspended {
        return None;
    }
    let count = seen.replicas().map(|replicas| replicas.count).filter(|count| *count > 0);
    let first = || Wanted::when_resumed(&seen.workload).initial_count(None).or(Some(SERVERS_DEFAULT));
    count.or_else(|| count_before(seen)).or_else(first)
}

/// The count from before the Deployment was suspended, by its annotation; or, if it is gone, from before that, by the status.
fn count_before(seen: &Snapshot) -> Option<i32> {
    let before = match seen.own(ChildKind::Deployment) {
        Some(live) => live.annotations().get(labels::REPLICAS_BEFORE_SUSPEND)?.parse().ok()?,
        None => seen.workload.status.as_ref()?.replica_ownership.as_ref()?.value,
    };
    (before > 0).then_some(before)
}
