//! Managers and their fields.

use crate::fieldpath::FieldSet;

/// The fields of a manager, with their version and operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VersionedSet<'a> {
    /// The paths.
    pub set: FieldSet<'a>,
    /// The version of the paths, such as `apps/v1`.
    pub version: &'a str,
    /// Whether the manager applied them instead of updating them.
    pub applied: bool,
}

/// The managers of an object, sorted, with their fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Managers<'a, M>(Vec<(M, VersionedSet<'a>)>);

impl<M> Default for Managers<'_, M> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'a, M: Ord> Managers<'a, M> {
    /// The fields of a manager.
    pub fn get(&self, manager: &M) -> Option<&VersionedSet<'a>> {
        self.find(manager).ok().map(|at| &self.0[at].1)
    }

    /// Sets the fields of a manager; returns the former ones.
    pub fn insert(&mut self, manager: M, owned: VersionedSet<'a>) -> Option<VersionedSet<'a>> {
        match self.find(&manager) {
            Ok(at) => Some(std::mem::replace(&mut self.0[at].1, owned)),
            Err(at) => {
                self.0.insert(at, (manager, owned));
                None
            }
        }
    }

    /// Removes a manager; returns its fields.
    pub fn remove(&mut self, manager: &M) -> Option<VersionedSet<'a>> {
        self.find(manager).ok().map(|at| self.0.remove(at).1)
    }

    /// The managers, in order.
    pub fn iter(&self) -> std::slice::Iter<'_, (M, VersionedSet<'a>)> {
        self.0.iter()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether no manager owns anything.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn find(&self, manager: &M) -> Result<usize, usize> {
        self.0.binary_search_by(|(own, _)| own.cmp(manager))
    }
}

impl<'a, M: Ord> FromIterator<(M, VersionedSet<'a>)> for Managers<'a, M> {
    fn from_iter<I: IntoIterator<Item = (M, VersionedSet<'a>)>>(managers: I) -> Self {
        let mut all: Vec<_> = managers.into_iter().collect();
        // Stable, so that of two with one manager the last counts.
        all.sort_by(|(left, _), (right, _)| left.cmp(right));
        all.dedup_by(|later, earlier| {
            let is_same = later.0 == earlier.0;
            if is_same {
                std::mem::swap(later, earlier);
            }
            is_same
        });
        Self(all)
    }
}

impl<'a, M> IntoIterator for Managers<'a, M> {
    type Item = (M, VersionedSet<'a>);
    type IntoIter = std::vec::IntoIter<Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'m, 'a, M: Ord> IntoIterator for &'m Managers<'a, M> {
    type Item = &'m (M, VersionedSet<'a>);
    type IntoIter = std::slice::Iter<'m, (M, VersionedSet<'a>)>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
