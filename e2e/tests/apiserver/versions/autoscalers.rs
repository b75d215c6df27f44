//! Autoscalers, which are stored in version 2 and also served in version 1.

use anyhow::Result;
use serde_json::{Value, json};

use super::{APPLY, JSON_PATCH, MERGE, STRATEGIC, delete, get, patch, reads, same_responses, write};

const HPA_1: &str = "/apis/autoscaling/v1/namespaces/versions/horizontalpodautoscalers";
const HPA_2: &str = "/apis/autoscaling/v2/namespaces/versions/horizontalpodautoscalers";

fn autoscaler(version: &str, name: &str, spec: &Value) -> Value {
    let mut object = json!({
        "apiVersion": format!("autoscaling/{version}"), "kind": "HorizontalPodAutoscaler", "metadata": {"name": name},
        "spec": {"maxReplicas": 5, "scaleTargetRef": target()},
    });
    for (name, value) in spec.as_object().into_iter().flatten() {
        object["spec"][name] = value.clone();
    }
    object
}

fn target() -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"})
}

fn annotated(mut object: Value, annotations: Value) -> Value {
    object["metadata"]["annotations"] = annotations;
    object
}

fn cpu(percent: i64) -> Value {
    json!({"type": "Resource", "resource": {
        "name": "cpu", "target": {"type": "Utilization", "averageUtilization": percent},
    }})
}

