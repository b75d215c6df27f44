//! Deletions: at once, after the finalizers, or after the grace period. After `Store.Delete` of apiserver's
//! `registry/generic/registry/store.go`, and `registry/rest/delete.go`.

use std::sync::Arc;

use baton_merge::{Arena, schema::kinds::GroupVersionKind, value::Value};
use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use super::body;
use crate::{
    definitions, disruption,
    http::{Request, Response},
    kinds::{FOREGROUND, ORPHAN},
    namespaces,
    options::{DeleteOptions, Propagation, WriteOptions},
    priorities, read,
    registry::Resource,
    server::{RequestTarget, Server, media},
    status::{Failure, success},
    store::Record,
    types,
};

const ATTEMPTS: usize = 100;

/// `DELETE` of an object.
pub(crate) fn delete(
    server: &Server,
    request: &Request,
    target: &RequestTarget,
) -> Result<Response, Failure> {
    media(request, target)?;
    let options = body::delete_options(request)?;
    Ok(warned(deleted(server, request, target, &options), &target.resource, &options))
}

fn deleted(
    server: &Server,
    request: &Request,
    target: &RequestTarget,
    options: &DeleteOptions,
) -> Result<Response, Failure> {
    namespaces::check_deletable(target)?;
    priorities::check_deletable(target)?;
    let deleted = delete_one(server, target, options)?;
    let resource = &target.resource;
    definitions::deletion::object_removed(server, resource)?;
    match deleted {
        Deleted::Gone(record) if !returns_object(resource) => {
            let arena = Arena::new();
            let object = Value::from_text(&arena, record.text()).map_err(Failure::internal)?;
            let uid = object.at(&["metadata", "uid"]).and_then(|uid| uid.as_str()).unwrap_or_default();
            Ok(Response::json(200, &success(resource, &target.name, uid)))
        }
        Deleted::Gone(record) => read::rendered(server, request, target, &record, 200),
        Deleted::Marked(record) => {
            let code = if options.orphan_dependents == Some(false) { 202 } else { 200 };
            read::rendered(server, request, target, &record, code)
        }
    }
}

/// Adds the warning about the pods of jobs, which stay by default, whether or not the deletion succeeds.
fn warned(response: Result<Response, Failure>, resource: &Resource, options: &DeleteOptions) -> Response {
    const PODS_STAY: &str = "child pods are preserved by default when jobs are deleted; set \
        propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning";

    let mut response = response.unwrap_or_else(|failure| Response::failure(&failure));
    if resource.is("batch", "Job") && options.propagation().is_none() {
        response.warnings.push(PODS_STAY.to_owned());
    }
    response
}

/// `DELETE` of a collection, with selectors.
pub(crate) fn delete_collection(
    server: &Server,
    request: &Request,
    target: &RequestTarget,
) -> Result<Response, Failure> {
    media(request, target)?;
    let options = body::delete_options(request)?;
    Ok(warned(all_deleted(server, request, target, &options), &target.resource, &options))
}

fn all_deleted(
    server: &Server,
    request: &Request,
    target: &RequestTarget,
    options: &DeleteOptions,
) -> Result<Response, Failure> {
    let selected = read::selected(server, request, target)?;
    let (metadata, mut deleted) = (selected.metadata(), Vec::new());
    for (key, record) in selected.objects {
        let target =
            RequestTarget { namespace: key.namespace.clone(), name: key.name.clone(), ..target.clone() };
        match delete_one(server, &target, options) {
            Ok(_) => deleted.push((key, record)),
            Err(failure) if failure.code == 404 => {}
            Err(failure) => return Err(failure),
        }
    }
    definitions::deletion::object_removed(server, &target.resource)?;
    read::listed(server, request, target, &deleted, metadata)
}

