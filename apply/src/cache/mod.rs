//! A cache of live objects, fed by watches and by the responses to your own writes.
//!
//! A controller decides from a cache, so that a cluster without changes costs no request but the watches. kube's `reflector` is such
//! a cache for typed objects. This one is for [`LiveObject`]s, which have all that a prediction needs, and differs in three ways:
//!
//! - **It is small.** An object is kept as compressed JSON text, and what objects of a kind have in common is kept once. As a tree of
//!   values it takes a hundred times as much memory, most of it for `managedFields`.
//! - **It has your own writes.** [`Cache::store`] takes the response to a write, or to a read. Without that, the next pass sees the
//!   object as it was before the write until the watch delivers it, predicts from it, and is refused as stale. An event never brings
//!   an older version back, and a response that arrives late never brings back an object that was deleted since.
//! - **It reports what matters.** Each object has a [`Digest`], which leaves out what changes without meaning, such as the times in
//!   `managedFields`. [`Feed::deliver`] returns an event's object only if its digest has changed; a pass whose objects have the digests
//!   of the last one can be skipped.
//!
//! There is one cache for each kind, and one watch of all namespaces or one for each namespace:
//!
//! ```no_run
//! use baton_apply::{LiveObject, cache::Cache};
//! use futures::StreamExt;
//! use k8s_openapi::api::apps::v1::Deployment;
//! use kube::{Api, Client, core::ApiResource, runtime::{WatchStreamExt, watcher}};
//!
//! # async fn example(client: Client) {
//! let resource = ApiResource::erase::<Deployment>(&());
//! let deployments = Cache::new(resource.clone());
//! let mut feed = deployments.watch(None);
//! let api: Api<LiveObject> = Api::all_with(client, &resource);
//! // In a task of its own; `deployments.filled().await` waits for the first list.
//! let mut events = watcher(api, watcher::Config::default()).default_backoff().boxed();
//! while let Some(event) = events.next().await {
//!     for changed in feed.deliver(&event) {
//!         println!("reconcile {}", changed.name);
//!     }
//! }
//! # }
//! ```
//!
//! A pass reads from it, writes, and stores the response:
//!
//! ```
//! use baton_apply::{LiveObject, cache::Cache};
//! use k8s_openapi::api::apps::v1::Deployment;
//! use kube::{core::ApiResource, runtime::watcher::Event};
//! use serde_json::json;
//!
//! let at = |version: &str, replicas: u32| {
//!     let metadata = json!({"namespace": "shop", "name": "web", "resourceVersion": version});
//!     LiveObject::from_json(json!({"metadata": metadata, "spec": {"replicas": replicas}})).unwrap()
//! };
//! let deployments = Cache::new(ApiResource::erase::<Deployment>(&()));
//! let mut feed = deployments.watch(None);
//! assert_eq!(feed.deliver(&Ok(Event::Apply(at("5", 3)))).len(), 1);
//!
//! let response = at("7", 4);
//! deployments.store(&response);
//! // Neither an older write of another manager nor the own write is a change.
//! assert!(feed.deliver(&Ok(Event::Apply(at("6", 3)))).is_empty());
//! assert!(feed.deliver(&Ok(Event::Apply(response))).is_empty());
//! let live = deployments.get("shop", "web").unwrap().live();
//! assert_eq!(live.number(&["spec", "replicas"]), Some(4));
//! ```
//!
//! Versions are compared as numbers, which Kubernetes allows for objects of one kind. An object whose `resourceVersion` is no number
//! replaces the cached one. So does an object of a watch's list, since versions go back where a cluster is restored from a backup:
//! lists have to be current, as those of kube's default [`ListSemantic`](kube::runtime::watcher::ListSemantic) are.

mod digest;
mod packed;
mod watches;

use std::{
    collections::{HashMap, HashSet},
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{
    Resource as _, ResourceExt,
    core::ApiResource,
    runtime::watcher::{self, Event},
};
use tokio::{sync::watch, time::Instant};

use self::watches::Watches;
pub use self::{
    digest::{Digest, digest_of},
    packed::{CachedObject, Packer},
};
use crate::LiveObject;

/// The namespace and the name of an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NamespacedName {
    /// Its namespace; empty for an object of the cluster.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl NamespacedName {
    /// The namespace and the name of this object.
    pub fn of(object: &impl ResourceExt) -> Self {
        Self { namespace: object.namespace().unwrap_or_default(), name: object.name_any() }
    }
}

