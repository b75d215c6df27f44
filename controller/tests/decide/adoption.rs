//! Adoption, with the merge core in the API server's place: who made the object, and the result for its fields, their owners and
//! its replica count.

use std::{collections::BTreeMap, sync::Arc};

use crate::common::{
    cluster::{but, enforced, object, response, stored},
    workload,
};
use baton_apply::{LiveObject, ManagedFieldsEntry};
use baton_controller::decide::{child::ChildKind, plan::plan, replicas::Replicas, snapshot::Snapshot};
use serde_json::{Value, json};

const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// A minimal Deployment that fits the Workload's template, with its own selector and a field that the Workload doesn't set.
fn found() -> Value {
    object(
        ChildKind::Deployment,
        &json!({
            "replicas": 4,
            "minReadySeconds": 7,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "app", "image": "app:1"}]},
            },
        }),
    )
}

/// Created by a manager's apply.
fn applied_by(manager: &'static str) -> LiveObject {
    stored(&[(manager, &found())])
}

/// Created by a manager's update.
fn updated_by(manager: &str) -> LiveObject {
    but(&applied_by("other"), |object| {
        let entry = &mut object["metadata"]["managedFields"][0];
        entry["manager"] = json!(manager);
        entry["operation"] = json!("Update");
    })
}

/// Created by client-side `kubectl apply`.
fn applied_client_side() -> LiveObject {
    but(&updated_by("kubectl-client-side-apply"), |object| {
        object["metadata"]["annotations"] = json!({LAST_APPLIED: "{}"});
        let fields = &mut object["metadata"]["managedFields"][0]["fieldsV1"];
        fields["f:metadata"] = json!({"f:annotations": {".": {}, format!("f:{LAST_APPLIED}"): {}}});
    })
}

/// A Workload with this spec that finds this Deployment.
fn found_by(spec: &Value, deployment: LiveObject) -> Snapshot {
    let children = BTreeMap::from([(ChildKind::Deployment, deployment)]);
    Snapshot::new(Arc::new(workload(spec)), children, Vec::new())
}

/// The Deployment after one pass, and the pass's writes.
fn adopted(spec: &Value, deployment: LiveObject) -> (LiveObject, Vec<String>) {
    let (finished, writes) = enforced(found_by(spec, deployment));
    assert!(finished.settled, "{writes:?}");
    (finished.seen.own(ChildKind::Deployment).unwrap().clone(), writes)
}

fn count(live: &LiveObject) -> i32 {
    Replicas::of(live).count
}

fn entries(live: &LiveObject) -> Vec<String> {
    let entry = |entry: &ManagedFieldsEntry<'_>| format!("{} {}", entry.manager(), entry.operation());
    live.managed_fields().iter().map(entry).collect()
}

#[test]
fn adoption_does_not_change_the_replica_count_whoever_decides_it() {
    for autoscaling in [json!({"minReplicas": 2, "maxReplicas": 9}), json!({"external": {}})] {
        for from in [applied_client_side(), applied_by("kubectl"), updated_by("helm")] {
            let spec = json!({"adoption": "Adopt", "autoscaling": autoscaling, "retiredManagers": ["helm"]});
            let managers = from.managers();
            let (live, writes) = adopted(&spec, from);
            assert_eq!(count(&live), 4, "made by {managers:?}: {writes:?}");
            let owners = Replicas::of(&live).owners;
            assert!(!owners.baton && owners.shared(), "{writes:?}");
        }
    }
    let (live, _) = adopted(&json!({"adoption": "Adopt"}), applied_client_side());
    assert_eq!(count(&live), 4);
}

#[test]
fn the_workloads_replica_count_applies_once_the_deployment_is_adopted() {
    let (live, writes) = adopted(&json!({"adoption": "Adopt", "replicas": 6}), applied_client_side());
    assert_eq!(count(&live), 6);
    assert_eq!(
        writes,
        ["make what retired managers own Baton's Deployment", "apply Deployment", "apply Deployment"],
        "the second apply is the adoption, with the live replica count"
    );
}

