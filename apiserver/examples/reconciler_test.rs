//! A complete test of an operator: its `Controller` runs against the server until a site is up, and until it is deleted.
//!
//! The clock is tokio's paused one, which jumps to the next timer: minutes take milliseconds.
//!
//!     cargo run --example reconciler_test

use std::{sync::Arc, time::Duration};

use anyhow::{Context as _, Result};
use baton_apiserver::{Actor, ApiServer};
use futures::StreamExt as _;
use k8s_openapi::api::apps::v1::Deployment;
use kube::{
    Api, Client, CustomResource, Resource as _, ResourceExt as _,
    api::{DeleteParams, Patch, PatchParams, PostParams},
    runtime::{
        Controller,
        controller::Action,
        wait::{await_condition, conditions::is_deleted},
        watcher,
    },
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

/// A website, served by some pods.
#[derive(Clone, CustomResource, Debug, Deserialize, JsonSchema, Serialize)]
#[kube(group = "example.com", version = "v1", kind = "Site", namespaced, status = "SiteStatus")]
struct SiteSpec {
    image: String,
    replicas: i32,
}

#[derive(Clone, Debug, Default, Deserialize, JsonSchema, Serialize)]
struct SiteStatus {
    ready: i32,
}

// The operator. It doesn't know of the test.

const MANAGER: &str = "sites.example.com";

async fn run_operator(client: Client) {
    Controller::new(Api::<Site>::all(client.clone()), watcher::Config::default())
        .owns(Api::<Deployment>::all(client.clone()), watcher::Config::default())
        .run(reconcile, |_, _, _| Action::requeue(Duration::from_secs(5)), Arc::new(client))
        .for_each(async |_| {})
        .await;
}

async fn reconcile(site: Arc<Site>, client: Arc<Client>) -> kube::Result<Action> {
    let (name, namespace) = (site.name_any(), site.namespace().unwrap_or_default());
    let deployments: Api<Deployment> = Api::namespaced(client.as_ref().clone(), &namespace);
    let sites: Api<Site> = Api::namespaced(client.as_ref().clone(), &namespace);
    let apply = PatchParams::apply(MANAGER).force();
    let deployment = deployments.patch(&name, &apply, &Patch::Apply(deployment_of(&site))).await?;
    let ready = deployment.status.and_then(|status| status.ready_replicas).unwrap_or(0);
    let status = json!({"apiVersion": "example.com/v1", "kind": "Site", "status": {"ready": ready}});
    sites.patch_status(&name, &apply, &Patch::Apply(status)).await?;
    Ok(Action::await_change())
}

fn deployment_of(site: &Site) -> Value {
    let labels = json!({"site": site.name_any()});
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": site.name_any(), "ownerReferences": [site.controller_owner_ref(&())]},
        "spec": {
            "replicas": site.spec.replicas,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "site", "image": site.spec.image}]},
            },
        },
    })
}

// The test. In a crate of your own, `#[tokio::test(start_paused = true)]` takes the place of `#[tokio::main(…)]`.

#[tokio::main(flavor = "current_thread", start_paused = true)]
async fn main() -> Result<()> {
    // Actors play the controllers of a cluster: pods of Deployments, readiness, garbage collection.
    let actors = [Actor::Deployments, Actor::Pods, Actor::GarbageCollector];
    let server = ApiServer::builder().crd::<Site>().actors(actors).start()?;
    tokio::spawn(run_operator(server.client()));

    let sites: Api<Site> = Api::default_namespaced(server.client());
    let deployments: Api<Deployment> = Api::default_namespaced(server.client());
    let spec = SiteSpec { image: "nginx".to_owned(), replicas: 3 };
    sites.create(&PostParams::default(), &Site::new("shop", spec)).await?;

    // An operator that never finishes fails the test. For one that wakes itself and so never lets paused time advance,
    // there is `Builder::repeat_limit`: it panics, with the repeated requests.
    let limit = Duration::from_mins(10);
    let is_up =
        |site: Option<&Site>| site.and_then(|site| site.status.as_ref()).is_some_and(|s| s.ready == 3);
    timeout(limit, await_condition(sites.clone(), "shop", is_up)).await.context("the site isn't up")??;

    let deployment = deployments.get("shop").await?;
    assert_eq!(deployment.metadata.generation, Some(1), "the operator wrote the Deployment once");

    // An operator that contests its own writes or the server's defaults never stops writing.
    sleep(Duration::from_mins(10)).await;
    let later = deployments.get("shop").await?;
    assert_eq!(later.resource_version(), deployment.resource_version(), "no more writes");

    // The garbage collector deletes the Deployment if its owner reference is right.
    sites.delete("shop", &DeleteParams::background()).await?;
    let uid = deployment.uid().unwrap_or_default();
    let gone = await_condition(deployments, "shop", is_deleted(&uid));
    timeout(limit, gone).await.context("the Deployment is still there")??;

    println!("The site came up, stayed as it was, and is gone.");
    Ok(())
}

#[test]
fn it_runs() -> Result<()> {
    main()
}
