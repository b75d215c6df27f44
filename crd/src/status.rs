//! What Baton reports about a Workload: what it saw, what it did, and what it would do.
//!
//! The types only; the controller decides what goes in. Types that carry a time have no `Default`: a time that nobody
//! set would be a lie.

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
    /// The `metadata.generation` of the spec that this status is about. While it is less than the current one, the
    /// status is out of date.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// The state in terms that programs can wait for: `Ready`, `Progressing`, `Applied`, with autoscaling `HandedOver`,
    /// `HandoverPending`, `AutoscalerMissing`, `AutoscalerDisabled`, `AutoscalerConflict`, and `Contested` while another
    /// manager fights Baton about a field.
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

    /// Who decides the Deployment's number of pods.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replica_ownership: Option<ReplicaOwnership>,

    /// The objects that Baton keeps for this Workload, and how each of them stands.
    #[serde(default, deserialize_with = "absent", skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["kind".into(), "name".into()]))]
    pub children: Vec<ChildStatus>,

    /// Fields of children that Baton took from another field manager, because the spec sets them: the latest, at most
    /// 50. The same manager again and again means that two tools fight about a field.
    #[serde(default, deserialize_with = "absent", skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["kind".into(), "name".into(), "path".into(), "manager".into()]))]
    #[schemars(length(max = 50))]
    pub takeovers: Vec<Takeover>,

    /// What Baton would do with each child if it were let. Filled in the modes `Preview` and `Paused`.
    #[serde(default, deserialize_with = "absent", skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["kind".into(), "name".into()]))]
    pub plan: Vec<PlannedChild>,
}

impl WorkloadStatus {
    /// What can be read of the JSON text of a status that another version, or somebody else, may have written. The rest is left out: the next
    /// status replaces it.
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

/// Who decides the Deployment's number of pods.
#[derive(Clone, Debug, Deserialize, KubeSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReplicaOwnership {
    /// The field managers that hold the Deployment's `spec.replicas`: `baton`, `handover-to-hpa`, or another. One that
    /// writes through the scale subresource, as autoscalers and `kubectl scale` do, is marked: `kube-controller-manager
    /// (scale)`. `nobody` if the number is only the server's default.
    pub holder: String,

    /// Where the number stands on its way between Baton and an autoscaler.
    pub phase: HandoverPhase,

    /// The Deployment's `spec.replicas`; if somebody deleted the Deployment, what it was.
    pub value: i32,

    /// The HorizontalPodAutoscalers that scale the Deployment, whoever made them. None of them need hold the number yet.
    #[serde(default, deserialize_with = "absent", skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Set)]
    pub autoscalers: Vec<String>,

    /// Since when the phase and the holder are what they are.
    pub since: Time,

    /// What has to happen for the phase to change, in a sentence. Absent if nothing is awaited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting_for: Option<String>,
}

/// Where a Deployment's number of pods stands on its way between Baton and an autoscaler.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, JsonSchema, PartialEq, Serialize)]
pub enum HandoverPhase {
    /// Baton holds the number that `spec.replicas` says.
    Fixed,
    /// Neither Baton nor an autoscaler is asked to decide: the number is left alone.
    Unmanaged,
    /// The temporary manager holds the number until the autoscaler writes one.
    HandoverPending,
    /// The autoscaler holds the number.
    HandedOver,
    /// Somebody who is neither Baton nor an autoscaler holds the number.
    OwnedByOther,
    /// The autoscaler that held the number is gone; the number stays.
    AutoscalerMissing,
    /// The number is 0, at which its autoscaler does nothing until somebody scales to 1 or more.
    AutoscalerDisabled,
    /// More HorizontalPodAutoscalers scale the Deployment than the spec tells of. They would stop each other.
    AutoscalerConflict,
    /// Autoscaling is no longer wanted, and Baton is taking the number back.
    TakingBack,
    /// Baton holds the number at 0, until the Workload is resumed.
    Suspended,
}

/// How one of a Workload's children stands.
#[derive(Clone, Debug, Default, Deserialize, KubeSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ChildStatus {
    /// The child's kind, such as `Deployment`.
    pub kind: String,

    /// The child's name, in the Workload's namespace.
    pub name: String,

    /// The API group and version in which Baton writes the child, such as `apps/v1`.
    pub api_version: String,

    /// How the child stands.
    pub state: ChildState,

    /// Why it stands so, in a sentence: the API server's own words where it rejected the child.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// How a child stands.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, Hash, JsonSchema, PartialEq, Serialize)]
pub enum ChildState {
    /// Not written yet.
    #[default]
    Pending,
    /// It is as the spec says.
    Applied,
    /// The API server rejected it.
    Rejected,
    /// It exists and isn't Baton's, and the Workload doesn't adopt.
    Refused,
    /// Another manager takes a field again and again as Baton takes it back: it is left alone for a while.
    Contested,
    /// The spec no longer wants it, and it is being deleted.
    Deleting,
}

/// A field of a child that Baton took from another field manager.
#[derive(Clone, Debug, Deserialize, KubeSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Takeover {
    /// The child's kind, such as `Deployment`.
    pub kind: String,

    /// The child's name, in the Workload's namespace.
    pub name: String,

    /// The field's path, such as `.spec.template.spec.containers[name="app"].image`.
    pub path: String,

    /// The field manager that held the field before.
    pub manager: String,

    /// The value before, as JSON, shortened where it is long. What may be secret, such as the value of an environment
    /// variable, is `(hidden)`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old_value: Option<String>,

    /// The value that Baton wrote, in the same form. Absent if the field went.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new_value: Option<String>,

    /// How often Baton took this field from this manager.
    #[schemars(range(min = 1))]
    pub count: i32,

    /// When it happened first.
    pub first_time: Time,

    /// When it happened last.
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

    /// How many writes it would take, where it is more than one: the number of pods changes hands in several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub writes: Option<i32>,

    /// The fields that would get another value.
    #[serde(default, deserialize_with = "absent", skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub sets: Vec<String>,

    /// The fields that Baton would take from another field manager.
    #[serde(default, deserialize_with = "absent", skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub takes: Vec<PlannedTake>,

    /// The fields that Baton would no longer own, and that stay because somebody else owns them.
    #[serde(default, deserialize_with = "absent", skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub releases: Vec<String>,

    /// The fields that would go, because Baton owned them alone and the spec no longer sets them.
    #[serde(default, deserialize_with = "absent", skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub removes: Vec<String>,

    /// What the API server said when it was asked to try the first of these writes without storing it.
    pub dry_run: DryRun,

    /// Why it is planned so, or how the API server's answer differs from the plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// A field that Baton would take from another field manager.
#[derive(Clone, Debug, Default, Deserialize, KubeSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlannedTake {
    /// The field's path.
    pub path: String,

    /// The field manager that holds the field.
    pub manager: String,
}

/// What the API server said to a write that it was asked to try.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, Hash, JsonSchema, PartialEq, Serialize)]
pub enum DryRun {
    /// There is nothing to compare: no write, no prediction for want of a schema, or the API server couldn't be asked.
    #[default]
    NotRun,
    /// It would do what the plan says.
    Agreed,
    /// It would do something else; see the message.
    Disagreed,
    /// It would refuse the write; see the message for its words.
    Rejected,
}

/// What Baton would do with a child.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, Hash, JsonSchema, PartialEq, Serialize)]
pub enum PlannedAction {
    /// It is as the spec says, or isn't Baton's to write; see the message.
    #[default]
    Nothing,
    /// Make it.
    Create,
    /// Change it.
    Update,
    /// Delete it.
    Delete,
}
