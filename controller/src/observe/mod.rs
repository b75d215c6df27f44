//! The state of the cluster: caches that watches feed, and which Workloads a change concerns.

mod crd;
mod digest;
mod families;
mod packed;
mod progress;
mod watches;
mod workloads;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

pub(crate) use self::{
    crd::{CrdProblem, Judgement, LAG, WorkloadCrd},
    families::Digests,
    watches::{PAGE, Scope, Stores, Streams, watch, workloads_in},
    workloads::{Taken, WatchedWorkload},
};

/// A `resourceVersion` as a number: of two versions of an object, the greater one is newer. 0 if it isn't a number; then the order is
/// unknown.
fn version_of(metadata: &ObjectMeta) -> u64 {
    metadata.resource_version.as_deref().and_then(|version| version.parse().ok()).unwrap_or_default()
}
