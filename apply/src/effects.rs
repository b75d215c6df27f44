//! The effects of a write on single fields.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    hash::Hash,
};

use baton_merge::{
    Arena, Release,
    fieldpath::{FieldSet, Path, PathElement::Field},
    predict::{PredictedApply, Taken},
    server::Resource,
    typed::{Duplicates, Typed},
};

use crate::{FieldPath, LiveObject, Secrecy, find::Finder, spelling::unstored, types::is_zero_value};

/// The effects of a write on single fields, in the order of the object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Effects {
    /// The fields that get another value. If no object was read, all that is applied.
    pub sets: Vec<FieldPath>,
    /// The fields that are removed. For a list item or a struct that is removed as a whole, only its own path.
    pub removes: Vec<FieldPath>,
    /// The fields that an apply takes over from other managers. For a [`FieldRelease`](crate::ownership::FieldRelease), see its `managers`.
    pub takeovers: Vec<Takeover>,
    /// The fields that the writer no longer owns, and that stay.
    pub releases: Vec<FieldPath>,
}

/// A field that another manager loses to the writer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Takeover {
    /// The field's path.
    pub path: FieldPath,
    /// The manager that owned it.
    pub manager: String,
    /// The value before, [without secrets](Secrecy::shown).
    pub old: Option<String>,
    /// The value afterwards, without secrets; `None` if the field is gone.
    pub new: Option<String>,
}

impl Takeover {
    /// Keeps those that the response to a write confirms: the manager owned the field before and doesn't any more. If a schema is
    /// wrong, or the server spells a value in its own way, no manager has lost anything.
    pub fn retain_confirmed(takeovers: &mut Vec<Self>, before: &LiveObject, after: &LiveObject) {
        if takeovers.is_empty() {
            return;
        }
        let arena = Arena::new();
        let managers = takeovers.iter().map(|takeover| takeover.manager.as_str()).collect();
        let [before, after] = [before, after].map(|object| object.fields_of_each(&arena, &managers));
        let lost = |(manager, owned): (String, FieldSet<'_>)| {
            let kept = after.get(&manager).copied().unwrap_or_default();
            let lost = owned.difference(&arena, kept).paths(&arena);
            (manager, lost.into_iter().map(FieldPath::from).collect())
        };
        let lost: HashMap<String, HashSet<FieldPath>> = before.into_iter().map(lost).collect();
        takeovers
            .retain(|takeover| lost.get(&takeover.manager).is_some_and(|lost| lost.contains(&takeover.path)));
    }
}

impl Effects {
    /// Whether no value changes, and no field is released.
    pub(crate) fn change_nothing(&self) -> bool {
        self.sets.is_empty() && self.removes.is_empty() && self.releases.is_empty()
    }

    /// Adds the effects of a later write.
    pub fn add(&mut self, later: Self) {
        fn join<T: Eq + Hash>(all: &mut Vec<T>, more: Vec<T>) {
            let mut known: HashSet<&T> = all.iter().collect();
            let are_new: Vec<bool> = more.iter().map(|one| known.insert(one)).collect();
            all.extend(more.into_iter().zip(are_new).filter_map(|(one, is_new)| is_new.then_some(one)));
        }
        join(&mut self.sets, later.sets);
        join(&mut self.removes, later.removes);
        join(&mut self.takeovers, later.takeovers);
        join(&mut self.releases, later.releases);
    }

    /// The effects that the response confirms. If nothing was stored, nothing was set.
    pub(crate) fn confirmed(mut self, before: Option<&LiveObject>, after: &LiveObject) -> Self {
        let Some(before) = before else { return self };
        if before.revision() == after.revision() {
            return Self::default();
        }
        Takeover::retain_confirmed(&mut self.takeovers, before, after);
        self
    }

