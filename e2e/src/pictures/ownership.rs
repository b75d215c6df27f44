//! The owners of a Deployment's fields, before, during and after a handover, recorded on the API server in the process.

use baton_apply::{
    LiveObject,
    ownership::{Owner, owners},
};
use baton_controller::decide::replicas::{REPLICAS, Replicas};
use baton_testbed::{Cluster, Error, PATIENCE, Recorder, wait_for};
use k8s_openapi::api::apps::v1::Deployment;
use kube::{
    api::{Patch, PatchParams},
    core::ApiResource,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

pub use super::ownership_plot::svg;
use crate::{
    Environment, OperatorOptions,
    containers::{image, image_owners},
    web,
};

/// A recording: what the server stored, moment by moment.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Recording {
    /// The release of the API server.
    pub kubernetes: String,
    /// In the order of the handover.
    pub moments: Vec<Moment>,
}

/// The Deployment after one write.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Moment {
    /// `spec.replicas`.
    pub replicas: Shown,
    /// The image of the Workload's container.
    pub image: Shown,
    /// The image of a sidecar that a service mesh applied.
    pub sidecar: Shown,
}

/// A field.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Shown {
    /// Its value.
    pub value: Value,
    /// The field managers that own it; `(scale)` marks a write of the `scale` subresource.
    pub owners: Vec<String>,
}

/// Records a handover.
///
/// # Errors
/// When a step fails.
pub async fn record() -> Result<Recording, Error> {
    let cluster = Cluster::in_process()?;
    let env = Environment::new(&cluster, "picture").await?;
    let version = env.client.apiserver_version().await.map_err(Error::api("read the version"))?;
    let operator = env.start_operator(OperatorOptions::default()).await?;
    let container = |name: &str, image: &str| json!({"name": name, "image": image});
    let template = json!({"spec": {"containers": [container("app", "nginx:1.29")]}});
    let mut workload = web(&json!({"replicas": 3, "template": template}));
    let kinds = [ApiResource::erase::<Deployment>(&())];
    let recorder = Recorder::start(&cluster, env.ns(), &kinds, Some("web")).await?;
    env.apply_as("user", &workload).await.map_err(Error::api("apply the Workload"))?;
    let deployments = env.api::<Deployment>();
    until(&recorder, "the Deployment", |_| true).await?;
    let sidecar = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
        "spec": {"template": {"spec": {"containers": [container("proxy", "envoy:1.36")]}}},
    });
    let applied = deployments.patch("web", &PatchParams::apply("mesh"), &Patch::Apply(&sidecar)).await;
    applied.map_err(Error::api("apply the sidecar"))?;
    workload["spec"]["autoscaling"] = json!({"minReplicas": 5, "maxReplicas": 10});
    env.apply_as("user", &workload).await.map_err(Error::api("apply the Workload"))?;
    let seen = until(&recorder, "the autoscaler's write", |live| Replicas::of(live).count == 5).await?;
    operator.stop().await?;
    let mut moments: Vec<Moment> = seen.iter().map(moment).collect();
    moments.retain(|moment| !moment.sidecar.owners.is_empty());
    moments.dedup_by(|later, earlier| later.replicas == earlier.replicas);
    Ok(Recording { kubernetes: version.git_version, moments })
}

/// The Deployment after each write, once one of them is like this.
async fn until(
    recorder: &Recorder,
    what: &str,
    holds: impl Fn(&LiveObject) -> bool,
) -> Result<Vec<LiveObject>, Error> {
    wait_for(what, PATIENCE, async || {
        let mut seen = Vec::new();
        for event in recorder.seen()? {
            let object = serde_json::to_value(&event.object).map_err(Error::parse("a Deployment"))?;
            seen.push(LiveObject::from_json(object).map_err(Error::parse("a Deployment"))?);
        }
        let found = seen.iter().any(&holds);
        Ok::<_, Error>(if found { Ok(seen) } else { Err("it isn't there yet".to_owned()) })
    })
    .await
}

fn moment(live: &LiveObject) -> Moment {
    let image = |name: &str| Shown {
        value: image(live, name).into(),
        owners: image_owners(live, name).into_iter().map(shown).collect(),
    };
    let owners = owners(live, REPLICAS).into_iter().map(shown).collect();
    Moment {
        replicas: Shown { value: Replicas::of(live).count.into(), owners },
        image: image("app"),
        sidecar: image("proxy"),
    }
}

fn shown(owner: Owner) -> String {
    match owner.subresource {
        None => owner.manager,
        Some(subresource) => format!("{} ({subresource})", owner.manager),
    }
}
