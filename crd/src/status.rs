//! What Baton reports about a Workload: what it read, what it wrote, and what it would write.
//!
//! The types only; the controller fills them. Types with a time have no `Default`, since no time is a sensible one.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::nulls::absent;

/// What Baton reports about a Workload.
#[derive(Clone, Debug, Default, Deserialize, KubeSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkloadStatus {
    /// The `metadata.generation` of the newest spec for which each child was written, or refused. If it is less than the current
    /// one, Baton isn't done yet. -1 at first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// The state, for programs: `Ready` and `Applied`; `Reconciling` and `Stalled` while they are true; with autoscaling `HandedOver`,
    /// `HandoverPending`, `AutoscalerMissing`, `AutoscalerDisabled` and `AutoscalerConflict`; and `Contested` while another manager
    /// overwrites a field again and again.
    #[serde(default, deserialize_with = "absent", skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,

    /// How many pods the Deployment has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,

    /// How many of the pods are ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready_replicas: Option<i32>,

    /// The label selector of the pods as text, for the scale subresource.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selector: Option<String>,

    /// Who owns the Deployment's replica count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replica_ownership: Option<ReplicaOwnership>,

    /// The children that Baton manages for this Workload, and the state of each.
    #[serde(default, deserialize_with = "absent", skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["kind".into(), "name".into()]))]
    pub children: Vec<ChildStatus>,

    /// The latest fields of children that Baton took over from another field manager, because the spec sets them, at most 50. A
    /// count that grows means that two managers set the same field.
    #[serde(default, deserialize_with = "absent", skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["kind".into(), "name".into(), "path".into(), "manager".into()]))]
    #[schemars(length(max = 50))]
    pub takeovers: Vec<TakeoverStatus>,

    /// What Baton would do with each child. Only in the modes `Preview` and `Paused`.
    #[serde(default, deserialize_with = "absent", skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["kind".into(), "name".into()]))]
    pub plan: Vec<PlannedChild>,
}

impl WorkloadStatus {
    /// Whether Baton has written it. The schema's default for a new Workload is about the generation -1.
    pub fn is_written(&self) -> bool {
        self.observed_generation.is_some_and(|generation| generation >= 0)
    }

    /// All that can be read of the JSON text of a status that another version or another program may have written. The rest is left
    /// out: the next status replaces it.
    pub fn readable(status: &str) -> Self {
        if let Ok(status) = serde_json::from_str(status) {
            return status;
        }
        let is_readable = |name: &str, value: &Value| {
            serde_json::from_value::<Self>(Map::from_iter([(name.to_owned(), value.clone())]).into()).is_ok()
        };
        let Ok(mut members) = serde_json::from_str::<Map<String, Value>>(status) else {
            return Self::default();
        };
        for (name, value) in &mut members {
            if let Some(items) = value.as_array_mut() {
                items.retain(|item| is_readable(name, &Value::from(vec![item.clone()])));
            }
        }
        members.retain(|name, value| is_readable(name, value));
        serde_json::from_value(members.into()).unwrap_or_default()
    }
}

/// Who owns the Deployment's replica count.
#[derive(Clone, Debug, Deserialize, KubeSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReplicaOwnership {
    /// The field managers that own the Deployment's `spec.replicas`: `baton`, `handover-to-hpa`, or others. `(scale)` marks managers
    /// that write the scale subresource, as autoscalers and `kubectl scale` do: `kube-controller-manager (scale)`. `nobody` if no
    /// manager owns it.
    pub owner: String,

    /// The phase of the handover between Baton and an autoscaler. `Fixed`: Baton owns the replica count, which is `spec.replicas`.
    /// `Unmanaged`: the spec has neither `replicas` nor `autoscaling`, and Baton leaves the count alone. `HandoverPending`: a
    /// temporary manager owns the count until the autoscaler writes it. `HandedOver`: the autoscaler owns the count. `OwnedByOther`:
    /// another manager owns it. `AutoscalerMissing`: the autoscaler that owned the count is gone; the count stays.
    /// `AutoscalerDisabled`: the count is 0, at which an autoscaler does nothing. `AutoscalerConflict`: more
    /// HorizontalPodAutoscalers scale the Deployment than the spec allows. `TakingBack`: the spec no longer asks for autoscaling, and
    /// Baton is taking the count back. `Suspended`: Baton owns the count, which is 0.
    pub phase: HandoverPhase,

    /// The Deployment's `spec.replicas`; if the Deployment was deleted, the last one.
    pub value: i32,

    /// The HorizontalPodAutoscalers that scale the Deployment, whoever created them.
    #[serde(default, deserialize_with = "absent", skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Set)]
    pub autoscalers: Vec<String>,

    /// When the phase or the owner last changed.
    pub since: Time,

    /// What Baton waits for before the phase can change. Absent if it waits for nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting_for: Option<String>,
}

