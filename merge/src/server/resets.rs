//! The fields that a write resets: whoever writes them doesn't own them, and they stay as they are.
//!
//! For built-in kinds this is what `GetResetFields` of the strategies in kubernetes' `pkg/registry` answers (and those
//! of apiextensions and the aggregator), the same for every served version of a kind; for custom resources what
//! apiextensions' strategies answer.

/// A kind by group, as `Kind.group` or `Kind`, is in one of these lists.
struct Rule {
    subresource: &'static str,
    fields: &'static [&'static [&'static str]],
    kinds: &'static [&'static str],
}

const STATUS: &[&[&str]] = &[&["status"]];
const SPEC: &[&[&str]] = &[&["spec"]];
const SPEC_AND_METADATA: &[&[&str]] = &[&["metadata"], &["spec"]];

const RULES: &[Rule] = &[
    Rule {
        subresource: "",
        fields: STATUS,
        kinds: &[
            "Pod",
            "Service",
            "Node",
            "Namespace",
            "PersistentVolume",
            "PersistentVolumeClaim",
            "ReplicationController",
            "ResourceQuota",
            "Deployment.apps",
            "DaemonSet.apps",
            "ReplicaSet.apps",
            "StatefulSet.apps",
            "HorizontalPodAutoscaler.autoscaling",
            "CronJob.batch",
            "Job.batch",
            "PodDisruptionBudget.policy",
            "Ingress.networking.k8s.io",
            "Ingress.extensions",
            "ServiceCIDR.networking.k8s.io",
            "ValidatingAdmissionPolicy.admissionregistration.k8s.io",
            "StorageVersion.internal.apiserver.k8s.io",
            "FlowSchema.flowcontrol.apiserver.k8s.io",
            "PriorityLevelConfiguration.flowcontrol.apiserver.k8s.io",
            "DeviceTaintRule.resource.k8s.io",
            "ResourceClaim.resource.k8s.io",
            "ResourcePoolStatusRequest.resource.k8s.io",
            "PodGroup.scheduling.k8s.io",
            "VolumeAttachment.storage.k8s.io",
            "StorageVersionMigration.storagemigration.k8s.io",
            "CustomResourceDefinition.apiextensions.k8s.io",
            "APIService.apiregistration.k8s.io",
        ],
    },
    Rule {
        subresource: "",
        fields: &[&["spec"], &["status"]],
        kinds: &["CertificateSigningRequest.certificates.k8s.io"],
    },
    Rule {
        subresource: "status",
        fields: SPEC,
        kinds: &[
            "Service",
            "Node",
            "Namespace",
            "PersistentVolume",
            "PersistentVolumeClaim",
            "ReplicationController",
            "ResourceQuota",
            "DaemonSet.apps",
            "ReplicaSet.apps",
            "StatefulSet.apps",
            "HorizontalPodAutoscaler.autoscaling",
            "CronJob.batch",
            "Job.batch",
            "PodDisruptionBudget.policy",
            "Ingress.networking.k8s.io",
            "Ingress.extensions",
            "PodCertificateRequest.certificates.k8s.io",
        ],
    },
    Rule {
        subresource: "status",
        fields: &[&["metadata", "labels"], &["spec"]],
        kinds: &["Deployment.apps"],
    },
    Rule {
        subresource: "status",
        fields: &[&["metadata", "deletionTimestamp"], &["metadata", "ownerReferences"], &["spec"]],
        kinds: &["Pod"],
    },
    Rule {
        subresource: "status",
        fields: &[&["spec"], &["status", "conditions"]],
        kinds: &["CertificateSigningRequest.certificates.k8s.io"],
    },
    Rule {
        subresource: "status",
        fields: SPEC_AND_METADATA,
        kinds: &[
            "ServiceCIDR.networking.k8s.io",
            "ValidatingAdmissionPolicy.admissionregistration.k8s.io",
            "StorageVersion.internal.apiserver.k8s.io",
            "FlowSchema.flowcontrol.apiserver.k8s.io",
            "PriorityLevelConfiguration.flowcontrol.apiserver.k8s.io",
            "DeviceTaintRule.resource.k8s.io",
            "ResourceClaim.resource.k8s.io",
            "ResourcePoolStatusRequest.resource.k8s.io",
            "PodGroup.scheduling.k8s.io",
            "VolumeAttachment.storage.k8s.io",
            "StorageVersionMigration.storagemigration.k8s.io",
            "CustomResourceDefinition.apiextensions.k8s.io",
            "APIService.apiregistration.k8s.io",
        ],
    },
    Rule {
        subresource: "approval",
        fields: &[&["spec"], &["status", "certificate"]],
        kinds: &["CertificateSigningRequest.certificates.k8s.io"],
    },
    Rule { subresource: "finalize", fields: STATUS, kinds: &["Namespace"] },
];

/// A path of plain fields that is reset.
pub(crate) type ResetPath = &'static [&'static str];

/// What writes through a subresource of a built-in kind reset; `None` where the kind has no such subresource that is
/// known here. The object itself is the empty subresource.
pub(super) fn of_builtin(group: &str, kind: &str, subresource: &str) -> Option<&'static [ResetPath]> {
    let is_named = |name: &&str| match name.split_once('.') {
        None => group.is_empty() && *name == kind,
        Some((own, of)) => own == kind && of == group,
    };
    let rule = RULES.iter().find(|rule| rule.subresource == subresource && rule.kinds.iter().any(is_named));
    match rule {
        Some(rule) => Some(rule.fields),
        None => subresource.is_empty().then_some(&[]),
    }
}

/// What writes through a subresource of a custom resource reset, in a version that has a status subresource or not.
pub(super) fn of_custom(has_status: bool, subresource: &str) -> Option<&'static [ResetPath]> {
    match (subresource, has_status) {
        ("", true) => Some(STATUS),
        ("", false) => Some(&[]),
        ("status", true) => Some(SPEC_AND_METADATA),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_told_by_its_group() {
        assert_eq!(
            of_builtin("apps", "Deployment", "status"),
            Some(&[&["metadata", "labels"][..], &["spec"]][..])
        );
        assert_eq!(of_builtin("", "ConfigMap", ""), Some(&[][..]));
        assert_eq!(of_builtin("", "ConfigMap", "status"), None);
        assert_eq!(of_builtin("", "Deployment", ""), Some(&[][..]));
        assert_eq!(of_custom(false, "status"), None);
    }
}
