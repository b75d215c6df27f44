//! What Baton needs the API server to let it do, each with its reason.
//!
//! The self-check asks for each of these, and the manifests grant just these: tests compare them. Not among them are
//! `/version`, `/openapi/v3` and the review of one's own access, which the default roles `system:discovery` and
//! `system:basic-user` let every ServiceAccount do.

/// A rule, as RBAC has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Permission {
    /// Where it is needed.
    pub scope: PermissionScope,
    /// The API group, empty for the core group.
    pub group: &'static str,
    /// The plural, with the subresource if there is one: `workloads/status`.
    pub resource: &'static str,
    /// The only object that it is needed for; absent where it is needed for all.
    pub name: Option<&'static str>,
    /// What Baton does with it.
    pub verbs: &'static [&'static str],
    /// Why.
    pub why: &'static str,
}

/// Where a permission is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PermissionScope {
    /// In every namespace that is watched: by a `ClusterRole` where these are all of them, else by a Role in each.
    Watched,
    /// In the namespace of the Lease, and only with `--leader-elect`.
    Lease,
    /// In the cluster, whatever is watched, and only with `--secure-metrics-addr`.
    SecureMetrics,
}

/// The Lease's name where no other is asked for.
pub const LEASE: &str = "baton";

/// All of them.
pub const PERMISSIONS: &[Permission] = &[
    Permission {
        scope: PermissionScope::Watched,
        group: baton_crd::GROUP,
        resource: "workloads",
        name: None,
        verbs: &["get", "list", "watch"],
        why: "Workloads are read from a cache that a watch feeds, and from the server itself before the number of replicas \
              changes hands. They belong to their authors: Baton never writes one.",
    },
    Permission {
        scope: PermissionScope::Watched,
        group: baton_crd::GROUP,
        resource: "workloads/status",
        name: None,
        verbs: &["patch"],
        why: "What became of a Workload goes into its status subresource, by server-side apply.",
    },
    Permission {
        scope: PermissionScope::Watched,
        group: "apps",
        resource: "deployments",
        name: None,
        verbs: &["get", "list", "watch", "create", "patch"],
        why: "A Deployment is read from a cache, and from the server itself where its creation is refused, after a conflict and before \
              its number changes hands; it is written by server-side apply, for which the server also asks for create. It goes \
              only together with its Workload, by garbage collection.",
    },
    Permission {
        scope: PermissionScope::Watched,
        group: "",
        resource: "services",
        name: None,
        verbs: &["get", "list", "watch", "create", "patch", "delete"],
        why: "Read and written as a Deployment is, and deleted when a Workload's spec no longer asks for it.",
    },
    Permission {
        scope: PermissionScope::Watched,
        group: "autoscaling",
        resource: "horizontalpodautoscalers",
        name: None,
        verbs: &["get", "list", "watch", "create", "patch", "delete"],
        why: "As Services. All are watched, not only Baton's: what scales a Deployment may be anybody's.",
    },
    Permission {
        scope: PermissionScope::Watched,
        group: "policy",
        resource: "poddisruptionbudgets",
        name: None,
        verbs: &["get", "list", "watch", "create", "patch", "delete"],
        why: "As Services.",
    },
    Permission {
        scope: PermissionScope::Watched,
        group: "events.k8s.io",
        resource: "events",
        name: None,
        verbs: &["create"],
        why: "Events tell of changes.",
    },
    Permission {
        scope: PermissionScope::Lease,
        group: "coordination.k8s.io",
        resource: "leases",
        name: None,
        verbs: &["create"],
        why: "The first leader creates the Lease. RBAC knows no name of what isn't there yet.",
    },
    Permission {
        scope: PermissionScope::Lease,
        group: "coordination.k8s.io",
        resource: "leases",
        name: Some(LEASE),
        verbs: &["get", "patch"],
        why: "Candidates look who leads; the leader renews its lease by server-side apply.",
    },
    Permission {
        scope: PermissionScope::SecureMetrics,
        group: "authentication.k8s.io",
        resource: "tokenreviews",
        name: None,
        verbs: &["create"],
        why: "Who asks for the metrics is asked of the API server, by their bearer token.",
    },
    Permission {
        scope: PermissionScope::SecureMetrics,
        group: "authorization.k8s.io",
        resource: "subjectaccessreviews",
        name: None,
        verbs: &["create"],
        why: "Whether they may read the metrics is asked of the API server too.",
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::child::ChildKind;

    #[test]
    fn every_kind_that_is_watched_and_written_has_its_rule() {
        for kind in ChildKind::ALL {
            let resource = kind.api_resource();
            let rule = PERMISSIONS.iter().find(|rule| rule.resource == resource.plural).unwrap();
            assert_eq!(rule.group, resource.group);
            for verb in ["get", "list", "watch", "create", "patch"] {
                assert!(rule.verbs.contains(&verb), "{verb} {}", rule.resource);
            }
        }
    }

    #[test]
    fn no_rule_has_a_wildcard_or_no_reason() {
        for rule in PERMISSIONS {
            assert!(!rule.resource.contains('*') && !rule.verbs.contains(&"*"), "{rule:?}");
            assert!(rule.why.ends_with('.') && !rule.why.contains("  "), "{rule:?}");
        }
    }
}
