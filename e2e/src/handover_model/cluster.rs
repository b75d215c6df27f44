//! The state of the cluster, small enough to be compared and hashed a million times.

use baton_controller::decide::replicas::{Wanted, Whose};

use super::server::ObjectId;

/// Everything that a pass decides from, as the API server has it or as the operator's caches show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cluster {
    /// The Workload's spec.
    pub spec: Spec,
    /// The Workload's `metadata.generation`, which every edit increments.
    pub generation: u8,
    /// The Deployment.
    pub deployment: Option<ObjectId>,
    /// Baton's own HorizontalPodAutoscaler.
    pub own: Option<ObjectId>,
    /// Whether another HorizontalPodAutoscaler than Baton's scales the Deployment.
    pub theirs: bool,
    /// The Deployment's replica count as the Workload's status records it, in configurations that need it.
    pub recorded: Option<i32>,
}

impl Cluster {
    /// A Workload with an empty spec, without children.
    pub(super) const NOTHING: Self = Self {
        spec: Spec::HandsOff,
        generation: 0,
        deployment: None,
        own: None,
        theirs: false,
        recorded: None,
    };

    /// Whether this autoscaler's object exists.
    pub(super) fn has(&self, scaler: Scaler) -> bool {
        match scaler {
            Scaler::Own => self.own.is_some(),
            Scaler::Theirs => self.theirs,
        }
    }

    /// Copies a part from another view.
    pub(super) fn take(&mut self, part: Part, from: &Self) {
        match part {
            Part::Workload => {
                (self.spec, self.generation, self.recorded) = (from.spec, from.generation, from.recorded);
            }
            Part::Deployment => self.deployment = from.deployment,
            Part::Autoscalers => (self.own, self.theirs) = (from.own, from.theirs),
        }
    }
}

/// The Workload's spec, as far as it is about the replica count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Spec {
    /// `spec.replicas` alone.
    Number(i32),
    /// Neither `spec.replicas` nor `spec.autoscaling`.
    HandsOff,
    /// `spec.autoscaling`, so that Baton creates an autoscaler.
    Own,
    /// `spec.autoscaling.external`.
    External,
    /// Like `Own`, and suspended.
    Suspended,
}

impl Spec {
    /// The same, as the operator reads it from a Workload.
    pub(super) fn wanted(self) -> Wanted {
        match self {
            Self::Number(number) => Wanted::Fixed(number),
            Self::HandsOff => Wanted::HandsOff,
            Self::Own => Wanted::Autoscaler { start: START, whose: Whose::Own { min_replicas: START } },
            Self::External => Wanted::Autoscaler { start: START, whose: Whose::External },
            Self::Suspended => Wanted::Suspended,
        }
    }
}

/// The objects of one watch, which lag behind together. One watch delivers all HorizontalPodAutoscalers.
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

/// An autoscaler with a HorizontalPodAutoscaler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scaler {
    /// Baton's own one, which writes as `kube-controller-manager`.
    Own,
    /// Another one, on a platform on which autoscalers write under another name.
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

    /// The replica counts that it may choose.
    pub(super) fn numbers(self) -> &'static [i32] {
        match self {
            Self::Own => &[4, 6],
            Self::Theirs => &[5],
        }
    }
}

/// The replica count from which Baton's autoscaler starts, and its minimum.
pub(super) const START: i32 = 2;
/// The replica count that a user sets with `kubectl scale`.
pub(super) const BY_HAND: i32 = 7;
/// The replica count that the rogue applies.
pub(super) const ROGUES: i32 = 8;
/// The default that the server sets for a replica count without an owner. No other write sets it, so that it is recognized.
pub(crate) const RESET: i32 = 1;
