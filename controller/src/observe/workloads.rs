//! The Workloads that the watch delivers, as the API server returned them.
//!
//! One that this version can't read must not block the others, so each is read only in its own pass.

use std::{
    borrow::Cow,
    collections::HashSet,
    sync::{Arc, Mutex},
};

use baton_apply::{LiveObject, fieldpath::PathElement, ownership::absent_fields};
use baton_crd::{HandoverPhase, Workload, WorkloadSpec, WorkloadStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{
    Resource, ResourceExt,
    core::ApiResource,
    runtime::{
        reflector::{ObjectRef, Store, store::Writer},
        watcher::Event,
    },
};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{
    crd::in_schema,
    digest::Digest,
    packed::{Dictionary, Packed},
    progress::Progress,
    version_of,
};
use crate::{
    decide::{child::ChildKind, lacking::Lacking},
    hash::digest_of,
    lock::lock,
};

/// How many lacking fields of a Workload are looked at. Anyone may name any number of them in `managedFields`.
const MOST_LACKING: usize = 1000;

/// A Workload in the cache.
#[derive(Clone, Debug)]
pub(crate) struct WatchedWorkload {
    /// Its name, namespace, UID and versions.
    metadata: ObjectMeta,
    packed: Packed,
    dictionary: Arc<Dictionary>,
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
    fn new(live: &LiveObject, dictionary: &Arc<Dictionary>) -> Self {
        let (metadata, text) = (live.meta(), live.as_text());
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
            packed: dictionary.pack(text, version_of(metadata), Digest::of(text)),
            dictionary: dictionary.clone(),
            phase: status.phase(),
            contested: status.contested(),
        }
    }

    /// Its status, if there is one that this version can read.
    pub(crate) fn status(&self) -> Option<WorkloadStatus> {
        self.live().ok()?.status_text().map(WorkloadStatus::readable)
    }

    /// Its [digest](super::digest).
    pub(super) fn digest(&self) -> u64 {
        digest_of(self.packed.digest)
    }

    /// How many bytes it has as text.
    pub(super) fn size(&self) -> usize {
        self.packed.size()
    }

    /// The digest of its spec.
    pub(crate) fn spec(&self) -> u64 {
        self.packed.digest.spec
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
                && let Some(in_schema) = in_schema(path)
            {
                lacking.push(Lacking { path: path.into(), manager: manager.to_owned(), in_schema });
            }
        });
        lacking
    }

    /// The whole object, unpacked.
    ///
    /// # Errors
    /// When it is nested too deep.
    pub(crate) fn live(&self) -> Result<LiveObject, serde_json::Error> {
        LiveObject::from_text(self.dictionary.unpack(&self.packed))
    }
}

#[cfg(test)]
impl<'de> Deserialize<'de> for WatchedWorkload {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::new(&LiveObject::deserialize(deserializer)?, &Arc::default()))
    }
}

fn which(object: &impl ResourceExt) -> ObjectRef<WatchedWorkload> {
    ObjectRef::new(&object.name_any()).within(&object.namespace().unwrap_or_default())
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

/// The cache of Workloads, kept up to date by a watch of all namespaces or by one watch for each. Clones share it.
///
/// kube's [`Writer`] treats a list as complete. Here a list is of one namespace only, so it is written object by object, and what
/// it doesn't contain is deleted at its end.
#[derive(Clone)]
pub(crate) struct Workloads {
    pub(crate) store: Store<WatchedWorkload>,
    writer: Arc<Mutex<Writer<WatchedWorkload>>>,
    dictionary: Arc<Dictionary>,
    progress: Progress,
}

/// The digests of a Workload in a response of the API server: of all of it, and of its spec.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Taken {
    pub(crate) digest: u64,
    pub(crate) spec: u64,
}

impl Workloads {
    pub(super) fn new() -> Self {
        let writer = Writer::new(());
        Self {
            store: writer.as_reader(),
            writer: Arc::new(Mutex::new(writer)),
            dictionary: Arc::default(),
            progress: Progress::default(),
        }
    }

    pub(super) fn resource() -> ApiResource {
        ApiResource::erase::<Workload>(&())
    }

