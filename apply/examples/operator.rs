//! An operator for a made-up kind: a `Site` becomes a Deployment.
//!
//! It applies on every change of anything, and sends nothing that changes nothing. It reports whose fields it takes, leaves a
//! contested Deployment alone for a while, and hands `spec.replicas` over when a Site stops asking for a number.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use baton_apply::{
    ApiError, Applier, Effect, LiveObject, Observer, Options, Outcome, PreparedWrite, SchemaCache, Target,
    Tries,
    contention::{Contention, Correction},
    fieldpath::{Path, PathElement::Field},
    ownership::{hand_over, holders},
};
use futures::StreamExt;
use k8s_openapi::api::apps::v1::Deployment;
use kube::{
    Api, Client, CustomResource, Resource, ResourceExt,
    core::ApiResource,
    runtime::{Controller, controller::Action, watcher},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::Mutex;

/// A site that is served by some pods.
#[derive(Clone, CustomResource, Debug, Deserialize, JsonSchema, Serialize)]
#[kube(group = "example.com", version = "v1", kind = "Site", namespaced)]
pub struct SiteSpec {
    /// What the pods run.
    pub image: String,
    /// How many pods there are; absent where somebody else decides it, such as an autoscaler.
    pub replicas: Option<i32>,
}

const MANAGER: &str = "sites.example.com";
/// Owns `spec.replicas` from when the operator lets go of it until somebody else sets it.
const TEMPORARY: &str = "sites.example.com-handover";
const REPLICAS: Path<'static> = Path::new(&[Field("spec"), Field("replicas")]);
const LIMIT: Duration = Duration::from_secs(30);

struct Context {
    applier: Applier,
    contention: Mutex<Contention<String>>,
}

#[tokio::main]
async fn main() -> Result<(), kube::Error> {
    run(Client::try_default().await?, Printed).await;
    Ok(())
}

/// Runs the operator until it is cancelled.
pub async fn run(client: Client, observer: impl Observer + 'static) {
    let schemas = SchemaCache::new(client.clone(), [ApiResource::erase::<Deployment>(&())], LIMIT);
    tokio::spawn(schemas.clone().keep_current(Duration::from_mins(10)));
    let applier = Applier::new(client.clone(), Some(schemas), LIMIT).observed_by(observer);
    applier.ready().await;
    let context = Arc::new(Context { applier, contention: Mutex::default() });
    Controller::new(Api::<Site>::all(client.clone()), watcher::Config::default())
        .owns(Api::<Deployment>::all(client), watcher::Config::default())
        .run(reconcile, |_, _, _| Action::requeue(Duration::from_secs(5)), context)
        .for_each(async |_| {})
        .await;
}

async fn reconcile(site: Arc<Site>, context: Arc<Context>) -> Result<Action, ApiError> {
    let (uid, generation) = (site.uid().unwrap_or_default(), site.meta().generation.unwrap_or_default());
    if let Some(pause) = context.contention.lock().await.pause(&uid, generation, Instant::now()) {
        return Ok(Action::requeue(pause));
    }
    let deployments = ApiResource::erase::<Deployment>(&());
    let target = Target::new(deployments.clone(), site.namespace(), site.name_any());
    let live = context.applier.read(&target).await?;
    let outcome = match live.as_ref().filter(|live| must_hand_over(&site, live)) {
        Some(live) => {
            let Some(request) = hand_over(target, live, REPLICAS, TEMPORARY) else {
                return Ok(Action::await_change());
            };
            context.applier.write(request, Some(live), false, Tries::default()).await
        }
        None => {
            // Leaving replicas out is safe only while somebody else owns it, as it was read.
            let options = Options { guarded: true, ..Options::forced(MANAGER) };
            context.applier.apply(&deployments, live.as_ref(), intent(&site), options).await
        }
    };
    match outcome {
        Outcome::Stored { effects, .. } => {
            let taken = effects.takes.into_iter().map(Correction::from);
            context.contention.lock().await.corrected(uid, generation, taken, Instant::now());
            // The change of the Deployment leads to the next pass.
            Ok(Action::await_change())
        }
        Outcome::Skipped | Outcome::Deleted(_) => Ok(Action::await_change()),
        Outcome::Stale { .. } => Ok(Action::requeue(Duration::ZERO)),
        Outcome::Rejected { error, .. } | Outcome::Failed(error) => Err(error),
    }
}

/// Whether the operator is about to let go of `spec.replicas`, and nobody else owns it: the server would reset it to 1.
fn must_hand_over(site: &Site, live: &LiveObject) -> bool {
    let owners = holders(live, REPLICAS);
    let is_ours_alone = !owners.is_empty() && owners.iter().all(|holder| holder.manager == MANAGER);
    site.spec.replicas.is_none() && is_ours_alone
}

/// All that the operator wants to own of the Deployment, and nothing else.
fn intent(site: &Site) -> Value {
    let labels = json!({"site": site.name_any()});
    let mut intent = json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": site.name_any(), "namespace": site.namespace(), "ownerReferences": [site.controller_owner_ref(&())]},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "site", "image": site.spec.image}]},
            },
        },
    });
    if let Some(replicas) = site.spec.replicas {
        intent["spec"]["replicas"] = replicas.into();
    }
    intent
}

/// Prints how each write ends.
struct Printed;

impl Observer for Printed {
    fn ended(&self, write: &PreparedWrite, _: Effect, outcome: &Outcome) {
        let target = &write.request.target;
        match outcome {
            Outcome::Skipped => println!("{target}: as it should be"),
            Outcome::Stored { effects, .. } => {
                let takes =
                    effects.takes.iter().map(|take| format!(", took {} from {}", take.path, take.manager));
                println!("{target}: written{}", takes.collect::<String>());
            }
            other => println!("{target}: {other:?}"),
        }
    }
}
