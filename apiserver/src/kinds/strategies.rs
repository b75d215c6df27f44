//! The strategies of the implemented kinds.

use super::{
    apps, autoscaling, batch, check::Check, core, discovery, event, format::NameRule, networking, nodes,
    policy, quota, rbac, service, storage,
};

/// The validation of a kind's objects.
type Rule = fn(&mut Check<'_>);

/// A built-in kind.
pub(super) struct Kind {
    /// Empty for the core group.
    pub(super) group: &'static str,
    pub(super) name: &'static str,
    pub(super) namespaced: bool,
    pub(super) name_rule: NameRule,
    /// Whether `generation` counts changes of the spec.
    pub(super) has_generation: bool,
    /// The initial status as JSON, for kinds with a status.
    pub(super) status: Option<&'static str>,
    pub(super) rule: Rule,
    /// The validation of subresources.
    pub(super) subresources: &'static [(&'static str, Rule)],
}

const APPS: &str = "apps";
const AUTOSCALING: &str = "autoscaling";
const BATCH: &str = "batch";
const NETWORKING: &str = "networking.k8s.io";
const RBAC: &str = "rbac.authorization.k8s.io";

/// A namespaced kind with DNS subdomains as names, without generation and status.
const PLAIN: Kind = Kind {
    group: "",
    name: "",
    namespaced: true,
    name_rule: NameRule::Subdomain,
    has_generation: false,
    status: None,
    rule: core::service_account,
    subresources: &[],
};

