//! What one pass of the loop has seen.
//!
//! Plain data, filled from caches that watches feed and from the answers to [`crate::act`].

use std::{collections::BTreeMap, sync::Arc};

use baton_crd::{Adoption, Workload};
use kube::ResourceExt;

use crate::{
    autoscalers::Autoscaler,
    child::ChildKind,
    handover::{self, Decision, Seen, Wanted, Whose},
    live::Live,
};

/// A Workload and its live children.
#[derive(Clone, Debug)]
pub struct Observed {
    /// The Workload.
    pub workload: Arc<Workload>,
    /// The live objects that bear a child's name, whoever made them.
    pub children: BTreeMap<ChildKind, Live>,
    /// The HorizontalPodAutoscalers that scale the Deployment, whoever made them.
    pub autoscalers: Vec<Autoscaler>,
}

impl Observed {
    /// The Workload's uid; every object that was stored has one.
    pub fn uid(&self) -> String {
        self.workload.uid().unwrap_or_default()
    }

    /// The live child of this kind if it is this Workload's.
    pub fn own(&self, kind: ChildKind) -> Option<&Live> {
        self.children.get(&kind).filter(|live| live.is_controlled_by(&self.uid()))
    }

    /// The live object of this kind if it bears the child's name but isn't this Workload's.
    pub fn foreign(&self, kind: ChildKind) -> Option<&Live> {
        self.children.get(&kind).filter(|live| !live.is_controlled_by(&self.uid()))
    }

    /// Puts a child as it is now in the place of what was seen before; none where it is gone.
    pub fn put(&mut self, kind: ChildKind, live: Option<Live>) {
        match live {
            Some(live) => self.children.insert(kind, live),
            None => self.children.remove(&kind),
        };
    }

    /// The HorizontalPodAutoscalers that scale the Deployment and aren't this Workload's, nor about to be.
    pub fn others_autoscalers(&self) -> Vec<Autoscaler> {
        let (uid, name) = (self.uid(), self.workload.name_any());
        let is_to_be_adopted = |one: &Autoscaler| {
            one.name == name
                && self.workload.spec.adoption == Adoption::Adopt
                && wants(&self.workload, ChildKind::Autoscaler)
        };
        let is_others = |one: &&Autoscaler| !one.is_controlled_by(&uid) && !is_to_be_adopted(one);
        self.autoscalers.iter().filter(is_others).cloned().collect()
    }

    /// The names of all HorizontalPodAutoscalers that scale the Deployment.
    pub fn autoscaler_names(&self) -> Vec<String> {
        let own = self.own(ChildKind::Autoscaler).map(ResourceExt::name_any);
        let mut names: Vec<String> =
            self.others_autoscalers().into_iter().map(|other| other.name).chain(own).collect();
        names.sort();
        names
    }

    /// What the handover decides for it.
    pub fn decision(&self) -> Decision {
        let seen = Seen {
            deployment: self.own(ChildKind::Deployment),
            own_autoscaler: self.own(ChildKind::Autoscaler).is_some(),
            others: &self.others_autoscalers(),
        };
        handover::decide(wanted_replicas(&self.workload), &seen)
    }
}

/// Who this Workload wants to decide the number of replicas.
pub fn wanted_replicas(workload: &Workload) -> Wanted {
    match (&workload.spec.autoscaling, workload.spec.replicas) {
        (Some(autoscaling), replicas) => Wanted::Autoscaler {
            start: replicas.or(autoscaling.min_replicas).unwrap_or(1),
            whose: match autoscaling.external {
                Some(_) => Whose::External,
                None => Whose::Own { min_replicas: autoscaling.min_replicas.unwrap_or(1) },
            },
        },
        (None, Some(replicas)) => Wanted::Number(replicas),
        (None, None) => Wanted::HandsOff,
    }
}

/// Whether the Workload asks for a child of this kind.
pub fn wants(workload: &Workload, kind: ChildKind) -> bool {
    match kind {
        ChildKind::Deployment => true,
        ChildKind::Service => workload.spec.service.is_some(),
        ChildKind::Autoscaler => {
            matches!(wanted_replicas(workload), Wanted::Autoscaler { whose: Whose::Own { .. }, .. })
        }
        ChildKind::DisruptionBudget => workload.spec.disruption_budget.is_some(),
    }
}
