//! Baton is installed, upgraded and uninstalled by its Helm chart.

use crate::{
    stage::{HOME, NEXT, Stage, VERSION},
    workload::{WEB, Web},
};

#[tokio::test]
#[ignore = "on a real node"]
async fn helm_installs_upgrades_rolls_back_and_uninstalls_baton_while_pods_run_on() {
    let Some(stage) = Stage::enter("chart").await else { return };
    stage.uninstall().await;
    stage.follow("Install with Helm").await;
    assert_eq!(versions(&stage).await, [VERSION, VERSION]);
    let web = Web::start(&stage, WEB).await;
    let pods = web.names().await;

    stage.follow_in_next("Upgrade", 1).await;
    stage.running().await;
    assert_eq!(versions(&stage).await, [NEXT, NEXT]);
    web.apply(&WEB.replace("replicas: 2", "replicas: 3")).await;
    web.ready(3).await;
    let three = web.names().await;
    assert!(pods.iter().all(|pod| three.contains(pod)), "{pods:?} became {three:?}");

    stage.helm("rollback baton --namespace baton-system").await;
    stage.running().await;
    assert_eq!(versions(&stage).await, [VERSION, VERSION]);
    web.apply(WEB).await;
    web.ready(2).await;
    web.serves(2).await;

    stage.helm("uninstall baton --namespace baton-system").await;
    stage.absent(&format!("deployment/baton --namespace {HOME}")).await;
    web.serves(2).await;
    let left = web.names().await;
    // The ReplicaSet chooses which of the three goes.
    assert!(left.iter().all(|pod| three.contains(pod)), "{three:?} became {left:?}");
    stage.kubectl("delete crd workloads.baton.rs").await;
    stage.kubectl(&format!("delete namespace {HOME}")).await;
}

/// The tags of the images that Baton's pods run.
async fn versions(stage: &Stage) -> Vec<String> {
    let pods = stage.get(&format!("pods --namespace {HOME}")).await;
    let stays = |pod: &&serde_json::Value| pod["metadata"]["deletionTimestamp"].is_null();
    let pods = pods["items"].as_array().unwrap().iter().filter(stays);
    let image = |pod: &serde_json::Value| pod["spec"]["containers"][0]["image"].as_str().unwrap().to_owned();
    pods.map(|pod| image(pod).rsplit_once(':').unwrap().1.to_owned()).collect()
}
