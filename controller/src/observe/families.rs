//! The objects around each Workload: its children, which have its name, and all HorizontalPodAutoscalers that scale its
//! Deployment, Baton's or not.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex},
    time::Duration,
};

use baton_apply::LiveObject;
use baton_crd::labels;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{
    Resource as _, ResourceExt,
    runtime::{
        reflector::{ObjectRef, Store},
        watcher::Event,
    },
};
use tokio::sync::Notify;

use super::{
    WatchedWorkload,
    digest::Digest,
    packed::{Dictionary, Packed},
    progress::Progress,
    version_of,
};
use crate::{
    decide::{
        child::ChildKind,
        replicas::{Autoscaler, ScaleTarget, Scales},
        snapshot::shard_of,
    },
    hash::digest_of,
    lock::lock,
};

/// The namespace and the name of a Workload, whether it exists or not.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FamilyName {
    pub(crate) namespace: String,
    pub(crate) name: String,
}

/// The surroundings of all Workloads. Clones share them.
#[derive(Clone)]
pub(crate) struct Families {
    all: Arc<Mutex<ByNamespace>>,
    /// The Workloads whose children are cached. Anyone can make an object with the labels of a child, and it may be large.
    workloads: Store<WatchedWorkload>,
    /// The shard whose children are cached; none for those without a shard.
    shard: Option<Arc<str>>,
    dictionaries: Arc<[Dictionary; ChildKind::ALL.len()]>,
    progress: [Progress; ChildKind::ALL.len()],
}

/// The families by name, by namespace.
type ByNamespace = HashMap<Box<str>, HashMap<Box<str>, Family>>;

#[derive(Default)]
struct Family {
    children: [Option<Packed>; ChildKind::ALL.len()],
    /// The HorizontalPodAutoscalers that scale this family's Deployment, by name.
    autoscalers: Vec<Autoscaler>,
    /// The family whose Deployment is scaled by the HorizontalPodAutoscaler with this family's name.
    scales: Option<Box<str>>,
    /// Notifies those who wait for a newer child.
    changed: Option<Arc<Notify>>,
}

/// A Workload's surroundings at one moment.
pub(crate) struct Seen {
    pub(crate) children: Vec<(ChildKind, LiveObject)>,
    pub(crate) autoscalers: Vec<Autoscaler>,
    pub(crate) digests: Digests,
}

/// The digests of the objects around a Workload. Missing objects have none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Digests {
    /// Of the children without their status, by kind.
    children: [u64; ChildKind::ALL.len()],
    autoscalers: u64,
    /// Of the Deployment's status, once it describes the current generation. It is the only status that is read, only for reports.
    pub(crate) status: u64,
}

impl Digests {
    /// The same without what is only reported.
    pub(crate) fn but_status(&self) -> Self {
        Self { status: 0, ..self.clone() }
    }

    /// Of a child without its status.
    pub(crate) fn child(&self, kind: ChildKind) -> u64 {
        self.children[kind as usize]
    }

    fn put(&mut self, kind: ChildKind, digest: Digest) {
        self.children[kind as usize] = digest.but_status;
        if kind == ChildKind::Deployment {
            self.status = digest.status;
        }
    }

    /// The autoscalers were seen in this state.
    pub(crate) fn put_autoscalers(&mut self, autoscalers: &[Autoscaler]) {
        self.autoscalers = digest_of(autoscalers);
    }
}

impl Families {
    /// Empty, for the children of these Workloads, which are a shard's.
    pub(super) fn new(shard: Option<&str>, workloads: Store<WatchedWorkload>) -> Self {
        Self {
            all: Arc::default(),
            workloads,
            shard: shard.map(Into::into),
            dictionaries: Arc::default(),
            progress: Default::default(),
        }
    }

    /// Whether an object is cached as a child: it has the labels, and its Workload exists.
    fn is_child(&self, object: &LiveObject, of: &FamilyName) -> bool {
        let workload = || self.workloads.get(&ObjectRef::new(&of.name).within(&of.namespace));
        self.is_ours(object.meta()) && workload().is_some()
    }

