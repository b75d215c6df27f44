//! What sets the replica count: a `HorizontalPodAutoscaler` that Baton creates, or another autoscaler.

use std::collections::BTreeMap;

use kube::KubeSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::nulls::{absent, texts};

/// What sets the replica count: either the fields of a HorizontalPodAutoscaler that Baton creates, or `external` alone.
#[derive(Clone, Debug, Default, Deserialize, KubeSchema, PartialEq, Serialize)]
#[x_kube(
    validation = Rule::new("has(self.external) || has(self.maxReplicas)")
        .message("set maxReplicas, the greatest replica count that the autoscaler may choose, or set external if another autoscaler scales")
        .field_path(".maxReplicas")
        .reason(Reason::FieldValueRequired),
    validation = Rule::new(
        "!has(self.external) \
         || !(has(self.minReplicas) || has(self.maxReplicas) \
         || has(self.labels) && dyn(self.labels) != null || has(self.annotations) && dyn(self.annotations) != null \
         || has(self.metrics) && dyn(self.metrics) != null || has(self.behavior) && dyn(self.behavior) != null)"
    )
        .message(
            "with external, another autoscaler scales with its own limits and metrics: remove the other fields of autoscaling, or \
             remove external"
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
    /// The smallest replica count that the autoscaler may choose. If absent, 1. A new Workload starts with this count, unless
    /// `spec.replicas` is set. 0 needs a cluster that can scale to zero, and a metric of type `Object` or `External`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub min_replicas: Option<i32>,

    /// The greatest replica count that the autoscaler may choose. Required, unless `external` is set.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub max_replicas: Option<i32>,

    /// What the autoscaler measures; the metric that needs the most pods counts. If absent, the API server's default applies: 80
    /// percent of the CPU that the pods request.
    #[serde(default, deserialize_with = "absent", skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    #[schemars(schema_with = "crate::schema::builtin_objects")]
    pub metrics: Vec<Value>,

    /// How fast the autoscaler may scale up and down. If absent, the API server's defaults apply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "crate::schema::builtin_object")]
    pub behavior: Option<Value>,

    /// Labels for the HorizontalPodAutoscaler object itself, in addition to those that Baton sets.
    #[serde(default, deserialize_with = "texts", skip_serializing_if = "BTreeMap::is_empty")]
    #[x_kube(merge_strategy = MapMerge::Granular)]
    pub labels: BTreeMap<String, String>,

    /// Annotations for the HorizontalPodAutoscaler object itself, such as those that your tools read.
    #[serde(default, deserialize_with = "texts", skip_serializing_if = "BTreeMap::is_empty")]
    #[x_kube(merge_strategy = MapMerge::Granular)]
    pub annotations: BTreeMap<String, String>,

    /// Another autoscaler scales this Workload's Deployment: a HorizontalPodAutoscaler of your own, KEDA, `kubectl scale`. Written
    /// as `external: {}`, without other fields beside it. Baton creates no autoscaler, and hands the replica count to the manager
    /// that writes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub external: Option<ExternalAutoscaler>,
}

/// An autoscaler that Baton doesn't manage. It has no fields yet: `{}`.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, Hash, KubeSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ExternalAutoscaler {}
