//! Conversions, compared with responses of Kubernetes 1.36.

use serde_json::{Value as Json, json};

use super::*;

fn autoscaler(version: &str) -> GroupVersionKind {
    GroupVersionKind::new("autoscaling", version, "HorizontalPodAutoscaler")
}

fn event() -> GroupVersionKind {
    GroupVersionKind::new("events.k8s.io", "v1", "Event")
}

fn stored(gvk: &GroupVersionKind, object: &Json) -> Json {
    let arena = Arena::new();
    to_stored(&arena, gvk, Value::from_json(&arena, object).unwrap()).to_json()
}

fn shown(gvk: &GroupVersionKind, object: &Json) -> Json {
    let arena = Arena::new();
    from_stored(&arena, gvk, Value::from_json(&arena, object).unwrap()).to_json()
}

/// An autoscaler of v1 with a status and these annotations.
fn v1(annotations: &Json, spec: &Json, status: &Json) -> Json {
    let mut object = json!({
        "apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "web"}, "spec": spec, "status": status,
    });
    if !annotations.is_null() {
        object["metadata"]["annotations"] = annotations.clone();
    }
    object
}

fn v2(spec: &Json, status: &Json) -> Json {
    json!({
        "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "web"}, "spec": spec, "status": status,
    })
}

fn cpu(percent: i64) -> Json {
    json!({"type": "Resource", "resource": {
        "name": "cpu", "target": {"type": "Utilization", "averageUtilization": percent},
    }})
}

fn no_status() -> Json {
    json!({"currentMetrics": null, "desiredReplicas": 0})
}

/// A text of these lines.
fn text_of(parts: &[&str]) -> String {
    parts.concat()
}

#[test]
fn most_kinds_are_stored_as_they_are() {
    let deployment = GroupVersionKind::new("apps", "v1", "Deployment");
    assert_eq!(stored_as(&deployment), deployment);
    assert_eq!(stored_as(&autoscaler("v2")), autoscaler("v2"));
    assert_eq!(stored_as(&autoscaler("v1")), autoscaler("v2"));
    assert_eq!(stored_as(&event()), GroupVersionKind::new("", "v1", "Event"));
}

#[test]
fn an_autoscaler_of_version_1_has_a_metric_in_version_2() {
    let status = json!({"currentReplicas": 0, "desiredReplicas": 0});
    let plain = v1(&Json::Null, &json!({"maxReplicas": 5, "targetCPUUtilizationPercentage": 60}), &status);
    let stored_plain = v2(&json!({"maxReplicas": 5, "metrics": [cpu(60)]}), &no_status());
    assert_eq!(stored(&autoscaler("v1"), &plain), stored_plain);
    assert_eq!(shown(&autoscaler("v1"), &stored_plain), plain);

    let without = v1(&Json::Null, &json!({"maxReplicas": 5}), &status);
    assert_eq!(stored(&autoscaler("v1"), &without)["spec"]["metrics"], json!([cpu(80)]));
}

