//! One request for every kind: nothing here depends on what a kind is.

use std::collections::BTreeSet;

use baton_e2e::{
    plays,
    scenario::{BuiltIn, Definition, Scene},
};

plays! {
    every_kind_of_the_server_is_applied_alike, who_applies_a_custom_resource_learns_nothing_new,
}

/// The least that each kind takes, besides a label.
const KINDS: &[(BuiltIn, &str)] = &[
    (BuiltIn::new("", "v1", "ConfigMap", "configmaps"), ""),
    (BuiltIn::new("", "v1", "Endpoints", "endpoints"), ""),
    (
        BuiltIn::new("", "v1", "LimitRange", "limitranges"),
        "spec: {limits: [{type: PersistentVolumeClaim, max: {storage: 10Ti}}]}",
    ),
    (BuiltIn::new("", "v1", "Namespace", "namespaces").of_the_cluster(), ""),
    (
        BuiltIn::new("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims"),
        "spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}",
    ),
    (
        BuiltIn::new("", "v1", "PersistentVolume", "persistentvolumes").of_the_cluster(),
        "spec: {accessModes: [ReadWriteOnce], capacity: {storage: 1Gi}, hostPath: {path: /tmp}}",
    ),
    (
        BuiltIn::new("", "v1", "Pod", "pods"),
        "spec: {automountServiceAccountToken: false, schedulerName: none, containers: [{name: app, image: nginx}]}",
    ),
    (
        BuiltIn::new("", "v1", "PodTemplate", "podtemplates"),
        "template: {spec: {containers: [{name: app, image: nginx}]}}",
    ),
    (
        BuiltIn::new("", "v1", "ReplicationController", "replicationcontrollers"),
        "spec: {selector: {app: a}, template: {metadata: {labels: {app: a}}, spec: {containers: [{name: app, image: nginx}]}}}",
    ),
    (BuiltIn::new("", "v1", "Secret", "secrets"), ""),
    (BuiltIn::new("", "v1", "ServiceAccount", "serviceaccounts"), ""),
    (BuiltIn::new("", "v1", "Service", "services"), "spec: {ports: [{port: 80}]}"),
    (
        BuiltIn::new(
            "admissionregistration.k8s.io",
            "v1",
            "MutatingWebhookConfiguration",
            "mutatingwebhookconfigurations",
        )
        .of_the_cluster(),
        "",
    ),
    (
        BuiltIn::new(
            "admissionregistration.k8s.io",
            "v1",
            "ValidatingWebhookConfiguration",
            "validatingwebhookconfigurations",
        )
        .of_the_cluster(),
        "",
    ),
    (
        BuiltIn::new(
            "admissionregistration.k8s.io",
            "v1",
            "ValidatingAdmissionPolicy",
            "validatingadmissionpolicies",
        )
        .of_the_cluster(),
        "spec: {matchConstraints: {resourceRules: [{apiGroups: [none.example], apiVersions: [v1], operations: [CREATE], \
         resources: [nothings]}]}, validations: [{expression: 'true'}]}",
    ),
    (
        BuiltIn::new(
            "admissionregistration.k8s.io",
            "v1",
            "ValidatingAdmissionPolicyBinding",
            "validatingadmissionpolicybindings",
        )
        .of_the_cluster(),
        "spec: {policyName: nothing, validationActions: [Audit]}",
    ),
    (
        BuiltIn::new(
            "admissionregistration.k8s.io",
            "v1",
            "MutatingAdmissionPolicy",
            "mutatingadmissionpolicies",
        )
        .of_the_cluster(),
        "spec: {matchConstraints: {resourceRules: [{apiGroups: [none.example], apiVersions: [v1], operations: [CREATE], \
         resources: [nothings]}]}, reinvocationPolicy: Never, mutations: [{patchType: JSONPatch, jsonPatch: {expression: '[JSONPatch{op: \"remove\", path: \"/a\"}]'}}]}",
    ),
    (
        BuiltIn::new(
            "admissionregistration.k8s.io",
            "v1",
            "MutatingAdmissionPolicyBinding",
            "mutatingadmissionpolicybindings",
        )
        .of_the_cluster(),
        "spec: {policyName: nothing}",
    ),
    (BuiltIn::new("apps", "v1", "ControllerRevision", "controllerrevisions"), "revision: 1\ndata: {}"),
    (
        BuiltIn::new("apps", "v1", "DaemonSet", "daemonsets"),
        "spec: {selector: {matchLabels: {app: a}}, template: {metadata: {labels: {app: a}}, \
         spec: {containers: [{name: app, image: nginx}]}}}",
    ),
    (
        BuiltIn::new("apps", "v1", "Deployment", "deployments"),
        "spec: {selector: {matchLabels: {app: a}}, template: {metadata: {labels: {app: a}}, \
         spec: {containers: [{name: app, image: nginx}]}}}",
    ),
    (
        BuiltIn::new("apps", "v1", "ReplicaSet", "replicasets"),
        "spec: {selector: {matchLabels: {app: a}}, template: {metadata: {labels: {app: a}}, \
         spec: {containers: [{name: app, image: nginx}]}}}",
    ),
    (
        BuiltIn::new("apps", "v1", "StatefulSet", "statefulsets"),
        "spec: {serviceName: none, selector: {matchLabels: {app: a}}, template: {metadata: {labels: {app: a}}, \
         spec: {containers: [{name: app, image: nginx}]}}}",
    ),
    (
        BuiltIn::new("autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers"),
        "spec: {maxReplicas: 2, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: nothing}}",
    ),
    (
        BuiltIn::new("batch", "v1", "CronJob", "cronjobs"),
        "spec: {schedule: '0 0 1 1 *', jobTemplate: {spec: {template: {spec: {restartPolicy: Never, \
         containers: [{name: app, image: nginx}]}}}}}",
    ),
    (
        BuiltIn::new("batch", "v1", "Job", "jobs"),
        "spec: {template: {spec: {restartPolicy: Never, containers: [{name: app, image: nginx}]}}}",
    ),
    (BuiltIn::new("coordination.k8s.io", "v1", "Lease", "leases"), "spec: {}"),
    (
        BuiltIn::new("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices"),
        "addressType: IPv4\nendpoints: []\nports: []",
    ),
    (
        BuiltIn::new("networking.k8s.io", "v1", "Ingress", "ingresses"),
        "spec: {defaultBackend: {service: {name: web, port: {number: 80}}}}",
    ),
    (
        BuiltIn::new("networking.k8s.io", "v1", "IngressClass", "ingressclasses").of_the_cluster(),
        "spec: {controller: example.com/none}",
    ),
    (BuiltIn::new("networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies"), "spec: {podSelector: {}}"),
    (
        BuiltIn::new("networking.k8s.io", "v1", "ServiceCIDR", "servicecidrs").of_the_cluster(),
        "spec: {cidrs: [10.250.0.0/24]}",
    ),
    (BuiltIn::new("node.k8s.io", "v1", "RuntimeClass", "runtimeclasses").of_the_cluster(), "handler: none"),
    (
        BuiltIn::new("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets"),
        "spec: {minAvailable: 1, selector: {matchLabels: {app: a}}}",
    ),
    (
        BuiltIn::new("rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles").of_the_cluster(),
        "rules: []",
    ),
    (
        BuiltIn::new("rbac.authorization.k8s.io", "v1", "ClusterRoleBinding", "clusterrolebindings")
            .of_the_cluster(),
        "roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: nothing}",
    ),
    (BuiltIn::new("rbac.authorization.k8s.io", "v1", "Role", "roles"), "rules: []"),
    (
        BuiltIn::new("rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings"),
        "roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: nothing}",
    ),
    (BuiltIn::new("resource.k8s.io", "v1", "DeviceClass", "deviceclasses").of_the_cluster(), "spec: {}"),
    (
        BuiltIn::new("resource.k8s.io", "v1", "ResourceClaim", "resourceclaims"),
        "spec: {devices: {requests: []}}",
    ),
    (
        BuiltIn::new("resource.k8s.io", "v1", "ResourceClaimTemplate", "resourceclaimtemplates"),
        "spec: {spec: {devices: {requests: []}}}",
    ),
    (
        BuiltIn::new("resource.k8s.io", "v1", "ResourceSlice", "resourceslices").of_the_cluster(),
        "spec: {driver: none.example, allNodes: true, pool: {name: none, generation: 1, resourceSliceCount: 1}}",
    ),
    (
        BuiltIn::new("scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses").of_the_cluster(),
        "value: 1",
    ),
    (BuiltIn::new("storage.k8s.io", "v1", "CSIDriver", "csidrivers").of_the_cluster(), "spec: {}"),
    (BuiltIn::new("storage.k8s.io", "v1", "CSINode", "csinodes").of_the_cluster(), "spec: {drivers: []}"),
    (
        BuiltIn::new("storage.k8s.io", "v1", "CSIStorageCapacity", "csistoragecapacities"),
        "storageClassName: none",
    ),
    (
        BuiltIn::new("storage.k8s.io", "v1", "StorageClass", "storageclasses").of_the_cluster(),
        "provisioner: example.com/none",
    ),
    (
        BuiltIn::new("storage.k8s.io", "v1", "VolumeAttachment", "volumeattachments").of_the_cluster(),
        "spec: {attacher: none, nodeName: none, source: {persistentVolumeName: none}}",
    ),
    (
        BuiltIn::new("storage.k8s.io", "v1", "VolumeAttributesClass", "volumeattributesclasses")
            .of_the_cluster(),
        "driverName: none.example\nparameters: {a: b}",
    ),
];

