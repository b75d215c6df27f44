//! An operator on kube's `Controller` that sets the label `seen` of each ConfigMap with the label `watched`. It leads or stands by,
//! writes only while it leads, and serves health checks and metrics.

use std::{error::Error, sync::Arc, time::Duration};

use baton_runtime::{
    admin,
    clock::Clock,
    cluster::Cluster,
    election::{Candidacy, Election, Leadership, LeaseThread, Timing, Watchdog},
    logs::{LogFormat, log_to},
    metrics::RequestMetrics,
    readiness::Readiness,
    signals::Signals,
};
use futures::StreamExt as _;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, Client, ResourceExt as _,
    api::{Patch, PatchParams},
    runtime::{Controller, controller::Action, watcher},
};
use prometheus_client::{metrics::gauge::Gauge, registry::Registry};
use serde_json::json;
use tokio::net::TcpListener;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    tracing::subscriber::set_global_default(log_to(std::io::stderr, false, "info", LogFormat::Text)?)?;
    let listener = TcpListener::bind("0.0.0.0:8080").await?;
    let signals = Signals::of_process()?;
    // Shorter than the pod's grace period.
    let overdue = signals.shutdown.clone().overdue(Duration::from_secs(20));
    tokio::select! {
        ended = run(Cluster::infer().await?, signals, listener) => ended,
        () = overdue => Err("stopped at once: the lease runs out".into()),
    }
}

/// Runs until SIGTERM, or until the lease is lost.
pub async fn run(cluster: Cluster, signals: Signals, listener: TcpListener) -> Result<(), Box<dyn Error>> {
    let (mut registry, requests, leader) = (Registry::default(), RequestMetrics::default(), Gauge::default());
    requests.register(registry.sub_registry_with_prefix("example"));
    registry.register("example_leader", "1 if this process leads", leader.clone());
    let readiness = Readiness::default();
    readiness.close("api server", "the API server hasn't responded yet");
    // Ends with this function.
    let mut ports = tokio::task::JoinSet::new();
    ports.spawn(admin::serve(listener, readiness.clone(), Some(Arc::new(registry))));

    // This client writes only during the leadership.
    let leadership = Leadership::new(Timing::default(), Clock::SYSTEM, leader);
    let client = cluster.fenced(&requests, Some(leadership.clone()))?;
    client.apiserver_version().await?;
    readiness.open("api server");

    let (thread, watchdog) = (LeaseThread::start()?, Watchdog::default());
    let candidacy = Candidacy::new(client.default_namespace(), "example", "example");
    let unfenced = || cluster.unfenced(&requests);
    let mut election = Election::stand(thread.handle(), unfenced, candidacy, leadership, watchdog.clone())?;
    tokio::select! {
        won = election.won() => won?,
        () = signals.shutdown.clone().begun() => {
            election.release().await;
            return Ok(());
        }
    }
    let watched = watcher::Config::default().labels("watched");
    let controller = Controller::new(Api::<ConfigMap>::all(client.clone()), watched)
        .reconcile_all_on(signals.sighups)
        .graceful_shutdown_on(signals.shutdown.begun())
        .run(reconcile, |_, _, _| Action::requeue(Duration::from_secs(5)), Arc::new((client, watchdog)));
    tokio::select! {
        () = controller.for_each(async |_| {}) => election.release().await,
        lost = election.lost() => return Err(lost.into()),
    }
    Ok(())
}

async fn reconcile(map: Arc<ConfigMap>, context: Arc<(Client, Watchdog)>) -> kube::Result<Action> {
    let (client, watchdog) = &*context;
    let (namespace, name) = (map.namespace().unwrap_or_default(), map.name_any());
    let api = Api::<ConfigMap>::namespaced(client.clone(), &namespace);
    let metadata = json!({"name": name, "labels": {"seen": "true"}});
    let intent = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata});
    let (params, patch) = (PatchParams::apply("example"), Patch::Apply(intent));
    watchdog.run(&Arc::new((namespace, name.clone())), api.patch(&name, &params, &patch)).await?;
    Ok(Action::await_change())
}
