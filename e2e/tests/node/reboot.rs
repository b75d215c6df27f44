//! The node's machine loses its power.

use std::time::Instant;

use crate::{
    shared::{SharedNode, USER},
    workload::{WEB, Web},
};

#[tokio::test]
#[ignore = "on a real node"]
async fn after_a_reboot_everything_is_back_and_baton_writes_to_no_child() {
    let Some(mut shared) = SharedNode::enter("reboot").await else { return };
    shared.install().await;
    let namespace = {
        let web = Web::start(&shared, WEB).await;
        web.serves(2).await;
        web.namespace
    };
    let audit = shared.cluster().audit().unwrap();
    let mark = audit.mark().unwrap();
    let began = Instant::now();
    shared.node.reboot().await.unwrap();
    shared.report(&format!("the node was Ready again after {:.1} s", began.elapsed().as_secs_f64()));
    let web = Web::of(&shared, namespace);
    web.restarted().await;
    shared.running().await;
    web.ready(2).await;
    web.serves(2).await;
    shared.report(&format!("and all served again after {:.1} s", began.elapsed().as_secs_f64()));
    let writes = audit.since(mark).unwrap().by(USER).namespace(web.namespace.name()).writes();
    let children = writes.that(|write| write.resource.as_deref() != Some("workloads") && !write.is_dry_run());
    assert!(children.is_empty(), "{children}");
}
