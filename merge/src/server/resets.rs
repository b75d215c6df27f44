//! The fields that a write resets: they keep their live value, and the writer doesn't own them.
//!
//! For built-in kinds these are the results of `GetResetFields` of the strategies in kubernetes' `pkg/registry`,
//! apiextensions and the aggregator, equal for all served versions of a kind; for custom resources those of apiextensions'
//! strategies.

/// The resets of some kinds. A kind is in one of these rules, as `Kind.group` or `Kind`.
struct Rule {
    kinds: &'static [&'static str],
    /// The fields by subresource; the object itself is the empty one.
    resets: &'static [(&'static str, Resets)],
}

/// The fields that are reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resets {
    /// These fields.
    Fields(&'static [ResetPath]),
    /// All fields but those at the ends of these paths, in which `*` is any item. The caller resets the others.
    AllBut(&'static [ResetPath]),
}

use Resets::{AllBut, Fields};

const NOTHING: Resets = Fields(&[]);
const STATUS: Resets = Fields(&[&["status"]]);
const SPEC: Resets = Fields(&[&["spec"]]);
const SPEC_AND_METADATA: Resets = Fields(&[&["metadata"], &["spec"]]);

#[rustfmt::skip]
const RULES: &[Rule] = &[
    Rule {
        kinds: &[
            "Service", "Node", "PersistentVolume", "PersistentVolumeClaim", "ReplicationController", "ResourceQuota",
            "DaemonSet.apps", "ReplicaSet.apps", "StatefulSet.apps", "HorizontalPodAutoscaler.autoscaling",
            "CronJob.batch", "Job.batch", "PodDisruptionBudget.policy", "Ingress.networking.k8s.io", "Ingress.extensions",
        ],
        resets: &[("", STATUS), ("status", SPEC)],
    },
    Rule {
        kinds: &[
            "ServiceCIDR.networking.k8s.io", "ValidatingAdmissionPolicy.admissionregistration.k8s.io",
            "StorageVersion.internal.apiserver.k8s.io", "FlowSchema.flowcontrol.apiserver.k8s.io",
            "PriorityLevelConfiguration.flowcontrol.apiserver.k8s.io", "DeviceTaintRule.resource.k8s.io",
            "ResourceClaim.resource.k8s.io", "ResourcePoolStatusRequest.resource.k8s.io", "PodGroup.scheduling.k8s.io",
            "VolumeAttachment.storage.k8s.io", "StorageVersionMigration.storagemigration.k8s.io",
            "CustomResourceDefinition.apiextensions.k8s.io", "APIService.apiregistration.k8s.io",
        ],
        resets: &[("", STATUS), ("status", SPEC_AND_METADATA)],
    },
    Rule { kinds: &["Namespace"], resets: &[("", STATUS), ("status", SPEC), ("finalize", STATUS)] },
    Rule {
        kinds: &["Deployment.apps"],
        resets: &[("", STATUS), ("status", Fields(&[&["metadata", "labels"], &["spec"]]))],
    },
    Rule {
        kinds: &["Pod"],
        resets: &[
            ("", STATUS),
            ("status", Fields(&[&["metadata", "deletionTimestamp"], &["metadata", "ownerReferences"], &["spec"]])),
            ("ephemeralcontainers", AllBut(&[&["spec", "ephemeralContainers"]])),
            ("resize", AllBut(&[
                &["spec", "containers", "*", "resources"], &["spec", "containers", "*", "resizePolicy"],
                &["spec", "initContainers", "*", "resources"], &["spec", "initContainers", "*", "resizePolicy"],
            ])),
        ],
    },
    Rule {
        kinds: &["CertificateSigningRequest.certificates.k8s.io"],
        resets: &[
            ("", Fields(&[&["spec"], &["status"]])),
            ("status", Fields(&[&["spec"], &["status", "conditions"]])),
            ("approval", Fields(&[&["spec"], &["status", "certificate"]])),
        ],
    },
    Rule { kinds: &["PodCertificateRequest.certificates.k8s.io"], resets: &[("status", SPEC)] },
];

/// A path of fields.
pub(crate) type ResetPath = &'static [&'static str];

/// The resets of a built-in kind's subresource, empty for the object itself; `None` if the subresource is unknown.
pub(super) fn of_builtin(group: &str, kind: &str, subresource: &str) -> Option<Resets> {
    let is_named = |name: &&str| match name.split_once('.') {
        None => group.is_empty() && *name == kind,
        Some((own, of)) => own == kind && of == group,
    };
    let resets =
        RULES.iter().find(|rule| rule.kinds.iter().any(is_named)).map_or(&[][..], |rule| rule.resets);
    match resets.iter().find(|(own, _)| *own == subresource) {
        Some((_, fields)) => Some(*fields),
        None => subresource.is_empty().then_some(NOTHING),
    }
}

/// The resets of a custom resource's subresource, in a version with a status subresource or without.
pub(super) fn of_custom(has_status: bool, subresource: &str) -> Option<Resets> {
    match (subresource, has_status) {
        ("", true) => Some(STATUS),
        ("", false) => Some(NOTHING),
        ("status", true) => Some(SPEC_AND_METADATA),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_identified_by_its_group() {
        assert_eq!(
            of_builtin("apps", "Deployment", "status"),
            Some(Fields(&[&["metadata", "labels"], &["spec"]]))
        );
        assert_eq!(of_builtin("", "ConfigMap", ""), Some(NOTHING));
        assert_eq!(of_builtin("", "ConfigMap", "status"), None);
        assert_eq!(of_builtin("", "Deployment", ""), Some(NOTHING));
        assert_eq!(of_custom(false, "status"), None);
    }
}