/// A metric of each sort.
fn metrics() -> Value {
    json!([
        cpu(50),
        {"type": "Resource", "resource": {"name": "memory", "target": {"type": "AverageValue", "averageValue": "64Mi"}}},
        {"type": "Pods", "pods": {
            "metric": {"name": "x", "selector": {"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "k", "operator": "Exists"}]}},
            "target": {"type": "AverageValue", "averageValue": "0.5"},
        }},
        {"type": "Object", "object": {
            "describedObject": target(), "metric": {"name": "r"}, "target": {"type": "Value", "value": "2k"},
        }},
        {"type": "Object", "object": {
            "describedObject": target(), "metric": {"name": "r"}, "target": {"type": "AverageValue", "averageValue": "2"},
        }},
        {"type": "External", "external": {
            "metric": {"name": "e"}, "target": {"type": "AverageValue", "averageValue": "30"},
        }},
        {"type": "ContainerResource", "containerResource": {
            "name": "cpu", "container": "c", "target": {"type": "Utilization", "averageUtilization": 40},
        }},
    ])
}

fn status() -> Value {
    json!({"status": {
        "currentReplicas": 2, "desiredReplicas": 3, "observedGeneration": 1, "lastScaleTime": "2026-01-01T00:00:00Z",
        "currentMetrics": [
            {"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": 30, "averageValue": "100m"}}},
            {"type": "External", "external": {"metric": {"name": "e"}, "current": {"averageValue": "3", "value": "7"}}},
            {"type": "Pods", "pods": {"metric": {"name": "x"}, "current": {"averageValue": "3"}}},
            {"type": "Object", "object": {
                "metric": {"name": "x"}, "describedObject": target(), "current": {"averageValue": "3"},
            }},
            {"type": "ContainerResource", "containerResource": {
                "name": "cpu", "container": "c", "current": {"averageValue": "3", "averageUtilization": 4},
            }},
        ],
        "conditions": [
            {"type": "AbleToScale", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z", "reason": "R", "message": "<M>"},
            {"type": "ScalingActive", "status": "False"},
        ],
    }})
}

#[tokio::test]
#[ignore = "by kubectl"]
async fn autoscalers_are_the_same_in_both_versions() -> Result<()> {
    const METRICS: &str = "autoscaling.alpha.kubernetes.io/metrics";
    const BEHAVIOR: &str = "autoscaling.alpha.kubernetes.io/behavior";

    let (a1, a2) = (&format!("{HPA_1}/a"), &format!("{HPA_2}/a"));
    let (b1, b2) = (&format!("{HPA_1}/b"), &format!("{HPA_2}/b"));
    let (c1, c2) = (&format!("{HPA_1}/c"), &format!("{HPA_2}/c"));
    let behavior = json!({"scaleDown": {
        "policies": [{"type": "Pods", "value": 1, "periodSeconds": 60}], "tolerance": "0.05",
    }});
    let mut steps = vec![
        write("POST", HPA_1, "old", autoscaler("v1", "a", &json!({}))),
        get(a2),
        patch(MERGE, a2, "new", json!({"spec": {"metrics": [cpu(30), cpu(40)]}})),
        get(a1),
        patch(APPLY, a1, "same", autoscaler("v1", "a", &json!({}))),
        get(a2),
        patch(MERGE, a1, "old", json!({})),
        get(a2),
        patch(JSON_PATCH, a1, "old", json!([{"op": "replace", "path": "/spec/maxReplicas", "value": 7}])),
        patch(MERGE, a1, "old", json!({"spec": {"targetCPUUtilizationPercentage": null}})),
        get(a2),
        patch(MERGE, a1, "old", json!({})),
        write("PUT", a1, "old", autoscaler("v1", "a", &json!({"targetCPUUtilizationPercentage": 20}))),
        get(a2),
        write(
            "POST",
            HPA_2,
            "new",
            autoscaler("v2", "b", &json!({"metrics": metrics(), "behavior": behavior})),
        ),
        patch(MERGE, &format!("{b2}/status"), "controller", status()),
    ];
    steps.extend(reads(HPA_1, "b"));
    steps.extend(reads(HPA_2, "b"));
    steps.extend([
        patch(STRATEGIC, b1, "old", json!({"spec": {"maxReplicas": 6, "targetCPUUtilizationPercentage": 70}})),
        get(b2),
        patch(MERGE, b1, "old", json!({"metadata": {"annotations": {METRICS: null, "note": "x"}}})),
        get(b2),
        patch(MERGE, &format!("{b1}/status"), "controller", json!({"status": {"currentCPUUtilizationPercentage": 44}})),
        get(b2),
        patch(APPLY, c1, "one", autoscaler("v1", "c", &json!({"targetCPUUtilizationPercentage": 60}))),
        patch(APPLY, c2, "two", autoscaler("v2", "c", &json!({"maxReplicas": 9, "metrics": [cpu(50)]}))),
        patch(
            APPLY,
            &format!("{c2}?force=true"),
            "two",
            autoscaler("v2", "c", &json!({"maxReplicas": 9, "metrics": [cpu(50)]})),
        ),
        get(c1),
        patch(APPLY, c1, "one", autoscaler("v1", "c", &json!({"maxReplicas": 9}))),
        patch(APPLY, c2, "one", autoscaler("v2", "c", &json!({"maxReplicas": 9, "minReplicas": 2}))),
        patch(APPLY, c1, "two", autoscaler("v1", "c", &json!({"maxReplicas": 9}))),
        patch(MERGE, &format!("{c1}/status"), "controller", json!({"status": {"currentCPUUtilizationPercentage": 44}})),
        get(c2),
        write("POST", HPA_1, "old", autoscaler("v1", "d", &json!({"targetCPUUtilizationPercentage": 0}))),
        write(
            "POST",
            HPA_1,
            "old",
            annotated(
                autoscaler("v1", "d", &json!({})),
                json!({METRICS: "nope", BEHAVIOR: r#"{"ScaleUp":{"StabilizationWindowSeconds":3}}"#}),
            ),
        ),
        write(
            "POST",
            HPA_1,
            "old",
            annotated(
                autoscaler("v1", "e", &json!({"targetCPUUtilizationPercentage": 5})),
                json!({
                    METRICS: r#"[{"type":"Resource","resource":{"name":"memory","targetAverageUtilization":3}},
                        {"type":"External","external":{"metricName":"q","targetValue":1}}]"#,
                    BEHAVIOR: r#"{"scaleUp":{"Policies":[{"Type":"Pods","Value":1,"PeriodSeconds":4}]}}"#,
                    "note": "x",
                }),
            ),
        ),
        get(format!("{HPA_2}/e")),
        write("POST", HPA_2, "new", annotated(autoscaler("v2", "f", &json!({})), json!({METRICS: "x"}))),
        patch(APPLY, &format!("{HPA_1}/g"), "one", annotated(autoscaler("v1", "g", &json!({})), json!({METRICS: "x"}))),
        patch(APPLY, &format!("{HPA_2}/h"), "one", annotated(autoscaler("v2", "h", &json!({})), json!({METRICS: "x"}))),
        delete(&format!("{a1}?dryRun=All"), json!({"preconditions": {"uid": "x"}})),
        delete(a1, Value::Null),
        get(a2),
        delete(HPA_1, Value::Null),
        get(HPA_2),
    ]);
    same_responses(steps).await
}
