//! The schemas of the kinds that Baton writes, and the rules of the server's release: all that a prediction depends on besides
//! the objects.

use std::{collections::BTreeMap, sync::Arc};

use baton_merge::{
    Release,
    schema::kinds::GroupVersionKind,
    server::{Resource, Resources},
};

use crate::child::{ChildKind, Kind};

/// What a cluster serves about the kinds that Baton writes, at one moment.
#[derive(Clone, Debug, Default)]
pub struct Schemas {
    release: Release,
    /// By the path of their OpenAPI document.
    documents: BTreeMap<&'static str, Arc<Resources>>,
}

/// There is no schema of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no usable schema of {0}: what a write would do can't be predicted")]
pub struct NoSchema(pub Kind);

/// The path of the OpenAPI v3 document that describes a kind, below `/openapi/v3/`.
pub const fn document_path(kind: Kind) -> &'static str {
    match kind {
        Kind::Child(ChildKind::Deployment) => "apis/apps/v1",
        Kind::Child(ChildKind::Service) => "api/v1",
        Kind::Child(ChildKind::Autoscaler) => "apis/autoscaling/v2",
        Kind::Child(ChildKind::DisruptionBudget) => "apis/policy/v1",
        Kind::Workload => "apis/baton.rs/v1alpha1",
    }
}

impl Schemas {
    /// The schemas in these documents, by their paths as [`document_path`] has them.
    pub fn new(
        release: Release,
        documents: impl IntoIterator<Item = (&'static str, Arc<Resources>)>,
    ) -> Self {
        Self { release, documents: documents.into_iter().collect() }
    }

    /// The server's release.
    pub fn release(&self) -> Release {
        self.release
    }

    /// The compiled document at a path.
    pub fn document(&self, path: &str) -> Option<&Arc<Resources>> {
        self.documents.get(path)
    }

    /// A kind as the merge core knows it.
    ///
    /// # Errors
    /// When the cluster serves no usable schema of it.
    pub fn resource(&self, kind: impl Into<Kind>) -> Result<Resource<'_>, NoSchema> {
        let kind = kind.into();
        let (group, version) = kind.group_version();
        let gvk = GroupVersionKind::new(group, version, kind.name());
        let found = self.documents.get(document_path(kind)).and_then(|resources| resources.get(&gvk));
        found.ok_or(NoSchema(kind))
    }

    /// The kinds that there is no usable schema of.
    pub fn missing(&self) -> Vec<Kind> {
        Kind::ALL.into_iter().filter(|kind| self.resource(*kind).is_err()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_where_their_group_and_version_say() {
        for kind in Kind::ALL {
            let (group, version) = kind.group_version();
            let path =
                if group.is_empty() { format!("api/{version}") } else { format!("apis/{group}/{version}") };
            assert_eq!(document_path(kind), path);
        }
    }

    #[test]
    fn without_documents_every_kind_is_missing() {
        assert_eq!(Schemas::default().missing(), Kind::ALL);
    }
}
