//! Adoption, with the merge core in the API server's place: whose object it was, and what became of its fields, its owners
//! and its number.

use std::{collections::BTreeMap, sync::Arc};

use crate::common::{
    cluster::{but, earlier, enforced, object, response, stored},
    workload,
};
use baton_apply::LiveObject;
use baton_controller::decide::{child::ChildKind, plan::plan, replicas::Replicas, snapshot::Snapshot};
use serde_json::{Value, json};

const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The least Deployment that fits the Workload's template, with a selector of its own and something that the Workload doesn't
/// ask for.
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

/// As a manager made it by an apply.
fn applied_by(manager: &'static str) -> LiveObject {
    stored(&[(manager, &found())])
}

/// As a manager made it by updates.
fn updated_by(manager: &str) -> LiveObject {
    but(&applied_by("somebody"), |object| {
        let entry = &mut object["metadata"]["managedFields"][0];
        entry["manager"] = json!(manager);
        entry["operation"] = json!("Update");
    })
}

/// As client-side `kubectl apply` made it.
fn applied_client_side() -> LiveObject {
    but(&updated_by("kubectl-client-side-apply"), |object| {
        object["metadata"]["annotations"] = json!({LAST_APPLIED: "{}"});
        let fields = &mut object["metadata"]["managedFields"][0]["fieldsV1"];
        fields["f:metadata"] = json!({"f:annotations": {".": {}, format!("f:{LAST_APPLIED}"): {}}});
    })
}

/// A Workload of this spec that has found this Deployment.
fn found_by(spec: &Value, deployment: LiveObject) -> Snapshot {
    let children = BTreeMap::from([(ChildKind::Deployment, deployment)]);
    Snapshot::new(Arc::new(workload(spec)), children, Vec::new())
}

/// The Deployment after one pass, and each write on the way.
fn adopted(spec: &Value, deployment: LiveObject) -> (LiveObject, Vec<String>) {
    let (finished, writes) = enforced(found_by(spec, deployment));
    assert!(finished.settled, "{writes:?}");
    (finished.seen.own(ChildKind::Deployment).unwrap().clone(), writes)
}

fn count(live: &LiveObject) -> i32 {
    Replicas::of(live).count
}

fn entries(live: &LiveObject) -> Vec<String> {
    let word = |entry: &Value, name: &str| entry[name].as_str().unwrap_or("-").to_owned();
    let entry = |entry| format!("{} {}", word(entry, "manager"), word(entry, "operation"));
    live.managed_fields().iter().map(entry).collect()
}

#[test]
fn what_client_side_apply_owned_is_batons_and_goes_where_the_spec_lacks_it() {
    let (live, writes) = adopted(&json!({"adoption": "Adopt", "replicas": 4}), applied_client_side());
    assert_eq!(writes, ["make what retired managers own Baton's Deployment", "apply Deployment"]);
    assert_eq!(entries(&live), ["baton Apply"]);
    assert_eq!(live.get(&["spec", "minReadySeconds"]), None, "only client-side apply wanted it");
    assert_eq!(live.get(&["metadata", "annotations", LAST_APPLIED]), None);
    assert_eq!(count(&live), 4);
}

#[test]
fn the_pods_stay_as_they_are_where_the_template_is_equal() {
    let before = applied_client_side();
    let (live, _) = adopted(&json!({"adoption": "Adopt", "replicas": 4}), before.clone());
    for path in [["spec", "template"], ["spec", "selector"]] {
        assert_eq!(live.get(&path), before.get(&path));
    }
}

#[test]
fn who_applied_by_the_server_keeps_a_share_until_it_is_retired() {
    let keep = json!({"adoption": "Adopt", "replicas": 4});
    let (live, _) = adopted(&keep, applied_by("kubectl"));
    assert_eq!(entries(&live), ["baton Apply", "kubectl Apply"]);
    assert_eq!(live.get(&["spec", "minReadySeconds"]), Some(&json!(7)));

    let retire = json!({"adoption": "Adopt", "replicas": 4, "retiredManagers": ["kubectl"]});
    let (live, _) = adopted(&retire, live);
    assert_eq!(entries(&live), ["baton Apply"], "also when it is named only later");
    assert_eq!(live.get(&["spec", "minReadySeconds"]), None);
}

#[test]
fn the_number_does_not_move_whoever_is_to_decide_it() {
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
fn a_number_of_the_workloads_own_counts_once_the_deployment_is_adopted() {
    let (live, writes) = adopted(&json!({"adoption": "Adopt", "replicas": 6}), applied_client_side());
    assert_eq!(count(&live), 6);
    assert_eq!(
        writes,
        ["make what retired managers own Baton's Deployment", "apply Deployment", "apply Deployment"],
        "the second apply is the adoption, with the number that was there"
    );
}

fn refusal(spec: &Value, deployment: LiveObject) -> String {
    let (finished, writes) = enforced(found_by(spec, deployment));
    assert_eq!(writes, Vec::<String>::new());
    finished.refused[0].message.clone()
}

#[test]
fn it_is_refused_unless_the_workload_adopts_and_told_whose_it_is() {
    let told = refusal(&json!({}), applied_client_side());
    assert!(told.contains("made by kubectl-client-side-apply; set spec.adoption to Adopt"), "{told}");
    let of_helm = but(&updated_by("helm"), |object| {
        object["metadata"]["annotations"] = json!({"meta.helm.sh/release-name": "shop"});
    });
    let told = refusal(&json!({}), of_helm);
    assert!(told.contains("belongs to the Helm release shop"), "{told}");
}

fn controlled() -> LiveObject {
    let mut found = found();
    found["metadata"]["ownerReferences"] = json!([{"apiVersion": "a.example/v1", "kind": "App", "name": "web", "uid": "u-1", "controller": true}]);
    stored(&[("app-operator", &found)])
}

#[test]
fn what_a_controller_owns_is_refused_until_who_made_that_so_is_retired() {
    let told = refusal(&json!({"adoption": "Adopt"}), controlled());
    assert!(told.contains("controlled by App/web; name app-operator"), "{told}");

    let spec = json!({"adoption": "Adopt", "replicas": 4, "retiredManagers": ["app-operator"]});
    let (live, _) = adopted(&spec, controlled());
    assert_eq!(live.controller().as_deref(), Some("Workload/web"));
    assert_eq!(entries(&live), ["baton Apply"]);
}

#[test]
fn a_crash_between_the_two_writes_leaves_the_object_to_be_adopted() {
    let spec = json!({"adoption": "Adopt", "replicas": 4});
    let seen = found_by(&spec, applied_client_side());
    let migrate = plan(&seen, &[].into()).unwrap().steps.remove(0);
    let request = migrate.request(&seen.workload).unwrap();
    let half_way = response(&request, seen.child(ChildKind::Deployment), earlier());
    assert_eq!((count(&half_way), entries(&half_way)), (4, vec!["baton Apply".to_owned()]));
    let (live, writes) = adopted(&spec, half_way);
    assert_eq!(writes, ["apply Deployment"]);
    assert_eq!(live.get(&["spec", "minReadySeconds"]), None);
}