#[test]
fn annotations_of_version_1_hold_what_it_has_no_fields_for() {
    let reference = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"});
    let metrics = json!([
        {"type": "Resource", "resource": {"name": "memory", "target": {"type": "AverageValue", "averageValue": "64Mi"}}},
        {"type": "Pods", "pods": {
            "metric": {"name": "x", "selector": {"matchLabels": {"q": "<&>"}}},
            "target": {"type": "AverageValue", "averageValue": "500m"},
        }},
        {"type": "Object", "object": {
            "describedObject": reference, "metric": {"name": "r"}, "target": {"type": "Value", "value": "2k"},
        }},
        {"type": "Object", "object": {
            "describedObject": reference, "metric": {"name": "r"}, "target": {"type": "AverageValue", "averageValue": "2"},
        }},
        {"type": "External", "external": {
            "metric": {"name": "e"}, "target": {"type": "AverageValue", "averageValue": "30"},
        }},
        {"type": "ContainerResource", "containerResource": {
            "name": "cpu", "container": "c", "target": {"type": "Utilization", "averageUtilization": 40},
        }},
        cpu(50),
    ]);
    let behavior = json!({
        "scaleUp": {
            "stabilizationWindowSeconds": 0, "selectPolicy": "Max",
            "policies": [{"type": "Pods", "value": 4, "periodSeconds": 15}],
        },
        "scaleDown": {
            "selectPolicy": "Max", "policies": [{"type": "Pods", "value": 1, "periodSeconds": 60}], "tolerance": "50m",
        },
    });
    let status = json!({
        "currentReplicas": 2, "desiredReplicas": 3,
        "currentMetrics": [
            {"type": "Resource", "resource": {
                "name": "cpu", "current": {"averageUtilization": 30, "averageValue": "100m"},
            }},
            {"type": "External", "external": {"metric": {"name": "e"}, "current": {"averageValue": "3", "value": "7"}}},
        ],
        "conditions": [
            {"type": "AbleToScale", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z", "reason": "R", "message": "M"},
            {"type": "ScalingActive", "status": "False", "lastTransitionTime": null},
        ],
    });
    let object = v2(&json!({"maxReplicas": 5, "metrics": metrics, "behavior": behavior}), &status);
    let in_v1 = shown(&autoscaler("v1"), &object);
    let target = r#"{"kind":"Deployment","name":"web","apiVersion":"apps/v1"}"#;
    let expected = v1(
        &json!({
            "autoscaling.alpha.kubernetes.io/metrics": text_of(&[
                r#"[{"type":"Resource","resource":{"name":"memory","targetAverageValue":"64Mi"}},"#,
                r#"{"type":"Pods","pods":{"metricName":"x","targetAverageValue":"500m","selector":{"matchLabels":{"q":"\u003c\u0026\u003e"}}}},"#,
                &format!(r#"{{"type":"Object","object":{{"target":{target},"metricName":"r","targetValue":"2k"}}}},"#),
                &format!(
                    r#"{{"type":"Object","object":{{"target":{target},"metricName":"r","targetValue":"0","averageValue":"2"}}}},"#
                ),
                r#"{"type":"External","external":{"metricName":"e","targetAverageValue":"30"}},"#,
                r#"{"type":"ContainerResource","containerResource":{"name":"cpu","targetAverageUtilization":40,"container":"c"}}]"#,
            ]),
            "autoscaling.alpha.kubernetes.io/behavior": text_of(&[
                r#"{"ScaleUp":{"StabilizationWindowSeconds":0,"SelectPolicy":"Max","#,
                r#""Policies":[{"Type":"Pods","Value":4,"PeriodSeconds":15}],"Tolerance":null},"#,
                r#""ScaleDown":{"StabilizationWindowSeconds":null,"SelectPolicy":"Max","#,
                r#""Policies":[{"Type":"Pods","Value":1,"PeriodSeconds":60}],"Tolerance":"50m"}}"#,
            ]),
            "autoscaling.alpha.kubernetes.io/current-metrics": text_of(&[
                r#"[{"type":"Resource","resource":{"name":"cpu","currentAverageUtilization":30,"currentAverageValue":"100m"}},"#,
                r#"{"type":"External","external":{"metricName":"e","currentValue":"7","currentAverageValue":"3"}}]"#,
            ]),
            "autoscaling.alpha.kubernetes.io/conditions": text_of(&[
                r#"[{"type":"AbleToScale","status":"True","lastTransitionTime":"2026-01-01T00:00:00Z","reason":"R","message":"M"},"#,
                r#"{"type":"ScalingActive","status":"False","lastTransitionTime":null}]"#,
            ]),
        }),
        &json!({"maxReplicas": 5, "targetCPUUtilizationPercentage": 50}),
        &json!({"currentReplicas": 2, "desiredReplicas": 3, "currentCPUUtilizationPercentage": 30}),
    );
    assert_eq!(in_v1, expected);
    assert_eq!(stored(&autoscaler("v1"), &in_v1), object);
}

#[test]
fn annotations_that_make_no_sense_are_passed_over() {
    let annotations = json!({
        "autoscaling.alpha.kubernetes.io/metrics": "nope",
        "autoscaling.alpha.kubernetes.io/current-metrics": r#"[{"type":5}]"#,
        "autoscaling.alpha.kubernetes.io/behavior": r#"{"ScaleUp":null}"#,
        "autoscaling.alpha.kubernetes.io/conditions": "{}",
        "note": "kept",
    });
    let status = json!({"currentReplicas": 0, "desiredReplicas": 0});
    let object = stored(&autoscaler("v1"), &v1(&annotations, &json!({"maxReplicas": 5}), &status));
    let mut expected = v2(&json!({"maxReplicas": 5, "metrics": [cpu(80)]}), &no_status());
    expected["metadata"]["annotations"] = json!({"note": "kept"});
    assert_eq!(object, expected);
}

#[test]
fn a_behavior_is_read_in_both_spellings_and_without_defaults() {
    let annotations = json!({
        "autoscaling.alpha.kubernetes.io/behavior":
            r#"{"scaleUp":{"StabilizationWindowSeconds":3,"Policies":[{"Type":"Pods","Value":1,"PeriodSeconds":4}]}}"#,
    });
    let object =
        v1(&annotations, &json!({"maxReplicas": 5}), &json!({"currentReplicas": 0, "desiredReplicas": 0}));
    let expected = json!({"scaleUp": {
        "stabilizationWindowSeconds": 3, "policies": [{"type": "Pods", "value": 1, "periodSeconds": 4}],
    }});
    assert_eq!(stored(&autoscaler("v1"), &object)["spec"]["behavior"], expected);
}

#[test]
fn what_version_1_measured_is_a_metric_without_an_amount() {
    let status = json!({"currentReplicas": 1, "desiredReplicas": 1, "currentCPUUtilizationPercentage": 44});
    let object = stored(&autoscaler("v1"), &v1(&Json::Null, &json!({"maxReplicas": 5}), &status));
    let metric =
        json!({"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": 44}}});
    assert_eq!(
        object["status"],
        json!({"currentReplicas": 1, "desiredReplicas": 1, "currentMetrics": [metric]})
    );
    let text = r#"[{"type":"Resource","resource":{"name":"cpu","currentAverageUtilization":44,"currentAverageValue":"0"}}]"#;
    let in_v1 = shown(&autoscaler("v1"), &object);
    assert_eq!(
        in_v1["metadata"]["annotations"],
        json!({"autoscaling.alpha.kubernetes.io/current-metrics": text})
    );
}

