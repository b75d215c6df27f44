//! The Baton operator: turns a `Workload` into its children by server-side apply, and owns exactly what it set.
//!
//! The loop is *observe → plan → act → report*:
//!
//! - [`observe`] gathers what is there: the Workload and its live children, from caches that watches feed, and the
//!   [`autoscalers`] that scale its Deployment;
//! - [`plan`] decides, as a pure function, which [`plan::Step`]s come next; [`handover`] is its part about `spec.replicas`,
//!   [`adoption`] its part about what somebody else made, and [`intent`] its part about what a child should look like;
//! - [`course`] is a pass as a state machine without I/O: what to look at, what to write, and what to make of each answer;
//! - [`act`] sends each step, as a [`request`], to the API server and says how it ended. Before that, [`predict`] says what
//!   the request will do, so that one that changes nothing isn't sent; after it, the answer is held against that;
//! - [`report`] puts the outcome into the Workload's status and into Events.
//!
//! [`process`] is what stands around the loop: command line, start and end, election, self-check. Nothing here knows it.
//!
//! [`preview`] goes the same way without writing: it rehearses the plan with the merge core in the API server's place.
//! [`metrics`] counts what happens.
//!
//! Nothing is remembered between two passes that a decision depends on: who holds a field is read from `managedFields`
//! every time, so a crash anywhere loses nothing. What is remembered is pace: [`backoff`] after failures, [`contention`] in
//! fights about a field, and [`resync`], which applies for real now and then whatever was predicted.

pub mod act;
pub mod adoption;
pub mod autoscalers;
pub mod backoff;
pub mod causes;
pub mod child;
pub mod contention;
mod context;
pub mod course;
mod enforce;
pub mod handover;
pub mod intent;
pub mod live;
mod lock;
pub mod metrics;
pub mod observe;
mod openapi;
mod packed;
pub mod plan;
pub mod predict;
pub mod preview;
pub mod process;
mod quantity;
mod reconcile;
pub mod report;
pub mod request;
pub mod resync;
mod watched;
mod watches;
mod write;

/// Baton's field manager, for children and for status, always.
pub const FIELD_MANAGER: &str = "baton";

/// The temporary field manager that carries `spec.replicas` from Baton to an autoscaler. The Kubernetes documentation
/// of server-side apply uses the same name.
pub const HANDOVER_MANAGER: &str = "handover-to-hpa";
