//! The memory and the CPU of Baton while nothing happens, by the kubelet's figures.

use baton_testbed::node::Usage;
use jiff::{SignedDuration, Timestamp};

use crate::shared::{HOME, SharedNode};

/// How many Workloads there are.
const WORKLOADS: usize = 100;
/// The most memory that each replica of Baton may use, in bytes.
const MEMORY: u64 = 20_000_000;
/// How long the CPU is measured.
const SPAN: SignedDuration = SignedDuration::from_secs(20);
/// How long Baton may work after the last write.
const REST: SignedDuration = SignedDuration::from_secs(5);

#[tokio::test]
#[ignore = "on a real node"]
async fn a_hundred_settled_workloads_cost_little() {
    let Some(shared) = SharedNode::enter("footprint").await else { return };
    shared.install().await;
    let namespace = shared.cluster().namespace("many").await.unwrap();
    shared.apply(&namespace, &(0..WORKLOADS).map(workload).collect::<String>()).await;
    shared
        .eventually("all Workloads to be Ready", async || {
            let workloads = shared.get(&format!("workloads --namespace {namespace}")).await;
            let ready = workloads["items"].as_array().unwrap().iter().filter(|workload| {
                let conditions = workload["status"]["conditions"].as_array();
                conditions.is_some_and(|all| {
                    all.iter().any(|one| one["type"] == "Ready" && one["status"] == "True")
                })
            });
            let ready = ready.count();
            if ready == WORKLOADS { Ok(()) } else { Err(format!("{ready} are")) }
        })
        .await;

    // The kubelet measures every few seconds. Figures from before that time would include work.
    let settled = Timestamp::now() + REST;
    let before = baton_after(&shared, settled).await;
    let after = baton_after(&shared, settled + SPAN).await;
    for now in &after {
        let earlier = before.iter().find(|earlier| earlier.pod == now.pod).unwrap();
        let cpu = now.millicores_since(earlier).unwrap();
        // CPU time is printed, never asserted on: the machine may be busy.
        shared.report(&format!(
            "{}: {} kB, {} kB of them its own, {cpu:.1} millicores",
            now.pod,
            now.memory / 1000,
            now.anonymous / 1000
        ));
    }
    assert!(after.iter().all(|now| now.memory < MEMORY), "{after:?}");
}

/// The usage of Baton's replicas, by figures from after this time.
async fn baton_after(shared: &SharedNode, earliest: Timestamp) -> Vec<Usage> {
    shared
        .eventually("figures that are late enough", async || {
            let mut usage = shared.node.usage().await.map_err(|error| error.report())?;
            usage.retain(|one| one.namespace == HOME);
            if usage.iter().all(|one| one.at > earliest) { Ok(usage) } else { Err(format!("{usage:?}")) }
        })
        .await
}

/// With a Service and a budget, and without pods, which wouldn't change what Baton keeps in memory.
fn workload(index: usize) -> String {
    format!(
        "apiVersion: baton.rs/v1alpha1
kind: Workload
metadata: {{name: web-{index}}}
spec:
  replicas: 0
  template:
    spec:
      containers:
        - name: web
          image: localhost/web:1
          ports: [{{name: http, containerPort: 8080}}]
          resources: {{requests: {{cpu: 10m, memory: 16Mi}}}}
  service:
    ports: [{{name: http, port: 80, targetPort: http}}]
  disruptionBudget: {{maxUnavailable: 1}}
---
"
    )
}
