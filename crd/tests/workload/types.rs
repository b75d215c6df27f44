//! The Rust types write what the schema accepts: no nulls, and only fields that were set.

use baton_crd::{
    Adoption, Autoscaling, ChildState, ChildStatus, DisruptionBudget, ExternalAutoscaler, HandoverPhase,
    Mode, PlannedAction, PlannedChild, Protocol, ReplicaOwnership, Rollout, ServicePort, ServiceSpec,
    TakeoverStatus, Workload, WorkloadSpec, WorkloadStatus,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use k8s_openapi::jiff::Timestamp;
use serde_json::json;

fn time(second: i64) -> Time {
    Time(Timestamp::from_second(second).unwrap())
}

#[test]
fn fields_that_were_not_set_are_not_written() {
    assert_eq!(serde_json::to_value(WorkloadStatus::default()).unwrap(), json!({}));
    assert_eq!(serde_json::to_value(ServiceSpec::default()).unwrap(), json!({}));
    assert_eq!(serde_json::to_value(Autoscaling::default()).unwrap(), json!({}));
    assert_eq!(serde_json::to_value(Rollout::default()).unwrap(), json!({}));
    assert_eq!(serde_json::to_value(DisruptionBudget::default()).unwrap(), json!({}));
    assert_eq!(
        serde_json::to_value(WorkloadSpec::default()).unwrap(),
        json!({"template": {}, "adoption": "Refuse", "mode": "Enforce"})
    );
}

#[test]
fn a_missing_field_gets_its_default() {
    let spec: WorkloadSpec = serde_json::from_value(json!({
        "template": {}, "service": {"ports": [{"port": 80}]}, "autoscaling": {"external": {}}
    }))
    .unwrap();
    assert_eq!((spec.adoption, spec.mode, spec.replicas), (Adoption::Refuse, Mode::Enforce, None));
    assert_eq!(spec.service.unwrap().ports[0].protocol, Protocol::Tcp);
    assert_eq!(spec.autoscaling.unwrap().external, Some(ExternalAutoscaler {}));
}

#[test]
fn a_field_that_a_server_side_apply_has_emptied_is_absent() {
    let emptied = json!({
        "template": {}, "retiredManagers": null, "rollout": {"strategy": {"rollingUpdate": null}},
        "service": {"ports": null, "labels": null, "annotations": {"note": null}, "ipFamilies": null},
        "autoscaling": {"maxReplicas": 3, "metrics": null, "behavior": null},
    });
    let absent = json!({
        "template": {}, "rollout": {"strategy": {}}, "service": {"annotations": {"note": ""}},
        "autoscaling": {"maxReplicas": 3},
    });
    let read = |value| serde_json::from_value::<WorkloadSpec>(value).unwrap();
    assert_eq!(read(emptied), read(absent));
}

#[test]
fn unknown_fields_of_the_template_are_kept_and_other_unknown_fields_are_refused() {
    let read = |spec: serde_json::Value| serde_json::from_value::<WorkloadSpec>(spec);
    for spec in [
        json!({"template": {}, "newer": 1}),
        json!({"template": {}, "service": {"newer": 1}}),
        json!({"template": {}, "service": {"ports": [{"port": 80, "newer": 1}]}}),
        json!({"template": {}, "rollout": {"strategy": {"rollingUpdate": {"newer": 1}}}}),
        json!({"template": {}, "autoscaling": {"external": {"newer": 1}}}),
        json!({"template": {}, "disruptionBudget": {"newer": 1}}),
    ] {
        let error = read(spec.clone()).unwrap_err().to_string();
        assert!(error.contains("unknown field `newer`"), "{spec}: {error}");
    }
    let template = json!({"spec": {"containers": [{"name": "app", "newer": 1}]}});
    let metrics = json!([{"type": "Newer", "newer": {}}]);
    let spec = read(json!({"template": template, "autoscaling": {"metrics": metrics}})).unwrap();
    assert_eq!((spec.template.0, json!(spec.autoscaling.unwrap().metrics)), (template, metrics));
}

#[test]
fn of_a_status_that_another_version_wrote_all_is_read_that_can_be() {
    let child =
        |kind: &str, state: &str| json!({"kind": kind, "name": "web", "apiVersion": "v1", "state": state});
    let status = json!({
        "replicas": 3, "selector": "app=web", "readyReplicas": "many", "newer": {},
        "children": [child("Deployment", "Applied"), child("Service", "Dreaming")],
        "replicaOwnership": {"owner": "baton", "phase": "Newer", "value": 3, "since": "2026-01-02T03:04:05Z"},
    });
    let read = WorkloadStatus::readable(&status.to_string());
    assert_eq!((read.replicas, read.ready_replicas), (Some(3), None));
    assert_eq!(read.selector.as_deref(), Some("app=web"));
    let kinds: Vec<&str> = read.children.iter().map(|child| child.kind.as_str()).collect();
    assert_eq!((kinds, read.replica_ownership), (vec!["Deployment"], None));
    assert_eq!(WorkloadStatus::readable("null"), WorkloadStatus::default());
}

#[test]
fn a_workload_survives_the_wire() {
    let port = ServicePort {
        name: Some("http".to_owned()),
        port: 80,
        target_port: Some(IntOrString::String("web".to_owned())),
        ..ServicePort::default()
    };
    let mut workload = Workload::new(
        "shop",
        WorkloadSpec {
            replicas: Some(3),
            service: Some(ServiceSpec { ports: vec![port], ..ServiceSpec::default() }),
            disruption_budget: Some(DisruptionBudget {
                min_available: Some(IntOrString::String("50%".to_owned())),
                ..DisruptionBudget::default()
            }),
            ..WorkloadSpec::default()
        },
    );
    workload.status = Some(WorkloadStatus {
        observed_generation: Some(2),
        replica_ownership: Some(ReplicaOwnership {
            owner: "handover-to-hpa".to_owned(),
            phase: HandoverPhase::HandoverPending,
            value: 3,
            autoscalers: vec!["shop".to_owned()],
            since: time(1_000),
            waiting_for: Some("the autoscaler to write a number".to_owned()),
        }),
        children: vec![ChildStatus {
            kind: "Service".to_owned(),
            name: "shop".to_owned(),
            api_version: "v1".to_owned(),
            state: ChildState::Rejected,
            message: Some("port 80 is taken".to_owned()),
        }],
        takeovers: vec![TakeoverStatus {
            kind: "Deployment".to_owned(),
            name: "shop".to_owned(),
            path: ".spec.replicas".to_owned(),
            manager: "kubectl".to_owned(),
            old_value: Some("1".to_owned()),
            new_value: Some("3".to_owned()),
            count: 2,
            first_time: time(1_000),
            last_time: time(2_000),
        }],
        plan: vec![PlannedChild {
            kind: "Deployment".to_owned(),
            name: "shop".to_owned(),
            action: PlannedAction::Update,
            sets: vec![".spec.replicas".to_owned()],
            ..PlannedChild::default()
        }],
        ..WorkloadStatus::default()
    });
    let written = serde_json::to_value(&workload).unwrap();
    assert!(!written.to_string().contains("null"), "{written}");
    assert_eq!(serde_json::from_value::<Workload>(written).unwrap(), workload);
}
