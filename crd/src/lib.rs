//! The `Workload` custom resource: its Rust types, their merge markers, validation rules and conditions.
//!
//! This crate defines what a Workload is, without a client or a runtime. The controller defines what Baton does with one.
//!
//! One file holds one part of the resource. [`workload_crd`] puts them together with the schemas of the built-in types
//! ([`builtin`]) into the `CustomResourceDefinition` that a cluster installs.

#![expect(unreachable_pub, reason = "`KubeSchema` expands to public structs inside of functions")]

mod autoscaling;
mod child_metadata;
mod crd;
mod disruption_budget;
mod nulls;
mod rollout;
mod schema;
mod service;
mod spec;
mod status;
mod template;

pub mod builtin;
pub mod condition;
pub mod labels;

pub use autoscaling::{Autoscaling, ExternalAutoscaler};
pub use child_metadata::ChildMetadata;
pub use crd::{workload_crd, workload_crd_yaml};
pub use disruption_budget::{DisruptionBudget, UnhealthyPodEvictionPolicy};
pub use rollout::{RollingUpdate, Rollout, RolloutStrategy, RolloutType};
pub use service::{
    IpFamily, IpFamilyPolicy, Protocol, ServicePort, ServiceSpec, ServiceType, SessionAffinity,
    TrafficDistribution, TrafficPolicy,
};
pub use spec::{Adoption, Mode, Workload, WorkloadSpec};
pub use status::{
    ChildState, ChildStatus, DryRunResult, HandoverPhase, PlannedAction, PlannedChild, PlannedTakeover,
    ReplicaOwnership, TakeoverStatus, WorkloadStatus,
};
pub use template::PodTemplate;

/// The API group of the Workload resource.
pub const GROUP: &str = "baton.rs";

/// The API version of the Workload resource within [`GROUP`].
pub const VERSION: &str = "v1alpha1";
