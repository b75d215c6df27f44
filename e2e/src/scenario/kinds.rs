//! The kinds of the objects in scenarios. The server has their schemas.

/// A kind of objects in one version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One that every API server has.
    BuiltIn(BuiltIn),
    /// A custom resource of [`Subject::define`](super::Subject::define), by kind, in a version.
    Custom(&'static str, &'static str),
}

/// A kind that every API server has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BuiltIn {
    pub(super) group: &'static str,
    pub(super) version: &'static str,
    pub(super) kind: &'static str,
    pub(super) plural: &'static str,
    pub(super) namespaced: bool,
}

impl BuiltIn {
    /// One in namespaces, by group (empty for the core one), version, kind and plural.
    pub const fn new(
        group: &'static str,
        version: &'static str,
        kind: &'static str,
        plural: &'static str,
    ) -> Self {
        Self { group, version, kind, plural, namespaced: true }
    }

    /// The same kind, but not in namespaces.
    #[must_use]
    pub const fn of_the_cluster(self) -> Self {
        Self { namespaced: false, ..self }
    }

    /// Its group and plural, which no two kinds share: `apps/deployments`, `/pods`.
    pub fn resource(&self) -> String {
        format!("{}/{}", self.group, self.plural)
    }
}

impl From<BuiltIn> for Kind {
    fn from(kind: BuiltIn) -> Self {
        Self::BuiltIn(kind)
    }
}

/// A custom resource in its version `v1`.
impl From<&'static str> for Kind {
    fn from(kind: &'static str) -> Self {
        Self::Custom(kind, "v1")
    }
}

/// A custom resource in some version.
impl From<(&'static str, &'static str)> for Kind {
    fn from((kind, version): (&'static str, &'static str)) -> Self {
        Self::Custom(kind, version)
    }
}

/// Kinds of every API server.
pub mod builtin {
    use super::BuiltIn;

    /// `v1 ConfigMap`
    pub const CONFIG_MAP: BuiltIn = BuiltIn::new("", "v1", "ConfigMap", "configmaps");
    /// `v1 Service`
    pub const SERVICE: BuiltIn = BuiltIn::new("", "v1", "Service", "services");
    /// `v1 Pod`
    pub const POD: BuiltIn = BuiltIn::new("", "v1", "Pod", "pods");
    /// `v1 ServiceAccount`
    pub const SERVICE_ACCOUNT: BuiltIn = BuiltIn::new("", "v1", "ServiceAccount", "serviceaccounts");
    /// `v1 Namespace`
    pub const NAMESPACE: BuiltIn = BuiltIn::new("", "v1", "Namespace", "namespaces").of_the_cluster();
    /// `apps/v1 Deployment`
    pub const DEPLOYMENT: BuiltIn = BuiltIn::new("apps", "v1", "Deployment", "deployments");
    /// `autoscaling/v2 HorizontalPodAutoscaler`
    pub const AUTOSCALER: BuiltIn =
        BuiltIn::new("autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers");
    /// `autoscaling/v1 HorizontalPodAutoscaler`
    pub const AUTOSCALER_V1: BuiltIn = BuiltIn { version: "v1", ..AUTOSCALER };
    /// `rbac.authorization.k8s.io/v1 Role`
    pub const ROLE: BuiltIn = BuiltIn::new("rbac.authorization.k8s.io", "v1", "Role", "roles");
    /// `rbac.authorization.k8s.io/v1 RoleBinding`
    pub const ROLE_BINDING: BuiltIn =
        BuiltIn::new("rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings");
    /// `apiextensions.k8s.io/v1 CustomResourceDefinition`
    pub const CUSTOM_RESOURCE_DEFINITION: BuiltIn =
        BuiltIn::new("apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions")
            .of_the_cluster();
    /// `baton.rs/v1alpha1 Workload`, which the server installs.
    pub const WORKLOAD: BuiltIn = BuiltIn::new("baton.rs", "v1alpha1", "Workload", "workloads");
}
