//! What one pass of the loop has seen.
//!
//! Plain data, filled from caches that watches feed and from the answers to [`crate::act`]. Refuses to do I/O.

use std::{collections::BTreeMap, sync::Arc};

use baton_crd::Workload;
use kube::ResourceExt;

use crate::{
    child::ChildKind,
    handover::{Seen, Wanted},
    live::Live,
};

/// A Workload and its live children.
#[derive(Clone, Debug)]
pub struct Observed {
    /// The Workload.
    pub workload: Arc<Workload>,
    /// The live objects that bear a child's name, whoever made them.
    pub children: BTreeMap<ChildKind, Live>,
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

    /// The handover's view of it.
    pub fn replicas(&self) -> Seen<'_> {
        Seen {
            deployment: self.own(ChildKind::Deployment),
            autoscaler: self.own(ChildKind::Autoscaler).is_some(),
        }
    }
}

/// Who this Workload wants to decide the number of replicas.
pub fn wanted_replicas(workload: &Workload) -> Wanted {
    match (&workload.spec.autoscaling, workload.spec.replicas) {
        (Some(autoscaling), replicas) => Wanted::Autoscaler {
            start: replicas.or(autoscaling.min_replicas).unwrap_or(1),
            own: autoscaling.external.is_none(),
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
        ChildKind::Autoscaler => matches!(wanted_replicas(workload), Wanted::Autoscaler { own: true, .. }),
        ChildKind::DisruptionBudget => workload.spec.disruption_budget.is_some(),
    }
}
