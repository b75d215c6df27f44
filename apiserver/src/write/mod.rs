//! The verbs create, update, patch and delete.

mod bind;
mod body;
mod delete;
mod in_go;
mod one;
mod strict;

pub(crate) use self::{
    bind::bind,
    delete::{delete, delete_collection, delete_one, evict},
    one::{Existence, Input, OneWrite, storage_key},
};

use baton_merge::{Arena, schema::kinds::GroupVersionKind, value::Value};

use self::{body::Text, one::Outcome, strict::Strictness};
use crate::{
    actors::rbac,
    definitions,
    field::{FieldError, FieldPath},
    http::{Request, Response},
    kinds, metadata, namespaces, objects,
    options::{WriteOptions, unregistered},
    patch::{self, PatchError},
    read,
    registry::{self, Resource, Schema},
    scale,
    server::{RequestTarget, Server, media},
    status::Failure,
    types::TYPES,
};

const JSON_PATCH: &str = "application/json-patch+json";
const MERGE_PATCH: &str = "application/merge-patch+json";
const STRATEGIC_PATCH: &str = "application/strategic-merge-patch+json";
const APPLY_PATCH: &str = "application/apply-patch+yaml";

/// The most names that are generated for an object, while they are taken.
const GENERATED_NAMES: usize = 8;

/// `POST` to a collection.
pub(crate) fn create(
    server: &Server,
    request: &Request,
    target: &RequestTarget,
) -> Result<Response, Failure> {
    // Checked before anything is stored, here and in the other writes.
    media(request, target)?;
    let options = WriteOptions::read("CreateOptions", &request.query, false, request.user_agent())?;
    let arena = Arena::new();
    let strictness = Strictness::new(options.field_validation);
    let (object, text) = body::object(&arena, request, target)?;
    check_has_kind(target, object, text)?;
    let object = of_kind(&arena, &target.resource, object)?;
    let read = server.read_object(&arena, &target.resource, object);
    let read = read.map_err(|failure| unreadable(target, failure))?;
    strictness.check(text, &read.unknown).map_err(|failure| body::unhandled(target, &failure))?;
    check_namespace(target, read.object)?;
    let new = strictness.deduped(&arena, metadata::without_server_fields(&arena, read.object), false);
    let mut attempts = GENERATED_NAMES;
    loop {
        let (target, is_generated) = named(target, read.object);
        definitions::deletion::check_accepts_objects(&target)?;
        namespaces::check_accepts_objects(server, &target)?;
        let write =
            OneWrite { server, arena: &arena, target: &target, options: &options, existence: Existence::New };
        let outcome = write.run(&|_| {
            rbac::check_grant(server, request, &target, None, read.object, false)?;
            Ok(Input::Update(new))
        });
        let is_taken = outcome.as_ref().is_err_and(|failure| failure.reason == "AlreadyExists");
        attempts -= 1;
        if !is_taken || !is_generated || attempts == 0 {
            return respond(server, request, &target, outcome, strictness);
        }
    }
}

/// The object in the body of a `POST`.
pub(crate) fn read_body<'a>(
    server: &Server,
    arena: &'a Arena,
    request: &Request,
    target: &'a RequestTarget,
) -> Result<Value<'a>, Failure> {
    let (object, _) = body::object(arena, request, target)?;
    let object = of_kind(arena, &target.resource, object)?;
    Ok(server.read_object(arena, &target.resource, object)?.object)
}

/// `PUT` of an object or a subresource.
pub(crate) fn update(
    server: &Server,
    request: &Request,
    target: &RequestTarget,
) -> Result<Response, Failure> {
    media(request, target)?;
    let options = WriteOptions::read("UpdateOptions", &request.query, false, request.user_agent())?;
    let arena = Arena::new();
    let strictness = Strictness::new(options.field_validation);
    let (object, text) = body::object(&arena, request, target)?;
    check_has_kind(target, object, text)?;
    let read = read_new(server, &arena, target, object).map_err(|failure| unreadable(target, failure))?;
    strictness.check(text, &read.unknown).map_err(|failure| body::unhandled(target, &failure))?;
    check_target(target, read.object)?;
    let new = strictness.deduped(&arena, read.object, false);
    let uid = metadata_text(new, "uid");
    if !uid.is_empty() && server.store.get(&target.resource.storage, &target.key()).is_none() {
        let why = one::unmet(target, options.dry_run, "UID", &uid, "");
        return Err(Failure::conflict(&target.resource, &target.name, &why));
    }
    let existence = if creates_on_update(&target.resource) { Existence::Any } else { Existence::There };
    let write = OneWrite { server, arena: &arena, target, options: &options, existence };
    let outcome = write.run(&|live| {
        if live.is_none() {
            namespaces::check_accepts_objects(server, target)?;
            rbac::check_creation(server, request)?;
        }
        rbac::check_grant(server, request, target, live, read.object, false)?;
        Ok(Input::Update(new))
    });
    respond(server, request, target, outcome, strictness)
}

