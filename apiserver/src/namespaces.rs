//! Apiserver's admission plugin `NamespaceLifecycle`.

use baton_merge::{Arena, value::Value};
use serde_json::json;

use crate::{
    server::{RequestTarget, Server},
    status::Failure,
    store::Key,
};

/// Refuses an object in a missing or terminating namespace.
pub(crate) fn check_accepts_objects(server: &Server, target: &RequestTarget) -> Result<(), Failure> {
    if target.namespace.is_empty() || server.store.get(&target.resource.storage, &target.key()).is_some() {
        return Ok(());
    }
    let key = Key { namespace: String::new(), name: target.namespace.clone() };
    let registry = server.registry();
    let namespaces = registry.resource("", "v1", "namespaces").ok_or_else(Failure::no_such_path)?;
    let Some(record) = server.store.get(&namespaces.storage, &key) else {
        return Err(Failure::not_found(namespaces, &target.namespace));
    };
    let arena = Arena::new();
    let object = Value::from_text(&arena, record.text()).map_err(Failure::internal)?;
    if object.at(&["metadata", "deletionTimestamp"]).is_none() {
        return Ok(());
    }
    let name = &target.namespace;
    let why = format!("unable to create new content in namespace {name} because it is being terminated");
    let mut failure = Failure::forbidden(&target.resource, &target.name, &why);
    if let Some(details) = &mut failure.details {
        details["causes"] = json!([{
            "reason": "NamespaceTerminating",
            "message": format!("namespace {name} is being terminated"),
            "field": "metadata.namespace",
        }]);
    }
    Err(failure)
}

/// Refuses the deletion of the system namespaces.
pub(crate) fn check_deletable(target: &RequestTarget) -> Result<(), Failure> {
    if target.resource.is("", "Namespace")
        && ["default", "kube-public", "kube-system"].contains(&&*target.name)
    {
        return Err(Failure::forbidden(&target.resource, &target.name, "this namespace may not be deleted"));
    }
    Ok(())
}
