//! A state of the model, and what may happen in it.

use std::str::FromStr;

use super::{
    cluster::{Cluster, Part, Scaler, Spec},
    operator::{HeldBack, PassId, Sent},
};

/// A state of the model: the cluster, what the operator's caches show of it, what the operator does, and what is on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct State {
    /// The objects of the API server.
    pub cluster: Cluster,
    /// The objects in the operator's caches.
    pub cached: Cluster,
    /// The activity of the operator.
    pub operator: OperatorState,
    /// A write that its sender has given up, and that may still arrive and be stored. It isn't kept if it is guarded and its object
    /// was written since: it would be refused.
    pub late: Option<Sent>,
    /// Writes of autoscalers that have read the replica count and may still write another one, though their
    /// HorizontalPodAutoscaler is gone.
    pub under_way: UnderWay,
    /// Whether Baton owns the replica count by a write that arrived late, or because it created the Deployment. Until it releases
    /// it, its autoscaler may exist too.
    pub may_own: bool,
    /// Whether a write that arrived late created Baton's autoscaler.
    pub own_is_late: bool,
    /// How many autoscalers Baton has created: each has a uid of its own.
    pub made: u8,
    /// The disturbances that may still happen.
    pub left: Budgets,
    /// The promises that the last step broke.
    pub broken: Broken,
}

/// The activity of the operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OperatorState {
    /// It waits for its next pass.
    Idle(HeldBack),
    /// It is in a pass.
    Pass(PassId),
}

/// The autoscalers with a write under way though their HorizontalPodAutoscaler is gone.
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
    /// How often the rogue takes over the replica count. It may release it at any time.
    pub rogue: u8,
    /// How often a user creates or deletes a HorizontalPodAutoscaler of their own.
    pub others: u8,
    /// Requests or responses that are lost, without a crash of the operator.
    pub losses: u8,
    /// Crashes.
    pub crashes: u8,
    /// Writes that arrive after their sender has given them up, in a crash or a loss.
    pub late: u8,
    /// Passes that also send writes that change nothing.
    pub resyncs: u8,
    /// Deletions of the Deployment.
    pub deletions: u8,
}

impl FromStr for Allowance {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, times) = text.split_once('=').ok_or("write it as NAME=TIMES")?;
        let times = times.parse().map_err(|error| format!("{times:?} isn't a small number: {error}"))?;
        if Budgets::default().named(name).is_none() {
            return Err(format!("there is no disturbance {name:?}; there are {}", Budgets::NAMES.join(", ")));
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

    /// Sets how often a disturbance may happen.
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

/// The promises that a step broke: a bit for each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Broken(pub(super) u16);

/// Something that may happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// A cache catches up.
    CatchUp(Part),
    /// The operator begins a pass from what its caches show.
    Begin {
        /// Whether it also sends writes that change nothing.
        for_real: bool,
    },
    /// The operator makes the next request of its pass.
    Request(Delivery),
    /// The operator has waited long enough after a failure.
    Retry,
    /// A write arrives after its sender has stopped waiting.
    Arrive,
    /// A user edits the Workload.
    Edit(Spec),
    /// An autoscaler writes another replica count.
    Scale(Scaler, i32),
    /// `kubectl scale`.
    ByHand,
    /// The rogue force-applies its replica count.
    RogueTakesOver,
    /// The rogue applies an empty intent.
    RogueReleases,
    /// A user creates a HorizontalPodAutoscaler of their own.
    OthersCreate,
    /// A user deletes it.
    OthersDelete,
    /// A user deletes the Deployment.
    Delete,
}

/// The delivery of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Delivery {
    /// It is carried out, and the response arrives.
    Responded,
    /// It never arrives, and its sender stops waiting.
    Lost,
    /// It is carried out, and its response never arrives.
    ResponseLost,
    /// Its sender stops waiting, and it is carried out later, or never.
    Late,
    /// The operator crashes before it.
    CrashBefore,
    /// The operator crashes after it was carried out.
    CrashAfter,
    /// The operator crashes, and it is carried out later, or never.
    CrashLate,
}

impl Delivery {
    pub(super) fn crashes(self) -> bool {
        matches!(self, Self::CrashBefore | Self::CrashAfter | Self::CrashLate)
    }
}
