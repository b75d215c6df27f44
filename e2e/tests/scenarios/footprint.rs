//! The cost of an idle operator: memory and CPU time with a hundred settled Workloads.
//!
//! The figures of a debug build say little; `BATON_BIN` names another binary. With `--nocapture` the test prints them.

use std::{fs, time::Duration};

use baton_crd::Workload;
use baton_e2e::{Environment, OperatorOptions, autoscaler, scenarios};
use baton_testbed::{Cluster, eventually};
use futures::{StreamExt as _, stream};
use k8s_openapi::api::{apps::v1::Deployment, autoscaling::v2::HorizontalPodAutoscaler};
use kube::{
    Api,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};

scenarios! {
    only real, because "of a process of its own":
    an_idle_operator_takes_little_memory_and_cpu_time,
    objects_that_no_workload_asks_for_take_little_memory,
}

const WORKLOADS: usize = 100;
/// How long it is watched while it has nothing to do.
const IDLE: Duration = Duration::from_secs(20);
/// How many bytes each Workload may add, with its three children and what the allocator keeps of the passes that made them. Far
/// more than it adds: the test is about growth that doesn't end.
const EACH: u64 = 400_000;

fn workload(number: usize) -> Value {
    let container = json!({
        "name": "app", "image": format!("app:{number}"), "ports": [{"containerPort": 8080}],
        "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
        "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}},
        "readinessProbe": {"httpGet": {"port": 8080}},
    });
    let spec = json!({
        "template": {"spec": {"containers": [container]}},
        "replicas": 0,
        "service": {"ports": [{"port": 80, "targetPort": 8080}]},
        "disruptionBudget": {"maxUnavailable": 1},
    });
    baton_e2e::workload(&format!("web-{number}"), &spec)
}

/// A figure in `/proc/<pid>/status`, in bytes.
fn memory(pid: u32, name: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

fn print_memory(what: &str, pid: u32) -> u64 {
    let mega = |name| memory(pid, name) / 100_000;
    let anonymous = memory(pid, "RssAnon");
    let (own, file, peak) = (mega("RssAnon"), mega("RssFile"), mega("VmHWM"));
    println!(
        "{what}: {}.{} MB of its own, {}.{} MB of its binary, at most {}.{} MB in all",
        own / 10,
        own % 10,
        file / 10,
        file % 10,
        peak / 10,
        peak % 10
    );
    anonymous
}

async fn settle(workloads: &Api<Workload>) {
    let apply = async |number| {
        let params = PatchParams::apply("user");
        workloads.patch(&format!("web-{number}"), &params, &Patch::Apply(workload(number))).await.unwrap();
    };
    stream::iter(0..WORKLOADS).map(apply).buffer_unordered(8).collect::<()>().await;
    let is_settled = |workload: &Workload| {
        let conditions = workload.status.iter().flat_map(|status| &status.conditions);
        conditions.filter(|one| matches!(&*one.type_, "Applied" | "Ready") && one.status == "True").count()
            == 2
    };
    eventually("all Workloads to settle", async || {
        let listed = workloads.list(&ListParams::default()).await.unwrap();
        let settled = listed.iter().filter(|workload| is_settled(workload)).count();
        if settled == WORKLOADS { Ok(()) } else { Err(settled) }
    })
    .await;
}

async fn an_idle_operator_takes_little_memory_and_cpu_time(cluster: Cluster) {
    let env = Environment::new(&cluster, "footprint").await.unwrap();
    let workloads = env.api::<Workload>();
    let start = async || {
        let operator = env.start_operator(OperatorOptions::default()).await.unwrap();
        tokio::time::sleep(Duration::from_secs(3)).await;
        operator
    };
    let operator = start().await;
    let before = print_memory("without Workloads", operator.process().pid());
    settle(&workloads).await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    let after = print_memory("after it created a hundred", operator.process().pid());
    let each = after.saturating_sub(before) / WORKLOADS as u64;
    assert!(each <= EACH, "each Workload adds {each} bytes");

    operator.stop().await.unwrap();
    let operator = start().await;
    print_memory("restarted with a hundred", operator.process().pid());
    let begun = operator.cpu_time().unwrap();
    tokio::time::sleep(IDLE).await;
    let used = operator.cpu_time().unwrap().saturating_sub(begun);
    println!("idle: {} microseconds of CPU time a second", used.as_micros() / u128::from(IDLE.as_secs()));
    assert!(used < IDLE / 20, "{used:?} of CPU time in {IDLE:?} without work");
}

/// How many large objects others store: HorizontalPodAutoscalers, and Deployments with Baton's label.
const STRAYS: (usize, usize) = (20, 30);
/// How many bytes these may add: far less than the 130 MB that they are as JSON.
const ALL_STRAYS: u64 = 60_000_000;

/// A HorizontalPodAutoscaler of 1.2 MB; ten of them, which are one page of a list, are 8.4 MB as JSON, which escapes `<`.
fn large_autoscaler(number: usize) -> Value {
    let mut autoscaler = autoscaler(&format!("large-{number}"), "elsewhere", json!({"maxReplicas": 2}));
    if (10..20).contains(&number) {
        let metric =
            json!({"metric": {"name": "<".repeat(1_400_000)}, "target": {"type": "Value", "value": "1"}});
        autoscaler["spec"]["metrics"] = json!([{"type": "External", "external": metric}]);
        return autoscaler;
    }
    let label = |key: usize| (format!("label-{number}-{key}"), json!(format!("{key:063}")));
    autoscaler["metadata"]["labels"] = (0..13_000).map(label).collect::<serde_json::Map<_, _>>().into();
    autoscaler
}

/// A Deployment of 1.2 MB with Baton's label, which can't be compressed.
fn large_deployment(number: usize) -> Value {
    let mut random = fastrand::Rng::with_seed(number as u64);
    let text: String = std::iter::repeat_with(|| random.alphanumeric()).take(1_200_000).collect();
    let labels = json!({"app": "stray"});
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": format!("stray-{number}"), "labels": {"app.kubernetes.io/managed-by": "baton"}},
        "spec": {
            "replicas": 0,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "app", "image": "app:1", "env": [{"name": "LARGE", "value": text}]}]},
            },
        },
    })
}

