//! A real Kubernetes control plane on one machine, and what tests need beside it: a proxy that cuts connections, admission
//! webhooks, a metrics API, the audit log, a watch of replica counts, a real node, and the judge of a
//! [prediction].
//!
//! ```no_run
//! # async fn example() -> Result<(), baton_testbed::Error> {
//! let cluster = baton_testbed::Cluster::shared().await;
//! let namespace = cluster.namespace("example").await?;
//! println!("{}", cluster.real().kubectl(["get", "pods", "--namespace", namespace.name()]).await?);
//! # Ok(())
//! # }
//! ```
//!
//! Nothing here knows a Workload or the operator; `deny.toml` holds that.

pub mod assets;
pub mod audit;
mod cluster;
mod control_plane;
mod cpu;
pub mod crd;
mod error;
mod folder;
mod janitor;
mod json;
mod kubeconfig;
mod kubectl;
mod memory;
mod metrics;
mod metrics_api;
mod namespace;
pub mod net;
mod network;
pub mod node;
mod pki;
mod poll;
pub mod prediction;
pub mod process;
mod proxy;
pub mod query;
mod random;
pub mod raw;
mod recorder;
mod replicas;
mod server;
pub mod units;
mod webhook;
pub mod writes;

use std::{
    path::Path,
    sync::{Mutex, MutexGuard, PoisonError},
};

pub use audit::{AuditEntries, AuditEntry, AuditLog, Mark};
pub use baton_apiserver::faults::{Action, CutRequest, RequestInfo};
pub use cluster::{Cluster, Embedded};
pub use control_plane::{AUDIT_DIR, ControlPlane, GIVEN_KUBECONFIG, Kept, Options};
pub use cpu::cpu_time;
pub use error::Error;
pub use json::{Json, Number};
pub use kubectl::{Kubectl, Output};
pub use memory::{Memory, memory};
pub use metrics::Metrics;
pub use metrics_api::MetricsApi;
pub use namespace::Namespace;
pub use node::Node;
pub use poll::{PATIENCE, eventually, poll, wait_for};
pub use process::Process;
pub use proxy::{Crash, CrashPoint, Proxy, Route, Side};
pub use random::Random;
pub use recorder::{Event, Recorder};
pub use replicas::{BelowFloor, ReplicaHistory, ReplicaOwner, ReplicaWatch, ReplicaWrite};
pub use webhook::{AdmissionWebhook, Review};

/// Runs `work` on a thread that it may block.
///
/// # Errors
/// That of `work`, or when it panics.
pub async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    tokio::task::spawn_blocking(work).await.map_err(Error::parse("how a thread ended"))?
}

/// Locks it, also if it is poisoned: a panic elsewhere fails its own test only.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The root of the repository.
pub fn workspace() -> &'static Path {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.ancestors().nth(2).unwrap_or(package)
}
