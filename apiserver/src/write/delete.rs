//! Deletions: at once, once its finalizers are gone, or when its time is up. After `Store.Delete` of apiserver's
//! `registry/generic/registry/store.go`, and `registry/rest/delete.go`.

use std::sync::Arc;

use baton_merge::{Arena, schema::kinds::GroupVersionKind, value::Value};
use serde_json::json;

use super::body;
use crate::{
    definitions, disruption,
    http::{Answer, Request},
    namespaces,
    options::{DeleteOptions, Propagation, WriteOptions},
    priorities, read,
    registry::Resource,
    server::{Place, Server, media},
    status::{Failure, success},
    store::{Draft, Owners, Record},
    types,
};

const ORPHAN: &str = "orphan";
const FOREGROUND: &str = "foregroundDeletion";
const ATTEMPTS: usize = 100;

/// `DELETE` of an object.
pub(crate) fn delete(server: &Server, request: &Request, place: &Place) -> Result<Answer, Failure> {
    media(request, place)?;
    let options = body::delete_options(request)?;
    Ok(warned(deleted(server, request, place, &options), &place.resource, &options))
}

fn deleted(
    server: &Server,
    request: &Request,
    place: &Place,
    options: &DeleteOptions,
) -> Result<Answer, Failure> {
    namespaces::check_mortal(place)?;
    priorities::check_mortal(place)?;
    let deleted = delete_one(server, place, options)?;
    let resource = &place.resource;
    definitions::end::object_gone(server, resource)?;
    match deleted {
        Deleted::Gone(record) if !returns_object(resource) => {
            let arena = Arena::new();
            let object = Value::from_text(&arena, record.text()).map_err(Failure::internal)?;
            let uid = object.at(&["metadata", "uid"]).and_then(|uid| uid.as_str()).unwrap_or_default();
            Ok(Answer::json(200, &success(resource, &place.name, uid)))
        }
        Deleted::Gone(record) | Deleted::Marked(record) => {
            read::rendered(server, request, place, &record, 200)
        }
    }
}

/// The response to who deletes jobs and may not know that their pods stay, whether or not the jobs go.
fn warned(answer: Result<Answer, Failure>, resource: &Resource, options: &DeleteOptions) -> Answer {
    const PODS_STAY: &str = "child pods are preserved by default when jobs are deleted; set \
        propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning";

    let mut answer = answer.unwrap_or_else(|failure| Answer::failure(&failure));
    if resource.is("batch", "Job") && options.propagation().is_none() {
        answer.warnings.push(PODS_STAY.to_owned());
    }
    answer
}

/// `DELETE` of a collection: of what the selectors select of it.
pub(crate) fn delete_collection(
    server: &Server,
    request: &Request,
    place: &Place,
) -> Result<Answer, Failure> {
    media(request, place)?;
    let options = body::delete_options(request)?;
    Ok(warned(all_deleted(server, request, place, &options), &place.resource, &options))
}

fn all_deleted(
    server: &Server,
    request: &Request,
    place: &Place,
    options: &DeleteOptions,
) -> Result<Answer, Failure> {
    let selected = read::selected(server, request, place)?;
    let (metadata, mut deleted) = (selected.metadata(), Vec::new());
    for (key, record) in selected.objects {
        let place = Place { namespace: key.namespace.clone(), name: key.name.clone(), ..place.clone() };
        match delete_one(server, &place, options) {
            Ok(_) => deleted.push((key, record)),
            Err(failure) if failure.code == 404 => {}
            Err(failure) => return Err(failure),
        }
    }
    definitions::end::object_gone(server, &place.resource)?;
    read::listed(server, request, place, &deleted, metadata)
}

