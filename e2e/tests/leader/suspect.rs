//! A leader that ends during a pass leaves a note, and the next one reconciles that Workload last.

use baton_controller::{FIELD_MANAGER, process::cli::LEASE};
use baton_e2e::{install_manifests, scenarios, workload};
use baton_testbed::{Cluster, eventually};
use futures::StreamExt;
use k8s_openapi::api::{apps::v1::Deployment, coordination::v1::Lease, events::v1::Event};
use kube::{
    ResourceExt,
    api::{ListParams, Patch, PatchParams, WatchEvent, WatchParams},
};
use serde_json::json;

use crate::candidates::Candidates;

scenarios! { a_workload_during_whose_pass_the_last_leader_ended_comes_last }

const NOTE: &str = "baton.rs/suspect";

async fn a_workload_during_whose_pass_the_last_leader_ended_comes_last(cluster: Cluster) {
    install_manifests(&cluster).await.unwrap();
    let candidates = Candidates::of(&cluster, &["a"]).await;
    let env = &candidates.env;
    for number in 0..5 {
        env.apply_as("user", &workload(&format!("w{number}"), &json!({"replicas": 0}))).await.unwrap();
    }
    let leases = env.api::<Lease>();
    let note = format!("{}/w2 1", env.ns());
    let lease = json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"name": LEASE, "annotations": {NOTE: note}},
        "spec": {"holderIdentity": "dead", "leaseDurationSeconds": 1, "renewTime": "2026-01-01T00:00:00.000000Z"},
    });
    leases.patch(LEASE, &PatchParams::apply(FIELD_MANAGER), &Patch::Apply(&lease)).await.unwrap();

    let made = env.api::<Deployment>().watch(&WatchParams::default(), "0").await.unwrap();
    let operator = candidates.start("a", None).await;
    let made = made.filter_map(async |event| match event.unwrap() {
        WatchEvent::Added(deployment) => Some(deployment.name_any()),
        _ => None,
    });
    let order: Vec<String> = made.take(5).collect().await;
    assert_eq!(order[4], "w2", "{order:?}");
    eventually("an Event", async || {
        let events = env.api::<Event>().list(&ListParams::default()).await.unwrap();
        let reasons: Vec<_> = events
            .into_iter()
            .map(|event| (event.regarding.and_then(|about| about.name), event.reason))
            .collect();
        let is_it = |(name, reason): &(Option<String>, Option<String>)| {
            name.as_deref() == Some("w2") && reason.as_deref() == Some("PutLast")
        };
        if reasons.iter().any(is_it) { Ok(()) } else { Err(reasons) }
    })
    .await;
    eventually("the note to be removed", async || {
        let lease = leases.get(LEASE).await.unwrap();
        lease.annotations().get(NOTE).cloned().map_or(Ok(()), Err)
    })
    .await;
    let suspicion = "during a pass of this Workload, which comes last";
    assert!(operator.logs().contains(suspicion), "{}", operator.log_tail(30));
}
