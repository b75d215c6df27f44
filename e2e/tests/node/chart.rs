//! Baton is installed, upgraded and uninstalled by its Helm chart.

use crate::{
    shared::{HOME, NEXT, SharedNode, VERSION},
    workload::{WEB, Web},
};

#[tokio::test]
#[ignore = "on a real node"]
async fn helm_installs_upgrades_rolls_back_and_uninstalls_baton_while_pods_run_on() {
    let Some(shared) = SharedNode::enter("chart").await else { return };
    shared.uninstall().await;
    shared.follow("Install with Helm").await;
    assert_eq!(versions(&shared).await, [VERSION, VERSION]);
    let web = Web::start(&shared, WEB).await;
    let pods = web.names().await;

    shared.follow_in_next("Upgrade", 1).await;
    shared.running().await;
    assert_eq!(versions(&shared).await, [NEXT, NEXT]);
    web.apply(&WEB.replace("replicas: 2", "replicas: 3")).await;
    web.ready(3).await;
    let three = web.names().await;
    assert!(pods.iter().all(|pod| three.contains(pod)), "{pods:?} became {three:?}");

    shared.helm("rollback baton --namespace baton-system").await;
    shared.running().await;
    assert_eq!(versions(&shared).await, [VERSION, VERSION]);
    web.apply(WEB).await;
    web.ready(2).await;
    web.serves(2).await;

    shared.helm("uninstall baton --namespace baton-system").await;
    shared.absent(&format!("deployment/baton --namespace {HOME}")).await;
    web.serves(2).await;
    let left = web.names().await;
    // The ReplicaSet chooses which of the three goes.
    assert!(left.iter().all(|pod| three.contains(pod)), "{three:?} became {left:?}");
    shared.kubectl("delete crd workloads.baton.rs").await;
    shared.kubectl(&format!("delete namespace {HOME}")).await;
}

/// The tags of the images that Baton's pods run.
async fn versions(shared: &SharedNode) -> Vec<String> {
    let pods = shared.get(&format!("pods --namespace {HOME}")).await;
    let stays = |pod: &&serde_json::Value| pod["metadata"]["deletionTimestamp"].is_null();
    let pods = pods["items"].as_array().unwrap().iter().filter(stays);
    let image = |pod: &serde_json::Value| pod["spec"]["containers"][0]["image"].as_str().unwrap().to_owned();
    pods.map(|pod| image(pod).rsplit_once(':').unwrap().1.to_owned()).collect()
}