/// The kinds, the most used ones first.
pub(super) const KINDS: &[Kind] = &[
    Kind {
        name: "Pod",
        has_generation: true,
        status: Some("{}"),
        rule: core::pod,
        subresources: &[
            ("status", core::pod_status),
            ("ephemeralcontainers", core::pod_ephemeral_containers),
            ("resize", core::pod_resize),
        ],
        ..PLAIN
    },
    Kind { name: "ConfigMap", rule: core::config_map, ..PLAIN },
    Kind { name: "Secret", rule: core::secret, ..PLAIN },
    Kind { name: "ServiceAccount", ..PLAIN },
    Kind {
        name: "Service",
        name_rule: NameRule::Label,
        status: Some(r#"{"loadBalancer":{}}"#),
        rule: service::service,
        subresources: &[("status", service::service_status)],
        ..PLAIN
    },
    Kind {
        group: APPS,
        name: "Deployment",
        has_generation: true,
        status: Some("{}"),
        rule: apps::deployment,
        subresources: &[("status", apps::deployment_status)],
        ..PLAIN
    },
    Kind {
        group: APPS,
        name: "ReplicaSet",
        has_generation: true,
        status: Some(r#"{"replicas":0}"#),
        rule: apps::replica_set,
        subresources: &[("status", apps::replica_set_status)],
        ..PLAIN
    },
    Kind {
        group: APPS,
        name: "StatefulSet",
        name_rule: NameRule::Label,
        has_generation: true,
        status: Some(r#"{"availableReplicas":0,"replicas":0}"#),
        rule: apps::stateful_set,
        subresources: &[("status", apps::stateful_set_status)],
        ..PLAIN
    },
    Kind {
        group: APPS,
        name: "DaemonSet",
        has_generation: true,
        status: Some(
            r#"{"currentNumberScheduled":0,"desiredNumberScheduled":0,"numberMisscheduled":0,"numberReady":0}"#,
        ),
        rule: apps::daemon_set,
        subresources: &[("status", apps::daemon_set_status)],
        ..PLAIN
    },
    Kind { group: APPS, name: "ControllerRevision", rule: apps::controller_revision, ..PLAIN },
    Kind {
        group: BATCH,
        name: "Job",
        has_generation: true,
        status: Some("{}"),
        rule: batch::job,
        subresources: &[("status", batch::job_status)],
        ..PLAIN
    },
    Kind {
        group: BATCH,
        name: "CronJob",
        has_generation: true,
        status: Some("{}"),
        rule: batch::cron_job,
        subresources: &[("status", |_| {})],
        ..PLAIN
    },
    Kind {
        group: AUTOSCALING,
        name: "HorizontalPodAutoscaler",
        status: Some(r#"{"currentMetrics":null,"desiredReplicas":0}"#),
        rule: autoscaling::autoscaler,
        subresources: &[("status", autoscaling::autoscaler_status)],
        ..PLAIN
    },
    Kind { group: AUTOSCALING, name: "Scale", rule: autoscaling::scale, ..PLAIN },
    Kind {
        group: "policy",
        name: "PodDisruptionBudget",
        has_generation: true,
        status: Some(r#"{"currentHealthy":0,"desiredHealthy":0,"disruptionsAllowed":0,"expectedPods":0}"#),
        rule: policy::disruption_budget,
        subresources: &[("status", policy::disruption_budget_status)],
        ..PLAIN
    },
    Kind { group: "coordination.k8s.io", name: "Lease", rule: policy::lease, ..PLAIN },
    Kind {
        name: "Namespace",
        namespaced: false,
        name_rule: NameRule::Label,
        status: Some(r#"{"phase":"Active"}"#),
        rule: core::namespace,
        subresources: &[("status", core::namespace_status), ("finalize", core::namespace_finalize)],
        ..PLAIN
    },
    Kind {
        name: "Node",
        namespaced: false,
        rule: nodes::node,
        subresources: &[("status", nodes::node_status)],
        ..PLAIN
    },
    Kind { name: "Event", rule: event::core_event, ..PLAIN },
    Kind { group: "events.k8s.io", name: "Event", rule: event::event, ..PLAIN },
    Kind { name: "Endpoints", rule: core::endpoints, ..PLAIN },
    Kind {
        group: "discovery.k8s.io",
        name: "EndpointSlice",
        has_generation: true,
        rule: discovery::endpoint_slice,
        ..PLAIN
    },
    Kind {
        name: "PersistentVolumeClaim",
        status: Some(r#"{"phase":"Pending"}"#),
        rule: storage::claim,
        subresources: &[("status", storage::claim_status)],
        ..PLAIN
    },
    Kind {
        name: "PersistentVolume",
        namespaced: false,
        status: Some(r#"{"phase":"Pending"}"#),
        rule: storage::volume,
        subresources: &[("status", storage::volume_status)],
        ..PLAIN
    },
    Kind { group: "storage.k8s.io", name: "StorageClass", namespaced: false, rule: storage::class, ..PLAIN },
    Kind {
        group: NETWORKING,
        name: "Ingress",
        has_generation: true,
        status: Some(r#"{"loadBalancer":{}}"#),
        rule: networking::ingress,
        subresources: &[("status", networking::ingress_status)],
        ..PLAIN
    },
    Kind {
        group: NETWORKING,
        name: "IngressClass",
        namespaced: false,
        has_generation: true,
        rule: networking::ingress_class,
        ..PLAIN
    },
    Kind {
        group: NETWORKING,
        name: "NetworkPolicy",
        has_generation: true,
        rule: networking::network_policy,
        ..PLAIN
    },
    Kind { group: RBAC, name: "Role", name_rule: NameRule::PathSegment, rule: rbac::role, ..PLAIN },
    Kind { group: RBAC, name: "RoleBinding", name_rule: NameRule::PathSegment, rule: rbac::binding, ..PLAIN },
    Kind {
        group: RBAC,
        name: "ClusterRole",
        namespaced: false,
        name_rule: NameRule::PathSegment,
        rule: rbac::cluster_role,
        ..PLAIN
    },
    Kind {
        group: RBAC,
        name: "ClusterRoleBinding",
        namespaced: false,
        name_rule: NameRule::PathSegment,
        rule: rbac::binding,
        ..PLAIN
    },
    Kind {
        group: "scheduling.k8s.io",
        name: "PriorityClass",
        namespaced: false,
        rule: policy::priority_class,
        ..PLAIN
    },
    Kind { name: "LimitRange", rule: quota::limit_range, ..PLAIN },
    Kind {
        name: "ResourceQuota",
        status: Some("{}"),
        rule: quota::resource_quota,
        subresources: &[("status", quota::resource_quota_status)],
        ..PLAIN
    },
    Kind {
        name: "ReplicationController",
        has_generation: true,
        status: Some(r#"{"replicas":0}"#),
        rule: core::replication_controller,
        subresources: &[("status", core::replication_controller_status)],
        ..PLAIN
    },
    Kind { name: "PodTemplate", has_generation: true, rule: core::pod_template, ..PLAIN },
];
