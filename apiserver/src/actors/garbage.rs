//! Garbage collection: deletes or orphans the dependents of deleted owners. After `pkg/controller/garbagecollector`.

use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};

use super::{
    Controller, Pass,
    client::resource_of,
    object::{has_finalizer, is_deleted, name, namespace, owners, text, uid},
    view::Object,
};
use crate::kinds::{FOREGROUND, ORPHAN};

pub(super) struct GarbageCollector;

/// Owners and dependents.
struct Graph<'g> {
    /// By UID.
    objects: HashMap<&'g str, &'g Object>,
    /// By the UID of an owner.
    dependents: HashMap<&'g str, Vec<&'g Object>>,
}

impl<'g> Graph<'g> {
    fn of(all: &'g [Object]) -> Self {
        let mut objects = HashMap::with_capacity(all.len());
        let mut dependents: HashMap<_, Vec<_>> = HashMap::new();
        for object in all {
            objects.insert(uid(object), object);
            for owner in owners(object) {
                dependents.entry(text(owner, "/uid")).or_default().push(object);
            }
        }
        Self { objects, dependents }
    }

    fn dependents(&self, owner: &Value) -> impl Iterator<Item = &'g Object> {
        self.dependents.get(uid(owner)).into_iter().flatten().copied()
    }
}

impl Controller for GarbageCollector {
    fn act(&mut self, pass: &mut Pass<'_>) {
        let registry = pass.server.registry();
        let deletable = registry.preferred().filter(|resource| resource.allows("delete"));
        let all: Vec<_> = deletable.flat_map(|resource| pass.all(resource)).collect();
        let graph = Graph::of(&all);
        for object in &all {
            if is_deleted(object) && has_finalizer(object, ORPHAN) {
                orphan(pass, &graph, object);
            } else if is_deleted(object) && has_finalizer(object, FOREGROUND) {
                let blocks =
                    |owner: &Value| text(owner, "/uid") == uid(object) && owner["blockOwnerDeletion"] == true;
                if !graph.dependents(object).any(|dependent| owners(dependent).iter().any(blocks)) {
                    remove_finalizer(pass, object, FOREGROUND);
                }
            } else if !is_deleted(object) && !owners(object).is_empty() {
                collect(pass, &graph, object);
            }
        }
    }
}

/// Removes the references to an owner from its dependents, then the owner's `orphan` finalizer.
fn orphan(pass: &mut Pass<'_>, graph: &Graph<'_>, owner: &Object) {
    let mut is_done = true;
    for dependent in graph.dependents(owner) {
        is_done &= keep_owners(pass, dependent, |reference| text(reference, "/uid") != uid(owner));
    }
    if is_done {
        remove_finalizer(pass, owner, ORPHAN);
    }
}

/// Removes owner references from an object. Returns whether that succeeded.
fn keep_owners(pass: &mut Pass<'_>, object: &Value, keeps: impl Fn(&Value) -> bool) -> bool {
    let kept: Vec<_> = owners(object).iter().filter(|owner| keeps(owner)).collect();
    let kept = if kept.is_empty() { Value::Null } else { json!(kept) };
    match pass.patch_metadata(object, json!({"ownerReferences": kept})) {
        Ok(_) => true,
        Err(refused) if refused.code == 404 => true,
        Err(_) => {
            pass.retry();
            false
        }
    }
}

fn remove_finalizer(pass: &mut Pass<'_>, object: &Value, finalizer: &str) {
    if pass.remove_finalizer(object, finalizer).is_err() {
        pass.retry();
    }
}

/// The state of an owner.
#[derive(PartialEq, Eq)]
enum State {
    Solid,
    Gone,
    /// It has the `foregroundDeletion` finalizer and waits for its dependents.
    Waiting,
    /// Its kind is unknown, or it can't own the object.
    Unknown,
}

fn state_of(pass: &Pass<'_>, graph: &Graph<'_>, object: &Value, reference: &Value) -> State {
    let is_meant = |owner: &&Object| {
        let space = namespace(owner);
        ["apiVersion", "kind"].iter().all(|field| owner[field] == reference[field])
            && name(owner) == text(reference, "/name")
            && (space.is_empty() || space == namespace(object))
    };
    // The fast path: nearly every owner is found by its UID.
    match graph.objects.get(text(reference, "/uid")).copied().filter(is_meant) {
        Some(owner) if is_deleted(owner) && has_finalizer(owner, FOREGROUND) => State::Waiting,
        Some(_) => State::Solid,
        None => state_of_absent(pass, graph, object, reference),
    }
}

/// As [`state_of`], for an owner that isn't found by its UID, kind and version.
fn state_of_absent(pass: &Pass<'_>, graph: &Graph<'_>, object: &Value, reference: &Value) -> State {
    let registry = pass.server.registry();
    let Some(resource) = resource_of(&registry, reference) else { return State::Unknown };
    if resource.namespaced && namespace(object).is_empty() {
        return State::Unknown;
    }
    let owner_namespace = if resource.namespaced { namespace(object) } else { "" };
    let is_meant = |owner: &&Object| {
        owner["kind"] == reference["kind"]
            && name(owner) == text(reference, "/name")
            && namespace(owner) == owner_namespace
    };
    match graph.objects.get(text(reference, "/uid")).copied().filter(is_meant) {
        None => State::Gone,
        Some(owner) if is_deleted(owner) && has_finalizer(owner, FOREGROUND) => State::Waiting,
        Some(_) => State::Solid,
    }
}

/// Deletes an object without owners.
fn collect(pass: &mut Pass<'_>, graph: &Graph<'_>, object: &Value) {
    let states: Vec<_> =
        owners(object).iter().map(|owner| (owner, state_of(pass, graph, object, owner))).collect();
    let has = |state: State| states.iter().any(|(_, own)| *own == state);
    if has(State::Unknown) {
        return;
    }
    if has(State::Solid) {
        if has(State::Gone) || has(State::Waiting) {
            let solid = states.iter().filter(|(_, state)| *state == State::Solid);
            let solid: HashSet<_> = solid.map(|(owner, _)| text(owner, "/uid")).collect();
            keep_owners(pass, object, |owner| solid.contains(text(owner, "/uid")));
        }
        return;
    }
    let policy = if has(State::Waiting) && graph.dependents(object).next().is_some() {
        let is_waiting = |dependent: &Object| is_deleted(dependent) && has_finalizer(dependent, FOREGROUND);
        if graph.dependents(object).any(is_waiting) {
            unblock_owners(pass, object);
        }
        "Foreground"
    } else if has_finalizer(object, ORPHAN) {
        "Orphan"
    } else if has_finalizer(object, FOREGROUND) {
        "Foreground"
    } else {
        "Background"
    };
    match pass.delete(object, json!({"propagationPolicy": policy})) {
        Ok(_) => {}
        Err(refused) if matches!(refused.code, 404 | 409) => {}
        Err(_) => pass.retry(),
    }
}

/// Unblocks the owners of an object that wait for each other.
fn unblock_owners(pass: &mut Pass<'_>, object: &Value) {
    let unblocked: Vec<_> = owners(object)
        .iter()
        .cloned()
        .map(|mut owner| {
            owner["blockOwnerDeletion"] = false.into();
            owner
        })
        .collect();
    if pass.patch_metadata(object, json!({"ownerReferences": unblocked})).is_err() {
        pass.retry();
    }
}
