//! The Workload itself and the top of its spec.
//!
//! The rules here are those that need to see more than one part at once, or the name; each part brings its own.

use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Autoscaling, ChildMetadata, DisruptionBudget, PodTemplate, Rollout, ServiceSpec, WorkloadStatus,
    nulls::absent,
};

/// The template may leave Baton's label out, or name the Workload. The template reads `null` as absent, so the rule does.
const TEMPLATE_LABEL_RULE: &str = "!has(self.spec.template.metadata) \
    || dyn(self.spec.template.metadata) == null \
    || !has(self.spec.template.metadata.labels) \
    || dyn(self.spec.template.metadata.labels) == null \
    || !('baton.rs/workload' in self.spec.template.metadata.labels) \
    || self.spec.template.metadata.labels['baton.rs/workload'] == self.metadata.name";

/// What a Workload asks for.
#[derive(CustomResource, Clone, Debug, Default, Deserialize, KubeSchema, PartialEq, Serialize)]
#[kube(
    group = "baton.rs",
    version = "v1alpha1",
    kind = "Workload",
    plural = "workloads",
    shortname = "bwl",
    category = "baton",
    namespaced,
    derive = "Default",
    derive = "PartialEq",
    status = "WorkloadStatus",
    doc = "An application that Baton runs as a Deployment, with a Service, an autoscaler and a disruption budget \
           where asked for. Baton owns exactly the fields of these children that the spec sets, and no others.",
    validation = Rule::new("size(self.metadata.name) <= 63")
        .message("the name is also a label's value on every child: choose one of at most 63 characters"),
    validation = Rule::new("!has(self.spec.service) || self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')")
        .message(
            "a Workload with a service gives it its name: choose one of lower case letters, digits and '-' that starts \
             with a letter, or drop spec.service"
        ),
    validation = Rule::new(TEMPLATE_LABEL_RULE)
        .message(
            "the template's label baton.rs/workload is Baton's own: drop it, or set it to the Workload's name"
        )
        .field_path(".spec.template"),
    validation = Rule::new("!has(self.spec.retiredManagers) || dyn(self.spec.retiredManagers) == null || self.spec.adoption == 'Adopt'")
        .message("retiredManagers are retired when a child is adopted: set adoption: Adopt, or drop retiredManagers")
        .field_path(".spec.retiredManagers"),
    validation = Rule::new(
        "!has(self.spec.retiredManagers) || dyn(self.spec.retiredManagers) == null \
         || !self.spec.retiredManagers.exists(name, name in ['baton', 'handover-to-hpa'])"
    )
        .message("baton and handover-to-hpa are Baton's own managers and can't be retired: drop them")
        .field_path(".spec.retiredManagers"),
    printcolumn(
        name = "Ready",
        type_ = "integer",
        json_path = ".status.readyReplicas",
        description = "How many pods are ready"
    ),
    printcolumn(
        name = "Replicas",
        type_ = "integer",
        json_path = ".status.replicas",
        description = "How many pods there are"
    ),
    printcolumn(
        name = "Scaled By",
        type_ = "string",
        json_path = ".status.replicaOwnership.holder",
        description = "The field manager that owns the replica count"
    ),
    printcolumn(
        name = "Status",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].reason",
        description = "The reason of the condition Ready"
    ),
    printcolumn(
        name = "Applied",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Applied\")].status",
        description = "Whether every child is as the spec says",
        priority = 1
    ),
    printcolumn(
        name = "Phase",
        type_ = "string",
        json_path = ".status.replicaOwnership.phase",
        description = "The phase of the handover between Baton and an autoscaler",
        priority = 1
    ),
    printcolumn(
        name = "Mode",
        type_ = "string",
        json_path = ".spec.mode",
        description = "Whether Baton writes the children",
        priority = 1
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    scale(
        spec_replicas_path = ".spec.replicas",
        status_replicas_path = ".status.replicas",
        label_selector_path = ".status.selector"
    )
)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WorkloadSpec {
    /// How many pods to run while nobody else decides. With `autoscaling` it is only the number to start with.
    /// Left out, Baton leaves the Deployment's number alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub replicas: Option<i32>,

    /// Runs no pods while it is `true`, whoever decides their number, and comes back to the number before. An autoscaler that
    /// Baton makes goes for as long. Everything else stays as the spec says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suspend: Option<bool>,

    /// The pods to run: the very pod template of a Deployment, with the same merge rules, so that several teams
    /// can each apply their part of it. Baton adds the labels by which it selects the pods.
    #[schemars(schema_with = "crate::schema::builtin_object")]
    pub template: PodTemplate,

    /// Labels and annotations of the Deployment itself. Those of its pods are in `template.metadata`, those of the other
    /// children in `service`, `autoscaling` and `disruptionBudget`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deployment: Option<ChildMetadata>,

    /// How a change of the template replaces running pods. Left out, the Deployment's defaults apply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rollout: Option<Rollout>,

    /// The Service in front of the pods. Left out, there is none; taken out later, Baton deletes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service: Option<ServiceSpec>,

    /// Who decides the number of pods instead of `replicas`: a HorizontalPodAutoscaler that Baton makes, or an
    /// autoscaler of your own. The number passes from one to the other without dropping.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub autoscaling: Option<Autoscaling>,

    /// How many pods voluntary disruptions, such as draining a node, must leave running. Left out, there is no
    /// PodDisruptionBudget.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disruption_budget: Option<DisruptionBudget>,

    /// What to do with an object that has a child's name and isn't Baton's: `Refuse` (default) leaves it alone and
    /// says so in the status, `Adopt` makes it a child of this Workload.
    #[serde(default)]
    pub adoption: Adoption,

    /// Field managers that have nothing to say about the children any more, such as `helm` after a move from Helm. Only
    /// with `adoption: Adopt`. What they own of a child becomes Baton's: it stays where the spec sets it, and goes where
    /// the spec doesn't. A controller reference that one of them made goes too. What was made by client-side `kubectl
    /// apply` needn't be named: adopting a child takes that over anyway.
    #[serde(default, deserialize_with = "absent", skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Set)]
    #[schemars(schema_with = "crate::schema::manager_names")]
    pub retired_managers: Vec<String>,

    /// How far Baton goes: `Enforce` (default) writes the children; `Preview` and `Paused` write none, and report in
    /// `status.plan` what a write would do: with `Preview` before you let Baton go on, with `Paused` what has drifted
    /// while it rests. It is Baton that pauses: pods run on, and a rollout too. To pause a rollout, set the Deployment's
    /// own `paused` (`kubectl rollout pause`); to run no pods, `suspend`.
    #[serde(default)]
    pub mode: Mode,
}

/// What to do with an object that has a child's name and isn't Baton's.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, Hash, JsonSchema, PartialEq, Serialize)]
pub enum Adoption {
    /// Leave it alone and say so in the status.
    #[default]
    Refuse,
    /// Make it a child of the Workload.
    Adopt,
}

/// How far Baton goes with a Workload.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, Hash, JsonSchema, PartialEq, Serialize)]
pub enum Mode {
    /// Write the children and keep them as the spec says.
    #[default]
    Enforce,
    /// Write no child; report in the status what a write would do.
    Preview,
    /// Write no child; report in the status what has drifted from the spec.
    Paused,
}
