//! The users of one Workload: they edit it, have an external autoscaler for it, and load it. They do what was chosen, and log it.

use std::{fmt, sync::Mutex, time::Duration};

use baton_crd::{Workload, labels};
use baton_testbed::{Error, MetricsApi, PATIENCE, lock, wait_for};
use k8s_openapi::api::{apps::v1::Deployment, autoscaling::v2::HorizontalPodAutoscaler};
use kube::{
    Api, Client,
    api::{DeleteParams, Patch, PatchParams},
};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{
    choice::{Choice, Kind, PER_POD},
    seen::{Asked, Limits, Scaling},
};
use crate::{autoscaler, autoscaling, workload};

/// The field manager of the users.
const MANAGER: &str = "user";

/// What users did, in order.
#[derive(Debug)]
pub(super) struct Diary {
    began: Instant,
    entries: Mutex<Vec<Entry>>,
}

/// What a user did.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    /// Since the soak began.
    pub(super) at: Duration,
    /// The Workload.
    pub(super) workload: String,
    /// The kind of switch, if it is one.
    pub(super) kind: Option<Kind>,
    /// What was done, for people.
    pub(super) what: String,
}

impl Diary {
    pub(super) fn new(began: Instant) -> Self {
        Self { began, entries: Mutex::default() }
    }

    pub(super) fn entries(&self) -> Vec<Entry> {
        lock(&self.entries).clone()
    }

    /// How often each kind of switch was done.
    pub(super) fn switches(&self) -> [(Kind, usize); Kind::ALL.len()] {
        let entries = self.entries();
        Kind::ALL.map(|kind| (kind, entries.iter().filter(|entry| entry.kind == Some(kind)).count()))
    }

    fn write(&self, workload: &str, kind: Option<Kind>, what: impl fmt::Display) {
        let (workload, what) = (workload.to_owned(), what.to_string());
        let entry = Entry { at: self.began.elapsed(), workload, kind, what };
        lock(&self.entries).push(entry);
    }
}

/// The users of one Workload.
pub(super) struct User<'a> {
    name: String,
    namespace: &'a str,
    client: Client,
    metrics: &'a MetricsApi,
    diary: &'a Diary,
    /// The limits of their own autoscaler, while there is one.
    external: Option<Limits>,
}

impl<'a> User<'a> {
    pub(super) fn new(
        name: String,
        namespace: &'a str,
        client: Client,
        metrics: &'a MetricsApi,
        diary: &'a Diary,
    ) -> Self {
        Self { name, namespace, client, metrics, diary, external: None }
    }

    /// Sets the load, in pods.
    pub(super) fn load(&self, pods: u32) {
        self.diary.write(&self.name, None, format!("load for {pods} pods"));
        self.metrics.set_cpu(self.namespace, &format!("{}={}", labels::WORKLOAD, self.name), pods * PER_POD);
    }

    /// Applies the Workload.
    pub(super) async fn apply(&self, kind: Option<Kind>, asked: &Asked) -> Result<(), Error> {
        let what = kind.map_or_else(|| asked.to_string(), |kind| format!("{kind}: {asked}"));
        self.diary.write(&self.name, kind, what);
        let workloads: Api<Workload> = Api::namespaced(self.client.clone(), self.namespace);
        let (params, body) = (PatchParams::apply(MANAGER), workload(&self.name, &spec(asked)));
        let applied = workloads.patch(&self.name, &params, &Patch::Apply(body)).await;
        applied.map(|_| ()).map_err(Error::api(format!("apply the Workload {}", self.name)))
    }

    /// Waits until the Deployment exists. If the Workload lost its replica count before, the Deployment would correctly start with
    /// the API server's default.
    pub(super) async fn until_created(&self) -> Result<(), Error> {
        let deployments: Api<Deployment> = Api::namespaced(self.client.clone(), self.namespace);
        wait_for(&format!("the Deployment {} being created", self.name), PATIENCE, async || {
            let found = deployments.get_opt(&self.name).await.map_err(Error::api("read a Deployment"))?;
            Ok(found.map(drop).ok_or_else(|| "see the operator's log".to_owned()))
        })
        .await
    }

    /// Does what was chosen, without the loads and the pause.
    pub(super) async fn switch(&mut self, choice: &Choice) -> Result<(), Error> {
        if choice.external == self.external {
            return self.apply(Some(choice.kind), &choice.asked).await;
        }
        if choice.external_first {
            self.scale_by(choice.external).await?;
            tokio::time::sleep(choice.lag).await;
            self.apply(Some(choice.kind), &choice.asked).await
        } else {
            self.apply(Some(choice.kind), &choice.asked).await?;
            tokio::time::sleep(choice.lag).await;
            self.scale_by(choice.external).await
        }
    }

    /// Creates, changes or deletes the external autoscaler.
    async fn scale_by(&mut self, limits: Option<Limits>) -> Result<(), Error> {
        let name = format!("{}-external", self.name);
        let autoscalers: Api<HorizontalPodAutoscaler> = Api::namespaced(self.client.clone(), self.namespace);
        if let Some(limits) = limits {
            self.diary.write(&self.name, None, format!("an external autoscaler, from {limits}"));
            let (params, body) =
                (PatchParams::apply(MANAGER), autoscaler(&name, &self.name, scaling(limits)));
            let applied = autoscalers.patch(&name, &params, &Patch::Apply(body)).await;
            applied.map_err(Error::api(format!("apply the autoscaler {name}")))?;
        } else {
            self.diary.write(&self.name, None, "no external autoscaler");
            let deleted = autoscalers.delete(&name, &DeleteParams::default()).await;
            deleted.map_err(Error::api(format!("delete the autoscaler {name}")))?;
        }
        self.external = limits;
        Ok(())
    }
}

/// The spec of a Workload that asks for this.
pub(crate) fn spec(asked: &Asked) -> Value {
    let mut spec = json!({});
    if let Some(number) = asked.replicas {
        spec["replicas"] = number.into();
    }
    match asked.scaling {
        Scaling::Absent => {}
        Scaling::Own(limits) => spec["autoscaling"] = scaling(limits),
        Scaling::External => spec["autoscaling"] = json!({"external": {}}),
    }
    spec
}

/// The spec of an autoscaler with these limits.
pub(crate) fn scaling(limits: Limits) -> Value {
    let target = json!({"type": "AverageValue", "averageValue": format!("{PER_POD}m")});
    autoscaling(limits.min, limits.max, &target)
}