    /// Feeds the cache with the events of the watch of this namespace, or of all; returns the Workloads that each event changes or
    /// deletes.
    pub(super) fn feed(
        &self,
        namespace: Option<&str>,
    ) -> impl FnMut(Event<LiveObject>) -> Vec<ObjectRef<WatchedWorkload>> + Send + 'static + use<> {
        let (cache, namespace) = (self.clone(), namespace.map(str::to_owned));
        // While the watch lists: cached Workloads that weren't listed yet.
        let mut unlisted = HashSet::new();
        move |event| {
            cache.progress.record(namespace.as_deref(), &event);
            let is_listed = matches!(event, Event::InitApply(_));
            match event {
                Event::Init => {
                    let here =
                        |one: &Arc<WatchedWorkload>| namespace.is_none() || one.namespace() == namespace;
                    let cached = cache.store.state().into_iter().filter(here);
                    unlisted = cached.map(|one| ObjectRef::from_obj(&*one)).collect();
                    Vec::new()
                }
                Event::Apply(delivered) | Event::InitApply(delivered) => {
                    let which = which(&delivered);
                    unlisted.remove(&which);
                    let cached = cache.store.get(&which);
                    if cached.is_some_and(|cached| {
                        !cached.packed.is_older_than(version_of(delivered.meta()), is_listed)
                    }) {
                        return Vec::new();
                    }
                    let workload = WatchedWorkload::new(&delivered, &cache.dictionary);
                    cache.put(workload, is_listed).into_iter().collect()
                }
                Event::Delete(delivered) => {
                    cache.remove(&which(&delivered), version_of(delivered.meta())).into_iter().collect()
                }
                Event::InitDone => unlisted.drain().filter_map(|one| cache.remove(&one, u64::MAX)).collect(),
            }
        }
    }

    /// Caches the response to a write of a Workload, which the watch would deliver later. Returns its digests.
    pub(super) fn take(&self, response: &LiveObject) -> Taken {
        let workload = WatchedWorkload::new(response, &self.dictionary);
        let taken = Taken { digest: workload.digest(), spec: workload.spec() };
        if !self.progress.is_beyond(response.namespace().as_deref(), workload.packed.version) {
            self.put(workload, false);
        }
        taken
    }

    /// Caches what a list has returned now, also in place of the same version: the API server returns it by its current CRD.
    pub(super) fn relisted(&self, listed: &LiveObject) {
        self.put(WatchedWorkload::new(listed, &self.dictionary), true);
    }

    fn put(&self, workload: WatchedWorkload, is_listed: bool) -> Option<ObjectRef<WatchedWorkload>> {
        let mut writer = lock(&self.writer);
        let which = ObjectRef::from_obj(&workload);
        let cached = self.store.get(&which);
        if cached
            .as_ref()
            .is_some_and(|cached| !cached.packed.is_older_than(workload.packed.version, is_listed))
        {
            return None;
        }
        let is_same = cached.as_ref().is_some_and(|cached| cached.packed.digest == workload.packed.digest);
        writer.apply_watcher_event(&Event::Apply(workload));
        (!is_same).then_some(which)
    }

    /// Removes it if it isn't newer than this.
    fn remove(&self, which: &ObjectRef<WatchedWorkload>, version: u64) -> Option<ObjectRef<WatchedWorkload>> {
        let mut writer = lock(&self.writer);
        let cached = self.store.get(which)?;
        if version < cached.packed.version && version != 0 {
            return None;
        }
        writer.apply_watcher_event(&Event::Delete(WatchedWorkload::clone(&cached)));
        Some(which.clone())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn object(version: u32, spec: &Value) -> Value {
        let child = |kind: &str, state: &str| json!({"kind": kind, "name": "web", "apiVersion": "v1", "state": state});
        let ownership =
            json!({"owner": "baton", "phase": "Fixed", "value": 3, "since": "2026-01-01T00:00:00Z"});
        json!({
            "apiVersion": "baton.rs/v1alpha1",
            "kind": "Workload",
            "metadata": {
                "name": "web", "namespace": "shop", "uid": "u", "resourceVersion": version.to_string(),
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

    fn delivered(version: u32, spec: &Value) -> LiveObject {
        serde_json::from_str(&object(version, spec).to_string()).unwrap()
    }

    #[test]
    fn a_spec_lacks_what_a_manager_owns_and_this_version_knows() {
        let lacking = |fields: &Value, spec: Value| {
            let mut object = object(1, &spec);
            object["metadata"]["managedFields"] = json!([
                {"manager": "user", "apiVersion": "baton.rs/v1alpha1", "fieldsV1": {"f:spec": fields}},
                {"manager": "user", "apiVersion": "baton.rs/v2", "fieldsV1": {"f:spec": {"f:service": {}}}},
            ]);
            let lacking = WatchedWorkload::lacking(&serde_json::from_str(&object.to_string()).unwrap());
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
        WatchedWorkload::new(&delivered(1, spec), &Arc::default())
    }

    fn read(watched: &WatchedWorkload) -> Result<Workload, serde_json::Error> {
        WatchedWorkload::read(&watched.live()?)
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

    #[test]
    fn a_cached_workload_has_its_phase_and_contested_children() {
        let workload = watched(&json!({}));
        assert_eq!(workload.phase, Some(HandoverPhase::Fixed));
        assert_eq!(*workload.contested, [ChildKind::Deployment]);
    }

    #[test]
    fn a_response_is_newer_than_earlier_versions_from_the_watch() {
        let cache = Workloads::new();
        let mut feed = cache.feed(None);
        let at = |version| delivered(version, &json!({"replicas": version, "template": {}}));
        assert_eq!(feed(Event::Apply(at(5))).len(), 1);
        let response = at(7);
        let Taken { digest, .. } = cache.take(&response);
        assert!(feed(Event::Apply(at(6))).is_empty() && feed(Event::Apply(at(7))).is_empty());
        let cached = cache.store.state().remove(0);
        assert_eq!((read(&cached).unwrap().spec.replicas, cached.digest()), (Some(7), digest));
        assert_eq!(feed(Event::Delete(at(8))).len(), 1);
        cache.take(&response);
        assert!(cache.store.is_empty(), "the response is late");
    }

    #[test]
    fn a_list_deletes_what_it_does_not_contain_in_its_namespace() {
        let cache = Workloads::new();
        let (mut here, mut there) = (cache.feed(Some("shop")), cache.feed(Some("elsewhere")));
        here(Event::Apply(delivered(1, &json!({}))));
        there(Event::Init);
        assert!(there(Event::InitDone).is_empty());
        here(Event::Init);
        here(Event::Init);
        assert_eq!(here(Event::InitDone).len(), 1);
        assert!(cache.store.is_empty());
    }
}
