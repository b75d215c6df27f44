//! How a child changed, to be compared with its plan. It is read from `managedFields`.

use std::collections::BTreeSet;

use baton_crd::{PlannedAction, PlannedChild};
use baton_merge::{
    Arena,
    fieldpath::{FieldSet, Path, PathElement},
    value::Value as Tree,
};
use serde_json::Value;

/// How a child changed, in the terms of a plan.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// The action.
    pub action: PlannedAction,
    /// The fields that Baton owns now and that have another value.
    pub sets: BTreeSet<String>,
    /// The fields that others don't own any more, and these managers.
    pub takes: BTreeSet<(String, String)>,
    /// The fields that Baton owned, and that stay.
    pub releases: BTreeSet<String>,
    /// The fields that Baton owned, and that are gone. If a whole object is gone, only its own path.
    pub removes: BTreeSet<String>,
}

impl Change {
    /// The change in a plan of a child.
    pub fn planned(child: &PlannedChild) -> Self {
        let all = |paths: &[String]| paths.iter().cloned().collect();
        Self {
            action: child.action,
            sets: all(&child.sets),
            takes: child.takes.iter().map(|take| (take.path.clone(), take.manager.clone())).collect(),
            releases: all(&child.releases),
            removes: all(&child.removes),
        }
    }

    /// Compares an object before and after, by the fields that had or have an owner: the server's defaults have none.
    pub fn seen(before: Option<&Value>, after: Option<&Value>) -> Self {
        let (before, after) = match (before, after) {
            (_, None) => return Self { action: PlannedAction::Delete, ..Self::default() },
            (before, Some(after)) => (before.unwrap_or(&Value::Null), after),
        };
        let arena = Arena::new();
        let [old, new] = [before, after].map(|object| tree(&arena, object));
        let [owned_before, owned_after] = [before, after].map(|object| owned_by("baton", &arena, object));
        let is_there = |path: &Path<'_>, object: Tree<'_>| path.find(object).is_some();

        let sets = words(owned_after.leaves(&arena).paths(&arena).into_iter().filter(|path| {
            let is_identity = matches!(
                &*path.to_string(),
                ".apiVersion" | ".kind" | ".metadata.name" | ".metadata.namespace"
            );
            !is_identity && path.find(old) != path.find(new)
        }));
        let lost = owned_before.difference(&arena, owned_after);
        let gone = lost.paths(&arena).into_iter().filter(|path| !is_there(path, new));
        let gone: BTreeSet<Vec<_>> = gone.map(|path| topmost_gone(path, new).to_vec()).collect();
        let removes = gone.iter().map(|elements| Path::new(elements).to_string()).collect();
        let kept = lost.leaves(&arena).paths(&arena).into_iter().filter(|path| is_there(path, new));
        let mut takes = BTreeSet::new();
        for manager in managers(before) {
            let [had, has] = [before, after].map(|object| owned_by(&manager, &arena, object));
            for path in words(had.difference(&arena, has).leaves(&arena).paths(&arena)) {
                takes.insert((path, manager.clone()));
            }
        }
        let releases = words(kept);
        let changed = !(sets.is_empty() && takes.is_empty() && lost.is_empty());
        let action = match (before, changed) {
            (Value::Null, _) => PlannedAction::Create,
            (_, true) => PlannedAction::Update,
            (_, false) => PlannedAction::Nothing,
        };
        Self { action, sets, takes, releases, removes }
    }
}

/// The fields that Baton owned before and doesn't own any more, gone or not.
pub fn lost(before: &Value, after: &Value) -> BTreeSet<String> {
    let arena = Arena::new();
    let [owned_before, owned_after] = [before, after].map(|object| owned_by("baton", &arena, object));
    words(owned_before.difference(&arena, owned_after).paths(&arena))
}

/// The fields that Baton owns and that are stored.
pub fn stored(object: &Value) -> BTreeSet<String> {
    let arena = Arena::new();
    let tree = tree(&arena, object);
    let owned = owned_by("baton", &arena, object).leaves(&arena).paths(&arena);
    words(owned.into_iter().filter(|path| path.find(tree).is_some()))
}

/// The beginning of a path up to the topmost part that is gone.
fn topmost_gone<'a>(path: Path<'a>, object: Tree<'_>) -> &'a [PathElement<'a>] {
    let elements = path.elements();
    let depth = (1..=elements.len()).find(|depth| Path::new(&elements[..*depth]).find(object).is_none());
    &elements[..depth.unwrap_or(elements.len())]
}

fn tree<'a>(arena: &'a Arena, object: &'a Value) -> Tree<'a> {
    Tree::from_json(arena, object).expect("a server's object can be read")
}

fn words<'a>(paths: impl IntoIterator<Item = Path<'a>>) -> BTreeSet<String> {
    paths.into_iter().map(|path| path.to_string()).collect()
}

fn entries(object: &Value) -> impl Iterator<Item = &Value> {
    object["metadata"]["managedFields"].as_array().into_iter().flatten()
}

/// The managers other than Baton, its temporary manager and the autoscaler.
fn managers(object: &Value) -> BTreeSet<String> {
    let names = entries(object).filter_map(|entry| entry["manager"].as_str().map(str::to_owned));
    names.filter(|name| !["baton", "handover-to-hpa", "kube-controller-manager"].contains(&&**name)).collect()
}

fn owned_by<'a>(manager: &str, arena: &'a Arena, object: &'a Value) -> FieldSet<'a> {
    let own = entries(object).filter(|entry| entry["manager"] == manager);
    own.fold(FieldSet::default(), |all, entry| {
        let fields = FieldSet::from_fields_v1(arena, &entry["fieldsV1"]);
        all.union(arena, fields.expect("a server's field set can be read"))
    })
}
