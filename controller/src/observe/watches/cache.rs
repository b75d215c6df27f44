//! A cache of one kind, kept up to date by a watch of all namespaces or by one watch for each.
//!
//! kube's [`Writer`] takes a list for all that there is. Here a list stands for its namespace only, so it is taken object by
//! object, and what it doesn't name is deleted at its end.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Arc, Mutex},
};

use kube::{
    Resource, ResourceExt,
    runtime::{
        reflector::{Store, store::Writer},
        watcher::Event,
    },
};

use crate::lock::lock;

/// A cache; clones share it.
#[derive(Clone)]
pub(super) struct Cache<K>
where
    K: Resource + Clone + 'static,
    K::DynamicType: Eq + Hash + Clone,
{
    pub(super) store: Store<K>,
    writer: Arc<Mutex<Writer<K>>>,
}

impl<K> Cache<K>
where
    K: Resource + Clone + 'static,
    K::DynamicType: Eq + Hash + Clone,
{
    pub(super) fn new(kind: K::DynamicType) -> Self {
        let mut writer = Writer::new(kind);
        // A Controller does nothing before its store has had a list. When all lists are there, `Stores::ready` says.
        writer.apply_watcher_event(&Event::Init);
        writer.apply_watcher_event(&Event::InitDone);
        Self { store: writer.as_reader(), writer: Arc::new(Mutex::new(writer)) }
    }

    /// Takes in the events of the watch of this namespace, or of all; returns what each has changed, also by deleting it.
    pub(super) fn feed(
        &self,
        namespace: Option<&str>,
    ) -> impl FnMut(Event<K>) -> Vec<Arc<K>> + Send + 'static + use<K>
    where
        K: Send + Sync,
        K::DynamicType: Send + Sync,
    {
        let (cache, namespace) = (self.clone(), namespace.map(str::to_owned));
        // While the watch lists: what isn't named yet.
        let mut unlisted = HashMap::new();
        move |event| {
            let mut writer = lock(&cache.writer);
            match event {
                Event::Init => {
                    let here = |object: &Arc<K>| namespace.is_none() || object.namespace() == namespace;
                    let cached = cache.store.state().into_iter().filter(here);
                    unlisted = cached.map(|object| (key(&*object), object)).collect();
                    Vec::new()
                }
                Event::Apply(object) | Event::InitApply(object) => {
                    unlisted.remove(&key(&object));
                    writer.apply_watcher_event(&Event::Apply(object.clone()));
                    vec![Arc::new(object)]
                }
                Event::Delete(object) => {
                    writer.apply_watcher_event(&Event::Delete(object.clone()));
                    vec![Arc::new(object)]
                }
                Event::InitDone => {
                    let gone: Vec<_> = unlisted.drain().map(|(_, object)| object).collect();
                    for object in &gone {
                        writer.apply_watcher_event(&Event::Delete(K::clone(object)));
                    }
                    gone
                }
            }
        }
    }
}

fn key(object: &impl ResourceExt) -> (Option<String>, String) {
    (object.namespace(), object.name_any())
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::core::ObjectMeta;

    use super::*;

    fn object(namespace: &str, name: &str) -> ConfigMap {
        let metadata = ObjectMeta {
            namespace: Some(namespace.to_owned()),
            name: Some(name.to_owned()),
            ..ObjectMeta::default()
        };
        ConfigMap { metadata, ..ConfigMap::default() }
    }

    fn names(objects: impl IntoIterator<Item = Arc<ConfigMap>>) -> Vec<String> {
        let mut names: Vec<_> = objects.into_iter().map(|object| object.name_any()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_later_list_deletes_what_it_does_not_name_and_nothing_in_another_namespace() {
        let cache = Cache::new(());
        let (mut one, mut two) = (cache.feed(Some("one")), cache.feed(Some("two")));
        for (feed, namespace, names) in
            [(&mut one as &mut dyn FnMut(_) -> _, "one", ["a", "b"]), (&mut two, "two", ["c", "d"])]
        {
            feed(Event::Init);
            for name in names {
                feed(Event::InitApply(object(namespace, name)));
            }
            feed(Event::InitDone);
        }
        assert_eq!(names(cache.store.state()), ["a", "b", "c", "d"]);

        one(Event::Init);
        assert_eq!(names(one(Event::InitApply(object("one", "a")))), ["a"]);
        assert_eq!(names(cache.store.state()), ["a", "b", "c", "d"], "the list isn't complete");
        assert_eq!(names(one(Event::InitDone)), ["b"]);
        assert_eq!(names(cache.store.state()), ["a", "c", "d"]);
    }

    #[test]
    fn a_list_that_broke_off_deletes_nothing() {
        let cache = Cache::new(());
        let mut feed = cache.feed(None);
        feed(Event::Apply(object("one", "a")));
        feed(Event::Init);
        feed(Event::Init);
        feed(Event::InitApply(object("one", "a")));
        assert_eq!(names(feed(Event::InitDone)), Vec::<String>::new());
        assert_eq!(names(feed(Event::Delete(object("one", "a")))), ["a"]);
        assert!(cache.store.is_empty());
    }
}