/// The phase of the handover between Baton and an autoscaler.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, JsonSchema, PartialEq, Serialize)]
pub enum HandoverPhase {
    /// Baton owns the replica count, which is `spec.replicas`.
    Fixed,
    /// The spec has neither `replicas` nor `autoscaling`: Baton leaves the replica count alone.
    Unmanaged,
    /// The temporary manager owns the replica count until the autoscaler writes it.
    HandoverPending,
    /// The autoscaler owns the replica count.
    HandedOver,
    /// A manager that is neither Baton nor an autoscaler owns the replica count.
    OwnedByOther,
    /// The autoscaler that owned the replica count is gone; the count stays.
    AutoscalerMissing,
    /// The replica count is 0, at which its autoscaler does nothing until someone scales to 1 or more.
    AutoscalerDisabled,
    /// More HorizontalPodAutoscalers scale the Deployment than the spec allows. They would disable each other.
    AutoscalerConflict,
    /// The spec no longer asks for autoscaling, and Baton is taking the replica count back.
    TakingBack,
    /// Baton owns the replica count at 0, until the Workload is resumed.
    Suspended,
}

/// The state of one of a Workload's children.
#[derive(Clone, Debug, Default, Deserialize, KubeSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ChildStatus {
    /// The child's kind, such as `Deployment`.
    pub kind: String,

    /// The child's name, in the Workload's namespace.
    pub name: String,

    /// The API group and version in which Baton writes the child, such as `apps/v1`.
    pub api_version: String,

    /// The state of the child. `Pending`: not written yet. `Applied`: as the spec says. `Rejected`: the API server rejected it.
    /// `Refused`: an object of its name exists with another owner, and the Workload doesn't adopt it. `Contested`: another manager
    /// overwrites a field again and again, and Baton pauses before the next correction. `Deleting`: the spec no longer asks for it.
    pub state: ChildState,

    /// The reason of the state: the API server's message if it rejected the child.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// The state of a child.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, Hash, JsonSchema, PartialEq, Serialize)]
pub enum ChildState {
    /// Not written yet.
    #[default]
    Pending,
    /// It is as the spec says.
    Applied,
    /// The API server rejected it.
    Rejected,
    /// An object of its name exists with another owner, and the Workload doesn't adopt it.
    Refused,
    /// Another manager overwrites a field again and again: Baton pauses before the next correction.
    Contested,
    /// The spec no longer asks for it, and it is being deleted.
    Deleting,
}

/// A field of a child that Baton took over from another field manager.
#[derive(Clone, Debug, Deserialize, KubeSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TakeoverStatus {
    /// The child's kind, such as `Deployment`.
    pub kind: String,

    /// The child's name, in the Workload's namespace.
    pub name: String,

    /// The field's path, such as `.spec.template.spec.containers[name="app"].image`.
    pub path: String,

    /// The field manager that owned the field before.
    pub manager: String,

    /// The value before, as JSON, shortened if it is long. Values that may be secret, such as those of environment variables, are
    /// `(hidden)`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old_value: Option<String>,

    /// The value that Baton wrote, in the same form. Absent if the field was removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new_value: Option<String>,

    /// How often Baton took this field over from this manager.
    #[schemars(range(min = 1))]
    pub count: i32,

    /// The first time.
    pub first_time: Time,

    /// The last time.
    pub last_time: Time,
}

/// What Baton would do with a child. Paths are those of single fields, such as `.spec.replicas`.
#[derive(Clone, Debug, Default, Deserialize, KubeSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlannedChild {
    /// The child's kind, such as `Deployment`.
    pub kind: String,

    /// The child's name, in the Workload's namespace.
    pub name: String,

    /// What Baton would do: `Create`, `Update` or `Delete` the child, or `Nothing`.
    pub action: PlannedAction,

    /// How many writes this needs, if more than one: a handover of the replica count needs several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub writes: Option<i32>,

    /// The fields that would get another value.
    #[serde(default, deserialize_with = "absent", skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub sets: Vec<String>,

    /// The fields that Baton would take over from another field manager.
    #[serde(default, deserialize_with = "absent", skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub takes: Vec<PlannedTakeover>,

    /// The fields that Baton would release, and that stay because another manager owns them.
    #[serde(default, deserialize_with = "absent", skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub releases: Vec<String>,

    /// The fields that would be removed, because only Baton owned them and the spec no longer sets them.
    #[serde(default, deserialize_with = "absent", skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub removes: Vec<String>,

    /// How a server-side dry run of the first of these writes compares with the plan. `Agreed`: the result is as planned.
    /// `Disagreed`: it differs; see `message`. `Rejected`: the API server would reject the write; see `message`. `NotRun`: there is no
    /// write, no schema for a prediction, or no response.
    pub dry_run: DryRunResult,

    /// The reason of the plan, or how the dry run differs from it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// A field that Baton would take over from another field manager.
#[derive(Clone, Debug, Default, Deserialize, KubeSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlannedTakeover {
    /// The field's path.
    pub path: String,

    /// The field manager that owns the field.
    pub manager: String,
}

/// How a server-side dry run of a write compares with the plan.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, Hash, JsonSchema, PartialEq, Serialize)]
pub enum DryRunResult {
    /// There is nothing to compare: no write, no schema for a prediction, or no response to the dry run.
    #[default]
    NotRun,
    /// The result is as planned.
    Agreed,
    /// The result differs; see the message.
    Disagreed,
    /// The API server would reject the write; see the message.
    Rejected,
}

/// What Baton would do with a child.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, Hash, JsonSchema, PartialEq, Serialize)]
pub enum PlannedAction {
    /// It is as the spec says, or Baton may not write it; see the message.
    #[default]
    Nothing,
    /// Create it.
    Create,
    /// Update it.
    Update,
    /// Delete it.
    Delete,
}
