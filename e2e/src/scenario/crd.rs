//! CustomResourceDefinitions as scenarios write them: a kind, and the schemas of its versions.

use baton_testbed::{
    Json,
    prediction::{Resource, Schema},
};

use serde_json::json;

use super::body;

/// The group of all custom resources that scenarios define.
const GROUP: &str = "example.com";

/// A kind of custom resources. It has to be unique among all scenarios, since they share a cluster.
#[derive(Clone, Debug)]
pub struct Crd {
    kind: &'static str,
    /// Names and schemas. The first version is stored.
    versions: Vec<(&'static str, Json)>,
    status: bool,
    scale: bool,
}

impl Crd {
    /// One with a single version `v1`, whose schema has these `properties`.
    pub fn new(kind: &'static str, properties: &str) -> Self {
        Self { kind, versions: Vec::new(), status: false, scale: false }.version("v1", properties)
    }

    /// One whose `spec` may be anything, without markers.
    pub fn schemaless(kind: &'static str) -> Self {
        Self::new(kind, "spec: {type: object, x-kubernetes-preserve-unknown-fields: true}")
    }

    /// Adds a served version.
    #[must_use]
    pub fn version(mut self, version: &'static str, properties: &str) -> Self {
        self.versions.push((version, body::parse(properties)));
        self
    }

    /// Adds a status subresource.
    #[must_use]
    pub fn with_status(mut self) -> Self {
        self.status = true;
        self
    }

    /// Adds a scale subresource, of `.spec.replicas` and `.status.replicas`.
    #[must_use]
    pub fn with_scale(mut self) -> Self {
        self.scale = true;
        self
    }

    pub(super) fn kind(&self) -> &'static str {
        self.kind
    }

    fn plural(&self) -> String {
        format!("{}s", self.kind.to_lowercase())
    }

    /// The name of the CustomResourceDefinition.
    pub(super) fn name(&self) -> String {
        format!("{}.{GROUP}", self.plural())
    }

    /// The object for the API server. `probe` is the name of an additional property in all schemas: a client can see by it whether
    /// the server uses this CRD.
    pub(super) fn object(&self, probe: &str) -> Json {
        let mut subresources = json!({});
        if self.status {
            subresources["status"] = json!({});
        }
        if self.scale {
            subresources["scale"] =
                json!({"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"});
        }
        let version = |(i, (version, properties)): (usize, &(&str, Json))| {
            let properties = properties.clone().with(probe, Json::object().with("type", "boolean"));
            json!({
                "name": version,
                "served": true,
                "storage": i == 0,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": properties}},
                "subresources": subresources,
            })
        };
        let (plural, versions) = (self.plural(), self.versions.iter().enumerate().map(version));
        let object = json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": self.name()},
            "spec": {
                "group": GROUP,
                "names": {"kind": self.kind, "plural": plural, "singular": self.kind.to_lowercase()},
                "scope": "Namespaced",
                "versions": versions.collect::<Vec<_>>(),
            },
        });
        body::parse(&object.to_string())
    }

    /// The resource of a version, by the [CRD that was sent](Self::object).
    pub(super) fn resource(&self, version: &str, object: Json) -> Resource {
        Resource {
            group: GROUP.to_owned(),
            version: version.to_owned(),
            kind: self.kind.to_owned(),
            plural: self.plural(),
            namespaced: true,
            schema: Schema::Crd(object),
            has_status: self.status,
        }
    }

    /// The version that is stored.
    pub(super) fn stored(&self) -> &'static str {
        self.versions[0].0
    }
}
