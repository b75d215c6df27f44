//! The kinds of children a Workload has.
//!
//! Knows their API resources. Refuses to know what is in them: that is [`crate::intent`]'s.

use std::fmt;

use k8s_openapi::api::{
    apps::v1::Deployment, autoscaling::v2::HorizontalPodAutoscaler, core::v1::Service,
    policy::v1::PodDisruptionBudget,
};
use kube::core::ApiResource;

/// A kind of child. Every child has its Workload's name and namespace, so the kind tells one from another.
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

    /// The API resource behind the kind.
    pub fn api_resource(self) -> ApiResource {
        match self {
            Self::Deployment => ApiResource::erase::<Deployment>(&()),
            Self::Service => ApiResource::erase::<Service>(&()),
            Self::Autoscaler => ApiResource::erase::<HorizontalPodAutoscaler>(&()),
            Self::DisruptionBudget => ApiResource::erase::<PodDisruptionBudget>(&()),
        }
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
