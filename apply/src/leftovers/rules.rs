//! The fields that the API server fills in from the other fields of their struct.
//!
//! Constant defaults are left out: they stay right whatever else changes. So are defaults in values that are merged as a whole,
//! which are removed as a whole, defaults that the server itself updates, and those of fields that can't change.

use serde_json::{Value, json};

/// A field that the server fills in.
pub(super) struct Rule {
    /// The name of the struct's schema.
    pub(super) of: &'static str,
    /// The field.
    pub(super) field: &'static str,
    /// The default that the server fills in for a struct, without regard to the field itself.
    pub(super) default: fn(&Value) -> ServerDefault,
}

/// The default of a field that is absent.
pub(super) enum ServerDefault {
    /// Nothing.
    Absent,
    /// This.
    Value(Value),
    /// Any value: the server updates it.
    Anything,
}

use ServerDefault::{Absent, Anything};

/// In the order of their files in the API server's sources.
pub(super) const RULES: &[Rule] = &[
    // pkg/apis/apps/v1/defaults.go: SetDefaults_Deployment.
    Rule {
        of: "io.k8s.api.apps.v1.DeploymentStrategy",
        field: "rollingUpdate",
        default: |strategy| match text(strategy, "type") {
            "" | "RollingUpdate" => ServerDefault::Value(deployment_rollout()),
            _ => Absent,
        },
    },
    // SetDefaults_DaemonSet.
    Rule {
        of: "io.k8s.api.apps.v1.DaemonSetUpdateStrategy",
        field: "rollingUpdate",
        default: |strategy| match text(strategy, "type") {
            "" | "RollingUpdate" => ServerDefault::Value(daemon_set_rollout()),
            _ => Absent,
        },
    },
    // SetDefaults_StatefulSet. With the type set, it fills in nothing, but leaves existing values.
    Rule {
        of: "io.k8s.api.apps.v1.StatefulSetUpdateStrategy",
        field: "rollingUpdate",
        default: |strategy| match text(strategy, "type") {
            "" => ServerDefault::Value(stateful_set_rollout(&Value::Null)),
            "RollingUpdate" => Anything,
            _ => Absent,
        },
    },
    // pkg/apis/core/v1/defaults.go: SetDefaults_ReplicationController.
    Rule {
        of: "io.k8s.api.core.v1.ReplicationControllerSpec",
        field: "selector",
        default: |controller| match controller.pointer("/template/metadata/labels") {
            Some(labels) => ServerDefault::Value(labels.clone()),
            None => Absent,
        },
    },
    // SetDefaults_Volume.
    Rule {
        of: "io.k8s.api.core.v1.Volume",
        field: "emptyDir",
        default: |volume| {
            let has_source = members(volume).any(|name| !matches!(name, "name" | "emptyDir"));
            if has_source { Absent } else { ServerDefault::Value(json!({})) }
        },
    },
    // SetDefaults_VolumeSource.
    Rule {
        of: "io.k8s.api.core.v1.ImageVolumeSource",
        field: "pullPolicy",
        default: |image| pull_policy(text(image, "reference")),
    },
    // SetDefaults_Container.
    Rule {
        of: "io.k8s.api.core.v1.Container",
        field: "imagePullPolicy",
        default: |container| pull_policy(text(container, "image")),
    },
    // pkg/apis/core/v1/conversion.go: two names of one field, Convert_v1_PodSpec_To_core_PodSpec and back. The newer one wins,
    // and the older one is a copy of it.
    Rule {
        of: "io.k8s.api.core.v1.PodSpec",
        field: "serviceAccount",
        default: |pod| if text(pod, "serviceAccountName").is_empty() { Absent } else { Anything },
    },
    Rule {
        of: "io.k8s.api.core.v1.PodSpec",
        field: "serviceAccountName",
        default: |pod| match text(pod, "serviceAccount") {
            "" => Absent,
            account => ServerDefault::Value(account.into()),
        },
    },
    // pkg/apis/networking/v1/defaults.go: SetDefaults_NetworkPolicy.
    Rule {
        of: "io.k8s.api.networking.v1.NetworkPolicySpec",
        field: "policyTypes",
        default: |policy| {
            let has_egress = policy["egress"].as_array().is_some_and(|egress| !egress.is_empty());
            ServerDefault::Value(if has_egress { json!(["Ingress", "Egress"]) } else { json!(["Ingress"]) })
        },
    },
    // pkg/apis/apiextensions/v1/defaults.go of apiextensions-apiserver: SetDefaults_CustomResourceDefinitionSpec.
    Rule {
        of: "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinitionNames",
        field: "singular",
        default: |names| ServerDefault::Value(text(names, "kind").to_lowercase().into()),
    },
    Rule {
        of: "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinitionNames",
        field: "listKind",
        default: |names| ServerDefault::Value(format!("{}List", text(names, "kind")).into()),
    },
];

/// The defaults of a struct that is empty.
pub(super) struct EmptyStruct {
    /// The name of the schema of the struct around it.
    pub(super) of: &'static str,
    /// The field of that struct which it is.
    pub(super) field: &'static str,
    /// The fields afterwards, if the struct had these before.
    pub(super) filled_in: fn(&Value) -> Value,
}

