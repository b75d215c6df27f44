//! Fields of other managers beside those that Baton applies.

use std::time::Duration;

use baton_controller::decide::child::ChildKind;
use baton_crd::DryRunResult;
use baton_e2e::{Environment, OperatorOptions, environment::entries_of, scenarios};
use baton_testbed::{Cluster, eventually};
use kube::{
    api::{DeleteParams, Patch, PatchParams},
    core::DynamicObject,
};
use serde_json::{Value, json};

scenarios! {
    a_zero_value_that_another_manager_applies_too_is_no_takeover,
    a_zero_value_that_is_sent_again_moves_its_entry_as_predicted,
    a_second_handler_of_a_probe_is_named_with_its_owner,
    a_second_limit_of_a_disruption_budget_is_named_with_its_owner,
    a_container_that_another_manager_still_holds_is_named_with_its_owner,
    what_a_user_applied_under_the_temporary_managers_name_stays,
    a_load_balancer_that_gets_another_type_is_predicted,
}

/// The resolution of the times in `managedFields`.
const A_SECOND: Duration = Duration::from_millis(1100);

/// A Deployment's apply with this container, by this manager and forced.
async fn apply_container(env: &Environment, manager: &str, container: &Value) {
    let mut app = json!({"name": "app"});
    app.as_object_mut().unwrap().extend(container.as_object().unwrap().clone());
    let fields = json!({"spec": {"template": {"spec": {"containers": [app]}}}});
    env.apply_child(&PatchParams::apply(manager).force(), ChildKind::Deployment, &fields).await;
}

fn with_container(container: &Value) -> Value {
    let mut app = json!({"name": "app", "image": "app:1"});
    app.as_object_mut().unwrap().extend(container.as_object().unwrap().clone());
    json!({"template": {"spec": {"containers": [app]}}})
}

async fn a_zero_value_that_another_manager_applies_too_is_no_takeover(cluster: Cluster) {
    let env = Environment::start(&cluster, "zero").await;
    let container = json!({"stdin": false, "env": [{"name": "FLAG", "value": ""}]});
    env.apply_until("Ready", &with_container(&container)).await;
    env.at_rest().await;
    let mark = env.mark();
    for _ in 0..6 {
        apply_container(&env, "other", &container).await;
        env.reconcile().await;
    }
    let writes = env.requests_since(mark).writes().resource("deployments");
    assert!(writes.is_empty(), "nothing changed but the owner of what isn't stored:\n{writes}");
    let status = env.workload().await.status.unwrap();
    assert_eq!(status.takeovers, [], "{:?}", status.conditions);
    env.no_condition("Contested").await;

    // Another value is one.
    apply_container(&env, "other", &json!({"env": [{"name": "FLAG", "value": "on"}]})).await;
    env.child_where("the variable without a value", ChildKind::Deployment, |live| {
        live.data["spec"]["template"]["spec"]["containers"][0]["env"][0].get("value").is_none()
    })
    .await;
    env.event(&["TookOver", "FLAG"]).await;
}

async fn a_zero_value_that_is_sent_again_moves_its_entry_as_predicted(cluster: Cluster) {
    // Each resync sends what it could skip.
    let env = Environment::start_with(&cluster, "moved", OperatorOptions::with_flags("--resync 2s")).await;
    env.apply_until("Ready", &with_container(&json!({"stdin": false}))).await;
    env.at_rest().await;
    tokio::time::sleep(A_SECOND).await;
    apply_container(&env, "other", &json!({"workingDir": "/tmp"})).await;
    let before = env.child(ChildKind::Deployment).await.unwrap();
    let appliers = |deployment: &DynamicObject| {
        let entries = deployment.metadata.managed_fields.iter().flatten();
        let applies = entries.filter(|entry| entry.operation.as_deref() == Some("Apply"));
        applies.filter_map(|entry| entry.manager.clone()).collect::<Vec<_>>()
    };
    let is_moved = |live: &DynamicObject| appliers(live) == ["other", "baton"];
    let after = env.child_where("Baton's entry behind the other's", ChildKind::Deployment, is_moved).await;
    assert_eq!(after.metadata.generation, before.metadata.generation, "only the order has changed");
    env.at_rest().await;
    let metrics = env.operator().metrics().await.unwrap();
    assert_eq!(metrics.count("baton_predictions_total", &[("outcome", "mismatch")]), 0);
}

/// Waits until the message of `Applied` has all these words.
async fn rejected_because_of(env: &Environment, words: &[&str]) {
    eventually(&format!("a refusal with {words:?}"), async || {
        let applied = env.condition("Applied", "False").await;
        let has_all = words.iter().all(|word| applied.message.contains(word));
        if applied.reason == "Rejected" && has_all { Ok(()) } else { Err(applied) }
    })
    .await;
}

async fn a_second_handler_of_a_probe_is_named_with_its_owner(cluster: Cluster) {
    let env = Environment::start(&cluster, "handler").await;
    let get = json!({"livenessProbe": {"httpGet": {"path": "/", "port": 80}}});
    env.apply_until("Applied", &with_container(&get)).await;
    let headers =
        json!({"livenessProbe": {"httpGet": {"port": 80, "httpHeaders": [{"name": "A", "value": "b"}]}}});
    apply_container(&env, "kubectl-edit", &headers).await;
    env.at_rest().await;
    env.apply(&with_container(&json!({"livenessProbe": {"exec": {"command": ["true"]}}}))).await;
    rejected_because_of(&env, &["livenessProbe.httpGet", "owned by kubectl-edit"]).await;
    env.event(&["Warning Rejected:", "owned by kubectl-edit"]).await;
}

