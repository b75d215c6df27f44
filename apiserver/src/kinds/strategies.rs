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
    rule: Rule,
    pub(super) status_rule: Option<Rule>,
    /// The validation of other subresources.
    subresources: &'static [(&'static str, Rule)],
}

impl Kind {
    /// A namespaced kind with DNS subdomains as names, without generation and status.
    const fn new(group: &'static str, name: &'static str, rule: Rule) -> Self {
        Self {
            group,
            name,
            namespaced: true,
            name_rule: NameRule::Subdomain,
            has_generation: false,
            status: None,
            rule,
            status_rule: None,
            subresources: &[],
        }
    }

    const fn cluster(self) -> Self {
        Self { namespaced: false, ..self }
    }

    const fn named(self, name_rule: NameRule) -> Self {
        Self { name_rule, ..self }
    }

    const fn generation(self) -> Self {
        Self { has_generation: true, ..self }
    }

    const fn status(self, initial: &'static str, rule: Rule) -> Self {
        Self { status: Some(initial), ..self.status_rule(rule) }
    }

    const fn status_rule(self, rule: Rule) -> Self {
        Self { status_rule: Some(rule), ..self }
    }

    const fn subresources(self, subresources: &'static [(&'static str, Rule)]) -> Self {
        Self { subresources, ..self }
    }

    /// The validation of writes to a subresource, empty for the object itself.
    pub(super) fn rule_for(&self, subresource: &str) -> Rule {
        let other = self.subresources.iter().find(|(name, _)| *name == subresource).map(|(_, rule)| *rule);
        other.or(self.status_rule.filter(|_| subresource == "status")).unwrap_or(self.rule)
    }
}

const APPS: &str = "apps";
const AUTOSCALING: &str = "autoscaling";
const BATCH: &str = "batch";
const NETWORKING: &str = "networking.k8s.io";
const RBAC: &str = "rbac.authorization.k8s.io";

const DAEMON_SET_STATUS: &str =
    r#"{"currentNumberScheduled":0,"desiredNumberScheduled":0,"numberMisscheduled":0,"numberReady":0}"#;
const BUDGET_STATUS: &str =
    r#"{"currentHealthy":0,"desiredHealthy":0,"disruptionsAllowed":0,"expectedPods":0}"#;

/// The kinds, the most used ones first.
pub(super) const KINDS: &[Kind] = &[
    Kind::new("", "Pod", core::pod).generation().status("{}", core::pod_status).subresources(&[
        ("ephemeralcontainers", core::pod_ephemeral_containers),
        ("resize", core::pod_resize),
    ]),
    Kind::new("", "ConfigMap", core::config_map),
    Kind::new("", "Secret", core::secret),
    Kind::new("", "ServiceAccount", core::service_account),
    Kind::new("", "Service", service::service)
        .named(NameRule::Label)
        .status(r#"{"loadBalancer":{}}"#, service::service_status),
    Kind::new(APPS, "Deployment", apps::deployment).generation().status("{}", apps::deployment_status),
    Kind::new(APPS, "ReplicaSet", apps::replica_set)
        .generation()
        .status(r#"{"replicas":0}"#, apps::replica_set_status),
    Kind::new(APPS, "StatefulSet", apps::stateful_set)
        .named(NameRule::Label)
        .generation()
        .status(r#"{"availableReplicas":0,"replicas":0}"#, apps::stateful_set_status),
    Kind::new(APPS, "DaemonSet", apps::daemon_set)
        .generation()
        .status(DAEMON_SET_STATUS, apps::daemon_set_status),
    Kind::new(APPS, "ControllerRevision", apps::controller_revision),
    Kind::new(BATCH, "Job", batch::job).generation().status("{}", batch::job_status),
    Kind::new(BATCH, "CronJob", batch::cron_job).generation().status("{}", |_| {}),
    Kind::new(AUTOSCALING, "HorizontalPodAutoscaler", autoscaling::autoscaler)
        .status(r#"{"currentMetrics":null,"desiredReplicas":0}"#, autoscaling::autoscaler_status),
    Kind::new(AUTOSCALING, "Scale", autoscaling::scale),
    Kind::new("policy", "PodDisruptionBudget", policy::disruption_budget)
        .generation()
        .status(BUDGET_STATUS, policy::disruption_budget_status),
    Kind::new("coordination.k8s.io", "Lease", policy::lease),
    Kind::new("", "Namespace", core::namespace)
        .cluster()
        .named(NameRule::Label)
        .status(r#"{"phase":"Active"}"#, core::namespace_status)
        .subresources(&[("finalize", core::namespace_finalize)]),
    Kind::new("", "Node", nodes::node).cluster().status_rule(nodes::node_status),
    Kind::new("", "Event", event::core_event),
    Kind::new("events.k8s.io", "Event", event::event),
    Kind::new("", "Endpoints", core::endpoints),
    Kind::new("discovery.k8s.io", "EndpointSlice", discovery::endpoint_slice).generation(),
    Kind::new("", "PersistentVolumeClaim", storage::claim)
        .status(r#"{"phase":"Pending"}"#, storage::claim_status),
    Kind::new("", "PersistentVolume", storage::volume)
        .cluster()
        .status(r#"{"phase":"Pending"}"#, storage::volume_status),
    Kind::new("storage.k8s.io", "StorageClass", storage::class).cluster(),
    Kind::new(NETWORKING, "Ingress", networking::ingress)
        .generation()
        .status(r#"{"loadBalancer":{}}"#, networking::ingress_status),
    Kind::new(NETWORKING, "IngressClass", networking::ingress_class).cluster().generation(),
    Kind::new(NETWORKING, "NetworkPolicy", networking::network_policy).generation(),
    Kind::new(RBAC, "Role", rbac::role).named(NameRule::PathSegment),
    Kind::new(RBAC, "RoleBinding", rbac::binding).named(NameRule::PathSegment),
    Kind::new(RBAC, "ClusterRole", rbac::cluster_role).cluster().named(NameRule::PathSegment),
    Kind::new(RBAC, "ClusterRoleBinding", rbac::binding).cluster().named(NameRule::PathSegment),
    Kind::new("scheduling.k8s.io", "PriorityClass", policy::priority_class).cluster(),
    Kind::new("", "LimitRange", quota::limit_range),
    Kind::new("", "ResourceQuota", quota::resource_quota).status("{}", quota::resource_quota_status),
    Kind::new("", "ReplicationController", core::replication_controller)
        .generation()
        .status(r#"{"replicas":0}"#, core::replication_controller_status),
    Kind::new("", "PodTemplate", core::pod_template).generation(),
];