/// As a pair, such as the key of a queue.
impl From<NamespacedName> for (String, String) {
    fn from(NamespacedName { namespace, name }: NamespacedName) -> Self {
        (namespace, name)
    }
}

/// Prints `namespace/name`, or only the name.
impl fmt::Display for NamespacedName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { namespace, name } = self;
        if namespace.is_empty() { f.write_str(name) } else { write!(f, "{namespace}/{name}") }
    }
}

/// A `resourceVersion` as a number; 0 if it isn't one.
fn version_of(metadata: &ObjectMeta) -> u64 {
    metadata.resource_version.as_deref().and_then(|version| version.parse().ok()).unwrap_or_default()
}

/// A cache of the objects of one kind. Clones share it.
///
/// `V` is the kept value of an object: the whole object, as a [`CachedObject`], unless the cache is made by [`Cache::keeping`].
pub struct Cache<V = CachedObject>(Arc<Shared<V>>);

type Keep<V> = dyn Fn(&LiveObject) -> Option<V> + Send + Sync;

struct Shared<V> {
    keep: Box<Keep<V>>,
    state: Mutex<State<V>>,
    /// How many watches have no complete list yet.
    unfilled: watch::Sender<usize>,
}

struct State<V> {
    /// By namespace, then by name.
    objects: HashMap<Box<str>, HashMap<Box<str>, Entry<V>>>,
    watches: Watches,
}

struct Entry<V> {
    version: u64,
    value: Arc<V>,
}

/// An object that has changed in a cache.
#[derive(Clone, Debug)]
pub struct Changed<V = CachedObject> {
    /// The object.
    pub name: NamespacedName,
    /// The kept value before; `None` if there was none.
    pub before: Option<Arc<V>>,
    /// The kept value now; `None` if the object is gone, or isn't kept any more.
    pub after: Option<Arc<V>>,
}

impl Cache {
    /// An empty cache of whole objects of this kind.
    pub fn new(resource: ApiResource) -> Self {
        let packer = Packer::new(resource);
        Self::keeping(move |live| Some(packer.pack(live, Digest::of(live))))
    }
}

impl<V> Cache<V> {
    /// An empty cache that keeps the result of this function for each object. An object for which it returns `None` takes no memory and is
    /// treated as if it didn't exist. Two versions that are equal aren't reported as a change.
    ///
    /// The function may read other caches, but not this one.
    ///
    /// ```
    /// use baton_apply::cache::Cache;
    ///
    /// let replicas = Cache::keeping(|live| live.number(&["spec", "replicas"]));
    /// # let _: Cache<i32> = replicas;
    /// ```
    pub fn keeping(keep: impl Fn(&LiveObject) -> Option<V> + Send + Sync + 'static) -> Self {
        let state = State { objects: HashMap::new(), watches: Watches::default() };
        Self(Arc::new(Shared {
            keep: Box::new(keep),
            state: Mutex::new(state),
            unfilled: watch::Sender::default(),
        }))
    }

    /// The state is whole between any two calls, so that a panic elsewhere can't leave it wrong.
    fn state(&self) -> MutexGuard<'_, State<V>> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The kept value of an object; the namespace of an object of the cluster is empty.
    pub fn get(&self, namespace: &str, name: &str) -> Option<Arc<V>> {
        Some(self.state().entry(namespace, name)?.value.clone())
    }

    /// The kept value of an object, if it is of a later version than this one.
    pub fn newer_than(&self, older: &LiveObject) -> Option<Arc<V>> {
        let state = self.state();
        let entry = state.entry(older.meta().namespace.as_deref().unwrap_or_default(), &older.name_any())?;
        (entry.version > version_of(older.meta())).then(|| entry.value.clone())
    }

    /// Whether the cache shows this version of an object, or a later state. If so, a missing object is deleted, and not just unknown
    /// yet.
    pub fn shows(&self, live: &LiveObject) -> bool {
        let (state, version) = (self.state(), version_of(live.meta()));
        let namespace = live.meta().namespace.as_deref().unwrap_or_default();
        state.entry(namespace, &live.name_any()).is_some_and(|entry| entry.version >= version)
            || state.watches.have_delivered(namespace, version)
    }

    /// The names of all objects.
    pub fn names(&self) -> Vec<NamespacedName> {
        self.state().names(None).collect()
    }

    /// The kept value of each object.
    pub fn values(&self) -> Vec<Arc<V>> {
        let state = self.state();
        state.objects.values().flat_map(HashMap::values).map(|entry| entry.value.clone()).collect()
    }

    /// How many objects it has.
    pub fn len(&self) -> usize {
        self.state().objects.values().map(HashMap::len).sum()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.state().objects.is_empty()
    }

