//! The promises, and whether a step keeps them.
//!
//! Most are about a single write of Baton's. They are judged when that write is carried out, by the live object before and after
//! it. The rest are about states.

use baton_controller::decide::replicas::Wanted;
use clap::ValueEnum;

use super::{
    cluster::RESET,
    server::{JudgedReplicas, is_owned, scaler_owns},
    state::Broken,
};

/// A write of Baton's to the Deployment, as it is judged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JudgedWrite {
    /// The spec that it was planned from.
    pub(crate) wanted: Wanted,
    /// The Deployment's replica count as the status recorded it.
    pub(crate) recorded: Option<i32>,
    /// The Deployment's replica count as it was read.
    pub(crate) read: Option<i32>,
}

/// A promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, ValueEnum)]
pub enum Promise {
    /// The server never resets the replica count to its default. The only exception is the rogue, which may release a replica
    /// count as its only owner.
    NoReset,
    /// Baton's write changes the replica count only in these ways: to the `spec.replicas` of the Workload that it was planned from,
    /// if that has no autoscaling; to zero, if it is suspended, and back; or it creates the Deployment with its previous replica
    /// count, or with the start of the autoscaler.
    OnlyToTheSpec,
    /// Baton's write changes the replica count only if Baton has read the live one: it never reverts a write that it hasn't read.
    OnlyFromWhatWasRead,
    /// Baton's write changes no replica count that an autoscaler or the temporary manager owns. Baton takes it over first, without
    /// changing it.
    NotWhileOthersOwn,
    /// A replica count with an owner still has an owner after Baton's write.
    NeverUnowned,
    /// When Baton's write sets the replica count to zero, the object records the one to restore.
    ComesBack,
    /// While Baton's own autoscaler exists, Baton doesn't own the replica count. There are two exceptions, after which Baton
    /// releases it next: a write that arrives after its sender has given it up, and a Deployment that is created under its
    /// autoscaler.
    OneAtATime,
    /// From every state, the operator alone comes to rest, and then the replica count has the owner that it should have.
    Rest,
}

impl Promise {
    /// All of them.
    pub fn all() -> &'static [Self] {
        Self::value_variants()
    }

    /// A short text.
    pub fn name(self) -> &'static str {
        match self {
            Self::NoReset => "the server never resets the replica count",
            Self::OnlyToTheSpec => "Baton changes the replica count only to its spec's",
            Self::OnlyFromWhatWasRead => "Baton changes the replica count only from what it has read",
            Self::NotWhileOthersOwn => "Baton changes no replica count that an autoscaler owns",
            Self::NeverUnowned => "Baton never leaves the replica count without an owner",
            Self::ComesBack => "a suspended replica count can be restored",
            Self::OneAtATime => "Baton owns no replica count that its autoscaler scales",
            Self::Rest => "the operator alone comes to rest, as the spec says",
        }
    }

    fn bit(self) -> u16 {
        1 << self as u16
    }
}

impl Broken {
    /// Whether something that happened broke a promise. A state from which the operator wouldn't come to rest doesn't count:
    /// nothing has happened yet.
    pub fn has_happened(self) -> bool {
        self.0 & !Promise::Rest.bit() != 0
    }

    /// Whether a promise was broken.
    pub fn has(self, promise: Promise) -> bool {
        self.0 & promise.bit() != 0
    }

    /// The promises that both break.
    pub(crate) fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    pub(crate) fn note(&mut self, promise: Promise, is_broken: bool) {
        if is_broken {
            self.0 |= promise.bit();
        }
    }
}

/// The promises that a write to the Deployment broke, by its replica count before and after. Without `sent` it wasn't Baton's. `rogue` is
/// whether it was the rogue's.
pub(crate) fn judge(
    before: Option<JudgedReplicas<'_>>,
    after: JudgedReplicas<'_>,
    sent: Option<&JudgedWrite>,
    rogue: bool,
) -> Broken {
    let mut broken = Broken::default();
    let (number, owners) = (after.replicas.count, before.map(|before| before.replicas));
    let changes = owners.is_none_or(|before| before.count != number);
    let says = sent.and_then(|sent| says(sent, before));
    broken.note(Promise::NoReset, changes && number == RESET && !rogue && says != Some(RESET));
    let Some(sent) = sent else { return broken };
    broken.note(Promise::OnlyToTheSpec, changes && says != Some(number));
    let (Some(before), Some(was)) = (before, owners) else { return broken };
    broken.note(Promise::OnlyFromWhatWasRead, changes && sent.read != Some(was.count));
    broken.note(Promise::NotWhileOthersOwn, changes && scaler_owns(was));
    broken.note(Promise::NeverUnowned, is_owned(was) && !is_owned(after.replicas));
    let comes_back = if changes { Some(was.count) } else { before.to_resume };
    broken.note(Promise::ComesBack, number == 0 && after.to_resume != comes_back);
    broken
}

/// The replica counts that Baton's write may set.
fn says(sent: &JudgedWrite, before: Option<JudgedReplicas<'_>>) -> Option<i32> {
    let recorded = sent.recorded.filter(|number| *number > 0);
    match (sent.wanted, before) {
        (Wanted::Fixed(number), _) => Some(number),
        (Wanted::Suspended, _) => Some(0),
        (Wanted::Autoscaler { start, .. }, None) => recorded.or(Some(start)),
        (Wanted::HandsOff, None) => recorded.or(Some(RESET)),
        (_, Some(before)) if before.replicas.count > 0 => None,
        (Wanted::HandsOff, Some(before)) => before.to_resume,
        (Wanted::Autoscaler { start, .. }, Some(before)) => before.to_resume.or(Some(start)),
    }
}
