//! Counters of what happened while the model was explored: a model in which nothing happens would keep every promise.

use std::collections::BTreeMap;

use baton_controller::decide::replicas::Replicas;
use clap::ValueEnum;

use super::server::{is_owned, scaler_owns};

/// Something that should happen now and then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, ValueEnum)]
pub enum Occurrence {
    /// An autoscaler's write took the replica count over from Baton's temporary manager.
    HandedOver,
    /// Baton took over a replica count of an autoscaler or of the temporary manager, without changing it.
    TakenBack,
    /// Baton released the previous owners of the replica count.
    Released,
    /// Baton set the replica count of the spec.
    Set,
    /// Baton's write got a conflict with other owners.
    Conflict,
    /// Baton's write was refused because the object had changed since it was read.
    RefusedByGuard,
    /// A late write was refused.
    LateWriteRefused,
    /// A late write was stored.
    LateWriteCounted,
    /// A pass found that its spec isn't the newest.
    SawANewerSpec,
    /// An autoscaler wrote after its HorizontalPodAutoscaler was deleted.
    ScaledAfterItsDeletion,
    /// The rogue released the replica count as its only owner, and the server reset it.
    ResetByTheRogue,
    /// A user deleted the Deployment.
    Deleted,
    /// Baton set the replica count to zero.
    Suspended,
    /// Baton restored the replica count from zero.
    Resumed,
}

impl Occurrence {
    /// All of them.
    pub fn all() -> &'static [Self] {
        Self::value_variants()
    }

    /// A short text.
    pub fn text(self) -> &'static str {
        match self {
            Self::HandedOver => "an autoscaler took over from the temporary manager",
            Self::TakenBack => "Baton took over the live replica count",
            Self::Released => "Baton released the previous owners",
            Self::Set => "Baton set the replica count of the spec",
            Self::Conflict => "a write got a conflict",
            Self::RefusedByGuard => "a write was refused by its guard",
            Self::LateWriteRefused => "a late write was refused",
            Self::LateWriteCounted => "a late write was stored",
            Self::SawANewerSpec => "a pass found a newer spec",
            Self::ScaledAfterItsDeletion => "an autoscaler wrote after its deletion",
            Self::ResetByTheRogue => "the rogue released as the only owner",
            Self::Deleted => "the Deployment was deleted",
            Self::Suspended => "Baton set the replica count to zero",
            Self::Resumed => "Baton restored the replica count",
        }
    }
}

/// How often each occurrence happened, on all paths together.
#[derive(Clone, Debug, Default)]
pub struct Occurrences(BTreeMap<Occurrence, u64>);

impl Occurrences {
    /// How often an occurrence happened.
    pub fn of(&self, occurrence: Occurrence) -> u64 {
        self.0.get(&occurrence).copied().unwrap_or_default()
    }

    /// All of them, with how often each happened.
    pub fn iter(&self) -> impl Iterator<Item = (Occurrence, u64)> {
        Occurrence::all().iter().map(|occurrence| (*occurrence, self.of(*occurrence)))
    }

    /// Adds those of another exploration.
    pub fn add(&mut self, other: &Self) {
        for (occurrence, times) in &other.0 {
            *self.0.entry(*occurrence).or_default() += times;
        }
    }

    pub(super) fn note(&mut self, occurrence: Occurrence) {
        *self.0.entry(occurrence).or_default() += 1;
    }

    /// Notes what a write to the Deployment did with its replica count. `hands_off` is whether the spec leaves it to others.
    pub(crate) fn moved(
        &mut self,
        hands_off: bool,
        before: Option<&Replicas>,
        after: &Replicas,
        by_baton: bool,
    ) {
        let Some(before) = before else { return };
        let (was, is) = (&before.owners, &after.owners);
        let stays = before.count == after.count;
        let occurrence = match by_baton {
            false if was.temporary && !is.temporary && !is.scale.is_empty() && !hands_off => {
                Occurrence::HandedOver
            }
            false if !stays && !is_owned(after) => Occurrence::ResetByTheRogue,
            true if stays && !was.baton && is.baton && scaler_owns(before) => Occurrence::TakenBack,
            true if stays && is.baton && scaler_owns(before) && !scaler_owns(after) => Occurrence::Released,
            true if !stays && after.count == 0 => Occurrence::Suspended,
            true if !stays && before.count == 0 => Occurrence::Resumed,
            true if !stays && is.baton => Occurrence::Set,
            _ => return,
        };
        self.note(occurrence);
    }
}
