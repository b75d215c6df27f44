//! Whole intents: the fields that Baton would own of each child, for Workloads from minimal to full.

use crate::common::{UID, workload};
use baton_apply::LiveObject;
use baton_controller::decide::{
    child::ChildKind,
    intent::{self, Intent, Selector},
};
use baton_crd::Workload;
use serde_json::{Value, json};

/// The metadata of every child, whatever its kind.
fn metadata() -> Value {
    json!({
        "name": "web",
        "namespace": "shop",
        "labels": {
            "app.kubernetes.io/managed-by": "baton",
            "app.kubernetes.io/name": "web",
            "baton.rs/workload": "web",
        },
        "ownerReferences": [
            {"apiVersion": "baton.rs/v1alpha1", "kind": "Workload", "name": "web", "uid": UID, "controller": true},
        ],
    })
}

fn child(workload: &Workload, kind: ChildKind) -> Option<Intent> {
    intent::child(workload, kind, &Selector::of(workload, None)).unwrap()
}

fn deployment(workload: &Workload, replicas: Option<i32>) -> Intent {
    intent::deployment(workload, replicas, &Selector::of(workload, None)).unwrap()
}

fn of(spec: &Value, kind: ChildKind) -> Value {
    child(&workload(spec), kind).unwrap().into_value()
}

#[test]
fn a_minimal_deployment_has_the_template_and_a_selector_of_its_pods() {
    let expected = json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata(),
        "spec": {
            "selector": {"matchLabels": {"baton.rs/workload": "web"}},
            "template": {
                "metadata": {"labels": {"baton.rs/workload": "web"}},
                "spec": {"containers": [{"name": "app", "image": "app:1"}]},
            },
        },
    });
    assert_eq!(deployment(&workload(&json!({})), None).into_value(), expected);
}

#[test]
fn replicas_are_in_the_intent_only_if_baton_decides_them() {
    let workload = workload(&json!({"replicas": 3}));
    assert_eq!(deployment(&workload, Some(3)).as_value()["spec"]["replicas"], 3);
    assert_eq!(deployment(&workload, None).as_value()["spec"].get("replicas"), None);
}

#[test]
fn the_rollout_becomes_fields_of_the_deployment() {
    let rollout = json!({
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "50%", "maxUnavailable": 0}},
        "minReadySeconds": 5,
        "revisionHistoryLimit": 2,
        "progressDeadlineSeconds": 60,
    });
    let deployment = of(&json!({"rollout": rollout}), ChildKind::Deployment);
    for (field, value) in rollout.as_object().unwrap() {
        assert_eq!(&deployment["spec"][field], value, "{field}");
    }
}

#[test]
fn the_templates_own_labels_stay_beside_the_selectors() {
    let template = json!({
        "metadata": {"labels": {"team": "a"}, "annotations": {"note": "x"}},
        "spec": {"containers": [{"name": "app"}]},
    });
    let deployment = of(&json!({"template": template}), ChildKind::Deployment);
    let expected = json!({"labels": {"team": "a", "baton.rs/workload": "web"}, "annotations": {"note": "x"}});
    assert_eq!(deployment["spec"]["template"]["metadata"], expected);
}

#[test]
fn every_child_has_the_labels_and_annotations_of_its_spec_and_batons_own_win() {
    let own = json!({
        "labels": {"team": "a", "baton.rs/workload": "other"},
        "annotations": {"example.com/note": "x", "baton.rs/replicas-before-suspend": "9"},
    });
    let with = |mut rest: Value| {
        rest.as_object_mut().unwrap().extend(own.as_object().unwrap().clone());
        rest
    };
    let spec = json!({
        "deployment": own,
        "service": with(json!({"ports": [{"port": 80}]})),
        "autoscaling": with(json!({"maxReplicas": 3})),
        "disruptionBudget": with(json!({"minAvailable": 1})),
    });
    let mut expected = metadata();
    expected["labels"]["team"] = json!("a");
    expected["annotations"] = json!({"example.com/note": "x"});
    for kind in ChildKind::ALL {
        let child = of(&spec, kind);
        assert_eq!(child["metadata"], expected, "{kind}");
        let spec = &child["spec"];
        assert!(spec.get("labels").is_none() && spec.get("annotations").is_none(), "{kind}: {spec}");
    }
}

#[test]
fn every_child_has_its_workloads_shard_label_and_its_pods_do_not() {
    let own = json!({"labels": {"baton.rs/shard": "made-up"}});
    let spec =
        json!({"deployment": own, "service": {"ports": [{"port": 80}]}, "autoscaling": {"maxReplicas": 3}});
    let mut workload = workload(&spec);
    for (shard, expected) in [(None, Value::Null), (Some("second"), json!("second"))] {
        workload.metadata.labels =
            shard.map(|shard| [("baton.rs/shard".to_owned(), shard.to_owned())].into());
        for kind in [ChildKind::Deployment, ChildKind::Service, ChildKind::Autoscaler] {
            let child = child(&workload, kind).unwrap().into_value();
            assert_eq!(child["metadata"]["labels"]["baton.rs/shard"], expected, "{kind}");
            assert!(!child["spec"].to_string().contains("shard"), "{kind}: a move would restart its pods");
        }
    }
}

