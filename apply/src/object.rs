//! An object as the API server returned it.
//!
//! It is kept to the last field, since predictions are made from it.

use std::{borrow::Cow, sync::Arc};

use baton_merge::{Arena, fieldpath::FieldSet};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{Resource, ResourceExt, core::ApiResource};
use serde::{
    Deserialize, Deserializer,
    de::{Error as _, IntoDeserializer, value::MapDeserializer},
};
use serde_json::{Value, json};

use crate::FieldPath;

/// An object as the API server returned it. Clones share it.
#[derive(Clone, Debug)]
pub struct LiveObject(Arc<Object>);

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

impl Revision {
    /// The operation by which a JSON patch counts for this revision alone.
    pub(crate) fn test(&self) -> Value {
        json!({"op": "test", "path": "/metadata/resourceVersion", "value": self.resource_version})
    }
}

impl LiveObject {
    /// An object from its JSON.
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

    /// Fills in what kind of object it is, where that was left out: items of a list of a built-in kind come without.
    pub fn fill_in_kind(&mut self, resource: &ApiResource) {
        if self.0.json.get("kind").is_some() {
            return;
        }
        if let Value::Object(json) = &mut Arc::make_mut(&mut self.0).json {
            json.insert("apiVersion".to_owned(), resource.api_version.as_str().into());
            json.insert("kind".to_owned(), resource.kind.as_str().into());
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

    /// The fields that a manager owns, by whatever operation. Of a map or a list these are only the ones in it.
    pub fn paths_owned_by(&self, manager: &str) -> Vec<FieldPath> {
        let arena = Arena::new();
        let fields = self.fields_of(&arena, manager);
        fields.leaves(&arena).paths(&arena).into_iter().map(FieldPath::from).collect()
    }

    /// Whether a manager owns a field, by whatever operation.
    pub fn is_owned_by(&self, manager: &str, path: &FieldPath) -> bool {
        let arena = Arena::new();
        self.fields_of(&arena, manager).paths(&arena).into_iter().any(|owned| FieldPath::from(owned) == *path)
    }

    /// What a manager owns, by whatever operation.
    pub(crate) fn fields_of<'a>(&'a self, arena: &'a Arena, manager: &str) -> FieldSet<'a> {
        let own = self.managed_fields().iter().filter(|entry| text(entry, "manager") == Some(manager));
        own.filter_map(|entry| FieldSet::from_fields_v1(arena, entry.get("fieldsV1")?).ok())
            .fold(FieldSet::default(), |all, fields| all.union(arena, fields))
    }

    /// Whether it is being deleted, and is only kept by finalizers.
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
}

/// Read like any object, so that a watch can deliver it and a cache can hold it.
impl<'de> Deserialize<'de> for LiveObject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::from_json(Value::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl Resource for LiveObject {
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
