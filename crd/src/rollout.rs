//! How a change of the template replaces running pods: the part of a Deployment's spec that is neither the template
//! nor the replica count.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::schema::{PERCENT_MESSAGE, PERCENT_RULE, SHARE_MESSAGE, SHARE_RULE};

/// How a change of the template replaces running pods.
#[derive(Clone, Debug, Default, Deserialize, KubeSchema, PartialEq, Serialize)]
#[x_kube(
    validation = Rule::new(
        "(has(self.progressDeadlineSeconds) ? self.progressDeadlineSeconds : 600) \
         > (has(self.minReadySeconds) ? self.minReadySeconds : 0)"
    )
        .message(
            "a rollout would be stuck before its first pod is available: make progressDeadlineSeconds (600 if absent) greater \
             than minReadySeconds"
        )
        .field_path(".progressDeadlineSeconds"),
)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Rollout {
    /// How new pods replace old ones. If absent, a quarter of them at a time (`RollingUpdate`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strategy: Option<RolloutStrategy>,

    /// How long a new pod must be ready without a crash before it counts as available, in seconds. If absent, 0: as soon as it is
    /// ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub min_ready_seconds: Option<i32>,

    /// How many old ReplicaSets to keep for a rollback. If absent, 10.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub revision_history_limit: Option<i32>,

    /// How long a rollout may make no progress before it is reported as stuck, in seconds. It must be greater than
    /// `minReadySeconds`. If absent, 600.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub progress_deadline_seconds: Option<i32>,
}

/// How new pods replace old ones.
#[derive(Clone, Debug, Default, Deserialize, KubeSchema, PartialEq, Serialize)]
#[x_kube(
    validation = Rule::new("!has(self.rollingUpdate) || dyn(self.rollingUpdate) == null || !has(self.type) || self.type == 'RollingUpdate'")
        .message("rollingUpdate has no effect with the type Recreate: remove it, or set the type to RollingUpdate")
        .field_path(".rollingUpdate"),
)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RolloutStrategy {
    /// `RollingUpdate` (if absent) replaces a few pods at a time. `Recreate` stops all old pods before it starts new ones, for
    /// applications of which two versions can't run at once.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RolloutType")]
    pub type_: Option<RolloutType>,

    /// How many pods a rolling update replaces at a time. Only with the type `RollingUpdate`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rolling_update: Option<RollingUpdate>,
}

/// The kinds of rollout.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, Hash, JsonSchema, PartialEq, Serialize)]
pub enum RolloutType {
    /// Replace pods a few at a time.
    #[default]
    RollingUpdate,
    /// Stop all old pods, then start new ones.
    Recreate,
}

/// How many pods a rolling update replaces at a time.
#[derive(Clone, Debug, Default, Deserialize, KubeSchema, PartialEq, Serialize)]
#[x_kube(
    validation = Rule::new(
        "!(has(self.maxSurge) && has(self.maxUnavailable) \
         && self.maxSurge in [dyn(0), dyn('0%')] && self.maxUnavailable in [dyn(0), dyn('0%')])"
    )
        .message("with maxSurge and maxUnavailable both 0, no pod can be replaced: make one of them greater than 0"),
)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RollingUpdate {
    /// How many pods there may be above the replica count: a number such as `2`, or a percentage such as `25%`, rounded up. If
    /// absent, `25%`. It can't be 0 when `maxUnavailable` is 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "crate::schema::count_or_percent")]
    #[x_kube(validation = Rule::new(PERCENT_RULE).message(PERCENT_MESSAGE))]
    pub max_surge: Option<IntOrString>,

    /// How many pods of the replica count may be unavailable: a number such as `1`, or a percentage such as `25%`, rounded down. If
    /// absent, `25%`. It can't be 0 when `maxSurge` is 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "crate::schema::count_or_percent")]
    #[x_kube(validation = Rule::new(SHARE_RULE).message(SHARE_MESSAGE))]
    pub max_unavailable: Option<IntOrString>,
}