    /// Drops the kept value of an object, until a watch or a response has the object again.
    pub fn forget(&self, namespace: &str, name: &str) {
        self.state().remove(namespace, name);
    }

    /// Waits until each watch has delivered its first list. Without a watch it returns at once; if a [`Feed`] was dropped before its
    /// list was complete, it never does.
    pub async fn filled(&self) {
        // The sender is in the cache, so there is no error.
        let _ = self.0.unfilled.subscribe().wait_for(|unfilled| *unfilled == 0).await;
    }

    /// Whether each watch has delivered its first list.
    pub fn is_filled(&self) -> bool {
        *self.0.unfilled.borrow() == 0
    }

    /// For how long a watch has been failing, if one is: the longest time.
    ///
    /// A watch that works again but has no events reports nothing. So a failure counts as over when it hasn't been repeated for 90
    /// seconds, which is longer than the pauses of kube's `default_backoff`.
    pub fn failing_for(&self) -> Option<Duration> {
        self.state().watches.failing_for(Instant::now())
    }
}

impl<V: PartialEq> Cache<V> {
    /// Adds a watch of this namespace, or of all: give each of its events to the returned [`Feed`]. The watches of a cache don't
    /// overlap.
    pub fn watch(&self, namespace: Option<&str>) -> Feed<V> {
        self.0.unfilled.send_modify(|unfilled| *unfilled += 1);
        let number = self.state().watches.add(namespace);
        let namespace = namespace.map(str::to_owned);
        Feed { cache: self.clone(), number, namespace, unlisted: HashSet::new(), is_filled: false }
    }

    /// Caches an object that the API server has returned for a read or a write, which its watch would deliver later. Returns the kept
    /// value of this version, even if a later one is cached.
    ///
    /// It isn't cached if its watch has delivered something newer: then the object may have been deleted since. That is unknown from
    /// the beginning of a list until the first event after it, so a response at that time isn't cached either: the cache then is
    /// older than the response until the watch delivers it.
    pub fn store(&self, returned: &LiveObject) -> Option<Arc<V>> {
        let (name, version) = (NamespacedName::of(returned), version_of(returned.meta()));
        let value = (self.0.keep)(returned).map(Arc::new);
        let mut state = self.state();
        if !state.watches.may_have_passed(&name.namespace, version) {
            state.update(name, version, value.clone(), Accept::Newer);
        }
        value
    }

    /// Caches an object of a list that was read beside the watch, also in place of the same version: the API server returns an object
    /// by its current schema, so a custom resource may have other fields after a change of its CRD. One that isn't cached may have
    /// been deleted since, and is left to the watch.
    pub fn store_listed(&self, listed: &LiveObject) {
        let (name, version) = (NamespacedName::of(listed), version_of(listed.meta()));
        let value = (self.0.keep)(listed).map(Arc::new);
        let mut state = self.state();
        if state.entry(&name.namespace, &name.name).is_some() {
            state.update(name, version, value, Accept::SameOrNewer);
        }
    }

    fn deliver(&self, live: &LiveObject, accept: Accept) -> Option<Changed<V>> {
        let (name, version) = (NamespacedName::of(live), version_of(live.meta()));
        if !self.state().accepts(&name, version, accept) {
            return None;
        }
        let value = (self.0.keep)(live).map(Arc::new);
        self.state().update(name, version, value, accept)
    }
}

impl<V> Clone for Cache<V> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<V> fmt::Debug for Cache<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cache").field("objects", &self.len()).finish_non_exhaustive()
    }
}

/// The versions of an object that replace its cached one.
#[derive(Clone, Copy)]
enum Accept {
    Newer,
    SameOrNewer,
    Any,
}

impl<V> State<V> {
    fn entry(&self, namespace: &str, name: &str) -> Option<&Entry<V>> {
        self.objects.get(namespace)?.get(name)
    }

    /// The names of the objects in a namespace, or in all.
    fn names(&self, namespace: Option<&str>) -> impl Iterator<Item = NamespacedName> {
        let is_here = move |one: &str| namespace.is_none_or(|namespace| one == namespace);
        self.objects.iter().filter(move |(namespace, _)| is_here(namespace)).flat_map(
            |(namespace, objects)| {
                objects.keys().map(move |name| NamespacedName {
                    namespace: namespace.to_string(),
                    name: name.to_string(),
                })
            },
        )
    }

