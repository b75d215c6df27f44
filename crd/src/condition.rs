//! The types of the conditions in a Workload's status.
//!
//! Each is an ordinary Kubernetes condition: `status` is `True`, `False` or `Unknown`, `reason` is one word for
//! programs, `message` is a sentence for people. When a condition has which status is decided by the controller.

/// `True` when the Workload runs as asked for: every child is applied and the Deployment is available.
/// This is the one to wait for: `kubectl wait --for=condition=Ready bwl/<name>`.
pub const READY: &str = "Ready";

/// `True` while a rollout is under way; `False` when it is finished or stuck.
pub const PROGRESSING: &str = "Progressing";

/// `True` when the API server accepted every child as the spec describes it; `False` with the server's own words
/// when it refused one.
pub const APPLIED: &str = "Applied";

/// `True` when an autoscaler holds the Deployment's replicas.
pub const HANDED_OVER: &str = "HandedOver";

/// `True` while the temporary manager holds the Deployment's replicas, until the autoscaler writes a number of its
/// own. This can take long, and is correct: an autoscaler writes only when it wants another number.
pub const HANDOVER_PENDING: &str = "HandoverPending";

/// `True` when the autoscaler that held the Deployment's replicas is gone. The number stays as it is.
pub const AUTOSCALER_MISSING: &str = "AutoscalerMissing";

/// `True` while the number is 0, at which its autoscaler does nothing until somebody scales to 1 or more.
pub const AUTOSCALER_DISABLED: &str = "AutoscalerDisabled";

/// `True` while more HorizontalPodAutoscalers scale the Deployment than the spec tells of: two with one target stop each
/// other, and one that the spec doesn't tell of would be fought about the number. Baton adds none of its own then.
pub const AUTOSCALER_CONFLICT: &str = "AutoscalerConflict";

/// `True` while another field manager takes a field again and again as Baton takes it back. The child is left alone for
/// longer and longer pauses then; the condition goes when the fight is over.
pub const CONTESTED: &str = "Contested";