/// The same of kinds that are only tried here, since somebody writes to such an object as soon as it is there.
const TRIED: &[(BuiltIn, &str)] = &[
    (BuiltIn::new("", "v1", "Node", "nodes").of_the_cluster(), ""),
    (BuiltIn::new("", "v1", "ResourceQuota", "resourcequotas"), "spec: {hard: {pods: '100'}}"),
    (
        BuiltIn::new("flowcontrol.apiserver.k8s.io", "v1", "FlowSchema", "flowschemas").of_the_cluster(),
        "spec: {matchingPrecedence: 9000, priorityLevelConfiguration: {name: catch-all}}",
    ),
    (
        BuiltIn::new(
            "flowcontrol.apiserver.k8s.io",
            "v1",
            "PriorityLevelConfiguration",
            "prioritylevelconfigurations",
        )
        .of_the_cluster(),
        "spec: {type: Limited, limited: {limitResponse: {type: Reject}, nominalConcurrencyShares: 0}}",
    ),
    (
        BuiltIn::new("", "v1", "Event", "events"),
        "involvedObject: {namespace: NAMESPACE, kind: Pod, name: none}",
    ),
    (
        BuiltIn::new("events.k8s.io", "v1", "Event", "events"),
        "regarding: {namespace: NAMESPACE, kind: Pod, name: none}\neventTime: '2026-01-02T03:04:05.000000Z'\n\
 reportingController: example.com/none\nreportingInstance: none\naction: none\nreason: None\ntype: Normal",
    ),
    (
        BuiltIn::new("apiregistration.k8s.io", "v1", "APIService", "apiservices").of_the_cluster(),
        "spec: {group: none.example, version: v1, groupPriorityMinimum: 1, versionPriority: 1}",
    ),
    (
        BuiltIn::new("apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions")
            .of_the_cluster(),
        "spec: {group: example.com, scope: Namespaced, names: {kind: KepTried, plural: keptrieds, singular: keptried, listKind: KepTriedList}, \
 versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}",
    ),
];