/// `PATCH` of all types.
pub(crate) fn patch(server: &Server, request: &Request, target: &RequestTarget) -> Result<Response, Failure> {
    check_patch_type(request, target)?;
    media(request, target)?;
    let is_apply = request.content_type() == APPLY_PATCH;
    let options = WriteOptions::read("PatchOptions", &request.query, is_apply, request.user_agent())?;
    if is_apply {
        apply(server, request, target, &options)
    } else {
        patch_live(server, request, target, &options)
    }
}

/// Refuses a patch type that the resource doesn't support.
pub(crate) fn check_patch_type(request: &Request, target: &RequestTarget) -> Result<(), Failure> {
    let content_type = request.content_type();
    let supported = if target.resource.is_custom() {
        [JSON_PATCH, MERGE_PATCH, APPLY_PATCH].join(", ")
    } else {
        [JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, APPLY_PATCH].join(", ")
    };
    let is_known = supported.split(", ").any(|own| own == content_type);
    if !is_known && target.resource.is_custom() {
        return Err(Failure::unsupported_media_type(&supported));
    }
    if !is_known {
        let mut failure = Failure::new(415, "UnsupportedMediaType", "415: Unsupported Media Type");
        failure.details = Some(Box::new(serde_json::json!({})));
        return Err(failure);
    }
    Ok(())
}

fn apply(
    server: &Server,
    request: &Request,
    target: &RequestTarget,
    options: &WriteOptions,
) -> Result<Response, Failure> {
    let arena = Arena::new();
    let strictness = Strictness::new(options.field_validation);
    let text = body::text(request)?;
    let object = objects::parse(&arena, text, true)?;
    if object.as_map().is_none() {
        let found = match object {
            Value::Null => return Err(Failure::bad_request("invalid object type: /, Kind=")),
            Value::List(_) => "array",
            Value::String(_) => "string",
            Value::Bool(_) => "bool",
            _ => "number",
        };
        return Err(Failure::bad_request(format!(
            "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {found} into Go \
             value of type map[string]interface {{}}"
        )));
    }
    strictness.check(Text { text, is_yaml: true }, &[]).map_err(|failure| {
        let message = failure.message.trim_start_matches("strict decoding error: ");
        Failure::bad_request(format!("error strict decoding YAML: error converting YAML to JSON: {message}"))
    })?;
    if target.subresource.is_empty() {
        namespaces::check_accepts_objects(server, target)?;
    }
    let write = OneWrite { server, arena: &arena, target, options, existence: of_apply(target) };
    let outcome = write.run(&|live| {
        if live.is_none() {
            definitions::deletion::check_accepts_objects(target)?;
            rbac::check_creation(server, request)?;
        }
        if let Some(live) = live {
            check_uid(target, &metadata_text(live, "uid"), object)?;
        }
        rbac::check_grant(server, request, target, live, object, true)?;
        Ok(Input::Apply(object))
    });
    respond(server, request, target, outcome, strictness)
}

/// Only an apply of the object itself can create it.
fn of_apply(target: &RequestTarget) -> Existence {
    if target.subresource.is_empty() { Existence::Any } else { Existence::There }
}

/// A patch that is computed from the live object.
fn patch_live(
    server: &Server,
    request: &Request,
    target: &RequestTarget,
    options: &WriteOptions,
) -> Result<Response, Failure> {
    let strictness = Strictness::new(options.field_validation);
    let patch: serde_json::Value = serde_json::from_slice(&request.body).map_err(|error| {
        let message = objects::in_go(&error);
        Failure::bad_request(match request.content_type() {
            STRATEGIC_PATCH => message,
            _ => format!("error decoding patch: {message}"),
        })
    })?;
    strictness.check(Text { text: body::text(request)?, is_yaml: false }, &[])?;
    if request.content_type() == JSON_PATCH {
        strictness.add(patch::unknown_members(&patch).into_iter());
    }
    let arena = Arena::new();
    let write = OneWrite { server, arena: &arena, target, options, existence: Existence::There };
    let outcome = write.run(&|live| {
        let found = live.ok_or_else(|| Failure::not_found(&target.resource, &target.name))?;
        let uid = metadata_text(found, "uid");
        let live = match target.subresource.as_str() {
            "scale" => scale::to_patch(&target.resource, found)?,
            _ => found.to_json(),
        };
        let (patched, shown) = patched(request.content_type(), &target.resource, live, &patch)?;
        let text = arena.copy_text(&patched.to_string());
        // It was JSON: only its depth can be wrong.
        let object = Value::from_text(&arena, text).map_err(|_| objects::too_deep())?;
        let unreadable = |failure: Failure| match failure.reason {
            "BadRequest" => {
                invalid_patch(shown.as_deref().unwrap_or(text), body::without_kind(target, &failure.message))
            }
            _ => failure,
        };
        let read = read_new(server, &arena, target, object).map_err(unreadable)?;
        strictness.note(&read.unknown).map_err(unreadable)?;
        check_target(target, read.object)?;
        check_uid(target, &uid, read.object)?;
        rbac::check_grant(server, request, target, Some(found), read.object, false)?;
        Ok(Input::Update(strictness.deduped(&arena, read.object, true)))
    });
    respond(server, request, target, outcome, strictness)
}

