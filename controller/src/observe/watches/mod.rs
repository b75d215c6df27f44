//! The watches that feed the loop: caches of the children, and which Workload a change concerns.
//!
//! Reads come from here; a steady cluster costs no request but the watches.

mod health;

use std::{fmt, sync::Arc, time::Duration};

use baton_apply::LiveObject;
use baton_crd::{Workload, labels};
use futures::{
    Stream, StreamExt,
    stream::{self, BoxStream},
};
use kube::{
    Api, Client, ResourceExt,
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

/// Where Baton looks for Workloads, and for which.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scope {
    /// All if empty.
    pub(crate) namespaces: Vec<String>,
    /// The shard whose Workloads they are; none for those without.
    pub(crate) shard: Option<String>,
}

impl Scope {
    /// Each namespace that is watched; just one `None` where these are all.
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

/// Caches of all Workloads and of what is around them.
#[derive(Clone)]
pub(crate) struct Stores {
    workloads: Workloads,
    families: Families,
    /// For each watch, whether its first list is in the cache.
    filled: Vec<(String, Receiver<bool>)>,
    /// How the watches do that feed the caches.
    pub(crate) health: Health,
}

/// What fills the caches and reports what was touched; nothing moves unless it is polled.
pub(crate) struct Streams {
    pub(crate) workloads: Store<WatchedWorkload>,
    /// The Workloads that need a look, because they, a child or what scales it has changed. It never ends.
    pub(crate) touched: BoxStream<'static, ObjectRef<WatchedWorkload>>,
}

/// The digests of what a pass would read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Inputs {
    pub(crate) workload: u64,
    pub(crate) around: Digests,
}

impl Inputs {
    /// The same without what is only reported.
    pub(crate) fn but_status(&self) -> Self {
        Self { around: self.around.but_status(), ..self.clone() }
    }
}

impl Stores {
    /// Empty, for the Workloads of a shard and their children.
    pub(crate) fn of_shard(shard: Option<&str>) -> Self {
        Self {
            workloads: Workloads::new(),
            families: Families::of_shard(shard),
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
    pub(crate) fn snapshot_of(&self, workload: Arc<Workload>) -> (Snapshot, Digests) {
        let Seen { children, autoscalers, digests } = self.families.seen(&family_of(&*workload));
        (Snapshot::new(workload, children.into_iter().collect(), autoscalers), digests)
    }

    /// What a pass of this Workload would see now.
    pub(crate) fn inputs_of(&self, workload: &WatchedWorkload) -> Inputs {
        Inputs { workload: workload.digest(), around: self.families.digests(&family_of(workload)) }
    }

    /// The Workload as it is in the cache, if it is.
    pub(crate) fn workload(&self, which: &impl ResourceExt) -> Option<Arc<WatchedWorkload>> {
        let FamilyName { namespace, name } = family_of(which);
        self.workloads.store.get(&ObjectRef::new(&name).within(&namespace))
    }

    /// How many Workloads there are.
    pub(crate) fn workloads(&self) -> usize {
        self.workloads.store.len()
    }

    /// Waits, but no longer than this, for a version of a child after this one that its controllers have seen. If there is
    /// none, the newest; none where that isn't newer.
    pub(crate) async fn newer_child(
        &self,
        workload: &Workload,
        child: ChildKind,
        than: &LiveObject,
        limit: Duration,
    ) -> Option<LiveObject> {
        self.families.newer(&family_of(workload), child, than, child.is_observed(), limit).await
    }

    /// Takes in a child as the API server has just returned it, so that the caches are never older than what Baton itself did,
    /// and in `around` that it was seen.
    pub(crate) fn take_child(
        &self,
        workload: &Workload,
        child: ChildKind,
        returned: Option<&LiveObject>,
        around: &mut Digests,
    ) {
        self.families.take(&family_of(workload), child, returned, around);
    }

    /// The same of a Workload. Returns its digests.
    pub(crate) fn take_workload(&self, live: &LiveObject) -> Taken {
        self.workloads.take(live)
    }

    /// What happens to a kind in a namespace, or in all. Errors are the [`Health`]'s, and a pause follows each.
    fn watch(
        &mut self,
        what: &str,
        namespace: Option<&str>,
        api: Api<LiveObject>,
        config: watcher::Config,
    ) -> impl Stream<Item = Event<LiveObject>> + Send + 'static + use<> {
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

fn family_of(workload: &impl ResourceExt) -> FamilyName {
    FamilyName { namespace: workload.namespace().unwrap_or_default(), name: workload.name_any() }
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

/// Prepares the watches: in each namespace of the scope one of Workloads and of each kind of child. Of
/// HorizontalPodAutoscalers all are watched, since what scales a Deployment needn't bear a label of Baton's; but only
/// children are kept whole. Of the rest those are watched that bear the labels of Baton and of the shard.
pub(crate) fn watch(client: &Client, scope: &Scope, crd: &WorkloadCrd) -> (Stores, Streams) {
    let mut stores = Stores::of_shard(scope.shard.as_deref());
    let (workloads, families) = (stores.workloads.clone(), stores.families.clone());
    let selected = watcher::Config::default().labels(&scope.selector());
    let ours = format!("{}={},{}", labels::MANAGED_BY, labels::MANAGED_BY_BATON, scope.selector());
    let mut touched = Vec::new();
    for namespace in scope.namespaces() {
        let api = workloads_in(client, namespace);
        let events = stores.watch("Workloads", namespace, api, selected.clone());
        let crd = crd.clone();
        let events = events.inspect(move |event| {
            // A change of the CRD ends every watch, as many other things do.
            if matches!(event, Event::Init) {
                crd.doubt();
            }
        });
        let mut feed = workloads.feed(namespace);
        touched.push(events.flat_map(move |event| stream::iter(feed(event))).boxed());

        for kind in ChildKind::ALL {
            let api = scoped(client, namespace, &kind.api_resource());
            let config = watcher::Config::default();
            let config = if kind == ChildKind::Autoscaler { config } else { config.labels(&ours) };
            let events = stores.watch(kind.name(), namespace, api, config);
            let mut feed = families.feed(kind, namespace);
            let workload = |FamilyName { namespace, name }| ObjectRef::new(&name).within(&namespace);
            touched.push(events.flat_map(move |event| stream::iter(feed(event)).map(workload)).boxed());
        }
    }
    (stores, Streams { workloads: workloads.store, touched: stream::select_all(touched).boxed() })
}
