//! What there is in the cluster, small enough to be compared and hashed a million times.

use baton_controller::decide::replicas::{Wanted, Whose};

use super::server::ObjectId;

/// Everything that a pass rests on: what the API server has of it, or what the operator's caches show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cluster {
    /// What the Workload asks for.
    pub spec: Spec,
    /// The Workload's `metadata.generation`: every edit counts it up.
    pub generation: u8,
    /// The Deployment.
    pub deployment: Option<ObjectId>,
    /// Baton's own HorizontalPodAutoscaler.
    pub own: Option<ObjectId>,
    /// Whether somebody else's HorizontalPodAutoscaler scales the Deployment.
    pub theirs: bool,
    /// The Deployment's number as the Workload's status tells it, where that is ever asked for.
    pub told: Option<i32>,
}

impl Cluster {
    /// A Workload that asks for nothing, and nothing of what it could lead to.
    pub(super) const NOTHING: Self =
        Self { spec: Spec::HandsOff, generation: 0, deployment: None, own: None, theirs: false, told: None };

    /// Whether this autoscaler's object is there.
    pub(super) fn has(&self, scaler: Scaler) -> bool {
        match scaler {
            Scaler::Own => self.own.is_some(),
            Scaler::Theirs => self.theirs,
        }
    }

    /// Takes over what another view shows of a part.
    pub(super) fn take(&mut self, part: Part, from: &Self) {
        match part {
            Part::Workload => {
                (self.spec, self.generation, self.told) = (from.spec, from.generation, from.told);
            }
            Part::Deployment => self.deployment = from.deployment,
            Part::Autoscalers => (self.own, self.theirs) = (from.own, from.theirs),
        }
    }
}

/// Who is to decide the number, as the Workload says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Spec {
    /// `spec.replicas` alone.
    Number(i32),
    /// Neither `spec.replicas` nor `spec.autoscaling`.
    HandsOff,
    /// `spec.autoscaling` with an autoscaler of Baton's.
    Own,
    /// `spec.autoscaling.external`.
    External,
    /// As `Own`, and suspended.
    Suspended,
}

impl Spec {
    /// The same, as the operator reads it off a Workload.
    pub(super) fn wanted(self) -> Wanted {
        match self {
            Self::Number(number) => Wanted::Number(number),
            Self::HandsOff => Wanted::HandsOff,
            Self::Own => Wanted::Autoscaler { start: START, whose: Whose::Own { min_replicas: START } },
            Self::External => Wanted::Autoscaler { start: START, whose: Whose::External },
            Self::Suspended => Wanted::Suspended,
        }
    }
}

/// What one watch feeds, and so what lags behind together. Baton's own HorizontalPodAutoscaler and those of others come by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// The Workload.
    Workload,
    /// The Deployment.
    Deployment,
    /// The HorizontalPodAutoscalers.
    Autoscalers,
}

impl Part {
    pub(super) const ALL: [Self; 3] = [Self::Workload, Self::Deployment, Self::Autoscalers];
}

/// Who scales by a HorizontalPodAutoscaler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scaler {
    /// Baton's own one, which writes as `kube-controller-manager`.
    Own,
    /// Somebody else's, on a platform on which autoscalers write under another name.
    Theirs,
}

impl Scaler {
    pub(super) const ALL: [Self; 2] = [Self::Own, Self::Theirs];

    /// The field manager.
    pub(super) fn manager(self) -> &'static str {
        match self {
            Self::Own => "kube-controller-manager",
            Self::Theirs => "their-autoscaler",
        }
    }

    /// The numbers that it may choose.
    pub(super) fn numbers(self) -> &'static [i32] {
        match self {
            Self::Own => &[4, 6],
            Self::Theirs => &[5],
        }
    }
}

/// The number from which an autoscaler of Baton's starts, and the least that it may choose.
pub(super) const START: i32 = 2;
/// What somebody asks for with `kubectl scale`.
pub(super) const BY_HAND: i32 = 7;
/// What the rogue applies.
pub(super) const ROGUES: i32 = 8;
/// What the server makes of a number that nobody holds any more. Nobody ever asks for it, so that it shows.
pub(crate) const RESET: i32 = 1;
