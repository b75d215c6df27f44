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
    doc = "An application that Baton runs as a Deployment and, if the spec asks for them, a Service, an autoscaler and a \
           disruption budget. Baton owns only the fields of these children that the spec sets.",
    validation = Rule::new("size(self.metadata.name) <= 63")
        .message("the name is also the value of a label on every child: use at most 63 characters"),
    validation = Rule::new("!has(self.spec.service) || self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')")
        .message(
            "the Service has the Workload's name: use lower case letters, digits and '-', beginning with a letter, or remove \
             spec.service"
        ),
    validation = Rule::new(TEMPLATE_LABEL_RULE)
        .message(
            "Baton sets the template's label baton.rs/workload: remove it, or set it to the Workload's name"
        )
        .field_path(".spec.template"),
    validation = Rule::new("!has(self.spec.retiredManagers) || dyn(self.spec.retiredManagers) == null || self.spec.adoption == 'Adopt'")
        .message("managers are retired when a child is adopted: set adoption to Adopt, or remove retiredManagers")
        .field_path(".spec.retiredManagers"),
    validation = Rule::new(
        "!has(self.spec.retiredManagers) || dyn(self.spec.retiredManagers) == null \
         || !self.spec.retiredManagers.exists(name, name in ['baton', 'handover-to-hpa'])"
    )
        .message("baton and handover-to-hpa are Baton's own managers and can't be retired: remove them")
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
        json_path = ".status.replicaOwnership.owner",
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
    /// The replica count while no autoscaler sets it. With `autoscaling`, it is only the count to start with. If absent, Baton
    /// doesn't own the Deployment's replica count.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub replicas: Option<i32>,

    /// While `true`, no pods run, whoever owns the replica count. Baton deletes its autoscaler meanwhile, and restores the count
    /// afterwards. Everything else stays as the spec says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suspend: Option<bool>,

    /// The pods to run: the pod template of a Deployment, with the same merge rules, so that several teams can each apply their
    /// part. Baton adds the labels by which it selects the pods.
    #[schemars(schema_with = "crate::schema::builtin_object")]
    pub template: PodTemplate,

    /// Labels and annotations of the Deployment itself. Those of its pods are in `template.metadata`, those of the other
    /// children in `service`, `autoscaling` and `disruptionBudget`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deployment: Option<ChildMetadata>,

    /// How a change of the template replaces running pods. If absent, the Deployment's defaults apply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rollout: Option<Rollout>,

    /// The Service in front of the pods. If absent, there is none; if removed, Baton deletes the Service.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service: Option<ServiceSpec>,

    /// What sets the replica count instead of `replicas`: a HorizontalPodAutoscaler that Baton creates, or an autoscaler of your
    /// own. Baton hands the count over without dropping it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub autoscaling: Option<Autoscaling>,

    /// How many pods voluntary disruptions, such as draining a node, must leave running. If absent, there is no
    /// PodDisruptionBudget.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disruption_budget: Option<DisruptionBudget>,

    /// What to do with an existing object that has a child's name and another owner. `Refuse` doesn't touch it and reports it in
    /// the status. `Adopt` makes it a child of this Workload.
    #[serde(default)]
    pub adoption: Adoption,

    /// Field managers that have stopped writing the children, such as `helm` after a migration from Helm. Only with `adoption:
    /// Adopt`. Baton takes over the fields that they own of a child: those that the spec sets stay, the others are removed. A
    /// controller reference that one of them wrote is removed too. Client-side `kubectl apply` needn't be listed: adoption always
    /// takes over its fields.
    #[serde(default, deserialize_with = "absent", skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Set)]
    #[schemars(schema_with = "crate::schema::manager_names")]
    pub retired_managers: Vec<String>,

    /// Whether Baton writes the children. `Enforce` does. `Preview` and `Paused` don't, and report in `status.plan` what Baton
    /// would write: `Preview` before a change, `Paused` what has drifted. Pods and rollouts go on. To pause a rollout, use `kubectl
    /// rollout pause`; to run no pods, set `suspend`.
    #[serde(default)]
    pub mode: Mode,
}

/// What to do with an existing object that has a child's name and another owner.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, Hash, JsonSchema, PartialEq, Serialize)]
pub enum Adoption {
    /// Don't touch it, and report it in the status.
    #[default]
    Refuse,
    /// Make it a child of the Workload.
    Adopt,
}

/// Whether Baton writes a Workload's children.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, Hash, JsonSchema, PartialEq, Serialize)]
pub enum Mode {
    /// Write the children and keep them as the spec says.
    #[default]
    Enforce,
    /// Write no child; report in the status what Baton would write.
    Preview,
    /// Write no child; report in the status what has drifted from the spec.
    Paused,
}
