//! The kinds that hold data or rights, and those that watch over others.

use baton_testbed::Json;

use super::{
    Kind,
    body::{
        Body,
        Chance::{Always, Maybe, Needed, Seldom},
    },
};

pub(super) const KINDS: &[Kind] = &[
    Kind::builtin("", "v1", "ConfigMap", "configmaps", config_map),
    Kind::builtin("", "v1", "Secret", "secrets", secret),
    Kind::builtin("", "v1", "ServiceAccount", "serviceaccounts", service_account),
    Kind::builtin("rbac.authorization.k8s.io", "v1", "Role", "roles", role),
    Kind {
        status: Some(autoscaler_status),
        ..Kind::builtin(
            "autoscaling",
            "v2",
            "HorizontalPodAutoscaler",
            "horizontalpodautoscalers",
            autoscaler,
        )
    },
    Kind {
        status: Some(budget_status),
        ..Kind::builtin("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", budget)
    },
];

fn config_map(body: &mut Body) -> Json {
    body.object(&[
        ("metadata", Maybe, Body::metadata),
        ("data", Needed, |body| {
            body.map(&["a", "b", "c", "10", "9"], |body| body.text(&["1", "2", "", "x\ny"]))
        }),
        ("binaryData", Maybe, |body| body.map(&["bin", "raw"], |body| body.text(&["AA==", "AQ=="]))),
    ])
}

fn secret(body: &mut Body) -> Json {
    body.object(&[
        ("metadata", Maybe, Body::metadata),
        ("type", Needed, |body| body.text(&["Opaque"])),
        ("data", Needed, |body| {
            body.map(&["user", "password", "token"], |body| body.text(&["YQ==", "Yg=="]))
        }),
    ])
}

fn service_account(body: &mut Body) -> Json {
    let named =
        |body: &mut Body| body.items(&["one", "two", "three"], |_, name| Json::object().with("name", name));
    body.object(&[
        ("metadata", Maybe, Body::metadata),
        ("automountServiceAccountToken", Maybe, Body::flag),
        ("imagePullSecrets", Maybe, named),
        ("secrets", Maybe, |body| {
            // The server drops all but the name.
            body.items(&["one", "two"], |_, name| Json::object().with("name", name))
        }),
    ])
}

fn role(body: &mut Body) -> Json {
    body.object(&[
        ("metadata", Maybe, Body::metadata),
        ("rules", Maybe, |body| {
            body.items(&["pods", "services"], |body, resource| {
                body.object(&[("resourceNames", Seldom, |body| body.texts(&["a", "b"]))])
                    .with("apiGroups", vec![Json::string("")])
                    .with("resources", vec![Json::string(resource)])
                    .with("verbs", body.texts(&["get", "list", "watch"]))
            })
        }),
    ])
}

fn autoscaler(body: &mut Body) -> Json {
    body.object(&[
        ("metadata", Maybe, Body::metadata),
        ("spec", Needed, |body| {
            body.object(&[
                ("scaleTargetRef", Needed, |body| {
                    Json::object()
                        .with("apiVersion", "apps/v1")
                        .with("kind", "Deployment")
                        .with("name", body.text(&["web", "other"]))
                }),
                ("maxReplicas", Needed, |body| body.number(&[5, 10])),
                ("minReplicas", Maybe, |body| body.number(&[1, 2, 3])),
                ("metrics", Maybe, |body| {
                    body.literal(&[
                        r#"[{"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization","averageUtilization":70}}}]"#,
                        r#"[{"type":"Resource","resource":{"name":"memory","target":{"type":"AverageValue","averageValue":"1Gi"}}},{"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization","averageUtilization":80}}}]"#,
                    ])
                }),
                ("behavior", Maybe, |body| {
                    body.object(&[
                        ("scaleDown", Maybe, |body| {
                            body.literal(&[
                                r#"{"stabilizationWindowSeconds":60}"#,
                                r#"{"policies":[{"type":"Pods","value":1,"periodSeconds":60}]}"#,
                                r#"{"selectPolicy":"Min"}"#,
                            ])
                        }),
                        ("scaleUp", Maybe, |body| body.literal(&[r#"{"stabilizationWindowSeconds":0}"#, r#"{"selectPolicy":"Disabled"}"#])),
                    ])
                }),
            ])
        }),
    ])
}

fn autoscaler_status(body: &mut Body) -> Json {
    body.object(&[
        ("desiredReplicas", Always, |body| body.number(&[1, 2])),
        ("currentReplicas", Maybe, |body| body.number(&[1, 2])),
        ("observedGeneration", Maybe, |body| body.number(&[1, 2])),
        ("conditions", Maybe, conditions),
    ])
}

fn conditions(body: &mut Body) -> Json {
    body.items(&["AbleToScale", "ScalingActive"], |body, kind| {
        Json::object()
            .with("type", kind)
            .with("status", body.text(&["True", "False"]))
            .with("reason", body.text(&["Because", "Why"]))
            .with("message", body.text(&["one", "two"]))
            .with("lastTransitionTime", body.text(&["2026-01-02T03:04:05Z", "2026-02-02T03:04:05Z"]))
    })
}

fn budget(body: &mut Body) -> Json {
    body.object(&[
        ("metadata", Maybe, Body::metadata),
        ("spec", Needed, |body| {
            body.object(&[
                ("selector", Maybe, |body| {
                    body.literal(&[
                        r#"{"matchLabels":{"app":"web"}}"#,
                        r#"{"matchExpressions":[{"key":"app","operator":"Exists"}]}"#,
                        "{}",
                    ])
                }),
                ("minAvailable", Maybe, |body| body.literal(&["1", r#""50%""#])),
                ("unhealthyPodEvictionPolicy", Maybe, |body| body.text(&["AlwaysAllow", "IfHealthyBudget"])),
            ])
        }),
    ])
}

fn budget_status(body: &mut Body) -> Json {
    body.object(&[
        ("disruptionsAllowed", Always, |body| body.number(&[0, 1])),
        ("currentHealthy", Always, |body| body.number(&[1, 2])),
        ("desiredHealthy", Always, |body| body.number(&[1, 2])),
        ("expectedPods", Always, |body| body.number(&[2])),
        ("observedGeneration", Maybe, |body| body.number(&[1, 2])),
        ("conditions", Maybe, conditions),
    ])
}
