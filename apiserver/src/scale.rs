//! The `scale` subresource: an object's replicas as an `autoscaling/v1` Scale. The merge core writes it.

use baton_merge::{Arena, schema::kinds::GroupVersionKind, value::Value};
use serde_json::json;

use crate::{
    custom::ScalePaths,
    objects::ReadObject,
    registry::{Resource, Schema},
    selector::{LabelSelector, format_labels},
    server::Server,
    status::Failure,
    types::{Decoder, TYPES},
};

/// The paths of a custom resource's scale.
pub(crate) fn paths(resource: &Resource) -> Option<&ScalePaths> {
    match &resource.schema {
        Schema::Custom(custom) => custom.version()?.scale.as_ref(),
        Schema::BuiltIn { .. } => None,
    }
}

/// The scale of an object, for a patch. It may lack `replicas`, which custom resources read as unset.
pub(crate) fn to_patch(resource: &Resource, object: Value<'_>) -> Result<serde_json::Value, Failure> {
    let scale = of(resource, object);
    match (&resource.schema, scale) {
        (Schema::Custom(_), Err(_)) => {
            let paths = paths(resource).ok_or_else(Failure::no_such_path)?;
            let arena = Arena::new();
            let (mut scale, _) = paths
                .of(&arena, object)
                .map(|(scale, has_replicas)| (scale.to_json(), has_replicas))
                .map_err(Failure::internal)?;
            scale["spec"]["replicas"] = i32::MIN.into();
            Ok(scale)
        }
        (_, scale) => scale,
    }
}

/// The scale of an object.
pub(crate) fn of(resource: &Resource, object: Value<'_>) -> Result<serde_json::Value, Failure> {
    let (replicas, status) = match &resource.schema {
        Schema::Custom(_) => {
            let paths = paths(resource).ok_or_else(Failure::no_such_path)?;
            let arena = Arena::new();
            let (scale, says_number) = paths.of(&arena, object).map_err(Failure::internal)?;
            return if says_number { Ok(scale.to_json()) } else { Err(Failure::internal(paths.missing())) };
        }
        Schema::BuiltIn { .. } => (object.at(&["spec", "replicas"]), object.at(&["status", "replicas"])),
    };
    let number = |value: Option<Value<'_>>| match value {
        Some(Value::Int(number)) => number,
        _ => 0,
    };
    let mut metadata = json!({});
    for name in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
        if let Some(value) = object.at(&["metadata", name]) {
            metadata[name] = value.to_json();
        }
    }
    let mut scale = json!({
        "kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": metadata,
        "spec": {}, "status": {"replicas": number(status)},
    });
    if number(replicas) != 0 {
        scale["spec"]["replicas"] = number(replicas).into();
    }
    let selector = selector(resource, object);
    if !selector.is_empty() {
        scale["status"]["selector"] = selector.into();
    }
    Ok(scale)
}

/// The selector as text.
fn selector(resource: &Resource, object: Value<'_>) -> String {
    let Some(selector) = object.at(&["spec", "selector"]) else { return String::new() };
    if resource.is("", "ReplicationController") {
        return format_labels(selector.as_map());
    }
    LabelSelector::from_object(Some(selector)).map(|selector| selector.to_string()).unwrap_or_default()
}

pub(crate) fn kind() -> GroupVersionKind {
    GroupVersionKind::new("autoscaling", "v1", "Scale")
}

/// The scale in a request.
pub(crate) fn read<'a>(
    server: &Server,
    arena: &'a Arena,
    object: Value<'a>,
) -> Result<ReadObject<'a>, Failure> {
    let of = TYPES.of_kind(&kind()).ok_or_else(Failure::no_such_path)?;
    let text = |name| object.get(name).and_then(|value| value.as_str()).unwrap_or_default();
    if (text("apiVersion"), text("kind")) != ("autoscaling/v1", "Scale") {
        let message = format!(
            "no kind {:?} is registered for version {:?} in scheme",
            text("kind"),
            text("apiVersion")
        );
        return Err(Failure::bad_request(message));
    }
    let reader =
        Decoder { types: &TYPES, arena, fills_in: true, keeps_empty: false, release: server.release };
    let decoded = reader.decode(of, object).map_err(|error| {
        Failure::bad_request(format!("Scale in version \"v1\" cannot be handled as a Scale: {error}"))
    })?;
    Ok(ReadObject { object: decoded.object, unknown: decoded.unknown })
}
