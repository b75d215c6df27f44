//! An operator recovers from lost responses, conflicts, busy servers and closed watches, each at a chosen request.
//!
//! The operator copies the replica count in a ConfigMap to a Deployment. It reads, changes and writes the Deployment, and
//! retries five seconds after an error.
//!
//!     cargo run --example faults

use std::{sync::Arc, time::Duration};

use anyhow::{Context as _, Result};
use baton_apiserver::{
    ApiServer,
    faults::{Action as Fault, RequestInfo, nth},
};
use futures::StreamExt as _;
use k8s_openapi::api::{
    apps::v1::Deployment,
    core::v1::{ConfigMap, Secret, Service},
    networking::v1::Ingress,
};
use kube::{
    Api, Client,
    api::{Patch, PatchParams, PostParams},
    runtime::{Controller, controller::Action, utils::Backoff, wait::await_condition, watcher},
};
use serde_json::json;
use tokio::time::{Instant, timeout};

/// The pause before a closed watch is opened again. kube's Controller shares one backoff among its watches, and each closed
/// watch doubles its default pause: after a restart of the server, four watches take some twenty seconds, and more take
/// minutes.
struct EverySecond;

impl Iterator for EverySecond {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        Some(Duration::from_secs(1))
    }
}

impl Backoff for EverySecond {
    fn reset(&mut self) {}
}

async fn run_operator(client: Client) {
    let configs: Api<ConfigMap> = Api::default_namespaced(client.clone());
    Controller::new(configs, watcher::Config::default())
        .owns(Api::<Deployment>::default_namespaced(client.clone()), watcher::Config::default())
        .owns(Api::<Service>::default_namespaced(client.clone()), watcher::Config::default())
        .owns(Api::<Secret>::default_namespaced(client.clone()), watcher::Config::default())
        .owns(Api::<Ingress>::default_namespaced(client.clone()), watcher::Config::default())
        .trigger_backoff(EverySecond)
        .run(reconcile, |_, _, _| Action::requeue(Duration::from_secs(5)), Arc::new(client))
        .for_each(async |_| {})
        .await;
}

async fn reconcile(config: Arc<ConfigMap>, client: Arc<Client>) -> kube::Result<Action> {
    let wanted = config.data.as_ref().and_then(|data| data.get("replicas")?.parse().ok());
    let deployments: Api<Deployment> = Api::default_namespaced(client.as_ref().clone());
    let mut deployment = deployments.get("web").await?;
    deployment.spec.get_or_insert_default().replicas = wanted;
    // With the resourceVersion that was read, so that the server refuses it after another write.
    deployments.replace("web", &PostParams::default(), &deployment).await?;
    Ok(Action::await_change())
}

/// The start of each case: a Deployment with one replica, which the operator has reconciled.
const CLUSTER: &str = "
{apiVersion: v1, kind: ConfigMap, metadata: {name: web}, data: {replicas: '1'}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: 'web:1'}]}
";

async fn start() -> Result<ApiServer> {
    let server = ApiServer::builder().load(CLUSTER)?.start()?;
    tokio::spawn(run_operator(server.client()));
    // Time stands still while any task runs, so from here on the operator only waits for changes.
    tokio::time::sleep(Duration::from_secs(1)).await;
    Ok(server)
}

/// How long the operator runs on after it has reached the replica count.
const QUIET: Duration = Duration::from_mins(1);

/// Requests three replicas, and waits until the operator has written them.
async fn scale(server: &ApiServer) -> Result<()> {
    let configs: Api<ConfigMap> = Api::default_namespaced(server.client());
    let three = Patch::Merge(json!({"data": {"replicas": "3"}}));
    configs.patch("web", &PatchParams::default(), &three).await?;
    let is_scaled = |web: Option<&Deployment>| web.and_then(replicas) == Some(3);
    let deployments: Api<Deployment> = Api::default_namespaced(server.client());
    let scaled = await_condition(deployments, "web", is_scaled);
    timeout(Duration::from_mins(10), scaled).await.context("the operator didn't get over it")??;
    // The operator may have more to do.
    tokio::time::sleep(QUIET).await;
    Ok(())
}

fn replicas(deployment: &Deployment) -> Option<i32> {
    deployment.spec.as_ref()?.replicas
}

/// Whether a request is the write that the rules are about.
fn is_of_operator(request: &RequestInfo) -> bool {
    request.method == "PUT" && request.path.ends_with("/deployments/web")
}

/// The write is stored, but the connection is cut before the response.
async fn a_response_is_lost() -> Result<()> {
    let server = start().await?;
    server.faults().set(nth(1, is_of_operator, || Fault::after(Fault::Cut)));
    let before = server.faults().writes();
    scale(&server).await?;

    let cut = server.faults().cut().await;
    assert_eq!(cut.response, Some(200), "the server had stored the write");
    assert_eq!(server.faults().writes() - before, 3, "the test's write, the lost one, and another attempt");
    let web = Api::<Deployment>::default_namespaced(server.client()).get("web").await?;
    assert_eq!(web.metadata.generation, Some(2), "the second attempt changed nothing");
    Ok(())
}

/// Another client writes between the operator's read and its write, which the server refuses with 409.
async fn another_writer_is_faster() -> Result<()> {
    let server = start().await?;
    let deployments: Api<Deployment> = Api::default_namespaced(server.client());
    let others = deployments.clone();
    let rollout = move || {
        let others = others.clone();
        Fault::behind(async move {
            let image =
                json!({"spec": {"template": {"spec": {"containers": [{"name": "web", "image": "web:2"}]}}}});
            let written = others.patch("web", &PatchParams::default(), &Patch::Strategic(image)).await;
            assert!(written.is_ok(), "{written:?}");
        })
    };
    server.faults().set(nth(1, is_of_operator, rollout));
    scale(&server).await?;

    let web = deployments.get("web").await?;
    let image = web.spec.and_then(|spec| spec.template.spec?.containers.pop()?.image);
    assert_eq!(image.as_deref(), Some("web:2"), "the operator didn't undo what another client wrote");
    Ok(())
}

/// The server is overloaded: 429.
async fn the_server_is_busy() -> Result<()> {
    let server = start().await?;
    server.faults().set(nth(1, is_of_operator, || Fault::too_many_requests(5)));
    let (began, before) = (Instant::now(), server.faults().writes());
    scale(&server).await?;

    assert_eq!(server.faults().writes() - before, 3, "the operator tried once more, and not in a loop");
    assert!(began.elapsed() >= Duration::from_secs(5), "and not at once");
    Ok(())
}

/// All watches are closed, and can't resume: 410. The operator has to list again.
async fn the_watches_are_cut() -> Result<()> {
    let server = start().await?;
    let began = Instant::now();
    server.restart(false);
    scale(&server).await?;
    let took = began.elapsed();
    assert!(took < QUIET + Duration::from_secs(10), "the operator saw nothing for long: {took:?}");
    Ok(())
}

#[tokio::main(flavor = "current_thread", start_paused = true)]
async fn main() -> Result<()> {
    a_response_is_lost().await?;
    another_writer_is_faster().await?;
    the_server_is_busy().await?;
    the_watches_are_cut().await?;
    println!("The operator got over a lost response, a conflict, a busy server and watches that were cut.");
    Ok(())
}

#[test]
fn it_runs() -> Result<()> {
    main()
}
