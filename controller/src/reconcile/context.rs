//! The context that all passes share: the way to the API server, the caches, the queue and the records.

use std::{
    collections::BTreeSet,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use baton_apply::{
    ApiError, Applier, DryRun, LiveObject, Request, SchemaCache, Target, cache::NamespacedName,
    crd::CrdGuard, with_timeout,
};
use baton_crd::Workload;
use baton_runtime::{
    clock::{Clock, now},
    lock,
    pace::{ObjectKey, Passes},
    text::with_causes,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{
    Api, Client, Resource as _, ResourceExt,
    api::ListParams,
    runtime::events::{Event, Recorder, Reporter},
};
use tokio::sync::{Semaphore, SemaphorePermit};
use tracing::warn;

use super::{
    observer::CountingObserver,
    records::{Record, Records},
};
use crate::{
    decide::{
        child::ChildKind,
        replicas::{Autoscaler, ScaleTarget},
    },
    metrics::Metrics,
    observe::{PAGE, Stores, WatchedWorkload, older_crd, workloads_in},
    report::outdated_crd_event,
};

/// The context that all passes share.
pub(crate) struct Context {
    pub(crate) applier: Applier,
    pub(crate) clock: Clock,
    pub(crate) stores: Stores,
    pub(crate) crd: CrdGuard,
    pub(crate) metrics: Metrics,
    pub(crate) passes: Passes,
    client: Client,
    reporter: Reporter,
    /// How long a request may take.
    limit: Duration,
    records: Mutex<Records>,
    /// How much more large passes may read, in bytes of text.
    room: Semaphore,
    /// Counts how often every Workload was to be reconciled again.
    rounds: AtomicU64,
}

/// How long to wait for a newer version of a child in the cache.
const LONGEST_WAIT: Duration = Duration::from_millis(500);

/// How long a pass waits until it is known whether the CRD is complete.
pub(super) const CRD_IS_KNOWN_WITHIN: Duration = Duration::from_secs(2);

/// How long a pass waits until an Event is stored.
const EVENT_WITHIN: Duration = Duration::from_secs(5);

/// How much all passes that read more than [`LARGE`] may read at the same time, in bytes of text. In memory it becomes up to thirty
/// times as much.
const ROOM: u32 = 2 << 20;
/// A pass that reads less than this doesn't wait for room.
const LARGE: usize = 64 << 10;

impl Context {
    /// Gives each request this long, and signs Events with the name of its pod if it has one.
    pub(crate) fn new(
        client: Client,
        schemas: Option<SchemaCache>,
        (stores, crd): (Stores, CrdGuard),
        metrics: Metrics,
        clock: Clock,
        limit: Duration,
        (records, passes): (Records, Passes),
    ) -> Self {
        let instance = std::env::var("HOSTNAME").ok();
        let reporter = Reporter { controller: "baton.rs/baton".to_owned(), instance };
        let applier = Applier::new(client.clone(), schemas, limit).with_clock(move || clock.timestamp());
        Self {
            applier: applier.observed_by(CountingObserver::new(metrics.clone())),
            clock,
            stores,
            crd,
            metrics,
            passes,
            reporter,
            client,
            limit,
            records: Mutex::new(records),
            room: Semaphore::new(ROOM as usize),
            rounds: AtomicU64::default(),
        }
    }

    /// Every Workload is to be reconciled again, even if nothing seems to have changed.
    pub(crate) fn reconcile_all(&self) {
        self.rounds.fetch_add(1, Ordering::Relaxed);
    }

    /// How often every Workload was to be reconciled again.
    pub(crate) fn rounds(&self) -> u64 {
        self.rounds.load(Ordering::Relaxed)
    }

    /// Waits until there is room for what a pass for this Workload reads, if that is large. The room is free again when the permit is
    /// dropped.
    pub(super) async fn room_for(&self, workload: &WatchedWorkload) -> Option<SemaphorePermit<'_>> {
        let size = Some(self.stores.size_of(workload)).filter(|size| *size > LARGE)?;
        let share = u32::try_from(size).unwrap_or(ROOM).min(ROOM);
        // It is never closed, so there is no error.
        self.passes.patiently(key(workload), self.room.acquire_many(share)).await.ok()
    }

    /// Waits until the caches are filled and the schemas are read.
    pub(crate) async fn ready(&self) {
        self.stores.ready().await;
        self.applier.ready().await;
    }

    /// The record of a Workload.
    pub(crate) fn record<T>(&self, workload: &impl ResourceExt, with: impl FnOnce(&mut Record) -> T) -> T {
        let uid = workload.uid().unwrap_or_default();
        with(lock(&self.records).of(key(workload), &uid, now()))
    }

    /// The children that the last pass may have left. The last pass of an earlier process may have ended before it wrote a status.
    pub(super) fn left(&self, workload: &Workload) -> BTreeSet<ChildKind> {
        self.record(workload, |record| record.memo.children.clone()).unwrap_or_else(|| {
            let observed = workload.status.as_ref().and_then(|status| status.observed_generation);
            let was_edited = workload.metadata.generation.is_some_and(|generation| generation > 1);
            let may_be_left = was_edited && observed != workload.metadata.generation;
            ChildKind::ALL.into_iter().filter(|_| may_be_left).collect()
        })
    }

    /// A Workload is gone.
    pub(crate) fn forget(&self, workload: &ObjectKey) {
        lock(&self.records).forget(workload);
    }

    /// How long a pass is deferred whose next write has low priority; none where it can be sent.
    pub(super) fn deferral(&self, workload: &Workload) -> Option<Duration> {
        let now = now();
        let others_are_due = self.passes.queue(|queue| queue.has_due(now));
        let uid = workload.uid().unwrap_or_default();
        lock(&self.records).deferral(key(workload), &uid, others_are_due, now)
    }

    /// Whether passes wait for their writes.
    pub(crate) fn is_busy(&self) -> bool {
        lock(&self.records).rate.is_busy(now())
    }

    /// Waits for the moment of the next write.
    pub(crate) async fn write_comes(&self) {
        let wait = lock(&self.records).rate.take(now());
        if !wait.is_zero() {
            tokio::time::sleep(wait).await;
        }
    }

    /// Sends a write when its moment comes.
    pub(crate) async fn send(&self, request: &Request) -> Result<Option<LiveObject>, ApiError> {
        self.write_comes().await;
        // A child has the name of its Workload.
        let Target { namespace, name, .. } = &request.target;
        let workload = (namespace.clone().unwrap_or_default(), name.clone());
        self.passes.patiently(workload, self.applier.send(request, DryRun::No)).await
    }

    /// Writes an Event. One that can't be written is logged; the status reports the same.
    pub(crate) async fn publish(&self, workload: &impl ResourceExt<DynamicType = ()>, event: &Event) {
        let reference = workload.object_ref(&());
        self.write_comes().await;
        // A shared Recorder would deduplicate by scanning its cache; our Events rarely repeat.
        let recorder = Recorder::new(self.client.clone(), self.reporter.clone());
        let published = with_timeout(self.limit.min(EVENT_WITHIN), recorder.publish(event, &reference));
        if let Err(error) = self.passes.patiently(key(workload), published).await {
            warn!(workload = workload.name_any(), error = with_causes(&error), "can't write an Event");
        }
    }

    /// Whether the API server returns the Workload as its author wrote it. If not, neither its status nor its children may be written: any
    /// write would store it without what the CRD lacks. An Event reports that once. All Workloads are reconciled again once the CRD
    /// is complete. None if that isn't known yet: the pass ends, so that it neither keeps its slot nor keeps the operator from stopping.
    pub(super) async fn has_complete_crd(
        &self,
        workload: &impl ResourceExt<DynamicType = ()>,
    ) -> Option<bool> {
        let verified = tokio::time::timeout(CRD_IS_KNOWN_WITHIN, self.crd.verified()).await.ok()?;
        let is_news = self.record(workload, |record| record.memo.is_under_older_crd(verified.is_err()));
        if let (Err(older), true) = (&verified, is_news) {
            self.publish(workload, &outdated_crd_event(&older_crd(older))).await;
        }
        Some(verified.is_ok())
    }

    /// Reads a child from the API server, past every cache; absent where there is none.
    pub(crate) async fn read_child(
        &self,
        workload: &Workload,
        child: ChildKind,
    ) -> Result<Option<LiveObject>, ApiError> {
        self.passes.patiently(key(workload), self.applier.read(&child.target(workload))).await
    }

    /// A version of a child after the one that was read: from its watch, once its controllers have observed it; from the API server, where
    /// the watch shows none soon.
    pub(crate) async fn newer_child(
        &self,
        workload: &Workload,
        child: ChildKind,
        than: Option<&LiveObject>,
    ) -> Result<Option<LiveObject>, ApiError> {
        if let Some(than) = than {
            let newer = self.stores.newer_child(child, than, LONGEST_WAIT);
            if let Some(newer) = newer.await {
                return Ok(Some(newer));
            }
        }
        self.read_child(workload, child).await
    }

    /// Reads the Workload's metadata from the API server; absent where it is gone.
    pub(crate) async fn read_workload(&self, workload: &Workload) -> Result<Option<ObjectMeta>, ApiError> {
        let namespace = workload.namespace().unwrap_or_default();
        // As kube's type, metadata can't be read if an entry of `managedFields` is nested deep.
        let api = workloads_in(&self.client, Some(&namespace));
        let read = async { with_timeout(self.limit, api.get_opt(&workload.name_any())).await };
        let now = self.passes.patiently(key(workload), read).await?;
        Ok(now.map(|now| now.meta().clone()))
    }

    /// Reads from the API server which HorizontalPodAutoscalers scale the Workload's Deployment.
    pub(crate) async fn read_autoscalers(&self, workload: &Workload) -> Result<Vec<Autoscaler>, ApiError> {
        let namespace = workload.namespace().unwrap_or_default();
        let resource = ChildKind::Autoscaler.api_resource();
        let api: Api<LiveObject> = Api::namespaced_with(self.client.clone(), &namespace, &resource);
        let (target, mut scaling) = (ScaleTarget::of(workload), Vec::new());
        let mut params = ListParams::default().limit(PAGE);
        loop {
            let page =
                self.passes.patiently(key(workload), with_timeout(self.limit, api.list(&params))).await?;
            let of_page = page.iter().filter_map(Autoscaler::of).filter(|(scaled, _)| *scaled == target);
            scaling.extend(of_page.map(|(_, autoscaler)| autoscaler));
            match page.metadata.continue_.filter(|token| !token.is_empty()) {
                Some(token) => params.continue_token = Some(token),
                None => return Ok(scaling),
            }
        }
    }
}

pub(super) fn key(workload: &impl ResourceExt) -> ObjectKey {
    NamespacedName::of(workload).into()
}
