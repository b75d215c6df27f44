//! Records every stored write of some objects, by any client.
//!
//! A watch delivers each version, also one that lasts only for a moment. If a watch can't be resumed, as after a restart of the API
//! server or a compaction of etcd, the versions in between are read one by one. A version that can't be read is a gap, and a
//! recording with a gap is an error. The resourceVersions have to be etcd's revisions, as on a test's own control plane.

use std::{
    convert::Infallible,
    fmt::Write as _,
    sync::{Arc, Mutex},
    time::Duration,
};

use futures::{StreamExt as _, TryStreamExt as _};
use kube::{
    Api, Client, ResourceExt as _,
    api::{ListParams, TypeMeta, VersionMatch, WatchEvent, WatchParams},
    core::{ApiResource, DynamicObject},
};
use tokio::{task::AbortHandle, time::Instant};

use crate::{Cluster, Error, PATIENCE, lock, wait_for};

/// How long to wait before a request that failed is made again.
const PAUSE: Duration = Duration::from_millis(20);
/// In seconds; a little less than the time after which the client closes an idle connection.
const WATCH: u32 = 290;

/// An object as one write has left it.
#[derive(Clone, Debug)]
pub struct Event {
    /// Its `metadata.resourceVersion`: of two writes of any objects, the later has the greater one.
    pub revision: u64,
    /// When it was seen, since the recording began.
    pub at: Duration,
    /// The object, with its kind. If it is gone, as it was last.
    pub object: DynamicObject,
    /// Whether the write was its deletion.
    pub gone: bool,
}

/// A recording that goes on until it is dropped. It talks to the API server itself and belongs to the tokio runtime in which
/// it was started.
#[derive(Debug)]
pub struct Recorder {
    targets: Vec<Target>,
    record: Arc<Mutex<Record>>,
    tasks: Vec<AbortHandle>,
}

/// The events that were seen, and the gaps between them.
#[derive(Debug)]
struct Record {
    began: Instant,
    events: Vec<Arc<Event>>,
    gaps: Vec<String>,
}

impl Recorder {
    /// Records the objects of these kinds in a namespace, or only those of this name, which needn't be there yet. As they are
    /// now they come first.
    pub async fn start(
        cluster: &Cluster,
        namespace: &str,
        kinds: &[ApiResource],
        name: Option<&str>,
    ) -> Result<Self, Error> {
        // Trying again is done here, and sooner than the client would.
        let client = cluster.impatient().await?;
        let record = Record { began: Instant::now(), events: Vec::new(), gaps: Vec::new() };
        let record = Arc::new(Mutex::new(record));
        let mut recorder = Self { targets: Vec::new(), record: record.clone(), tasks: Vec::new() };
        for kind in kinds {
            let target = Target::new(&client, namespace, kind, name);
            let (objects, version) = target.now().await?;
            for object in objects {
                lock(&record).add(&target, object, false);
            }
            let follower = Follower { target: target.clone(), record: record.clone(), version };
            recorder.tasks.push(tokio::spawn(follower.run()).abort_handle());
            recorder.targets.push(target);
        }
        Ok(recorder)
    }

    /// When it began.
    pub fn began(&self) -> Instant {
        lock(&self.record).began
    }

    /// All that was stored since the start, up to now, in the order of revisions.
    ///
    /// # Errors
    /// When something may have been missed, when the API server doesn't respond, or when a watch doesn't catch up with it.
    pub async fn events(&self) -> Result<Vec<Arc<Event>>, Error> {
        for target in &self.targets {
            wait_for(&format!("the watch of {} catching up", target.what), PATIENCE, async || {
                let (now, _) = target.now().await?;
                self.seen()?;
                let record = lock(&self.record);
                Ok::<_, Error>(if record.has_come_to(target, &now) { Ok(()) } else { Err(record.describe()) })
            })
            .await?;
        }
        self.seen()
    }

    /// As [`events`](Self::events), as far as the watches have come.
    ///
    /// # Errors
    /// When something may have been missed.
    pub fn seen(&self) -> Result<Vec<Arc<Event>>, Error> {
        let record = lock(&self.record);
        if !record.gaps.is_empty() {
            return Err(Error::Missed { why: record.gaps.join("; "), seen: record.describe() });
        }
        let mut events = record.events.clone();
        events.sort_by_key(|event| event.revision);
        Ok(events)
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.tasks.iter().for_each(AbortHandle::abort);
    }
}

