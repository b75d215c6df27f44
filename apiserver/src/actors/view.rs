//! A cache of the objects in the store for controllers: each is parsed once.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use baton_merge::schema::kinds::GroupVersionKind;
use serde_json::Value;

use super::Pass;
use crate::{
    registry::Resource,
    server::Server,
    store::{ChangeKind, Key, Range, Record},
};

/// An object with its `apiVersion` and `kind`.
pub(super) type Object = Arc<Value>;

#[derive(Default)]
pub(super) struct View {
    collections: HashMap<String, Collection>,
}

#[derive(Default)]
struct Collection {
    /// The kind and version of the objects, which changes with the served versions of a custom resource.
    kind: Option<GroupVersionKind>,
    /// The store's version up to which changes are included.
    up_to: u64,
    objects: BTreeMap<Key, Object>,
}

impl View {
    fn collection(&mut self, server: &Server, resource: &Resource) -> &Collection {
        let collection = self.collections.entry(resource.storage.clone()).or_default();
        if collection.kind.as_ref() != Some(&resource.stored_as) {
            *collection = Collection { kind: Some(resource.stored_as.clone()), ..Collection::default() };
        }
        match server.store.changes_after(&resource.storage, collection.up_to) {
            Ok((changes, version)) => {
                for change in changes {
                    match change.kind {
                        ChangeKind::Deleted => collection.objects.remove(&change.key),
                        _ => collection.objects.insert(change.key, read(resource, &change.record)),
                    };
                }
                collection.up_to = version;
            }
            Err(_) => {
                if let Ok(all) = server.store.list(&resource.storage, &Range::default()) {
                    let read = |(key, record): (Key, Arc<Record>)| (key, read(resource, &record));
                    collection.objects = all.objects.into_iter().map(read).collect();
                    collection.up_to = all.version;
                }
            }
        }
        collection
    }
}

fn read(resource: &Resource, record: &Record) -> Object {
    let gvk = &resource.stored_as;
    let text = record.json(&gvk.api_version(), &gvk.kind);
    Arc::new(serde_json::from_str(&text).unwrap_or_default())
}

impl Pass<'_> {
    /// All objects of a resource, in their stored version.
    pub(super) fn all(&mut self, resource: &Resource) -> Vec<Object> {
        let changed = self.server.store.changed(&resource.storage);
        self.inputs.listed.entry(resource.storage.clone()).or_insert(changed);
        self.view.collection(self.server, resource).objects.values().cloned().collect()
    }

    /// All objects of a built-in resource in `v1`.
    pub(super) fn list(&mut self, group: &str, plural: &str) -> Vec<Object> {
        self.list_version(group, "v1", plural)
    }

    pub(super) fn list_version(&mut self, group: &str, version: &str, plural: &str) -> Vec<Object> {
        let registry = self.server.registry();
        registry.resource(group, version, plural).map_or_else(Vec::new, |resource| self.all(resource))
    }
}
