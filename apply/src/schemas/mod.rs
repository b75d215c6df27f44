//! The schemas of the kinds that are written, and the server's release: all that a prediction depends on besides the objects.

mod cache;

use std::{collections::BTreeMap, sync::Arc};

use baton_merge::{
    Release,
    schema::kinds::GroupVersionKind,
    server::{Resource, Resources},
};
use kube::core::ApiResource;

pub use self::cache::{SchemaCache, SchemaProblem, SchemaStatus};
use crate::{openapi::document_path, types::Types};

/// The schemas of some kinds in a cluster, at one moment.
#[derive(Clone, Debug, Default)]
pub struct Schemas {
    release: Release,
    /// By their paths below `/openapi/v3/`.
    documents: BTreeMap<String, Arc<Resources>>,
    /// The types of these documents, where they are known.
    types: Vec<Arc<Types>>,
}

/// There is no schema of a kind.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no usable schema of {kind} ({api_version}): what a write would do can't be predicted")]
pub struct NoSchema {
    /// The kind.
    pub kind: String,
    /// Its group and version.
    pub api_version: String,
}

impl Schemas {
    /// The schemas in these documents, by their [paths](document_path).
    pub fn new(release: Release, documents: impl IntoIterator<Item = (String, Arc<Resources>)>) -> Self {
        Self { release, documents: documents.into_iter().collect(), types: Vec::new() }
    }

    /// Adds the types of the documents, for [`minimal`](Self::minimal) and [`as_stored`](Self::as_stored).
    #[must_use]
    pub fn with_types(self, types: impl IntoIterator<Item = Arc<Types>>) -> Self {
        Self { types: types.into_iter().collect(), ..self }
    }

    /// The types among which that of a kind is, and its name.
    pub(crate) fn type_of(&self, kind: &ApiResource) -> Option<(&Types, &str)> {
        self.types.iter().find_map(|types| Some((&**types, types.name_of(&kind.api_version, &kind.kind)?)))
    }

    /// The server's release.
    pub fn release(&self) -> Release {
        self.release
    }

    /// A kind as the merge core knows it.
    ///
    /// # Errors
    /// When the cluster serves no usable schema of it.
    pub fn resource(&self, resource: &ApiResource) -> Result<Resource<'_>, NoSchema> {
        let ApiResource { group, version, kind, api_version, .. } = resource;
        let gvk = GroupVersionKind::new(group, version, kind);
        let found = self.documents.get(&document_path(resource)).and_then(|resources| resources.get(&gvk));
        found.ok_or_else(|| NoSchema { kind: kind.clone(), api_version: api_version.clone() })
    }
}
