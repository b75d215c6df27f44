//! What one pass of the loop has seen, as plain data: from caches, and from the server's responses.

use std::{collections::BTreeMap, sync::Arc};

use baton_apply::LiveObject;
use baton_crd::{Adoption, Workload, labels};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{Resource as _, ResourceExt};

use super::{
    child::ChildKind,
    replicas::{Autoscaler, Decision, Replicas, Scales, Seen, Wanted, Whose, decide, first_number},
};

/// The replica count of a Deployment without `spec.replicas`.
const SERVERS_DEFAULT: i32 = 1;

/// A Workload and its live children.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The Workload.
    pub workload: Arc<Workload>,
    /// The HorizontalPodAutoscalers that scale the Deployment, whatever created them.
    pub autoscalers: Vec<Autoscaler>,
    /// The live objects that bear a child's name, whatever created them.
    children: BTreeMap<ChildKind, LiveObject>,
    /// What the live Deployment's `managedFields` say of its replica count.
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

    /// Whether there is an object in a child's place that this Workload's shard hasn't written, or not as the last: it isn't the
    /// Workload's, or bears the label of another shard.
    pub fn is_of_other_shard(&self, kind: ChildKind) -> bool {
        self.child(kind).is_some_and(|live| {
            !live.is_controlled_by(&self.uid()) || shard_of(live.meta()) != shard_of(&self.workload.metadata)
        })
    }

    /// The replica count of the Workload's Deployment and its owners.
    pub fn replicas(&self) -> Option<&Replicas> {
        self.own(ChildKind::Deployment).and(self.replicas.as_ref())
    }

    /// Puts a child as it is now in the place of what was seen before; none where it is gone.
    pub fn put(&mut self, kind: ChildKind, live: Option<LiveObject>) {
        if kind == ChildKind::Deployment {
            self.replicas = live.as_ref().map(Replicas::of);
        }
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
        let is_others = |one: &&Autoscaler| {
            one.scales == Scales::Deployment && !one.is_controlled_by(&uid) && !is_to_be_adopted(one)
        };
        self.autoscalers.iter().filter(is_others).cloned().collect()
    }

    /// What is wrong with the HorizontalPodAutoscalers that an autoscaled Workload depends on, or that were meant for one without a
    /// replica count: they scale something else in vain, nothing at all, or were stopped. What has to change, as text.
    pub fn autoscalers_in_vain(&self) -> Option<String> {
        let whose = match wanted_replicas(&self.workload) {
            Wanted::Autoscaler { whose, .. } => Some(whose),
            Wanted::HandsOff => None,
            Wanted::Number(_) | Wanted::Suspended => return None,
        };
        let those = |is_it: &dyn Fn(&Autoscaler) -> bool| {
            let names: Vec<&str> =
                self.autoscalers.iter().filter(|one| is_it(one)).map(|one| one.name.as_str()).collect();
            (!names.is_empty()).then(|| names.join(", "))
        };
        let of_workload = those(&|one| one.scales == Scales::Workload).map(|names| {
            let why = match whose {
                Some(_) => ": the Workload's spec.replicas has no effect while spec.autoscaling is set",
                None => ", or for the Workload's spec.replicas: without it the Workload has no scale",
            };
            format!("{names} to target the Deployment{why}")
        });
        let stopped = || {
            let is_stopped = |one: &Autoscaler| one.scales == Scales::Deployment && one.is_ambiguous;
            let names = those(&is_stopped).filter(|_| whose.is_some())?;
            Some(format!(
                "another HorizontalPodAutoscaler to stop scaling the same pods: its target's selector overlaps the Deployment's, so \
                 Kubernetes has stopped both; the condition ScalingActive of {names} has the names"
            ))
        };
        let unresolved = || {
            let is_scaled = self.autoscalers.iter().any(|one| one.scales == Scales::Deployment);
            let mut nothing =
                self.autoscalers.iter().filter(|_| !matches!(whose, Some(Whose::Own { .. })) && !is_scaled);
            nothing.find_map(|one| match &one.scales {
                Scales::Nothing { target } => Some(format!(
                    "{} to target the kind Deployment of apps/v1: Kubernetes can't resolve {target}, so it scales nothing",
                    one.name
                )),
                Scales::Deployment | Scales::Workload => None,
            })
        };
        of_workload.or_else(stopped).or_else(unresolved)
    }

    /// The names of all HorizontalPodAutoscalers that scale the Deployment.
    pub fn autoscaler_names(&self) -> Vec<String> {
        let own = self.own(ChildKind::Autoscaler).map(ResourceExt::name_any);
        let mut names: Vec<String> =
            self.others_autoscalers().into_iter().map(|other| other.name).chain(own).collect();
        names.sort();
        names
    }

    /// The count that the Deployment had before it was suspended, by its annotation; or before it was deleted, by the
    /// status does.
    fn replicas_before(&self) -> Option<i32> {
        let before = match self.own(ChildKind::Deployment) {
            Some(live) => live.annotations().get(labels::REPLICAS_BEFORE_SUSPEND)?.parse().ok()?,
            None => self.workload.status.as_ref()?.replica_ownership.as_ref()?.value,
        };
        (before > 0).then_some(before)
    }

    /// The replica count to restore, while the Workload is suspended.
    pub fn replicas_to_resume(&self) -> Option<i32> {
        if wanted_replicas(&self.workload) != Wanted::Suspended {
            return None;
        }
        let count = self.replicas().map(|replicas| replicas.count).filter(|count| *count > 0);
        let first = || first_number(wanted_when_resumed(&self.workload), None).or(Some(SERVERS_DEFAULT));
        count.or_else(|| self.replicas_before()).or_else(first)
    }

    /// What is decided about the replica count.
    pub fn decision(&self) -> Decision {
        let seen = Seen {
            deployment: self.replicas(),
            own_autoscaler: self.own(ChildKind::Autoscaler).is_some(),
            others: &self.others_autoscalers(),
            before: self.replicas_before(),
        };
        decide(wanted_replicas(&self.workload), &seen)
    }
}

/// The shard that an object's label names; none where it has no such label.
pub fn shard_of(metadata: &ObjectMeta) -> Option<&str> {
    metadata.labels.as_ref()?.get(labels::SHARD).map(String::as_str)
}

/// Which owner the spec names for the replica count.
pub fn wanted_replicas(workload: &Workload) -> Wanted {
    if workload.spec.suspend == Some(true) { Wanted::Suspended } else { wanted_when_resumed(workload) }
}

fn wanted_when_resumed(workload: &Workload) -> Wanted {
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
