//! Who decides the number of pods: a `HorizontalPodAutoscaler` of Baton's, or an autoscaler of somebody else's.

use std::collections::BTreeMap;

use kube::KubeSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::nulls::{absent, texts};

/// Who decides the number of pods: either the fields of a HorizontalPodAutoscaler that Baton makes, or `external`
/// alone.
#[derive(Clone, Debug, Default, Deserialize, KubeSchema, PartialEq, Serialize)]
#[x_kube(
    validation = Rule::new("has(self.external) || has(self.maxReplicas)")
        .message("say how many pods the autoscaler may run at most: set maxReplicas, or external if somebody else scales")
        .field_path(".maxReplicas")
        .reason(Reason::FieldValueRequired),
    validation = Rule::new(
        "!has(self.external) \
         || !(has(self.minReplicas) || has(self.maxReplicas) \
         || has(self.labels) && dyn(self.labels) != null || has(self.annotations) && dyn(self.annotations) != null \
         || has(self.metrics) && dyn(self.metrics) != null || has(self.behavior) && dyn(self.behavior) != null)"
    )
        .message(
            "external means that somebody else scales, with limits and metrics of their own: drop every other field of \
             autoscaling, or drop external"
        )
        .field_path(".external"),
    validation = Rule::new(
        "!has(self.minReplicas) || !has(self.maxReplicas) || self.minReplicas <= self.maxReplicas"
    )
        .message("minReplicas is greater than maxReplicas: lower it, or raise maxReplicas")
        .field_path(".minReplicas"),
)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Autoscaling {
    /// The least number of pods that the autoscaler may choose. Default 1. Baton starts a new Workload with this
    /// number, unless `spec.replicas` says another. 0 needs a cluster that can scale to zero, and a metric of type
    /// `Object` or `External`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub min_replicas: Option<i32>,

    /// The greatest number of pods that the autoscaler may choose. Needed, unless `external` is set.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub max_replicas: Option<i32>,

    /// What the autoscaler measures; the metric that asks for most pods wins. Left out, the API server's default
    /// applies: 80 percent of the CPU that the pods request. The list belongs to one team as a whole.
    #[serde(default, deserialize_with = "absent", skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    #[schemars(schema_with = "crate::schema::builtin_objects")]
    pub metrics: Vec<Value>,

    /// How fast the autoscaler may go up and down. Left out, the API server's defaults apply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "crate::schema::builtin_object")]
    pub behavior: Option<Value>,

    /// Labels for the HorizontalPodAutoscaler object itself, beside those that Baton sets.
    #[serde(default, deserialize_with = "texts", skip_serializing_if = "BTreeMap::is_empty")]
    #[x_kube(merge_strategy = MapMerge::Granular)]
    pub labels: BTreeMap<String, String>,

    /// Annotations for the HorizontalPodAutoscaler object itself, such as those that a tool of yours reads.
    #[serde(default, deserialize_with = "texts", skip_serializing_if = "BTreeMap::is_empty")]
    #[x_kube(merge_strategy = MapMerge::Granular)]
    pub annotations: BTreeMap<String, String>,

    /// Says that somebody else scales this Workload's Deployment: a HorizontalPodAutoscaler of your own, KEDA,
    /// `kubectl scale`. Written as `external: {}`, with nothing beside it. Baton makes no autoscaler and hands the
    /// number over to whoever writes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub external: Option<ExternalAutoscaler>,
}

/// An autoscaler that Baton doesn't manage. There is nothing to say about it yet: `{}`.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, Hash, KubeSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ExternalAutoscaler {}