/// `POST` of an eviction: a deletion that a disruption budget may refuse.
pub(crate) fn evict(server: &Server, request: &Request, place: &Place) -> Result<Answer, Failure> {
    media(request, place)?;
    let write = WriteOptions::read("CreateOptions", &request.query, false, request.user_agent())?;
    let arena = Arena::new();
    let (eviction, _) = body::object(&arena, request, place)?;
    if eviction.at(&["metadata", "name"]).and_then(|name| name.as_str()) != Some(&place.name) {
        return Err(Failure::bad_request("name in URL does not match name in Eviction object"));
    }
    let options =
        eviction.get("deleteOptions").map(|options| options.to_json().to_string()).unwrap_or_default();
    let mut options = DeleteOptions::read(options.as_bytes(), &request.query)?;
    options.is_dry_run |= write.dry_run;
    let pod = Place { subresource: String::new(), ..place.clone() };
    disruption::admit(server, &pod, &options)?;
    delete_one(server, &pod, &options)?;
    let status =
        json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201});
    Ok(Answer::json(201, &status))
}

/// What a deletion made of an object.
pub(crate) enum Deleted {
    /// It is gone; this is how it was.
    Gone(Arc<Record>),
    /// It goes later.
    Marked(Arc<Record>),
}

/// Deletes an object, or marks it as deleted.
pub(crate) fn delete_one(
    server: &Server,
    place: &Place,
    options: &DeleteOptions,
) -> Result<Deleted, Failure> {
    for _ in 0..ATTEMPTS {
        let live = server.store.get(&place.resource.storage, &place.key());
        let live = live.ok_or_else(|| Failure::not_found(&place.resource, &place.name))?;
        if let Some(deleted) = attempt(server, place, options, &live)? {
            if is_definition(place) && !options.is_dry_run {
                definitions::end::clean_up(server, &place.name)?;
            }
            return Ok(deleted);
        }
    }
    Err(Failure::modified(&place.resource, &place.name))
}

/// One attempt; none if another write was faster.
fn attempt(
    server: &Server,
    place: &Place,
    options: &DeleteOptions,
    live: &Arc<Record>,
) -> Result<Option<Deleted>, Failure> {
    let arena = Arena::new();
    let object = Value::from_text(&arena, live.text()).map_err(Failure::internal)?;
    check_preconditions(place, options, object)?;
    // A namespace goes once it is empty. Until then another deletion changes nothing.
    let finalizers = object.at(&["spec", "finalizers"]).and_then(|list| list.as_list()).unwrap_or_default();
    let is_ending = object.at(&["metadata", "deletionTimestamp"]).is_some() && !finalizers.is_empty();
    if place.resource.is("", "Namespace") && is_ending {
        return Ok(Some(Deleted::Marked(live.clone())));
    }
    let marked = if is_definition(place) && object.at(&["metadata", "deletionTimestamp"]).is_none() {
        Some(definitions::end::marked(server, &arena, object))
    } else {
        marked(server, &arena, &place.resource, options, object)
    };
    let storage = &place.resource.storage;
    let Some(marked) = marked else {
        if place.resource.is("", "Pod") {
            return Ok(gone_gracefully(server, &arena, place, options, live, object));
        }
        if options.is_dry_run {
            return Ok(Some(Deleted::Gone(live.clone())));
        }
        let gone = server.store.remove(storage, &place.key(), live).ok();
        return Ok(gone.map(Deleted::Gone));
    };
    if marked.is_same(&object) {
        return Ok(Some(Deleted::Marked(live.clone())));
    }
    let draft = Draft { object: marked, owners: Owners::Kept(live), order: live.order };
    if options.is_dry_run {
        return Ok(Some(Deleted::Marked(Arc::new(Record::write(&draft, live.version)))));
    }
    Ok(server.store.put(storage, place.key(), Some(live), &draft).ok().map(Deleted::Marked))
}

fn is_definition(place: &Place) -> bool {
    place.resource.is(definitions::GROUP, definitions::KIND)
}

