//! A live child as the API server returned it, and the questions the plan asks of it.
//!
//! Keeps the object as it came, to the last field: predictions are made from it. Knows `metadata`, `managedFields` and a
//! few numbers. Refuses to know what the child should look like.

use std::{borrow::Cow, sync::Arc};

use baton_merge::{
    Arena,
    fieldpath::{FieldSet, Path, PathElement},
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{Resource, ResourceExt, core::ApiResource};
use serde::{
    Deserialize, Deserializer,
    de::{Error as _, IntoDeserializer, value::MapDeserializer},
};
use serde_json::Value;

use crate::{FIELD_MANAGER, HANDOVER_MANAGER, child::ChildKind};

const REPLICAS: Path<'static> = Path::new(&[PathElement::Field("spec"), PathElement::Field("replicas")]);

/// A live child.
#[derive(Clone, Debug)]
pub struct Live(Arc<Object>);

#[derive(Clone, Debug)]
struct Object {
    /// The object as returned.
    json: Value,
    /// Its metadata as kube wants to see it, without `managedFields`.
    metadata: ObjectMeta,
}

/// The identity of a live object at one moment: what a write is guarded by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revision {
    /// `metadata.uid`: another object of the same name has another.
    pub uid: String,
    /// `metadata.resourceVersion`: any stored write changes it.
    pub resource_version: String,
}

impl Live {
    /// A child from its JSON.
    ///
    /// # Errors
    /// When its metadata isn't that of an object.
    pub fn from_json(json: Value) -> Result<Self, serde_json::Error> {
        let metadata = metadata_of(&json)?;
        Ok(Self(Arc::new(Object { json, metadata })))
    }

    /// The object as returned.
    pub fn as_json(&self) -> &Value {
        &self.0.json
    }

    /// Says what it is, where that was left out: in lists of built-in kinds, items do without.
    pub(crate) fn set_kind(&mut self, kind: ChildKind) {
        if self.0.json.get("kind").is_some() {
            return;
        }
        if let Value::Object(json) = &mut Arc::make_mut(&mut self.0).json {
            json.insert("apiVersion".to_owned(), kind.api_version().into());
            json.insert("kind".to_owned(), kind.name().into());
        }
    }

    /// Its uid and resourceVersion.
    pub fn revision(&self) -> Revision {
        Revision {
            uid: self.uid().unwrap_or_default(),
            resource_version: self.resource_version().unwrap_or_default(),
        }
    }

    /// Whether the object with this uid is its controller.
    pub fn is_controlled_by(&self, uid: &str) -> bool {
        self.owner_references().iter().any(|owner| owner.controller == Some(true) && owner.uid == uid)
    }

    /// Its controller as `Kind/name`, if it has one.
    pub fn controller(&self) -> Option<String> {
        let owners = self.owner_references();
        let controller = owners.iter().find(|owner| owner.controller == Some(true))?;
        Some(format!("{}/{}", controller.kind, controller.name))
    }

    /// The managers in its `managedFields`, each once, by name.
    pub fn managers(&self) -> Vec<String> {
        let names = self.managed_fields().iter().filter_map(|entry| text(entry, "manager"));
        let mut managers: Vec<String> = names.map(str::to_owned).collect();
        managers.sort();
        managers.dedup();
        managers
    }

    /// Its `managedFields`, as returned.
    pub fn managed_fields(&self) -> &[Value] {
        managed_fields(&self.0.json)
    }

    /// The fields that a manager owns, by whatever operation, as their paths are told to people. Of a map or a list that is
    /// only what is in it.
    pub fn paths_owned_by(&self, manager: &str) -> Vec<String> {
        let own = self.managed_fields().iter().filter(|entry| text(entry, "manager") == Some(manager));
        let arena = Arena::new();
        let fields = own
            .filter_map(|entry| FieldSet::from_fields_v1(&arena, entry.get("fieldsV1")?).ok())
            .fold(FieldSet::default(), |all, fields| all.union(&arena, fields));
        fields.leaves(&arena).paths(&arena).iter().map(ToString::to_string).collect()
    }

