//! What all passes of the loop share: the way to the API server, the caches, and what is remembered for the sake of pace.

use std::{sync::Mutex, time::Duration};

use baton_apply::{ApiError, Applier, LiveObject, SchemaCache, bounded};
use baton_crd::Workload;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{
    Api, Client, Resource, ResourceExt,
    api::ListParams,
    runtime::events::{Event, Recorder, Reporter},
};
use tracing::warn;

use super::{
    observer::CountingObserver,
    pace::{Pace, WorkloadPace},
};
use crate::{
    causes::with_causes,
    clock::{Clock, now},
    decide::{
        child::ChildKind,
        replicas::{Autoscaler, ScaleTarget},
    },
    lock::lock,
    metrics::Metrics,
    observe::{Definition, Stores},
};

/// What every pass shares.
pub(crate) struct Context {
    pub(crate) applier: Applier,
    pub(crate) clock: Clock,
    pub(crate) stores: Stores,
    pub(crate) definition: Definition,
    pub(crate) metrics: Metrics,
    client: Client,
    recorder: Recorder,
    /// How long a request may take.
    limit: Duration,
    pace: Mutex<Pace>,
}

impl Context {
    /// Gives each request this long, and signs Events with the name of its pod if it has one. Each Workload is applied for real
    /// about every `resync`.
    pub(crate) fn new(
        client: Client,
        schemas: Option<SchemaCache>,
        (stores, definition): (Stores, Definition),
        metrics: Metrics,
        clock: Clock,
        limit: Duration,
        resync: Duration,
    ) -> Self {
        let instance = std::env::var("HOSTNAME").ok();
        let reporter = Reporter { controller: "baton.rs/baton".to_owned(), instance };
        let applier = Applier::new(client.clone(), schemas, limit).with_clock(move || clock.timestamp());
        Self {
            applier: applier.observed_by(CountingObserver::new(metrics.clone())),
            clock,
            stores,
            definition,
            metrics,
            recorder: Recorder::new(client.clone(), reporter),
            client,
            limit,
            pace: Mutex::new(Pace::new(resync)),
        }
    }

    /// Waits until there is something to see and something to predict with.
    pub(crate) async fn ready(&self) {
        self.stores.ready().await;
        self.applier.ready().await;
    }

    /// What is remembered of a Workload.
    pub(crate) fn record<T>(
        &self,
        workload: &impl ResourceExt,
        with: impl FnOnce(&mut WorkloadPace) -> T,
    ) -> T {
        let key = (workload.namespace().unwrap_or_default(), workload.name_any());
        let uid = workload.uid().unwrap_or_default();
        with(lock(&self.pace).of(key, &uid, now()))
    }

    /// A Workload is gone.
    pub(crate) fn forget(&self, namespace: &str, name: &str) {
        lock(&self.pace).forget(&(namespace.to_owned(), name.to_owned()));
    }

    /// An Event that is lost is lost; the status says the same.
    pub(crate) async fn publish(&self, workload: &Workload, event: &Event) {
        let reference = workload.object_ref(&());
        if let Err(error) = bounded(self.limit, self.recorder.publish(event, &reference)).await {
            warn!(workload = workload.name_any(), error = with_causes(&error), "can't write an Event");
        }
    }

    /// Reads a child from the API server, past every cache; absent where there is none.
    pub(crate) async fn read_child(
        &self,
        workload: &Workload,
        child: ChildKind,
    ) -> Result<Option<LiveObject>, ApiError> {
        self.applier.read(&child.target(workload)).await
    }

    /// Reads from the API server which Workload it is now; absent where it is gone.
    pub(crate) async fn read_workload(&self, workload: &Workload) -> Result<Option<ObjectMeta>, ApiError> {
        let namespace = workload.namespace().unwrap_or_default();
        let api: Api<Workload> = Api::namespaced(self.client.clone(), &namespace);
        let now = bounded(self.limit, api.get_metadata_opt(&workload.name_any())).await?;
        Ok(now.map(|now| now.metadata))
    }

    /// Reads from the API server which HorizontalPodAutoscalers scale the Workload's Deployment.
    pub(crate) async fn read_autoscalers(&self, workload: &Workload) -> Result<Vec<Autoscaler>, ApiError> {
        let namespace = workload.namespace().unwrap_or_default();
        let resource = ChildKind::Autoscaler.api_resource();
        let api: Api<LiveObject> = Api::namespaced_with(self.client.clone(), &namespace, &resource);
        let all = bounded(self.limit, api.list(&ListParams::default())).await?;
        let target = ScaleTarget::of(workload);
        let scaling = all.iter().filter_map(Autoscaler::of).filter(|(scaled, _)| *scaled == target);
        Ok(scaling.map(|(_, autoscaler)| autoscaler).collect())
    }
}
