//! Three operators that turn on autoscaling for a Deployment of fifty pods, recorded side by side: two naive ones, and Baton.
//!
//! The server, the autoscaler and its settings are those of a real control plane; the nodes are KWOK's. All three Deployments
//! have the same constant load, which wants sixty pods.

use std::time::Duration;

use baton_testbed::{Cluster, ControlPlane, Error, MetricsApi, Recorder};
use futures::StreamExt as _;
use k8s_openapi::api::{apps::v1::Deployment, autoscaling::v2::HorizontalPodAutoscaler};
use kube::{
    Api,
    api::{Patch, PatchParams},
    core::ApiResource,
    runtime::watcher,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::{
    sync::{Barrier, watch},
    time::Instant,
};

pub use super::replicas_plot::svg;
use crate::{Environment, OperatorOptions, autoscaler, web};

/// The load of a Deployment, and what one pod is to have of it, in thousandths of a processor.
const LOAD: u32 = 6_000;
const PER_POD: u32 = 100;
/// The pods before.
const PODS: i32 = 50;
/// How long nothing happens before autoscaling is turned on, and how long is recorded after.
const BEFORE: Duration = Duration::from_secs(20);
const AFTER: Duration = Duration::from_secs(140);
/// How long everything may take to be set up.
const PATIENCE: Duration = Duration::from_mins(2);
/// The field manager of the naive operators.
const NAIVE: &str = "operator";

/// A recording.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Recording {
    /// The release of the API server.
    pub kubernetes: String,
    /// When autoscaling was turned on, in seconds.
    pub autoscaling: f64,
    /// When the recording ended, in seconds.
    pub end: f64,
    /// In the order of the picture.
    pub tracks: Vec<Track>,
}

/// One Deployment.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Track {
    /// Which operator.
    pub operator: Operator,
    /// Each change of `spec.replicas`; the first is how it was before.
    pub changes: Vec<Change>,
}

/// The behaviour of an operator when an autoscaler begins to set `spec.replicas`.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Operator {
    /// It leaves the field out of its next apply.
    StopsApplying,
    /// It goes on applying its replica count, at each change of the Deployment.
    KeepsApplying,
    /// It hands the field over.
    Baton,
}

/// A stored value of `spec.replicas`.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Change {
    /// When, in seconds.
    pub at: f64,
    /// The replica count.
    pub replicas: i32,
    /// The field managers that own it.
    pub owners: Vec<String>,
}

/// Records the three. It takes three minutes, and a control plane's start.
///
/// # Errors
/// When a step fails.
pub async fn record(say: impl Fn(&str)) -> Result<Recording, Error> {
    say("starting a control plane");
    let control_plane = ControlPlane::options()
        // Kubernetes' own defaults, in the place of the testbed's, which are for tests in a hurry.
        .controller_manager_arg("--horizontal-pod-autoscaler-sync-period=15s")
        .controller_manager_arg("--horizontal-pod-autoscaler-downscale-stabilization=5m");
    let cluster = Cluster::from(control_plane.start().await?);
    let metrics = MetricsApi::of(&cluster).await;
    let version = cluster.admin().await?.apiserver_version().await.map_err(Error::api("read the version"))?;
    // All begin at the same time, when all are ready.
    let start = Barrier::new(3);
    let tracks = async {
        futures::future::try_join3(
            naive(&cluster, &metrics, Operator::StopsApplying, &start),
            naive(&cluster, &metrics, Operator::KeepsApplying, &start),
            baton(&cluster, &metrics, &start),
        )
        .await
    };
    let (stops, keeps, baton) = tracks.await?;
    say("recorded");
    Ok(Recording {
        kubernetes: version.git_version,
        autoscaling: BEFORE.as_secs_f64(),
        end: (BEFORE + AFTER).as_secs_f64(),
        tracks: vec![stops, keeps, baton],
    })
}

async fn baton(cluster: &Cluster, metrics: &MetricsApi, start: &Barrier) -> Result<Track, Error> {
    let env = Environment::new(cluster, "picture-baton").await?;
    let operator = env.start_operator(OperatorOptions::default()).await?;
    let template = json!({"spec": {"containers": [container()]}});
    let mut workload = web(&json!({"replicas": PODS, "template": template}));
    let apply = async |workload: &Value| {
        env.apply_as("user", workload).await.map(drop).map_err(Error::api("apply the Workload"))
    };
    apply(&workload).await?;
    metrics.set_cpu(env.ns(), "baton.rs/workload=web", LOAD);
    let recording = Running::begin(&env, start).await?;
    workload["spec"]["autoscaling"] = scaling();
    apply(&workload).await?;
    let changes = recording.end().await?;
    operator.stop().await?;
    Ok(Track { operator: Operator::Baton, changes })
}

