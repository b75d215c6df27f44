//! The snapshot of a pass: a Workload and its live children, from caches and from the server's responses. Plain data.

use std::{collections::BTreeMap, sync::Arc};

use baton_apply::LiveObject;
use baton_crd::{Workload, labels};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{Resource as _, ResourceExt};

use super::{autoscaler::Autoscaler, child::ChildKind, owners::Replicas};

/// A Workload and its live children.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The Workload.
    pub workload: Arc<Workload>,
    /// The HorizontalPodAutoscalers that scale the Deployment, whatever created them.
    pub autoscalers: Vec<Autoscaler>,
    /// The live objects that bear a child's name, whatever created them.
    children: BTreeMap<ChildKind, LiveObject>,
    /// The live Deployment's replica count and its owners.
    replicas: Option<Replicas>,
}

impl Snapshot {
    /// A Workload with these live objects that bear a child's name.
    pub fn new(
        workload: Arc<Workload>,
        children: BTreeMap<ChildKind, LiveObject>,
        autoscalers: Vec<Autoscaler>,
    ) -> Self {
        let replicas = children.get(&ChildKind::Deployment).map(Replicas::of);
        Self { workload, autoscalers, children, replicas }
    }

    /// The Workload's uid; every object that was stored has one.
    pub fn uid(&self) -> String {
        self.workload.uid().unwrap_or_default()
    }

    /// The live object that has a child's name, whatever created it.
    pub fn child(&self, kind: ChildKind) -> Option<&LiveObject> {
        self.children.get(&kind)
    }

    /// The live child of this kind if it is this Workload's.
    pub fn own(&self, kind: ChildKind) -> Option<&LiveObject> {
        self.child(kind).filter(|live| live.is_controlled_by(&self.uid()))
    }

    /// The kinds of the live children that are this Workload's.
    pub fn own_children(&self) -> impl Iterator<Item = ChildKind> {
        ChildKind::ALL.into_iter().filter(|kind| self.own(*kind).is_some())
    }

    /// The live object of this kind if it bears the child's name but isn't this Workload's.
    pub fn foreign(&self, kind: ChildKind) -> Option<&LiveObject> {
        self.child(kind).filter(|live| !live.is_controlled_by(&self.uid()))
    }

    /// Whether the last writer of the object in a child's place wasn't this Workload's shard: the object isn't the Workload's, or bears
    /// the label of another shard.
    pub fn is_of_other_shard(&self, kind: ChildKind) -> bool {
        self.child(kind).is_some_and(|live| {
            !live.is_controlled_by(&self.uid()) || shard_of(live.meta()) != shard_of(&self.workload.metadata)
        })
    }

    /// The replica count of the Workload's Deployment and its owners.
    pub fn replicas(&self) -> Option<&Replicas> {
        self.own(ChildKind::Deployment).and(self.replicas.as_ref())
    }

    /// Replaces a child by a newer read of it; none where it is gone.
    pub fn put(&mut self, kind: ChildKind, live: Option<LiveObject>) {
        if kind == ChildKind::Deployment {
            self.replicas = live.as_ref().map(Replicas::of);
        }
        match live {
            Some(live) => self.children.insert(kind, live),
            None => self.children.remove(&kind),
        };
    }
}

/// The shard that an object's label names; none where it has no such label.
pub fn shard_of(metadata: &ObjectMeta) -> Option<&str> {
    metadata.labels.as_ref()?.get(labels::SHARD).map(String::as_str)
}
