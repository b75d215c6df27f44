//! Whether objects may be made in a namespace, and namespaces deleted, after apiserver's admission plugin `NamespaceLifecycle`.

use baton_merge::{Arena, value::Value};
use serde_json::json;

use crate::{
    server::{Place, Server},
    status::Failure,
    store::Key,
};

/// Refuses an object in a namespace that isn't there, or that is on its way out.
pub(crate) fn check_open(server: &Server, place: &Place) -> Result<(), Failure> {
    if place.namespace.is_empty() || server.store.get(&place.resource.storage, &place.key()).is_some() {
        return Ok(());
    }
    let key = Key { namespace: String::new(), name: place.namespace.clone() };
    let registry = server.registry();
    let namespaces = registry.resource("", "v1", "namespaces").ok_or_else(Failure::no_such_path)?;
    let Some(record) = server.store.get(&namespaces.storage, &key) else {
        return Err(Failure::not_found(namespaces, &place.namespace));
    };
    let arena = Arena::new();
    let object = Value::from_text(&arena, record.text()).map_err(Failure::internal)?;
    if object.at(&["metadata", "deletionTimestamp"]).is_none() {
        return Ok(());
    }
    let name = &place.namespace;
    let why = format!("unable to create new content in namespace {name} because it is being terminated");
    let mut failure = Failure::forbidden(&place.resource, &place.name, &why);
    if let Some(details) = &mut failure.details {
        details["causes"] = json!([{
            "reason": "NamespaceTerminating",
            "message": format!("namespace {name} is being terminated"),
            "field": "metadata.namespace",
        }]);
    }
    Err(failure)
}

/// Refuses the end of a namespace that no cluster is without.
pub(crate) fn check_mortal(place: &Place) -> Result<(), Failure> {
    if place.resource.is("", "Namespace") && ["default", "kube-public", "kube-system"].contains(&&*place.name)
    {
        return Err(Failure::forbidden(&place.resource, &place.name, "this namespace may not be deleted"));
    }
    Ok(())
}
