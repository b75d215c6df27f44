//! The permissions that Baton needs, each with its reason.
//!
//! The self-check checks each of these, and the manifests grant exactly these: tests compare them. `/version`, `/openapi/v3`
//! and the review of the client's own access aren't among them: the default roles `system:discovery` and
//! `system:basic-user` allow them to every ServiceAccount.

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
    /// In the whole cluster, also if only some namespaces are watched, and only with `--secure-metrics-addr`.
    SecureMetrics,
}

/// The default name of the Lease.
pub const LEASE: &str = "baton";

/// All of them.
pub const PERMISSIONS: &[Permission] = &[
    Permission {
        scope: PermissionScope::Watched,
        group: baton_crd::GROUP,
        resource: "workloads",
        name: None,
        verbs: &["get", "list", "watch"],
        why: "Workloads are read from a cache that a watch feeds, and from the server itself before the replica count gets \
              another owner. They belong to their authors: Baton never writes one.",
    },
    Permission {
        scope: PermissionScope::Watched,
        group: baton_crd::GROUP,
        resource: "workloads/status",
        name: None,
        verbs: &["patch"],
        why: "The state of a Workload is written to its status subresource, by server-side apply.",
    },
    Permission {
        scope: PermissionScope::Watched,
        group: "apps",
        resource: "deployments",
        name: None,
        verbs: &["get", "list", "watch", "create", "patch"],
        why: "A Deployment is read from a cache, and from the server itself when its creation is refused, after a conflict and before \
              its replica count gets another owner; it is written by server-side apply, for which the server also requires create. It \
              is deleted only together with its Workload, by garbage collection.",
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
        why: "As Services. All are watched, not only Baton's: any of them may scale a Workload's Deployment.",
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
        why: "Events report changes.",
    },
    Permission {
        scope: PermissionScope::Lease,
        group: "coordination.k8s.io",
        resource: "leases",
        name: None,
        verbs: &["create"],
        why: "The first leader creates the Lease. RBAC can't restrict a creation to a name.",
    },
    Permission {
        scope: PermissionScope::Lease,
        group: "coordination.k8s.io",
        resource: "leases",
        name: Some(LEASE),
        verbs: &["get", "patch"],
        why: "Candidates read who leads; the leader renews its lease by server-side apply.",
    },
    Permission {
        scope: PermissionScope::SecureMetrics,
        group: "authentication.k8s.io",
        resource: "tokenreviews",
        name: None,
        verbs: &["create"],
        why: "The API server says whose bearer token a request for the metrics has.",
    },
    Permission {
        scope: PermissionScope::SecureMetrics,
        group: "authorization.k8s.io",
        resource: "subjectaccessreviews",
        name: None,
        verbs: &["create"],
        why: "The API server says whether that user may read the metrics.",
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::child::ChildKind;

    #[test]
    fn every_watched_and_written_kind_has_a_rule() {
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
    fn no_rule_has_a_wildcard_and_each_has_a_reason() {
        for rule in PERMISSIONS {
            assert!(!rule.resource.contains('*') && !rule.verbs.contains(&"*"), "{rule:?}");
            assert!(rule.why.ends_with('.') && !rule.why.contains("  "), "{rule:?}");
        }
    }
}
