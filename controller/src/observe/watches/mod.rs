//! The watches that feed the loop: caches of the children, and which Workload a change concerns.
//!
//! Passes read from these caches: in a cluster without changes, only the watches cost requests.

mod health;

use std::{collections::BTreeSet, fmt, sync::Arc, time::Duration};

use baton_apply::{ApiError, LiveObject, with_timeout};
use baton_crd::{Workload, labels};
use futures::{
    FutureExt as _, Stream, StreamExt,
    stream::{self, BoxStream},
};
use kube::{
    Api, Client, ResourceExt,
    api::ListParams,
    core::ApiResource,
    runtime::{
        WatchStreamExt,
        reflector::{ObjectRef, Store},
        watcher,
        watcher::Event,
    },
};
use tokio::sync::watch::{Receiver, channel};

pub(crate) use self::health::Health;
use super::{
    Digests, WatchedWorkload, WorkloadCrd,
    families::{Families, FamilyName, Seen},
    workloads::{Taken, Workloads},
};
use crate::decide::{child::ChildKind, snapshot::Snapshot};

/// How many objects a response to a list has at most.
pub(crate) const PAGE: u32 = 10;

/// The namespaces and the shard of Baton's Workloads.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scope {
    /// All if empty.
    pub(crate) namespaces: Vec<String>,
    /// The shard of the Workloads; none for those without a shard.
    pub(crate) shard: Option<String>,
}

impl Scope {
    /// Each namespace that is watched; a single `None` for all.
    pub(crate) fn namespaces(&self) -> Vec<Option<&str>> {
        if self.namespaces.is_empty() {
            return vec![None];
        }
        self.namespaces.iter().map(|name| Some(name.as_str())).collect()
    }

    /// The label selector of the shard's Workloads, and of their children.
    fn selector(&self) -> String {
        match &self.shard {
            Some(shard) => format!("{}={shard}", labels::SHARD),
            None => format!("!{}", labels::SHARD),
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.namespaces.as_slice() {
            [] => f.write_str("all namespaces")?,
            names => f.write_str(&names.join(", "))?,
        }
        self.shard.iter().try_for_each(|shard| write!(f, ", shard {shard}"))
    }
}

/// Caches of all Workloads and of the objects around them.
#[derive(Clone)]
pub(crate) struct Stores {
    workloads: Workloads,
    families: Families,
    /// For each watch, its kind and whether its first list is in the cache.
    filled: Vec<(&'static str, Receiver<bool>)>,
    /// The health of the watches that feed the caches.
    pub(crate) health: Health,
}

/// Fills the caches and reports what was touched, while it is polled.
pub(crate) struct Streams {
    pub(crate) workloads: Store<WatchedWorkload>,
    /// The Workloads that need a pass, because they, a child or what scales it has changed. It never ends.
    pub(crate) touched: BoxStream<'static, ObjectRef<WatchedWorkload>>,
}

/// The digests of the objects that a pass reads.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Inputs {
    pub(crate) workload: u64,
    pub(crate) around: Digests,
}

impl Stores {
    /// Empty, for the Workloads of a shard and their children.
    pub(crate) fn of_shard(shard: Option<&str>) -> Self {
        let workloads = Workloads::new();
        Self {
            families: Families::new(shard, workloads.store.clone()),
            workloads,
            filled: Vec::new(),
            health: Health::default(),
        }
    }

    /// Waits until the first list of each watch is in the cache.
    pub(crate) async fn ready(&self) {
        for (_, filled) in &self.filled {
            // An error means that the stream is gone: the operator is shutting down.
            let _ = filled.clone().wait_for(|filled| *filled).await;
        }
    }

    /// The kinds without a complete list yet.
    pub(crate) fn unfilled(&self) -> BTreeSet<&'static str> {
        self.filled.iter().filter(|(_, filled)| !*filled.borrow()).map(|(kind, _)| *kind).collect()
    }

    /// A Workload with its cached children and the cached autoscalers of its Deployment.
    pub(crate) fn snapshot_of(&self, workload: Arc<Workload>) -> (Snapshot, Digests) {
        let Seen { children, autoscalers, digests } = self.families.seen(&family_of(&*workload));
        (Snapshot::new(workload, children.into_iter().collect(), autoscalers), digests)
    }

    /// The digests of what a pass for this Workload would read now.
    pub(crate) fn inputs_of(&self, workload: &WatchedWorkload) -> Inputs {
        Inputs { workload: workload.digest(), around: self.families.digests(&family_of(workload)) }
    }

    /// How many bytes of text a pass for this Workload would read.
    pub(crate) fn size_of(&self, workload: &WatchedWorkload) -> usize {
        workload.size() + self.families.size(&family_of(workload))
    }

    /// The cached Workload, if there is one.
    pub(crate) fn workload(&self, which: &impl ResourceExt) -> Option<Arc<WatchedWorkload>> {
        let FamilyName { namespace, name } = family_of(which);
        self.workloads.store.get(&ObjectRef::new(&name).within(&namespace))
    }

    /// Waits, up to the limit, for a newer version of a child that its controllers have observed. If there is none, returns the
    /// newest; none if there is no newer one.
    pub(crate) async fn newer_child(
        &self,
        workload: &Workload,
        child: ChildKind,
        than: &LiveObject,
        limit: Duration,
    ) -> Option<LiveObject> {
        self.families.newer(&family_of(workload), child, than, child.is_observed(), limit).await
    }

    /// Caches a child that the API server has just returned, so that the next pass sees what Baton wrote, and marks it as seen in
    /// `around`. A deletion is seen once the watch delivers it.
    pub(crate) fn take_child(
        &self,
        workload: &Workload,
        child: ChildKind,
        returned: Option<&LiveObject>,
        around: &mut Digests,
    ) {
        self.families.take(&family_of(workload), child, returned, around);
    }