/// A pod that runs nowhere: it is marked for a deletion without grace, for all who watch it, and gone.
fn gone_gracefully<'a>(
    server: &Server,
    arena: &'a Arena,
    place: &Place,
    options: &DeleteOptions,
    live: &Arc<Record>,
    object: Value<'a>,
) -> Option<Deleted> {
    let (storage, key) = (&place.resource.storage, place.key());
    let metadata = |name| object.at(&["metadata", name]);
    let grace_period = metadata("deletionGracePeriodSeconds");
    let is_marked = metadata("deletionTimestamp").is_some();
    if is_marked && grace_period.is_none_or(|seconds| seconds == Value::Int(0)) {
        let gone =
            if options.is_dry_run { Ok(live.clone()) } else { server.store.remove(storage, &key, live) };
        return gone.ok().map(Deleted::Gone);
    }
    let now = Value::String(arena.copy_text(&types::second_time(server.now())));
    let mut object = object.with(arena, &["metadata", "deletionTimestamp"], Some(now)).with(
        arena,
        &["metadata", "deletionGracePeriodSeconds"],
        Some(Value::Int(0)),
    );
    if let (Some(Value::Int(generation)), false) = (metadata("generation"), is_marked) {
        object = object.with(arena, &["metadata", "generation"], Some(Value::Int(generation + 1)));
    }
    let draft = Draft { object, owners: Owners::Kept(live), order: live.order };
    if options.is_dry_run {
        return Some(Deleted::Gone(Arc::new(Record::write(&draft, live.version))));
    }
    let marked = server.store.put(storage, place.key(), Some(live), &draft).ok()?;
    server.store.remove(storage, &key, &marked).ok().map(Deleted::Gone)
}

fn check_preconditions(place: &Place, options: &DeleteOptions, object: Value<'_>) -> Result<(), Failure> {
    let Some(wanted) = &options.preconditions else { return Ok(()) };
    let found = |name| object.at(&["metadata", name]).and_then(|value| value.as_str()).unwrap_or_default();
    let is_namespace = place.resource.is("", "Namespace");
    let conflict = |why: String| {
        if is_namespace {
            return Failure::conflict(&place.resource, &place.name, &why);
        }
        let GroupVersionKind { group, kind, .. } = &place.resource.stored_as;
        let mut failure = Failure::conflict(&place.resource, &place.name, &why);
        failure.message = match group.as_str() {
            "" => format!("Operation cannot be fulfilled on {kind} {:?}: {why}", place.name),
            group => format!("Operation cannot be fulfilled on {kind}.{group} {:?}: {why}", place.name),
        };
        if let Some(details) = &mut failure.details {
            details["kind"] = kind.as_str().into();
            if let (true, Some(details)) = (group.is_empty(), details.as_object_mut()) {
                details.remove("group");
            }
        }
        failure
    };
    let uid = found("uid");
    if let Some(wanted) = wanted.uid.as_deref().filter(|wanted| *wanted != uid) {
        return Err(conflict(if is_namespace {
            format!("Precondition failed: UID in precondition: {wanted}, UID in object meta: {uid}")
        } else {
            format!(
                "the UID in the precondition ({wanted}) does not match the UID in record ({uid}). The object might have been deleted and then recreated"
            )
        }));
    }
    let version = found("resourceVersion");
    if let Some(wanted) = wanted.resource_version.as_deref().filter(|wanted| *wanted != version) {
        return Err(conflict(if is_namespace {
            format!(
                "Precondition failed: ResourceVersion in precondition: {wanted}, ResourceVersion in object meta: {version}"
            )
        } else {
            format!(
                "the ResourceVersion in the precondition ({wanted}) does not match the ResourceVersion in record ({version}). The object might have been modified"
            )
        }));
    }
    Ok(())
}

/// The object marked as deleted; none where nothing keeps it.
fn marked<'a>(
    server: &Server,
    arena: &'a Arena,
    resource: &Resource,
    options: &DeleteOptions,
    object: Value<'a>,
) -> Option<Value<'a>> {
    let metadata = |name| object.at(&["metadata", name]);
    let is_marked = metadata("deletionTimestamp").is_some();
    let grace = grace(resource, options, object);
    let finalizers = finalizers(arena, resource, options, object);
    let is_namespace = resource.is("", "Namespace");
    let holds = is_namespace
        && object
            .at(&["spec", "finalizers"])
            .is_some_and(|list| list.as_list().is_some_and(|list| !list.is_empty()));
    if finalizers.is_empty() && grace == 0 && !holds {
        return None;
    }
    let now = server.now();
    let has_changed =
        metadata("finalizers").and_then(|list| list.as_list()).unwrap_or_default() != finalizers;
    let mut object = object;
    if has_changed {
        let list = (!finalizers.is_empty()).then_some(Value::List(finalizers));
        object = object.with(arena, &["metadata", "finalizers"], list);
    }
    if is_marked && (grace > 0 || metadata("deletionGracePeriodSeconds") == Some(Value::Int(grace))) {
        return Some(object);
    }
    let at = now.checked_add(jiff::SignedDuration::from_secs(grace)).unwrap_or(now);
    if !is_marked {
        let at = Value::String(arena.copy_text(&types::second_time(at)));
        object = object.with(arena, &["metadata", "deletionTimestamp"], Some(at));
        if let (Some(Value::Int(generation)), false) = (metadata("generation"), is_namespace) {
            object = object.with(arena, &["metadata", "generation"], Some(Value::Int(generation + 1)));
        }
    }
    if is_namespace {
        object = object.with(arena, &["status", "phase"], Some(Value::String("Terminating")));
        return Some(object);
    }
    Some(object.with(arena, &["metadata", "deletionGracePeriodSeconds"], Some(Value::Int(grace))))
}

