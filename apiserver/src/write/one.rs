//! One write of one object: merge, admission, validation and storage.

use std::sync::Arc;

use baton_merge::{
    Arena,
    predict::Conflicts,
    server::{Convert, Hooks, Live, ManagerId, Order, Refusal, Spelling, Stored, Write},
    value::Value,
};

use super::{check_target, in_go::in_go};
use crate::{
    actors, classes, definitions,
    field::{FieldError, FieldPath},
    kinds, limits, metadata, objects,
    options::{self, WriteOptions},
    pod_security, priorities,
    registry::Resource,
    scale,
    server::{RequestTarget, Server},
    service_allocation,
    status::Failure,
    store::{Draft, Owners, Record},
};

/// The content of a write.
pub(crate) enum Input<'a> {
    /// Fields to apply.
    Apply(Value<'a>),
    /// The whole object after the write.
    Update(Value<'a>),
}

/// Makes the content of a write from the live object.
pub(crate) type MakeInput<'i, 's> = &'i dyn Fn(Option<Value<'s>>) -> Result<Input<'s>, Failure>;

/// The result of a write.
pub(crate) struct Outcome {
    pub(crate) record: Arc<Record>,
    pub(crate) created: bool,
    pub(crate) warnings: Vec<String>,
}

/// Whether the object must exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Existence {
    /// It must not exist.
    New,
    /// It must exist.
    There,
    /// Either.
    Any,
}

pub(crate) struct OneWrite<'s> {
    pub(crate) server: &'s Server,
    pub(crate) arena: &'s Arena,
    pub(crate) target: &'s RequestTarget,
    pub(crate) options: &'s WriteOptions,
    pub(crate) existence: Existence,
}

/// The most attempts after conflicts, before the client gets an error.
const ATTEMPTS: usize = 100;

impl<'s> OneWrite<'s> {
    /// Runs the write.
    pub(crate) fn run(&self, make_input: MakeInput<'_, 's>) -> Result<Outcome, Failure> {
        let (resource, name) = (&self.target.resource, &self.target.name);
        // The next Service sees the values that this one gets.
        let _one_by_one = resource.is("", "Service").then(|| self.server.allocates());
        for _ in 0..ATTEMPTS {
            let live = self.server.store.get(&resource.storage, &self.target.key());
            match (&live, self.existence) {
                // An invalid object is reported first.
                (Some(live), Existence::New) => {
                    self.attempt(None, make_input)?;
                    return Err(self.already_exists(live, &make_input(None)?));
                }
                (None, Existence::There) => return Err(Failure::not_found(resource, name)),
                (Some(live), _) => resource.check_convertible(live)?,
                (None, _) => {}
            }
            if let Some(outcome) = self.attempt(live.as_ref(), make_input)? {
                return Ok(outcome);
            }
        }
        Err(Failure::modified(resource, name))
    }

    /// The error of a creation whose object exists.
    fn already_exists(&self, live: &Record, input: &Input<'_>) -> Failure {
        let mut failure = Failure::already_exists(&self.target.resource, &self.target.name);
        let (Input::Apply(object) | Input::Update(object)) = input;
        if object.at(&["metadata", "generateName"]).is_some_and(|base| base.as_str() != Some("")) {
            failure.message += ", the server was not able to generate a unique name for the object";
            failure.retry_after = Some(1);
        }
        let arena = Arena::new();
        let live = Value::from_text(&arena, live.text()).ok();
        if live.and_then(|live| live.at(&["metadata", "deletionTimestamp"])).is_some() {
            failure.message.insert_str(0, "object is being deleted: ");
        }
        failure
    }