impl Record {
    fn add(&mut self, target: &Target, mut object: DynamicObject, gone: bool) {
        object.types = Some(target.types.clone());
        let revision = object.resource_version().and_then(|version| version.parse().ok()).unwrap_or_default();
        self.events.push(Arc::new(Event { revision, at: self.began.elapsed(), object, gone }));
    }

    /// Whether it includes the current versions of a target's objects.
    fn has_come_to(&self, target: &Target, now: &[DynamicObject]) -> bool {
        let of_it = || self.events.iter().filter(|event| event.object.types.as_ref() == Some(&target.types));
        let has_seen = |object: &DynamicObject| {
            of_it().any(|event| event.object.resource_version() == object.resource_version())
        };
        let agrees = |name: String| {
            now.iter().any(|object| object.name_any() == name)
                || of_it().rfind(|event| event.object.name_any() == name).is_none_or(|last| last.gone)
        };
        now.iter().all(has_seen) && of_it().all(|event| agrees(event.object.name_any()))
    }

    fn describe(&self) -> String {
        let mut text = String::new();
        for Event { revision, object, gone, .. } in self.events.iter().map(|event| &**event) {
            let kind = object.types.as_ref().map_or("", |types| types.kind.as_str());
            let gone = if *gone { " deleted" } else { "" };
            let _ = writeln!(text, "  resourceVersion {revision}: {kind} {}{gone}", object.name_any());
        }
        text
    }
}

/// The objects of one kind that are recorded, and how to read them.
#[derive(Clone, Debug)]
struct Target {
    api: Api<DynamicObject>,
    types: TypeMeta,
    /// A field selector, where only one object counts.
    only: Option<String>,
    what: String,
}

impl Target {
    fn new(client: &Client, namespace: &str, kind: &ApiResource, name: Option<&str>) -> Self {
        Self {
            api: Api::namespaced_with(client.clone(), namespace, kind),
            types: TypeMeta { api_version: kind.api_version.clone(), kind: kind.kind.clone() },
            only: name.map(|name| format!("metadata.name={name}")),
            what: format!("the {} {namespace}/{}", kind.kind, name.unwrap_or("*")),
        }
    }

    /// The objects as they are now, and the version of the cluster's state.
    async fn now(&self) -> Result<(Vec<DynamicObject>, String), Error> {
        let now = self.list(ListParams::default()).await;
        now.map_err(Error::api(format!("read {}", self.what)))
    }

    /// A list, because that has a version also where there is no object.
    async fn list(&self, mut params: ListParams) -> kube::Result<(Vec<DynamicObject>, String)> {
        params.field_selector.clone_from(&self.only);
        let list = self.api.list(&params).await?;
        Ok((list.items, list.metadata.resource_version.unwrap_or_default()))
    }
}

/// Why a watch has ended.
enum Ended {
    /// It can be taken up again where it was.
    Interrupted,
    /// The server no longer knows what came next.
    Expired,
}

/// Keeps the record of one target.
struct Follower {
    target: Target,
    record: Arc<Mutex<Record>>,
    /// All that was stored up to this version is on record.
    version: String,
}

