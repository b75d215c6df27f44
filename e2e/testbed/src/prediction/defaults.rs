//! Values that a kube-apiserver adds to objects: defaults and allocations. The list has those that the bodies
//! here can meet; a missing one causes a wrong prediction.

use crate::Json;

/// A path's end, and what a server puts there: a JSON text, or `*` for a value of its choice. `Kind:` in front of a path
/// means the whole path in objects of that kind.
const FILLED_IN: &[(&str, &[&str])] = &[
    // Deployments, StatefulSets, Jobs and CronJobs.
    ("Deployment:spec.replicas", &["1"]),
    ("StatefulSet:spec.replicas", &["1"]),
    ("revisionHistoryLimit", &["10"]),
    ("progressDeadlineSeconds", &["600"]),
    ("strategy", &["{}"]),
    ("strategy.type", &[r#""RollingUpdate""#]),
    ("updateStrategy", &["{}"]),
    ("updateStrategy.type", &[r#""RollingUpdate""#]),
    ("updateStrategy.rollingUpdate.partition", &["0"]),
    ("updateStrategy.rollingUpdate", &["{}"]),
    ("rollingUpdate.maxSurge", &[r#""25%""#]),
    ("rollingUpdate.maxUnavailable", &[r#""25%""#]),
    ("podManagementPolicy", &[r#""OrderedReady""#]),
    ("persistentVolumeClaimRetentionPolicy.whenDeleted", &[r#""Retain""#]),
    ("persistentVolumeClaimRetentionPolicy.whenScaled", &[r#""Retain""#]),
    ("backoffLimit", &["6"]),
    ("completions", &["1"]),
    ("parallelism", &["1"]),
    ("completionMode", &[r#""NonIndexed""#]),
    ("podReplacementPolicy", &[r#""TerminatingOrFailed""#]),
    ("manualSelector", &["false"]),
    ("suspend", &["false"]),
    ("concurrencyPolicy", &[r#""Allow""#]),
    ("successfulJobsHistoryLimit", &["3"]),
    ("failedJobsHistoryLimit", &["1"]),
    ("Job:metadata.labels", &["*"]),
    ("Job:spec.selector", &["*"]),
    ("Job:spec.template.metadata", &["*"]),
    ("Job:spec.template.metadata.labels", &["*"]),
    // Pods.
    ("metadata.creationTimestamp", &["null"]),
    ("template.metadata", &["{}"]),
    ("jobTemplate.metadata", &["{}"]),
    ("spec.dnsPolicy", &[r#""ClusterFirst""#]),
    ("spec.restartPolicy", &[r#""Always""#]),
    ("spec.schedulerName", &[r#""default-scheduler""#]),
    ("spec.securityContext", &["{}"]),
    ("spec.terminationGracePeriodSeconds", &["30"]),
    ("spec.serviceAccount", &["*"]),
    // It is copied back from `serviceAccount`, where that is left.
    ("template.spec.serviceAccountName", &["*"]),
    ("Pod:spec.enableServiceLinks", &["true"]),
    ("Pod:spec.serviceAccountName", &["*"]),
    ("Pod:spec.priority", &["0"]),
    ("Pod:spec.preemptionPolicy", &["*"]),
    ("Pod:spec.tolerations", &["*"]),
    ("Pod:status", &["*"]),
    ("Pod:status.podIP", &["*"]),
    ("ontainers.terminationMessagePath", &[r#""/dev/termination-log""#]),
    ("ontainers.terminationMessagePolicy", &[r#""File""#]),
    ("ontainers.imagePullPolicy", &[r#""Always""#, r#""IfNotPresent""#]),
    ("ontainers.resources", &["{}"]),
    ("resources.requests", &["{}"]),
    ("resources.requests.cpu", &[r#""1""#]),
    ("resources.requests.memory", &[r#""64Mi""#]),
    ("ports.protocol", &[r#""TCP""#]),
    ("env.valueFrom.fieldRef.apiVersion", &[r#""v1""#]),
    ("configMap.defaultMode", &["420"]),
    ("volumes.emptyDir", &["{}"]),
    ("readinessProbe.periodSeconds", &["10"]),
    ("readinessProbe.timeoutSeconds", &["1"]),
    ("readinessProbe.successThreshold", &["1"]),
    ("readinessProbe.failureThreshold", &["3"]),
    ("httpGet.scheme", &[r#""HTTP""#]),
    ("httpGet.path", &[r#""/""#]),
    // Services and what else leads traffic.
    ("Service:spec.type", &[r#""ClusterIP""#]),
    ("Service:spec.sessionAffinity", &[r#""None""#]),
    ("Service:spec.sessionAffinityConfig", &[r#"{"clientIP":{"timeoutSeconds":10800}}"#]),
    ("Service:spec.internalTrafficPolicy", &[r#""Cluster""#]),
    ("Service:spec.externalTrafficPolicy", &[r#""Cluster""#]),
    ("Service:spec.allocateLoadBalancerNodePorts", &["true"]),
    ("Service:spec.clusterIP", &["*"]),
    ("Service:spec.clusterIPs", &["*"]),
    ("Service:spec.ipFamilies", &["*"]),
    ("Service:spec.ipFamilyPolicy", &["*"]),
    ("Service:spec.ports.nodePort", &["*"]),
    ("Service:spec.ports.targetPort", &["80", "443", "53"]),
    ("NetworkPolicy:spec.policyTypes", &[r#"["Ingress"]"#, r#"["Ingress","Egress"]"#]),
    ("NetworkPolicy:spec.podSelector", &["{}"]),
    ("EndpointSlice:endpoints.conditions", &["{}"]),
    ("EndpointSlice:ports.name", &[r#""""#]),
    ("EndpointSlice:endpoints", &["null"]),
    ("EndpointSlice:ports", &["null"]),
    ("status.loadBalancer", &["{}"]),
    // The rest.
    ("Namespace:spec", &[r#"{"finalizers":["kubernetes"]}"#]),
    ("Namespace:metadata.labels.kubernetes.io/metadata.name", &["*"]),
    ("Namespace:spec.finalizers", &[r#"["kubernetes"]"#]),
    ("Namespace:status", &[r#"{"phase":"Active"}"#]),
    ("Secret:type", &[r#""Opaque""#]),
    ("PodDisruptionBudget:spec", &["{}"]),
    ("Role:rules", &["null"]),
    ("ClusterRole:rules", &["null"]),
    ("LimitRange:spec.limits", &["null"]),
    ("LimitRange:spec", &["{}", r#"{"limits":null}"#]),
    ("ResourceQuota:spec", &["{}"]),
    ("hard.count/things.example.com", &[r#""0""#]),
    ("hard.requests.example.com/thing", &[r#""0""#]),
    ("IngressClass:spec.parameters.scope", &[r#""Cluster""#]),
    ("Lease:spec", &["{}"]),
    ("Workload:status", &[r#"{"observedGeneration":-1}"#]),
    ("roleRef.apiGroup", &[r#""rbac.authorization.k8s.io""#]),
    ("subjects.apiGroup", &[r#""rbac.authorization.k8s.io""#]),
    ("HorizontalPodAutoscaler:spec.minReplicas", &["1"]),
    ("HorizontalPodAutoscaler:spec.maxReplicas", &["0"]),
    ("HorizontalPodAutoscaler:spec.targetCPUUtilizationPercentage", &["80"]),
    (
        "HorizontalPodAutoscaler:spec.metrics",
        &[
            r#"[{"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization","averageUtilization":80}}}]"#,
        ],
    ),
    ("scaleDown.selectPolicy", &[r#""Max""#]),
    ("scaleUp.selectPolicy", &[r#""Max""#]),
    ("scaleUp.stabilizationWindowSeconds", &["0"]),
    ("scaleDown.policies", &[r#"[{"type":"Percent","value":100,"periodSeconds":15}]"#]),
    (
        "scaleUp.policies",
        &[
            r#"[{"type":"Pods","value":4,"periodSeconds":15},{"type":"Percent","value":100,"periodSeconds":15}]"#,
        ],
    ),
    ("PersistentVolumeClaim:spec.volumeMode", &[r#""Filesystem""#]),
    ("PersistentVolumeClaim:metadata.finalizers", &[r#"["kubernetes.io/pvc-protection"]"#]),
    ("PersistentVolume:spec.volumeMode", &[r#""Filesystem""#]),
    ("PersistentVolume:spec.persistentVolumeReclaimPolicy", &[r#""Retain""#]),
    ("PersistentVolume:spec.hostPath.type", &[r#""""#]),
    ("PersistentVolume:metadata.finalizers", &[r#"["kubernetes.io/pv-protection"]"#]),
    ("ReplicationController:spec.replicas", &["1"]),
    ("ReplicaSet:spec.replicas", &["1"]),
    ("DaemonSet:metadata.annotations.deprecated.daemonset.template.generation", &["*"]),
    ("DaemonSet:spec.updateStrategy.rollingUpdate.maxSurge", &["0"]),
    ("DaemonSet:spec.updateStrategy.rollingUpdate.maxUnavailable", &["1"]),
    ("spec.failurePolicy", &[r#""Fail""#]),
    ("spec.matchConstraints.matchPolicy", &[r#""Equivalent""#]),
    ("spec.matchConstraints.namespaceSelector", &["{}"]),
    ("spec.matchConstraints.objectSelector", &["{}"]),
    ("spec.matchConstraints.resourceRules.scope", &[r#""*""#]),
    ("ResourceClaimTemplate:spec.metadata", &["{}"]),
    ("VolumeAttributesClass:metadata.finalizers", &[r#"["kubernetes.io/vac-protection"]"#]),
    ("PriorityClass:preemptionPolicy", &[r#""PreemptLowerPriority""#]),
    ("CSIDriver:spec.attachRequired", &["true"]),
    ("CSIDriver:spec.podInfoOnMount", &["false"]),
    ("CSIDriver:spec.requiresRepublish", &["false"]),
    ("CSIDriver:spec.storageCapacity", &["false"]),
    ("CSIDriver:spec.seLinuxMount", &["false"]),
    ("CSIDriver:spec.fsGroupPolicy", &[r#""ReadWriteOnceWithFSType""#]),
    ("CSIDriver:spec.volumeLifecycleModes", &[r#"["Persistent"]"#]),
    ("StorageClass:reclaimPolicy", &[r#""Delete""#]),
    ("StorageClass:volumeBindingMode", &[r#""Immediate""#]),
    ("CustomResourceDefinition:spec.conversion.strategy", &[r#""None""#]),
    ("Node:spec.taints", &["*"]),
    ("PriorityLevelConfiguration:spec.limited.lendablePercent", &["0"]),
    ("Event:source", &["{}"]),
    ("Event:deprecatedSource", &["{}"]),
    ("Event:eventTime", &["null"]),
    ("Event:reportingComponent", &[r#""""#]),
    ("Event:reportingInstance", &[r#""""#]),
    ("Event:deprecatedFirstTimestamp", &["null"]),
    ("Event:deprecatedLastTimestamp", &["null"]),
    ("Event:firstTimestamp", &["null"]),
    ("Event:lastTimestamp", &["null"]),
    // Custom resources.
    ("Gadget:spec.mode", &[r#""auto""#]),
    ("Gadget:spec.byName.port", &["80"]),
    ("Gadget:spec.byNameAndPort.port", &["80"]),
    ("Gadget:spec.atomicItems.port", &["80"]),
    ("Gadget:spec.byFlag.port", &["0"]),
    ("Workload:spec.mode", &[r#""Enforce""#]),
    ("Workload:spec.adoption", &[r#""Refuse""#]),
];

/// Values that a server takes away, since they go with something else that has changed.
const TAKEN_AWAY: &[&str] = &[
    "Service:spec.ports.nodePort",
    "Service:spec.allocateLoadBalancerNodePorts",
    "Service:spec.externalTrafficPolicy",
    "Service:spec.sessionAffinityConfig",
];

/// Values that a server always writes anew, since they record that something else has changed.
const WRITTEN_ANEW: &[&str] = &[
    "DaemonSet:metadata.annotations.deprecated.daemonset.template.generation",
    "PersistentVolume:status.lastPhaseTransitionTime",
];

/// Whether a server may have put `value` at a path of an object by itself. Indexes are no part of the path.
pub(super) fn is_filled_in(kind: &str, path: &[String], value: &Json) -> bool {
    let full = format!("{kind}:{}", path.join("."));
    let known = |(end, values): &(&str, &[&str])| {
        let meets = if end.contains(':') { full == *end } else { full.ends_with(end) };
        meets
            && values
                .iter()
                .any(|text| *text == "*" || text.parse().is_ok_and(|known: Json| known.same_value(value)))
    };
    FILLED_IN.iter().any(known)
}

/// Whether a server may have written what is at a path of an object anew.
pub(super) fn is_written_anew(kind: &str, path: &[String]) -> bool {
    let full = format!("{kind}:{}", path.join("."));
    WRITTEN_ANEW.contains(&full.as_str())
}

/// Whether a server may have taken away what was at a path of an object.
pub(super) fn is_taken_away(kind: &str, path: &[String]) -> bool {
    let full = format!("{kind}:{}", path.join("."));
    TAKEN_AWAY.contains(&full.as_str())
}
