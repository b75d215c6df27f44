//! One write to an object with several managers, after `merge/update.go` of structured-merge-diff.
//!
//! It works on typed objects, field sets and their owners; metadata and time are in [`server`](crate::server). Any type can
//! identify a manager.

mod managers;
mod prune;

use std::fmt::Display;

pub use managers::{Managers, VersionedSet};

use crate::{
    Arena,
    fieldpath::{FieldSet, ManyTimes, Path, Pattern},
    typed::{Invalid, Typed, ValueComparison},
};

/// Converts objects between versions of an API.
pub trait Converter<'a> {
    /// The object in a version; unchanged if it is in that version.
    ///
    /// # Errors
    /// [`ConversionError::UnknownVersion`] for a version that isn't served any more: fields owned in it are dropped.
    fn convert(&self, object: Typed<'a>, version: &str) -> Result<Typed<'a>, ConversionError>;
}

/// Treats all versions as the same.
#[derive(Clone, Copy, Debug, Default)]
pub struct SameVersion;

impl<'a> Converter<'a> for SameVersion {
    fn convert(&self, object: Typed<'a>, _: &str) -> Result<Typed<'a>, ConversionError> {
        Ok(object)
    }
}

/// An object can't be converted to a version.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ConversionError {
    /// The version doesn't exist (any more).
    #[error("the version {0} is unknown")]
    UnknownVersion(String),
    /// The version exists, but the conversion failed.
    #[error("can't convert to the version {version}: {reason}")]
    Failed {
        /// The requested version.
        version: String,
        /// The cause.
        reason: String,
    },
}

/// The fields that a manager may own.
#[derive(Clone, Debug)]
pub enum Filter<'a> {
    /// All but these and the paths below them.
    Exclude(FieldSet<'a>),
    /// Only matching ones.
    Include(Pattern<'a>),
}

impl<'a> Filter<'a> {
    fn apply(&self, arena: &'a Arena, set: FieldSet<'a>) -> FieldSet<'a> {
        match self {
            Self::Exclude(excluded) => set.recursive_difference(arena, *excluded),
            Self::Include(pattern) => set.filter(arena, pattern),
        }
    }
}

/// A path that an applier may not change, because another manager owns it with another value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Conflict<'a, M> {
    /// The owner.
    pub manager: M,
    /// The path.
    pub path: Path<'a>,
}

/// The error of a write.
#[derive(Debug, thiserror::Error)]
pub enum UpdateError<'a, M> {
    /// Other managers own fields that an unforced write would change. In the order of the owners, and of each field set.
    #[error("{} conflicts with other field managers", .0.len())]
    Conflicts(Vec<Conflict<'a, M>>),
    /// The schema refuses the object.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// The object can't be converted to the version of a manager's fields.
    #[error(transparent)]
    Conversion(#[from] ConversionError),
}

/// The result of a write.
#[derive(Clone, Debug)]
pub struct Outcome<'a, M> {
    /// The object after the write; `None` if an apply doesn't change it.
    pub object: Option<Typed<'a>>,
    /// The owners after the write.
    pub managers: Managers<'a, M>,
}

/// Computes the object and the owners after a write.
///
/// `M` identifies a manager: a name, or more.
pub struct Updater<'u, 'a> {
    arena: &'a Arena,
    converter: &'u dyn Converter<'a>,
    filters: Vec<(&'a str, Filter<'a>)>,
}

impl<'u, 'a> Updater<'u, 'a> {
    /// An updater without filters.
    pub fn new(arena: &'a Arena, converter: &'u dyn Converter<'a>) -> Self {
        Self { arena, converter, filters: Vec::new() }
    }

    /// Restricts the fields that managers may own, by version.
    #[must_use]
    pub fn with_filters(mut self, filters: impl IntoIterator<Item = (&'a str, Filter<'a>)>) -> Self {
        self.filters.extend(filters);
        self
    }

    /// Applies a manager's intent to the live object: sets its fields, prunes those that the manager owned before and no
    /// other manager owns, and makes the manager an owner of all applied fields.
    ///
    /// # Errors
    /// With the conflicts, unless it is forced; and when the schema or a conversion fails.
    pub fn apply<M: Clone + Ord + Display>(
        &self,
        live: Typed<'a>,
        intent: Typed<'a>,
        version: &'a str,
        managers: Managers<'a, M>,
        manager: &M,
        force: bool,
    ) -> Result<Outcome<'a, M>, UpdateError<'a, M>> {
        let mut managers = self.reconcile(live, managers)?;
        let merged = live.merge(&intent)?;
        let applied = intent.to_set()?;
        let set = self.filter(version, applied);
        let last = managers.insert(manager.clone(), VersionedSet { set, version, applied: true });
        let owns_all = set.len() == applied.len();
        let object = self.prune(merged, intent, owns_all, &managers, manager, last)?;
        let (managers, _) = self.update_owners(live, object, version, managers, manager, force)?;
        let unchanged = live.value() == object.value();
        Ok(Outcome { object: (!unchanged).then_some(object), managers })
    }

