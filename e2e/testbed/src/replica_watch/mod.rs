//! Sees every number that a Deployment ever asks for, whoever writes it.
//!
//! A watch delivers each stored write, so nothing is missed between two looks. Where a watch can't be taken up again, as
//! after a restart of the API server or a compaction of etcd, the versions in between are asked for one by one; what
//! can't be found out so is a gap, and a history with a gap is never given out. It relies on resource versions being
//! etcd's revisions, which a test's own control plane can promise. It knows nothing of who should hold the number.

mod history;

use std::{
    convert::Infallible,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use futures::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::apps::v1::Deployment;
use kube::{
    Api, Client, ResourceExt as _,
    api::{ListParams, VersionMatch, WatchEvent, WatchParams},
};
use tokio::task::AbortHandle;

pub use self::history::{BelowFloor, Holder, ReplicaHistory, ReplicaWrite};
use crate::{ControlPlane, Error, kubeconfig};

/// How long it may take to catch up with the API server, one that is being restarted included.
const LIMIT: Duration = Duration::from_mins(1);
/// How long to wait before a request that failed is made again, and before a look at what was seen meanwhile.
const POLL: Duration = Duration::from_millis(20);
/// In seconds; a little less than the time after which the client gives up a connection on which nothing comes.
const WATCH: u32 = 290;

/// Watches `spec.replicas` of one Deployment, which needn't be there yet, from when it was started. It talks to the API
/// server itself and belongs to the tokio runtime in which it was started.
///
/// ```no_run
/// # async fn example(cluster: &baton_testbed::ControlPlane) -> Result<(), Box<dyn std::error::Error>> {
/// let watch = baton_testbed::ReplicaWatch::start(cluster, "shop", "web").await?;
/// // …
/// let history = watch.history().await?;
/// history.never_below(3)?;
/// assert_eq!(history.values(), [3, 5]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct ReplicaWatch {
    target: Target,
    record: Arc<Mutex<Record>>,
    task: AbortHandle,
}

/// What was seen, and whether that is all.
#[derive(Debug, Default)]
struct Record {
    history: ReplicaHistory,
    gaps: Vec<String>,
}

impl ReplicaWatch {
    /// Watches from this moment on; the Deployment as it is now, if it is there, comes first.
    ///
    /// # Errors
    /// When the API server doesn't answer.
    pub async fn start(control_plane: &ControlPlane, namespace: &str, name: &str) -> Result<Self, Error> {
        // Trying again is done here, and sooner than the client would.
        let client = kubeconfig::impatient_client(control_plane.kubeconfig()).await?;
        let target = Target::new(client, namespace, name);
        let Seen { deployment, version } = target.look().await?;
        let mut record = Record::default();
        if let Some(deployment) = deployment {
            record.history.stored(&deployment);
        }
        let record = Arc::new(Mutex::new(record));
        let follower = Follower { target: target.clone(), record: record.clone(), version };
        let task = tokio::spawn(follower.run()).abort_handle();
        Ok(Self { target, record, task })
    }

    /// All that was stored since the start, up to now.
    ///
    /// # Errors
    /// When something may have been missed, when the API server doesn't answer, or when the watch doesn't catch up with it
    /// within a minute.
    pub async fn history(&self) -> Result<ReplicaHistory, Error> {
        let end = Instant::now() + LIMIT;
        loop {
            let now = self.target.look().await?.deployment;
            {
                let record = lock(&self.record);
                if !record.gaps.is_empty() {
                    return Err(record.missed(&self.target));
                }
                if record.history.has_come_to(now.as_ref()) {
                    return Ok(record.history.clone());
                }
                if Instant::now() >= end {
                    let what = format!("the watch of {} catching up", self.target.describe());
                    let state = format!("it has seen:\n{}", record.history);
                    return Err(Error::Timeout { what, limit: LIMIT, state });
                }
            }
            tokio::time::sleep(POLL).await;
        }
    }
}

impl Drop for ReplicaWatch {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Record {
    fn missed(&self, target: &Target) -> Error {
        Error::Missed {
            what: format!("replicas of {}", target.describe()),
            why: self.gaps.join("; "),
            seen: self.history.to_string(),
        }
    }
}

/// A poisoned lock holds what was seen until then, which is as true as before.
fn lock(record: &Mutex<Record>) -> MutexGuard<'_, Record> {
    record.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The Deployment, and how to look at it.
#[derive(Clone, Debug)]
struct Target {
    deployments: Api<Deployment>,
    namespace: String,
    name: String,
    only: String,
}

/// The Deployment at one version of the whole cluster's state.
struct Seen {
    deployment: Option<Deployment>,
    version: String,
}

impl Target {
    fn new(client: Client, namespace: &str, name: &str) -> Self {
        Self {
            deployments: Api::namespaced(client, namespace),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            only: format!("metadata.name={name}"),
        }
    }

