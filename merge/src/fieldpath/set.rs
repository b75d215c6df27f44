//! A set of paths.

use std::collections::{BTreeMap, BTreeSet};

use super::{Path, PathElement};

/// A set of paths, as one manager owns them.
///
/// A path and what is below it are independent members: `.spec` can be in the set without `.spec.replicas`, and the
/// other way round.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldSet {
    pub(super) members: BTreeSet<PathElement>,
    /// Never holds an empty set: a branch without members isn't there.
    pub(super) children: BTreeMap<PathElement, FieldSet>,
}

impl FieldSet {
    /// Whether nothing is in the set.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty() && self.children.is_empty()
    }

    /// Whether this very path is in the set (a path above or below it doesn't count).
    pub fn contains(&self, path: &Path) -> bool {
        self.contains_elements(path.elements())
    }

    fn contains_elements(&self, elements: &[PathElement]) -> bool {
        match elements {
            [] => false,
            [last] => self.members.contains(last),
            [first, rest @ ..] => self.children.get(first).is_some_and(|below| below.contains_elements(rest)),
        }
    }

    /// Adds a path. The empty path, the object itself, can't be owned and is left out.
    pub fn insert(&mut self, path: &Path) {
        self.insert_elements(path.elements());
    }

    fn insert_elements(&mut self, elements: &[PathElement]) {
        match elements {
            [] => {}
            [last] => {
                self.members.insert(last.clone());
            }
            [first, rest @ ..] => self.children.entry(first.clone()).or_default().insert_elements(rest),
        }
    }

    /// Takes this very path out; tells whether it was there.
    pub fn remove(&mut self, path: &Path) -> bool {
        self.remove_elements(path.elements())
    }

    fn remove_elements(&mut self, elements: &[PathElement]) -> bool {
        match elements {
            [] => false,
            [last] => self.members.remove(last),
            [first, rest @ ..] => {
                let Some(below) = self.children.get_mut(first) else { return false };
                let removed = below.remove_elements(rest);
                if below.is_empty() {
                    self.children.remove(first);
                }
                removed
            }
        }
    }

    /// All paths of the set, in the order of structured-merge-diff: a path before what is below it.
    pub fn paths(&self) -> Vec<Path> {
        let mut paths = Vec::new();
        self.collect(&Path::default(), &mut paths);
        paths
    }

    fn collect(&self, above: &Path, paths: &mut Vec<Path>) {
        let elements: BTreeSet<_> = self.members.iter().chain(self.children.keys()).collect();
        for element in elements {
            let path = above.child(element);
            if self.members.contains(element) {
                paths.push(path.clone());
            }
            if let Some(below) = self.children.get(element) {
                below.collect(&path, paths);
            }
        }
    }
}

impl FromIterator<Path> for FieldSet {
    fn from_iter<I: IntoIterator<Item = Path>>(paths: I) -> Self {
        let mut set = Self::default();
        for path in paths {
            set.insert(&path);
        }
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replicas() -> Path {
        Path::of_fields(["spec", "replicas"])
    }

    #[test]
    fn a_path_is_a_member_on_its_own_not_through_its_parent() {
        let set = FieldSet::from_iter([Path::of_fields(["spec"])]);
        assert!(set.contains(&Path::of_fields(["spec"])));
        assert!(!set.contains(&replicas()));
    }

    #[test]
    fn removing_the_last_path_leaves_an_empty_set() {
        let mut set = FieldSet::from_iter([replicas()]);
        assert!(set.remove(&replicas()));
        assert!(!set.remove(&replicas()));
        assert_eq!(set, FieldSet::default());
    }

    #[test]
    fn paths_come_in_order_and_parents_before_children() {
        let paths = ["b", "a"].map(|name| Path::of_fields(["spec", name]));
        let set: FieldSet = paths.into_iter().chain([Path::of_fields(["spec"])]).collect();
        let printed: Vec<_> = set.paths().iter().map(ToString::to_string).collect();
        assert_eq!(printed, [".spec", ".spec.a", ".spec.b"]);
    }
}
