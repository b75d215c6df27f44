//! Several watches of one kind, each of a namespace of its own, as if they were one.
//!
//! A cache is fed by a single stream in which a list replaces all that was there. So the first lists are kept back until each
//! watch has one, and come out as one; from a later list of a single watch comes just what differs: what it names, and the
//! deletion of what it no longer names.

use std::collections::{HashMap, HashSet};

use futures::{
    StreamExt, TryStreamExt,
    stream::{self, BoxStream},
};
use kube::{
    Resource, ResourceExt,
    runtime::watcher::{self, Event},
};

/// A watch of one kind in one namespace, or in all.
pub(super) type Watch<K> = BoxStream<'static, watcher::Result<Event<K>>>;

/// One watch of all that these see. Their errors come through as they are.
pub(super) fn merged<K>(watches: Vec<Watch<K>>) -> Watch<K>
where
    K: Resource + Clone + Send + 'static,
{
    let mut merge = Merge::new(watches.len());
    if watches.len() == 1 {
        return stream::select_all(watches).boxed();
    }
    let numbered = watches
        .into_iter()
        .enumerate()
        .map(|(source, watch)| watch.map_ok(move |event| (source, event)).boxed());
    stream::select_all(numbered)
        .map_ok(move |(source, event)| stream::iter(merge.take(source, event)).map(Ok))
        .try_flatten()
        .boxed()
}

/// What each watch has told.
struct Merge<K> {
    sources: Vec<Source<K>>,
    /// Whether the lists have come out.
    is_listed: bool,
}

struct Source<K> {
    /// What is there, by name.
    known: HashMap<String, K>,
    /// While it lists anew: what it hasn't named yet.
    unlisted: HashSet<String>,
    is_listed: bool,
}

impl<K: Resource + Clone> Merge<K> {
    fn new(sources: usize) -> Self {
        let source = || Source { known: HashMap::new(), unlisted: HashSet::new(), is_listed: false };
        Self { sources: (0..sources).map(|_| source()).collect(), is_listed: false }
    }

    /// Takes in an event of a watch; returns what it means for all of them together.
    fn take(&mut self, source: usize, event: Event<K>) -> Vec<Event<K>> {
        let Some(source) = self.sources.get_mut(source) else { return Vec::new() };
        let told = match event {
            Event::Init if self.is_listed => {
                source.unlisted = source.known.keys().cloned().collect();
                Vec::new()
            }
            Event::Init => {
                source.known.clear();
                source.is_listed = false;
                Vec::new()
            }
            Event::Apply(object) | Event::InitApply(object) => {
                let name = object.name_any();
                source.unlisted.remove(&name);
                source.known.insert(name, object.clone());
                vec![Event::Apply(object)]
            }
            Event::Delete(object) => {
                source.known.remove(&object.name_any());
                vec![Event::Delete(object)]
            }
            Event::InitDone => {
                source.is_listed = true;
                let gone = std::mem::take(&mut source.unlisted);
                gone.iter().filter_map(|name| source.known.remove(name)).map(Event::Delete).collect()
            }
        };
        if self.is_listed {
            return told;
        }
        self.is_listed = self.sources.iter().all(|source| source.is_listed);
        if self.is_listed { self.list() } else { Vec::new() }
    }

    fn list(&self) -> Vec<Event<K>> {
        let all = self.sources.iter().flat_map(|source| source.known.values());
        let listed = all.cloned().map(Event::InitApply);
        std::iter::once(Event::Init).chain(listed).chain([Event::InitDone]).collect()
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::core::ObjectMeta;

    use super::*;

    fn object(name: &str) -> ConfigMap {
        let metadata = ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
        ConfigMap { metadata, ..ConfigMap::default() }
    }

    fn told(merge: &mut Merge<ConfigMap>, source: usize, event: Event<ConfigMap>) -> Vec<String> {
        let mut told: Vec<_> = merge.take(source, event).iter().map(ToString::to_string).collect();
        if let [_, listed @ .., _] = told.as_mut_slice() {
            listed.sort();
        }
        told
    }

    /// Two watches, of which the first has listed `a` and the second `b`.
    fn listed() -> Merge<ConfigMap> {
        let mut merge = Merge::new(2);
        for (source, name) in [(0, "a"), (1, "b")] {
            merge.take(source, Event::Init);
            merge.take(source, Event::InitApply(object(name)));
            merge.take(source, Event::InitDone);
        }
        merge
    }

    #[test]
    fn the_first_lists_come_out_as_one_when_all_are_there() {
        let mut merge = Merge::new(2);
        let nothing = Vec::<String>::new();
        assert_eq!(told(&mut merge, 0, Event::Init), nothing);
        assert_eq!(told(&mut merge, 0, Event::InitApply(object("a"))), nothing);
        assert_eq!(told(&mut merge, 0, Event::InitDone), nothing);
        assert_eq!(told(&mut merge, 0, Event::Apply(object("later"))), nothing);
        assert_eq!(told(&mut merge, 1, Event::Init), nothing);
        assert_eq!(told(&mut merge, 1, Event::InitApply(object("b"))), nothing);
        let all = ["Init", "InitApply(a)", "InitApply(b)", "InitApply(later)", "InitDone"];
        assert_eq!(told(&mut merge, 1, Event::InitDone), all);
    }

    #[test]
    fn a_first_list_that_broke_off_is_forgotten() {
        let mut merge = Merge::new(1);
        merge.take(0, Event::Init);
        merge.take(0, Event::InitApply(object("gone")));
        merge.take(0, Event::Init);
        assert_eq!(told(&mut merge, 0, Event::InitDone), ["Init", "InitDone"]);
    }

    #[test]
    fn changes_come_through_as_they_are() {
        let mut merge = listed();
        assert_eq!(told(&mut merge, 0, Event::Apply(object("c"))), ["Apply(c)"]);
        assert_eq!(told(&mut merge, 1, Event::Delete(object("b"))), ["Delete(b)"]);
    }

    #[test]
    fn a_later_list_deletes_what_it_does_not_name_and_nothing_of_the_other_watch() {
        let mut merge = listed();
        merge.take(0, Event::Apply(object("c")));
        assert_eq!(told(&mut merge, 0, Event::Init), Vec::<String>::new());
        assert_eq!(told(&mut merge, 0, Event::InitApply(object("c"))), ["Apply(c)"]);
        assert_eq!(told(&mut merge, 0, Event::InitDone), ["Delete(a)"]);
    }

    #[tokio::test]
    async fn errors_come_through_and_the_others_go_on() {
        let failing = stream::iter([Err(watcher::Error::NoResourceVersion)]).boxed();
        let first = stream::iter([Ok(Event::Init), Ok(Event::InitDone)]).boxed();
        let second = first_list("b").boxed();
        let failing = failing.chain(first).boxed();
        let all: Vec<_> = merged(vec![failing, second]).collect().await;
        let (errors, events): (Vec<_>, Vec<_>) = all.into_iter().partition(Result::is_err);
        assert_eq!(errors.len(), 1);
        let events: Vec<_> = events.into_iter().map(|event| event.unwrap().to_string()).collect();
        assert_eq!(events, ["Init", "InitApply(b)", "InitDone"]);
    }

    fn first_list(name: &str) -> Watch<ConfigMap> {
        let events = [Event::Init, Event::InitApply(object(name)), Event::InitDone];
        stream::iter(events.map(Ok)).boxed()
    }
}
