//! The store: the latest state of all objects, with a history of changes for watches and for lists at an older version.
//!
//! It knows nothing of kinds. A write compares and swaps in one step, as in etcd.

mod history;
mod record;

use std::{
    cmp::Ordering,
    collections::{BTreeMap, HashMap},
    ops::Bound,
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
};

use tokio::sync::watch;

use self::history::History;
pub(crate) use self::{
    history::{Change, ChangeKind, TooOld},
    record::{Draft, Owners, Record},
};

/// The key of an object within its resource. The namespace of a cluster-scoped object is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) namespace: String,
    pub(crate) name: String,
}

/// As etcd sorts `namespace/name`: `shop-eu` is before `shop`.
impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        if self.namespace == other.namespace {
            return self.name.cmp(&other.name);
        }
        self.namespace.bytes().chain([b'/']).cmp(other.namespace.bytes().chain([b'/']))
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

pub(crate) struct Store {
    state: RwLock<State>,
    /// The version of the latest change, which tasks can wait for.
    version: watch::Sender<u64>,
    history_length: usize,
}

#[derive(Clone)]
struct State {
    version: u64,
    collections: HashMap<String, Collection>,
}

#[derive(Clone, Default)]
struct Collection {
    objects: BTreeMap<Key, Arc<Record>>,
    history: History,
    /// The version of the latest change.
    changed: u64,
}

/// The write was computed from an outdated object.
#[derive(Debug)]
pub(crate) struct Outdated;

/// Objects at a version.
pub(crate) struct Snapshot {
    pub(crate) version: u64,
    pub(crate) objects: Vec<(Key, Arc<Record>)>,
    /// The count of objects after these, with a limit.
    pub(crate) remaining: usize,
}

/// The part of a collection to read.
#[derive(Clone, Default)]
pub(crate) struct Range {
    /// Only this namespace.
    pub(crate) namespace: Option<String>,
    /// From this key on.
    pub(crate) from: Option<Key>,
    pub(crate) limit: Option<usize>,
    /// At this version.
    pub(crate) at: Option<u64>,
}

impl Store {
    /// An empty store that keeps this many changes of each resource.
    pub(crate) fn new(history_length: usize) -> Self {
        Self {
            state: RwLock::new(State { version: 1, collections: HashMap::new() }),
            version: watch::Sender::new(1),
            history_length,
        }
    }

    /// Copies another store.
    pub(crate) fn become_like(&self, other: &Self) {
        let mut state = self.write();
        *state = other.read().clone();
        self.version.send_replace(state.version);
    }

    // A panic while the lock is held leaves a consistent state: a write only inserts at its end.
    fn read(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// The version of the latest change.
    pub(crate) fn version(&self) -> u64 {
        *self.version.borrow()
    }

    /// Receives the version of each change.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.version.subscribe()
    }

    /// The version of the latest change of a resource; 0 if there was none.
    pub(crate) fn changed(&self, resource: &str) -> u64 {
        self.read().collections.get(resource).map_or(0, |collection| collection.changed)
    }

    pub(crate) fn get(&self, resource: &str, key: &Key) -> Option<Arc<Record>> {
        self.read().collections.get(resource)?.objects.get(key).cloned()
    }

    /// Objects in the order of their namespaces and names.
    ///
    /// # Errors
    /// When the version is no longer kept.
    pub(crate) fn list(&self, resource: &str, range: &Range) -> Result<Snapshot, TooOld> {
        let state = self.read();
        let version = range.at.unwrap_or(state.version);
        let Some(collection) = state.collections.get(resource) else {
            return Ok(Snapshot { version, objects: Vec::new(), remaining: 0 });
        };
        let past;
        let objects = match range.at {
            Some(at) if at < state.version => {
                past = collection.history.undo(&collection.objects, at)?;
                &past
            }
            _ => &collection.objects,
        };
        let from = match (&range.from, &range.namespace) {
            (Some(from), _) => Bound::Included(from.clone()),
            (None, Some(namespace)) => {
                Bound::Included(Key { namespace: namespace.clone(), name: String::new() })
            }
            (None, None) => Bound::Unbounded,
        };
        let mut found = objects.range((from, Bound::Unbounded)).take_while(|(key, _)| {
            range.namespace.as_ref().is_none_or(|namespace| key.namespace == *namespace)
        });
        let limit = range.limit.unwrap_or(usize::MAX);
        let objects = found.by_ref().take(limit).map(|(key, record)| (key.clone(), record.clone())).collect();
        Ok(Snapshot { version, objects, remaining: found.count() })
    }

    /// The changes of a resource after a version, and the version up to which they are complete.
    ///
    /// # Errors
    /// When some of them are no longer kept.
    pub(crate) fn changes_after(&self, resource: &str, version: u64) -> Result<(Vec<Change>, u64), TooOld> {
        let state = self.read();
        let changes = match state.collections.get(resource) {
            Some(collection) => collection.history.after(version)?,
            None => Vec::new(),
        };
        Ok((changes, state.version))
    }

    /// Stores an object in place of `live`, or as a new one.
    ///
    /// # Errors
    /// When the stored object isn't `live`.
    pub(crate) fn put(
        &self,
        resource: &str,
        key: Key,
        expected: Option<&Arc<Record>>,
        new: &Record,
    ) -> Result<Arc<Record>, Outdated> {
        let mut state = self.write();
        let version = state.version + 1;
        let collection = state.collections.entry(resource.to_owned()).or_default();
        check(collection.objects.get(&key), expected)?;
        let record = Arc::new(new.at_version(version));
        let previous = collection.objects.insert(key.clone(), record.clone());
        let kind = if previous.is_some() { ChangeKind::Modified } else { ChangeKind::Added };
        let change = Change { version, kind, key, record: record.clone(), previous };
        collection.history.push(change, self.history_length);
        collection.changed = version;
        state.version = version;
        // Under the lock, so that versions are published in order.
        self.version.send_replace(version);
        Ok(record)
    }

    /// Removes an object. Returns it at the version of its deletion.
    ///
    /// # Errors
    /// When the stored object isn't `live`.
    pub(crate) fn remove(
        &self,
        resource: &str,
        key: &Key,
        expected: &Arc<Record>,
    ) -> Result<Arc<Record>, Outdated> {
        let mut state = self.write();
        let version = state.version + 1;
        let Some(collection) = state.collections.get_mut(resource) else { return Err(Outdated) };
        check(collection.objects.get(key), Some(expected))?;
        let previous = collection.objects.remove(key);
        let record = Arc::new(expected.at_version(version));
        let change =
            Change { version, kind: ChangeKind::Deleted, key: key.clone(), record: record.clone(), previous };
        collection.history.push(change, self.history_length);
        collection.changed = version;
        state.version = version;
        self.version.send_replace(version);
        Ok(record)
    }

    /// Forgets all past changes, as a server does after a compaction and a restart.
    pub(crate) fn forget_history(&self) {
        let mut state = self.write();
        let version = state.version;
        for collection in state.collections.values_mut() {
            collection.history.forget(version);
        }
    }
}

fn check(found: Option<&Arc<Record>>, expected: Option<&Arc<Record>>) -> Result<(), Outdated> {
    match (found, expected) {
        (None, None) => Ok(()),
        (Some(found), Some(expected)) if Arc::ptr_eq(found, expected) => Ok(()),
        _ => Err(Outdated),
    }
}
