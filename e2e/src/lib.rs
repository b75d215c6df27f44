//! A real Kubernetes control plane on this machine, for tests and the demo, and the operator beside it.
//!
//! ```no_run
//! # async fn example() -> Result<(), baton_e2e::Error> {
//! let cluster = baton_e2e::ControlPlane::shared().await;
//! let namespace = cluster.namespace("example").await?;
//! println!("{}", cluster.kubectl(["get", "pods", "--namespace", namespace.name()]).await?);
//! # Ok(())
//! # }
//! ```
//!
//! This crate knows everything of this workspace, and nothing of it knows this crate.

pub mod assets;
mod audit;
mod control_plane;
mod cpu;
mod definition;
mod error;
mod folder;
pub mod guide;
pub mod handover_model;
mod janitor;
mod kubeconfig;
mod kubectl;
pub mod merge_bench;
pub mod merge_diff;
pub mod merge_mutants;
mod metrics_api;
mod namespace;
mod net;
mod network;
pub mod node;
mod operator;
pub mod permissions;
mod pki;
mod poll;
mod process;
mod proxy;
mod query;
mod raw;
mod replica_watch;
pub mod resync_bench;
pub mod scenario;
pub mod soak;
pub mod transcripts;
mod webhook;

pub use audit::{AuditEntries, AuditEntry, AuditLog, Mark};
pub use control_plane::{AUDIT_DIR, ControlPlane, GIVEN_KUBECONFIG, Kept, Options};
pub use cpu::cpu_time;
pub use error::Error;
pub use kubectl::{Kubectl, Output};
pub use metrics_api::MetricsApi;
pub use namespace::Namespace;
pub use node::Node;
pub use operator::{Metrics, Operator, OperatorOptions};
pub use poll::poll;
pub use process::Process;
pub use proxy::{Action, Crash, CrashPoint, CutRequest, Proxy, RequestInfo, Side};
pub use replica_watch::{BelowFloor, Holder, ReplicaHistory, ReplicaWatch, ReplicaWrite};
pub use webhook::{AdmissionWebhook, Review};
