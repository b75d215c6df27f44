//! Requests: a write as data, with its object and its condition. One request is predicted, sent, or tried in a dry run.

use std::fmt;

use kube::{
    Api, Client, Resource, ResourceExt,
    core::{ApiResource, TypeMeta},
};
use serde::Deserialize as _;
use serde_json::{Value, json};

use crate::{LiveObject, Revision};

/// The object of a request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Target {
    /// Its kind, and where objects of it are served.
    pub resource: ApiResource,
    /// Its namespace; absent for an object that has none.
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
    /// The subresource, such as `status`; absent for the object itself.
    pub subresource: Option<&'static str>,
}

impl Target {
    /// The target of an object of this kind.
    pub fn new(resource: ApiResource, namespace: Option<String>, name: impl Into<String>) -> Self {
        Self { resource, namespace, name: name.into(), subresource: None }
    }

    /// The target of this object.
    pub fn of<K: Resource>(object: &K, kind: &K::DynamicType) -> Self {
        Self::new(ApiResource::erase::<K>(kind), object.namespace(), object.name_any())
    }

    /// The objects of its kind in its namespace.
    pub fn api(&self, client: Client) -> Api<LiveObject> {
        match &self.namespace {
            Some(namespace) => Api::namespaced_with(client, namespace, &self.resource),
            None => Api::all_with(client, &self.resource),
        }
    }

    /// The server's message about an invalid object: `NewInvalid` in `pkg/api/errors` of k8s.io/apimachinery.
    pub(crate) fn invalid(&self, causes: &str) -> String {
        let ApiResource { kind, group, .. } = &self.resource;
        let dot = if group.is_empty() { "" } else { "." };
        format!("{kind}{dot}{group} {:?} is invalid: {causes}", self.name)
    }

    /// A subresource of the object.
    #[must_use]
    pub fn subresource(self, subresource: &'static str) -> Self {
        Self { subresource: Some(subresource), ..self }
    }
}

/// Prints `Deployment shop/web`.
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { resource, namespace, name, subresource } = self;
        f.write_str(&resource.kind)?;
        subresource.iter().try_for_each(|subresource| write!(f, "/{subresource}"))?;
        f.write_str(" ")?;
        namespace.iter().try_for_each(|namespace| write!(f, "{namespace}/"))?;
        f.write_str(name)
    }
}

/// One write of an object.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct Request {
    /// The object.
    pub target: Target,
    /// The change.
    pub change: Change,
}

/// A change of an object.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// A server-side apply.
    Apply {
        /// The object to apply, with its guard.
        body: Value,
        /// The field manager.
        manager: String,
        /// Whether it takes over fields of other managers.
        force: bool,
    },
    /// A JSON patch.
    Patch {
        /// The operations. The first one tests the `resourceVersion`.
        operations: json_patch::Patch,
        /// The field manager.
        manager: String,
    },
    /// A deletion of just this object.
    Delete(Revision),
}

/// The condition of an apply on the live object. The server checks it, and refuses a write that doesn't meet it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Guard {
    /// No condition.
    Nothing,
    /// There is no object of this name, not even one that is being deleted. The apply creates the object or is refused.
    Absent,
    /// The object is still the same, by its uid; the apply never brings a deleted one back.
    SameObject(String),
    /// The object is still the same, and hasn't been written since.
    Unchanged(Revision),
}

/// Whether a request is only tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DryRun {
    /// The server stores the result.
    No,
    /// The server does everything but store the result.
    Yes,
}

/// A `resourceVersion` that no object has: etcd counts its first write as 2. An apply with a version is refused if there is an
/// object with another one, and creates the object if there is none: `Store.Update` in k8s.io/apiserver's registry compares the
/// two only if there is an object.
const NO_OBJECTS_VERSION: &str = "1";

impl Request {
    /// A server-side apply of an intent.
    pub fn apply(
        target: Target,
        intent: Value,
        manager: impl Into<String>,
        force: bool,
        guard: &Guard,
    ) -> Self {
        let mut body = intent;
        let (uid, version) = match guard {
            Guard::Nothing => (None, None),
            Guard::Absent => (None, Some(NO_OBJECTS_VERSION)),
            Guard::SameObject(uid) => (Some(uid.as_str()), None),
            Guard::Unchanged(Revision { uid, resource_version }) => {
                (Some(uid.as_str()), Some(resource_version.as_str()))
            }
        };
        // The server checks the guard in the applied object's metadata, where it gets no owner. It refuses a body that can't have one.
        let has_place = body.is_object() && matches!(body["metadata"], Value::Null | Value::Object(_));
        for (name, value) in [("uid", uid), ("resourceVersion", version)] {
            if let Some(value) = value.filter(|_| has_place) {
                body["metadata"][name] = value.into();
            }
        }
        Self { target, change: Change::Apply { body, manager: manager.into(), force } }
    }

    /// A JSON patch of just this revision of an object, sent as this manager.
    ///
    /// # Errors
    /// When these aren't operations of a JSON patch.
    pub fn patch(
        target: Target,
        revision: &Revision,
        manager: impl Into<String>,
        operations: impl IntoIterator<Item = Value>,
    ) -> Result<Self, serde_json::Error> {
        let test =
            json!({"op": "test", "path": "/metadata/resourceVersion", "value": revision.resource_version});
        let operations = serde_json::from_value(std::iter::once(test).chain(operations).collect())?;
        Ok(Self { target, change: Change::Patch { operations, manager: manager.into() } })
    }

    /// The field manager; none for a deletion.
    pub fn manager(&self) -> Option<&str> {
        match &self.change {
            Change::Apply { manager, .. } | Change::Patch { manager, .. } => Some(manager),
            Change::Delete(_) => None,
        }
    }

