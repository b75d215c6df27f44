//! A Workload in the cache, as the API server returned it.
//!
//! One that this version can't read must not block the others, so each is read only in its own pass.

use std::borrow::Cow;

use baton_apply::{
    LiveObject,
    cache::{CachedObject, Digest, Packer, digest_of},
    fieldpath::PathElement,
    ownership::absent_fields,
};
use baton_crd::{HandoverPhase, Workload, WorkloadSpec, WorkloadStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::FIELDS;
use crate::decide::{child::ChildKind, lacking::Lacking};

/// How many lacking fields of a Workload are read. Anyone may name any number of them in `managedFields`.
const MOST_LACKING: usize = 1000;

/// A Workload in the cache. Two are equal if their digests are.
#[derive(Clone, Debug)]
pub(crate) struct WatchedWorkload {
    /// Its name, namespace, UID and versions.
    metadata: ObjectMeta,
    object: CachedObject,
    /// The phase of its handover, by its status.
    pub(crate) phase: Option<HandoverPhase>,
    /// Its contested children, by its status.
    pub(crate) contested: Box<[ChildKind]>,
}

/// The parts of a status that are read when it is cached; the status may be of another version.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReportedStatus<'t> {
    #[serde(borrow)]
    replica_ownership: Option<&'t RawValue>,
    #[serde(borrow)]
    children: Option<&'t RawValue>,
}

impl ReportedStatus<'_> {
    fn phase(&self) -> Option<HandoverPhase> {
        #[derive(Deserialize)]
        struct Ownership {
            phase: HandoverPhase,
        }
        let ownership: Ownership = serde_json::from_str(self.replica_ownership?.get()).ok()?;
        Some(ownership.phase)
    }

    fn contested(&self) -> Box<[ChildKind]> {
        #[derive(Deserialize)]
        struct Child {
            kind: String,
            state: String,
        }
        let children = self.children.and_then(|children| serde_json::from_str(children.get()).ok());
        let children: Vec<Child> = children.unwrap_or_default();
        let mut contested = children.iter().filter(|child| child.state == "Contested").peekable();
        if contested.peek().is_none() {
            return Box::default();
        }
        let kinds =
            contested.filter_map(|child| ChildKind::ALL.into_iter().find(|kind| kind.name() == child.kind));
        kinds.collect()
    }
}

impl WatchedWorkload {
    pub(super) fn new(live: &LiveObject, packer: &Packer) -> Self {
        let metadata = live.meta();
        let status: ReportedStatus<'_> = live.status().unwrap_or_default();
        Self {
            metadata: ObjectMeta {
                name: metadata.name.clone(),
                namespace: metadata.namespace.clone(),
                uid: metadata.uid.clone(),
                resource_version: metadata.resource_version.clone(),
                generation: metadata.generation,
                deletion_timestamp: metadata.deletion_timestamp.clone(),
                ..ObjectMeta::default()
            },
            object: packer.pack(live, Digest::of(live)),
            phase: status.phase(),
            contested: status.contested(),
        }
    }

    /// Its status, if there is one that this version can read.
    pub(crate) fn status(&self) -> Option<WorkloadStatus> {
        self.live().status_text().map(WorkloadStatus::readable)
    }

    /// Its digest.
    pub(crate) fn digest(&self) -> u64 {
        digest_of(self.object.digest())
    }

    /// The length of its text, in bytes.
    pub(super) fn size(&self) -> usize {
        self.object.size()
    }

    /// The digest of its spec.
    pub(crate) fn spec(&self) -> u64 {
        self.object.digest().spec
    }

    /// The Workload that was unpacked.
    ///
    /// # Errors
    /// When this version can't read it.
    pub(crate) fn read(live: &LiveObject) -> Result<Workload, serde_json::Error> {
        let text = live.spec_text().unwrap_or("null");
        let spec: WorkloadSpec = match serde_json::from_str(text) {
            Ok(spec) => spec,
            // An error from a value has no position in the text, which would differ for another spelling of the same spec.
            Err(_) => serde_json::from_value(serde_json::from_str(text)?)?,
        };
        let status = live.status_text().map(WorkloadStatus::readable);
        Ok(Workload { metadata: live.meta().clone(), spec, status })
    }