    /// The effects of an apply by this manager, between the two objects. The fields `unstored` are neither set nor taken over, since the
    /// server doesn't store their values.
    pub(crate) fn of<'a>(
        arena: &'a Arena,
        prediction: &PredictedApply<'a>,
        secrecy: Secrecy,
        [old, new]: [&Finder<'a>; 2],
        unstored: FieldSet<'a>,
        writer: &str,
    ) -> Self {
        let comparison = prediction.comparison;
        let sets = comparison.added.union(arena, comparison.modified).leaves(arena);
        let sets = sets.difference(arena, unstored).paths(arena);
        // A field that is applied as null is removed.
        let is_null = |path: &Path<'_>| new.find(*path).is_some_and(|value| value.is_null());
        let (nulls, sets): (Vec<_>, Vec<_>) = sets.into_iter().partition(is_null);
        let removed = comparison.removed.union(arena, FieldSet::of_paths(arena, nulls));
        let gone = |path: Path<'a>| {
            let elements = path.elements();
            let is_gone =
                |end: &usize| new.find(Path::new(&elements[..*end])).is_none_or(|value| value.is_null());
            (1..elements.len()).find(is_gone).map_or(path, |end| Path::new(&elements[..end]))
        };
        let kept = prediction.released.difference(arena, comparison.removed).leaves(arena);
        let (mut takeovers, mut known) = (Vec::new(), HashSet::new());
        let mut values = ShownValues::of(secrecy, [old, new]);
        for lost in [&prediction.taken, &prediction.dropped] {
            for (manager, paths) in by_manager(arena, lost, writer) {
                for path in paths.difference(arena, unstored).paths(arena) {
                    let (path, [old, new]) = values.at(path);
                    // A manager may own it twice, by an apply and by an update.
                    if known.insert((manager, path.clone())) {
                        takeovers.push(Takeover { path, manager: manager.to_owned(), old, new });
                    }
                }
            }
        }
        Self {
            sets: owned(sets.into_iter().filter(|path| !is_identity(*path))),
            removes: owned(topmost(removed.paths(arena).into_iter().map(gone))),
            takeovers,
            releases: owned(kept.paths(arena)),
        }
    }
}

/// The values of fields in two objects, as they are shown. A large one that many managers own is written once.
pub(crate) struct ShownValues<'o, 'v> {
    secrecy: Secrecy,
    objects: [&'o Finder<'v>; 2],
    shown: HashMap<FieldPath, [Option<String>; 2]>,
}

impl<'o, 'v> ShownValues<'o, 'v> {
    pub(crate) fn of(secrecy: Secrecy, objects: [&'o Finder<'v>; 2]) -> Self {
        Self { secrecy, objects, shown: HashMap::new() }
    }

    /// A path as it is spelled, and its values.
    pub(crate) fn at(&mut self, path: Path<'_>) -> (FieldPath, [Option<String>; 2]) {
        let value = |object: &Finder<'v>| object.find(path).map(|value| self.secrecy.shown(path, value));
        let spelled = FieldPath::from(path);
        let values = self.shown.entry(spelled.clone()).or_insert_with(|| self.objects.map(value));
        (spelled, values.clone())
    }
}

/// The fields that the old object lacks, and that get a zero that the server doesn't store.
pub(crate) fn unstored_zeros<'a>(
    resource: Resource<'a>,
    arena: &'a Arena,
    prediction: &PredictedApply<'a>,
    [old, new]: [&Finder<'a>; 2],
    release: Release,
) -> FieldSet<'a> {
    let is_zero = |path: &Path<'a>| new.find(*path).is_some_and(is_zero_value);
    let added = prediction.comparison.added.leaves(arena).paths(arena).into_iter();
    let zeros = added.filter(is_zero).filter(|path| old.find(*path).is_none());
    let zeros = FieldSet::of_paths(arena, zeros);
    if zeros.is_empty() {
        return zeros;
    }
    let (schema, type_id) = (resource.schema(), resource.type_id());
    let typed =
        Typed::for_release(release, arena, schema, type_id, prediction.stored.object, Duplicates::Allowed);
    typed.map(|after| zeros.intersection(arena, unstored(arena, &after))).unwrap_or_default()
}

/// The leaves that each manager loses. Those that the writer takes from itself, by another operation, are left out.
fn by_manager<'a>(
    arena: &'a Arena,
    lost: &[Taken<'a>],
    writer: &str,
) -> impl Iterator<Item = (&'a str, FieldSet<'a>)> {
    // They come in the order of the managers.
    lost.chunk_by(|left, right| left.from == right.from).filter_map(move |lost| {
        let manager = lost.first()?.from.manager;
        let leaves = || FieldSet::of_paths(arena, lost.iter().map(|taken| taken.path)).leaves(arena);
        (manager != writer).then(|| (manager, leaves()))
    })
}

/// The paths that aren't below another one of them. A path comes before those below it, but not always directly before.
fn topmost<'a>(paths: impl Iterator<Item = Path<'a>>) -> Vec<Path<'a>> {
    let mut tops = BTreeSet::new();
    let is_top = |path: &Path<'a>| {
        let elements = path.elements();
        !(0..=elements.len()).any(|end| tops.contains(&Path::new(&elements[..end]))) && tops.insert(*path)
    };
    paths.filter(is_top).collect()
}

/// Whether a field only identifies the object.
fn is_identity(path: Path<'_>) -> bool {
    matches!(
        path.elements(),
        [Field("apiVersion" | "kind")] | [Field("metadata"), Field("name" | "namespace" | "resourceVersion")]
    )
}

fn owned<'a>(paths: impl IntoIterator<Item = Path<'a>>) -> Vec<FieldPath> {
    paths.into_iter().map(FieldPath::from).collect()
}
