//! Deletion of a CRD: first all its objects, then the CRD itself. After `Delete` of apiextensions-apiserver's
//! `registry/customresourcedefinition/etcd.go`, and `controller/finalizer`.

use std::sync::Arc;

use baton_merge::{Arena, value::Value};

use super::{GROUP, KIND, accept_freed_names, changed, serve};
use crate::{
    custom::crd::{self, DeletionProgress},
    metadata,
    options::DeleteOptions,
    read,
    registry::{Resource, Schema},
    server::{RequestTarget, Server},
    status::Failure,
    store::{Key, Range, Record},
    types,
    write::delete_one,
};

const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";
const ATTEMPTS: usize = 100;

/// Marks a CRD as deleted, with the finalizer and the condition `Terminating`.
pub(crate) fn mark_deleted<'a>(server: &Server, arena: &'a Arena, object: Value<'a>) -> Value<'a> {
    let now = types::second_time(server.now());
    changed(arena, object, |json| {
        json["metadata"]["deletionTimestamp"] = now.as_str().into();
        match json["metadata"]["finalizers"].as_array_mut() {
            Some(finalizers) if finalizers.iter().any(|own| own == CLEANUP) => {}
            Some(finalizers) => finalizers.push(CLEANUP.into()),
            None => json["metadata"]["finalizers"] = [CLEANUP].as_slice().into(),
        }
        crd::set_terminating(json, &DeletionProgress::Pending, &now);
    })
}

/// Deletes the objects of a terminating CRD, and the CRD after the last one.
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
        match step(server, definitions, &key, &live)? {
            Some(true) => {
                accept_freed_names(server, definitions)?;
                serve(server);
                return Ok(());
            }
            Some(false) => return Ok(()),
            None => {}
        }
    }
    Ok(())
}

/// One attempt: whether it changed the CRD, and none after a conflict.
fn step(
    server: &Server,
    definitions: &Resource,
    key: &Key,
    live: &Arc<Record>,
) -> Result<Option<bool>, Failure> {
    let arena = Arena::new();
    let object = Value::from_text(&arena, live.text()).map_err(Failure::internal)?;
    let finalizers = object.at(&["metadata", "finalizers"]).and_then(|all| all.as_list()).unwrap_or_default();
    let is_ours = finalizers.iter().any(|own| own.as_str() == Some(CLEANUP));
    if object.at(&["metadata", "deletionTimestamp"]).is_none() || !is_ours {
        return Ok(Some(false));
    }
    let progress = resource_of(server, &key.name)
        .map_or(DeletionProgress::NeverEstablished, |resource| delete_objects(server, &resource));
    let now = types::second_time(server.now());
    let changed = changed(&arena, object, |json| {
        if let (Some(finalizers), true) = (json["metadata"]["finalizers"].as_array_mut(), progress.is_over())
        {
            finalizers.retain(|own| own != CLEANUP);
        }
        crd::set_terminating(json, &progress, &now);
    });
    if changed == object {
        return Ok(Some(false));
    }
    let storage = &definitions.storage;
    if metadata::is_ready_to_remove(definitions, changed) {
        return Ok(server.store.remove(storage, key, live).ok().map(|_| true));
    }
    let changed = live.replaced(changed, &definitions.storage_version);
    Ok(server.store.put(storage, key.clone(), Some(live), &changed).ok().map(|_| true))
}

/// The served resource of a CRD, in its storage version if that is served.
fn resource_of(server: &Server, name: &str) -> Option<Arc<Resource>> {
    let registry = server.registry();
    let resources = registry.custom().iter().flat_map(|(_, versions)| versions).flat_map(|of| &of.resources);
    let own = resources.filter(|resource| resource.storage == name);
    own.max_by_key(|resource| resource.gvk.api_version() == *resource.storage_version).cloned()
}

/// Deletes all objects of a resource.
fn delete_objects(server: &Server, resource: &Arc<Resource>) -> DeletionProgress {
    if let Err(failure) = read::check_cached(server, resource) {
        return DeletionProgress::Failed(format!("could not list instances: {failure}"));
    }
    for Key { namespace, name } in instances(server, resource) {
        let target =
            RequestTarget { resource: resource.clone(), namespace, name, subresource: String::new() };
        match delete_one(server, &target, &DeleteOptions::default()) {
            Err(failure) if failure.code != 404 => {
                return DeletionProgress::Failed(format!("could not issue all deletes: {failure}"));
            }
            _ => {}
        }
    }
    if instances(server, resource).is_empty() {
        DeletionProgress::Completed
    } else {
        DeletionProgress::InProgress
    }
}

fn instances(server: &Server, resource: &Resource) -> Vec<Key> {
    let listed = server.store.list(&resource.storage, &Range::default());
    listed.map(|snapshot| snapshot.objects.into_iter().map(|(key, _)| key).collect()).unwrap_or_default()
}

/// Refuses a new object while its CRD is being deleted.
pub(crate) fn check_accepts_objects(target: &RequestTarget) -> Result<(), Failure> {
    if is_terminating(&target.resource) {
        let why = "create not allowed while custom resource definition is terminating";
        return Err(Failure::forbidden(&target.resource, &target.name, why));
    }
    Ok(())
}

/// Whether the CRD of a resource is being deleted.
fn is_terminating(resource: &Resource) -> bool {
    match &resource.schema {
        Schema::Custom(custom) => crd::is_terminating(&custom.object),
        Schema::BuiltIn { .. } => false,
    }
}

/// Follows the removal of an object: it may have been a CRD, or the last object of a terminating one.
pub(crate) fn object_removed(server: &Server, resource: &Arc<Resource>) -> Result<(), Failure> {
    if resource.is(GROUP, KIND) {
        accept_freed_names(server, resource)?;
        serve(server);
    }
    if is_terminating(resource) && instances(server, resource).is_empty() {
        return clean_up(server, &resource.storage);
    }
    Ok(())
}
