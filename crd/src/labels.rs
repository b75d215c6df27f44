//! The labels that Baton puts on a Workload's children: who manages them, and whose they are. The label that says which Baton looks
//! after a Workload. And the one annotation.
//!
//! Which child carries which label is the controller's business.

/// The well-known label that names the tool managing an object; Baton sets it to [`MANAGED_BY_BATON`].
pub const MANAGED_BY: &str = "app.kubernetes.io/managed-by";

/// The value of [`MANAGED_BY`] on everything that Baton creates.
pub const MANAGED_BY_BATON: &str = "baton";

/// The well-known label that names the application; Baton sets it to the Workload's name.
pub const NAME: &str = "app.kubernetes.io/name";

/// The label that ties pods to their Workload: the selector of the Deployment, the Service and the
/// `PodDisruptionBudget`. Its value is the Workload's name.
pub const WORKLOAD: &str = "baton.rs/workload";

/// The label of a Workload that says which shard looks after it, by the name that the shard's `--shard` has. A Workload without it is
/// looked after by an installation without a shard. Baton copies the label to the Workload's children, never to their pods: a
/// Workload that moves restarts nothing.
pub const SHARD: &str = "baton.rs/shard";

/// The annotation of a suspended Workload's Deployment with the number of replicas that it had, and gets again.
pub const REPLICAS_BEFORE_SUSPEND: &str = "baton.rs/replicas-before-suspend";