    /// The fields that its spec lacks although managers own them, so that nobody has removed them. An API server with an older CRD
    /// doesn't return them, and any write while it has that CRD stores the Workload without them.
    pub(crate) fn lacking(live: &LiveObject) -> Vec<Lacking> {
        let mut lacking = Vec::new();
        // If it can't be read, that is reported.
        let _ = absent_fields(live, &Workload::api_version(&()), |manager, path| {
            if let [PathElement::Field("spec"), _, ..] = path.elements()
                && lacking.len() < MOST_LACKING
                && let Some(in_schema) = FIELDS.in_schema(path)
            {
                lacking.push(Lacking { path: path.into(), manager: manager.to_owned(), in_schema });
            }
        });
        lacking
    }

    /// The whole object, unpacked.
    pub(crate) fn live(&self) -> LiveObject {
        self.object.live()
    }
}

impl PartialEq for WatchedWorkload {
    fn eq(&self, other: &Self) -> bool {
        self.object == other.object
    }
}

impl Resource for WatchedWorkload {
    type DynamicType = ();
    type Scope = <Workload as Resource>::Scope;

    fn kind((): &()) -> Cow<'_, str> {
        Workload::kind(&())
    }

    fn group((): &()) -> Cow<'_, str> {
        Workload::group(&())
    }

    fn version((): &()) -> Cow<'_, str> {
        Workload::version(&())
    }

    fn plural((): &()) -> Cow<'_, str> {
        Workload::plural(&())
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

#[cfg(test)]
mod tests {
    use kube::{ResourceExt as _, core::ApiResource};
    use serde_json::{Value, json};

    use super::*;

    fn object(spec: &Value) -> Value {
        let child = |kind: &str, state: &str| json!({"kind": kind, "name": "web", "apiVersion": "v1", "state": state});
        let ownership =
            json!({"owner": "baton", "phase": "Fixed", "value": 3, "since": "2026-01-01T00:00:00Z"});
        json!({
            "apiVersion": "baton.rs/v1alpha1",
            "kind": "Workload",
            "metadata": {
                "name": "web", "namespace": "shop", "uid": "u", "resourceVersion": "1",
                "managedFields": [{"manager": "user"}],
            },
            "spec": spec,
            "status": {
                "replicas": 3,
                "replicaOwnership": ownership,
                "children": [child("Deployment", "Contested"), child("Service", "Applied")],
            },
        })
    }

    #[test]
    fn a_spec_lacks_what_a_manager_owns_and_this_version_knows() {
        let lacking = |fields: &Value, spec: Value| {
            let mut object = object(&spec);
            object["metadata"]["managedFields"] = json!([
                {"manager": "user", "apiVersion": "baton.rs/v1alpha1", "fieldsV1": {"f:spec": fields}},
                {"manager": "user", "apiVersion": "baton.rs/v2", "fieldsV1": {"f:spec": {"f:service": {}}}},
            ]);
            let lacking = WatchedWorkload::lacking(&LiveObject::from_json(object).unwrap());
            lacking.into_iter().map(|lacking| lacking.in_schema).collect::<Vec<_>>()
        };
        let ports = json!({"k:{\"port\":80,\"protocol\":\"TCP\"}": {"f:name": {}}});
        let owned = json!({"f:replicas": {}, "f:service": {"f:ports": ports}, "f:ofAnotherVersion": {}});
        let port = json!({"port": 80, "protocol": "TCP"});
        assert_eq!(lacking(&owned, json!({"replicas": 1})), [".spec.service"]);
        let found = lacking(&owned, json!({"service": {"ports": [port]}}));
        assert_eq!(found, [".spec.replicas", ".spec.service.ports[].name"]);
        assert_eq!(lacking(&owned, json!({"replicas": 1, "service": {}})), [".spec.service.ports"]);
    }

    fn watched(spec: &Value) -> WatchedWorkload {
        let packer = Packer::new(ApiResource::erase::<Workload>(&()));
        WatchedWorkload::new(&LiveObject::from_json(object(spec)).unwrap(), &packer)
    }

    fn read(watched: &WatchedWorkload) -> Result<Workload, serde_json::Error> {
        WatchedWorkload::read(&watched.live())
    }

    #[test]
    fn a_workload_is_read_with_its_metadata_spec_and_status() {
        let workload = read(&watched(&json!({"replicas": 3, "template": {}}))).unwrap();
        assert_eq!(workload.name_any(), "web");
        assert_eq!(workload.spec.replicas, Some(3));
        assert_eq!(workload.status.unwrap().replicas, Some(3));
    }

    #[test]
    fn an_unreadable_workload_still_has_a_name_and_a_status() {
        let newer = watched(&json!({"replicas": "many", "template": {}}));
        assert!(read(&newer).unwrap_err().to_string().contains("many"));
        assert_eq!(newer.name_any(), "web");
        assert_eq!(newer.status().unwrap().replicas, Some(3));
    }
}