    /// Drops the children of a Workload that is gone. What is left of them is read when there is a Workload of that name again.
    pub(super) fn forget(&self, of: &FamilyName) {
        self.with(of, |family| family.children = Default::default());
    }

    /// Whether it has the labels of this shard's children.
    fn is_ours(&self, metadata: &ObjectMeta) -> bool {
        is_labelled(metadata) && shard_of(metadata) == self.shard.as_deref()
    }

    /// The objects around a Workload.
    pub(crate) fn seen(&self, of: &FamilyName) -> Seen {
        let (packed, autoscalers, digests) =
            self.with(of, |family| (family.children.clone(), family.autoscalers.clone(), family.digests()));
        let unpacked = |kind: ChildKind| {
            let packed = packed[kind as usize].as_ref()?;
            Some((kind, self.unpack(kind, packed)))
        };
        let children = ChildKind::ALL.into_iter().filter_map(unpacked).collect();
        Seen { children, autoscalers, digests }
    }

    /// The digests of the objects around a Workload.
    pub(crate) fn digests(&self, of: &FamilyName) -> Digests {
        self.with(of, |family| family.digests())
    }

    /// How many bytes the children of a Workload have as text.
    pub(super) fn size(&self, of: &FamilyName) -> usize {
        self.with(of, |family| family.children.iter().flatten().map(Packed::size).sum())
    }

    /// Waits, up to the limit, for a newer version of a child that satisfies this. If none does, returns the newest; none if there is
    /// no newer one.
    pub(super) async fn newer(
        &self,
        of: &FamilyName,
        kind: ChildKind,
        than: &LiveObject,
        satisfies: impl Fn(&LiveObject) -> bool,
        limit: Duration,
    ) -> Option<LiveObject> {
        let (mut version, mut newest) = (version_of(than.meta()), None);
        let found = async {
            loop {
                let notify = self.with(of, |family| family.changed.get_or_insert_default().clone());
                let changed = notify.notified();
                let newer = self.with(of, |family| {
                    let cached = family.children[kind as usize].as_ref();
                    cached.filter(|cached| cached.version > version).cloned()
                });
                if let Some(newer) = newer {
                    version = newer.version;
                    if satisfies(newest.insert(self.unpack(kind, &newer))) {
                        return;
                    }
                }
                changed.await;
            }
        };
        // At the limit, the newest version is returned even if it doesn't satisfy.
        let _ = tokio::time::timeout(limit, found).await;
        self.with(of, Family::forget_waiter);
        newest
    }

    /// Caches a child that the API server has just returned, and marks it as seen in `digests`. The watch would deliver it later. A
    /// child without this shard's labels isn't cached, since no watch would report its next changes, nor is one whose Workload is
    /// gone.
    pub(super) fn take(
        &self,
        of: &FamilyName,
        kind: ChildKind,
        returned: Option<&LiveObject>,
        digests: &mut Digests,
    ) {
        let packed = returned.map(|live| {
            let packed = self.pack(kind, live);
            (packed, self.is_child(live, of))
        });
        digests.put(kind, packed.as_ref().map(|(packed, _)| packed.digest).unwrap_or_default());
        if let Some((packed, true)) = packed
            && !self.progress[kind as usize].is_beyond(Some(&of.namespace), packed.version)
        {
            self.put(of, kind, packed, false);
        }
    }

    fn pack(&self, kind: ChildKind, live: &LiveObject) -> Packed {
        let mut digest = Digest::of(live.as_text());
        if kind.status_is_outdated(live) {
            digest.status = 0;
        }
        self.dictionaries[kind as usize].pack(live.as_text(), version_of(live.meta()), digest)
    }

    fn unpack(&self, kind: ChildKind, packed: &Packed) -> LiveObject {
        let text = self.dictionaries[kind as usize].unpack(packed);
        let mut live = LiveObject::from_text(text).expect("the text is an object's");
        live.fill_in_kind(&kind.api_resource());
        live
    }