async fn a_second_limit_of_a_disruption_budget_is_named_with_its_owner(cluster: Cluster) {
    let env = Environment::start(&cluster, "limits").await;
    env.apply_until("Applied", &json!({"disruptionBudget": {"maxUnavailable": 1}})).await;
    let (forced, budget) = (PatchParams::apply("helm").force(), json!({"spec": {"maxUnavailable": 1}}));
    env.apply_child(&forced, ChildKind::DisruptionBudget, &budget).await;
    env.at_rest().await;
    env.apply(&json!({"disruptionBudget": {"minAvailable": 1}})).await;
    rejected_because_of(&env, &[".spec.maxUnavailable, owned by helm"]).await;
}

async fn a_container_that_another_manager_still_holds_is_named_with_its_owner(cluster: Cluster) {
    let env = Environment::start(&cluster, "held").await;
    let spec = |names: &[&str]| {
        let containers: Vec<Value> =
            names.iter().map(|name| json!({"name": name, "image": format!("{name}:1")})).collect();
        json!({"template": {"spec": {"containers": containers}}})
    };
    env.apply_until("Applied", &spec(&["app", "helper"])).await;
    let helper = json!({"spec": {"template": {"spec": {"containers": [{"name": "helper"}]}}}});
    env.apply_child(&PatchParams::apply("legacy"), ChildKind::Deployment, &helper).await;
    env.at_rest().await;
    env.apply(&spec(&["app"])).await;
    rejected_because_of(&env, &[r#".spec.template.spec.containers[name="helper"], owned by legacy"#]).await;
}

async fn what_a_user_applied_under_the_temporary_managers_name_stays(cluster: Cluster) {
    let env = Environment::start(&cluster, "name").await;
    env.apply_until("Ready", &json!({"replicas": 2})).await;
    let mine = json!({"metadata": {"annotations": {"note": "mine"}}, "spec": {"minReadySeconds": 7}});
    env.apply_child(&PatchParams::apply("handover-to-hpa"), ChildKind::Deployment, &mine).await;

    let stays = async |replica_count| {
        let live = env.has_replicas(replica_count).await;
        assert_eq!(live.data["spec"]["minReadySeconds"], 7);
        assert_eq!(live.metadata.annotations.as_ref().unwrap()["note"], "mine");
        let [(_, _, fields)] = &*entries_of(&live, "handover-to-hpa") else { panic!("one entry") };
        fields.clone()
    };
    // Without metrics this autoscaler never writes, so the temporary manager owns the count until Baton takes it back.
    env.apply(&json!({"replicas": 2, "autoscaling": {"minReplicas": 2, "maxReplicas": 3}})).await;
    env.child_where("the temporary manager to own the count", ChildKind::Deployment, |live| {
        entries_of(live, "handover-to-hpa")
            .iter()
            .any(|(_, _, fields)| fields["f:spec"].get("f:replicas").is_some())
    })
    .await;
    assert!(stays(2).await["f:spec"].get("f:replicas").is_some());
    env.apply(&json!({"replicas": 3})).await;
    env.gone(ChildKind::Autoscaler).await;
    assert!(stays(3).await["f:spec"].get("f:replicas").is_none());
    env.workloads().delete("web", &DeleteParams::default()).await.unwrap();
}

async fn a_load_balancer_that_gets_another_type_is_predicted(cluster: Cluster) {
    let env = Environment::start(&cluster, "types").await;
    let service = |of_type: &str, mode: &str| {
        let mut service = json!({"type": of_type, "ports": [{"name": "http", "port": 80}]});
        if of_type == "LoadBalancer" {
            service["externalTrafficPolicy"] = json!("Local");
        }
        json!({"mode": mode, "service": service})
    };
    for of_type in ["ClusterIP", "NodePort"] {
        env.apply_until("Applied", &service("LoadBalancer", "Enforce")).await;
        env.child_where("a load balancer", ChildKind::Service, |live| {
            live.data["spec"]["type"] == "LoadBalancer"
        })
        .await;
        let ingress = json!({"status": {"loadBalancer": {"ingress": [{"ip": "203.0.113.1"}]}}});
        let params = PatchParams { field_manager: Some("cloud".to_owned()), ..PatchParams::default() };
        env.children(ChildKind::Service).patch_status("web", &params, &Patch::Merge(&ingress)).await.unwrap();
        env.at_rest().await;

        env.apply(&service(of_type, "Preview")).await;
        eventually(&format!("an agreed plan for {of_type}"), async || {
            let plan = env.workload().await.status.unwrap_or_default().plan;
            let is_agreed =
                plan.iter().any(|child| child.kind == "Service" && child.dry_run == DryRunResult::Agreed);
            if is_agreed { Ok(()) } else { Err(plan) }
        })
        .await;
        env.apply_until("Applied", &service(of_type, "Enforce")).await;
        env.child_where("the other type", ChildKind::Service, |live| live.data["spec"]["type"] == of_type)
            .await;
        let metrics = env.operator().metrics().await.unwrap();
        assert_eq!(metrics.count("baton_predictions_total", &[("outcome", "mismatch")]), 0, "{of_type}");
    }
}