/// The structs that may be empty, in the order of their files in the API server's sources.
pub(super) const EMPTY_STRUCTS: &[EmptyStruct] = &[
    // pkg/apis/apps/v1/defaults.go: SetDefaults_Deployment.
    EmptyStruct {
        of: "io.k8s.api.apps.v1.DeploymentSpec",
        field: "strategy",
        filled_in: |_| rolling(&deployment_rollout()),
    },
    EmptyStruct {
        of: "io.k8s.api.apps.v1.DeploymentStrategy",
        field: "rollingUpdate",
        filled_in: |_| deployment_rollout(),
    },
    // SetDefaults_DaemonSet.
    EmptyStruct {
        of: "io.k8s.api.apps.v1.DaemonSetSpec",
        field: "updateStrategy",
        filled_in: |_| rolling(&daemon_set_rollout()),
    },
    EmptyStruct {
        of: "io.k8s.api.apps.v1.DaemonSetUpdateStrategy",
        field: "rollingUpdate",
        filled_in: |_| daemon_set_rollout(),
    },
    // SetDefaults_StatefulSet.
    EmptyStruct {
        of: "io.k8s.api.apps.v1.StatefulSetSpec",
        field: "updateStrategy",
        filled_in: |before| rolling(&stateful_set_rollout(&before["rollingUpdate"])),
    },
    EmptyStruct {
        of: "io.k8s.api.apps.v1.StatefulSetUpdateStrategy",
        field: "rollingUpdate",
        filled_in: stateful_set_rollout,
    },
    EmptyStruct {
        of: "io.k8s.api.apps.v1.StatefulSetSpec",
        field: "persistentVolumeClaimRetentionPolicy",
        filled_in: |_| json!({"whenDeleted": "Retain", "whenScaled": "Retain"}),
    },
    // pkg/apis/autoscaling/v2/defaults.go: SetDefaults_HorizontalPodAutoscalerBehavior.
    EmptyStruct {
        of: "io.k8s.api.autoscaling.v2.HorizontalPodAutoscalerSpec",
        field: "behavior",
        filled_in: |_| json!({"scaleUp": scale_up(), "scaleDown": scale_down()}),
    },
    EmptyStruct {
        of: "io.k8s.api.autoscaling.v2.HorizontalPodAutoscalerBehavior",
        field: "scaleUp",
        filled_in: |_| scale_up(),
    },
    EmptyStruct {
        of: "io.k8s.api.autoscaling.v2.HorizontalPodAutoscalerBehavior",
        field: "scaleDown",
        filled_in: |_| scale_down(),
    },
    // pkg/apis/core/v1/defaults.go: SetDefaults_Service.
    EmptyStruct {
        of: "io.k8s.api.core.v1.ServiceSpec",
        field: "sessionAffinityConfig",
        filled_in: |_| json!({"clientIP": {"timeoutSeconds": 10_800}}),
    },
    EmptyStruct {
        of: "io.k8s.api.core.v1.SessionAffinityConfig",
        field: "clientIP",
        filled_in: |_| json!({"timeoutSeconds": 10_800}),
    },
    // SetDefaults_DownwardAPIVolumeSource, SetDefaults_ProjectedVolumeSource.
    EmptyStruct {
        of: "io.k8s.api.core.v1.Volume",
        field: "downwardAPI",
        filled_in: |_| json!({"defaultMode": 0o644}),
    },
    EmptyStruct {
        of: "io.k8s.api.core.v1.Volume",
        field: "projected",
        filled_in: |_| json!({"defaultMode": 0o644}),
    },
    // pkg/apis/flowcontrol/v1/defaults.go: SetDefaults_QueuingConfiguration.
    EmptyStruct {
        of: "io.k8s.api.flowcontrol.v1.LimitResponse",
        field: "queuing",
        filled_in: |_| json!({"queues": 64, "handSize": 8, "queueLengthLimit": 50}),
    },
];

fn rolling(rollout: &Value) -> Value {
    json!({"type": "RollingUpdate", "rollingUpdate": rollout})
}

fn deployment_rollout() -> Value {
    json!({"maxSurge": "25%", "maxUnavailable": "25%"})
}

fn daemon_set_rollout() -> Value {
    json!({"maxSurge": 0, "maxUnavailable": 1})
}

/// With `maxUnavailable` only if the server has that feature turned on.
fn stateful_set_rollout(before: &Value) -> Value {
    let mut rollout = json!({"partition": 0});
    if before.get("maxUnavailable").is_some() {
        rollout["maxUnavailable"] = 1.into();
    }
    rollout
}

fn scale_up() -> Value {
    let policy = |of: &str, value: i32| json!({"type": of, "value": value, "periodSeconds": 15});
    json!({
        "stabilizationWindowSeconds": 0, "selectPolicy": "Max",
        "policies": [policy("Pods", 4), policy("Percent", 100)],
    })
}

fn scale_down() -> Value {
    json!({"selectPolicy": "Max", "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}]})
}

fn text<'v>(object: &'v Value, field: &str) -> &'v str {
    object.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// The names of the members that have a value.
fn members(object: &Value) -> impl Iterator<Item = &str> {
    let members = object.as_object().into_iter().flatten();
    members.filter(|(_, value)| !value.is_null()).map(|(name, _)| name.as_str())
}

/// How the server pulls an image without a pull policy: always, if its tag may move.
fn pull_policy(image: &str) -> ServerDefault {
    let (image, digest) =
        image.split_once('@').map_or((image, None), |(image, digest)| (image, Some(digest)));
    let name = image.rsplit('/').next().unwrap_or_default();
    let moves = match name.split_once(':') {
        Some((_, tag)) => tag == "latest",
        None => digest.is_none(),
    };
    ServerDefault::Value(if moves { "Always" } else { "IfNotPresent" }.into())
}