    fn with<T>(&self, of: &FamilyName, with: impl FnOnce(&mut Family) -> T) -> T {
        let mut all = lock(&self.all);
        if let Some(family) = all.get_mut(&*of.namespace).and_then(|families| families.get_mut(&*of.name)) {
            let result = with(family);
            let is_empty = family.is_empty();
            if is_empty && let Some(families) = all.get_mut(&*of.namespace) {
                families.remove(&*of.name);
                if families.is_empty() {
                    all.remove(&*of.namespace);
                }
            }
            return result;
        }
        let mut family = Family::default();
        let result = with(&mut family);
        if !family.is_empty() {
            all.entry(of.namespace.as_str().into()).or_default().insert(of.name.as_str().into(), family);
        }
        result
    }

    /// Whether it changes the child's digest.
    fn put(&self, of: &FamilyName, kind: ChildKind, packed: Packed, is_listed: bool) -> bool {
        self.with(of, |family| {
            let before = family.digests();
            let cached = &mut family.children[kind as usize];
            if cached.as_ref().is_some_and(|cached| !cached.is_older_than(packed.version, is_listed)) {
                return false;
            }
            *cached = Some(packed);
            family.notify();
            family.digests() != before
        })
    }

    /// Removes a child that isn't newer than this version; whether there was one.
    fn remove(&self, of: &FamilyName, kind: ChildKind, version: u64) -> bool {
        self.with(of, |family| {
            let cached = &mut family.children[kind as usize];
            let is_newer = |cached: &Packed| version != 0 && cached.version > version;
            if cached.as_ref().is_none_or(is_newer) {
                return false;
            }
            *cached = None;
            family.notify();
            true
        })
    }

    /// Applies an event to the cache; returns the family that it changes.
    fn take_child(&self, kind: ChildKind, event: &Event<LiveObject>) -> Option<FamilyName> {
        match event {
            // The caches hold only objects with this shard's labels. One that has lost them is out of sight.
            Event::Apply(child) | Event::InitApply(child) if !self.is_child(child, &name_of(child)) => {
                let name = name_of(child);
                self.remove(&name, kind, version_of(child.meta())).then_some(name)
            }
            Event::Apply(child) | Event::InitApply(child) => {
                let (name, version) = (name_of(child), version_of(child.meta()));
                let is_listed = matches!(event, Event::InitApply(_));
                let is_known = |cached: &Packed| !cached.is_older_than(version, is_listed);
                if self.with(&name, |family| family.children[kind as usize].as_ref().is_some_and(is_known)) {
                    return None;
                }
                self.put(&name, kind, self.pack(kind, child), is_listed).then_some(name)
            }
            Event::Delete(child) => {
                let name = name_of(child);
                let was_cached = self.remove(&name, kind, version_of(child.meta()));
                let is_cached = self.with(&name, |family| family.children[kind as usize].is_some());
                // One that was reported before its Workload was never cached.
                (was_cached || (!is_cached && self.is_child(child, &name))).then_some(name)
            }
            Event::Init | Event::InitDone => None,
        }
    }

    /// A HorizontalPodAutoscaler and what it scales. None if it is the child of another shard's Workload: then it scales that
    /// Workload's Deployment.
    fn autoscaler_of(&self, object: &LiveObject) -> Option<(ScaleTarget, Autoscaler)> {
        let is_elsewhere = is_labelled(object.meta()) && !self.is_ours(object.meta());
        let is_child = |target: &ScaleTarget, one: &Autoscaler| {
            one.scales != Scales::Workload && target.deployment == one.name
        };
        Autoscaler::of(object).filter(|(target, one)| !(is_elsewhere && is_child(target, one)))
    }

    /// Caches a HorizontalPodAutoscaler, or its deletion; returns the families whose Deployment it now scales differently.
    fn take_autoscaler(&self, name: &FamilyName, now: Option<(ScaleTarget, Autoscaler)>) -> Vec<FamilyName> {
        let of = |target: &str| FamilyName { namespace: name.namespace.clone(), name: target.to_owned() };
        let before = self.with(name, |family| family.scales.clone()).map(|target| of(&target));
        let now = now.map(|(target, autoscaler)| (of(&target.deployment), autoscaler));
        if before.as_ref() != now.as_ref().map(|(target, _)| target) {
            let scales = now.as_ref().map(|(target, _)| target.name.as_str().into());
            self.with(name, |family| family.scales = scales);
        }
        let mut changed = Vec::new();
        if let Some(before) = before.filter(|before| now.as_ref().is_none_or(|(target, _)| target != before))
        {
            self.with(&before, |family| family.autoscalers.retain(|one| one.name != name.name));
            changed.push(before);
        }
        if let Some((target, autoscaler)) = now
            && self.with(&target, |family| family.put_autoscaler(autoscaler))
        {
            changed.push(target);
        }
        changed
    }

