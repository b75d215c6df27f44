//! The operator runs with the permissions of `manifests/`, and uses every one of them.

use baton_controller::decide::child::ChildKind;
use baton_e2e::{
    Environment,
    permissions::{Difference, Usage, WORKLOADS, granted},
    scenarios,
};
use baton_testbed::{Cluster, eventually};
use kube::api::DeleteParams;
use serde_json::json;

scenarios! {
    every_permission_is_used_and_none_is_missing,
}

/// Makes the operator do everything that it can do, with one Workload.
async fn do_everything(env: &Environment) {
    let everything = json!({
        "replicas": 2,
        "service": {"ports": [{"port": 80}]},
        "autoscaling": {"minReplicas": 3, "maxReplicas": 4},
        "disruptionBudget": {"minAvailable": 1},
    });
    // Baton reads an object that exists though no cache has it, and refuses it.
    let theirs = [
        (ChildKind::Service, json!({"ports": [{"port": 80}]})),
        (ChildKind::DisruptionBudget, json!({"minAvailable": 1})),
    ];
    for (kind, spec) in &theirs {
        let metadata = json!({"name": "web"});
        let object = json!({"kind": kind.name(), "apiVersion": kind.api_version(), "metadata": metadata, "spec": spec});
        env.create_as("user", &object).await;
    }
    env.apply(&everything).await;
    env.condition("Applied", "False").await;
    for (kind, _) in theirs {
        env.children(kind).delete("web", &DeleteParams::background()).await.unwrap();
    }
    env.condition("HandedOver", "True").await;
    env.condition("Applied", "True").await;
    env.apply(&json!({"replicas": 5})).await;
    for kind in [ChildKind::Service, ChildKind::Autoscaler, ChildKind::DisruptionBudget] {
        env.gone(kind).await;
    }
    env.has_replicas(5).await;
    env.condition("Applied", "True").await;
}

async fn every_permission_is_used_and_none_is_missing(cluster: Cluster) {
    let env = Environment::start(&cluster, "permissions").await;
    do_everything(&env).await;

    // Only replicas use the permissions of the election.
    let granted = granted(WORKLOADS).unwrap();
    eventually("every permission to be used", async || {
        let requests = env.requests();
        let denied = requests.iter().find(|request| request.code == Some(403));
        assert!(denied.is_none(), "a permission is missing: {denied:#?}");
        let difference = Usage::of(requests.iter()).compare(&granted);
        if difference == Difference::default() { Ok(()) } else { Err(difference) }
    })
    .await;
}