    /// Whether a manager owns a field, by its path as it is told to people.
    pub fn is_owned_by(&self, manager: &str, path: &str) -> bool {
        let own = self.managed_fields().iter().filter(|entry| text(entry, "manager") == Some(manager));
        own.filter_map(|entry| entry.get("fieldsV1")).any(|fields| {
            let arena = Arena::new();
            let fields = FieldSet::from_fields_v1(&arena, fields).unwrap_or_default();
            fields.paths(&arena).iter().any(|owned| owned.to_string() == path)
        })
    }

    /// Whether it is on its way out and only finalizers keep it.
    pub fn is_terminating(&self) -> bool {
        self.0.metadata.deletion_timestamp.is_some()
    }

    /// The value at a path of plain fields, such as `["spec", "replicas"]`.
    pub fn get(&self, fields: &[&str]) -> Option<&Value> {
        fields.iter().try_fold(&self.0.json, |value, field| value.get(field))
    }

    /// The number at a path of plain fields.
    pub fn number(&self, fields: &[&str]) -> Option<i32> {
        self.get(fields)?.as_i64().and_then(|number| i32::try_from(number).ok())
    }

    /// `spec.replicas`; the API server fills it in on every Deployment.
    pub fn replicas(&self) -> i32 {
        self.number(&["spec", "replicas"]).unwrap_or(1)
    }

    /// Who owns `.spec.replicas`, by its `managedFields`.
    pub fn replica_holders(&self) -> ReplicaHolders {
        let arena = Arena::new();
        let mut holders = ReplicaHolders::default();
        for (position, entry) in self.managed_fields().iter().enumerate() {
            let fields =
                entry.get("fieldsV1").and_then(|fields| FieldSet::from_fields_v1(&arena, fields).ok());
            let Some(fields) = fields else {
                // What can't be read can't be Baton's: an entry that Baton or an autoscaler wrote always can.
                continue;
            };
            if !fields.contains(&REPLICAS) {
                continue;
            }
            let manager = text(entry, "manager").unwrap_or_default();
            let applied = text(entry, "operation") == Some("Apply");
            match (text(entry, "subresource"), applied, manager) {
                (Some("scale"), _, _) => {
                    let (manager, rest) = (manager.to_owned(), without_replicas(&arena, fields));
                    holders.scale.push(ScaleEntry { manager, position, rest });
                }
                (None, true, FIELD_MANAGER) => holders.baton = true,
                (None, true, HANDOVER_MANAGER) => holders.temporary = true,
                _ => holders.others.push(manager.to_owned()),
            }
        }
        holders
    }
}

/// Read like any object, so that a watch can deliver it and a cache can hold it.
impl<'de> Deserialize<'de> for Live {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::from_json(Value::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl Resource for Live {
    type DynamicType = ApiResource;
    type Scope = kube::core::DynamicResourceScope;

    fn kind(resource: &ApiResource) -> Cow<'_, str> {
        resource.kind.as_str().into()
    }

    fn group(resource: &ApiResource) -> Cow<'_, str> {
        resource.group.as_str().into()
    }

    fn version(resource: &ApiResource) -> Cow<'_, str> {
        resource.version.as_str().into()
    }

    fn api_version(resource: &ApiResource) -> Cow<'_, str> {
        resource.api_version.as_str().into()
    }

    fn plural(resource: &ApiResource) -> Cow<'_, str> {
        resource.plural.as_str().into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.0.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut Arc::make_mut(&mut self.0).metadata
    }
}

/// The metadata but for `managedFields`, which are read where they are needed and would be held twice.
fn metadata_of(json: &Value) -> Result<ObjectMeta, serde_json::Error> {
    let Some(metadata) = json.get("metadata").and_then(Value::as_object) else {
        return Err(serde_json::Error::custom("an object without metadata"));
    };
    let members = metadata.iter().filter(|(name, _)| *name != "managedFields");
    ObjectMeta::deserialize(MapDeserializer::new(
        members.map(|(name, value)| (name.as_str(), value.into_deserializer())),
    ))
}

/// The `managedFields` of an object; empty where it has none.
pub(crate) fn managed_fields(object: &Value) -> &[Value] {
    let entries = object.get("metadata").and_then(|metadata| metadata.get("managedFields"));
    entries.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// A text in an entry of `managedFields`.
pub(crate) fn text<'e>(entry: &'e Value, name: &str) -> Option<&'e str> {
    entry.get(name).and_then(Value::as_str)
}

