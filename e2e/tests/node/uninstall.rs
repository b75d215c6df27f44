//! Baton goes: and what it made stays or goes along, as whoever uninstalls it says.

use crate::{
    stage::Stage,
    workload::{WEB, Web},
};

#[tokio::test]
#[ignore = "on a real node"]
async fn uninstalled_the_one_way_the_pods_run_on() {
    let Some(stage) = Stage::enter("uninstall, leaving all").await else { return };
    stage.install().await;
    let web = Web::start(&stage, WEB).await;
    let before = web.names().await;
    stage.follow("Uninstall and leave everything running").await;
    stage.absent("namespace/baton-system crd/workloads.baton.rs").await;
    web.serves(2).await;
    assert_eq!(web.names().await, before, "no pod was started anew");
    // And whoever installs it again may adopt what was left.
    stage.install().await;
    web.apply(&format!("{WEB}  adoption: Adopt\n")).await;
    web.ready(2).await;
    assert_eq!(web.names().await, before, "nor by being adopted");
}

#[tokio::test]
#[ignore = "on a real node"]
async fn uninstalled_the_other_way_the_pods_go() {
    let Some(stage) = Stage::enter("uninstall, taking all").await else { return };
    stage.install().await;
    let web = Web::start(&stage, WEB).await;
    stage.follow("Uninstall and take everything along").await;
    stage.absent("namespace/baton-system crd/workloads.baton.rs").await;
    stage
        .eventually("the pods to be gone", async || {
            let pods = web.names().await;
            if pods.is_empty() { Ok(()) } else { Err(format!("{pods:?}")) }
        })
        .await;
}
