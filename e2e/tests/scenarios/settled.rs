//! Settled Workloads cost no writes, neither in many resyncs nor at a start.

use baton_controller::decide::child::ChildKind;
use baton_crd::Workload;
use baton_e2e::{Environment, OperatorOptions, scenarios};
use baton_testbed::{Cluster, eventually};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use kube::api::{ListParams, Patch, PatchParams};
use serde_json::{Value, json};

scenarios! {
    a_hundred_settled_workloads_cost_no_write_in_ten_resyncs_and_a_restart,
    a_safety_resync_applies_settled_children_and_changes_nothing,
}

const WORKLOADS: u64 = 100;
/// How many are created at the same time.
const AT_ONCE: usize = 16;

/// A template with values that the API server changes or drops, and with those that it would fill in.
fn oddly_spelled(image: &str) -> Value {
    let token =
        json!({"name": "token", "projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}});
    json!({
        "metadata": {"labels": {}, "annotations": {"empty": ""}},
        "spec": {
            "containers": [{
                "name": "app",
                "image": image,
                "args": [],
                "env": [
                    {"name": "EMPTY", "value": ""},
                    {"name": "ABSENT"},
                    {"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
                    {"name": "CPU", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}},
                ],
                "ports": [{"containerPort": 8080}, {"containerPort": 53, "protocol": "UDP", "name": "dns"}],
                "resources": {"requests": {"cpu": "0.5", "memory": "1.5Gi"}, "limits": {"cpu": 1, "memory": "2048Mi"}},
                "livenessProbe": {"httpGet": {"port": 8080}, "periodSeconds": 10, "initialDelaySeconds": 0},
                "volumeMounts": [{"name": "scratch", "mountPath": "/scratch", "readOnly": false}],
                "tty": false,
            }],
            "volumes": [{"name": "scratch", "emptyDir": {"sizeLimit": "0.5Gi"}}, token],
            "nodeSelector": {},
            "tolerations": [],
            "securityContext": {},
            "hostNetwork": false,
            "priority": 0,
            "terminationGracePeriodSeconds": 30,
        },
    })
}

/// A Workload, whose kind depends on its number.
fn workload(number: u64) -> Value {
    let template = oddly_spelled(&format!("app:{number}"));
    let mut spec = match number % 5 {
        0 => json!({
            "replicas": 0,
            "rollout": {"strategy": {"rollingUpdate": {"maxSurge": "50%"}}, "minReadySeconds": 0},
        }),
        1 => {
            json!({"replicas": 1, "autoscaling": {"minReplicas": 1 + number % 2, "maxReplicas": 3, "metrics": [
                {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "AverageValue", "averageValue": "0.25"}}},
            ]}})
        }
        2 => json!({"replicas": 0, "autoscaling": {"external": {}}}),
        3 => json!({}),
        _ => json!({
            "replicas": 0,
            "service": {"ports": [{"port": 80}], "labels": {}, "annotations": {"empty": ""}},
            "disruptionBudget": {"minAvailable": "50%"},
        }),
    };
    spec["template"] = template;
    baton_e2e::workload(&format!("web-{number}"), &spec)
}

/// Whether nothing more happens to it without another change of the spec.
fn is_settled(workload: &Workload) -> bool {
    let conditions = workload.status.iter().flat_map(|status| &status.conditions);
    let holds = |type_: &str| conditions.clone().any(|one| one.type_ == type_ && one.status == "True");
    let autoscaling = workload.spec.autoscaling.as_ref();
    let hands_over = autoscaling.is_some_and(|autoscaling| {
        autoscaling.external.is_none() && autoscaling.min_replicas > workload.spec.replicas
    });
    holds("Applied") && holds("Ready") && (!hands_over || holds("HandedOver"))
}

async fn settle(env: &Environment) {
    let (workloads, params) = (env.workloads(), PatchParams::apply("user"));
    let apply = async |number: u64| {
        workloads.patch(&format!("web-{number}"), &params, &Patch::Apply(workload(number))).await.map(|_| ())
    };
    stream::iter(0..WORKLOADS).map(apply).buffer_unordered(AT_ONCE).try_collect::<()>().await.unwrap();
    eventually("every Workload to settle", async || {
        let all = workloads.list(&ListParams::default()).await.unwrap();
        let unsettled = all.into_iter().find(|workload| !is_settled(workload));
        unsettled.map_or(Ok(()), Err)
    })
    .await;
    env.at_rest().await;
}

async fn children(env: &Environment) -> usize {
    let count =
        async |kind| env.children(kind).list_metadata(&ListParams::default()).await.unwrap().items.len();
    stream::iter(ChildKind::ALL).then(count).fold(0, |sum, count| async move { sum + count }).await
}

async fn skipped(env: &Environment) -> u64 {
    env.operator().metrics().await.unwrap().count("baton_applies_total", &[("outcome", "skipped")])
}

async fn a_hundred_settled_workloads_cost_no_write_in_ten_resyncs_and_a_restart(cluster: Cluster) {
    // By default, a safety resync would soon be due among so many. This test isn't about it.
    let options = OperatorOptions::with_flags("--resync 1000h");
    let mut env = Environment::start_with(&cluster, "settled", options).await;
    settle(&env).await;
    let children = children(&env).await as u64;
    assert_eq!(children, WORKLOADS + WORKLOADS / 5 * 3, "the children of all Workloads");

    let (mark, before) = (env.mark(), skipped(&env).await);
    for _ in 0..10 {
        env.reconcile_all(WORKLOADS).await;
    }
    let writes = env.requests_since(mark).writes();
    assert!(writes.is_empty(), "writes in ten resyncs:\n{writes}");
    // Some more often: a change of a child's status starts a pass too.
    assert!(skipped(&env).await - before >= 10 * children, "each child was predicted, each time");

    let mark = env.mark();
    env.restart().await;
    env.passes_to_end(WORKLOADS).await;
    let writes = env.requests_since(mark).writes();
    assert!(writes.is_empty(), "writes after a start:\n{writes}");
    assert!(skipped(&env).await >= children, "the new process has predicted each child");
}

async fn a_safety_resync_applies_settled_children_and_changes_nothing(cluster: Cluster) {
    let options = OperatorOptions::with_flags("--resync 1s");
    let env = Environment::start_with(&cluster, "safety-resync", options).await;
    env.apply_until("Ready", &json!({"replicas": 0, "service": {"ports": [{"port": 80}]}})).await;
    let version = async |kind| env.child(kind).await.unwrap().metadata.resource_version;
    let kinds = [ChildKind::Deployment, ChildKind::Service];
    let before = [version(kinds[0]).await, version(kinds[1]).await];
    let mark = env.mark();
    eventually("three resyncs of both children", async || {
        let writes = env.requests_since(mark).writes();
        let of = |resource| writes.clone().resource(resource).len();
        if of("deployments") >= 3 && of("services") >= 3 { Ok(()) } else { Err(writes) }
    })
    .await;
    assert_eq!([version(kinds[0]).await, version(kinds[1]).await], before);
}
