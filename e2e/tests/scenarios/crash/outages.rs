//! The API server goes and comes back in the middle of handovers, with and without what etcd had remembered.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use baton_testbed::{Action, ControlPlane, Proxy};

use super::{scenario, stage::Stage};

/// At which writes of the operator the API server goes: after the temporary manager holds the number, while the external
/// autoscaler takes over, and on the way back.
const WRITES: [usize; 3] = [5, 10, 14];

/// Plays the scenario in a control plane of its own, of which the API server is started again and again.
async fn play(name: &str, compacts: bool) {
    let begun = Instant::now();
    let scenario = scenario::there_and_back();
    let mut servers = ControlPlane::options().start().await.unwrap();
    // For all who use it and know nothing of what is done to it.
    let cluster = ControlPlane::given(servers.kubeconfig()).unwrap();
    let stage = Stage::new(&cluster, format!("{}, {name}", scenario.name)).await;
    let lists = Arc::new(AtomicUsize::new(0));
    let listed = lists.clone();
    let proxy = Proxy::start(&cluster, move |request| {
        if request.path.ends_with("/workloads") && !request.is_watch() {
            listed.fetch_add(1, Ordering::Relaxed);
        }
        Action::Forward
    })
    .await
    .unwrap();
    let _operator = stage.operator(Some(&proxy)).await;
    let watch = stage.watch().await;
    let outages = async {
        for writes in WRITES {
            while proxy.writes() < writes {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            if compacts {
                servers.compact_etcd().await.unwrap();
            }
            servers.restart_api_server().await.unwrap();
        }
    };
    tokio::join!(stage.act(&scenario.deeds), outages);
    stage.reach(scenario.end()).await;
    stage.judge(&watch, &scenario).await;
    println!(
        "{}: {} outages, {} lists of Workloads, {} writes, {:.1} s",
        stage.title,
        WRITES.len(),
        lists.load(Ordering::Relaxed),
        proxy.writes(),
        begun.elapsed().as_secs_f64()
    );
    if compacts {
        let lists = lists.load(Ordering::Relaxed);
        assert!(lists > 1, "{}: each watch was taken up where it was", stage.title);
    }
}

#[tokio::test]
async fn the_api_server_is_started_again_in_the_middle_of_handovers() {
    play("restarts", false).await;
}

#[tokio::test]
async fn etcd_forgets_what_the_watches_have_not_seen() {
    play("restarts and compactions", true).await;
}
