//! Sees every stored write of the Workloads, Deployments and autoscalers of a namespace. A watch delivers each of them, so
//! nothing is missed that lasts only for a moment; one that ends is taken up where it ended.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use baton_crd::Workload;
use baton_testbed::Error;
use futures::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::{apps::v1::Deployment, autoscaling::v2::HorizontalPodAutoscaler};
use kube::{
    Api, Client, Resource,
    api::{ListParams, WatchEvent, WatchParams},
    core::{ApiResource, DynamicObject},
};
use serde_json::Value;
use tokio::task::JoinHandle;

use super::seen::{self, Seen, Sighting};

/// How long one watch lasts, in seconds; the next goes on from there.
const WATCH: u32 = 240;
/// How long until all watches have told what is stored.
const PATIENCE: Duration = Duration::from_mins(1);
/// How often that is looked at.
const POLL: Duration = Duration::from_millis(50);

/// What is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Workload,
    Deployment,
    Autoscaler,
}

impl Kind {
    const ALL: [Self; 3] = [Self::Workload, Self::Deployment, Self::Autoscaler];

    fn resource(self) -> ApiResource {
        match self {
            Self::Workload => ApiResource::erase::<Workload>(&()),
            Self::Deployment => ApiResource::erase::<Deployment>(&()),
            Self::Autoscaler => ApiResource::erase::<HorizontalPodAutoscaler>(&()),
        }
    }
}

/// A recording that goes on until it is dropped. It belongs to the tokio runtime in which it was started.
pub(super) struct Recorder {
    log: Arc<Log>,
    watches: Vec<(Kind, Api<DynamicObject>, JoinHandle<Error>)>,
}

struct Log {
    began: Instant,
    written: Mutex<Written>,
}

#[derive(Default)]
struct Written {
    sightings: Vec<Sighting>,
    /// The last revision that each watch told of.
    last: [u64; Kind::ALL.len()],
}

impl Recorder {
    /// Begins, in a namespace in which there is nothing yet.
    pub(super) async fn start(client: &Client, namespace: &str, began: Instant) -> Result<Self, Error> {
        let log = Arc::new(Log { began, written: Mutex::default() });
        let mut watches = Vec::new();
        for kind in Kind::ALL {
            let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), namespace, &kind.resource());
            let list = api.list(&ListParams::default()).await;
            let list = list.map_err(Error::api(format!("list what is to be watched: {kind:?}")))?;
            let from = list.metadata.resource_version.unwrap_or_default();
            let watch = tokio::spawn(watch(api.clone(), kind, from, log.clone()));
            watches.push((kind, api, watch));
        }
        Ok(Self { log, watches })
    }

    /// What was seen up to now, by revision, but for what was seen within the last `moment`: of that, a watch that is slower
    /// than another may still owe a part.
    pub(super) fn sightings(&self, moment: Duration) -> Vec<Sighting> {
        let until = self.log.began.elapsed().saturating_sub(moment);
        let mut sightings = self.log.written().sightings.clone();
        sightings.retain(|sighting| sighting.at <= until);
        sightings.sort_by_key(|sighting| sighting.revision);
        sightings
    }

    /// Waits until everything is seen that is stored now.
    ///
    /// # Errors
    /// When a watch has failed or tells nothing.
    pub(super) async fn catch_up(&self) -> Result<(), Error> {
        for (kind, api, task) in &self.watches {
            let list = api.list(&ListParams::default()).await;
            let list = list.map_err(Error::api(format!("list what is watched: {kind:?}")))?;
            let stored = list.items.iter().map(revision).max().unwrap_or_default();
            let end = Instant::now() + PATIENCE;
            loop {
                let told = self.log.written().last[*kind as usize];
                if told >= stored {
                    break;
                }
                if task.is_finished() || Instant::now() >= end {
                    let what = format!("the watch of {kind:?} telling of revision {stored}");
                    let state = format!("it has told of {told}");
                    return Err(Error::Timeout { what, limit: PATIENCE, state });
                }
                tokio::time::sleep(POLL).await;
            }
        }
        Ok(())
    }

    /// Waits until a watch fails.
    pub(super) async fn failed(&mut self) -> Error {
        let tasks = self.watches.iter_mut().map(|(_, _, task)| task);
        let (ended, _, _) = futures::future::select_all(tasks).await;
        ended.unwrap_or_else(|panic| Error::parse("how a watch ended")(panic))
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.watches.iter().for_each(|(_, _, task)| task.abort());
    }
}

impl Log {
    fn written(&self) -> std::sync::MutexGuard<'_, Written> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, kind: Kind, object: &DynamicObject, gone: bool) -> Result<u64, Error> {
        let json = serde_json::to_value(object).map_err(Error::parse("what a watch told"))?;
        let revision = revision(object);
        let (workload, seen) = sighting(kind, &json, gone)
            .ok_or_else(|| Error::parse(format!("the {kind:?} that a watch told of"))(json.to_string()))?;
        let mut written = self.written();
        written.last[kind as usize] = revision;
        written.sightings.push(Sighting { revision, at: self.began.elapsed(), workload, seen });
        Ok(revision)
    }
}

/// The Workload that an object is about, and what it shows. `None` where it isn't of that kind.
fn sighting(kind: Kind, object: &Value, gone: bool) -> Option<(String, Seen)> {
    let name = object["metadata"]["name"].as_str()?.to_owned();
    match kind {
        Kind::Workload => Some((name, seen::workload(object)?)),
        Kind::Deployment => Some((name, seen::deployment(object)?)),
        Kind::Autoscaler => {
            let (workload, seen) = seen::autoscaler(object)?;
            Some((workload, if gone { Seen::AutoscalerGone { name } } else { seen }))
        }
    }
}

fn revision(object: &DynamicObject) -> u64 {
    let version = object.meta().resource_version.as_deref();
    version.and_then(|version| version.parse().ok()).unwrap_or_default()
}

/// Watches from a revision on until something fails for good.
async fn watch(api: Api<DynamicObject>, kind: Kind, mut from: String, log: Arc<Log>) -> Error {
    let params = WatchParams::default().timeout(WATCH);
    loop {
        let mut events = match api.watch(&params, &from).await {
            Ok(events) => events.boxed(),
            Err(error) => return Error::api(format!("watch every {kind:?}"))(error),
        };
        // A connection that breaks is no end: whatever it didn't tell, the next will.
        while let Ok(Some(event)) = events.try_next().await {
            let (object, gone) = match event {
                WatchEvent::Added(object) | WatchEvent::Modified(object) => (object, false),
                WatchEvent::Deleted(object) => (object, true),
                WatchEvent::Bookmark(bookmark) => {
                    from = bookmark.metadata.resource_version;
                    continue;
                }
                WatchEvent::Error(status) => {
                    return Error::api(format!("go on watching every {kind:?}"))(kube::Error::Api(status));
                }
            };
            match log.write(kind, &object, gone) {
                Ok(revision) => from = revision.to_string(),
                Err(error) => return error,
            }
        }
    }
}
