//! Objects between a request and the store: read as their kind is, filled in, prepared and checked.

use std::borrow::Cow;

use baton_merge::{Arena, value::Value};

use crate::{
    custom, definitions,
    field::FieldError,
    kinds,
    registry::{Resource, Schema},
    server::Server,
    status::Failure,
    types::{Decoder, TYPES},
};

/// An object as a kind has it, and the paths of what it doesn't have.
pub(crate) struct ReadObject<'a> {
    pub(crate) object: Value<'a>,
    pub(crate) unknown: Vec<String>,
}

/// The object in a body, which is JSON, or YAML where that is allowed.
pub(crate) fn parse<'a>(arena: &'a Arena, text: &str, is_yaml: bool) -> Result<Value<'a>, Failure> {
    let json = if is_yaml { as_json(text)? } else { Cow::Borrowed(text) };
    let value = Value::from_text(arena, arena.copy_text(&json)).map_err(|error| {
        Failure::bad_request(format!("the object provided is unrecognized (must be of type {error})"))
    })?;
    Ok(value)
}

/// YAML as JSON. JSON, which most YAML here is, stays as it is.
fn as_json(text: &str) -> Result<Cow<'_, str>, Failure> {
    if text.trim_start().starts_with('{') && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok() {
        return Ok(Cow::Borrowed(text));
    }
    let value: serde_json::Value = serde_norway::from_str(text)
        .map_err(|error| Failure::bad_request(format!("error decoding YAML: {error}")))?;
    Ok(Cow::Owned(value.to_string()))
}

impl Server {
    /// Reads an object as its kind does, with what the server fills in.
    pub(crate) fn read_object<'a>(
        &self,
        arena: &'a Arena,
        resource: &'a Resource,
        object: Value<'a>,
    ) -> Result<ReadObject<'a>, Failure> {
        let decoder = Decoder { types: &TYPES, arena, fills_in: true, release: self.release };
        match &resource.schema {
            Schema::BuiltIn { of: Some(of), .. } => {
                let decoded = decoder.decode(*of, object).map_err(|error| {
                    let (kind, version) = (&resource.gvk.kind, &resource.gvk.version);
                    Failure::bad_request(format!(
                        "{kind} in version {version:?} cannot be handled as a {kind}: {error}"
                    ))
                })?;
                let mut object = kinds::default(arena, &resource.gvk, decoded.object);
                if resource.is(definitions::GROUP, definitions::KIND) {
                    object = definitions::changed(arena, object, custom::crd::default);
                }
                Ok(ReadObject { object, unknown: decoded.unknown })
            }
            // A kind without a Go type here, which has no objects.
            Schema::BuiltIn { of: None, .. } => Ok(ReadObject { object, unknown: Vec::new() }),
            Schema::Custom(custom) => {
                let Some(version) = custom.version() else {
                    return Ok(ReadObject { object, unknown: Vec::new() });
                };
                let read_metadata = |metadata| {
                    let decoder = Decoder { fills_in: false, ..decoder };
                    let decoded =
                        decoder.decode(TYPES.metadata(), metadata).map_err(|error| error.to_string())?;
                    Ok((decoded.object, decoded.unknown))
                };
                let decoded = version.decode(arena, object, &read_metadata).map_err(Failure::bad_request)?;
                Ok(ReadObject { object: decoded.object, unknown: decoded.unknown_fields })
            }
        }
    }

    /// The object as the strategy of its kind prepares it for the store.
    pub(crate) fn prepare<'a>(
        &self,
        arena: &'a Arena,
        resource: &'a Resource,
        subresource: &str,
        new: Value<'a>,
        old: Option<Value<'a>>,
    ) -> Value<'a> {
        match &resource.schema {
            Schema::Custom(custom) => match custom.version() {
                Some(version) => version.prepare(arena, new, old, subresource == "status"),
                None => new,
            },
            Schema::BuiltIn { .. } if resource.is(definitions::GROUP, definitions::KIND) => {
                let old = old.map(|old| old.to_json());
                let to_status = subresource == "status";
                definitions::changed(arena, new, |crd| custom::crd::prepare(crd, old.as_ref(), to_status))
            }
            Schema::BuiltIn { .. } => kinds::prepare(arena, &resource.gvk, subresource, new, old),
        }
    }

    /// What is wrong with an object that is to be stored.
    pub(crate) fn validate(
        &self,
        resource: &Resource,
        subresource: &str,
        new: Value<'_>,
        old: Option<Value<'_>>,
    ) -> Vec<FieldError> {
        let gvk = &resource.gvk;
        match &resource.schema {
            Schema::Custom(custom) => {
                let Some(version) = custom.version() else { return Vec::new() };
                let metadata =
                    kinds::validate_metadata(new, old, kinds::NameRule::Subdomain, resource.namespaced);
                let write = custom::Write {
                    new,
                    old,
                    status: subresource == "status",
                    check_metadata: &kinds::validate_embedded,
                };
                version.validate(&Arena::new(), write, metadata).errors
            }
            Schema::BuiltIn { .. } if resource.is(definitions::GROUP, definitions::KIND) => {
                let metadata = kinds::validate_metadata(new, old, kinds::NameRule::Subdomain, false);
                let old = old.map(|old| old.to_json());
                custom::crd::validate(&new.to_json(), old.as_ref(), metadata)
            }
            Schema::BuiltIn { .. } => kinds::validate(gvk, subresource, new, old),
        }
    }
}
