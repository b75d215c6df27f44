//! One write to an object that several managers share, after `merge/update.go` of structured-merge-diff.
//!
//! Knows typed objects, field sets and who owns which; metadata and time are [`server`](crate::server)'s. A manager is
//! whatever type identifies one.

mod managers;
mod prune;

use std::fmt::Display;

pub use managers::{Managers, VersionedSet};

use crate::{
    Arena,
    fieldpath::{FieldSet, ManyTimes, Path, Pattern},
    typed::{Invalid, Typed, ValueComparison},
};

/// Brings objects from one version of an API to another.
pub trait Converter<'a> {
    /// The object in a version; itself where it is in that version already.
    ///
    /// # Errors
    /// [`ConversionError::UnknownVersion`] for a version that isn't served any more: what is owned in it is forgotten.
    fn convert(&self, object: Typed<'a>, version: &str) -> Result<Typed<'a>, ConversionError>;
}

/// Takes every version for the same.
#[derive(Clone, Copy, Debug, Default)]
pub struct SameVersion;

impl<'a> Converter<'a> for SameVersion {
    fn convert(&self, object: Typed<'a>, _: &str) -> Result<Typed<'a>, ConversionError> {
        Ok(object)
    }
}

/// Why an object can't be brought to a version.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ConversionError {
    /// There is no such version (any more).
    #[error("the version {0} is unknown")]
    UnknownVersion(String),
    /// There is one, and it can't be reached.
    #[error("can't convert to the version {version}: {reason}")]
    Failed {
        /// The version that was asked for.
        version: String,
        /// Why.
        reason: String,
    },
}

/// Which fields a manager may own at all.
#[derive(Clone, Debug)]
pub enum Filter<'a> {
    /// All but these and what is below them.
    Exclude(FieldSet<'a>),
    /// Only those that match.
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
    /// What it owns.
    pub path: Path<'a>,
}

/// Why a write can't be done.
#[derive(Debug, thiserror::Error)]
pub enum UpdateError<'a, M> {
    /// Other managers own what the write would change, and it isn't forced. In the order of the owners, for each in the
    /// order of its field set.
    #[error("{} conflicts with other field managers", .0.len())]
    Conflicts(Vec<Conflict<'a, M>>),
    /// The schema refuses it.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// It can't be brought to the version in which a manager owns fields of it.
    #[error(transparent)]
    Conversion(#[from] ConversionError),
}

/// What a write leads to.
#[derive(Clone, Debug)]
pub struct Outcome<'a, M> {
    /// The object as it will be; `None` where an apply doesn't change it.
    pub object: Option<Typed<'a>>,
    /// Who will own what.
    pub managers: Managers<'a, M>,
}

/// Computes what a write does to an object and to who owns what of it.
///
/// `M` is what identifies a manager: a name, or more.
pub struct Updater<'u, 'a> {
    arena: &'a Arena,
    converter: &'u dyn Converter<'a>,
    filters: Vec<(&'a str, Filter<'a>)>,
}

impl<'u, 'a> Updater<'u, 'a> {
    /// An updater that lets managers own every field.
    pub fn new(arena: &'a Arena, converter: &'u dyn Converter<'a>) -> Self {
        Self { arena, converter, filters: Vec::new() }
    }

    /// Restricts what managers may own, by version.
    #[must_use]
    pub fn with_filters(mut self, filters: impl IntoIterator<Item = (&'a str, Filter<'a>)>) -> Self {
        self.filters.extend(filters);
        self
    }

    /// Lays the intent of a manager over the live object: sets its fields, prunes those that the manager owned before and
    /// no other manager owns, and makes the manager an owner of all it applied.
    ///
    /// # Errors
    /// With the conflicts, unless it is forced; and where schema or conversion fail.
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

    /// Takes an object as it was written by other means and makes the writer an owner of what is different in it.
    ///
    /// # Errors
    /// Where schema or conversion fail.
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

    /// Reads what each manager owns under the schema of today. Versions that are gone take their owners along.
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

    /// Takes from the others what a write changes or removes; without force, refuses to take.
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

    /// What differs between the two in a version; `None` where the version is gone.
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

/// What a write makes different in a version, to be compared with what each manager owns.
struct Changes<'a> {
    /// What it sets.
    set: ManyTimes<'a>,
    /// What it removes.
    removed: ManyTimes<'a>,
}

impl<'a> Changes<'a> {
    fn new(arena: &'a Arena, comparison: ValueComparison<'a>, managers: usize) -> Self {
        let many_times = |set| ManyTimes::new(arena, set, managers);
        Self { set: many_times(comparison.set(arena)), removed: many_times(comparison.removed) }
    }
}

/// What was converted; none where the version is gone.
fn known<'a, T, M>(converted: Result<T, ConversionError>) -> Result<Option<T>, UpdateError<'a, M>> {
    match converted {
        Ok(converted) => Ok(Some(converted)),
        Err(ConversionError::UnknownVersion(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