/// `POST` of an eviction, a deletion that a disruption budget may refuse.
pub(crate) fn evict(server: &Server, request: &Request, target: &RequestTarget) -> Result<Response, Failure> {
    media(request, target)?;
    let write = WriteOptions::read("CreateOptions", &request.query, false, request.user_agent())?;
    let arena = Arena::new();
    let (eviction, _) = body::object(&arena, request, target)?;
    if eviction.at(&["metadata", "name"]).and_then(|name| name.as_str()) != Some(&target.name) {
        return Err(Failure::bad_request("name in URL does not match name in Eviction object"));
    }
    let options =
        eviction.get("deleteOptions").map(|options| options.to_json().to_string()).unwrap_or_default();
    let mut options = DeleteOptions::read(options.as_bytes(), &request.query)?;
    options.is_dry_run |= write.dry_run;
    let pod = RequestTarget { subresource: String::new(), ..target.clone() };
    disruption::admit(server, &pod, &options)?;
    delete_one(server, &pod, &options)?;
    let status =
        json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201});
    Ok(Response::json(201, &status))
}

/// The outcome of a deletion.
pub(crate) enum Deleted {
    /// The object is removed; this was its last state.
    Gone(Arc<Record>),
    /// The object is marked, and removed later.
    Marked(Arc<Record>),
}

/// Deletes an object, or marks it as deleted.
pub(crate) fn delete_one(
    server: &Server,
    target: &RequestTarget,
    options: &DeleteOptions,
) -> Result<Deleted, Failure> {
    for _ in 0..ATTEMPTS {
        let live = server.store.get(&target.resource.storage, &target.key());
        let live = live.ok_or_else(|| Failure::not_found(&target.resource, &target.name))?;
        target.resource.check_convertible(&live)?;
        if let Some(deleted) = attempt(server, target, options, &live)? {
            if is_definition(target) && !options.is_dry_run {
                definitions::deletion::clean_up(server, &target.name)?;
            }
            return Ok(deleted);
        }
    }
    Err(Failure::modified(&target.resource, &target.name))
}

/// One attempt; none after a conflict.
fn attempt(
    server: &Server,
    target: &RequestTarget,
    options: &DeleteOptions,
    live: &Arc<Record>,
) -> Result<Option<Deleted>, Failure> {
    let arena = Arena::new();
    let object = Value::from_text(&arena, live.text()).map_err(Failure::internal)?;
    check_preconditions(target, options, object)?;
    let step = if is_definition(target) && !is_marked(object) {
        Step::Mark(definitions::deletion::mark_deleted(server, &arena, object))
    } else {
        step(server.now(), &arena, &target.resource, options, object)
    };
    let (storage, key) = (&target.resource.storage, target.key());
    let stored_version = &target.resource.storage_version;
    let store = |object| {
        let marked = live.replaced(object, stored_version);
        if options.is_dry_run {
            return Some(Arc::new(marked));
        }
        server.store.put(storage, key.clone(), Some(live), &marked).ok()
    };
    let remove = |record: Arc<Record>| {
        if options.is_dry_run { Some(record) } else { server.store.remove(storage, &key, &record).ok() }
    };
    Ok(match step {
        Step::Keep => Some(Deleted::Marked(live.clone())),
        Step::Mark(marked) if marked == object && live.stored_version == *stored_version => {
            Some(Deleted::Marked(live.clone()))
        }
        Step::Mark(marked) => store(marked).map(Deleted::Marked),
        Step::MarkAndRemove(marked) => store(marked).and_then(remove).map(Deleted::Gone),
        Step::Remove => remove(live.clone()).map(Deleted::Gone),
    })
}

fn is_definition(target: &RequestTarget) -> bool {
    target.resource.is(definitions::GROUP, definitions::KIND)
}