/// The patched object, and the text to show if it can't be decoded, unless that is the object itself.
fn patched(
    content_type: &str,
    resource: &Resource,
    live: serde_json::Value,
    patch: &serde_json::Value,
) -> Result<(serde_json::Value, Option<String>), Failure> {
    let patched = match (content_type, &resource.schema) {
        (JSON_PATCH, _) => patch::json_patch(live, patch).map(|patched| (patched, None)),
        (MERGE_PATCH, _) => patch::merge_patch(live, patch).map(|patched| (patched, None)),
        (_, Schema::BuiltIn { document, of }) => {
            let name = of.map(|of| TYPES.name(of)).unwrap_or_default();
            let mut rest = patch.clone();
            patch::strategic(document.patch_schema(), name, live, &mut rest)
                .map(|patched| (patched, Some(patch::go_printed(&rest))))
        }
        (_, Schema::Custom(_)) => return Err(Failure::unsupported_media_type(MERGE_PATCH)),
    };
    patched.map_err(|error| {
        let mut failure = Failure::new(error.code(), error.reason(), error.to_string());
        if matches!(error, PatchError::Unprocessable(_)) {
            failure.details = Some(Box::new(serde_json::json!({})));
        }
        failure
    })
}

/// The error of a patch whose result can't be decoded.
fn invalid_patch(shown: &str, why: &str) -> Failure {
    let path = FieldPath::new("patch");
    let error = FieldError::invalid_text(&path, shown, why);
    Failure::invalid("", "", "", &[error])
}

/// The object or the scale in a request.
fn read_new<'a>(
    server: &Server,
    arena: &'a Arena,
    target: &'a RequestTarget,
    object: Value<'a>,
) -> Result<objects::ReadObject<'a>, Failure> {
    if target.subresource == "scale" {
        let scale = scale::read(server, arena, object)?;
        let errors = kinds::validate(&scale::kind(), "", scale.object, None);
        return match errors.as_slice() {
            [] => Ok(scale),
            errors => Err(Failure::invalid("autoscaling", "Scale", &target.name, errors)),
        };
    }
    let object = of_kind(arena, &target.resource, object)?;
    server.read_object(arena, &target.resource, object)
}

/// Requires a kind in the body of a custom resource.
fn check_has_kind(target: &RequestTarget, object: Value<'_>, text: Text<'_>) -> Result<(), Failure> {
    let is_missing = object.get("kind").and_then(|kind| kind.as_str()).is_none_or(str::is_empty);
    if !is_missing || !target.resource.is_custom() || target.subresource == "scale" {
        return Ok(());
    }
    let Text { text, .. } = text;
    Err(objects::unrecognized(
        &target.resource.gvk.kind,
        &format!("Object 'Kind' is missing in '{text}'"),
        text.as_bytes(),
    ))
}

/// Adds the kind to the error of an undecodable custom resource. The decoder of built-in kinds does it itself.
fn unreadable(target: &RequestTarget, failure: Failure) -> Failure {
    let is_own =
        target.resource.is_custom() && target.subresource != "scale" && failure.reason == "BadRequest";
    if is_own && !failure.message.starts_with("the API version in the data") {
        body::unhandled(target, &failure)
    } else {
        failure
    }
}

