//! The API server restarts in the middle of handovers, with and without the history in etcd.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use baton_e2e::scenarios;
use baton_testbed::{Action, Cluster, ControlPlane, Embedded, Proxy};

use super::{scenario, stage::Stage};

scenarios! {
    the_api_server_restarts_in_the_middle_of_handovers,
    etcd_compacts_versions_that_the_watches_have_not_seen,
}

/// The operator's writes at which the API server restarts: after the temporary manager owns the replica count, while the
/// external autoscaler takes over, and on the way back.
const WRITES: [usize; 3] = [5, 10, 14];

/// The API server that restarts.
enum Server {
    Real(Box<ControlPlane>),
    InProcess(Arc<Embedded>),
}

impl Server {
    /// A server that no other test uses, and its cluster for all that doesn't restart it.
    async fn start(cluster: Cluster) -> (Self, Cluster) {
        match cluster {
            Cluster::Real(_) => {
                let server = ControlPlane::options().start().await.unwrap();
                let cluster = ControlPlane::given(server.kubeconfig()).unwrap().into();
                (Self::Real(Box::new(server)), cluster)
            }
            Cluster::InProcess(ref server) => (Self::InProcess(server.clone()), cluster),
        }
    }

    async fn restart(&mut self, compacts: bool) {
        match self {
            Self::Real(server) => {
                if compacts {
                    server.compact_etcd().await.unwrap();
                }
                server.restart_api_server().await.unwrap();
            }
            Self::InProcess(embedded) => embedded.server().restart(!compacts),
        }
    }
}

/// Plays the scenario while the API server restarts again and again.
async fn play(cluster: Cluster, name: &str, compacts: bool) {
    let begun = Instant::now();
    let scenario = scenario::there_and_back();
    let (mut server, cluster) = Server::start(cluster).await;
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
            server.restart(compacts).await;
        }
    };
    tokio::join!(stage.act(&scenario.steps), outages);
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
        assert!(lists > 1, "{}: each watch was resumed", stage.title);
    }
}

async fn the_api_server_restarts_in_the_middle_of_handovers(cluster: Cluster) {
    play(cluster, "restarts", false).await;
}

async fn etcd_compacts_versions_that_the_watches_have_not_seen(cluster: Cluster) {
    play(cluster, "restarts and compactions", true).await;
}
