//! The watches that feed the loop: caches of the children, and which Workload a change concerns.
//!
//! Reads come from here; a steady cluster costs no request but the watches. Refuses to know what is done about a change.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use baton_crd::{GROUP, Workload, labels};
use futures::{Stream, StreamExt, TryStreamExt, channel::mpsc, stream::BoxStream};
use kube::{
    Api, Client, Resource, ResourceExt,
    runtime::{
        WatchStreamExt,
        reflector::{self, ObjectRef, Store, store::Writer},
        watcher,
    },
};

use tokio::sync::watch::{Receiver, channel};

use crate::{
    autoscalers::{Autoscaler, Autoscalers, Target},
    child::ChildKind,
    live::Live,
    lock::lock,
    watched::WatchedWorkload,
};

/// Where Baton looks for Workloads.
#[derive(Clone, Debug)]
pub(crate) enum Scope {
    /// In every namespace.
    Cluster,
    /// In this namespace only.
    Namespace(String),
}

impl Scope {
    pub(crate) fn workloads(&self, client: &Client) -> Api<WatchedWorkload> {
        match self {
            Self::Cluster => Api::all(client.clone()),
            Self::Namespace(namespace) => Api::namespaced(client.clone(), namespace),
        }
    }

    fn children(&self, client: &Client, kind: ChildKind) -> Api<Live> {
        let resource = kind.api_resource();
        match self {
            Self::Cluster => Api::all_with(client.clone(), &resource),
            Self::Namespace(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
        }
    }
}

/// Caches of all children that bear Baton's label, and of what is to be known of other people's autoscalers.
#[derive(Clone)]
pub(crate) struct Stores {
    children: BTreeMap<ChildKind, Store<Live>>,
    autoscalers: Arc<Mutex<Autoscalers>>,
    /// For each cache, whether it has been filled once. Not [`Store::wait_until_ready`]: of several that wait there at
    /// the same time it wakes only the last.
    filled: Vec<Receiver<bool>>,
}

/// The streams that fill the caches and tell what was touched; nothing moves unless they are polled.
pub(crate) struct Streams {
    pub(crate) workloads: BoxStream<'static, watcher::Result<WatchedWorkload>>,
    pub(crate) workload_store: Store<WatchedWorkload>,
    pub(crate) children: Vec<(ChildKind, BoxStream<'static, watcher::Result<Live>>)>,
    /// Workloads whose Deployment other autoscalers scale than before. Its errors are told by the stream of the children.
    pub(crate) scaled: BoxStream<'static, ObjectRef<WatchedWorkload>>,
}

impl Stores {
    /// Waits until each cache has been filled once.
    pub(crate) async fn ready(&self) {
        for filled in &self.filled {
            // An error means that the stream is gone: the operator is shutting down, and there is nothing to wait for.
            let _ = filled.clone().wait_for(|filled| *filled).await;
        }
    }

    /// Whether each cache has been filled once; before that no pass runs.
    pub(crate) fn are_filled(&self) -> bool {
        self.filled.iter().all(|filled| *filled.borrow())
    }

    /// The cached objects that bear the name of this Workload's children.
    pub(crate) fn children_of(&self, workload: &Workload) -> BTreeMap<ChildKind, Live> {
        let (name, namespace) = (workload.name_any(), workload.namespace().unwrap_or_default());
        let cached = |(kind, store): (&ChildKind, &Store<Live>)| {
            let key = ObjectRef::new_with(&name, kind.api_resource()).within(&namespace);
            Some((*kind, Live::clone(&*store.get(&key)?)))
        };
        self.children.iter().filter_map(cached).collect()
    }

    /// The HorizontalPodAutoscalers that scale this Workload's Deployment.
    pub(crate) fn autoscalers_of(&self, workload: &Workload) -> Vec<Autoscaler> {
        lock(&self.autoscalers).of(&Target::of(workload))
    }