#[test]
fn an_event_has_other_names_in_each_group() {
    let reference = json!({"kind": "Pod", "name": "web"});
    let core = json!({
        "apiVersion": "v1", "kind": "Event", "metadata": {"name": "a"}, "involvedObject": reference, "message": "hi",
        "reason": "R", "type": "Normal", "count": 2, "firstTimestamp": "2026-01-01T00:00:00Z", "lastTimestamp": null,
        "eventTime": null, "source": {"component": "c"}, "reportingComponent": "", "reportingInstance": "",
    });
    let new = json!({
        "apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "a"}, "regarding": reference, "note": "hi",
        "reason": "R", "type": "Normal", "deprecatedCount": 2, "deprecatedFirstTimestamp": "2026-01-01T00:00:00Z",
        "deprecatedLastTimestamp": null, "eventTime": null, "deprecatedSource": {"component": "c"},
    });
    assert_eq!(shown(&event(), &core), new);
    assert_eq!(stored(&event(), &new), core);

    let reported = json!({"reportingController": "x.io/c", "reportingInstance": "i"});
    let in_core = stored(&event(), &reported);
    assert_eq!(in_core["reportingComponent"], "x.io/c");
    assert_eq!(shown(&event(), &in_core)["reportingController"], "x.io/c");
}