fn check_preconditions(
    target: &RequestTarget,
    options: &DeleteOptions,
    object: Value<'_>,
) -> Result<(), Failure> {
    let Some(wanted) = &options.preconditions else { return Ok(()) };
    let found = |name| object.at(&["metadata", name]).and_then(|value| value.as_str()).unwrap_or_default();
    let is_namespace = target.resource.is("", "Namespace");
    let conflict = |why: String| {
        if is_namespace {
            return Failure::conflict(&target.resource, &target.name, &why);
        }
        let GroupVersionKind { group, kind, .. } = &target.resource.stored_as;
        let mut failure = Failure::conflict(&target.resource, &target.name, &why);
        failure.message = match group.as_str() {
            "" => format!("Operation cannot be fulfilled on {kind} {:?}: {why}", target.name),
            group => format!("Operation cannot be fulfilled on {kind}.{group} {:?}: {why}", target.name),
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

/// The effect of a deletion.
enum Step<'a> {
    /// None: the object is already being deleted, within this grace period.
    Keep,
    /// Stores the object as deleted. It is removed after its grace period and its finalizers.
    Mark(Value<'a>),
    /// Deletes an unscheduled pod: stores grace period 0 first, so that watches see it.
    MarkAndRemove(Value<'a>),
    Remove,
}

fn step<'a>(
    now: Timestamp,
    arena: &'a Arena,
    resource: &Resource,
    options: &DeleteOptions,
    object: Value<'a>,
) -> Step<'a> {
    if resource.is("", "Namespace") {
        if !is_marked(object) {
            let object = with_finalizers(arena, resource, options, object);
            let object = object.with(arena, &["status", "phase"], Some(Value::String("Terminating")));
            return Step::Mark(object.with(
                arena,
                &["metadata", "deletionTimestamp"],
                Some(time(arena, now)),
            ));
        }
        if object
            .at(&["spec", "finalizers"])
            .and_then(|list| list.as_list())
            .is_some_and(|list| !list.is_empty())
        {
            return Step::Keep;
        }
    }
    let grace = if resource.is("", "Pod") { grace(now, options, object) } else { Grace::None };
    let Grace::Until(at, seconds) = grace else {
        if matches!(grace, Grace::Pending) {
            return Step::Keep;
        }
        let object = with_finalizers(arena, resource, options, object);
        if !has_finalizers(object) {
            return Step::Remove;
        }
        let is_later = deletion_time(object).is_none_or(|at| at > now);
        let at = is_later.then_some(now);
        return Step::Mark(marked(arena, object, at, 0));
    };
    let object = marked(arena, with_finalizers(arena, resource, options, object), Some(at), seconds);
    if seconds > 0 || has_finalizers(object) { Step::Mark(object) } else { Step::MarkAndRemove(object) }
}

fn is_marked(object: Value<'_>) -> bool {
    object.at(&["metadata", "deletionTimestamp"]).is_some()
}

fn deletion_time(object: Value<'_>) -> Option<Timestamp> {
    object.at(&["metadata", "deletionTimestamp"])?.as_str()?.parse().ok()
}

fn has_finalizers(object: Value<'_>) -> bool {
    let finalizers = object.at(&["metadata", "finalizers"]).and_then(|list| list.as_list());
    finalizers.is_some_and(|list| !list.is_empty())
}

fn time(arena: &Arena, at: Timestamp) -> Value<'_> {
    Value::String(arena.copy_text(&types::second_time(at)))
}

/// Sets the grace period and, if given, the time of the deletion.
fn marked<'a>(arena: &'a Arena, object: Value<'a>, at: Option<Timestamp>, grace: i64) -> Value<'a> {
    let mut object = object;
    if let (Some(Value::Int(generation)), false) = (object.at(&["metadata", "generation"]), is_marked(object))
    {
        object = object.with(arena, &["metadata", "generation"], Some(Value::Int(generation + 1)));
    }
    if let Some(at) = at {
        object = object.with(arena, &["metadata", "deletionTimestamp"], Some(time(arena, at)));
    }
    object.with(arena, &["metadata", "deletionGracePeriodSeconds"], Some(Value::Int(grace)))
}

/// The grace period of a pod.
#[derive(Debug, PartialEq, Eq)]
enum Grace {
    /// None.
    None,
    /// That of an earlier deletion.
    Pending,
    /// The time of the deletion, with the period in seconds.
    Until(Timestamp, i64),
}

/// The grace period of a pod, which a second deletion can only shorten.
fn grace(now: Timestamp, options: &DeleteOptions, pod: Value<'_>) -> Grace {
    let asked = options.grace_period_seconds.map(|seconds| if seconds < 0 { 1 } else { seconds });
    let after =
        |start: Timestamp, seconds| start.checked_add(SignedDuration::from_secs(seconds)).unwrap_or(now);
    if let Some(end) = deletion_time(pod) {
        let left = match pod.at(&["metadata", "deletionGracePeriodSeconds"]) {
            Some(Value::Int(seconds)) if seconds > 0 => seconds,
            _ => return Grace::None,
        };
        let Some(asked) = asked.filter(|asked| *asked < left) else { return Grace::Pending };
        let end = after(end, asked - left);
        // An elapsed period still leaves the pod to its node, unless it is zero.
        return if end < now { Grace::Until(now, asked.min(1)) } else { Grace::Until(end, asked) };
    }
    let phase = pod.at(&["status", "phase"]).and_then(|phase| phase.as_str()).unwrap_or_default();
    let own = match pod.at(&["spec", "terminationGracePeriodSeconds"]) {
        Some(Value::Int(seconds)) if seconds < 0 => 1,
        Some(Value::Int(seconds)) => seconds,
        _ => 0,
    };
    let runs = pod.at(&["spec", "nodeName"]).is_some() && !matches!(phase, "Failed" | "Succeeded");
    let seconds = if runs { asked.unwrap_or(own) } else { 0 };
    Grace::Until(after(now, seconds), seconds)
}

/// Sets the finalizers of the propagation policy.
fn with_finalizers<'a>(
    arena: &'a Arena,
    resource: &Resource,
    options: &DeleteOptions,
    object: Value<'a>,
) -> Value<'a> {
    let own = object.at(&["metadata", "finalizers"]).and_then(|list| list.as_list()).unwrap_or_default();
    let finalizers = finalizers(arena, resource, options, own);
    if finalizers == own {
        return object;
    }
    let list = (!finalizers.is_empty()).then_some(Value::List(finalizers));
    object.with(arena, &["metadata", "finalizers"], list)
}