    /// Feeds the cache with the events of a watch of this kind in this namespace, or in all; returns the families that each event
    /// changes. The watch of HorizontalPodAutoscalers delivers all of them.
    pub(super) fn feed(
        &self,
        kind: ChildKind,
        namespace: Option<&str>,
    ) -> impl FnMut(Event<LiveObject>) -> Vec<FamilyName> + Send + 'static + use<> {
        let (families, namespace) = (self.clone(), namespace.map(str::to_owned));
        // While the watch lists: cached objects that weren't listed yet.
        let mut unlisted = HashSet::new();
        move |event| {
            families.progress[kind as usize].record(namespace.as_deref(), &event);
            let mut changed: Vec<FamilyName> = families.take_child(kind, &event).into_iter().collect();
            match &event {
                Event::Init => unlisted = families.known(kind, namespace.as_deref()),
                Event::Apply(object) | Event::InitApply(object) => {
                    let name = name_of(object);
                    unlisted.remove(&name);
                    if kind == ChildKind::Autoscaler {
                        changed.extend(families.take_autoscaler(&name, families.autoscaler_of(object)));
                    }
                }
                Event::Delete(object) if kind == ChildKind::Autoscaler => {
                    changed.extend(families.take_autoscaler(&name_of(object), None));
                }
                Event::Delete(_) => {}
                Event::InitDone => {
                    for gone in unlisted.drain() {
                        if kind == ChildKind::Autoscaler {
                            changed.extend(families.take_autoscaler(&gone, None));
                        }
                        changed.extend(families.remove(&gone, kind, u64::MAX).then_some(gone));
                    }
                }
            }
            changed.dedup();
            changed
        }
    }

    /// The cached objects of a kind in a namespace, or in all.
    fn known(&self, kind: ChildKind, namespace: Option<&str>) -> HashSet<FamilyName> {
        let all = lock(&self.all);
        let here = all.iter().filter(|(name, _)| namespace.is_none_or(|namespace| ***name == *namespace));
        let is_known = |family: &Family| {
            family.children[kind as usize].is_some()
                || (kind == ChildKind::Autoscaler && family.scales.is_some())
        };
        let names = here.flat_map(|(namespace, families)| {
            let known = families.iter().filter(|(_, family)| is_known(family));
            known.map(move |(name, _)| FamilyName { namespace: (**namespace).into(), name: (**name).into() })
        });
        names.collect()
    }
}

impl Family {
    fn digests(&self) -> Digests {
        let mut digests = Digests::default();
        for (kind, child) in ChildKind::ALL.into_iter().zip(&self.children) {
            digests.put(kind, child.as_ref().map(|child| child.digest).unwrap_or_default());
        }
        digests.put_autoscalers(&self.autoscalers);
        digests
    }

    /// Whether this is a change.
    fn put_autoscaler(&mut self, autoscaler: Autoscaler) -> bool {
        match self.autoscalers.binary_search_by(|known| known.name.cmp(&autoscaler.name)) {
            Ok(at) if self.autoscalers[at] == autoscaler => return false,
            Ok(at) => self.autoscalers[at] = autoscaler,
            Err(at) => {
                // There is rarely more than one.
                self.autoscalers.reserve_exact(1);
                self.autoscalers.insert(at, autoscaler);
            }
        }
        true
    }

    /// Forgets that someone waits for a newer child, once that isn't so.
    fn forget_waiter(&mut self) {
        self.changed.take_if(|changed| Arc::strong_count(changed) == 1);
    }

    fn notify(&mut self) {
        if let Some(changed) = self.changed.take() {
            changed.notify_waiters();
        }
    }

