//! The watches that feed the loop: caches of the children, and which Workload a change concerns.
//!
//! Reads come from here; a steady cluster costs no request but the watches. Refuses to know what is done about a change.

use std::collections::BTreeMap;

use baton_crd::{GROUP, Workload, labels};
use futures::{Stream, StreamExt, future::join_all, stream::BoxStream};
use kube::{
    Api, Client, Resource, ResourceExt,
    core::{DeserializeGuard, DynamicObject},
    runtime::{
        WatchStreamExt,
        reflector::{self, ObjectRef, Store, store::Writer},
        watcher,
    },
};

use crate::{child::ChildKind, live::Live};

/// The Workload as the watch delivers it: one that can't be decoded must not hide the others.
pub(crate) type WatchedWorkload = DeserializeGuard<Workload>;

/// A stream of children that were touched.
pub(crate) type Touched = BoxStream<'static, watcher::Result<DynamicObject>>;

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

    fn children(&self, client: &Client, kind: ChildKind) -> Api<DynamicObject> {
        let resource = kind.api_resource();
        match self {
            Self::Cluster => Api::all_with(client.clone(), &resource),
            Self::Namespace(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
        }
    }
}

/// Caches of all children that bear Baton's label.
#[derive(Clone)]
pub(crate) struct Stores(BTreeMap<ChildKind, Store<DynamicObject>>);

impl Stores {
    /// Waits until each cache has been filled once.
    pub(crate) async fn ready(&self) {
        // A dropped writer means that the operator is shutting down; there is nothing to wait for then.
        join_all(self.0.values().map(Store::wait_until_ready)).await;
    }

    /// The cached objects that bear the name of this Workload's children.
    pub(crate) fn children_of(&self, workload: &Workload) -> BTreeMap<ChildKind, Live> {
        let (name, namespace) = (workload.name_any(), workload.namespace().unwrap_or_default());
        let cached = |(kind, store): (&ChildKind, &Store<DynamicObject>)| {
            let key = ObjectRef::new_with(&name, kind.api_resource()).within(&namespace);
            Some((*kind, Live::from(store.get(&key)?)))
        };
        self.0.iter().filter_map(cached).collect()
    }
}

/// Starts a watch for each kind of child.
pub(crate) fn watch_children(client: &Client, scope: &Scope) -> (Stores, Vec<(ChildKind, Touched)>) {
    let ours =
        watcher::Config::default().labels(&format!("{}={}", labels::MANAGED_BY, labels::MANAGED_BY_BATON));
    let (mut stores, mut streams) = (BTreeMap::new(), Vec::new());
    for kind in ChildKind::ALL {
        let writer = Writer::new(kind.api_resource());
        stores.insert(kind, writer.as_reader());
        let watch = watcher(scope.children(client, kind), ours.clone());
        streams.push((kind, touched(writer, watch).boxed()));
    }
    (Stores(stores), streams)
}

fn touched(
    writer: Writer<DynamicObject>,
    watch: impl Stream<Item = watcher::Result<watcher::Event<DynamicObject>>> + Send,
) -> impl Stream<Item = watcher::Result<DynamicObject>> + Send {
    reflector::reflector(writer, watch).default_backoff().touched_objects()
}

/// The Workload that a child's change concerns: its controller, or, where somebody removed that, the one that its label
/// names.
pub(crate) fn workload_of(child: &DynamicObject) -> Option<ObjectRef<WatchedWorkload>> {
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
        let child: DynamicObject = serde_json::from_value(json!({"metadata": metadata})).unwrap();
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