impl Follower {
    async fn run(mut self) -> Infallible {
        loop {
            if let Ended::Expired = self.watch().await {
                self.catch_up().await;
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn watch(&mut self) -> Ended {
        let mut params = WatchParams::default().timeout(WATCH);
        params.field_selector.clone_from(&self.target.only);
        let is_gone = |error: &kube::Error| matches!(error, kube::Error::Api(status) if status.code == 410);
        let mut events = match self.target.api.watch(&params, &self.version).await {
            Ok(events) => events.boxed(),
            Err(error) if is_gone(&error) => return Ended::Expired,
            Err(_) => return Ended::Interrupted,
        };
        loop {
            let (object, gone) = match events.try_next().await {
                Ok(Some(WatchEvent::Added(object) | WatchEvent::Modified(object))) => (object, false),
                Ok(Some(WatchEvent::Deleted(object))) => (object, true),
                Ok(Some(WatchEvent::Bookmark(bookmark))) => {
                    self.version = bookmark.metadata.resource_version;
                    continue;
                }
                Ok(Some(WatchEvent::Error(status))) if status.code == 410 => return Ended::Expired,
                Err(error) if is_gone(&error) => return Ended::Expired,
                Ok(Some(WatchEvent::Error(_)) | None) | Err(_) => return Ended::Interrupted,
            };
            self.version = object.resource_version().unwrap_or_default();
            lock(&self.record).add(&self.target, object, gone);
        }
    }

    /// Records the versions that were stored since the last event of the watch, as far as the server still has them.
    async fn catch_up(&mut self) {
        let (objects, version) = loop {
            match self.target.now().await {
                Ok(now) => break now,
                Err(_) => tokio::time::sleep(PAUSE).await,
            }
        };
        let missed = self.stored_since(objects).await;
        let mut record = lock(&self.record);
        match missed {
            Ok(missed) => missed.into_iter().rev().for_each(|object| record.add(&self.target, object, false)),
            Err(why) => record.gaps.push(format!(
                "of {} between the versions {} and {version}: {why}",
                self.target.what, self.version
            )),
        }
        self.version = version;
    }

    /// The writes after the version that is on record, from these objects backwards. Each is searched for just before the one that
    /// came after it, which finds all only where there is one object.
    async fn stored_since(&self, now: Vec<DynamicObject>) -> Result<Vec<DynamicObject>, String> {
        if self.target.only.is_none() {
            return Err("there is more than one object to look for".to_owned());
        }
        let known = number(&self.version)?;
        let mut missed = Vec::new();
        let mut next = now;
        loop {
            // Where there was none, there may have been one before, which no later one shows.
            let object = next.pop().ok_or("it wasn't there, and may have been before")?;
            let version = number(object.metadata.resource_version.as_deref().unwrap_or_default())?;
            if version <= known {
                return Ok(missed);
            }
            missed.push(object);
            if version - 1 <= known {
                return Ok(missed);
            }
            next = loop {
                let before =
                    ListParams::default().at(&(version - 1).to_string()).matching(VersionMatch::Exact);
                match self.target.list(before).await {
                    Ok((before, _)) => break before,
                    Err(kube::Error::Api(status)) if status.code == 410 => {
                        return Err(format!("the API server has forgotten it ({})", status.message));
                    }
                    Err(_) => tokio::time::sleep(PAUSE).await,
                }
            };
        }
    }
}

/// A resource version as etcd's revision.
fn number(version: &str) -> Result<u64, String> {
    version.parse().map_err(|_| format!("{version:?} is no revision of etcd's"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn target() -> Target {
        let types = TypeMeta { api_version: "v1".to_owned(), kind: "ConfigMap".to_owned() };
        let config = kube::Config::new("http://127.0.0.1:1".parse().unwrap());
        let api = Api::all_with(
            Client::try_from(config).unwrap(),
            &ApiResource::from_gvk(&kube::core::GroupVersionKind::gvk("", "v1", "ConfigMap")),
        );
        Target { api, types, only: None, what: "the ConfigMaps".to_owned() }
    }

    fn object(name: &str, version: &str) -> DynamicObject {
        serde_json::from_value(json!({"metadata": {"name": name, "resourceVersion": version}})).unwrap()
    }

    #[tokio::test]
    async fn it_has_come_to_objects_once_exactly_those_writes_were_seen() {
        let mut record = Record { began: Instant::now(), events: Vec::new(), gaps: Vec::new() };
        let target = target();
        assert!(record.has_come_to(&target, &[]));
        for (name, version) in [("a", "7"), ("b", "8"), ("a", "9")] {
            record.add(&target, object(name, version), false);
        }
        assert!(record.has_come_to(&target, &[object("a", "9"), object("b", "8")]));
        assert!(!record.has_come_to(&target, &[object("a", "12"), object("b", "8")]));
        assert!(!record.has_come_to(&target, &[object("a", "9")]));
        record.add(&target, object("b", "10"), true);
        assert!(record.has_come_to(&target, &[object("a", "9")]));
    }
}