/// Requires the resource's kind and version, which default for built-in kinds.
fn of_kind<'a>(arena: &'a Arena, resource: &'a Resource, object: Value<'a>) -> Result<Value<'a>, Failure> {
    let text = |name| object.get(name).and_then(|value| value.as_str()).unwrap_or_default();
    let (own, wanted) = (&resource.gvk, resource.gvk.api_version());
    let (mut api_version, mut kind) = (text("apiVersion"), text("kind"));
    let mut object = object;
    if !resource.is_custom() && api_version.is_empty() {
        api_version = arena.copy_text(&wanted);
        object = object.with(arena, &["apiVersion"], Some(Value::String(api_version)));
    }
    if !resource.is_custom() && kind.is_empty() {
        kind = own.kind.as_str();
        object = object.with(arena, &["kind"], Some(Value::String(kind)));
    }
    if kind.is_empty() {
        return Err(Failure::bad_request(format!("Object 'Kind' is missing in '{object}'")));
    }
    let unhandled = |why: String| {
        let version = api_version.rsplit('/').next().unwrap_or_default();
        Failure::bad_request(format!(
            "{kind} in version {version:?} cannot be handled as a {}: {why}",
            own.kind
        ))
    };
    if api_version != wanted {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        return Err(if resource.is_custom() || registry::is_built_in(group, version, kind) {
            Failure::bad_request(format!(
                "the API version in the data ({api_version}) does not match the expected API version ({wanted})"
            ))
        } else {
            unhandled(unregistered(api_version, kind))
        });
    }
    if kind != own.kind && resource.is_custom() {
        let error = FieldError::invalid_text(&FieldPath::new("kind"), kind, &format!("must be {}", own.kind));
        return Err(Failure::invalid(&own.group, kind, &metadata_text(object, "name"), &[error]));
    }
    if kind != own.kind {
        let from = api_version.rsplit('/').next().unwrap_or_default();
        let to = match own.group.split('.').next().unwrap_or_default() {
            "" | "events" => "core",
            group => group,
        };
        let why = format!("converting ({from}.{kind}) to ({to}.{}): unknown conversion", own.kind);
        return Err(unhandled(why));
    }
    Ok(object)
}

fn metadata_text(object: Value<'_>, field: &str) -> String {
    object.at(&["metadata", field]).and_then(|value| value.as_str()).unwrap_or_default().to_owned()
}

/// The target of a new object, and whether its name was generated.
fn named(target: &RequestTarget, object: Value<'_>) -> (RequestTarget, bool) {
    let (name, base) = (metadata_text(object, "name"), metadata_text(object, "generateName"));
    let is_generated = name.is_empty() && !base.is_empty();
    let name = if is_generated { metadata::generated_name(&base) } else { name };
    (RequestTarget { name, ..target.clone() }, is_generated)
}

/// Refuses an object with another name or namespace than the path.
fn check_target(target: &RequestTarget, object: Value<'_>) -> Result<(), Failure> {
    let name = metadata_text(object, "name");
    if name.is_empty() {
        return Err(Failure::bad_request(format!(
            "the name of the object ({} based on URL) was undeterminable: name must be provided",
            target.name
        )));
    }
    if name != target.name {
        return Err(Failure::bad_request(format!(
            "the name of the object ({name}) does not match the name on the URL ({})",
            target.name
        )));
    }
    check_namespace(target, object)
}

/// Refuses an object in another namespace than the path; of cluster-scoped ones it is ignored.
fn check_namespace(target: &RequestTarget, object: Value<'_>) -> Result<(), Failure> {
    let namespace = metadata_text(object, "namespace");
    if target.resource.namespaced && !namespace.is_empty() && namespace != target.namespace {
        return Err(Failure::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        ));
    }
    Ok(())
}

/// Refuses a patch that changes the UID. The server checks it twice.
fn check_uid(target: &RequestTarget, uid: &str, object: Value<'_>) -> Result<(), Failure> {
    let wanted = metadata_text(object, "uid");
    if wanted.is_empty() || wanted == uid {
        return Ok(());
    }
    let path = FieldPath::new("metadata").child("uid");
    let error = FieldError::invalid_text(&path, &wanted, "field is immutable");
    let GroupVersionKind { group, kind, .. } = &target.resource.stored_as;
    Err(Failure::invalid(group, kind, &target.name, &[error.clone(), error]))
}

/// Kinds that a `PUT` can create.
fn creates_on_update(resource: &Resource) -> bool {
    #[rustfmt::skip]
    const KINDS: [(&str, &str); 11] = [
        ("", "Endpoints"), ("", "Event"), ("", "LimitRange"), ("", "Service"),
        ("coordination.k8s.io", "Lease"), ("events.k8s.io", "Event"), ("node.k8s.io", "RuntimeClass"),
        ("rbac.authorization.k8s.io", "ClusterRole"), ("rbac.authorization.k8s.io", "ClusterRoleBinding"),
        ("rbac.authorization.k8s.io", "Role"), ("rbac.authorization.k8s.io", "RoleBinding"),
    ];
    KINDS.iter().any(|(group, kind)| resource.is(group, kind))
}

fn respond(
    server: &Server,
    request: &Request,
    target: &RequestTarget,
    outcome: Result<Outcome, Failure>,
    strictness: Strictness,
) -> Result<Response, Failure> {
    let mut response = match outcome {
        Ok(outcome) => {
            let code = if outcome.created { 201 } else { 200 };
            let mut response = read::rendered(server, request, target, &outcome.record, code)?;
            response.warnings = outcome.warnings;
            response
        }
        // A refused write has warnings, too.
        Err(failure) => Response::failure(&failure),
    };
    response.warnings.extend(strictness.into_warnings());
    Ok(response)
}