/// The message with which an object of this kind and spec is refused, beside a Deployment that is adopted; none if it is adopted.
fn refusal_beside(deployment: LiveObject, kind: ChildKind, spec: &Value) -> Option<String> {
    let wanted = json!({
        "adoption": "Adopt",
        "service": {"ports": [{"port": 80}]},
        "autoscaling": {"maxReplicas": 3},
        "disruptionBudget": {"maxUnavailable": 1},
    });
    let found = stored(&[("kubectl", &object(kind, spec))]);
    let children = BTreeMap::from([(ChildKind::Deployment, deployment), (kind, found)]);
    let (finished, _) = enforced(Snapshot::new(Arc::new(workload(&wanted)), children, Vec::new()));
    assert!(finished.seen.own(ChildKind::Deployment).is_some(), "the Deployment is adopted");
    let refusal = finished.refused.iter().find(|refusal| refusal.child == kind);
    assert_eq!(refusal.is_none(), finished.seen.own(kind).is_some());
    refusal.map(|refusal| refusal.message.clone())
}

#[test]
fn an_object_that_is_about_other_pods_is_not_adopted() {
    let by = |selector: Value| json!({"selector": selector, "ports": [{"port": 80}]});
    let of_service = |spec| refusal_beside(applied_client_side(), ChildKind::Service, &spec);
    assert_eq!(of_service(by(json!({"app": "web"}))), None);
    let message = of_service(by(json!({"app": "web", "tier": "front"}))).unwrap();
    assert!(message.contains("selects pods by app=web,tier=front"), "{message}");
    assert!(message.contains("this Workload's are selected by app=web;"), "{message}");
    let message = of_service(json!({"ports": [{"port": 80}]})).unwrap();
    assert!(message.contains("selects no pods"), "{message}");

    let budget = |selector: Value| json!({"selector": selector, "maxUnavailable": 1});
    let of_budget = |spec| refusal_beside(applied_client_side(), ChildKind::DisruptionBudget, &spec);
    assert_eq!(of_budget(budget(json!({"matchLabels": {"app": "web"}}))), None);
    let same = json!({"matchExpressions": [{"key": "app", "operator": "In", "values": ["web"]}]});
    assert_eq!(of_budget(budget(same)), None);
    let message = of_budget(budget(json!({"matchLabels": {"team": "shop"}}))).unwrap();
    assert!(message.contains("selects pods by team=shop"), "{message}");
    let message = of_budget(budget(json!({}))).unwrap();
    assert!(message.contains("selects all pods of the namespace"), "{message}");

    let target = |kind: &str, name: &str| json!({"scaleTargetRef": {"apiVersion": "apps/v1", "kind": kind, "name": name}, "maxReplicas": 9});
    let of_autoscaler = |spec| refusal_beside(applied_client_side(), ChildKind::Autoscaler, &spec);
    assert_eq!(of_autoscaler(target("deployment", "web")), None);
    for (kind, name) in [("Deployment", "elsewhere"), ("DEPLOYMENT", "web")] {
        let message = of_autoscaler(target(kind, name)).unwrap();
        let expected = format!("scales {kind} {name} (apps/v1); let it scale Deployment web (apps/v1)");
        assert!(message.contains(&expected), "{message}");
    }
}

/// A Deployment whose selector has expressions alone.
fn by_expression(operator: &str, values: &[&str]) -> LiveObject {
    let mut found = found();
    found["spec"]["selector"] =
        json!({"matchExpressions": [{"key": "app", "operator": operator, "values": values}]});
    found["spec"]["template"]["metadata"]["labels"]["version"] = json!("v1");
    stored(&[("kubectl", &found)])
}

#[test]
fn a_service_selects_no_label_that_a_rollout_may_change() {
    let service = json!({"selector": {"app": "web"}, "ports": [{"port": 80}]});
    assert_eq!(refusal_beside(by_expression("In", &["web"]), ChildKind::Service, &service), None);
    let message =
        refusal_beside(by_expression("In", &["web", "shop"]), ChildKind::Service, &service).unwrap();
    assert!(message.contains("a Service can't select the Deployment's pods"), "{message}");
    assert!(message.contains("app in (shop,web)") || message.contains("app in (web,shop)"), "{message}");
}

#[test]
fn a_crash_between_the_two_writes_leaves_the_object_to_be_adopted() {
    let spec = json!({"adoption": "Adopt", "replicas": 4});
    let seen = found_by(&spec, applied_client_side());
    let migrate = plan(&seen, &[].into()).unwrap().steps.remove(0);
    let request = migrate.request(&seen.workload).unwrap();
    let half_way = response(&request, seen.child(ChildKind::Deployment));
    assert_eq!((count(&half_way), entries(&half_way)), (4, vec!["baton Apply".to_owned()]));
    let (live, writes) = adopted(&spec, half_way);
    assert_eq!(writes, ["apply Deployment"]);
    assert_eq!(live.get(&["spec", "minReadySeconds"]), None);
}