    /// Whether this version replaces the cached one.
    fn accepts(&self, name: &NamespacedName, version: u64, accept: Accept) -> bool {
        let replaces = |cached: u64| match accept {
            Accept::Newer => version > cached,
            Accept::SameOrNewer => version >= cached,
            Accept::Any => true,
        };
        let entry = self.entry(&name.namespace, &name.name);
        entry.is_none_or(|entry| version == 0 || replaces(entry.version))
    }

    fn remove(&mut self, namespace: &str, name: &str) -> Option<Arc<V>> {
        let objects = self.objects.get_mut(namespace)?;
        let removed = objects.remove(name)?;
        if objects.is_empty() {
            self.objects.remove(namespace);
        }
        Some(removed.value)
    }

    /// Removes an object, if it is cached and this version replaces the cached one.
    fn remove_at(&mut self, name: NamespacedName, version: u64, accept: Accept) -> Option<Changed<V>> {
        self.entry(&name.namespace, &name.name)?;
        if !self.accepts(&name, version, accept) {
            return None;
        }
        let before = self.remove(&name.namespace, &name.name);
        Some(Changed { name, before, after: None })
    }
}

impl<V: PartialEq> State<V> {
    /// Caches this version if it is accepted, or removes the object if it isn't kept any more; returns the change, if it is one.
    fn update(
        &mut self,
        name: NamespacedName,
        version: u64,
        value: Option<Arc<V>>,
        accept: Accept,
    ) -> Option<Changed<V>> {
        let Some(value) = value else { return self.remove_at(name, version, accept) };
        if !self.accepts(&name, version, accept) {
            return None;
        }
        let entry = Entry { version, value: value.clone() };
        let objects = match self.objects.get_mut(&*name.namespace) {
            Some(objects) => objects,
            None => self.objects.entry(name.namespace.as_str().into()).or_default(),
        };
        let before = match objects.get_mut(&*name.name) {
            Some(cached) => Some(std::mem::replace(cached, entry).value),
            None => {
                objects.insert(name.name.as_str().into(), entry);
                None
            }
        };
        let is_same = before.as_ref().is_some_and(|before| *before == value);
        (!is_same).then_some(Changed { name, before, after: Some(value) })
    }
}

/// Feeds a [`Cache`] with the events of one watch.
#[derive(Debug)]
pub struct Feed<V = CachedObject> {
    cache: Cache<V>,
    /// The number of the watch in the cache.
    number: usize,
    namespace: Option<String>,
    /// While the watch lists: the cached objects that weren't listed yet. At its end they are deleted.
    unlisted: HashSet<NamespacedName>,
    is_filled: bool,
}

impl<V: PartialEq> Feed<V> {
    /// Applies an event of the watch to the cache; returns what it changes. A deletion is also returned if the object would have been
    /// kept and wasn't cached, since the cache may have missed it.
    pub fn deliver(&mut self, event: &watcher::Result<Event<LiveObject>>) -> Vec<Changed<V>> {
        self.cache.state().watches.record(self.number, event, Instant::now());
        match event {
            Err(_) => Vec::new(),
            Ok(Event::Init) => {
                self.unlisted = self.cache.state().names(self.namespace.as_deref()).collect();
                Vec::new()
            }
            Ok(Event::Apply(live)) => {
                self.unlisted.remove(&NamespacedName::of(live));
                self.cache.deliver(live, Accept::Newer).into_iter().collect()
            }
            Ok(Event::InitApply(live)) => {
                // What was cached when the list began is older than the list.
                let was_cached = self.unlisted.remove(&NamespacedName::of(live));
                let accept = if was_cached { Accept::Any } else { Accept::SameOrNewer };
                self.cache.deliver(live, accept).into_iter().collect()
            }
            Ok(Event::Delete(live)) => self.deleted(live).into_iter().collect(),
            Ok(Event::InitDone) => {
                let mut state = self.cache.state();
                let changed = self.unlisted.drain().filter_map(|gone| state.remove_at(gone, 0, Accept::Any));
                let changed = changed.collect();
                drop(state);
                if !std::mem::replace(&mut self.is_filled, true) {
                    self.cache.0.unfilled.send_modify(|unfilled| *unfilled -= 1);
                }
                changed
            }
        }
    }

    fn deleted(&self, live: &LiveObject) -> Option<Changed<V>> {
        let name = NamespacedName::of(live);
        {
            let mut state = self.cache.state();
            if state.entry(&name.namespace, &name.name).is_some() {
                return state.remove_at(name, version_of(live.meta()), Accept::SameOrNewer);
            }
        }
        (self.cache.0.keep)(live).map(|_| Changed { name, before: None, after: None })
    }
}