/// For how many seconds an object is left to its node: only pods that run somewhere are.
fn grace(resource: &Resource, options: &DeleteOptions, object: Value<'_>) -> i64 {
    if !resource.is("", "Pod") {
        return 0;
    }
    let is_placed = object.at(&["spec", "nodeName"]).is_some();
    let phase = object.at(&["status", "phase"]).and_then(|phase| phase.as_str()).unwrap_or_default();
    if !is_placed || matches!(phase, "Failed" | "Succeeded") {
        return 0;
    }
    let own = match object.at(&["spec", "terminationGracePeriodSeconds"]) {
        Some(Value::Int(seconds)) => seconds,
        _ => 30,
    };
    match options.grace_period_seconds.unwrap_or(own) {
        negative if negative < 0 => 1,
        seconds => seconds,
    }
}

/// The finalizers with those that the propagation policy asks for.
fn finalizers<'a>(
    arena: &'a Arena,
    resource: &Resource,
    options: &DeleteOptions,
    object: Value<'a>,
) -> &'a [Value<'a>] {
    let own = object.at(&["metadata", "finalizers"]).and_then(|list| list.as_list()).unwrap_or_default();
    let has = |name: &str| own.iter().any(|own| own.as_str() == Some(name));
    let propagation = options.propagation().or_else(|| {
        if has(ORPHAN) {
            Some(Propagation::Orphan)
        } else if has(FOREGROUND) {
            Some(Propagation::Foreground)
        } else {
            orphans_by_default(resource).then_some(Propagation::Orphan)
        }
    });
    let wanted = match propagation {
        Some(Propagation::Orphan) => Some(ORPHAN),
        Some(Propagation::Foreground) => Some(FOREGROUND),
        _ => None,
    };
    if wanted.is_some_and(has) && !(has(ORPHAN) && has(FOREGROUND))
        || wanted.is_none() && !has(ORPHAN) && !has(FOREGROUND)
    {
        return own;
    }
    let others = own.iter().copied().filter(|own| !matches!(own.as_str(), Some(ORPHAN | FOREGROUND)));
    arena.list(others.chain(wanted.map(Value::String)))
}

/// Kinds whose dependents stay unless a deletion says otherwise.
fn orphans_by_default(resource: &Resource) -> bool {
    resource.is("batch", "Job") || resource.is("", "ReplicationController")
}

/// Kinds whose deletion returns the object rather than a status.
fn returns_object(resource: &Resource) -> bool {
    const CORE: [&str; 8] = [
        "Namespace",
        "PersistentVolume",
        "PersistentVolumeClaim",
        "Pod",
        "PodTemplate",
        "ResourceQuota",
        "Service",
        "ServiceAccount",
    ];
    const STORAGE: [&str; 5] =
        ["CSIDriver", "CSINode", "StorageClass", "VolumeAttachment", "VolumeAttributesClass"];
    match resource.gvk.group.as_str() {
        _ if resource.is_custom() => false,
        "" => CORE.contains(&resource.gvk.kind.as_str()),
        "storage.k8s.io" => STORAGE.contains(&resource.gvk.kind.as_str()),
        "resource.k8s.io" => true,
        _ => false,
    }
}
