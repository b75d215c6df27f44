//! The watches that feed the loop: caches of the children, and which Workload a change concerns.
//!
//! Reads come from here; a steady cluster costs no request but the watches.

mod cache;
mod health;
mod touched;

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex},
};

use baton_apply::LiveObject;
use baton_crd::{Workload, labels};
use futures::{
    Stream, StreamExt,
    stream::{self, BoxStream},
};
use kube::{
    Api, Client, ResourceExt,
    runtime::{
        WatchStreamExt,
        reflector::{ObjectRef, Store},
        watcher,
        watcher::Event,
    },
};
use serde::de::DeserializeOwned;
use tokio::sync::watch::{Receiver, channel};

pub(crate) use self::health::Health;
use self::{cache::Cache, touched::workload_of};
use super::{Definition, WatchedWorkload, autoscalers::Autoscalers, packed::Packed};
use crate::{
    decide::{child::ChildKind, replicas::ScaleTarget, snapshot::Snapshot},
    lock::lock,
};

/// Where Baton looks for Workloads, and for which.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scope {
    /// All if empty.
    pub(crate) namespaces: Vec<String>,
    pub(crate) selector: Option<String>,
}

impl Scope {
    /// Each namespace that is watched; just one `None` where these are all.
    pub(crate) fn namespaces(&self) -> Vec<Option<&str>> {
        if self.namespaces.is_empty() {
            return vec![None];
        }
        self.namespaces.iter().map(|name| Some(name.as_str())).collect()
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.namespaces.as_slice() {
            [] => f.write_str("all namespaces")?,
            names => f.write_str(&names.join(", "))?,
        }
        self.selector.iter().try_for_each(|selector| write!(f, " where {selector}"))
    }
}

/// Caches of all children that bear Baton's label, and of what is to be known of other people's autoscalers.
#[derive(Clone)]
pub(crate) struct Stores {
    children: BTreeMap<ChildKind, Cache<Packed>>,
    /// Of each watch.
    autoscalers: Vec<Arc<Mutex<Autoscalers>>>,
    /// For each watch, whether its first list is in the cache.
    filled: Vec<(String, Receiver<bool>)>,
    /// How the watches do that feed the caches.
    pub(crate) health: Health,
}

/// What fills the caches and tells what was touched; nothing moves unless it is polled.
pub(crate) struct Streams {
    pub(crate) workloads: Store<WatchedWorkload>,
    /// The Workloads that need a look, because they, a child or what scales it has changed. It never ends.
    pub(crate) touched: BoxStream<'static, ObjectRef<WatchedWorkload>>,
}

impl Stores {
    pub(crate) fn empty() -> Self {
        Self {
            children: BTreeMap::new(),
            autoscalers: Vec::new(),
            filled: Vec::new(),
            health: Health::default(),
        }
    }

    /// Waits until the first list of each watch is in the cache.
    pub(crate) async fn ready(&self) {
        for (_, filled) in &self.filled {
            // An error means that the stream is gone: the operator is shutting down, and there is nothing to wait for.
            let _ = filled.clone().wait_for(|filled| *filled).await;
        }
    }

    /// What hasn't been listed yet.
    pub(crate) fn unfilled(&self) -> Vec<&str> {
        self.filled.iter().filter(|(_, filled)| !*filled.borrow()).map(|(what, _)| what.as_str()).collect()
    }

    /// A Workload with what the caches show of its children and of the autoscalers of its Deployment.
    pub(crate) fn snapshot_of(&self, workload: Arc<Workload>) -> Snapshot {
        let (name, namespace) = (workload.name_any(), workload.namespace().unwrap_or_default());
        let cached = |(kind, cache): (&ChildKind, &Cache<Packed>)| {
            let resource = kind.api_resource();
            let key = ObjectRef::new_with(&name, resource.clone()).within(&namespace);
            let mut live = cache.store.get(&key)?.unpack();
            live.fill_in_kind(&resource);
            Some((*kind, live))
        };
        let children = self.children.iter().filter_map(cached).collect();
        let target = ScaleTarget::of(&workload);
        let autoscalers = self.autoscalers.iter().flat_map(|index| lock(index).of(&target)).collect();
        Snapshot::new(workload, children, autoscalers)
    }