async fn naive(
    cluster: &Cluster,
    metrics: &MetricsApi,
    operator: Operator,
    start: &Barrier,
) -> Result<Track, Error> {
    let env = Environment::new(cluster, "picture-naive").await?;
    let labels = json!({"app": "web"});
    let mut intent = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
        "spec": {
            "replicas": PODS,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container()]}},
        },
    });
    let (wanted, seen) = watch::channel(intent.clone());
    let running = tokio::spawn(apply_at_each_change(env.api(), seen));
    metrics.set_cpu(env.ns(), "app=web", LOAD);
    let recording = Running::begin(&env, start).await?;
    if operator == Operator::StopsApplying
        && let Some(spec) = intent["spec"].as_object_mut()
    {
        spec.remove("replicas");
    }
    wanted.send_replace(intent);
    let applied = env
        .api::<HorizontalPodAutoscaler>()
        .patch("web", &PatchParams::apply(NAIVE), &Patch::Apply(autoscaler("web", "web", scaling())))
        .await;
    applied.map_err(Error::api("apply the autoscaler"))?;
    let changes = recording.end().await?;
    running.abort();
    Ok(Track { operator, changes })
}

/// An operator in a few lines, as many are: it applies its whole intent, by force, whenever the Deployment or the intent changes.
async fn apply_at_each_change(deployments: Api<Deployment>, mut intent: watch::Receiver<Value>) {
    let mut changes = Box::pin(watcher(deployments.clone(), watcher::Config::default()));
    loop {
        let wanted = intent.borrow_and_update().clone();
        let params = PatchParams::apply(NAIVE).force();
        if deployments.patch("web", &params, &Patch::Apply(wanted)).await.is_err() {
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        }
        tokio::select! {
            _ = changes.next() => {}
            edited = intent.changed() => if edited.is_err() { return },
        }
    }
}

fn container() -> Value {
    json!({"name": "app", "image": "app:1", "resources": {"requests": {"cpu": format!("{PER_POD}m")}}})
}

/// The common fields of an autoscaler and of `spec.autoscaling`. It scales at Kubernetes' default speed.
fn scaling() -> Value {
    let target = json!({"type": "AverageValue", "averageValue": format!("{PER_POD}m")});
    let metric = json!({"type": "Resource", "resource": {"name": "cpu", "target": target}});
    json!({"minReplicas": 5, "maxReplicas": 100, "metrics": [metric]})
}

/// A recording that goes on.
struct Running {
    recorder: Recorder,
    began: Instant,
}

impl Running {
    /// Begins when all fifty pods are ready, here and in the other places, and returns when autoscaling is to be turned on.
    async fn begin(env: &Environment, start: &Barrier) -> Result<Self, Error> {
        let deployments = env.api::<Deployment>();
        baton_testbed::wait_for("fifty pods being ready", PATIENCE, async || {
            let found = deployments.get_opt("web").await.map_err(Error::api("read the Deployment"))?;
            let ready = found.and_then(|found| found.status?.ready_replicas).unwrap_or_default();
            Ok::<_, Error>(if ready == PODS { Ok(()) } else { Err(ready.to_string()) })
        })
        .await?;
        start.wait().await;
        let kinds = [ApiResource::erase::<Deployment>(&())];
        let recorder = Recorder::start(&env.cluster, env.ns(), &kinds, Some("web")).await?;
        let began = recorder.began();
        tokio::time::sleep_until(began + BEFORE).await;
        Ok(Self { recorder, began })
    }

    /// Ends the recording, and returns the changes.
    async fn end(self) -> Result<Vec<Change>, Error> {
        tokio::time::sleep_until(self.began + BEFORE + AFTER).await;
        let mut changes: Vec<Change> = Vec::new();
        for event in self.recorder.events().await? {
            let Ok(deployment) = event.object.clone().try_parse::<Deployment>() else { continue };
            let replicas = deployment.spec.and_then(|spec| spec.replicas).unwrap_or(1);
            let owners = baton_testbed::ReplicaOwner::all(&event.object.metadata);
            let change = Change {
                at: (event.at.as_secs_f64() * 1e3).round() / 1e3,
                replicas,
                owners: owners.into_iter().map(|owner| owner.manager).collect(),
            };
            if changes.last().is_none_or(|last| (last.replicas, &last.owners) != (replicas, &change.owners)) {
                changes.push(change);
            }
        }
        Ok(changes)
    }
}
