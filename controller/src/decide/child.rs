//! The kinds of children a Workload has.

use std::fmt;

use baton_apply::{LiveObject, Target};
use baton_crd::Workload;
use k8s_openapi::api::{
    apps::v1::{Deployment, DeploymentStatus},
    autoscaling::v2::HorizontalPodAutoscaler,
    core::v1::Service,
    policy::v1::PodDisruptionBudget,
};
use kube::{Resource as _, ResourceExt, core::ApiResource};

/// A kind of child. Every child has its Workload's name and namespace, so the kind identifies it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ChildKind {
    /// `apps/v1` Deployment: always there.
    Deployment,
    /// `v1` Service: where `spec.service` asks for it.
    Service,
    /// `autoscaling/v2` HorizontalPodAutoscaler: where `spec.autoscaling` asks for Baton's own.
    Autoscaler,
    /// `policy/v1` PodDisruptionBudget: where `spec.disruptionBudget` asks for it.
    DisruptionBudget,
}

impl ChildKind {
    /// All kinds, in the order in which they are planned.
    pub const ALL: [Self; 4] = [Self::Deployment, Self::Service, Self::Autoscaler, Self::DisruptionBudget];

    /// The kind of a child that a write is about; none where it is about a subresource or another object.
    pub fn of(target: &Target) -> Option<Self> {
        let is_kind = |kind: &Self| kind.api_resource() == target.resource;
        Self::ALL.into_iter().find(is_kind).filter(|_| target.subresource.is_none())
    }

    /// The API resource behind the kind.
    pub fn api_resource(self) -> ApiResource {
        match self {
            Self::Deployment => ApiResource::erase::<Deployment>(&()),
            Self::Service => ApiResource::erase::<Service>(&()),
            Self::Autoscaler => ApiResource::erase::<HorizontalPodAutoscaler>(&()),
            Self::DisruptionBudget => ApiResource::erase::<PodDisruptionBudget>(&()),
        }
    }

    /// The part of a Workload that asks for it, as a path; none for the Deployment, which is always there.
    pub fn part(self) -> Option<&'static str> {
        match self {
            Self::Deployment => None,
            Self::Service => Some(".spec.service"),
            Self::Autoscaler => Some(".spec.autoscaling"),
            Self::DisruptionBudget => Some(".spec.disruptionBudget"),
        }
    }

    /// The Workload's child of this kind.
    pub fn target(self, workload: &Workload) -> Target {
        Target::new(self.api_resource(), workload.namespace(), workload.name_any())
    }

    /// Whether the controllers of a child have observed it as it is, and begun what it asks for: only then it stands still.
    pub fn is_observed(self) -> impl Fn(&LiveObject) -> bool {
        move |live| {
            let number = |part, field| live.number(&[part, field]);
            let has_pods =
                || number("status", "updatedReplicas") > Some(0) || number("spec", "replicas") == Some(0);
            self != Self::Deployment || (!self.status_is_outdated(live) && has_pods())
        }
    }

    /// Whether the status of a child is about an earlier generation of it.
    pub fn status_is_outdated(self, live: &LiveObject) -> bool {
        let observed = || live.number(&["status", "observedGeneration"]).map_or(0, i64::from);
        self == Self::Deployment && live.meta().generation.is_some_and(|generation| observed() < generation)
    }

    /// The kind's name as the API spells it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Deployment => "Deployment",
            Self::Service => "Service",
            Self::Autoscaler => "HorizontalPodAutoscaler",
            Self::DisruptionBudget => "PodDisruptionBudget",
        }
    }

    /// Its `apiVersion`.
    pub fn api_version(self) -> &'static str {
        match self {
            Self::Deployment => "apps/v1",
            Self::Service => "v1",
            Self::Autoscaler => "autoscaling/v2",
            Self::DisruptionBudget => "policy/v1",
        }
    }
}

/// The status of a live Deployment; an empty one where it has none.
pub fn deployment_status(live: &LiveObject) -> DeploymentStatus {
    live.status().unwrap_or_default()
}

impl fmt::Display for ChildKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_versions_are_those_of_the_api_resources() {
        for kind in ChildKind::ALL {
            let resource = kind.api_resource();
            assert_eq!((kind.name(), kind.api_version()), (&*resource.kind, &*resource.api_version));
        }
    }
}
