//! The rows of kinds with a printer, in the order of `data/columns.json`.

use baton_merge::value::Value;
use jiff::Timestamp;
use serde_json::Value as Json;

use super::cell::Cell::{
    self, Bool, Count, Images, Int, Labels, Names, Own, Ratio, Scalar, Selector, Since, Text, TextOr, Timed,
};
use super::{event, metrics, network, node, pod, storage, workload};

const NAME: Cell = Text("metadata.name");
const AGE: Cell = Since("metadata.creationTimestamp");

macro_rules! rows {
    ($($group:literal $kind:literal: $($cell:expr),*;)*) => { &[$(($group, $kind, &[$($cell),*])),*] };
}

/// The cells of a row, by group and kind.
pub(super) const ROWS: &[(&str, &str, &[Cell])] = rows! {
    "" "ConfigMap": NAME, Count(&["data", "binaryData"]), AGE;
    "" "Endpoints": NAME, Own(network::endpoints), AGE;
    "" "Namespace": NAME, Text("status.phase"), AGE;
    "" "Node": NAME, Own(node::status), Own(node::roles), AGE, Text("status.nodeInfo.kubeletVersion"),
        Own(|node| node::address(node, "InternalIP")), Own(|node| node::address(node, "ExternalIP")),
        TextOr("status.nodeInfo.osImage", "<unknown>"), Own(node::kernel),
        TextOr("status.nodeInfo.containerRuntimeVersion", "<unknown>");
    "" "PersistentVolume": NAME, Own(|volume| storage::amount(volume, "spec.capacity")),
        Own(|volume| storage::access_modes(volume, "spec.accessModes")), Text("spec.persistentVolumeReclaimPolicy"),
        Own(storage::phase), Own(storage::claim), Own(storage::class),
        Scalar("spec.volumeAttributesClassName", "<unset>"), Text("status.reason"), AGE,
        Scalar("spec.volumeMode", "<unset>");
    "" "PersistentVolumeClaim": NAME, Own(storage::phase), Text("spec.volumeName"),
        Own(|claim| storage::if_bound(claim, |claim| storage::amount(claim, "status.capacity"))),
        Own(|claim| storage::if_bound(claim, |claim| storage::access_modes(claim, "status.accessModes"))),
        Own(storage::class), Scalar("spec.volumeAttributesClassName", "<unset>"), AGE,
        Scalar("spec.volumeMode", "<unset>");
    "" "PodTemplate": NAME, Names("template.spec"), Images("template.spec"), Labels("template.metadata.labels");
    "" "ReplicationController": NAME, Int("spec.replicas"), Int("status.replicas"), Int("status.readyReplicas"), AGE,
        Names("spec.template.spec"), Images("spec.template.spec"), Labels("spec.selector");
    "" "ResourceQuota": NAME, Own(|quota| workload::quota(quota, false)), Own(|quota| workload::quota(quota, true)),
        AGE;
    "" "Secret": NAME, Text("type"), Count(&["data"]), AGE;
    "" "Service": NAME, Text("spec.type"), Own(network::cluster_ip), Own(network::external_ip),
        Own(network::service_ports), AGE, Labels("spec.selector");
    "" "ServiceAccount": NAME, AGE;
    "admissionregistration.k8s.io" "MutatingAdmissionPolicy": NAME, Count(&["spec.mutations"]),
        Own(workload::param_kind), AGE;
    "admissionregistration.k8s.io" "MutatingAdmissionPolicyBinding": NAME, Text("spec.policyName"),
        Own(workload::param_ref), AGE;
    "admissionregistration.k8s.io" "MutatingWebhookConfiguration": NAME, Count(&["webhooks"]), AGE;
    "admissionregistration.k8s.io" "ValidatingAdmissionPolicy": NAME, Count(&["spec.validations"]),
        Own(workload::param_kind), AGE;
    "admissionregistration.k8s.io" "ValidatingAdmissionPolicyBinding": NAME, Text("spec.policyName"),
        Own(workload::param_ref), AGE;
    "admissionregistration.k8s.io" "ValidatingWebhookConfiguration": NAME, Count(&["webhooks"]), AGE;
    "apps" "ControllerRevision": NAME, Own(workload::controller), Int("revision"), AGE;
    "apps" "DaemonSet": NAME, Int("status.desiredNumberScheduled"), Int("status.currentNumberScheduled"),
        Int("status.numberReady"), Int("status.updatedNumberScheduled"), Int("status.numberAvailable"),
        Labels("spec.template.spec.nodeSelector"), AGE, Names("spec.template.spec"), Images("spec.template.spec"),
        Selector("spec.selector");
    "apps" "Deployment": NAME, Ratio("status.readyReplicas", "spec.replicas"), Int("status.updatedReplicas"),
        Int("status.availableReplicas"), AGE, Names("spec.template.spec"), Images("spec.template.spec"),
        Own(workload::deployment_selector);
    "apps" "ReplicaSet": NAME, Int("spec.replicas"), Int("status.replicas"), Int("status.readyReplicas"), AGE,
        Names("spec.template.spec"), Images("spec.template.spec"), Selector("spec.selector");
    "apps" "StatefulSet": NAME, Ratio("status.readyReplicas", "spec.replicas"), AGE, Names("spec.template.spec"),
        Images("spec.template.spec");
    "autoscaling" "HorizontalPodAutoscaler": NAME, Own(metrics::target), Own(metrics::metrics),
        Own(metrics::min_replicas), Int("spec.maxReplicas"), Int("status.currentReplicas"), AGE;
    "autoscaling" "Scale": NAME, Int("spec.replicas"), Int("status.replicas"), AGE;
    "batch" "CronJob": NAME, Text("spec.schedule"), Scalar("spec.timeZone", "<none>"), Own(workload::suspended),
        Count(&["status.active"]), Timed(workload::last_schedule), AGE, Names("spec.jobTemplate.spec.template.spec"),
        Images("spec.jobTemplate.spec.template.spec"), Selector("spec.jobTemplate.spec.selector");
    "batch" "Job": NAME, Own(workload::job_status), Own(workload::job_completions), Timed(workload::job_duration),
        AGE, Names("spec.template.spec"), Images("spec.template.spec"), Selector("spec.selector");
    "certificates.k8s.io" "CertificateSigningRequest": NAME, AGE, TextOr("spec.signerName", "<none>"),
        Text("spec.username"), Own(node::requested_duration), Own(node::certificate_status);
    "coordination.k8s.io" "Lease": NAME, Text("spec.holderIdentity"), AGE;
    "discovery.k8s.io" "EndpointSlice": NAME, Text("addressType"), Own(network::slice_ports),
        Own(network::slice_endpoints), AGE;
    "flowcontrol.apiserver.k8s.io" "FlowSchema": NAME, Text("spec.priorityLevelConfiguration.name"),
        Int("spec.matchingPrecedence"), Scalar("spec.distinguisherMethod.type", "<none>"), AGE, Own(node::dangling);
    "flowcontrol.apiserver.k8s.io" "PriorityLevelConfiguration": NAME, Text("spec.type"),
        Scalar("spec.limited.nominalConcurrencyShares", "<none>"),
        Scalar("spec.limited.limitResponse.queuing.queues", "<none>"),
        Scalar("spec.limited.limitResponse.queuing.handSize", "<none>"),
        Scalar("spec.limited.limitResponse.queuing.queueLengthLimit", "<none>"), AGE;
    // The printer of addresses has an age without a column.
    "networking.k8s.io" "IPAddress": NAME, Own(network::parent), AGE;
    "networking.k8s.io" "Ingress": NAME, Scalar("spec.ingressClassName", "<none>"), Own(network::hosts),
        Own(network::balancer), Own(network::ingress_ports), AGE;
    "networking.k8s.io" "IngressClass":
        Own(|class| storage::default_name(class, &["ingressclass.kubernetes.io/is-default-class"])),
        Text("spec.controller"), Own(network::parameters), AGE;
    "networking.k8s.io" "NetworkPolicy": NAME, Selector("spec.podSelector"), AGE;
    "networking.k8s.io" "ServiceCIDR": NAME, Own(network::cidrs), AGE;
    "node.k8s.io" "RuntimeClass": NAME, Text("handler"), AGE;
    "policy" "PodDisruptionBudget": NAME, Own(|budget| workload::count_or_none(budget, "spec.minAvailable")),
        Own(|budget| workload::count_or_none(budget, "spec.maxUnavailable")), Int("status.disruptionsAllowed"), AGE;
    "rbac.authorization.k8s.io" "ClusterRoleBinding": NAME, Own(workload::role), AGE, USERS, GROUPS, ACCOUNTS;
    "rbac.authorization.k8s.io" "RoleBinding": NAME, Own(workload::role), AGE, USERS, GROUPS, ACCOUNTS;
    "resource.k8s.io" "DeviceClass": NAME, AGE;
    "resource.k8s.io" "ResourceClaim": NAME, Own(workload::claim_state), AGE;
    "resource.k8s.io" "ResourceClaimTemplate": NAME, AGE;
    "resource.k8s.io" "ResourceSlice": NAME, Text("spec.nodeName"), Text("spec.driver"), Text("spec.pool.name"), AGE;
    "scheduling.k8s.io" "PriorityClass": NAME, Int("value"), Bool("globalDefault", false), AGE,
        Text("preemptionPolicy");
    "storage.k8s.io" "CSIDriver": NAME, Bool("spec.attachRequired", true), Bool("spec.podInfoOnMount", false),
        Bool("spec.storageCapacity", false), Own(storage::token_requests), Bool("spec.requiresRepublish", false),
        Own(storage::lifecycle_modes), AGE;
    "storage.k8s.io" "CSINode": NAME, Count(&["spec.drivers"]), AGE;
    "storage.k8s.io" "StorageClass": Own(|class| storage::default_name(class, &[
            "storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class",
        ])),
        Text("provisioner"), Scalar("reclaimPolicy", "Delete"), Scalar("volumeBindingMode", "Immediate"),
        Bool("allowVolumeExpansion", false), AGE;
    "storage.k8s.io" "VolumeAttachment": NAME, Text("spec.attacher"), Text("spec.source.persistentVolumeName"),
        Text("spec.nodeName"), Bool("status.attached", false), AGE;
    "storage.k8s.io" "VolumeAttributesClass": NAME, Text("driverName"), AGE;
};

/// The cells of an object at this time.
type Row = fn(Value<'_>, Timestamp) -> Vec<Json>;

/// Rows that aren't made cell by cell, by group and kind.
pub(super) const OWN_ROWS: [(&str, &str, Row); 3] = [
    ("", "ComponentStatus", workload::component_status),
    ("", "Event", event::cells),
    ("", "Pod", pod::cells),
];

const USERS: Cell = Own(|binding| workload::subjects(binding, "User"));
const GROUPS: Cell = Own(|binding| workload::subjects(binding, "Group"));
const ACCOUNTS: Cell = Own(|binding| workload::subjects(binding, "ServiceAccount"));