#[test]
fn a_service_selects_the_pods_and_has_its_own_labels_and_annotations() {
    let service = of(
        &json!({"service": {
            "ports": [{"port": 80, "protocol": "TCP", "targetPort": "http"}],
            "labels": {"team": "a", "baton.rs/workload": "other"},
            "annotations": {"note": "x"},
            "sessionAffinity": "ClientIP",
            "sessionAffinityTimeoutSeconds": 60,
        }}),
        ChildKind::Service,
    );
    let mut metadata = metadata();
    metadata["labels"]["team"] = json!("a");
    metadata["annotations"] = json!({"note": "x"});
    let expected = json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata,
        "spec": {
            "ports": [{"port": 80, "protocol": "TCP", "targetPort": "http"}],
            "selector": {"baton.rs/workload": "web"},
            "sessionAffinity": "ClientIP",
            "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 60}},
        },
    });
    assert_eq!(service, expected);
}

#[test]
fn a_headless_service_has_no_cluster_ip() {
    let service = of(&json!({"service": {"headless": true, "ports": [{"port": 80}]}}), ChildKind::Service);
    assert_eq!(service["spec"]["clusterIP"], "None");
    assert_eq!(service["spec"].get("headless"), None);
}

#[test]
fn an_autoscaler_scales_the_deployment_of_the_same_name() {
    let autoscaler = of(&json!({"autoscaling": {"minReplicas": 2, "maxReplicas": 5}}), ChildKind::Autoscaler);
    let expected = json!({
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": metadata(),
        "spec": {
            "minReplicas": 2,
            "maxReplicas": 5,
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
        },
    });
    assert_eq!(autoscaler, expected);
}

#[test]
fn an_autoscaler_has_its_quantities_as_the_server_stores_them() {
    let spec = |value: &str, tolerance: &str| {
        json!({
            "maxReplicas": 5,
            "metrics": [{"type": "Pods", "pods": {
                "metric": {"name": "requests"}, "target": {"type": "AverageValue", "averageValue": value},
            }}],
            "behavior": {"scaleUp": {"tolerance": tolerance}},
        })
    };
    let mut autoscaler = of(&json!({"autoscaling": spec("0.5", "0.0005")}), ChildKind::Autoscaler);
    autoscaler["spec"].as_object_mut().unwrap().remove("scaleTargetRef");
    assert_eq!(autoscaler["spec"], spec("500m", "500u"));
}

#[test]
fn a_disruption_budget_selects_the_pods() {
    let budget = of(&json!({"disruptionBudget": {"maxUnavailable": "25%"}}), ChildKind::DisruptionBudget);
    let expected =
        json!({"maxUnavailable": "25%", "selector": {"matchLabels": {"baton.rs/workload": "web"}}});
    assert_eq!(budget["spec"], expected);
}

#[test]
fn children_that_the_workload_does_not_have_get_no_intent() {
    let plain = workload(&json!({}));
    let external = workload(&json!({"autoscaling": {"external": {}}}));
    for kind in [ChildKind::Service, ChildKind::Autoscaler, ChildKind::DisruptionBudget] {
        assert_eq!(child(&plain, kind), None);
        assert_eq!(child(&external, kind), None);
    }
}

#[test]
fn an_adopted_deployment_keeps_its_selector_and_the_other_children_use_it() {
    let workload = workload(&json!({
        "service": {"ports": [{"port": 80}]},
        "disruptionBudget": {"maxUnavailable": 1},
    }));
    let labels = json!({"app": "shop", "tier": "front"});
    let adopted = json!({"metadata": {"name": "web"}, "spec": {"selector": {"matchLabels": labels}}});
    let selector = Selector::of(&workload, Some(&LiveObject::from_json(adopted).unwrap()));
    let spec = |kind| {
        let intent = intent::child(&workload, kind, &selector).unwrap().unwrap();
        intent.into_value()["spec"].take()
    };
    let deployment = spec(ChildKind::Deployment);
    assert_eq!(deployment["selector"], json!({"matchLabels": labels}));
    assert_eq!(deployment["template"]["metadata"]["labels"], labels, "another label would restart the pods");
    assert_eq!(spec(ChildKind::Service)["selector"], labels);
    assert_eq!(spec(ChildKind::DisruptionBudget)["selector"], json!({"matchLabels": labels}));
}
