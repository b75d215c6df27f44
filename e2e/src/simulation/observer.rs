//! Watches every stored version of Workloads, Deployments and HorizontalPodAutoscalers.

use std::collections::BTreeMap;

use futures::{FutureExt as _, StreamExt as _, stream::BoxStream};
use kube::{Client, core::WatchEvent};
use serde_json::Value;

use super::{plan::WorkloadId, requests};

/// The kinds that are observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Observed {
    Workload,
    Deployment,
    Autoscaler,
}

/// A stored version of an object, or its deletion.
#[derive(Clone, Debug)]
pub(crate) struct Version {
    pub(crate) revision: u64,
    pub(crate) what: Observed,
    pub(crate) object: Value,
    pub(crate) gone: bool,
}

/// Watches as an administrator. Only a restart of the server ends its connection.
pub(crate) struct Observer {
    admin: Client,
    watches: Vec<(Observed, BoxStream<'static, kube::Result<WatchEvent<Value>>>)>,
    /// The live objects, by their UID.
    live: BTreeMap<String, Version>,
    /// The versions that were stored while it didn't watch.
    missed: Vec<Version>,
}

const PATHS: [(Observed, &str); 3] = [
    (Observed::Workload, "/apis/baton.rs/v1alpha1/workloads"),
    (Observed::Deployment, "/apis/apps/v1/deployments"),
    (Observed::Autoscaler, "/apis/autoscaling/v2/horizontalpodautoscalers"),
];

impl Observer {
    /// Starts to watch.
    pub(crate) async fn start(admin: Client) -> kube::Result<Self> {
        let mut observer = Self { admin, watches: Vec::new(), live: BTreeMap::new(), missed: Vec::new() };
        observer.begin().await?;
        Ok(observer)
    }

    /// Starts the watches again. The latest version of each object that was stored in between is [seen](Self::seen) next.
    pub(crate) async fn begin(&mut self) -> kube::Result<()> {
        self.watches.clear();
        let mut before = std::mem::take(&mut self.live);
        for (what, path) in PATHS {
            let list: Value = self.admin.request(requests::get(path)).await?;
            for object in list["items"].as_array().into_iter().flatten() {
                let version =
                    Version { revision: revision(object), what, object: object.clone(), gone: false };
                let known = before.remove(uid(object));
                if known.is_none_or(|known| known.revision < version.revision) {
                    self.missed.push(version.clone());
                }
                self.live.insert(uid(object).to_owned(), version);
            }
            let version = list["metadata"]["resourceVersion"].as_str().unwrap_or_default();
            let path = format!("{path}?watch=true&resourceVersion={version}&timeoutSeconds=10000000");
            let events = self.admin.request_events::<Value>(requests::get(path)).await?;
            self.watches.push((what, events.boxed()));
        }
        self.missed.extend(before.into_values().map(|version| Version { gone: true, ..version }));
        Ok(())
    }

    /// All that was stored since the last call, in the order of the versions.
    pub(crate) fn seen(&mut self) -> Vec<Version> {
        let mut versions = std::mem::take(&mut self.missed);
        for (what, events) in &mut self.watches {
            while let Some(Some(Ok(event))) = events.next().now_or_never() {
                let (object, gone) = match event {
                    WatchEvent::Added(object) | WatchEvent::Modified(object) => (object, false),
                    WatchEvent::Deleted(object) => (object, true),
                    WatchEvent::Bookmark(_) | WatchEvent::Error(_) => continue,
                };
                let version = Version { revision: revision(&object), what: *what, object, gone };
                if gone {
                    self.live.remove(uid(&version.object));
                } else {
                    self.live.insert(uid(&version.object).to_owned(), version.clone());
                }
                versions.push(version);
            }
        }
        versions.sort_by_key(|version| version.revision);
        versions
    }
}

impl Version {
    /// The Workload that it is, or is about.
    pub(crate) fn workload(&self) -> Option<WorkloadId> {
        let name = match self.what {
            Observed::Autoscaler => self.object.pointer("/spec/scaleTargetRef/name")?,
            _ => self.object.pointer("/metadata/name")?,
        };
        WorkloadId::of(self.object.pointer("/metadata/namespace")?.as_str()?, name.as_str()?)
    }
}

fn uid(object: &Value) -> &str {
    object.pointer("/metadata/uid").and_then(Value::as_str).unwrap_or_default()
}

/// The version of an object; 0 if it has none.
pub(crate) fn revision(object: &Value) -> u64 {
    let version = object.pointer("/metadata/resourceVersion").and_then(Value::as_str);
    version.and_then(|version| version.parse().ok()).unwrap_or_default()
}
