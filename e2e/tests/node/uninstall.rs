//! Baton is uninstalled, and its objects stay or are deleted, as the user chooses.

use crate::{
    shared::SharedNode,
    workload::{WEB, Web},
};

#[tokio::test]
#[ignore = "on a real node"]
async fn the_pods_run_on_after_an_uninstall_that_leaves_everything_running() {
    let Some(shared) = SharedNode::enter("uninstall, leaving all").await else { return };
    shared.install().await;
    let web = Web::start(&shared, WEB).await;
    let before = web.names().await;
    shared.follow("Uninstall and leave everything running").await;
    shared.absent("namespace/baton-system crd/workloads.baton.rs").await;
    web.serves(2).await;
    assert_eq!(web.names().await, before, "the uninstall replaces no pod");
    // After another installation, Baton can adopt the leftovers.
    shared.install().await;
    web.apply(&format!("{WEB}  adoption: Adopt\n")).await;
    web.ready(2).await;
    assert_eq!(web.names().await, before, "the adoption replaces no pod");
}

#[tokio::test]
#[ignore = "on a real node"]
async fn the_pods_are_deleted_by_an_uninstall_that_takes_everything_along() {
    let Some(shared) = SharedNode::enter("uninstall, taking all").await else { return };
    shared.install().await;
    let web = Web::start(&shared, WEB).await;
    shared.follow("Uninstall and take everything along").await;
    shared.absent("namespace/baton-system crd/workloads.baton.rs").await;
    shared
        .eventually("the pods to be gone", async || {
            let pods = web.names().await;
            if pods.is_empty() { Ok(()) } else { Err(format!("{pods:?}")) }
        })
        .await;
}
