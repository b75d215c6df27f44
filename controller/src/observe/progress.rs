//! How far the watches of a kind have come. A late response with an older version isn't cached: its object may have been deleted
//! since.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use baton_apply::LiveObject;
use kube::{Resource as _, runtime::watcher::Event};

use super::version_of;
use crate::lock::lock;

/// The newest version that each watch of a kind has delivered, by its namespace; empty for the watch of all. Clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct Progress(Arc<Mutex<HashMap<Box<str>, u64>>>);

const UNKNOWN: u64 = u64::MAX;

impl Progress {
    /// The watch of this namespace, or of all, delivers this event.
    pub(super) fn record(&self, namespace: Option<&str>, event: &Event<LiveObject>) {
        let version = match event {
            Event::Apply(object) | Event::Delete(object) => version_of(object.meta()),
            // A list here has no version: until the next event, nothing is known to be newer.
            Event::Init => UNKNOWN,
            Event::InitApply(_) | Event::InitDone => return,
        };
        let mut newest = lock(&self.0);
        match newest.get_mut(namespace.unwrap_or_default()) {
            Some(newest) if *newest != UNKNOWN => *newest = version.max(*newest),
            Some(newest) => *newest = version,
            None => drop(newest.insert(namespace.unwrap_or_default().into(), version)),
        }
    }

    /// Whether a watch has delivered something newer than this version of an object in a namespace.
    pub(super) fn is_beyond(&self, namespace: Option<&str>, version: u64) -> bool {
        let newest = lock(&self.0);
        let of = |namespace: &str| newest.get(namespace).copied().unwrap_or_default();
        version < of("").max(of(namespace.unwrap_or_default()))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_response_counts_until_the_watch_is_beyond_it_or_lists_again() {
        let at = |version: u32| {
            let object = json!({"metadata": {"name": "a", "resourceVersion": version.to_string()}});
            serde_json::from_str::<LiveObject>(&object.to_string()).unwrap()
        };
        let progress = Progress::default();
        let is_beyond = |version| progress.is_beyond(Some("ns"), version);
        progress.record(None, &Event::Apply(at(5)));
        progress.record(Some("other"), &Event::Apply(at(9)));
        assert!(is_beyond(4) && !is_beyond(5) && !is_beyond(6));
        progress.record(None, &Event::Init);
        progress.record(None, &Event::InitApply(at(7)));
        progress.record(None, &Event::InitDone);
        assert!(is_beyond(8), "it may be older than the list");
        progress.record(None, &Event::Delete(at(10)));
        assert!(is_beyond(9) && !is_beyond(11));
    }
}
