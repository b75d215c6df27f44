//! A state of the model, and what may happen in it.

use std::str::FromStr;

use super::{
    cluster::{Cluster, Part, Scaler, Spec},
    operator::{HeldBack, PassId, Sent},
};

/// A state of the whole: the cluster, what the operator's caches show of it, what the operator is at, and what is on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct State {
    /// What the API server has.
    pub cluster: Cluster,
    /// What the operator's caches show.
    pub cached: Cluster,
    /// What the operator is at.
    pub operator: OperatorState,
    /// A write whose sender gave it up, and which may still arrive and count. One that is guarded and whose object was
    /// written since isn't kept: it would be refused.
    pub late: Option<Sent>,
    /// Writes of autoscalers that have read the number as it is and may still write another one, though their
    /// HorizontalPodAutoscaler is gone.
    pub under_way: UnderWay,
    /// Whether Baton holds the number by a write that arrived late, or because it made the Deployment: until it lets go, its
    /// autoscaler may be there too.
    pub may_hold: bool,
    /// Whether Baton's autoscaler was made by a write that arrived late.
    pub own_is_late: bool,
    /// How many autoscalers Baton has made: each has a uid of its own.
    pub made: u8,
    /// What may still happen.
    pub left: Budgets,
    /// What the last step broke.
    pub broken: Broken,
}

/// What the operator is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OperatorState {
    /// It waits for its next pass.
    Idle(HeldBack),
    /// It is in a pass.
    Pass(PassId),
}

/// Whose write is under way while no HorizontalPodAutoscaler of theirs is there any more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct UnderWay {
    pub(super) own: bool,
    pub(super) theirs: bool,
}

impl UnderWay {
    pub(super) fn has(self, scaler: Scaler) -> bool {
        match scaler {
            Scaler::Own => self.own,
            Scaler::Theirs => self.theirs,
        }
    }
}

/// How often each disturbance may happen. They bound the space.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Budgets {
    /// Edits of the Workload.
    pub edits: u8,
    /// Writes of autoscalers.
    pub scalings: u8,
    /// `kubectl scale`.
    pub by_hand: u8,
    /// Times that the rogue takes the number. It may let go of it at any time.
    pub rogue: u8,
    /// Times that somebody creates or deletes a HorizontalPodAutoscaler of their own.
    pub others: u8,
    /// Requests or responses that are lost, without harm to the operator.
    pub losses: u8,
    /// Crashes.
    pub crashes: u8,
    /// Writes that arrive only after their sender gave them up, in a crash or a loss.
    pub late: u8,
    /// Passes that send also what would change nothing.
    pub resyncs: u8,
    /// Deletions of the Deployment.
    pub deletions: u8,
}

impl FromStr for Allowance {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, times) = text.split_once('=').ok_or("write it as NAME=TIMES")?;
        let times = times.parse().map_err(|error| format!("{times:?} is no small number: {error}"))?;
        if Budgets::default().named(name).is_none() {
            return Err(format!("there is no disturbance {name:?}, but {}", Budgets::NAMES.join(", ")));
        }
        Ok(Self { name: name.to_owned(), times })
    }
}

/// How often one disturbance may happen, written as `edits=2`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allowance {
    name: String,
    times: u8,
}

impl Budgets {
    const NAMES: [&str; 10] = [
        "edits",
        "scalings",
        "by-hand",
        "rogue",
        "others",
        "losses",
        "crashes",
        "late",
        "resyncs",
        "deletions",
    ];

    /// Lets a disturbance happen so often.
    pub fn allow(&mut self, allowance: &Allowance) {
        if let Some(times) = self.named(&allowance.name) {
            *times = allowance.times;
        }
    }

    fn named(&mut self, name: &str) -> Option<&mut u8> {
        let Self { edits, scalings, by_hand, rogue, others, losses, crashes, late, resyncs, deletions } =
            self;
        let all = [edits, scalings, by_hand, rogue, others, losses, crashes, late, resyncs, deletions];
        Self::NAMES.into_iter().zip(all).find(|(known, _)| *known == name).map(|(_, times)| times)
    }
}

/// What a step broke, a bit for each property.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Broken(pub(super) u16);

/// Something that may happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// A cache catches up.
    CatchUp(Part),
    /// The operator begins a pass from what its caches show.
    Begin {
        /// Whether it sends also what would change nothing.
        for_real: bool,
    },
    /// The operator makes the next request of its pass.
    Request(Fate),
    /// The operator has waited long enough after a failure.
    TryAgain,
    /// A write arrives whose sender gave it up.
    Arrive,
    /// Somebody edits the Workload.
    Edit(Spec),
    /// An autoscaler writes another number.
    Scale(Scaler, i32),
    /// `kubectl scale`.
    ByHand,
    /// The rogue force-applies its number.
    RogueTakes,
    /// The rogue applies nothing any more.
    RogueLetsGo,
    /// Somebody creates a HorizontalPodAutoscaler of their own.
    OthersCreate,
    /// Somebody deletes it.
    OthersDelete,
    /// Somebody deletes the Deployment.
    Delete,
}

/// What becomes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fate {
    /// It is carried out, and the response arrives.
    Responded,
    /// It never arrives, and its sender gives it up.
    Lost,
    /// It is carried out, and its response never arrives.
    ResponseLost,
    /// Its sender gives it up, and it is carried out later, or never.
    Late,
    /// The operator crashes before it.
    CrashBefore,
    /// The operator crashes after it was carried out.
    CrashAfter,
    /// The operator crashes, and it is carried out later, or never.
    CrashLate,
}

impl Fate {
    pub(super) fn crashes(self) -> bool {
        matches!(self, Self::CrashBefore | Self::CrashAfter | Self::CrashLate)
    }
}