    /// Requires of an apply that the object hasn't been written since it was read. One that accepts any object, or creates it,
    /// stays as it is.
    pub(crate) fn require_unchanged(&mut self, live: &LiveObject) {
        if let Change::Apply { body, .. } = &mut self.change
            && body["metadata"].get("uid").is_some()
        {
            body["metadata"]["resourceVersion"] = live.revision().resource_version.into();
        }
    }

    /// The uid of the only object that it may change, if any version of that will do.
    pub(crate) fn same_object(&self) -> Option<&str> {
        let Change::Apply { body, .. } = &self.change else { return None };
        body["metadata"]["uid"].as_str().filter(|_| !self.requires_unchanged())
    }

    /// Whether the server refuses it if there is an object.
    pub(crate) fn requires_absence(&self) -> bool {
        matches!(&self.change, Change::Apply { body, .. } if body["metadata"]["resourceVersion"] == NO_OBJECTS_VERSION)
    }

    /// The kind that an intent names.
    pub(crate) fn kind(&self) -> Option<TypeMeta> {
        let Change::Apply { body, .. } = &self.change else { return None };
        TypeMeta::deserialize(body).ok()
    }

    /// Whether it makes sense only for an object that exists: it names a uid, or is of a subresource.
    pub(crate) fn needs_an_object(&self) -> bool {
        let names_a_uid =
            matches!(&self.change, Change::Apply { body, .. } if !body["metadata"]["uid"].is_null());
        names_a_uid || self.target.subresource.is_some()
    }

    /// The server's message when it refuses an apply whose guard the live object doesn't meet: `Store.Update` in k8s.io/apiserver's
    /// registry, after it has looked for conflicts. An apply that names a version, and no uid, creates the object if there is none.
    pub(crate) fn broken_guard(&self, live: Option<&LiveObject>) -> Option<String> {
        let Change::Apply { body, .. } = &self.change else { return None };
        let named = |name: &str| body["metadata"][name].as_str();
        let ApiResource { plural, group, .. } = &self.target.resource;
        let dot = if group.is_empty() { "" } else { "." };
        let fulfilled = |why: String| {
            Some(format!(
                "Operation cannot be fulfilled on {plural}{dot}{group} {:?}: {why}",
                self.target.name
            ))
        };
        let Some(live) = live.map(LiveObject::revision) else {
            let uid = named("uid")?;
            return fulfilled(format!(
                "uid mismatch: the provided object specified uid {uid}, and no existing object was found"
            ));
        };
        if named("resourceVersion").is_some_and(|version| version != live.resource_version) {
            let why =
                "the object has been modified; please apply your changes to the latest version and try again";
            return fulfilled(why.to_owned());
        }
        let uid = named("uid").filter(|uid| *uid != live.uid)?;
        Some(self.target.invalid(&format!("metadata.uid: Invalid value: {uid:?}: field is immutable")))
    }

    /// Whether the server refuses it if the object has changed since it was read.
    pub fn requires_unchanged(&self) -> bool {
        match &self.change {
            Change::Apply { body, .. } => body["metadata"].get("resourceVersion").is_some(),
            Change::Patch { .. } | Change::Delete(_) => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::core::v1::Service;

    #[test]
    fn a_guard_that_the_live_object_does_not_meet_is_refused_with_the_servers_message() {
        let metadata = json!({"name": "web", "uid": "u", "resourceVersion": "42"});
        let live = LiveObject::from_json(json!({"metadata": metadata})).unwrap();
        let broken = |metadata: Value, live: Option<&LiveObject>| {
            let target = Target::new(ApiResource::erase::<Service>(&()), Some("shop".into()), "web");
            let intent = json!({"metadata": metadata});
            Request::apply(target, intent, "me", true, &Guard::Nothing).broken_guard(live)
        };
        let modified = "Operation cannot be fulfilled on services \"web\": the object has been modified; please apply your changes to \
                        the latest version and try again";
        let immutable = "Service \"web\" is invalid: metadata.uid: Invalid value: \"v\": field is immutable";
        let gone = "Operation cannot be fulfilled on services \"web\": uid mismatch: the provided object specified uid u, and no \
                    existing object was found";
        assert_eq!(broken(json!({"uid": "u", "resourceVersion": "41"}), Some(&live)).unwrap(), modified);
        assert_eq!(broken(json!({"resourceVersion": "41"}), Some(&live)).unwrap(), modified);
        assert_eq!(broken(json!({"uid": "v"}), Some(&live)).unwrap(), immutable);
        assert_eq!(broken(json!({"uid": "u"}), None).unwrap(), gone);
        assert_eq!(broken(json!({"uid": "u", "resourceVersion": "42"}), Some(&live)), None);
        assert_eq!(broken(json!({"resourceVersion": "41"}), None), None);
    }

    #[test]
    fn an_apply_can_require_an_unchanged_object_and_a_creation_that_there_is_none() {
        let metadata = json!({"name": "web", "uid": "u", "resourceVersion": "42"});
        let live = LiveObject::from_json(json!({"metadata": metadata})).unwrap();
        let apply = |guard: &Guard| {
            let target = Target::new(ApiResource::erase::<Service>(&()), Some("shop".into()), "web");
            let mut request = Request::apply(target, json!({"metadata": {"name": "web"}}), "me", true, guard);
            request.require_unchanged(&live);
            request
        };
        assert!(apply(&Guard::SameObject("u".into())).requires_unchanged());
        assert!(!apply(&Guard::Nothing).requires_unchanged());
        let Change::Apply { body, .. } = apply(&Guard::Absent).change else { panic!("it is an apply") };
        assert_eq!(
            body["metadata"]["resourceVersion"], "1",
            "a creation overwrites no object that was read later"
        );
    }
}
