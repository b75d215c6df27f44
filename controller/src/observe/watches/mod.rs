//! The watches that feed the loop: caches of the children, and which Workload a change concerns.
//!
//! Reads come from here; a steady cluster costs no request but the watches. Refuses to know what is done about a change.

mod health;
mod merge;
mod touched;

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex},
};

use baton_apply::LiveObject;
use baton_crd::{Workload, labels};
use futures::{
    Stream, StreamExt, TryStreamExt,
    channel::mpsc,
    stream::{self, BoxStream},
};
use kube::{
    Api, Client, ResourceExt,
    runtime::{
        WatchStreamExt,
        reflector::{self, ObjectRef, Store, store::Writer},
        watcher,
    },
};
use serde::de::DeserializeOwned;
use tokio::sync::watch::{Receiver, channel};

pub(crate) use self::health::Health;
use self::{
    merge::{Watch, merged},
    touched::{touched, workload_of},
};
use super::{WatchedWorkload, autoscalers::Autoscalers, packed::Packed};
use crate::{
    cli::ScopeArgs,
    decide::{child::ChildKind, replicas::ScaleTarget, snapshot::Snapshot},
    lock::lock,
};

/// Where Baton looks for Workloads, and for which.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scope {
    /// All if empty.
    namespaces: Vec<String>,
    selector: Option<String>,
}

impl Scope {
    pub(crate) fn new(args: &ScopeArgs) -> Self {
        let mut namespaces: Vec<_> = args.namespace.iter().map(|name| name.0.clone()).collect();
        namespaces.sort();
        namespaces.dedup();
        Self { namespaces, selector: args.selector.as_ref().map(ToString::to_string) }
    }

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
    children: BTreeMap<ChildKind, Store<Packed>>,
    autoscalers: Arc<Mutex<Autoscalers>>,
    /// For each cache, whether it has been filled once. Not [`Store::wait_until_ready`]: of several that wait there at
    /// the same time it wakes only the last.
    filled: Vec<(&'static str, Receiver<bool>)>,
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
            autoscalers: Arc::default(),
            filled: Vec::new(),
            health: Health::default(),
        }
    }

    /// Waits until each cache has been filled once.
    pub(crate) async fn ready(&self) {
        for (_, filled) in &self.filled {
            // An error means that the stream is gone: the operator is shutting down, and there is nothing to wait for.
            let _ = filled.clone().wait_for(|filled| *filled).await;
        }
    }

    /// What hasn't been listed yet.
    pub(crate) fn unfilled(&self) -> Vec<&'static str> {
        self.filled.iter().filter(|(_, filled)| !*filled.borrow()).map(|(what, _)| *what).collect()
    }

    /// A Workload with what the caches show of its children and of the autoscalers of its Deployment.
    pub(crate) fn snapshot_of(&self, workload: Arc<Workload>) -> Snapshot {
        let (name, namespace) = (workload.name_any(), workload.namespace().unwrap_or_default());
        let cached = |(kind, store): (&ChildKind, &Store<Packed>)| {
            let resource = kind.api_resource();
            let key = ObjectRef::new_with(&name, resource.clone()).within(&namespace);
            let mut live = store.get(&key)?.unpack();
            live.fill_in_kind(&resource);
            Some((*kind, live))
        };
        let children = self.children.iter().filter_map(cached).collect();
        let autoscalers = lock(&self.autoscalers).of(&ScaleTarget::of(&workload));
        Snapshot::new(workload, children, autoscalers)
    }

    fn cache<K>(
        &mut self,
        what: &'static str,
        writer: Writer<K>,
        events: impl Stream<Item = watcher::Result<watcher::Event<K>>> + Send + 'static,
    ) -> impl Stream<Item = watcher::Result<watcher::Event<K>>> + Send + 'static
    where
        K: reflector::Lookup + Clone + Send + Sync + 'static,
        K::DynamicType: Eq + std::hash::Hash + Clone + Send + Sync,
    {
        let (filled, is_filled) = channel(false);
        self.filled.push((what, is_filled));
        reflector::reflector(writer, events).inspect_ok(move |event| {
            if matches!(event, watcher::Event::InitDone) {
                filled.send_replace(true);
            }
        })
    }

    /// A watch in each namespace of the scope, as one. Each pauses after an error by itself.
    fn watch<K>(
        &self,
        what: &str,
        scope: &Scope,
        config: &watcher::Config,
        api: impl Fn(Option<&str>) -> Api<K>,
    ) -> Watch<K>
    where
        K: kube::Resource + Clone + DeserializeOwned + fmt::Debug + Send + 'static,
    {
        let watch = |namespace: Option<&str>| {
            let place = namespace.map(|name| format!(" in {name}")).unwrap_or_default();
            let health = self.health.of(format!("{what}{place}"));
            watcher(api(namespace), config.clone()).default_backoff().inspect(health).boxed()
        };
        merged(scope.namespaces().into_iter().map(watch).collect())
    }
}

