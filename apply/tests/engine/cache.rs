//! The cache beside a plain map, in any order of events, lists and responses.

use std::{collections::BTreeMap, sync::Arc};

use baton_apply::{
    LiveObject,
    cache::{Cache, Changed, Feed, NamespacedName},
};
use k8s_openapi::api::apps::v1::Deployment;
use kube::{Resource as _, core::ApiResource, runtime::watcher::Event};
use proptest::prelude::*;
use serde_json::json;

type Name = (&'static str, &'static str);

const NAMES: [Name; 3] = [("shop", "web"), ("shop", "db"), ("blog", "web")];

fn object((namespace, name): Name, version: u64, replicas: u8) -> LiveObject {
    let metadata = json!({"namespace": namespace, "name": name, "resourceVersion": version.to_string()});
    LiveObject::from_json(json!({"metadata": metadata, "spec": {"replicas": replicas}})).unwrap()
}

fn version(live: &LiveObject) -> u64 {
    live.meta().resource_version.as_ref().unwrap().parse().unwrap()
}

fn cache() -> Cache {
    Cache::new(ApiResource::erase::<Deployment>(&()))
}

/// Delivers an event; returns the names of the objects that it changes.
fn deliver<V: PartialEq>(feed: &mut Feed<V>, event: Event<LiveObject>) -> Vec<String> {
    let changed = feed.deliver(&Ok(event));
    changed.into_iter().map(|Changed { name, .. }| name.name).collect()
}

/// An event of the test.
#[derive(Clone, Debug)]
enum TestEvent {
    /// An object is written.
    Write(usize, u8),
    /// An object is deleted.
    Delete(usize),
    /// The watch delivers the next event.
    Deliver,
    /// The response to this write, counted from the last one, is stored.
    Store(usize),
    /// The watch begins again with a list. After each of its events a response is stored.
    List(Vec<usize>),
}

fn step() -> impl Strategy<Value = TestEvent> {
    let (name, back) = (0..NAMES.len(), 0..4_usize);
    prop_oneof![
        4 => (name.clone(), 0..3_u8).prop_map(|(name, replicas)| TestEvent::Write(name, replicas)),
        2 => name.prop_map(TestEvent::Delete),
        4 => Just(TestEvent::Deliver),
        3 => back.clone().prop_map(TestEvent::Store),
        1 => prop::collection::vec(back, 0..6).prop_map(TestEvent::List),
    ]
}