fn without_replicas<'a>(arena: &'a Arena, fields: FieldSet<'a>) -> Option<Value> {
    let rest = fields.difference(arena, FieldSet::of_paths(arena, [REPLICAS]));
    (!rest.is_empty()).then(|| rest.to_fields_v1())
}

/// Who owns a Deployment's `.spec.replicas`. Several may, as long as they agree on the number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReplicaHolders {
    /// Baton itself.
    pub baton: bool,
    /// The temporary manager.
    pub temporary: bool,
    /// Whoever wrote through the `scale` subresource: an autoscaler or `kubectl scale`.
    pub scale: Vec<ScaleEntry>,
    /// Any other manager, by name.
    pub others: Vec<String>,
}

impl ReplicaHolders {
    /// Whether somebody other than Baton owns the number too, so that it stays when Baton lets go.
    pub fn shared(&self) -> bool {
        self.temporary || !self.scale.is_empty() || !self.others.is_empty()
    }

    /// Their names, for people; `nobody` where the number is only the server's default.
    pub fn describe(&self) -> String {
        let mut names: Vec<String> =
            self.scale.iter().map(|entry| format!("{} (scale)", entry.manager)).collect();
        names.extend(self.others.iter().cloned());
        names.extend(self.temporary.then(|| HANDOVER_MANAGER.to_owned()));
        names.extend(self.baton.then(|| FIELD_MANAGER.to_owned()));
        if names.is_empty() { "nobody".to_owned() } else { names.join(", ") }
    }
}

/// A `managedFields` entry of the `scale` subresource that owns `.spec.replicas`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScaleEntry {
    /// The manager's name, `kube-controller-manager` for most autoscalers.
    pub manager: String,
    /// Where it stands in `metadata.managedFields`.
    pub position: usize,
    /// The entry's FieldsV1 without `.spec.replicas`; absent where it owned nothing else.
    pub rest: Option<Value>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn deployment(managed_fields: &Value) -> Live {
        let object = json!({
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "web", "uid": "u", "resourceVersion": "7", "managedFields": managed_fields},
            "spec": {"replicas": 3},
        });
        Live::from_json(object).unwrap()
    }

    fn entry(manager: &str, operation: &str, subresource: Option<&str>, fields: &Value) -> Value {
        let mut entry = json!({
            "manager": manager, "operation": operation, "apiVersion": "apps/v1", "fieldsType": "FieldsV1",
            "fieldsV1": fields,
        });
        if let Some(subresource) = subresource {
            entry["subresource"] = json!(subresource);
        }
        entry
    }

    fn replicas() -> Value {
        json!({"f:spec": {"f:replicas": {}}})
    }

    #[test]
    fn a_scale_entry_is_known_by_its_subresource_whatever_its_manager() {
        let live = deployment(&json!([entry("somebody", "Update", Some("scale"), &replicas())]));
        let expected = ScaleEntry { manager: "somebody".into(), position: 0, rest: None };
        assert_eq!(live.replica_holders(), ReplicaHolders { scale: vec![expected], ..Default::default() });
    }

    #[test]
    fn an_update_under_batons_name_is_another_manager() {
        let live = deployment(&json!([entry("baton", "Update", None, &replicas())]));
        assert_eq!(
            live.replica_holders(),
            ReplicaHolders { others: vec!["baton".into()], ..Default::default() }
        );
    }

    #[test]
    fn owning_something_else_in_spec_is_not_owning_replicas() {
        let live = deployment(&json!([entry("baton", "Apply", None, &json!({"f:spec": {"f:paused": {}}}))]));
        assert_eq!(live.replica_holders(), ReplicaHolders::default());
        assert_eq!(live.replica_holders().describe(), "nobody");
    }

    #[test]
    fn the_temporary_manager_and_baton_share_the_number_during_the_handover() {
        let live = deployment(&json!([
            entry("baton", "Apply", None, &replicas()),
            entry("handover-to-hpa", "Apply", None, &replicas()),
        ]));
        let holders = live.replica_holders();
        assert!(holders.baton && holders.temporary && holders.shared());
        assert_eq!(holders.describe(), "handover-to-hpa, baton");
    }
}