    /// The same for a Workload. Returns its digests.
    pub(crate) fn take_workload(&self, live: &LiveObject) -> Taken {
        self.workloads.take(live)
    }

    /// Lists the Workloads of the scope again, beside their watches, which may list them only later.
    pub(crate) async fn relist_workloads(
        &self,
        client: &Client,
        scope: &Scope,
        limit: Duration,
    ) -> Result<(), ApiError> {
        for namespace in scope.namespaces() {
            let api = workloads_in(client, namespace);
            let mut params = ListParams::default().labels(&scope.selector()).limit(PAGE);
            loop {
                let page = with_timeout(limit, api.list(&params)).await?;
                page.iter().for_each(|listed| self.workloads.relisted(listed));
                match page.metadata.continue_.filter(|token| !token.is_empty()) {
                    Some(token) => params.continue_token = Some(token),
                    None => break,
                }
            }
        }
        Ok(())
    }

    /// The events of a kind in a namespace, or in all. Errors go to [`Health`], and a pause follows each. The CRD, if there
    /// is one, is doubted each time that the watch fails or begins.
    fn watch(
        &mut self,
        kind: &'static str,
        namespace: Option<&str>,
        api: Api<LiveObject>,
        config: watcher::Config,
        crd: Option<WorkloadCrd>,
    ) -> impl Stream<Item = Event<LiveObject>> + Send + 'static + use<> {
        let health = self.health.of(kind, namespace.map(str::to_owned));
        let (filled, is_filled) = channel(false);
        let config = config.page_size(PAGE);
        self.filled.push((kind, is_filled));
        let doubt = move |event: &watcher::Result<Event<LiveObject>>| {
            // A change of the CRD ends every watch; so do many other events.
            if matches!(event, Err(_) | Ok(Event::Init)) {
                crd.iter().for_each(WorkloadCrd::doubt);
            }
        };
        let events = watcher(api, config).default_backoff().inspect(health).inspect(doubt);
        events.flat_map(stream::iter).inspect(move |event| {
            // All listed objects have passed here and are in the cache.
            if matches!(event, Event::InitDone) {
                filled.send_replace(true);
            }
        })
    }
}

fn family_of(workload: &impl ResourceExt) -> FamilyName {
    FamilyName { namespace: workload.namespace().unwrap_or_default(), name: workload.name_any() }
}

fn name_of(which: &ObjectRef<WatchedWorkload>) -> FamilyName {
    FamilyName { namespace: which.namespace.clone().unwrap_or_default(), name: which.name.clone() }
}

/// The objects of a kind in a namespace, or in all.
fn scoped(client: &Client, namespace: Option<&str>, resource: &ApiResource) -> Api<LiveObject> {
    match namespace {
        None => Api::all_with(client.clone(), resource),
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, resource),
    }
}

/// The Workloads in a namespace, or in all.
pub(crate) fn workloads_in(client: &Client, namespace: Option<&str>) -> Api<LiveObject> {
    scoped(client, namespace, &Workloads::resource())
}

/// Prepares the watches: in each namespace of the scope, one for Workloads and one for each kind of child. All
/// HorizontalPodAutoscalers are watched, since one without Baton's label can scale a Deployment too, but only children are cached
/// whole. Of the other kinds, only objects with the labels of Baton and of the shard are watched. The children's watches begin when
/// the Workloads are known, since only children of these are cached.
pub(crate) fn watch(client: &Client, scope: &Scope, crd: &WorkloadCrd) -> (Stores, Streams) {
    let mut stores = Stores::of_shard(scope.shard.as_deref());
    let (workloads, families) = (stores.workloads.clone(), stores.families.clone());
    let is_known = {
        let known = workloads.store.clone();
        move |which: &ObjectRef<WatchedWorkload>| known.get(which).is_some()
    };
    let selected = watcher::Config::default().labels(&scope.selector());
    let ours = format!("{}={},{}", labels::MANAGED_BY, labels::MANAGED_BY_BATON, scope.selector());
    let mut touched = Vec::new();
    for namespace in scope.namespaces() {
        let api = workloads_in(client, namespace);
        let events = stores.watch("Workloads", namespace, api, selected.clone(), Some(crd.clone()));
        let has_workloads = stores.filled.last().map(|(_, filled)| filled.clone());
        let (mut feed, around, is_known) = (workloads.feed(namespace), families.clone(), is_known.clone());
        let feed = move |event| {
            let changed = feed(event);
            changed.iter().filter(|which| !is_known(which)).for_each(|gone| around.forget(&name_of(gone)));
            stream::iter(changed)
        };
        touched.push(events.flat_map(feed).boxed());

        for kind in ChildKind::ALL {
            let api = scoped(client, namespace, &kind.api_resource());
            let config = watcher::Config::default();
            let config = if kind == ChildKind::Autoscaler { config } else { config.labels(&ours) };
            let events = stores.watch(kind.name(), namespace, api, config, None);
            let mut feed = families.feed(kind, namespace);
            let workload = |FamilyName { namespace, name }| ObjectRef::new(&name).within(&namespace);
            let events = events.flat_map(move |event| stream::iter(feed(event)).map(workload));
            let has_workloads = has_workloads.clone();
            let begin = async move {
                if let Some(mut filled) = has_workloads {
                    // An error means that the operator is shutting down.
                    let _ = filled.wait_for(|filled| *filled).await;
                }
                events
            };
            touched.push(begin.flatten_stream().boxed());
        }
    }
    (stores, Streams { workloads: workloads.store, touched: stream::select_all(touched).boxed() })
}
