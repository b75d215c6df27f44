//! The state of the cluster: caches that watches feed, and the Workloads that a change concerns.

mod autoscalers;
mod crd;
mod stores;
mod watches;
mod workload;

pub(crate) use self::{
    crd::{FIELDS, older_crd},
    stores::{Digests, Stores, Workloads},
    watches::{PAGE, Scope, Touched, watch, workloads_in},
    workload::WatchedWorkload,
};
