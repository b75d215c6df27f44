//! Status, conditions and Events, as pure functions of a [`Pass`].

mod conditions;
mod events;
mod limits;
mod planned;
mod status;
mod takeovers;
mod unreadable;

use std::time::Duration;

use baton_crd::{ChildState, Mode, WorkloadStatus};

pub use events::{events, outdated_crd_event, put_last_event, unreadable_event};
pub use status::{status, unreadable};
pub use unreadable::Unreadable;

use crate::decide::{child::ChildKind, pass::Pass};

/// How a status differs from the stored one, as far as that decides when it is written.
#[derive(Clone, Copy, Debug)]
pub struct StatusChange {
    /// How soon it is to be written.
    pub haste: Haste,
    /// While the Workload is contested, the longest pause of a child.
    pub contested: Option<Duration>,
    /// Whether it is the first about a spec.
    pub is_of_new_spec: bool,
    /// Whether it is written at once in any case: Baton took a field over, or a contested Workload has a new spec.
    pub matters: bool,
}

/// How soon a changed status is to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Haste {
    /// At once: a user may be waiting for it, to do something about it.
    AtOnce,
    /// With all other changes within a moment.
    Gathers,
    /// With a change that is certainly about to happen.
    Awaits,
}

/// How the status after a pass differs from the previous one.
pub fn change(pass: &Pass, previous: &WorkloadStatus, status: &WorkloadStatus) -> StatusChange {
    let contested = pass.contested.iter().map(|contested| contested.pause).max();
    let is_of_new_spec = previous.observed_generation != status.observed_generation;
    StatusChange {
        haste: haste(pass, previous, status),
        contested,
        is_of_new_spec,
        matters: !pass.outbox.takeovers.is_empty() || (contested.is_some() && is_of_new_spec),
    }
}

fn haste(pass: &Pass, previous: &WorkloadStatus, status: &WorkloadStatus) -> Haste {
    let is_trouble =
        |state| !matches!(state, ChildState::Applied | ChildState::Pending | ChildState::Deleting);
    let troubles = |status: &WorkloadStatus| -> Vec<(String, ChildState, Option<String>)> {
        let troubled = status.children.iter().filter(|child| is_trouble(child.state));
        troubled.map(|child| (child.kind.clone(), child.state, child.message.clone())).collect()
    };
    let is_open = pass.has_open_result() && previous.children != status.children;
    let is_enforced = pass.seen.workload.spec.mode == Mode::Enforce;
    if !is_enforced || is_open || troubles(previous) != troubles(status) {
        return Haste::AtOnce;
    }
    // The Deployment's controller is about to report on it.
    let is_observed = ChildKind::Deployment.is_observed();
    match pass.seen.own(ChildKind::Deployment) {
        Some(live) if !is_observed(live) => Haste::Awaits,
        _ => Haste::Gathers,
    }
}
