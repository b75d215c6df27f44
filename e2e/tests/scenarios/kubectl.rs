//! Workloads by `kubectl`, as people use it.

use baton_controller::decide::child::ChildKind;
use baton_e2e::{Environment, environment::replicas, scenarios};
use baton_testbed::{Cluster, eventually};
use serde_json::json;

scenarios! {
    only real, because "by kubectl":
    kubectl_gets_waits_for_and_scales_a_workload,
    kubectl_warns_that_a_replica_count_has_no_effect_while_an_autoscaler_scales,
    kubectl_scale_sets_the_replica_count_of_a_workload_without_one,
}

async fn kubectl_gets_waits_for_and_scales_a_workload(cluster: Cluster) {
    let env = Environment::start(&cluster, "kubectl").await;
    env.apply(&json!({"replicas": 2})).await;
    let kubectl = async |line: &str| {
        let args = line.split(' ').chain(["--namespace", env.ns()]);
        env.cluster.real().kubectl(args).await.unwrap().success().unwrap()
    };

    kubectl("wait --for=condition=Ready bwl/web --timeout=60s").await;
    kubectl("wait --for=jsonpath={.status.readyReplicas}=2 bwl/web --timeout=60s").await;
    let table = kubectl("get bwl").await;
    let (_, row) = table.split_once('\n').unwrap();
    assert!(row.starts_with("web") && row.contains("baton"), "{table}");
    assert!(kubectl("get baton").await.contains("web"), "the category lists Workloads");

    kubectl("scale bwl/web --replicas=3").await;
    env.has_replicas(3).await;
}

async fn kubectl_warns_that_a_replica_count_has_no_effect_while_an_autoscaler_scales(cluster: Cluster) {
    let env = Environment::start(&cluster, "scale-ignored").await;
    let policy = concat!(env!("CARGO_MANIFEST_DIR"), "/../manifests/policies/replicas.yaml");
    env.cluster.real().kubectl(["apply", "--server-side", "-f", policy]).await.unwrap().success().unwrap();
    env.apply(&json!({"autoscaling": {"minReplicas": 2, "maxReplicas": 4}})).await;
    env.condition("HandoverPending", "True").await;
    eventually("kubectl to be warned", async || {
        let edit = r#"{"spec": {"replicas": 3}}"#;
        let args =
            ["patch", "bwl/web", "--type=merge", "-p", edit, "--dry-run=server", "--namespace", env.ns()];
        let warning = env.cluster.real().kubectl(args).await.unwrap().stderr;
        if warning.contains("spec.replicas has no effect") { Ok(()) } else { Err(warning) }
    })
    .await;

    // A scale shows no policy the spec, so the condition alone reports it.
    let args = ["scale", "bwl/web", "--replicas=5", "--namespace", env.ns()];
    env.cluster.real().kubectl(args).await.unwrap().success().unwrap();
    let message = env.condition("HandedOver", "False").await.message;
    assert!(message.contains("spec.replicas (5) has no effect meanwhile"), "{message}");
    assert_eq!(replicas(&env.child(ChildKind::Deployment).await.unwrap()), 2);
}

async fn kubectl_scale_sets_the_replica_count_of_a_workload_without_one(cluster: Cluster) {
    let env = Environment::start(&cluster, "scale").await;
    env.apply_until("Ready", &json!({})).await;
    let args = ["scale", "bwl/web", "--replicas=3", "--namespace", env.ns()];
    env.cluster.real().kubectl(args).await.unwrap().success().unwrap();
    env.has_replicas(3).await;
}