    fn describe(&self) -> String {
        format!("the Deployment {}/{}", self.namespace, self.name)
    }

    /// As it is now.
    async fn look(&self) -> Result<Seen, Error> {
        let seen = self.list(ListParams::default()).await;
        seen.map_err(Error::api(format!("look at {}", self.describe())))
    }

    /// As it was at a version of the cluster's state.
    async fn as_of(&self, version: u64) -> kube::Result<Option<Deployment>> {
        let params = ListParams::default().at(&version.to_string()).matching(VersionMatch::Exact);
        self.list(params).await.map(|seen| seen.deployment)
    }

    /// A list, because that tells its version also where there is no Deployment.
    async fn list(&self, params: ListParams) -> kube::Result<Seen> {
        let list = self.deployments.list(&params.fields(&self.only)).await?;
        let version = list.metadata.resource_version.unwrap_or_default();
        Ok(Seen { deployment: list.items.into_iter().next(), version })
    }
}

/// Why a watch has ended.
enum Ended {
    /// It can be taken up again where it was.
    Interrupted,
    /// The server no longer tells what came next.
    Expired,
}

/// Keeps the record.
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
            tokio::time::sleep(POLL).await;
        }
    }

    async fn watch(&mut self) -> Ended {
        let params = WatchParams::default().fields(&self.target.only).timeout(WATCH);
        let is_gone = |error: &kube::Error| matches!(error, kube::Error::Api(status) if status.code == 410);
        let mut events = match self.target.deployments.watch(&params, &self.version).await {
            Ok(events) => events.boxed(),
            Err(error) if is_gone(&error) => return Ended::Expired,
            Err(_) => return Ended::Interrupted,
        };
        loop {
            match events.try_next().await {
                Ok(Some(WatchEvent::Added(deployment) | WatchEvent::Modified(deployment))) => {
                    lock(&self.record).history.stored(&deployment);
                    self.version = deployment.resource_version().unwrap_or_default();
                }
                Ok(Some(WatchEvent::Deleted(deployment))) => {
                    lock(&self.record).history.deleted();
                    self.version = deployment.resource_version().unwrap_or_default();
                }
                Ok(Some(WatchEvent::Bookmark(bookmark))) => self.version = bookmark.metadata.resource_version,
                Ok(Some(WatchEvent::Error(status))) if status.code == 410 => return Ended::Expired,
                Err(error) if is_gone(&error) => return Ended::Expired,
                Ok(Some(WatchEvent::Error(_)) | None) | Err(_) => return Ended::Interrupted,
            }
        }
    }

    /// Puts on record what was stored since the watch has seen anything, as far as the server can still tell.
    async fn catch_up(&mut self) {
        let now = loop {
            match self.target.look().await {
                Ok(now) => break now,
                Err(_) => tokio::time::sleep(POLL).await,
            }
        };
        let missed = self.stored_since(now.deployment).await;
        let mut record = lock(&self.record);
        match missed {
            Ok(missed) => missed.iter().rev().for_each(|deployment| record.history.stored(deployment)),
            Err(why) => {
                record.gaps.push(format!("between the versions {} and {}: {why}", self.version, now.version));
            }
        }
        self.version = now.version;
    }

    /// The writes after the version that is on record, from this one backwards. Each is looked for just before the one that
    /// came after it.
    async fn stored_since(&self, now: Option<Deployment>) -> Result<Vec<Deployment>, String> {
        let known = number(&self.version)?;
        let mut missed = Vec::new();
        let mut next = now;
        loop {
            // Where there was none, there may have been one before, of which no later one tells.
            let deployment = next.ok_or("the Deployment wasn't there, and may have been before")?;
            let version = number(deployment.metadata.resource_version.as_deref().unwrap_or_default())?;
            if version <= known {
                return Ok(missed);
            }
            missed.push(deployment);
            if version - 1 <= known {
                return Ok(missed);
            }
            next = loop {
                match self.target.as_of(version - 1).await {
                    Ok(before) => break before,
                    Err(kube::Error::Api(status)) if status.code == 410 => {
                        return Err(format!("the API server has forgotten it ({})", status.message));
                    }
                    Err(_) => tokio::time::sleep(POLL).await,
                }
            };
        }
    }
}

/// A resource version as etcd's revision.
fn number(version: &str) -> Result<u64, String> {
    version.parse().map_err(|_| format!("{version:?} is no revision of etcd's"))
}
