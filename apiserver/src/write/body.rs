//! Bodies of writes, in all supported formats.

use std::{borrow::Cow, str};

use baton_merge::{Arena, schema::kinds::GroupVersionKind, value::Value};

use crate::{http::Request, objects, options::DeleteOptions, server::RequestTarget, status::Failure};

/// The formats of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Json,
    Yaml,
    Protobuf,
}

const FORMATS: &str = "application/json, application/yaml, application/vnd.kubernetes.protobuf";

fn format(request: &Request) -> Result<Format, Failure> {
    match request.content_type().to_ascii_lowercase().as_str() {
        "" | "application/json" => Ok(Format::Json),
        "application/yaml" => Ok(Format::Yaml),
        "application/vnd.kubernetes.protobuf" => Ok(Format::Protobuf),
        _ => Err(Failure::unsupported_media_type(FORMATS)),
    }
}

/// The body as text.
pub(super) fn text(request: &Request) -> Result<&str, Failure> {
    str::from_utf8(&request.body).map_err(|error| Failure::bad_request(error.to_string()))
}

/// The kind of the objects that a target accepts.
fn kind(target: &RequestTarget) -> &GroupVersionKind {
    let RequestTarget { resource, subresource, .. } = target;
    resource.subresource(subresource).map_or(&resource.gvk, |subresource| &subresource.gvk)
}

/// The error for an object that its kind can't decode.
pub(super) fn unhandled(target: &RequestTarget, why: &Failure) -> Failure {
    Failure::bad_request(unhandled_kind(target) + &why.message)
}

fn unhandled_kind(target: &RequestTarget) -> String {
    let GroupVersionKind { kind, version, .. } = kind(target);
    format!("{kind} in version {version:?} cannot be handled as a {kind}: ")
}

/// The message without the kind at its start.
pub(super) fn without_kind<'m>(target: &RequestTarget, message: &'m str) -> &'m str {
    message.strip_prefix(&unhandled_kind(target)).unwrap_or(message)
}

/// The text of a body, which may have duplicate fields.
#[derive(Clone, Copy)]
pub(super) struct Text<'r> {
    pub(super) text: &'r str,
    pub(super) is_yaml: bool,
}

/// The object in a body, and its text, which is empty for protobuf.
pub(super) fn object<'a, 'r>(
    arena: &'a Arena,
    request: &'r Request,
    target: &RequestTarget,
) -> Result<(Value<'a>, Text<'r>), Failure> {
    let kind = kind(target);
    let format = format(request)?;
    if format != Format::Protobuf {
        let (text, is_yaml) = (text(request)?, format == Format::Yaml);
        return Ok((objects::parse_object(arena, text, is_yaml, &kind.kind)?, Text { text, is_yaml }));
    }
    if target.resource.is_custom() && *kind == target.resource.gvk {
        let why = "object *unstructured.Unstructured does not implement the protobuf marshalling interface and cannot be \
                   encoded to a protobuf message";
        return Err(unhandled(target, &Failure::bad_request(why)));
    }
    Ok((objects::parse_protobuf(arena, &request.body, kind)?, Text { text: "", is_yaml: false }))
}

/// The options of a deletion.
pub(super) fn delete_options(request: &Request) -> Result<DeleteOptions, Failure> {
    if request.body.is_empty() {
        return DeleteOptions::read(&[], &request.query);
    }
    let arena = Arena::new();
    let json = match format(request)? {
        Format::Json => Cow::Borrowed(request.body.as_ref()),
        Format::Yaml => {
            let options = objects::parse(&arena, text(request)?, true)?;
            Cow::Owned(options.to_json().to_string().into_bytes())
        }
        Format::Protobuf => {
            let kind = GroupVersionKind::new("", "v1", "DeleteOptions");
            let options = objects::parse_protobuf(&arena, &request.body, &kind)?;
            if options.get("kind").and_then(|kind| kind.as_str()) != Some(&kind.kind) {
                return Err(Failure::bad_request("decoded object cannot be converted to DeleteOptions"));
            }
            Cow::Owned(options.to_json().to_string().into_bytes())
        }
    };
    DeleteOptions::read(&json, &request.query)
}
