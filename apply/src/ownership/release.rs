//! Releases of fields: a field is taken out of entries of `managedFields`, without being written.

use std::collections::HashMap;

use baton_merge::{
    Arena,
    fieldpath::{FieldSet, Path},
};
use serde_json::{Value, json};

use super::Owner;
use crate::{FieldPath, LiveObject, Request, Revision, Target};

/// A JSON patch that takes a field out of the entries of some managers: the only way to take a field from a manager without
/// writing it. It is made for one version of the object, and the server refuses it for any other.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldRelease {
    /// The field.
    pub path: FieldPath,
    /// The managers that lose it.
    pub managers: Vec<String>,
    /// The indexes of the entries, with the fields that each still owns.
    entries: Vec<(usize, Option<Value>)>,
    revision: Revision,
}

impl FieldRelease {
    /// Takes the field, with all that is below it, from these owners.
    pub fn new(live: &LiveObject, path: Path<'_>, owners: &[Owner]) -> Self {
        let arena = Arena::new();
        let entries: HashMap<_, _> =
            live.managed_fields().into_iter().map(|entry| (entry.position, entry)).collect();
        let released = FieldSet::of_paths(&arena, [path]);
        let rest = |owner: &Owner| {
            let fields = entries.get(&owner.position)?.fields(&arena)?;
            let rest = fields.recursive_difference(&arena, released);
            (!rest.is_empty()).then(|| rest.to_fields_v1())
        };
        Self {
            path: path.into(),
            managers: owners.iter().map(|owner| owner.manager.clone()).collect(),
            entries: owners.iter().map(|owner| (owner.position, rest(owner))).collect(),
            revision: live.revision(),
        }
    }

    /// The request, sent as this manager, which doesn't become an owner.
    ///
    /// # Errors
    /// When the patch can't be written, which would be a bug in this crate.
    pub fn request(&self, target: Target, manager: impl Into<String>) -> Result<Request, serde_json::Error> {
        // From the last to the first, so that a removal doesn't move the next ones.
        let operations = self.entries.iter().rev().map(|(position, rest)| {
            let path = format!("/metadata/managedFields/{position}");
            match rest {
                None => json!({"op": "remove", "path": path}),
                Some(rest) => json!({"op": "replace", "path": format!("{path}/fieldsV1"), "value": rest}),
            }
        });
        Request::patch(target, &self.revision, manager, operations)
    }
}

#[cfg(test)]
mod tests {
    use baton_merge::fieldpath::PathElement::Field;
    use k8s_openapi::api::apps::v1::Deployment;
    use kube::core::ApiResource;

    use super::*;
    use crate::{Change, ownership::owners};

    #[test]
    fn entries_are_released_from_the_last_to_the_first_after_a_test_of_the_resource_version() {
        let entry = |manager: &str, fields: Value| json!({"manager": manager, "operation": "Update", "subresource": "scale", "fieldsV1": fields});
        let replicas = || json!({"f:spec": {"f:replicas": {}}});
        let managed_fields = [
            entry("z", json!({"f:spec": {"f:paused": {}}})),
            entry("a", replicas()),
            entry("y", json!({"f:status": {}})),
            entry("b", json!({"f:spec": {"f:replicas": {}}, "f:status": {}})),
        ];
        let metadata = json!({"uid": "u", "resourceVersion": "42", "managedFields": managed_fields});
        let live = LiveObject::from_json(json!({"metadata": metadata})).unwrap();
        let path = Path::new(&[Field("spec"), Field("replicas")]);
        let release = FieldRelease::new(&live, path, &owners(&live, path));
        assert_eq!(release.managers, ["a", "b"]);
        let expected = json!([
            {"op": "test", "path": "/metadata/resourceVersion", "value": "42"},
            {"op": "replace", "path": "/metadata/managedFields/3/fieldsV1", "value": {"f:status": {}}},
            {"op": "remove", "path": "/metadata/managedFields/1"},
        ]);
        let target = Target::of(&live, &ApiResource::erase::<Deployment>(&()));
        let Change::Patch { operations, .. } = release.request(target, "me").unwrap().change else {
            panic!("it isn't a patch")
        };
        assert_eq!(serde_json::to_value(operations).unwrap(), expected);
    }
}