    /// One attempt; none after a conflict.
    fn attempt(
        &self,
        record: Option<&Arc<Record>>,
        make_input: MakeInput<'_, 's>,
    ) -> Result<Option<Outcome>, Failure> {
        let (arena, resource) = (self.arena, &self.target.resource);
        let old = record.map(|record| resource.value(arena, record)).transpose();
        let old = old.map_err(Failure::internal)?;
        let live = old.map(|old| resource.shown(arena, old));
        let wanted = make_input(live)?;
        // The content in the stored version. The owners are recorded in the version of the request.
        let (wanted, brought) = self.converted(wanted);
        let (mut failure, mut finished) = (None, None);
        let mut finish = |object| match self.finished(old, &wanted, brought.unwrap_or(object)) {
            Ok(object) => {
                finished = Some(object);
                resource.shown(arena, object)
            }
            Err(error) => {
                failure = Some(error);
                object
            }
        };
        let convert: Convert<'_, '_> = &|object, version| resource.in_version(arena, object, version);
        let hooks = Hooks { finish: &mut finish, convert: (!resource.is_custom()).then_some(convert) };
        let merged = resource.merged().ok_or_else(|| Failure::internal("the kind can't be merged"))?;
        let spelling = record.map_or(Spelling::UNKNOWN, |record| self.spelling(record));
        let before = live.map(|object| Live { object, spelling });
        let write = Write {
            manager: &self.options.field_manager,
            subresource: &self.target.subresource,
            now: self.server.now(),
            release: self.server.release,
        };
        let stored = match &wanted {
            Input::Apply(patch) => merged.apply_with(arena, before, *patch, write, self.options.force, hooks),
            Input::Update(object) => merged.update_with(arena, before, *object, write, hooks),
        };
        if let Some(failure) = failure {
            return Err(failure);
        }
        let (Input::Apply(intended) | Input::Update(intended)) = wanted;
        let mut stored = stored.map_err(|refusal| self.refused(intended, live, refusal))?;
        // Only an apply that creates has to name the object.
        let has_name = old.is_none() || intended.at(&["metadata", "name"]).is_some();
        if has_name && matches!(wanted, Input::Apply(_)) {
            check_target(self.target, intended)?;
        }
        self.check_preconditions(old, &wanted)?;
        if let Some(object) = finished.filter(|_| resource.is_converted()) {
            // The request's version may lack fields of the stored one.
            stored.changed |= old.is_none_or(|old| !same_but_for_owners(arena, old, object));
            stored.object = object;
        }
        let mut findings = objects::validate(resource, &self.target.subresource, stored.object, old);
        if !findings.errors.is_empty() {
            let (group, kind) = (&resource.stored_as.group, &resource.stored_as.kind);
            return Err(Failure::invalid(group, kind, &self.target.name, &findings.errors));
        }
        findings.warnings.extend(pod_security::admit(self.server, self.target, stored.object, old)?);
        if let Some(old) = old {
            classes::check_growth(self.server, self.target, stored.object, old)?;
        } else {
            self.server.actors.report_missing(resource);
        }
        // Held until the object is stored.
        let _admitted = actors::admit(self.server, self.target, stored.object, old)?;
        stored.object = objects::without_nulls(arena, resource, stored.object);
        if let Some(record) = record.filter(|_| resource.may_differ_from_stored() && !stored.changed) {
            let raw = resource.raw(arena, record).map_err(Failure::internal)?;
            stored.changed = record.stored_version != resource.storage_version
                || !same_but_for_owners(arena, raw, stored.object);
        }
        if resource.is_converted() || resource.is("batch", "Job") {
            stored.object = kinds::default(arena, &resource.stored_as, stored.object);
        }
        let stored = self.store(record, &stored, matches!(wanted, Input::Apply(_)))?;
        Ok(stored.map(|outcome| Outcome { warnings: findings.warnings, ..outcome }))
    }

    fn store(
        &self,
        live: Option<&Arc<Record>>,
        stored: &Stored<'_>,
        is_apply: bool,
    ) -> Result<Option<Outcome>, Failure> {
        if let (Some(live), false) = (live, stored.changed) {
            return Ok(Some(Outcome { record: live.clone(), created: false, warnings: Vec::new() }));
        }
        let draft = Draft {
            object: stored.object,
            owners: Owners::Written(stored),
            order: stored.order,
            stored_version: &self.target.resource.storage_version,
        };
        let created = live.is_none();
        let record = Record::write(&draft, live.map_or(0, |live| live.version));
        let outcome = |record| Ok(Some(Outcome { record, created, warnings: Vec::new() }));
        if self.options.dry_run {
            return outcome(Arc::new(record));
        }
        let (storage, key) = (&self.target.resource.storage, self.target.key());
        if let (Some(live), true) = (live, metadata::is_ready_to_remove(&self.target.resource, stored.object))
        {
            if self.server.store.remove(storage, &key, live).is_err() {
                return Ok(None);
            }
            definitions::deletion::object_removed(self.server, &self.target.resource)?;
            // Only the client that removed the last finalizer sees the object without it.
            return outcome(Arc::new(record));
        }
        let record = self.fitting(record, &draft, is_apply)?;
        let Ok(record) = self.server.store.put(storage, key, live, &record) else { return Ok(None) };
        if self.target.resource.is(definitions::GROUP, definitions::KIND)
            && self.target.subresource.is_empty()
        {
            definitions::written(self.server, self.target)?;
        }
        outcome(record)
    }

    /// A record within etcd's limits: without owners if these are too large, unless the write is an apply.
    fn fitting(&self, record: Record, draft: &Draft<'_, '_>, is_apply: bool) -> Result<Record, Failure> {
        match limits::check(self.target, &record) {
            Err(_) if !is_apply => {
                let bare = Record::write(&Draft { owners: Owners::Text(""), ..*draft }, record.version);
                limits::check(self.target, &bare).map(|()| bare)
            }
            checked => checked.map(|()| record),
        }
    }