    fn cache<K>(
        &mut self,
        writer: Writer<K>,
        events: impl Stream<Item = watcher::Result<watcher::Event<K>>> + Send + 'static,
    ) -> impl Stream<Item = watcher::Result<watcher::Event<K>>> + Send + 'static
    where
        K: reflector::Lookup + Clone + Send + Sync + 'static,
        K::DynamicType: Eq + std::hash::Hash + Clone + Send + Sync,
    {
        let (filled, is_filled) = channel(false);
        self.filled.push(is_filled);
        reflector::reflector(writer, events).default_backoff().inspect_ok(move |event| {
            if matches!(event, watcher::Event::InitDone) {
                filled.send_replace(true);
            }
        })
    }
}

/// Prepares the watches: one of Workloads and one of each kind of child. Of HorizontalPodAutoscalers all are watched, since
/// what scales a Deployment needn't bear a label of Baton's; but only children are kept whole.
pub(crate) fn watch(client: &Client, scope: &Scope) -> (Stores, Streams) {
    let mut stores = Stores { children: BTreeMap::new(), autoscalers: Arc::default(), filled: Vec::new() };
    let (workload_store, writer) = reflector::store();
    let workloads = watcher(scope.workloads(client), watcher::Config::default());
    let workloads = stores.cache(writer, workloads).applied_objects().boxed();

    let ours = format!("{}={}", labels::MANAGED_BY, labels::MANAGED_BY_BATON);
    let (tell, scaled) = mpsc::unbounded();
    let mut children = Vec::new();
    for kind in ChildKind::ALL {
        let writer = Writer::new(kind.api_resource());
        stores.children.insert(kind, writer.as_reader());
        let config = match kind {
            ChildKind::Autoscaler => watcher::Config::default(),
            _ => watcher::Config::default().labels(&ours),
        };
        let events = watcher(scope.children(client, kind), config).modify(move |child| child.set_kind(kind));
        let events = match kind {
            ChildKind::Autoscaler => {
                let (index, tell) = (stores.autoscalers.clone(), tell.clone());
                events
                    .inspect_ok(move |event| {
                        for target in lock(&index).take(event) {
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
        children.push((kind, stores.cache(writer, events).touched_objects().boxed()));
    }
    (stores, Streams { workloads, workload_store, children, scaled: scaled.boxed() })
}

/// What an event means for a cache that holds only what bears Baton's label: an object that has lost it is gone.
fn only_children(event: watcher::Event<Live>) -> Option<watcher::Event<Live>> {
    use watcher::Event::{Apply, Delete, InitApply};
    let is_child =
        |live: &Live| live.labels().get(labels::MANAGED_BY).is_some_and(|by| by == labels::MANAGED_BY_BATON);
    match event {
        Apply(live) if !is_child(&live) => Some(Delete(live)),
        InitApply(live) if !is_child(&live) => None,
        event => Some(event),
    }
}

/// The Workload that a child's change concerns: its controller, or, where somebody removed that, the one that its label
/// names.
pub(crate) fn workload_of(child: &Live) -> Option<ObjectRef<WatchedWorkload>> {
    let is_workload = |api_version: &str, kind: &str| {
        kind == Workload::kind(&()) && api_version.split('/').next() == Some(GROUP)
    };
    let owner = child.owner_references().iter().find(|owner| is_workload(&owner.api_version, &owner.kind));
    let name = owner.map(|owner| &owner.name).or_else(|| child.labels().get(labels::WORKLOAD))?;
    Some(ObjectRef::new(name).within(&child.namespace()?))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn concerned(metadata: &Value) -> Option<String> {
        let child = Live::from_json(json!({"metadata": metadata})).unwrap();
        workload_of(&child)
            .map(|reference| format!("{}/{}", reference.namespace.unwrap_or_default(), reference.name))
    }

    #[test]
    fn a_child_concerns_its_owner_and_else_the_workload_that_its_label_names() {
        let owner =
            json!([{"apiVersion": "baton.rs/v1alpha1", "kind": "Workload", "name": "web", "uid": "u"}]);
        let labels = json!({"baton.rs/workload": "other"});
        let metadata = json!({"name": "x", "namespace": "ns", "ownerReferences": owner, "labels": labels});
        assert_eq!(concerned(&metadata).as_deref(), Some("ns/web"));
        let metadata = json!({"name": "x", "namespace": "ns", "labels": labels});
        assert_eq!(concerned(&metadata).as_deref(), Some("ns/other"));
    }

    #[test]
    fn an_owner_of_another_group_is_not_a_workload_of_baton() {
        let owner =
            json!([{"apiVersion": "other.example/v1", "kind": "Workload", "name": "web", "uid": "u"}]);
        assert_eq!(concerned(&json!({"name": "x", "namespace": "ns", "ownerReferences": owner})), None);
    }
}