/// What is served and not played here, with the reason.
const ELSEWHERE: &[(&str, &str)] = &[
    ("certificates.k8s.io/certificatesigningrequests", "it takes a request that is signed"),
    ("networking.k8s.io/ipaddresses", "it has to be the address of something"),
];

/// Group and plural of all that can be created and patched, in the preferred versions.
async fn served(s: &Scene) -> BTreeSet<String> {
    let client = s.stage().client();
    let mut lists = vec![(String::new(), client.list_core_api_resources("v1").await.unwrap())];
    for group in client.list_api_groups().await.unwrap().groups {
        // Other scenarios make some of their own.
        if group.name == "example.com" || group.name == "baton.rs" {
            continue;
        }
        let version = group.preferred_version.unwrap().group_version;
        lists.push((group.name, client.list_api_group_resources(&version).await.unwrap()));
    }
    let mut served = BTreeSet::new();
    for (group, list) in lists {
        for resource in list.resources {
            let can = |verb: &str| resource.verbs.iter().any(|own| own == verb);
            if !resource.name.contains('/') && can("create") && can("patch") {
                served.insert(format!("{group}/{}", resource.name));
            }
        }
    }
    served
}

async fn every_kind_of_the_server_is_applied_alike(s: &mut Scene) {
    let mut missing = served(s).await;
    let namespace = s.namespace().to_owned();
    let label = "metadata: {labels: {team: blue}}";
    for (kind, body) in KINDS {
        missing.remove(&kind.resource());
        s.of(*kind).await;
        s.named(&format!("walk-{namespace}")).await;
        s.apply_as("pipeline", &format!("{label}\n{body}")).creates().await;
        s.expect_managers(&["pipeline (Apply)"]);
        s.expect_owner(".metadata.labels.team", "pipeline (Apply)");
        s.apply_as("other", "metadata: {labels: {team: red}}")
            .conflicts_with("pipeline", ".metadata.labels.team")
            .await;
        s.delete().await;
    }
    for (kind, body) in TRIED {
        missing.remove(&kind.resource());
        s.of(*kind).await;
        // Some have to be called by what they say.
        s.named(match kind.resource().as_str() {
            "apiextensions.k8s.io/customresourcedefinitions" => "keptrieds.example.com",
            "apiregistration.k8s.io/apiservices" => "v1.none.example",
            _ => "walk",
        })
        .await;
        let body = body.replace("NAMESPACE", &namespace);
        let tried = s.apply_as("pipeline", &format!("{label}\n{body}")).dry_run().creates().await;
        assert_eq!(tried.managers(), ["pipeline (Apply)"]);
    }
    missing.retain(|resource| ELSEWHERE.iter().all(|(known, _)| known != resource));
    assert_eq!(missing, BTreeSet::new(), "is served, and is not applied here");
    assert!(KINDS.len() > 40);
}

async fn who_applies_a_custom_resource_learns_nothing_new(s: &mut Scene) {
    s.define(Definition::new("KepPlain", "spec: {type: object, properties: {size: {type: integer}}}")).await;
    let label = "metadata: {labels: {team: blue}}";
    s.apply_as("pipeline", &format!("{label}\nspec: {{size: 1}}")).creates().await;
    s.expect_managers(&["pipeline (Apply)"]);
    s.expect_owner(".metadata.labels.team", "pipeline (Apply)");
    s.expect_owner(".spec.size", "pipeline (Apply)");
    s.apply_as("other", "metadata: {labels: {team: red}}")
        .conflicts_with("pipeline", ".metadata.labels.team")
        .await;
}
