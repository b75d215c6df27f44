//! What is promised, and whether a step keeps it.
//!
//! Most of it is about a single write of Baton's and is judged as that write is carried out, by the server's truth before and
//! after it, whatever the operator believed. The rest is about states.

use baton_controller::decide::replicas::Wanted;
use clap::ValueEnum;

use super::{
    cluster::RESET,
    server::{Number, is_held, is_on_its_way},
    state::Broken,
};

/// A write of Baton's to the Deployment, as it is judged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JudgedWrite {
    /// What the Workload asks for that it was planned from.
    pub(crate) wanted: Wanted,
    /// The Deployment's number as the status told it.
    pub(crate) told: Option<i32>,
    /// The Deployment's number as it was read.
    pub(crate) read: Option<i32>,
}

/// A promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, ValueEnum)]
pub enum Promise {
    /// Nobody ever sees a number that nobody asked for: what the server resets it to. Only the rogue, letting go of a number
    /// that it alone holds, brings that about.
    NoReset,
    /// A write of Baton's changes the number only to the `spec.replicas` of the Workload that it was planned from, which has no
    /// autoscaling; or to zero, if that is suspended, and back; or it creates the Deployment with the number that it had, or
    /// with what the autoscaler is to start from. So it lowers no other number.
    OnlyToTheSpec,
    /// A write of Baton's changes the number only from what Baton has read: it undoes no number that anybody wrote since.
    OnlyFromWhatWasRead,
    /// A write of Baton's changes no number that whoever scales, or the temporary manager, holds. It is taken over first, as it is.
    NotWhileOthersHold,
    /// A number that somebody holds is still held by somebody after a write of Baton's.
    NeverLetGoAlone,
    /// What a write of Baton's takes to zero says which number comes back.
    ComesBack,
    /// While Baton's own autoscaler is there, Baton doesn't hold the number: one of the two at a time may change it. A write
    /// that arrives late, after its sender gave it up, may make an exception, and so does a Deployment that is made anew under
    /// its autoscaler: then Baton lets go next.
    OneAtATime,
    /// From every state the operator alone comes to rest, and at rest the number is whose it should be.
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
            Self::NoReset => "nobody sees a number that nobody asked for",
            Self::OnlyToTheSpec => "Baton changes the number only to its spec's",
            Self::OnlyFromWhatWasRead => "Baton changes the number only from what it has read",
            Self::NotWhileOthersHold => "Baton changes no number that others hold on its way",
            Self::NeverLetGoAlone => "Baton never lets go alone",
            Self::ComesBack => "a number that is suspended comes back",
            Self::OneAtATime => "Baton holds no number that its autoscaler scales",
            Self::Rest => "the operator alone comes to rest, as the spec says",
        }
    }

    fn bit(self) -> u16 {
        1 << self as u16
    }
}

impl Broken {
    /// Whether what has happened broke something. A state from which the operator wouldn't come to rest is one in which
    /// nothing has happened yet.
    pub fn has_happened(self) -> bool {
        self.0 & !Promise::Rest.bit() != 0
    }

    /// Whether a promise was broken.
    pub fn has(self, promise: Promise) -> bool {
        self.0 & promise.bit() != 0
    }

    /// What both break.
    pub(crate) fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    pub(crate) fn note(&mut self, promise: Promise, is_broken: bool) {
        if is_broken {
            self.0 |= promise.bit();
        }
    }
}

/// What a write to the Deployment broke, by its number before and after. Without a `sent` it was somebody else's; `rogue` tells
/// whether it was the rogue's.
pub(crate) fn judge(
    before: Option<Number<'_>>,
    after: Number<'_>,
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
    let (Some(before), Some(held)) = (before, owners) else { return broken };
    broken.note(Promise::OnlyFromWhatWasRead, changes && sent.read != Some(held.count));
    broken.note(Promise::NotWhileOthersHold, changes && is_on_its_way(held));
    broken.note(Promise::NeverLetGoAlone, is_held(held) && !is_held(after.replicas));
    let comes_back = if changes { Some(held.count) } else { before.to_resume };
    broken.note(Promise::ComesBack, number == 0 && after.to_resume != comes_back);
    broken
}

/// What a write of Baton's may set the number to.
fn says(sent: &JudgedWrite, before: Option<Number<'_>>) -> Option<i32> {
    let told = sent.told.filter(|number| *number > 0);
    match (sent.wanted, before) {
        (Wanted::Number(number), _) => Some(number),
        (Wanted::Suspended, _) => Some(0),
        (Wanted::Autoscaler { start, .. }, None) => told.or(Some(start)),
        (Wanted::HandsOff, None) => told.or(Some(RESET)),
        (_, Some(before)) if before.replicas.count > 0 => None,
        (Wanted::HandsOff, Some(before)) => before.to_resume,
        (Wanted::Autoscaler { start, .. }, Some(before)) => before.to_resume.or(Some(start)),
    }
}