    /// The content as the server has it in memory: an update is converted to the stored version and back. Also the stored
    /// object, then.
    fn converted(&self, wanted: Input<'s>) -> (Input<'s>, Option<Value<'s>>) {
        let (arena, resource) = (self.arena, &self.target.resource);
        match wanted {
            Input::Update(object) if resource.is_converted() => {
                let brought = resource.stored(arena, object);
                let shown = resource.shown(arena, brought);
                (Input::Update(shown), Some(brought.with(arena, &["metadata", "managedFields"], None)))
            }
            wanted => (wanted, None),
        }
    }

    /// The object after the merge, prepared for the store.
    fn finished(
        &self,
        old: Option<Value<'s>>,
        input: &Input<'s>,
        object: Value<'s>,
    ) -> Result<Value<'s>, Failure> {
        let Self { server, arena, target, .. } = *self;
        let resource = &target.resource;
        let object = match input {
            _ if target.subresource == "scale" => objects::with_defaults(arena, resource, object),
            // An update was decoded before.
            Input::Update(_) => server.without_empty_lists(arena, resource, object),
            Input::Apply(_) => match old {
                // Keeps fields that the request's version lacks.
                Some(old)
                    if resource.is_converted()
                        && same_but_for_owners(arena, resource.shown(arena, old), object) =>
                {
                    old.with(arena, &["metadata", "managedFields"], None)
                }
                _ => resource.stored(arena, server.completed(arena, resource, object)?.object),
            },
        };
        let object = match old {
            Some(old) => metadata::for_update(arena, object, old),
            None => metadata::for_create(arena, object, target, server.now()),
        };
        let object = match old {
            None if resource.is("", "Pod") => priorities::with_priority(server, arena, target, object)?,
            None => classes::with_default_class(server, arena, resource, object),
            Some(_) => object,
        };
        if resource.is("scheduling.k8s.io", "PriorityClass") {
            priorities::check_default(server, target, object)?;
        }
        objects::check_depth(object)?;
        let object = objects::prepare(arena, resource, &target.subresource, object, old, server.now());
        if resource.is("", "Service") && target.subresource.is_empty() {
            return service_allocation::allocated(server, arena, target, object, self.options.dry_run);
        }
        Ok(object)
    }

    /// Preconditions in the object of the request.
    fn check_preconditions(&self, old: Option<Value<'_>>, input: &Input<'_>) -> Result<(), Failure> {
        let (Input::Apply(object) | Input::Update(object)) = input;
        let (resource, name) = (&self.target.resource, &self.target.name);
        let text = |object: Value<'_>, field| {
            object
                .at(&["metadata", field])
                .and_then(|value| value.as_str().map(str::to_owned))
                .unwrap_or_default()
        };
        let number = options::version_number(&text(*object, "resourceVersion"));
        let is_apply = matches!(input, Input::Apply(_));
        let Some(old) = old else {
            if self.existence == Existence::New {
                return match number {
                    Ok(number) if number > 0 => Err(Failure::without_reason(
                        "resourceVersion should not be set on objects to be created",
                    )),
                    _ => Ok(()),
                };
            }
            let uid = text(*object, "uid");
            if !uid.is_empty() && is_apply {
                let why = format!(
                    "uid mismatch: the provided object specified uid {uid}, and no existing object was found"
                );
                return Err(Failure::conflict(resource, name, &why));
            }
            let number = number.map_err(Failure::without_reason);
            // The object of that version is gone, so a new one is created.
            return number.map(drop);
        };
        let (wanted, found) = (text(*object, "uid"), text(old, "uid"));
        if !wanted.is_empty() && wanted != found {
            return Err(Failure::conflict(
                resource,
                name,
                &unmet(self.target, self.options.dry_run, "UID", &wanted, &found),
            ));
        }
        let number = number.map_err(Failure::without_reason)?;
        if number > 0 {
            let is_current = options::version_number(&text(old, "resourceVersion")) == Ok(number);
            return if is_current { Ok(()) } else { Err(Failure::modified(resource, name)) };
        }
        // An apply without a version is computed from the live one; `null` counts as a version.
        let metadata = object.get("metadata").and_then(|metadata| metadata.as_map()).unwrap_or_default();
        let has_version = metadata.members().iter().any(|(name, _)| *name == "resourceVersion");
        if needs_version(resource) && (has_version || !is_apply) {
            let path = FieldPath::new("metadata").child("resourceVersion");
            let error = FieldError::invalid(&path, Value::Int(0), "must be specified for an update");
            return Err(Failure::invalid(&resource.gvk.group, &resource.plural, name, &[error]));
        }
        Ok(())
    }

    /// The spelling of the live field sets, needed only by a write that would change it.
    fn spelling(&self, record: &Record) -> Spelling {
        let written = if self.target.resource.is_custom() || self.target.subresource == "scale" {
            Order::Names
        } else {
            Order::Set
        };
        if record.order == written { Spelling::UNKNOWN } else { record.spelling() }
    }

    /// The error of the merge core, with the server's message.
    fn refused(&self, intent: Value<'_>, live: Option<Value<'_>>, refusal: Refusal<'_>) -> Failure {
        match refusal {
            Refusal::Conflicts(conflicts) => {
                let conflicts = Conflicts::from(conflicts);
                let cause = |manager: &ManagerId<'_>| format!("conflict with {manager}");
                let causes = conflicts.iter().map(|of| (of.path.to_string(), cause(&of.manager)));
                Failure::apply_conflict(conflicts.to_string(), causes)
            }
            Refusal::BadRequest(message) => match scale::paths(&self.target.resource) {
                Some(paths) if message.starts_with("spec.replicas") => Failure::bad_request(paths.empty()),
                _ => Failure::bad_request(message),
            },
            Refusal::NotFound(_) => Failure::no_such_path(),
            Refusal::Invalid(message) => {
                let (object, misfit) =
                    message.split_once(" doesn't fit its schema: ").unwrap_or(("", &message));
                // The owners before the first apply are computed as for a creation.
                let (what, of, end) = match object {
                    "the live object" => ("create typed live", live, ""),
                    "the new object" => {
                        ("create manager for existing fields: failed to convert new", live, " to smd typed")
                    }
                    _ => ("create typed patch", Some(intent), ""),
                };
                let name =
                    |field| of.and_then(|of| of.at(&["metadata", field])?.as_str()).unwrap_or_default();
                let gvk = match self.target.subresource.as_str() {
                    "scale" => &scale::kind(),
                    _ => &self.target.resource.gvk,
                };
                Failure::without_reason(format!(
                    "failed to {what} object ({}/{}; {gvk}){end}: {}",
                    name("namespace"),
                    name("name"),
                    in_go(misfit)
                ))
            }
            Refusal::Internal(message) => {
                // The server's message has no version here, and for other errors depends on the step of the merge.
                let reason = message.strip_prefix("can't convert to the version ");
                let reason = reason.and_then(|of| of.split_once(": ")).map(|(_, reason)| reason);
                let of_custom = reason.filter(|reason| reason.starts_with("request to convert CR"));
                Failure::without_reason(of_custom.unwrap_or(&message))
            }
        }
    }
}

