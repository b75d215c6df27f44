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
    /// This value.
    Value(Value),
    /// Any value: the server updates it.
    Anything,
}

use ServerDefault::{Absent, Anything};

const fn rule(of: &'static str, field: &'static str, default: fn(&Value) -> ServerDefault) -> Rule {
    Rule { of, field, default }
}

const CRD_NAMES: &str =
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinitionNames";

/// In the order of their files in the API server's sources.
pub(super) const RULES: &[Rule] = &[
    // pkg/apis/apps/v1/defaults.go: SetDefaults_Deployment.
    rule("io.k8s.api.apps.v1.DeploymentStrategy", "rollingUpdate", |strategy| match text(strategy, "type") {
        "" | "RollingUpdate" => ServerDefault::Value(deployment_rollout()),
        _ => Absent,
    }),
    // SetDefaults_DaemonSet.
    rule("io.k8s.api.apps.v1.DaemonSetUpdateStrategy", "rollingUpdate", |strategy| {
        match text(strategy, "type") {
            "" | "RollingUpdate" => ServerDefault::Value(daemon_set_rollout()),
            _ => Absent,
        }
    }),
    // SetDefaults_StatefulSet. With the type set, it fills in nothing, but leaves existing values.
    rule("io.k8s.api.apps.v1.StatefulSetUpdateStrategy", "rollingUpdate", |strategy| {
        match text(strategy, "type") {
            "" => ServerDefault::Value(stateful_set_rollout(&Value::Null)),
            "RollingUpdate" => Anything,
            _ => Absent,
        }
    }),
    // pkg/apis/core/v1/defaults.go: SetDefaults_ReplicationController.
    rule("io.k8s.api.core.v1.ReplicationControllerSpec", "selector", |controller| {
        controller.pointer("/template/metadata/labels").cloned().map_or(Absent, ServerDefault::Value)
    }),
    // SetDefaults_Volume.
    rule("io.k8s.api.core.v1.Volume", "emptyDir", |volume| {
        let has_source = members(volume).any(|name| !matches!(name, "name" | "emptyDir"));
        if has_source { Absent } else { ServerDefault::Value(json!({})) }
    }),
    // SetDefaults_VolumeSource.
    rule("io.k8s.api.core.v1.ImageVolumeSource", "pullPolicy", |image| pull_policy(text(image, "reference"))),
    // SetDefaults_Container.
    rule("io.k8s.api.core.v1.Container", "imagePullPolicy", |container| {
        pull_policy(text(container, "image"))
    }),
    // pkg/apis/core/v1/conversion.go: two names of one field, Convert_v1_PodSpec_To_core_PodSpec and back. The newer one wins,
    // and the older one is a copy of it.
    rule("io.k8s.api.core.v1.PodSpec", "serviceAccount", |pod| {
        if text(pod, "serviceAccountName").is_empty() { Absent } else { Anything }
    }),
    rule("io.k8s.api.core.v1.PodSpec", "serviceAccountName", |pod| match text(pod, "serviceAccount") {
        "" => Absent,
        account => ServerDefault::Value(account.into()),
    }),
    // pkg/apis/networking/v1/defaults.go: SetDefaults_NetworkPolicy.
    rule("io.k8s.api.networking.v1.NetworkPolicySpec", "policyTypes", |policy| {
        let has_egress = policy["egress"].as_array().is_some_and(|egress| !egress.is_empty());
        ServerDefault::Value(if has_egress { json!(["Ingress", "Egress"]) } else { json!(["Ingress"]) })
    }),
    // pkg/apis/apiextensions/v1/defaults.go of apiextensions-apiserver: SetDefaults_CustomResourceDefinitionSpec.
    rule(CRD_NAMES, "singular", |names| ServerDefault::Value(text(names, "kind").to_lowercase().into())),
    rule(CRD_NAMES, "listKind", |names| ServerDefault::Value(format!("{}List", text(names, "kind")).into())),
];

/// A struct that may be empty, and its defaults then.
pub(super) struct EmptyStruct {
    /// The name of the schema of the struct around it.
    pub(super) of: &'static str,
    /// The field of that struct which it is.
    pub(super) field: &'static str,
    /// The fields afterwards, if the struct had these before.
    pub(super) filled_in: fn(&Value) -> Value,
}

const fn empty(of: &'static str, field: &'static str, filled_in: fn(&Value) -> Value) -> EmptyStruct {
    EmptyStruct { of, field, filled_in }
}

/// In the order of their files in the API server's sources.
pub(super) const EMPTY_STRUCTS: &[EmptyStruct] = &[
    // pkg/apis/apps/v1/defaults.go: SetDefaults_Deployment.
    empty("io.k8s.api.apps.v1.DeploymentSpec", "strategy", |_| rolling(&deployment_rollout())),
    empty("io.k8s.api.apps.v1.DeploymentStrategy", "rollingUpdate", |_| deployment_rollout()),
    // SetDefaults_DaemonSet.
    empty("io.k8s.api.apps.v1.DaemonSetSpec", "updateStrategy", |_| rolling(&daemon_set_rollout())),
    empty("io.k8s.api.apps.v1.DaemonSetUpdateStrategy", "rollingUpdate", |_| daemon_set_rollout()),
    // SetDefaults_StatefulSet.
    empty("io.k8s.api.apps.v1.StatefulSetSpec", "updateStrategy", |before| {
        rolling(&stateful_set_rollout(&before["rollingUpdate"]))
    }),
    empty("io.k8s.api.apps.v1.StatefulSetUpdateStrategy", "rollingUpdate", stateful_set_rollout),
    empty(
        "io.k8s.api.apps.v1.StatefulSetSpec",
        "persistentVolumeClaimRetentionPolicy",
        |_| json!({"whenDeleted": "Retain", "whenScaled": "Retain"}),
    ),
    // pkg/apis/autoscaling/v2/defaults.go: SetDefaults_HorizontalPodAutoscalerBehavior.
    empty(
        "io.k8s.api.autoscaling.v2.HorizontalPodAutoscalerSpec",
        "behavior",
        |_| json!({"scaleUp": scale_up(), "scaleDown": scale_down()}),
    ),
    empty("io.k8s.api.autoscaling.v2.HorizontalPodAutoscalerBehavior", "scaleUp", |_| scale_up()),
    empty("io.k8s.api.autoscaling.v2.HorizontalPodAutoscalerBehavior", "scaleDown", |_| scale_down()),
    // pkg/apis/core/v1/defaults.go: SetDefaults_Service.
    empty(
        "io.k8s.api.core.v1.ServiceSpec",
        "sessionAffinityConfig",
        |_| json!({"clientIP": {"timeoutSeconds": 10_800}}),
    ),
    empty("io.k8s.api.core.v1.SessionAffinityConfig", "clientIP", |_| json!({"timeoutSeconds": 10_800})),
    // SetDefaults_DownwardAPIVolumeSource, SetDefaults_ProjectedVolumeSource.
    empty("io.k8s.api.core.v1.Volume", "downwardAPI", |_| json!({"defaultMode": 0o644})),
    empty("io.k8s.api.core.v1.Volume", "projected", |_| json!({"defaultMode": 0o644})),
    // pkg/apis/flowcontrol/v1/defaults.go: SetDefaults_QueuingConfiguration.
    empty(
        "io.k8s.api.flowcontrol.v1.LimitResponse",
        "queuing",
        |_| json!({"queues": 64, "handSize": 8, "queueLengthLimit": 50}),
    ),
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
