//! The leader is gone, and the other replica takes over.

use std::time::Instant;

use baton_e2e::installed;
use kube::ResourceExt as _;

use crate::{
    shared::{HOME, SharedNode},
    workload::{WEB, Web},
};

#[tokio::test]
#[ignore = "on a real node"]
async fn another_replica_leads_when_the_leaders_pod_is_deleted_or_killed() {
    let Some(shared) = SharedNode::enter("failover").await else { return };
    shared.install().await;
    let web = Web::start(&shared, WEB).await;
    for (replicas, how) in [(3, "deleted"), (4, "killed")] {
        let pod = installed::leader(&shared.node).await.unwrap();
        let leader = pod.name_any();
        let began = Instant::now();
        if how == "deleted" {
            shared.kubectl(&format!("delete pod {leader} --wait=false --namespace {HOME}")).await;
        } else {
            let containers = pod.status.and_then(|status| status.container_statuses).unwrap();
            shared.node.signal(containers[0].container_id.as_deref().unwrap(), "KILL").unwrap();
        }
        web.apply(&WEB.replace("replicas: 2", &format!("replicas: {replicas}"))).await;
        let wanted = |deployment: &serde_json::Value| deployment["spec"]["replicas"] == replicas;
        shared
            .eventually("the next leader to act", async || {
                let deployment = web.get("deployment web").await;
                if wanted(&deployment) { Ok(()) } else { Err(deployment["spec"]["replicas"].to_string()) }
            })
            .await;
        shared.report(&format!(
            "{:.1} s after the leader was {how}, the next leader had written",
            began.elapsed().as_secs_f64()
        ));
        web.ready(replicas).await;
        shared.running().await;
    }
}