/// Whether an object is unchanged, apart from its `managedFields`.
fn same_but_for_owners<'a>(arena: &'a Arena, old: Value<'a>, new: Value<'a>) -> bool {
    old.with(arena, &["metadata", "managedFields"], None) == new
}

/// Whether an update needs a `resourceVersion`.
fn needs_version(resource: &Resource) -> bool {
    const KINDS: [(&str, &str); 12] = [
        ("admissionregistration.k8s.io", "MutatingAdmissionPolicy"),
        ("admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding"),
        ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"),
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"),
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"),
        ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"),
        ("apiextensions.k8s.io", "CustomResourceDefinition"),
        ("apiregistration.k8s.io", "APIService"),
        ("coordination.k8s.io", "Lease"),
        ("node.k8s.io", "RuntimeClass"),
        ("policy", "PodDisruptionBudget"),
        ("storage.k8s.io", "VolumeAttachment"),
    ];
    resource.is_custom()
        || KINDS.iter().any(|(group, kind)| resource.is(group, kind))
        || ["CSIDriver", "CSINode", "CSIStorageCapacity"]
            .iter()
            .any(|kind| resource.is("storage.k8s.io", kind))
}

/// The storage's message for an unmet precondition on `UID` or `ResourceVersion`.
pub(crate) fn unmet(target: &RequestTarget, dry_run: bool, of: &str, wanted: &str, found: &str) -> String {
    let key = storage_key(target);
    // A dry run fails in another layer, which doesn't know the prefix.
    let key = if dry_run { key.trim_start_matches("/registry") } else { &key };
    format!(
        "StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: {of} in precondition: {wanted}, {of} in object meta: {found}"
    )
}

/// The key of the object in etcd.
pub(crate) fn storage_key(target: &RequestTarget) -> String {
    let RequestTarget { resource, namespace, name, .. } = target;
    let group = if resource.is_custom() { format!("{}/", resource.gvk.group) } else { String::new() };
    let namespace = if namespace.is_empty() { String::new() } else { format!("{namespace}/") };
    let plural = match resource.plural.as_str() {
        plural if resource.is_custom() => plural,
        "replicationcontrollers" => "controllers",
        "endpoints" => "services/endpoints",
        "nodes" => "minions",
        "services" => "services/specs",
        "ingresses" => "ingress",
        plural => plural,
    };
    format!("/registry/{group}{plural}/{namespace}{name}")
}
