//! The types of the conditions in a Workload's status.
//!
//! Each is an ordinary Kubernetes condition: `status` is `True`, `False` or `Unknown`, `reason` is one word for
//! programs, `message` is a sentence for people. The controller decides their statuses.

/// `True` when the Workload runs as its spec says: every child is applied and the Deployment is available.
/// This is the one to wait for: `kubectl wait --for=condition=Ready bwl/<name>`.
pub const READY: &str = "Ready";

/// `True` when the API server accepted every child as the spec describes it; `False` with the server's message when it
/// refused one.
pub const APPLIED: &str = "Applied";

/// `True` while a rollout or a write of Baton's is under way; absent otherwise. kstatus reads it as `InProgress`.
pub const RECONCILING: &str = "Reconciling";

/// `True` while only a person can resolve what keeps the Workload from its spec; absent otherwise. kstatus reads it as `Failed`.
pub const STALLED: &str = "Stalled";

/// `True` when an autoscaler owns the Deployment's `spec.replicas`.
pub const HANDED_OVER: &str = "HandedOver";

/// `True` while the temporary manager owns the Deployment's `spec.replicas`, until the autoscaler writes a replica count. This
/// may last, and is correct: an autoscaler writes only when it wants another replica count.
pub const HANDOVER_PENDING: &str = "HandoverPending";

/// `True` when the autoscaler that owned the Deployment's `spec.replicas` is gone. The replica count stays as it is.
pub const AUTOSCALER_MISSING: &str = "AutoscalerMissing";

/// `True` while the replica count is 0: an autoscaler does nothing then, until someone scales to 1 or more.
pub const AUTOSCALER_DISABLED: &str = "AutoscalerDisabled";

/// `True` while more HorizontalPodAutoscalers scale the Deployment than the spec allows. Two with one target disable each
/// other, and Baton would contend with one that the spec doesn't mention. Baton adds none of its own then.
pub const AUTOSCALER_CONFLICT: &str = "AutoscalerConflict";

/// `True` while another field manager takes a field over each time after Baton has taken it back. Baton then pauses that child,
/// longer each time. The condition is removed when the contention ends.
pub const CONTESTED: &str = "Contested";
