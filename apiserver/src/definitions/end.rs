//! How a definition goes: with all its objects, and once the last of them is gone. After `Delete` of apiextensions-apiserver's
//! `registry/customresourcedefinition/etcd.go`, and `controller/finalizer`.

use std::sync::Arc;

use baton_merge::{Arena, value::Value};

use super::{GROUP, accept_freed_names, changed, serve};
use crate::{
    custom::crd::{self, Ending},
    metadata,
    options::DeleteOptions,
    registry::{Resource, Schema},
    server::{Place, Server},
    status::Failure,
    store::{Draft, Key, Owners, Range, Record},
    types,
    write::delete_one,
};

const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";
const ATTEMPTS: usize = 100;

/// A definition that a client deletes.
pub(crate) fn marked<'a>(server: &Server, arena: &'a Arena, object: Value<'a>) -> Value<'a> {
    let now = types::second_time(server.now());
    changed(arena, object, |json| {
        json["metadata"]["deletionTimestamp"] = now.as_str().into();
        match json["metadata"]["finalizers"].as_array_mut() {
            Some(finalizers) if finalizers.iter().any(|own| own == CLEANUP) => {}
            Some(finalizers) => finalizers.push(CLEANUP.into()),
            None => json["metadata"]["finalizers"] = [CLEANUP].as_slice().into(),
        }
        crd::end(json, Ending::Pending, &now);
    })
}

/// Deletes the objects of a definition that is deleted, and the definition with the last of them.
pub(crate) fn clean_up(server: &Server, name: &str) -> Result<(), Failure> {
    let registry = server.registry();
    let Some(definitions) = registry.resource(GROUP, "v1", "customresourcedefinitions") else {
        return Ok(());
    };
    let key = Key { namespace: String::new(), name: name.to_owned() };
    for _ in 0..ATTEMPTS {
        // From here on its resource takes no new objects.
        serve(server);
        let Some(live) = server.store.get(&definitions.storage, &key) else { return Ok(()) };
        if step(server, definitions, &key, &live)?.is_some() {
            accept_freed_names(server, definitions)?;
            serve(server);
            return Ok(());
        }
    }
    Ok(())
}

/// One attempt; none where another write came first.
fn step(
    server: &Server,
    definitions: &Resource,
    key: &Key,
    live: &Arc<Record>,
) -> Result<Option<()>, Failure> {
    let arena = Arena::new();
    let object = Value::from_text(&arena, live.text()).map_err(Failure::internal)?;
    let finalizers = object.at(&["metadata", "finalizers"]).and_then(|all| all.as_list()).unwrap_or_default();
    let is_ours = finalizers.iter().any(|own| own.as_str() == Some(CLEANUP));
    if object.at(&["metadata", "deletionTimestamp"]).is_none() || !is_ours {
        return Ok(Some(()));
    }
    let ending = match resource_of(server, &key.name) {
        None => Ending::NeverEstablished,
        Some(resource) if is_emptied(server, &resource)? => Ending::Completed,
        Some(_) => Ending::InProgress,
    };
    let now = types::second_time(server.now());
    let changed = changed(&arena, object, |json| {
        if let (Some(finalizers), true) =
            (json["metadata"]["finalizers"].as_array_mut(), ending != Ending::InProgress)
        {
            finalizers.retain(|own| own != CLEANUP);
        }
        crd::end(json, ending, &now);
    });
    let storage = &definitions.storage;
    if metadata::is_done_for(definitions, changed) {
        return Ok(server.store.remove(storage, key, live).ok().map(drop));
    }
    let draft = Draft { object: changed, owners: Owners::Kept(live), order: live.order };
    Ok(server.store.put(storage, key.clone(), Some(live), &draft).ok().map(drop))
}

/// What is served of the definition of this name.
fn resource_of(server: &Server, name: &str) -> Option<Arc<Resource>> {
    let registry = server.registry();
    let mut resources =
        registry.custom().iter().flat_map(|(_, versions)| versions).flat_map(|of| &of.resources);
    resources.find(|resource| resource.storage == name).cloned()
}

/// Deletes all objects of a resource, and returns whether none are left.
fn is_emptied(server: &Server, resource: &Arc<Resource>) -> Result<bool, Failure> {
    for Key { namespace, name } in instances(server, resource) {
        let place = Place { resource: resource.clone(), namespace, name, subresource: String::new() };
        match delete_one(server, &place, &DeleteOptions::default()) {
            Err(failure) if failure.code != 404 => return Err(failure),
            _ => {}
        }
    }
    Ok(instances(server, resource).is_empty())
}

fn instances(server: &Server, resource: &Resource) -> Vec<Key> {
    let listed = server.store.list(&resource.storage, &Range::default());
    listed.map(|snapshot| snapshot.objects.into_iter().map(|(key, _)| key).collect()).unwrap_or_default()
}

/// Refuses a new object whose definition is deleted.
pub(crate) fn check_open(place: &Place) -> Result<(), Failure> {
    if is_ending(&place.resource) {
        let why = "create not allowed while custom resource definition is terminating";
        return Err(Failure::forbidden(&place.resource, &place.name, why));
    }
    Ok(())
}

/// Whether the definition of a resource is deleted.
fn is_ending(resource: &Resource) -> bool {
    match &resource.schema {
        Schema::Custom(custom) => crd::is_ending(&custom.object),
        Schema::BuiltIn { .. } => false,
    }
}

/// What follows when an object is gone: it may have been the last one that its definition waited for.
pub(crate) fn object_gone(server: &Server, resource: &Resource) -> Result<(), Failure> {
    if is_ending(resource) && instances(server, resource).is_empty() {
        return clean_up(server, &resource.storage);
    }
    Ok(())
}