    fn is_empty(&self) -> bool {
        self.children.iter().all(Option::is_none)
            && self.autoscalers.is_empty()
            && self.scales.is_none()
            && self.changed.is_none()
    }
}

/// Whether an object has the label of Baton's children, in any shard.
fn is_labelled(metadata: &ObjectMeta) -> bool {
    let by = metadata.labels.as_ref().and_then(|all| all.get(labels::MANAGED_BY));
    by.is_some_and(|by| by == labels::MANAGED_BY_BATON)
}

fn name_of(object: &LiveObject) -> FamilyName {
    FamilyName { namespace: object.namespace().unwrap_or_default(), name: object.name_any() }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{super::workloads::Workloads, *};

    fn delivered(object: &Value) -> LiveObject {
        serde_json::from_str(&object.to_string()).unwrap()
    }

    fn child_at(version: u32, name: &str, spec: &Value) -> Value {
        let labels = json!({"app.kubernetes.io/managed-by": "baton"});
        let metadata = json!({
            "name": name, "namespace": "ns", "uid": "u", "resourceVersion": version.to_string(), "labels": labels,
        });
        json!({"metadata": metadata, "spec": spec})
    }

    fn child(version: u32, name: &str) -> LiveObject {
        delivered(&child_at(version, name, &json!({"at": version})))
    }

    fn family(name: &str) -> FamilyName {
        FamilyName { namespace: "ns".to_owned(), name: name.to_owned() }
    }

    fn names(families: Vec<FamilyName>) -> Vec<String> {
        families.into_iter().map(|family| family.name).collect()
    }

    /// The versions of the Deployments that are seen of these.
    fn versions(families: &Families, of: &[&str]) -> Vec<Option<String>> {
        let version = |name: &&str| {
            families.seen(&family(name)).children.first().and_then(|(_, live)| live.resource_version())
        };
        of.iter().map(version).collect()
    }

    const NONE: Vec<String> = Vec::new();

    /// The surroundings of the Workloads of these tests, which exist.
    fn of_shard(shard: Option<&str>) -> Families {
        let workloads = Workloads::new();
        let mut feed = workloads.feed(None);
        for name in ["a", "b", "web", "db"] {
            let metadata = json!({"name": name, "namespace": "ns", "uid": "u", "resourceVersion": "1"});
            feed(Event::Apply(delivered(&json!({"metadata": metadata, "spec": {}}))));
        }
        Families::new(shard, workloads.store.clone())
    }

    impl Default for Families {
        fn default() -> Self {
            of_shard(None)
        }
    }

    #[test]
    fn a_complete_list_deletes_what_it_does_not_contain() {
        let families = Families::default();
        let mut feed = families.feed(ChildKind::Deployment, None);
        assert_eq!(names(feed(Event::Apply(child(1, "a")))), ["a"]);
        feed(Event::Apply(child(2, "b")));
        for _ in 0..2 {
            feed(Event::Init);
            assert_eq!(names(feed(Event::InitApply(child(1, "a")))), NONE, "nothing has changed");
        }
        assert_eq!(
            versions(&families, &["a", "b"]),
            [Some("1".into()), Some("2".into())],
            "the list isn't complete"
        );
        assert_eq!(names(feed(Event::InitDone)), ["b"]);
        assert_eq!(versions(&families, &["a", "b"]), [Some("1".into()), None]);
    }

    #[test]
    fn a_list_of_one_namespace_deletes_nothing_in_another() {
        let families = Families::default();
        let mut here = families.feed(ChildKind::Deployment, Some("ns"));
        let mut there = families.feed(ChildKind::Deployment, Some("elsewhere"));
        here(Event::Apply(child(1, "a")));
        there(Event::Init);
        assert_eq!(names(there(Event::InitDone)), NONE);
        assert_eq!(versions(&families, &["a"]), [Some("1".into())]);
    }

    #[test]
    fn a_version_older_than_a_response_changes_nothing() {
        let families = Families::default();
        let mut feed = families.feed(ChildKind::Deployment, None);
        feed(Event::Apply(child(5, "a")));
        let response = LiveObject::from_json(child_at(9, "a", &json!({"at": 9}))).unwrap();
        let take = || {
            families.take(&family("a"), ChildKind::Deployment, Some(&response), &mut Digests::default());
        };
        take();
        for event in [Event::Apply(child(7, "a")), Event::Apply(child(9, "a")), Event::Delete(child(8, "a"))]
        {
            assert_eq!(names(feed(event)), NONE);
        }
        assert_eq!(versions(&families, &["a"]), [Some("9".into())]);
        assert_eq!(names(feed(Event::Delete(child(10, "a")))), ["a"]);
        take();
        assert!(lock(&families.all).is_empty(), "nothing is left, even after a late response");
        let never_cached = Event::Delete(child(11, "a"));
        assert_eq!(names(feed(never_cached)), ["a"], "it may have been reported before its Workload");
    }

    #[test]
    fn a_version_with_the_same_digest_is_cached_and_not_reported() {
        let families = Families::default();
        let mut feed = families.feed(ChildKind::Service, None);
        let at = |version| delivered(&child_at(version, "a", &json!({"ports": []})));
        feed(Event::Apply(at(1)));
        assert_eq!(names(feed(Event::Apply(at(2)))), NONE);
        assert_eq!(versions(&families, &["a"]), [Some("2".into())]);
    }

    #[test]
    fn a_child_that_loses_its_label_is_removed() {
        let families = Families::default();
        let mut feed = families.feed(ChildKind::Autoscaler, None);
        feed(Event::Apply(child(1, "a")));
        let mut unlabelled = child_at(2, "a", &json!({}));
        unlabelled["metadata"]["labels"] = json!({});
        assert_eq!(names(feed(Event::Apply(delivered(&unlabelled)))), ["a"]);
        assert_eq!(versions(&families, &["a"]), [None]);
    }

    #[test]
    fn only_children_of_workloads_that_exist_are_cached() {
        let families = Families::default();
        for kind in ChildKind::ALL {
            let mut feed = families.feed(kind, None);
            for event in [Event::InitApply(child(1, "stray")), Event::Apply(child(2, "stray"))] {
                assert_eq!(names(feed(event)), NONE, "{kind}");
            }
            let mut digests = Digests::default();
            families.take(&family("stray"), kind, Some(&child(3, "stray")), &mut digests);
            assert_ne!(digests, Digests::default(), "{kind}: it was seen");
            assert_eq!(names(feed(Event::Apply(child(4, "a")))), ["a"], "{kind}");
        }
        families.forget(&family("a"));
        assert!(lock(&families.all).is_empty(), "nothing is left");
        let mut feed = families.feed(ChildKind::Autoscaler, None);
        assert_eq!(names(feed(Event::Apply(autoscaler("stray", "Deployment", "web")))), ["web"]);
        assert_eq!(scaling(&families, "web"), ["stray"], "it scales a Deployment nevertheless");
    }

    #[test]
    fn a_shard_caches_only_its_own_children() {
        let at = |version: u32, shard: Option<&str>| {
            let reference = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"});
            let mut child = child_at(version, "web", &json!({"scaleTargetRef": reference, "maxReplicas": 5}));
            if let Some(shard) = shard {
                child["metadata"]["labels"]["baton.rs/shard"] = json!(shard);
            }
            delivered(&child)
        };
        let shards = [None, Some("a"), Some("b")];
        for ours in shards {
            let families = of_shard(ours);
            let mut feed = families.feed(ChildKind::Autoscaler, None);
            for (version, shard) in (1..).zip(shards) {
                feed(Event::Apply(at(version, shard)));
                let seen = families.seen(&family("web"));
                let kept = (seen.children.len(), seen.autoscalers.len());
                assert_eq!(kept, if shard == ours { (1, 1) } else { (0, 0) }, "{shard:?} by {ours:?}");
            }
        }
    }

    #[test]
    fn an_autoscaler_of_another_shard_that_scales_this_shards_deployment_is_cached() {
        let families = of_shard(Some("a"));
        let mut feed = families.feed(ChildKind::Autoscaler, None);
        let reference = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"});
        let mut copied = child_at(1, "copied", &json!({"scaleTargetRef": reference, "maxReplicas": 5}));
        copied["metadata"]["labels"]["baton.rs/shard"] = json!("b");
        feed(Event::Apply(delivered(&copied)));
        assert_eq!(scaling(&families, "web"), ["copied"]);
    }

    #[tokio::test(start_paused = true)]
    async fn waiting_for_a_newer_child_returns_the_first_that_satisfies() {
        let families = Families::default();
        let mut feed = families.feed(ChildKind::Deployment, None);
        feed(Event::Apply(child(1, "a")));
        let (_, old) = families.seen(&family("a")).children.remove(0);
        let is_third = |live: &LiveObject| live.number(&["spec", "at"]) >= Some(3);
        let (of, waiting) = (family("a"), families.clone());
        for (limit, expected) in [(10, Some("3")), (1, Some("2")), (0, None)] {
            let (of, waiting, old) = (of.clone(), waiting.clone(), old.clone());
            let limit = Duration::from_millis(1000 * limit + 500);
            let newer = tokio::spawn(async move {
                waiting.newer(&of, ChildKind::Deployment, &old, is_third, limit).await
            });
            for version in 2..5 {
                tokio::time::sleep(Duration::from_secs(1)).await;
                feed(Event::Apply(child(version, "a")));
            }
            let newer = newer.await.unwrap().and_then(|live| live.resource_version());
            assert_eq!(newer.as_deref(), expected);
            feed(Event::Delete(child(5, "a")));
        }
        let of = family("a");
        let late = families.newer(&of, ChildKind::Deployment, &old, is_third, Duration::ZERO);
        assert!(late.await.is_none());
        assert!(lock(&families.all).is_empty(), "nothing is left of who waited");
    }

    fn autoscaler(name: &str, kind: &str, target: &str) -> LiveObject {
        let reference = json!({"apiVersion": "apps/v1", "kind": kind, "name": target});
        delivered(&json!({
            "metadata": {"name": name, "namespace": "ns"},
            "spec": {"scaleTargetRef": reference, "minReplicas": 2, "maxReplicas": 5},
        }))
    }

    fn scaling(families: &Families, deployment: &str) -> Vec<String> {
        families.seen(&family(deployment)).autoscalers.into_iter().map(|autoscaler| autoscaler.name).collect()
    }

    #[test]
    fn autoscalers_are_found_by_what_they_scale_and_not_by_their_names() {
        let families = Families::default();
        let mut feed = families.feed(ChildKind::Autoscaler, None);
        for (name, kind) in
            [("mine", "Deployment"), ("keda-hpa-web", "Deployment"), ("of-a-set", "StatefulSet")]
        {
            feed(Event::Apply(autoscaler(name, kind, "web")));
        }
        assert_eq!(scaling(&families, "web"), ["keda-hpa-web", "mine"]);
    }

    #[test]
    fn an_autoscaler_with_a_new_target_changes_both_families_and_an_unchanged_one_none() {
        let families = Families::default();
        let mut feed = families.feed(ChildKind::Autoscaler, None);
        assert_eq!(names(feed(Event::Apply(autoscaler("a", "Deployment", "web")))), ["web"]);
        assert_eq!(names(feed(Event::Apply(autoscaler("a", "Deployment", "web")))), NONE);
        assert_eq!(names(feed(Event::Apply(autoscaler("a", "Deployment", "db")))), ["web", "db"]);
        assert_eq!((scaling(&families, "web"), scaling(&families, "db")), (NONE, vec!["a".to_owned()]));
        assert_eq!(names(feed(Event::Delete(autoscaler("a", "Deployment", "db")))), ["db"]);
        assert!(lock(&families.all).is_empty(), "nothing is left");
    }

    #[test]
    fn an_autoscaler_that_a_new_list_does_not_contain_is_removed() {
        let families = Families::default();
        let mut feed = families.feed(ChildKind::Autoscaler, None);
        feed(Event::Apply(autoscaler("a", "Deployment", "web")));
        feed(Event::Apply(autoscaler("b", "Deployment", "web")));
        feed(Event::Init);
        feed(Event::InitApply(autoscaler("b", "Deployment", "web")));
        assert_eq!(names(feed(Event::InitDone)), ["web"]);
        assert_eq!(scaling(&families, "web"), ["b"]);
    }
}