/// The Workloads in a namespace, or in all.
pub(crate) fn scoped(client: &Client, namespace: Option<&str>) -> Api<WatchedWorkload> {
    match namespace {
        None => Api::all(client.clone()),
        Some(namespace) => Api::namespaced(client.clone(), namespace),
    }
}

/// Prepares the watches: of Workloads and of each kind of child. Of HorizontalPodAutoscalers all are watched, since
/// what scales a Deployment needn't bear a label of Baton's; but only children are kept whole.
pub(crate) fn watch(client: &Client, scope: &Scope) -> (Stores, Streams) {
    let mut stores = Stores::empty();
    let (workloads, writer) = reflector::store();
    let selected = watcher::Config { label_selector: scope.selector.clone(), ..watcher::Config::default() };
    let events = stores.watch("Workloads", scope, &selected, |namespace| scoped(client, namespace));
    // One that is gone needs no look.
    let events = stores
        .cache("Workloads", writer, events)
        .try_filter(|event| std::future::ready(!matches!(event, watcher::Event::Delete(_))));
    let itself = |workload: &WatchedWorkload| Some(ObjectRef::from_obj(workload));
    let mut streams = vec![touched(events, itself, workloads.clone()).boxed()];

    let ours = format!("{}={}", labels::MANAGED_BY, labels::MANAGED_BY_BATON);
    let (tell, scaled) = mpsc::unbounded();
    for kind in ChildKind::ALL {
        let (writer, resource) = (Writer::new(kind.api_resource()), kind.api_resource());
        stores.children.insert(kind, writer.as_reader());
        let config = match kind {
            ChildKind::Autoscaler => watcher::Config::default(),
            _ => watcher::Config::default().labels(&ours),
        };
        let events = stores.watch(kind.name(), scope, &config, |namespace| match namespace {
            None => Api::all_with(client.clone(), &resource),
            Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
        });
        let events = match kind {
            ChildKind::Autoscaler => {
                let (index, tell) = (stores.autoscalers.clone(), tell.clone());
                events
                    .inspect_ok(move |event| {
                        for target in lock(&index).take(&unpacked(event)) {
                            let workload = ObjectRef::new(&target.deployment).within(&target.namespace);
                            // Nobody listens any more when the operator is shutting down.
                            let _ = tell.unbounded_send(workload);
                        }
                    })
                    .try_filter_map(async |event| Ok(only_children(event)))
                    .boxed()
            }
            _ => events.boxed(),
        };
        let events = stores.cache(kind.name(), writer, events);
        streams.push(touched(events, workload_of, workloads.clone()).boxed());
    }
    streams.push(scaled.boxed());
    (stores, Streams { workloads, touched: stream::select_all(streams).boxed() })
}

/// What an event means for a cache that holds only what bears Baton's label: an object that has lost it is gone.
fn only_children(event: watcher::Event<Packed>) -> Option<watcher::Event<Packed>> {
    use watcher::Event::{Apply, Delete, InitApply};
    let is_child = |child: &Packed| {
        child.labels().get(labels::MANAGED_BY).is_some_and(|by| by == labels::MANAGED_BY_BATON)
    };
    match event {
        Apply(other) if !is_child(&other) => Some(Delete(other)),
        InitApply(other) if !is_child(&other) => None,
        event => Some(event),
    }
}

fn unpacked(event: &watcher::Event<Packed>) -> watcher::Event<LiveObject> {
    use watcher::Event::{Apply, Delete, Init, InitApply, InitDone};
    match event {
        Apply(child) => Apply(child.unpack()),
        InitApply(child) => InitApply(child.unpack()),
        Delete(child) => Delete(child.unpack()),
        Init => Init,
        InitDone => InitDone,
    }
}
