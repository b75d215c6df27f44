//! The end of a Workload, and the end of the operator.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use baton_controller::decide::child::ChildKind;
use baton_e2e::{End, Environment, OperatorOptions, scenarios};
use baton_testbed::{Action, Cluster, Proxy};
use kube::api::DeleteParams;
use serde_json::json;

scenarios! {
    the_children_of_a_deleted_workload_stay_deleted_while_the_watch_of_workloads_fails,
    sigterm_ends_the_operator_cleanly,
}

async fn the_children_of_a_deleted_workload_stay_deleted_while_the_watch_of_workloads_fails(
    cluster: Cluster,
) {
    let is_cut = Arc::new(AtomicBool::new(false));
    let fails = is_cut.clone();
    let proxy = Proxy::start(&cluster, move |request| {
        if request.path.ends_with("/workloads") && fails.load(Ordering::Relaxed) {
            Action::fail(500, "InternalError", "not today")
        } else {
            Action::Forward
        }
    });
    let proxy = proxy.await.unwrap();
    let options = OperatorOptions::by_way_of(&proxy);
    let env = Environment::start_with(&cluster, "stays-deleted", options).await;
    env.apply_with_every_child().await;
    env.at_rest().await;

    is_cut.store(true, Ordering::Relaxed);
    proxy.cut_watches();
    let mark = env.mark();
    env.workloads().delete("web", &DeleteParams::background()).await.unwrap();
    for kind in ChildKind::ALL {
        env.gone(kind).await;
    }
    tokio::time::sleep(Duration::from_secs(20)).await;
    let written = env.requests_since(mark).writes();
    let children = written
        .that(|write| write.name.as_deref() == Some("web") && write.resource.as_deref() != Some("workloads"));
    assert!(children.is_empty(), "nothing is created:\n{children}");
    is_cut.store(false, Ordering::Relaxed);
}

async fn sigterm_ends_the_operator_cleanly(cluster: Cluster) {
    let env = Environment::start(&cluster, "sigterm").await;
    env.apply_until("Applied", &json!({})).await;
    assert_eq!(env.operator().stop().await.unwrap(), End::Success, "{}", env.operator().logs());
    assert!(env.operator().logs().contains("stopped"), "{}", env.operator().logs());
}