/// The finalizers, with those of the propagation policy.
fn finalizers<'a>(
    arena: &'a Arena,
    resource: &Resource,
    options: &DeleteOptions,
    own: &'a [Value<'a>],
) -> &'a [Value<'a>] {
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
        // The garbage collector ignores Events.
        _ if resource.gvk.kind == "Event" && !resource.is_custom() => None,
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

/// Kinds whose dependents are orphaned by default.
fn orphans_by_default(resource: &Resource) -> bool {
    resource.is("batch", "Job") || resource.is("", "ReplicationController")
}

/// Kinds whose deletion returns the object instead of a status.
fn returns_object(resource: &Resource) -> bool {
    #[rustfmt::skip]
    const CORE: [&str; 8] = [
        "Namespace", "PersistentVolume", "PersistentVolumeClaim", "Pod", "PodTemplate", "ResourceQuota",
        "Service", "ServiceAccount",
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Query;

    #[test]
    fn a_second_deletion_only_shortens_the_grace_period_from_its_start() {
        let now: Timestamp = "2026-01-01T00:00:10Z".parse().unwrap();
        // Deleted ten seconds ago, with 30 seconds.
        let pod =
            r#"{"metadata":{"deletionTimestamp":"2026-01-01T00:00:30Z","deletionGracePeriodSeconds":30}}"#;
        let arena = Arena::new();
        let pod = Value::from_text(&arena, pod).unwrap();
        let asked = |seconds: Option<i64>| {
            let options = json!({"gracePeriodSeconds": seconds}).to_string();
            grace(now, &DeleteOptions::read(options.as_bytes(), &Query::default()).unwrap(), pod)
        };
        let until = |time: &str, seconds| Grace::Until(time.parse().unwrap(), seconds);
        assert_eq!(asked(None), Grace::Pending);
        assert_eq!(asked(Some(30)), Grace::Pending);
        assert_eq!(asked(Some(20)), until("2026-01-01T00:00:20Z", 20));
        // An elapsed period still leaves the pod to its node.
        assert_eq!(asked(Some(5)), until("2026-01-01T00:00:10Z", 1));
        assert_eq!(asked(Some(-1)), until("2026-01-01T00:00:10Z", 1));
        assert_eq!(asked(Some(0)), until("2026-01-01T00:00:10Z", 0));
    }
}
