//! The labels and the annotation that Baton sets on a Workload's children, and the label of a Workload that names its shard.
//!
//! The controller decides which child gets which label.

/// The well-known label that names the tool managing an object; Baton sets it to [`MANAGED_BY_BATON`].
pub const MANAGED_BY: &str = "app.kubernetes.io/managed-by";

/// The value of [`MANAGED_BY`] on everything that Baton creates.
pub const MANAGED_BY_BATON: &str = "baton";

/// The well-known label that names the application; Baton sets it to the Workload's name.
pub const NAME: &str = "app.kubernetes.io/name";

/// The label that ties pods to their Workload: the selector of the Deployment, the Service and the
/// `PodDisruptionBudget`. Its value is the Workload's name.
pub const WORKLOAD: &str = "baton.rs/workload";

/// The label of a Workload that names the shard that reconciles it: the value of that shard's `--shard`. An installation without a
/// shard reconciles the Workloads without this label. Baton copies the label to the Workload's children, but not to their pods, so
/// that moving a Workload restarts nothing.
pub const SHARD: &str = "baton.rs/shard";

/// The annotation of a suspended Workload's Deployment that keeps the replica count to restore.
pub const REPLICAS_BEFORE_SUSPEND: &str = "baton.rs/replicas-before-suspend";
