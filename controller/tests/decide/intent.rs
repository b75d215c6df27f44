//! Whole intents: the fields that Baton would own of each child, for Workloads from minimal to full.

use baton_apply::LiveObject;
use baton_controller::decide::{
    child::ChildKind::{self, Autoscaler, Deployment, DisruptionBudget, Service},
    intent::{self, Intent, Selector},
};
use baton_crd::Workload;
use serde_json::{Value, json};

use crate::common::{UID, workload};

/// A child with this spec and the metadata of every child.
fn object(kind: ChildKind, spec: &Value) -> Value {
    let labels = json!({"app.kubernetes.io/managed-by": "baton", "app.kubernetes.io/name": "web", "baton.rs/workload": "web"});
    let owner = json!({
        "apiVersion": "baton.rs/v1alpha1", "kind": "Workload", "name": "web", "uid": UID, "controller": true,
    });
    let metadata = json!({"name": "web", "namespace": "shop", "labels": labels, "ownerReferences": [owner]});
    json!({"apiVersion": kind.api_version(), "kind": kind.name(), "metadata": metadata, "spec": spec})
}

fn child(workload: &Workload, kind: ChildKind) -> Option<Intent> {
    intent::child(workload, kind, &Selector::of(workload, None)).unwrap()
}

fn of(spec: &Value, kind: ChildKind) -> Value {
    child(&workload(spec), kind).unwrap().into_value()
}

#[test]
fn a_child_has_the_fields_of_its_spec_and_those_that_make_it_the_workloads() {
    let pods = json!({"containers": [{"name": "app", "image": "app:1"}]});
    let labels = json!({"baton.rs/workload": "web"});
    let (selector, labelled) =
        (json!({"matchLabels": labels}), json!({"metadata": {"labels": labels}, "spec": pods}));
    let strategy =
        json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "50%", "maxUnavailable": 0}});
    let rollout = json!({
        "strategy": strategy, "minReadySeconds": 5, "revisionHistoryLimit": 2, "progressDeadlineSeconds": 60,
    });
    let port = json!({"port": 80, "protocol": "TCP", "targetPort": "http"});
    let target = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"});
    for (kind, spec, expected) in [
        (Deployment, json!({}), json!({"selector": selector, "template": labelled})),
        (
            Deployment,
            json!({"replicas": 3}),
            json!({"replicas": 3, "selector": selector, "template": labelled}),
        ),
        (
            Deployment,
            json!({"rollout": rollout}),
            json!({
                "selector": selector, "template": labelled,
                "strategy": strategy, "minReadySeconds": 5, "revisionHistoryLimit": 2, "progressDeadlineSeconds": 60,
            }),
        ),
        (
            Deployment,
            json!({"template": {"metadata": {"labels": {"team": "a"}, "annotations": {"note": "x"}}, "spec": pods}}),
            json!({"selector": selector, "template": {
                "metadata": {"labels": {"team": "a", "baton.rs/workload": "web"}, "annotations": {"note": "x"}},
                "spec": pods,
            }}),
        ),
        (
            Service,
            json!({"service": {"ports": [port], "sessionAffinity": "ClientIP", "sessionAffinityTimeoutSeconds": 60}}),
            json!({
                "ports": [port], "selector": labels,
                "sessionAffinity": "ClientIP", "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 60}},
            }),
        ),
        (
            Service,
            json!({"service": {"headless": true, "ports": [{"port": 80}]}}),
            json!({"ports": [{"port": 80, "protocol": "TCP"}], "selector": labels, "clusterIP": "None"}),
        ),
        (
            Autoscaler,
            json!({"autoscaling": {"minReplicas": 2, "maxReplicas": 5}}),
            json!({"minReplicas": 2, "maxReplicas": 5, "scaleTargetRef": target}),
        ),
        (
            DisruptionBudget,
            json!({"disruptionBudget": {"maxUnavailable": "25%"}}),
            json!({"maxUnavailable": "25%", "selector": selector}),
        ),
    ] {
        assert_eq!(of(&spec, kind), object(kind, &expected), "{spec}");
    }
    for kind in [Service, Autoscaler, DisruptionBudget] {
        for spec in [json!({}), json!({"autoscaling": {"external": {}}})] {
            assert_eq!(child(&workload(&spec), kind), None, "{kind} of {spec}");
        }
    }
}

#[test]
fn replicas_are_in_the_intent_only_if_baton_decides_them() {
    let workload = workload(&json!({"replicas": 3}));
    let spec = |replicas| {
        let intent = intent::deployment(&workload, replicas, &Selector::of(&workload, None)).unwrap();
        intent.into_value()["spec"].take()
    };
    assert_eq!(spec(Some(4))["replicas"], 4);
    assert_eq!(spec(None).get("replicas"), None);
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
    for kind in ChildKind::ALL {
        let child = of(&spec, kind);
        let fields = &child["spec"];
        assert!(fields.get("labels").is_none() && fields.get("annotations").is_none(), "{kind}: {fields}");
        let mut expected = object(kind, fields);
        expected["metadata"]["labels"]["team"] = json!("a");
        expected["metadata"]["annotations"] = json!({"example.com/note": "x"});
        assert_eq!(child, expected, "{kind}");
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
        for kind in [Deployment, Service, Autoscaler] {
            let child = child(&workload, kind).unwrap().into_value();
            assert_eq!(child["metadata"]["labels"]["baton.rs/shard"], expected, "{kind}");
            assert!(!child["spec"].to_string().contains("shard"), "{kind}: a move would restart its pods");
        }
    }
}

#[test]
fn quantities_are_spelled_as_the_server_stores_them() {
    let pods = |cpu: &str| json!({"containers": [{"name": "app", "resources": {"limits": {"cpu": cpu}}}]});
    let deployment = of(&json!({"template": {"spec": pods("0.5")}}), Deployment);
    assert_eq!(deployment["spec"]["template"]["spec"], pods("500m"));

    let spec = |value: &str, tolerance: &str| {
        let target = json!({"type": "AverageValue", "averageValue": value});
        json!({
            "maxReplicas": 5,
            "metrics": [{"type": "Pods", "pods": {"metric": {"name": "requests"}, "target": target}}],
            "behavior": {"scaleUp": {"tolerance": tolerance}},
        })
    };
    let mut autoscaler = of(&json!({"autoscaling": spec("0.5", "0.0005")}), Autoscaler);
    autoscaler["spec"].as_object_mut().unwrap().remove("scaleTargetRef");
    assert_eq!(autoscaler["spec"], spec("500m", "500u"));
}

#[test]
fn an_adopted_deployment_keeps_its_selector_and_the_other_children_use_it() {
    let workload =
        workload(&json!({"service": {"ports": [{"port": 80}]}, "disruptionBudget": {"maxUnavailable": 1}}));
    let labels = json!({"app": "shop", "tier": "front"});
    let adopted = json!({"metadata": {"name": "web"}, "spec": {"selector": {"matchLabels": labels}}});
    let selector = Selector::of(&workload, Some(&LiveObject::from_json(adopted).unwrap()));
    let spec = |kind| {
        let intent = intent::child(&workload, kind, &selector).unwrap().unwrap();
        intent.into_value()["spec"].take()
    };
    let deployment = spec(Deployment);
    assert_eq!(deployment["selector"], json!({"matchLabels": labels}));
    assert_eq!(deployment["template"]["metadata"]["labels"], labels, "another label would restart the pods");
    assert_eq!(spec(Service)["selector"], labels);
    assert_eq!(spec(DisruptionBudget)["selector"], json!({"matchLabels": labels}));
}
