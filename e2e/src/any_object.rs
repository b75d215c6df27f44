//! Objects of any kind, as JSON.

use baton_testbed::Error;
use kube::{
    Api, Client, ResourceExt as _,
    core::{ApiResource, DynamicObject, GroupVersionKind},
};
use serde_json::Value;

/// An object, and the API of its kind in its namespace. The kind needs a regular plural.
pub(crate) fn any_object(
    client: &Client,
    object: Value,
) -> Result<(Api<DynamicObject>, DynamicObject), Error> {
    let object: DynamicObject = serde_json::from_value(object).map_err(Error::parse("an object"))?;
    let types = object.types.clone().unwrap_or_default();
    let gvk = GroupVersionKind::try_from(&types).map_err(Error::parse("the kind of an object"))?;
    let resource = ApiResource::from_gvk(&gvk);
    let api = match object.namespace() {
        Some(namespace) => Api::namespaced_with(client.clone(), &namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    };
    Ok((api, object))
}