    /// Takes an object that was written by other means, and makes the writer the owner of all differences.
    ///
    /// # Errors
    /// When the schema or a conversion fails.
    pub fn update<M: Clone + Ord + Display>(
        &self,
        live: Typed<'a>,
        object: Typed<'a>,
        version: &'a str,
        managers: Managers<'a, M>,
        manager: &M,
    ) -> Result<Outcome<'a, M>, UpdateError<'a, M>> {
        let managers = self.reconcile(live, managers)?;
        let (mut managers, comparison) =
            self.update_owners(live, object, version, managers, manager, true)?;
        let before = managers.get(manager).map(|owned| owned.set).unwrap_or_default();
        let set = before
            .difference(self.arena, comparison.removed)
            .union(self.arena, comparison.modified)
            .union(self.arena, comparison.added);
        let set = self.filter(version, set);
        if set.is_empty() {
            managers.remove(manager);
        } else {
            managers.insert(manager.clone(), VersionedSet { set, version, applied: false });
        }
        Ok(Outcome { object: Some(object), managers })
    }

    fn filter(&self, version: &str, set: FieldSet<'a>) -> FieldSet<'a> {
        match self.filters.iter().find(|(own, _)| *own == version) {
            Some((_, filter)) => filter.apply(self.arena, set),
            None => set,
        }
    }

    fn filtered(&self, version: &str, comparison: ValueComparison<'a>) -> ValueComparison<'a> {
        comparison.map(|set| self.filter(version, set))
    }

    /// Reconciles the managers' fields with the current schema. Owners in removed versions are dropped.
    fn reconcile<M: Clone + Ord>(
        &self,
        live: Typed<'a>,
        managers: Managers<'a, M>,
    ) -> Result<Managers<'a, M>, UpdateError<'a, M>> {
        let mut reconciled = Managers::default();
        let mut by_version: Vec<(&str, Typed<'a>)> = Vec::new();
        for (manager, owned) in managers {
            let live = match by_version.iter().find(|(own, _)| *own == owned.version) {
                Some((_, live)) => *live,
                None => {
                    let Some(live) = known(self.converter.convert(live, owned.version))? else { continue };
                    by_version.push((owned.version, live));
                    live
                }
            };
            let set = live.reconcile(owned.set)?.unwrap_or(owned.set);
            reconciled.insert(manager, VersionedSet { set, ..owned });
        }
        Ok(reconciled)
    }

    /// Removes changed and removed fields from other managers; without force, reports conflicts.
    fn update_owners<M: Clone + Ord + Display>(
        &self,
        old: Typed<'a>,
        new: Typed<'a>,
        version: &'a str,
        managers: Managers<'a, M>,
        writer: &M,
        force: bool,
    ) -> Result<(Managers<'a, M>, ValueComparison<'a>), UpdateError<'a, M>> {
        let comparison = self.filtered(version, old.compare(&new)?);
        let count = managers.len();
        let changes = |comparison| Changes::new(self.arena, comparison, count);
        let mut by_version = vec![(version, changes(comparison))];
        let mut conflicts = Vec::new();
        let mut updated = Managers::default();
        for (manager, mut owned) in managers {
            if manager != *writer {
                let Some(changes) = self.changes_in(owned.version, old, new, &mut by_version, changes)?
                else {
                    continue;
                };
                let taken = changes.set.intersection(self.arena, owned.set);
                conflicts.extend(
                    taken
                        .paths(self.arena)
                        .into_iter()
                        .map(|path| Conflict { manager: manager.clone(), path }),
                );
                owned.set = changes.removed.difference(self.arena, owned.set.difference(self.arena, taken));
            }
            if !owned.set.is_empty() {
                updated.insert(manager, owned);
            }
        }
        if !force && !conflicts.is_empty() {
            return Err(UpdateError::Conflicts(conflicts));
        }
        Ok((updated, comparison))
    }

    /// The differences of both objects in a version; `None` if the version is removed.
    fn changes_in<'c, M>(
        &self,
        version: &'a str,
        old: Typed<'a>,
        new: Typed<'a>,
        compared: &'c mut Vec<(&'a str, Changes<'a>)>,
        changes: impl Fn(ValueComparison<'a>) -> Changes<'a>,
    ) -> Result<Option<&'c Changes<'a>>, UpdateError<'a, M>> {
        if let Some(at) = compared.iter().position(|(own, _)| *own == version) {
            return Ok(Some(&compared[at].1));
        }
        let converted = self
            .converter
            .convert(old, version)
            .and_then(|old| self.converter.convert(new, version).map(|new| (old, new)));
        let Some((old, new)) = known(converted)? else { return Ok(None) };
        let comparison = self.filtered(version, old.compare(&new)?);
        compared.push((version, changes(comparison)));
        Ok(compared.last().map(|(_, changes)| changes))
    }
}

/// The changes of a write in a version, for comparisons with each manager's fields.
struct Changes<'a> {
    /// The set paths.
    set: ManyTimes<'a>,
    /// The removed paths.
    removed: ManyTimes<'a>,
}

impl<'a> Changes<'a> {
    fn new(arena: &'a Arena, comparison: ValueComparison<'a>, managers: usize) -> Self {
        let many_times = |set| ManyTimes::new(arena, set, managers);
        Self { set: many_times(comparison.set(arena)), removed: many_times(comparison.removed) }
    }
}

/// The conversion's result; none if the version is removed.
fn known<'a, T, M>(converted: Result<T, ConversionError>) -> Result<Option<T>, UpdateError<'a, M>> {
    match converted {
        Ok(converted) => Ok(Some(converted)),
        Err(ConversionError::UnknownVersion(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