async fn objects_that_no_workload_asks_for_take_little_memory(cluster: Cluster) {
    let env = Environment::new(&cluster, "strays").await.unwrap();
    let start = async || {
        let operator = env.start_operator(OperatorOptions::default()).await.unwrap();
        tokio::time::sleep(Duration::from_secs(3)).await;
        operator
    };
    let operator = start().await;
    print_memory("without them", operator.process().pid());
    let before = memory(operator.process().pid(), "VmHWM");
    operator.stop().await.unwrap();

    let (autoscalers, deployments) = (env.api::<HorizontalPodAutoscaler>(), env.api::<Deployment>());
    for number in 0..STRAYS.0 {
        let large = serde_json::from_value(large_autoscaler(number)).unwrap();
        autoscalers.create(&PostParams::default(), &large).await.unwrap();
    }
    for number in 0..STRAYS.1 {
        let large = serde_json::from_value(large_deployment(number)).unwrap();
        deployments.create(&PostParams::default(), &large).await.unwrap();
    }
    let operator = start().await;
    print_memory("started with them", operator.process().pid());
    // A pass that moves the replica count reads all autoscalers of the namespace.
    let autoscaled = baton_e2e::web(&json!({"replicas": 1, "autoscaling": {"maxReplicas": 2}}));
    let workloads = env.api::<Workload>();
    workloads.patch("web", &PatchParams::apply("user"), &Patch::Apply(autoscaled)).await.unwrap();
    eventually("the autoscaler", async || {
        autoscalers.get_opt("web").await.unwrap().map_or(Err(()), |_| Ok(()))
    })
    .await;
    print_memory("with an autoscaled Workload", operator.process().pid());
    let added = memory(operator.process().pid(), "VmHWM").saturating_sub(before);
    autoscalers.delete_collection(&DeleteParams::default(), &ListParams::default()).await.unwrap();
    deployments.delete_collection(&DeleteParams::default(), &ListParams::default()).await.unwrap();
    assert!(added <= ALL_STRAYS, "{added} bytes for what isn't Baton's");
}
