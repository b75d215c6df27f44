//! The kinds of children a Workload has, and of all that Baton writes. What is in them is [`crate::intent`]'s.

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

/// A kind of object that Baton writes: whole children, and of Workloads the status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// A child.
    Child(ChildKind),
    /// The Workload itself.
    Workload,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 5] = [
        Self::Child(ChildKind::Deployment),
        Self::Child(ChildKind::Service),
        Self::Child(ChildKind::Autoscaler),
        Self::Child(ChildKind::DisruptionBudget),
        Self::Workload,
    ];

    /// The kind's name as the API spells it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Child(child) => child.name(),
            Self::Workload => "Workload",
        }
    }

    /// Its API group, empty for the core group, and version.
    pub fn group_version(self) -> (&'static str, &'static str) {
        match self {
            Self::Child(child) => child.api_version().split_once('/').unwrap_or(("", child.api_version())),
            Self::Workload => (baton_crd::GROUP, baton_crd::VERSION),
        }
    }
}

impl From<ChildKind> for Kind {
    fn from(child: ChildKind) -> Self {
        Self::Child(child)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use baton_crd::Workload;
    use kube::Resource;

    use super::*;

    #[test]
    fn names_and_versions_are_those_of_the_api_resources() {
        for kind in ChildKind::ALL {
            let resource = kind.api_resource();
            assert_eq!((kind.name(), kind.api_version()), (&*resource.kind, &*resource.api_version));
            assert_eq!(Kind::from(kind).group_version(), (&*resource.group, &*resource.version));
        }
        let (group, version) = Kind::Workload.group_version();
        assert_eq!(
            (Kind::Workload.name(), group, version),
            (&*Workload::kind(&()), &*Workload::group(&()), &*Workload::version(&()))
        );
    }
}