    /// What happens to a kind in a namespace, or in all. Errors are the [`Health`]'s, and a pause follows each.
    fn watch<K>(
        &mut self,
        what: &str,
        namespace: Option<&str>,
        api: Api<K>,
        config: watcher::Config,
    ) -> impl Stream<Item = Event<K>> + Send + 'static + use<K>
    where
        K: kube::Resource + Clone + DeserializeOwned + fmt::Debug + Send + 'static,
    {
        let place = namespace.map(|name| format!(" in {name}")).unwrap_or_default();
        let what = format!("{what}{place}");
        let health = self.health.of(what.clone());
        let (filled, is_filled) = channel(false);
        self.filled.push((what, is_filled));
        watcher(api, config).default_backoff().inspect(health).flat_map(stream::iter).inspect(move |event| {
            // All that was listed has passed by here, one by one, and is in the cache.
            if matches!(event, Event::InitDone) {
                filled.send_replace(true);
            }
        })
    }
}

/// The Workloads in a namespace, or in all.
pub(crate) fn scoped(client: &Client, namespace: Option<&str>) -> Api<WatchedWorkload> {
    match namespace {
        None => Api::all(client.clone()),
        Some(namespace) => Api::namespaced(client.clone(), namespace),
    }
}

/// Prepares the watches: in each namespace of the scope one of Workloads and of each kind of child. Of
/// HorizontalPodAutoscalers all are watched, since what scales a Deployment needn't bear a label of Baton's; but only
/// children are kept whole.
pub(crate) fn watch(client: &Client, scope: &Scope, definition: &Definition) -> (Stores, Streams) {
    let mut stores = Stores::empty();
    let workloads = Cache::new(());
    stores.children = ChildKind::ALL.map(|kind| (kind, Cache::new(kind.api_resource()))).into();
    let selected = watcher::Config { label_selector: scope.selector.clone(), ..watcher::Config::default() };
    let ours = format!("{}={}", labels::MANAGED_BY, labels::MANAGED_BY_BATON);
    let mut touched = Vec::new();
    for namespace in scope.namespaces() {
        let events = stores.watch("Workloads", namespace, scoped(client, namespace), selected.clone());
        let definition = definition.clone();
        let events = events.inspect(move |event| {
            // A change of the definition ends every watch, as many other things do.
            if matches!(event, Event::Init) {
                definition.doubt();
            }
        });
        let itself = |workload: Arc<WatchedWorkload>| ObjectRef::from_obj(&*workload);
        let mut feed = workloads.feed(namespace);
        touched.push(events.flat_map(move |event| stream::iter(feed(event)).map(itself)).boxed());

        for (kind, cache) in stores.children.clone() {
            let resource = kind.api_resource();
            let api = match namespace {
                None => Api::all_with(client.clone(), &resource),
                Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
            };
            let index = (kind == ChildKind::Autoscaler).then(Arc::<Mutex<Autoscalers>>::default);
            let config = watcher::Config::default();
            let config = if index.is_some() { config } else { config.labels(&ours) };
            stores.autoscalers.extend(index.clone());
            let events = stores.watch(kind.name(), namespace, api, config);
            let mut feed = cache.feed(namespace);
            let concerned = move |event| {
                let scaled = index.iter().flat_map(|index| lock(index).take(&unpacked(&event)));
                let scaled =
                    scaled.map(|target| ObjectRef::new(&target.deployment).within(&target.namespace));
                let mut concerned: Vec<_> = scaled.collect();
                let changed = only_children(event).into_iter().flat_map(&mut feed);
                concerned.extend(changed.filter_map(|child| workload_of(&*child)));
                stream::iter(concerned)
            };
            touched.push(events.flat_map(concerned).boxed());
        }
    }
    (stores, Streams { workloads: workloads.store, touched: stream::select_all(touched).boxed() })
}

/// What an event means for a cache that holds only what bears Baton's label: an object that has lost it is gone.
fn only_children(event: Event<Packed>) -> Option<Event<Packed>> {
    use Event::{Apply, Delete, InitApply};
    let is_child = |child: &Packed| {
        child.labels().get(labels::MANAGED_BY).is_some_and(|by| by == labels::MANAGED_BY_BATON)
    };
    match event {
        Apply(other) if !is_child(&other) => Some(Delete(other)),
        InitApply(other) if !is_child(&other) => None,
        event => Some(event),
    }
}

fn unpacked(event: &Event<Packed>) -> Event<LiveObject> {
    use Event::{Apply, Delete, Init, InitApply, InitDone};
    match event {
        Apply(child) => Apply(child.unpack()),
        InitApply(child) => InitApply(child.unpack()),
        Delete(child) => Delete(child.unpack()),
        Init => Init,
        InitDone => InitDone,
    }
}
