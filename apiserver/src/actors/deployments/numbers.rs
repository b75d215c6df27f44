//! Replica counts of a Deployment and its ReplicaSets.

use serde_json::Value;

use crate::actors::object::{int, replicas, scaled, text};

/// Available pods of a ReplicaSet.
pub(super) fn available(set: &Value) -> i64 {
    int(set, "/status/availableReplicas")
}

pub(super) fn is_rolling(deployment: &Value) -> bool {
    text(deployment, "/spec/strategy/type") != "Recreate"
}

/// `maxSurge` and `maxUnavailable`, resolved to pods.
fn leeway(deployment: &Value) -> (i64, i64) {
    let amount = |name| deployment.pointer(&format!("/spec/strategy/rollingUpdate/{name}"));
    let surge = scaled(amount("maxSurge"), replicas(deployment), true);
    let unavailable = scaled(amount("maxUnavailable"), replicas(deployment), false);
    // Rounding may make both zero, and the rollout could never proceed.
    if surge == 0 && unavailable == 0 { (0, 1) } else { (surge, unavailable) }
}

pub(super) fn max_surge(deployment: &Value) -> i64 {
    if is_rolling(deployment) { leeway(deployment).0 } else { 0 }
}

pub(super) fn max_unavailable(deployment: &Value) -> i64 {
    if !is_rolling(deployment) || replicas(deployment) == 0 {
        return 0;
    }
    leeway(deployment).1.min(replicas(deployment))
}

/// The replicas that the new ReplicaSet may have now.
pub(super) fn new_replicas(deployment: &Value, total: i64, new: i64) -> i64 {
    if !is_rolling(deployment) {
        return replicas(deployment);
    }
    let room = (replicas(deployment) + max_surge(deployment) - total).max(0);
    new + room.min((replicas(deployment) - new).max(0))
}

/// A number in the Deployment's spec, such as `progressDeadlineSeconds`; none if unset or unlimited.
pub(super) fn limit(deployment: &Value, field: &str) -> Option<i64> {
    let number = deployment.pointer(&format!("/spec/{field}")).and_then(Value::as_i64);
    number.filter(|number| *number != i64::from(i32::MAX))
}
