//! The caches of Workloads and of the objects around each: its children, which have its name, and all HorizontalPodAutoscalers that
//! scale its Deployment, Baton's or not.
//!
//! Passes read from these caches: in a cluster without changes, only the watches cost requests.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use baton_apply::{
    LiveObject,
    cache::{Cache, CachedObject, Digest, NamespacedName, Packer, digest_of},
};
use baton_crd::{Workload, labels};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{
    Resource as _, ResourceExt,
    core::ApiResource,
    runtime::watcher::{self, Event},
};
use tokio::sync::Notify;

use super::{WatchedWorkload, autoscalers::Autoscalers};
use crate::decide::{
    child::ChildKind,
    replicas::{Autoscaler, Scales},
    snapshot::{Snapshot, shard_of},
};

/// The name of the Workloads' watch.
pub(super) const WORKLOADS: &str = "Workloads";

/// The cache of Workloads. Clones share it.
pub(crate) type Workloads = Cache<WatchedWorkload>;

/// An event of a watch, or its failure.
type Delivered = watcher::Result<Event<LiveObject>>;

/// The caches of all Workloads and of the objects around them. Clones share them.
#[derive(Clone)]
pub(crate) struct Stores {
    pub(crate) workloads: Workloads,
    /// By kind. Only children of Workloads that exist are cached: anyone can make an object with the labels of a child, and it may be
    /// large.
    children: [Cache; ChildKind::ALL.len()],
    autoscalers: Autoscalers,
    /// Notified at each event of a child.
    changed: Arc<Notify>,
}

/// The digests of the objects around a Workload. Missing objects have none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Digests {
    /// The digests of the children without their status, by kind.
    children: [u64; ChildKind::ALL.len()],
    autoscalers: u64,
    /// The digest of the Deployment's status, which is only reported.
    pub(crate) status: u64,
}

impl Digests {
    /// The digests without what is only reported.
    pub(crate) fn but_status(&self) -> Self {
        Self { status: 0, ..self.clone() }
    }

    /// The digest of a child without its status.
    pub(crate) fn child(&self, kind: ChildKind) -> u64 {
        self.children[kind as usize]
    }

    fn put(&mut self, kind: ChildKind, digest: Digest) {
        self.children[kind as usize] = digest.but_status;
        if kind == ChildKind::Deployment {
            self.status = digest.status;
        }
    }

    /// Records the autoscalers that a pass has read.
    pub(crate) fn put_autoscalers(&mut self, autoscalers: &[Autoscaler]) {
        self.autoscalers = digest_of(autoscalers);
    }
}

impl Stores {
    /// Empty, for the Workloads of a shard and their children.
    pub(crate) fn of_shard(shard: Option<&str>) -> Self {
        let packer = Packer::new(ApiResource::erase::<Workload>(&()));
        let workloads = Cache::keeping(move |live| Some(WatchedWorkload::new(live, &packer)));
        let shard: Option<Arc<str>> = shard.map(Into::into);
        let children = ChildKind::ALL.map(|kind| {
            let (packer, workloads) = (Packer::new(kind.api_resource()), Workloads::clone(&workloads));
            let shard = shard.clone();
            Cache::keeping(move |live| {
                let NamespacedName { namespace, name } = NamespacedName::of(live);
                let is_child =
                    is_ours(live.meta(), shard.as_deref()) && workloads.get(&namespace, &name).is_some();
                is_child.then(|| packer.pack(live, digest_of_child(kind, live)))
            })
        });
        let autoscalers = Autoscalers::new(move |live| {
            // The child of another shard's Workload scales that Workload's Deployment.
            let is_elsewhere = is_labelled(live.meta()) && !is_ours(live.meta(), shard.as_deref());
            Autoscaler::of(live).filter(|(target, one)| {
                let is_child = one.scales != Scales::Workload && target.deployment == one.name;
                !(is_elsewhere && is_child)
            })
        });
        Self { workloads, children, autoscalers, changed: Arc::default() }
    }

