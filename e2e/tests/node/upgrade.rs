//! An upgrade of Baton and a rollback, in the middle of a handover.

use baton_testbed::ReplicaWatch;

use crate::{
    shared::{HOME, NEXT, SharedNode, USER, VERSION},
    workload::{WEB, Web, autoscaled},
};

#[tokio::test]
#[ignore = "on a real node"]
async fn a_handover_goes_on_under_the_next_version_and_the_rollback_writes_to_no_child() {
    let Some(shared) = SharedNode::enter("upgrade").await else { return };
    shared.install().await;
    shared.measure().await;
    let web = Web::start(&shared, WEB).await;
    let watch = ReplicaWatch::start(shared.cluster(), web.namespace.name(), "web").await.unwrap();

    // Without load, two pods are enough for the autoscaler. So it writes nothing, and the handover is under way.
    web.apply(&autoscaled()).await;
    web.condition("HandoverPending", "True").await;
    // The Event follows the status.
    web.event("HandoverPending").await;
    let audit = shared.cluster().audit().unwrap();
    let mark = audit.mark().unwrap();
    shared.follow_in_next("Upgrade", 0).await;
    assert_eq!(image(&shared).await, format!("registry.invalid/baton:{NEXT}"));
    web.condition("HandoverPending", "True").await;
    let writes = || audit.since(mark).unwrap().by(USER).namespace(web.namespace.name()).writes();
    let children =
        || writes().that(|write| write.resource.as_deref() != Some("workloads") && !write.is_dry_run());
    assert!(children().is_empty(), "the upgrade wrote to {}", children());

    web.load("10m").await;
    web.condition("HandedOver", "True").await;
    web.ready(5).await;
    let history = watch.history().await.unwrap();
    shared.report(&format!("the replicas went {:?}", history.values()));
    history.never_below(2).unwrap();

    // The next version releases its own entry when the autoscaler has written. Then everything is at rest.
    let before = children().len();
    shared.follow("Roll back").await;
    assert_eq!(image(&shared).await, format!("registry.invalid/baton:{VERSION}"));
    web.condition("HandedOver", "True").await;
    assert_eq!(children().len(), before, "the rollback wrote to {}", children());
}

/// The image of Baton's Deployment.
async fn image(shared: &SharedNode) -> String {
    let deployment = shared.get(&format!("deployment baton --namespace {HOME}")).await;
    deployment["spec"]["template"]["spec"]["containers"][0]["image"].as_str().unwrap().to_owned()
}
