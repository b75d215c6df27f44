//! The Baton operator: turns a `Workload` into its children by server-side apply, and owns exactly what it set.
//!
//! [`reconcile`] is the loop: each pass *observes, decides, acts and reports*.
//!
//! - `observe` has the caches of Workloads and children, fed by watches;
//! - [`decide`] plans the writes, as pure functions and state machines without I/O: from a [snapshot](decide::snapshot) to the next
//!   [steps](decide::plan), with [who owns `spec.replicas`](decide::replicas) and [the intent of a child](decide::intent), and the
//!   [course](decide::course) of a pass;
//! - [`reconcile`] acts: it runs a course against the API server, or rehearses it, and sets the pace;
//! - [`report`] makes the Workload's status and the Events of a pass.
//!
//! Each write is predicted, guarded and compared by [`baton_apply`].
//!
//! No ownership is remembered between two passes: who owns a field is read from `managedFields` every time, so a crash anywhere loses
//! nothing. What is known to change nothing is remembered, and may be lost.
//!
//! [`process`] has all that is around the loop: command line, start and end, self-check. No other room imports it. Its election, ports
//! and signals are [`baton_runtime`]'s.
//! [`metrics`] counts what happens.

pub mod decide;
pub mod metrics;
pub mod observe;
pub mod process;
pub mod reconcile;
pub mod report;

/// Baton's field manager, for children and for status, always.
pub const FIELD_MANAGER: &str = "baton";

/// The temporary field manager that carries `spec.replicas` from Baton to an autoscaler. The Kubernetes documentation
/// of server-side apply uses the same name.
pub const HANDOVER_MANAGER: &str = "handover-to-hpa";