    /// Adds a watch of Workloads. The returned function delivers its events to the cache, and returns the Workloads that each changes.
    pub(super) fn feed_workloads(
        &self,
        namespace: Option<&str>,
    ) -> impl FnMut(&Delivered) -> Vec<NamespacedName> + Send + 'static + use<> {
        let (mut feed, children) = (self.workloads.watch(namespace), self.children.clone());
        move |event| {
            let changed = feed.deliver(event);
            // Children that are left are read when there is a Workload of that name again.
            for gone in changed.iter().filter(|changed| changed.after.is_none()) {
                let NamespacedName { namespace, name } = &gone.name;
                for cache in &children {
                    cache.forget(namespace, name);
                }
            }
            changed.into_iter().map(|changed| changed.name).collect()
        }
    }

    /// Adds a watch of a kind of child, as [`feed_workloads`](Self::feed_workloads) does. That of HorizontalPodAutoscalers delivers all of
    /// them.
    pub(super) fn feed_children(
        &self,
        kind: ChildKind,
        namespace: Option<&str>,
    ) -> impl FnMut(&Delivered) -> Vec<NamespacedName> + Send + 'static + use<> {
        let (autoscalers, notify) = (self.autoscalers.clone(), self.changed.clone());
        let mut scaling = (kind == ChildKind::Autoscaler).then(|| autoscalers.watch(namespace));
        let mut feed = self.children[kind as usize].watch(namespace);
        move |event| {
            let scaled = scaling.as_mut().map(|feed| autoscalers.deliver(feed, event));
            let mut changed: Vec<_> = feed.deliver(event).into_iter().map(|changed| changed.name).collect();
            notify.notify_waiters();
            changed.extend(scaled.into_iter().flatten());
            changed.dedup();
            changed
        }
    }

    /// Each kind with whether the first list of each of its watches is in the cache, and for how long one has been failing, if one is.
    fn kinds(&self) -> impl Iterator<Item = (&'static str, bool, Option<Duration>)> {
        let workloads = (WORKLOADS, self.workloads.is_filled(), self.workloads.failing_for());
        let children = ChildKind::ALL.into_iter().zip(&self.children);
        let children = children.map(|(kind, cache)| (kind.name(), cache.is_filled(), cache.failing_for()));
        [workloads].into_iter().chain(children)
    }

    /// Waits until the first list of each watch is in the cache.
    pub(crate) async fn ready(&self) {
        self.workloads.filled().await;
        for cache in &self.children {
            cache.filled().await;
        }
    }

    /// The kinds without a complete list yet.
    pub(crate) fn unfilled(&self) -> BTreeSet<&'static str> {
        self.kinds().filter(|(_, is_filled, _)| !is_filled).map(|(kind, ..)| kind).collect()
    }

    /// The kinds whose watches have been failing for at least this long, with the seconds. The reasons are in the log.
    pub(crate) fn failing_for(&self, limit: Duration) -> BTreeMap<&'static str, u64> {
        let failing = self.kinds().filter_map(|(kind, _, failing)| Some((kind, failing?)));
        failing.filter(|(_, time)| *time >= limit).map(|(kind, time)| (kind, time.as_secs())).collect()
    }

    /// The cached children of a Workload, by kind.
    fn children(&self, of: &impl ResourceExt) -> impl Iterator<Item = (ChildKind, Arc<CachedObject>)> {
        let NamespacedName { namespace, name } = NamespacedName::of(of);
        let children = ChildKind::ALL.into_iter().zip(&self.children);
        children.filter_map(move |(kind, cache)| Some((kind, cache.get(&namespace, &name)?)))
    }

    fn autoscalers(&self, of: &impl ResourceExt) -> Vec<Autoscaler> {
        let NamespacedName { namespace, name } = NamespacedName::of(of);
        self.autoscalers.of(namespace, name)
    }

    /// A Workload with its cached children and the cached autoscalers of its Deployment.
    pub(crate) fn snapshot_of(&self, workload: Arc<Workload>) -> (Snapshot, Digests) {
        let (mut children, mut digests) = (BTreeMap::new(), Digests::default());
        for (kind, child) in self.children(&*workload) {
            digests.put(kind, child.digest());
            children.insert(kind, child.live());
        }
        let autoscalers = self.autoscalers(&*workload);
        digests.put_autoscalers(&autoscalers);
        (Snapshot::new(workload, children, autoscalers), digests)
    }

    /// The digests of the objects around a Workload.
    pub(crate) fn digests_around(&self, workload: &WatchedWorkload) -> Digests {
        let mut digests = Digests::default();
        for (kind, child) in self.children(workload) {
            digests.put(kind, child.digest());
        }
        digests.put_autoscalers(&self.autoscalers(workload));
        digests
    }

    /// How many bytes of text a pass for this Workload would read.
    pub(crate) fn size_of(&self, workload: &WatchedWorkload) -> usize {
        workload.size() + self.children(workload).map(|(_, child)| child.size()).sum::<usize>()
    }

    /// The cached Workload, if there is one.
    pub(crate) fn workload(&self, which: &impl ResourceExt) -> Option<Arc<WatchedWorkload>> {
        let NamespacedName { namespace, name } = NamespacedName::of(which);
        self.workloads.get(&namespace, &name)
    }

    /// Waits, up to the limit, for a newer version of a child that its controllers have observed. If there is none, returns the
    /// newest; none if there is no newer one.
    pub(crate) async fn newer_child(
        &self,
        child: ChildKind,
        than: &LiveObject,
        limit: Duration,
    ) -> Option<LiveObject> {
        let (cache, is_observed, mut newest) = (&self.children[child as usize], child.is_observed(), None);
        let found = async {
            loop {
                let changed = self.changed.notified();
                if let Some(newer) = cache.newer_than(newest.as_ref().unwrap_or(than))
                    && is_observed(newest.insert(newer.live()))
                {
                    return;
                }
                changed.await;
            }
        };
        // At the limit, the newest version is returned even if it isn't observed.
        let _ = tokio::time::timeout(limit, found).await;
        newest
    }

    /// Caches a child that the API server has just returned, so that the next pass sees what Baton wrote, and records its digest in
    /// `around`. A deletion is seen once the watch delivers it. A child without this shard's labels isn't cached, since no watch would
    /// report its next changes.
    pub(crate) fn take_child(&self, child: ChildKind, returned: Option<&LiveObject>, around: &mut Digests) {
        let digest = returned.map(|live| {
            let cached = self.children[child as usize].store(live);
            cached.map_or_else(|| digest_of_child(child, live), |cached| cached.digest())
        });
        around.put(child, digest.unwrap_or_default());
        self.changed.notify_waiters();
    }

    /// Caches a Workload that the API server has just returned.
    pub(crate) fn take_workload(&self, live: &LiveObject) -> Arc<WatchedWorkload> {
        self.workloads.store(live).expect("every Workload is kept")
    }
}

