//! What has happened while the model was explored. A model in which nothing happens keeps every promise.

use std::collections::BTreeMap;

use baton_controller::decide::replicas::Replicas;
use clap::ValueEnum;

use super::{
    cluster::Spec,
    server::{is_held, is_on_its_way},
};

/// Something that should happen now and then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, ValueEnum)]
pub enum Occurrence {
    /// An autoscaler's write took the number from Baton's temporary manager.
    HandedOver,
    /// Baton took a number over that was scaled or on its way, as it was.
    TakenBack,
    /// Baton released those who held the number before.
    Released,
    /// Baton set the number that the spec says.
    Set,
    /// A write of Baton's met a conflict with other owners.
    Conflict,
    /// A write of Baton's was refused because the object wasn't what it had read.
    RefusedByGuard,
    /// A write that arrived late was refused.
    LateWriteRefused,
    /// A write that arrived late counted.
    LateWriteCounted,
    /// A pass found that its spec isn't the newest.
    SawANewerSpec,
    /// An autoscaler wrote after its HorizontalPodAutoscaler was deleted.
    ScaledAfterItsDeletion,
    /// The rogue let go alone, and the server reset the number.
    ResetByTheRogue,
    /// Somebody deleted the Deployment.
    Deleted,
    /// Baton took the number to zero.
    Suspended,
    /// Baton brought the number back from zero.
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
            Self::HandedOver => "an autoscaler took the number from the temporary manager",
            Self::TakenBack => "Baton took the live number back",
            Self::Released => "Baton released those who held it before",
            Self::Set => "Baton set the spec's number",
            Self::Conflict => "a write met other owners",
            Self::RefusedByGuard => "a write was refused by its guard",
            Self::LateWriteRefused => "a late write was refused",
            Self::LateWriteCounted => "a late write counted",
            Self::SawANewerSpec => "a pass found a newer spec",
            Self::ScaledAfterItsDeletion => "an autoscaler wrote after its deletion",
            Self::ResetByTheRogue => "the rogue let go alone",
            Self::Deleted => "the Deployment was deleted",
            Self::Suspended => "Baton took the number to zero",
            Self::Resumed => "Baton brought the number back",
        }
    }
}

/// How often each occurrence happened, on all ways together.
#[derive(Clone, Debug, Default)]
pub struct Occurrences(BTreeMap<Occurrence, u64>);

impl Occurrences {
    /// How often a occurrence happened.
    pub fn of(&self, occurrence: Occurrence) -> u64 {
        self.0.get(&occurrence).copied().unwrap_or_default()
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

    /// Notes what a write to the Deployment did with its number.
    pub(super) fn moved(&mut self, spec: Spec, before: Option<&Replicas>, after: &Replicas, by_baton: bool) {
        let Some(before) = before else { return };
        let (was, is) = (&before.owners, &after.owners);
        let stays = before.count == after.count;
        let occurrence = match by_baton {
            false if was.temporary && !is.temporary && !is.scale.is_empty() && spec != Spec::HandsOff => {
                Occurrence::HandedOver
            }
            false if !stays && !is_held(after) => Occurrence::ResetByTheRogue,
            true if stays && !was.baton && is.baton && is_on_its_way(before) => Occurrence::TakenBack,
            true if stays && is.baton && is_on_its_way(before) && !is_on_its_way(after) => {
                Occurrence::Released
            }
            true if !stays && after.count == 0 => Occurrence::Suspended,
            true if !stays && before.count == 0 => Occurrence::Resumed,
            true if !stays && is.baton => Occurrence::Set,
            _ => return,
        };
        self.note(occurrence);
    }
}