/// A server, and a cache that follows it.
struct Cluster {
    objects: BTreeMap<Name, LiveObject>,
    /// The events of the server. The watches have delivered so many.
    events: Vec<Event<LiveObject>>,
    delivered: usize,
    /// The cache by its watches alone: a plain map.
    watched: BTreeMap<Name, u64>,
    /// Whether the watches have delivered an event since the last list.
    has_event: BTreeMap<&'static str, bool>,
    responses: Vec<LiveObject>,
    cache: Cache,
    feeds: Vec<(Option<&'static str>, Feed)>,
}

fn name_of(live: &LiveObject) -> Name {
    let NamespacedName { namespace, name } = NamespacedName::of(live);
    NAMES.into_iter().find(|known| *known == (&*namespace, &*name)).unwrap()
}

impl Cluster {
    fn new(namespaces: &[Option<&'static str>]) -> Self {
        let cache = cache();
        let feeds = namespaces.iter().map(|namespace| (*namespace, cache.watch(*namespace))).collect();
        Self {
            objects: BTreeMap::new(),
            events: Vec::new(),
            delivered: 0,
            watched: BTreeMap::new(),
            has_event: BTreeMap::new(),
            responses: Vec::new(),
            cache,
            feeds,
        }
    }

    fn cached(&self) -> BTreeMap<Name, u64> {
        let cached = |(namespace, name): Name| self.cache.get(namespace, name);
        NAMES.into_iter().filter_map(|name| Some((name, version(&cached(name)?.live())))).collect()
    }

    fn play(&mut self, step: TestEvent) {
        let now = self.events.len() as u64 + 1;
        match step {
            TestEvent::Write(which, replicas) => {
                let live = object(NAMES[which], now, replicas);
                self.objects.insert(NAMES[which], live.clone());
                self.responses.push(live.clone());
                self.events.push(Event::Apply(live));
            }
            TestEvent::Delete(which) => {
                if self.objects.remove(&NAMES[which]).is_some() {
                    self.events.push(Event::Delete(object(NAMES[which], now, 0)));
                }
            }
            TestEvent::Deliver => self.deliver_next(),
            TestEvent::Store(back) => self.store(back),
            TestEvent::List(stores) => self.list(stores),
        }
    }

    fn deliver_next(&mut self) {
        let Some(event) = self.events.get(self.delivered).cloned() else { return };
        self.delivered += 1;
        let (Event::Apply(live) | Event::Delete(live)) = &event else { unreachable!() };
        let name = name_of(live);
        match &event {
            Event::Apply(live) => drop(self.watched.insert(name, version(live))),
            _ => drop(self.watched.remove(&name)),
        }
        let before = self.cache.get(name.0, name.1);
        let is_late = before.as_ref().is_some_and(|cached| version(&cached.live()) > version(live));
        let feed = self.feeds.iter_mut().find(|(namespace, _)| namespace.is_none_or(|one| one == name.0));
        let (namespace, feed) = feed.unwrap();
        let reported = feed.deliver(&Ok(event));
        self.has_event.insert(namespace.unwrap_or_default(), true);
        let after = self.cache.get(name.0, name.1);
        match &reported[..] {
            [] => assert!(is_late || before == after, "a change is reported"),
            [one] => assert!(
                !is_late
                    && one.before == before
                    && one.after == after
                    && (before.is_none() || before != after),
                "only a change is reported: {one:?}"
            ),
            more => panic!("an event is about one object: {more:?}"),
        }
    }

    fn store(&mut self, back: usize) {
        let Some(response) = self.responses.iter().rev().nth(back) else { return };
        let name = name_of(response);
        let before = self.cached().get(&name).copied();
        let kept = self.cache.store(response).unwrap();
        assert_eq!(kept.live().as_json().unwrap()["spec"], response.as_json().unwrap()["spec"]);
        let is_listing = |(namespace, _): &(Option<&str>, Feed)| {
            namespace.is_none_or(|one| one == name.0)
                && self.has_event.get(namespace.unwrap_or_default()) == Some(&false)
        };
        let is_uncertain = self.feeds.iter().any(is_listing);
        let now = self.cached().get(&name).copied();
        assert!(now >= before, "{response:?} replaced a later version");
        let is_shown = now.is_some_and(|now| now >= version(response));
        assert!(
            is_uncertain || is_shown || self.cache.shows(response),
            "the cache is older than {response:?}"
        );
    }

    fn list(&mut self, stores: Vec<usize>) {
        let mut stores = stores.into_iter();
        for number in 0..self.feeds.len() {
            let (namespace, _) = self.feeds[number];
            self.has_event.insert(namespace.unwrap_or_default(), false);
            let here = self.objects.iter().filter(|(name, _)| namespace.is_none_or(|one| one == name.0));
            let listed = here.map(|(_, live)| Event::InitApply(live.clone()));
            let events: Vec<_> = [Event::Init].into_iter().chain(listed).chain([Event::InitDone]).collect();
            for event in events {
                let _ = self.feeds[number].1.deliver(&Ok(event));
                if let Some(back) = stores.next() {
                    self.store(back);
                }
            }
        }
        self.delivered = self.events.len();
        self.watched = self.stored();
    }

    fn stored(&self) -> BTreeMap<Name, u64> {
        self.objects.iter().map(|(name, live)| (*name, version(live))).collect()
    }
}

proptest! {
    /// In between, an object may be newer than its watch by a response, and never older. In the end the cache is what the server has.
    #[test]
    fn it_is_never_older_than_its_watch_and_in_the_end_equal_to_the_server(
        steps in prop::collection::vec(step(), 0..60),
        has_watch_for_each in any::<bool>(),
    ) {
        let namespaces: &[_] = if has_watch_for_each { &[Some("shop"), Some("blog")] } else { &[None] };
        let mut cluster = Cluster::new(namespaces);
        for step in steps {
            cluster.play(step);
            let cached = cluster.cached();
            for (name, watched) in &cluster.watched {
                prop_assert!(cached.get(name) >= Some(watched), "{name:?} of {cached:?} is older than its watch");
            }
            let newest = cluster.delivered as u64;
            for (name, version) in &cached {
                let is_watched = cluster.watched.get(name) == Some(version);
                prop_assert!(is_watched || *version > newest, "{name:?} of {cached:?} comes from the past");
            }
        }
        while cluster.delivered < cluster.events.len() {
            cluster.play(TestEvent::Deliver);
        }
        prop_assert_eq!(cluster.cached(), cluster.stored());
        prop_assert_eq!(cluster.cache.len(), cluster.objects.len());
    }
}

#[test]
fn a_list_deletes_what_it_does_not_contain_at_its_end_and_in_its_namespace() {
    let cache = cache();
    let (mut here, mut there) = (cache.watch(Some("shop")), cache.watch(Some("blog")));
    deliver(&mut here, Event::Apply(object(NAMES[0], 1, 1)));
    deliver(&mut here, Event::Apply(object(NAMES[1], 2, 1)));
    deliver(&mut there, Event::Apply(object(NAMES[2], 3, 1)));
    for _ in 0..2 {
        assert!(deliver(&mut here, Event::Init).is_empty());
        assert!(
            deliver(&mut here, Event::InitApply(object(NAMES[0], 1, 1))).is_empty(),
            "nothing has changed"
        );
    }
    assert_eq!(cache.len(), 3, "the list isn't complete");
    assert_eq!(deliver(&mut here, Event::InitDone), ["db"]);
    let mut left = cache.names();
    left.sort();
    assert_eq!(left.iter().map(ToString::to_string).collect::<Vec<_>>(), ["blog/web", "shop/web"]);
}

#[test]
fn a_version_with_the_same_digest_is_cached_and_not_reported() {
    let cache = cache();
    let mut feed = cache.watch(None);
    deliver(&mut feed, Event::Apply(object(NAMES[0], 1, 3)));
    assert!(deliver(&mut feed, Event::Apply(object(NAMES[0], 2, 3))).is_empty());
    assert_eq!(version(&cache.get("shop", "web").unwrap().live()), 2);
    assert_eq!(deliver(&mut feed, Event::Apply(object(NAMES[0], 3, 4))), ["web"]);
}

#[test]
fn the_same_version_of_a_list_replaces_the_cached_one() {
    let cache = cache();
    let mut feed = cache.watch(None);
    deliver(&mut feed, Event::Apply(object(NAMES[0], 5, 1)));
    assert!(deliver(&mut feed, Event::Apply(object(NAMES[0], 5, 2))).is_empty());
    let replicas = || cache.get("shop", "web").unwrap().live().number(&["spec", "replicas"]);
    assert_eq!(replicas(), Some(1));
    cache.store_listed(&object(NAMES[0], 5, 2));
    assert_eq!(replicas(), Some(2), "by another CRD");
    cache.store_listed(&object(NAMES[0], 4, 3));
    assert_eq!(replicas(), Some(2), "the list is older");
    cache.store_listed(&object(NAMES[1], 4, 3));
    assert_eq!(cache.len(), 1, "it may have been deleted since");
    assert_eq!(deliver(&mut feed, Event::InitApply(object(NAMES[0], 5, 4))), ["web"]);
}

#[test]
fn what_is_not_kept_is_treated_as_missing() {
    let cache = Cache::keeping(|live| live.number(&["spec", "replicas"]).filter(|replicas| *replicas > 0));
    let mut feed = cache.watch(None);
    let at = |version, replicas| object(NAMES[0], version, replicas);
    assert!(deliver(&mut feed, Event::Apply(at(1, 0))).is_empty());
    assert!(deliver(&mut feed, Event::Delete(at(2, 0))).is_empty());
    assert_eq!(deliver(&mut feed, Event::Delete(at(3, 1))), ["web"], "it may have been missed");
    assert_eq!(deliver(&mut feed, Event::Apply(at(4, 1))), ["web"]);
    assert!(deliver(&mut feed, Event::Delete(at(3, 1))).is_empty(), "it is newer");
    assert_eq!(deliver(&mut feed, Event::Apply(at(5, 0))), ["web"], "it isn't kept any more");
    assert!(cache.store(&at(6, 0)).is_none() && cache.is_empty());
    deliver(&mut feed, Event::Apply(at(7, 1)));
    assert!(cache.store(&at(8, 0)).is_none() && cache.is_empty());
    deliver(&mut feed, Event::Apply(at(9, 1)));
    cache.forget("shop", "web");
    assert!(cache.is_empty());
}

#[test]
fn a_list_brings_back_the_versions_of_a_restored_cluster() {
    let cache = cache();
    let mut feed = cache.watch(None);
    for name in NAMES {
        deliver(&mut feed, Event::Apply(object(name, 500, 5)));
    }
    deliver(&mut feed, Event::Init);
    assert_eq!(deliver(&mut feed, Event::InitApply(object(NAMES[0], 20, 2))), ["web"]);
    assert!(
        deliver(&mut feed, Event::InitApply(object(NAMES[0], 19, 1))).is_empty(),
        "it is in the list once"
    );
    deliver(&mut feed, Event::InitApply(object(NAMES[1], 30, 3)));
    assert_eq!(deliver(&mut feed, Event::InitDone), ["web"]);
    assert_eq!(cache.len(), 2);
    assert_eq!(deliver(&mut feed, Event::Apply(object(NAMES[0], 31, 3))), ["web"]);
    assert!(!cache.shows(&object(NAMES[0], 500, 5)));
}

#[test]
fn a_late_response_does_not_bring_a_deleted_object_back() {
    let cache = cache();
    let mut feed = cache.watch(None);
    deliver(&mut feed, Event::Apply(object(NAMES[0], 5, 1)));
    let response = object(NAMES[0], 7, 2);
    cache.store(&response);
    assert!(cache.newer_than(&object(NAMES[0], 5, 1)).is_some() && cache.newer_than(&response).is_none());
    assert!(deliver(&mut feed, Event::Apply(object(NAMES[0], 6, 3))).is_empty());
    assert_eq!(deliver(&mut feed, Event::Delete(object(NAMES[0], 8, 3))), ["web"]);
    assert!(cache.store(&response).is_some() && cache.is_empty());
    assert!(cache.shows(&response) && !cache.shows(&object(NAMES[0], 9, 1)));
}

#[tokio::test]
async fn it_is_filled_when_each_watch_has_listed_once() {
    let cache = cache();
    let (mut here, mut there) = (cache.watch(Some("shop")), cache.watch(Some("blog")));
    let waiting = tokio::spawn({
        let cache = cache.clone();
        async move { cache.filled().await }
    });
    for _ in 0..2 {
        deliver(&mut here, Event::Init);
        deliver(&mut here, Event::InitDone);
    }
    assert!(!cache.is_filled());
    deliver(&mut there, Event::InitDone);
    assert!(cache.is_filled());
    waiting.await.unwrap();
    let kept: Vec<Arc<_>> = cache.values();
    assert!(kept.is_empty());
}
