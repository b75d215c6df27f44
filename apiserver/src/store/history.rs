//! Recent changes of a resource.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

use super::{Key, Record};

/// The type of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChangeKind {
    Added,
    Modified,
    Deleted,
}

/// A change of an object.
#[derive(Clone)]
pub(crate) struct Change {
    pub(crate) version: u64,
    pub(crate) kind: ChangeKind,
    pub(crate) key: Key,
    /// The object after the change or, if it is deleted, before.
    pub(crate) record: Arc<Record>,
    /// The object before the change.
    pub(crate) previous: Option<Arc<Record>>,
}

/// The requested version is no longer kept.
#[derive(Debug)]
pub(crate) struct TooOld {
    /// The oldest version that is available.
    pub(crate) oldest: u64,
}

/// Changes in the order of their versions.
#[derive(Clone, Default)]
pub(super) struct History {
    changes: VecDeque<Change>,
    /// The version after which all changes are kept.
    complete_after: u64,
}

impl History {
    pub(super) fn push(&mut self, change: Change, length: usize) {
        self.changes.push_back(change);
        while self.changes.len() > length {
            self.complete_after = self.changes.pop_front().map_or(0, |change| change.version);
        }
    }

    pub(super) fn forget(&mut self, version: u64) {
        self.changes.clear();
        self.complete_after = version;
    }

    fn check(&self, version: u64) -> Result<(), TooOld> {
        if version < self.complete_after { Err(TooOld { oldest: self.complete_after }) } else { Ok(()) }
    }

    pub(super) fn after(&self, version: u64) -> Result<Vec<Change>, TooOld> {
        self.check(version)?;
        let from = self.changes.partition_point(|change| change.version <= version);
        Ok(self.changes.range(from..).cloned().collect())
    }

    /// The objects at an older version.
    pub(super) fn undo(
        &self,
        objects: &BTreeMap<Key, Arc<Record>>,
        version: u64,
    ) -> Result<BTreeMap<Key, Arc<Record>>, TooOld> {
        self.check(version)?;
        let mut objects = objects.clone();
        for change in self.changes.iter().rev().take_while(|change| change.version > version) {
            match &change.previous {
                Some(previous) => objects.insert(change.key.clone(), previous.clone()),
                None => objects.remove(&change.key),
            };
        }
        Ok(objects)
    }
}
