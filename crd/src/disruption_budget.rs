//! How many pods voluntary disruptions must leave running.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    nulls::texts,
    schema::{SHARE_MESSAGE, SHARE_RULE},
};

/// How many pods voluntary disruptions, such as draining a node, must leave running: exactly one of `minAvailable` and
/// `maxUnavailable`.
#[derive(Clone, Debug, Default, Deserialize, KubeSchema, PartialEq, Serialize)]
#[x_kube(
    validation = Rule::new("has(self.minAvailable) != has(self.maxUnavailable)")
        .message("set exactly one of minAvailable and maxUnavailable"),
)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DisruptionBudget {
    /// How many pods must stay available: a number such as `2`, or a percentage such as `50%`, rounded up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "crate::schema::count_or_percent")]
    #[x_kube(validation = Rule::new(SHARE_RULE).message(SHARE_MESSAGE))]
    pub min_available: Option<IntOrString>,

    /// How many pods may be unavailable: a number such as `1`, or a percentage such as `25%`, rounded up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "crate::schema::count_or_percent")]
    #[x_kube(validation = Rule::new(SHARE_RULE).message(SHARE_MESSAGE))]
    pub max_unavailable: Option<IntOrString>,

    /// Labels for the PodDisruptionBudget object itself, in addition to those that Baton sets.
    #[serde(default, deserialize_with = "texts", skip_serializing_if = "BTreeMap::is_empty")]
    #[x_kube(merge_strategy = MapMerge::Granular)]
    pub labels: BTreeMap<String, String>,

    /// Annotations for the PodDisruptionBudget object itself, such as those that your tools read.
    #[serde(default, deserialize_with = "texts", skip_serializing_if = "BTreeMap::is_empty")]
    #[x_kube(merge_strategy = MapMerge::Granular)]
    pub annotations: BTreeMap<String, String>,

    /// When a pod that runs but isn't ready may be evicted: `IfHealthyBudget` (if absent) only while enough others are healthy,
    /// `AlwaysAllow` at any time, so that a broken application doesn't block a node's drain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "UnhealthyPodEvictionPolicy")]
    pub unhealthy_pod_eviction_policy: Option<UnhealthyPodEvictionPolicy>,
}

/// When a pod that runs but isn't ready may be evicted.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, Hash, JsonSchema, PartialEq, Serialize)]
pub enum UnhealthyPodEvictionPolicy {
    /// Only while enough others are healthy.
    #[default]
    IfHealthyBudget,
    /// Any time.
    AlwaysAllow,
}
