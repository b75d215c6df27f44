//! The Baton operator: turns a `Workload` into its children by server-side apply, and owns exactly what it set.
//!
//! The loop is *observe → decide → act → report*:
//!
//! - `observe` gathers what is there, in caches that watches feed;
//! - [`decide`] is the thinking, as pure functions and machines without I/O: from a [snapshot](decide::snapshot) to the next
//!   [steps](decide::plan), with [who owns `spec.replicas`](decide::replicas) and [what a child looks like](decide::intent), and the
//!   [course](decide::course) of a pass;
//! - [`act`] runs a course against the API server, or rehearses it, and remembers the [pace](act::pace);
//! - [`report`] puts what came of it into the Workload's status and into Events.
//!
//! Each write is predicted, guarded and compared by [`baton_apply`].
//!
//! Nothing is remembered between two passes that a decision depends on: who owns a field is read from `managedFields` every
//! time, so a crash anywhere loses nothing.
//!
//! [`process`] is what stands around the loop: command line, start and end, election, self-check. Nothing here knows it.
//! [`metrics`] counts what happens.

pub mod act;
pub mod causes;
pub mod decide;
mod lock;
pub mod metrics;
pub mod observe;
pub mod process;
pub mod report;

/// Baton's field manager, for children and for status, always.
pub const FIELD_MANAGER: &str = "baton";

/// The temporary field manager that carries `spec.replicas` from Baton to an autoscaler. The Kubernetes documentation
/// of server-side apply uses the same name.
pub const HANDOVER_MANAGER: &str = "handover-to-hpa";
