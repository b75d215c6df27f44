//! From a step of the plan to the request that does it: what is sent, as data.
//!
//! The same request is predicted, sent, or tried without effect. Refuses to send anything.

use baton_crd::Workload;
use kube::ResourceExt;
use serde_json::{Value, json};

use crate::{
    FIELD_MANAGER, HANDOVER_MANAGER,
    adoption::{LAST_APPLIED, Migration},
    child::ChildKind,
    live::{Revision, ScaleEntry},
    plan::{Guard, Step},
};

/// One write of a child.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// The child.
    pub child: ChildKind,
    /// How it is written.
    pub write: Write,
}

/// How a child is written.
#[derive(Clone, Debug, PartialEq)]
pub enum Write {
    /// A server-side apply.
    Apply {
        /// The object to apply, with its guard.
        body: Value,
        /// The field manager.
        manager: &'static str,
        /// Whether it takes what others own.
        force: bool,
    },
    /// A JSON patch as `baton`.
    Patch(json_patch::Patch),
    /// A deletion of just this object.
    Delete(Revision),
}

/// A step that can't be written as a request.
#[derive(Debug, thiserror::Error)]
#[error("can't write the JSON patch of the {child}'s managedFields")]
pub struct RequestError {
    /// The child.
    pub child: ChildKind,
    /// Why.
    #[source]
    pub source: serde_json::Error,
}

impl Request {
    /// The request that does a step.
    ///
    /// # Errors
    /// When its JSON patch can't be written.
    pub fn of(step: &Step, workload: &Workload) -> Result<Self, RequestError> {
        let child = step.child();
        let write = match step {
            Step::Apply { intent, guard, .. } => {
                let body = guarded(intent.as_value().clone(), guard);
                Write::Apply { body, manager: FIELD_MANAGER, force: true }
            }
            Step::HandOver { replicas, revision } => {
                let mut body = temporary_intent(workload);
                body["spec"] = json!({"replicas": replicas});
                as_temporary(body, revision)
            }
            Step::ReleaseTemporary { revision } => as_temporary(temporary_intent(workload), revision),
            Step::ReleaseScale { entries, revision } => {
                let patch = serde_json::from_value(release_patch(entries, revision));
                Write::Patch(patch.map_err(|source| RequestError { child, source })?)
            }
            Step::Migrate { migration, revision, .. } => {
                let patch = serde_json::from_value(migration_patch(migration, revision));
                Write::Patch(patch.map_err(|source| RequestError { child, source })?)
            }
            Step::Delete { revision, .. } => Write::Delete(revision.clone()),
        };
        Ok(Self { child, write })
    }

    /// Requires of an apply that nobody has written to the object since. An apply that creates, or that requires it
    /// already, stays as it is.
    pub fn require_unchanged(&mut self, revision: &Revision) {
        if let Write::Apply { body, .. } = &mut self.write
            && body["metadata"].get("uid").is_some()
        {
            body["metadata"]["resourceVersion"] = revision.resource_version.as_str().into();
        }
    }

    /// Whether it counts only for the object as it was seen.
    pub fn requires_unchanged(&self) -> bool {
        match &self.write {
            Write::Apply { body, .. } => body["metadata"].get("resourceVersion").is_some(),
            Write::Patch(_) | Write::Delete(_) => true,
        }
    }
}

/// Never forced: force would steal the number from an autoscaler that has just written it.
fn as_temporary(body: Value, revision: &Revision) -> Write {
    let body = guarded(body, &Guard::Unchanged(revision.clone()));
    Write::Apply { body, manager: HANDOVER_MANAGER, force: false }
}

fn temporary_intent(workload: &Workload) -> Value {
    json!({
        "apiVersion": ChildKind::Deployment.api_version(),
        "kind": ChildKind::Deployment.name(),
        "metadata": {"name": workload.name_any()},
    })
}

/// Puts the guard where the server checks it: in the applied object's metadata, of which it never becomes an owned field.
fn guarded(mut body: Value, guard: &Guard) -> Value {
    match guard {
        Guard::Create => {}
        Guard::SameObject(uid) => body["metadata"]["uid"] = uid.as_str().into(),
        Guard::Unchanged(revision) => {
            body["metadata"]["uid"] = revision.uid.as_str().into();
            body["metadata"]["resourceVersion"] = revision.resource_version.as_str().into();
        }
    }
    body
}

/// The JSON patch that makes others' ownership Baton's. What the test refers to is all that the patch depends on.
fn migration_patch(migration: &Migration, revision: &Revision) -> Value {
    let mut operations = vec![
        json!({"op": "test", "path": "/metadata/resourceVersion", "value": revision.resource_version}),
        json!({"op": "replace", "path": "/metadata/managedFields", "value": migration.managed_fields}),
    ];
    if migration.drops_last_applied {
        let annotation = LAST_APPLIED.replace('~', "~0").replace('/', "~1");
        operations.push(json!({"op": "remove", "path": format!("/metadata/annotations/{annotation}")}));
    }
    Value::Array(operations)
}

/// A JSON patch of `managedFields`: the only way to take a field from a manager without writing the field.
fn release_patch(entries: &[ScaleEntry], revision: &Revision) -> Value {
    let mut operations = vec![json!({
        "op": "test", "path": "/metadata/resourceVersion", "value": revision.resource_version,
    })];
    // From the last to the first, so that a removal doesn't move those still to come.
    for entry in entries.iter().rev() {
        let path = format!("/metadata/managedFields/{}", entry.position);
        operations.push(match &entry.rest {
            None => json!({"op": "remove", "path": path}),
            Some(rest) => json!({"op": "replace", "path": format!("{path}/fieldsV1"), "value": rest}),
        });
    }
    Value::Array(operations)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_released_from_the_last_to_the_first_behind_a_test_of_the_resource_version() {
        let revision = Revision { uid: "u".into(), resource_version: "42".into() };
        let entries = [
            ScaleEntry { manager: "a".into(), position: 1, rest: None },
            ScaleEntry { manager: "b".into(), position: 3, rest: Some(json!({"f:status": {}})) },
        ];
        let expected = json!([
            {"op": "test", "path": "/metadata/resourceVersion", "value": "42"},
            {"op": "replace", "path": "/metadata/managedFields/3/fieldsV1", "value": {"f:status": {}}},
            {"op": "remove", "path": "/metadata/managedFields/1"},
        ]);
        assert_eq!(release_patch(&entries, &revision), expected);
    }

    #[test]
    fn an_apply_of_an_object_that_was_seen_can_require_that_it_is_unchanged_and_a_creation_cannot() {
        let revision = Revision { uid: "u".into(), resource_version: "42".into() };
        let apply = |guard: &Guard| {
            let body = guarded(json!({"metadata": {"name": "web"}}), guard);
            let write = Write::Apply { body, manager: FIELD_MANAGER, force: true };
            let mut request = Request { child: ChildKind::Service, write };
            request.require_unchanged(&revision);
            request
        };
        assert!(apply(&Guard::SameObject("u".into())).requires_unchanged());
        assert!(!apply(&Guard::Create).requires_unchanged());
    }
}
