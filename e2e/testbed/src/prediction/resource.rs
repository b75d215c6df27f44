//! The target of a write: a kind of objects in one version, as a server serves it.

use crate::Json;

/// A kind of objects in one version.
#[derive(Clone, Debug)]
pub struct Resource {
    /// The API group; empty for the core group.
    pub group: String,
    /// The version.
    pub version: String,
    /// The kind.
    pub kind: String,
    /// Its name in paths.
    pub plural: String,
    /// Whether its objects are in namespaces.
    pub namespaced: bool,
    /// Where its schema is from.
    pub schema: Schema,
    /// Of a custom resource, whether this version has a status subresource.
    pub has_status: bool,
}

/// Where a schema is from, as the merge driver protocol has it.
#[derive(Clone, Debug)]
pub enum Schema {
    /// The file with the server's own OpenAPI document for the group and version.
    OpenApi(String),
    /// The CustomResourceDefinition: itself, or `{"file": PATH}`.
    Crd(Json),
}

impl Resource {
    /// The value of `apiVersion`.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }

    /// Whether its objects are custom resources.
    pub fn is_custom(&self) -> bool {
        matches!(self.schema, Schema::Crd(_))
    }

    /// The path of the collection, in a namespace where it is namespaced.
    pub fn path(&self, namespace: &str) -> String {
        let root = if self.group.is_empty() { "/api" } else { "/apis" };
        let within = if self.namespaced { format!("/namespaces/{namespace}") } else { String::new() };
        format!("{root}/{}{within}/{}", self.api_version(), self.plural)
    }
}