/// The digest of what decides about a child or is reported of it: of the status, only a Deployment's, once it describes the current
/// generation. This stays here because only Baton knows which status it reads.
fn digest_of_child(kind: ChildKind, live: &LiveObject) -> Digest {
    let digest = Digest::of(live);
    let has_status = kind == ChildKind::Deployment && !kind.status_is_outdated(live);
    if has_status { digest } else { digest.without_status() }
}

/// Whether an object has the label of Baton's children, in any shard.
fn is_labelled(metadata: &ObjectMeta) -> bool {
    let by = metadata.labels.as_ref().and_then(|all| all.get(labels::MANAGED_BY));
    by.is_some_and(|by| by == labels::MANAGED_BY_BATON)
}

/// Whether it has the labels of this shard's children.
fn is_ours(metadata: &ObjectMeta, shard: Option<&str>) -> bool {
    is_labelled(metadata) && shard_of(metadata) == shard
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const NONE: [&str; 0] = [];

    fn live(object: Value) -> LiveObject {
        LiveObject::from_json(object).unwrap()
    }

    /// An object with the label of Baton's children.
    fn child_at(version: u32, name: &str, spec: &Value) -> Value {
        let labels = json!({"app.kubernetes.io/managed-by": "baton"});
        let metadata = json!({
            "name": name, "namespace": "ns", "uid": "u", "resourceVersion": version.to_string(), "labels": labels,
        });
        json!({"metadata": metadata, "spec": spec})
    }

    fn child(version: u32, name: &str) -> LiveObject {
        live(child_at(version, name, &json!({"at": version})))
    }

    /// The spec of an autoscaler of this Deployment.
    fn scaling(target: &str) -> Value {
        let reference = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": target});
        json!({"scaleTargetRef": reference, "minReplicas": 2, "maxReplicas": 5})
    }

    /// An autoscaler without Baton's label.
    fn autoscaler(name: &str, target: &str) -> LiveObject {
        live(json!({"metadata": {"name": name, "namespace": "ns"}, "spec": scaling(target)}))
    }

    fn workload(name: &str) -> LiveObject {
        let metadata = json!({"name": name, "namespace": "ns", "uid": "u", "resourceVersion": "1"});
        live(json!({"metadata": metadata, "spec": {}}))
    }

    /// The caches of a shard, with some Workloads.
    fn of_shard(shard: Option<&str>) -> Stores {
        let stores = Stores::of_shard(shard);
        let mut feed = stores.feed_workloads(None);
        for name in ["a", "b", "web", "db"] {
            assert_eq!(deliver(&mut feed, Event::Apply(workload(name))), [name]);
        }
        stores
    }

    /// The names of the Workloads that an event concerns.
    fn deliver(
        feed: &mut impl FnMut(&Delivered) -> Vec<NamespacedName>,
        event: Event<LiveObject>,
    ) -> Vec<String> {
        feed(&Ok(event)).into_iter().map(|touched| touched.name).collect()
    }

    /// The names of the autoscalers that scale a Deployment.
    fn scalers(stores: &Stores, deployment: &str) -> Vec<String> {
        let scaling = stores.autoscalers.of("ns".to_owned(), deployment.to_owned());
        scaling.into_iter().map(|autoscaler| autoscaler.name).collect()
    }

    fn has_no_children(stores: &Stores) -> bool {
        stores.children.iter().all(Cache::is_empty) && stores.autoscalers.is_empty()
    }

    #[test]
    fn a_child_that_loses_its_label_is_removed() {
        let stores = of_shard(None);
        let mut feed = stores.feed_children(ChildKind::Autoscaler, None);
        assert_eq!(deliver(&mut feed, Event::Apply(child(1, "a"))), ["a"]);
        let mut unlabelled = child_at(2, "a", &json!({}));
        unlabelled["metadata"]["labels"] = json!({});
        assert_eq!(deliver(&mut feed, Event::Apply(live(unlabelled))), ["a"]);
        assert!(has_no_children(&stores));
    }

    #[test]
    fn only_children_of_workloads_that_exist_are_cached() {
        let stores = of_shard(None);
        for kind in ChildKind::ALL {
            let mut feed = stores.feed_children(kind, None);
            for event in [Event::InitApply(child(1, "stray")), Event::Apply(child(2, "stray"))] {
                assert_eq!(deliver(&mut feed, event), NONE, "{kind}");
            }
            let mut digests = Digests::default();
            stores.take_child(kind, Some(&child(3, "stray")), &mut digests);
            assert_ne!(digests, Digests::default(), "{kind}: it was read");
            assert_eq!(deliver(&mut feed, Event::Apply(child(4, "a"))), ["a"], "{kind}");
            let never_cached = Event::Delete(child(5, "b"));
            assert_eq!(deliver(&mut feed, never_cached), ["b"], "{kind}: it may be older than its Workload");
        }
        assert_eq!(deliver(&mut stores.feed_workloads(None), Event::Delete(workload("a"))), ["a"]);
        assert!(has_no_children(&stores), "nothing is left");
        let mut feed = stores.feed_children(ChildKind::Autoscaler, None);
        assert_eq!(deliver(&mut feed, Event::Apply(autoscaler("stray", "web"))), ["web"]);
        assert_eq!(scalers(&stores, "web"), ["stray"], "it scales a Deployment nevertheless");
    }

    #[test]
    fn only_the_status_of_a_deployment_counts_once_it_is_current() {
        let stores = of_shard(None);
        for kind in ChildKind::ALL {
            let mut feed = stores.feed_children(kind, None);
            let mut at = |version, observed: u32| {
                let mut child = child_at(version, "web", &json!({}));
                child["metadata"]["generation"] = json!(2);
                child["status"] = json!({"observedGeneration": observed, "replicas": version});
                !deliver(&mut feed, Event::Apply(live(child))).is_empty()
            };
            let counts = [at(1, 1), at(2, 1), at(3, 2), at(4, 2)];
            let is_deployment = kind == ChildKind::Deployment;
            assert_eq!(counts, [true, false, is_deployment, is_deployment], "{kind}");
        }
    }

    #[test]
    fn a_shard_caches_its_own_children_and_what_else_scales_its_deployments() {
        let at = |version: u32, name: &str, shard: Option<&str>| {
            let mut child = child_at(version, name, &scaling("web"));
            if let Some(shard) = shard {
                child["metadata"]["labels"]["baton.rs/shard"] = json!(shard);
            }
            Event::Apply(live(child))
        };
        let shards = [None, Some("a"), Some("b")];
        for ours in shards {
            let stores = of_shard(ours);
            let mut feed = stores.feed_children(ChildKind::Autoscaler, None);
            for (version, shard) in (1..).zip(shards) {
                deliver(&mut feed, at(version, "web", shard));
                let kept = (stores.children(&workload("web")).count(), scalers(&stores, "web").len());
                assert_eq!(kept, if shard == ours { (1, 1) } else { (0, 0) }, "{shard:?} by {ours:?}");
            }
        }
        let stores = of_shard(Some("a"));
        deliver(&mut stores.feed_children(ChildKind::Autoscaler, None), at(1, "copied", Some("b")));
        assert_eq!(scalers(&stores, "web"), ["copied"]);
    }

    #[tokio::test(start_paused = true)]
    async fn waiting_for_a_newer_child_returns_the_first_that_is_observed() {
        let at = |version: u32| {
            let mut child = child_at(version, "a", &json!({"replicas": 0}));
            child["metadata"]["generation"] = json!(3);
            child["status"] = json!({"observedGeneration": version});
            live(child)
        };
        let stores = of_shard(None);
        let mut feed = stores.feed_children(ChildKind::Deployment, None);
        for (limit, expected) in [(10, Some("3")), (1, Some("2")), (0, None)] {
            deliver(&mut feed, Event::Apply(at(1)));
            let (limit, waiting) = (Duration::from_millis(1000 * limit + 500), stores.clone());
            let newer =
                tokio::spawn(async move { waiting.newer_child(ChildKind::Deployment, &at(1), limit).await });
            for version in 2..5 {
                tokio::time::sleep(Duration::from_secs(1)).await;
                deliver(&mut feed, Event::Apply(at(version)));
            }
            let newer = newer.await.unwrap().and_then(|live| live.resource_version());
            assert_eq!(newer.as_deref(), expected);
            deliver(&mut feed, Event::Delete(at(5)));
        }
        let late = stores.newer_child(ChildKind::Deployment, &at(1), Duration::ZERO).await;
        assert!(late.is_none() && has_no_children(&stores));
    }

    #[tokio::test(start_paused = true)]
    async fn a_watch_that_fails_for_long_is_reported_by_its_kind() {
        let stores = of_shard(None);
        let mut feed = stores.feed_children(ChildKind::Service, None);
        let minute = Duration::from_mins(1);
        feed(&Err(watcher::Error::NoResourceVersion));
        assert!(stores.failing_for(minute).is_empty(), "not yet");
        tokio::time::sleep(minute).await;
        assert_eq!(stores.failing_for(minute), BTreeMap::from([("Service", 60)]));
        assert_eq!(stores.unfilled(), BTreeSet::from(["Service", WORKLOADS]));
        feed(&Ok(Event::InitDone));
        assert!(stores.failing_for(minute).is_empty());
        assert_eq!(stores.unfilled(), BTreeSet::from([WORKLOADS]));
    }

    #[test]
    fn an_autoscaler_concerns_the_workloads_whose_deployments_it_scales_or_has_scaled() {
        let stores = of_shard(None);
        let mut feed = stores.feed_children(ChildKind::Autoscaler, None);
        let mut set = child_at(1, "of-a-set", &scaling("web"));
        set["spec"]["scaleTargetRef"]["kind"] = json!("StatefulSet");
        deliver(&mut feed, Event::Apply(live(set)));
        for (event, concerned, web, db) in [
            (Event::Apply(autoscaler("mine", "web")), &["web"][..], &["mine"][..], &[][..]),
            (Event::Apply(autoscaler("mine", "web")), &[], &["mine"], &[]),
            (Event::Apply(autoscaler("keda-hpa-web", "web")), &["web"], &["keda-hpa-web", "mine"], &[]),
            (Event::Apply(autoscaler("mine", "db")), &["web", "db"], &["keda-hpa-web"], &["mine"]),
            (Event::Delete(autoscaler("mine", "db")), &["db"], &["keda-hpa-web"], &[]),
            (Event::Delete(autoscaler("keda-hpa-web", "web")), &["web"], &[], &[]),
        ] {
            assert_eq!(deliver(&mut feed, event), concerned);
            assert_eq!([scalers(&stores, "web"), scalers(&stores, "db")], [web, db]);
        }
        assert!(stores.autoscalers.is_empty(), "nothing is left");
    }
}
