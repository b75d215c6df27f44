//! An object as the API server returned it.
//!
//! All fields are kept, since predictions are made from them.

use std::{
    borrow::Cow,
    collections::HashSet,
    fmt,
    ops::Range,
    sync::{Arc, OnceLock},
};

use baton_merge::{Arena, fieldpath::FieldSet, value as merge};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{
    Resource, ResourceExt,
    core::{ApiResource, TypeMeta},
};
use serde::{
    Deserialize, Deserializer,
    de::{Error as _, IgnoredAny, MapAccess, Visitor},
};
use serde_json::{Value, json, value::RawValue};

use crate::{FieldPath, scratch::with_arena};

/// An object as the API server returned it. Clones share it.
#[derive(Clone, Debug)]
pub struct LiveObject(Arc<Object>);

#[derive(Clone, Debug)]
struct Object {
    /// The object as returned.
    text: Box<str>,
    /// The places of its parts in the text.
    parts: Parts,
    /// The tree of the text, once it has been read.
    json: OnceLock<Value>,
    /// The tree without `managedFields`; `None` if it is nested too deep even so.
    lean: OnceLock<Option<Value>>,
    /// Its metadata as kube's type, without `managedFields`.
    metadata: ObjectMeta,
}

/// The places of an object's parts in its text, so that one can be read without the others.
#[derive(Clone, Debug)]
struct Parts {
    has_kind: bool,
    metadata: Range<usize>,
    managed_fields: Option<Range<usize>>,
    spec: Option<Range<usize>>,
    status: Option<Range<usize>>,
}

impl Parts {
    /// The places in a text with so many more bytes before them.
    fn moved(&self, by: usize) -> Self {
        let moved = |part: &Range<usize>| part.start + by..part.end + by;
        Self {
            has_kind: self.has_kind,
            metadata: moved(&self.metadata),
            managed_fields: self.managed_fields.as_ref().map(moved),
            spec: self.spec.as_ref().map(moved),
            status: self.status.as_ref().map(moved),
        }
    }
}

/// An object, of which only the places of its parts are read.
#[derive(Deserialize)]
struct Outline<'t> {
    kind: Option<IgnoredAny>,
    #[serde(borrow)]
    metadata: &'t RawValue,
    #[serde(borrow)]
    spec: Option<&'t RawValue>,
    #[serde(borrow)]
    status: Option<&'t RawValue>,
}

impl Outline<'_> {
    fn parts_of(&self, text: &str, managed_fields: Option<&RawValue>) -> Parts {
        let place = |part: &RawValue| {
            let start = part.get().as_ptr().addr() - text.as_ptr().addr();
            start..start + part.get().len()
        };
        Parts {
            has_kind: self.kind.is_some(),
            metadata: place(self.metadata),
            managed_fields: managed_fields.map(place),
            spec: self.spec.map(place),
            status: self.status.map(place),
        }
    }
}

/// Metadata, of which only the place of `managedFields` is read.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct MetadataOutline<'t> {
    #[serde(default, borrow)]
    managed_fields: Option<&'t RawValue>,
}

/// A text with an empty list in the place of a part.
fn with_empty_list(text: &str, part: Option<Range<usize>>) -> Cow<'_, str> {
    part.map_or(text.into(), |part| format!("{}[]{}", &text[..part.start], &text[part.end..]).into())
}

/// The identity of a live object at one moment, for the guard of a write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revision {
    /// `metadata.uid`: another object of the same name has another.
    pub uid: String,
    /// `metadata.resourceVersion`: any stored write changes it.
    pub resource_version: String,
}

impl LiveObject {
    /// An object from its JSON.
    ///
    /// # Errors
    /// When it has no metadata of an object.
    pub fn from_json(json: Value) -> Result<Self, serde_json::Error> {
        let mut object = Object::from_text(json.to_string().into())?;
        object.json = json.into();
        Ok(Self(Arc::new(object)))
    }

    /// An object from its JSON text. All but its metadata is parsed on first use.
    ///
    /// # Errors
    /// When it isn't the text of an object with metadata.
    pub fn from_text(text: impl Into<Box<str>>) -> Result<Self, serde_json::Error> {
        Ok(Self(Arc::new(Object::from_text(text.into())?)))
    }

    /// The object's JSON text.
    pub fn as_text(&self) -> &str {
        &self.0.text
    }

    /// The JSON text of its spec, if it has one.
    pub fn spec_text(&self) -> Option<&str> {
        self.0.parts.spec.clone().map(|part| &self.0.text[part])
    }

    /// The JSON text of its status, if it has one.
    pub fn status_text(&self) -> Option<&str> {
        self.0.parts.status.clone().map(|part| &self.0.text[part])
    }

    /// The fields of its spec that a type has; none if the spec doesn't fit the type. Unlike [`as_json`](Self::as_json), it builds no
    /// tree of the rest.
    pub fn spec<'o, T: Deserialize<'o>>(&'o self) -> Option<T> {
        serde_json::from_str(self.spec_text()?).ok()
    }

    /// The fields of its status that a type has; none if the status doesn't fit the type.
    pub fn status<'o, T: Deserialize<'o>>(&'o self) -> Option<T> {
        serde_json::from_str(self.status_text()?).ok()
    }

    /// The fields of its metadata that a type has; none if the metadata doesn't fit the type.
    pub(crate) fn metadata<'o, T: Deserialize<'o>>(&'o self) -> Option<T> {
        serde_json::from_str(&self.0.text[self.0.parts.metadata.clone()]).ok()
    }

    /// The object's text with no `managedFields`, which may be nested too deep to be read.
    pub(crate) fn text_without_managed_fields(&self) -> Cow<'_, str> {
        with_empty_list(self.as_text(), self.0.parts.managed_fields.clone())
    }

    /// The object as a value of the merge core.
    pub(crate) fn value<'a>(&'a self, arena: &'a Arena) -> Result<merge::Value<'a>, merge::ValueError> {
        merge::Value::from_text(arena, &self.0.text)
    }

    /// Whether two objects are the same, `managedFields` included.
    pub(crate) fn is_same_as(&self, other: &Self) -> bool {
        with_arena(|arena| match (self.value(arena), other.value(arena)) {
            (Ok(one), Ok(other)) => one == other,
            _ => self.as_text() == other.as_text(),
        })
    }

    /// The object as a tree, for tests and tools. It takes a hundred times the memory of the text, most of it for `managedFields`.
    ///
    /// # Errors
    /// When it is nested deeper than `serde_json` allows. The fields of built-in kinds aren't, but `managedFields` may be.
    pub fn as_json(&self) -> Result<&Value, serde_json::Error> {
        match self.0.json.get() {
            Some(json) => Ok(json),
            None => {
                let json = serde_json::from_str(&self.0.text)?;
                Ok(self.0.json.get_or_init(|| json))
            }
        }
    }

    /// Fills in its kind and version if they are missing: the items of a list of a built-in kind don't have them.
    pub fn fill_in_kind(&mut self, resource: &ApiResource) {
        if self.0.parts.has_kind {
            return;
        }
        let head = json!({"kind": resource.kind, "apiVersion": resource.api_version}).to_string();
        let object = Arc::make_mut(&mut self.0);
        // At least the metadata follows.
        let text = format!("{},{}", head.trim_end_matches('}'), &object.text[1..]);
        object.parts = Parts { has_kind: true, ..object.parts.moved(text.len() - object.text.len()) };
        object.text = text.into();
        (object.json, object.lean) = (OnceLock::new(), OnceLock::new());
    }

    /// Its kind, if it names one.
    pub(crate) fn kind(&self) -> Option<TypeMeta> {
        serde_json::from_str(self.as_text()).ok()
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

    /// The fields that a manager owns, by any operation. For a map or a list, only the fields in it.
    pub fn paths_owned_by(&self, manager: &str) -> Vec<FieldPath> {
        let arena = Arena::new();
        let fields = self.fields_of(&arena, manager);
        fields.leaves(&arena).paths(&arena).into_iter().map(FieldPath::from).collect()
    }

    /// Whether a manager owns a field, by any operation.
    pub fn is_owned_by(&self, manager: &str, path: &FieldPath) -> bool {
        let arena = Arena::new();
        self.fields_of(&arena, manager).paths(&arena).into_iter().any(|owned| FieldPath::from(owned) == *path)
    }

    /// The fields that a manager owns, by any operation, as a set.
    fn fields_of<'a>(&'a self, arena: &'a Arena, manager: &str) -> FieldSet<'a> {
        self.fields_of_each(arena, &HashSet::from([manager])).remove(manager).unwrap_or_default()
    }

    /// Whether it is being deleted: a finalizer keeps it, or its grace period runs.
    pub fn is_terminating(&self) -> bool {
        self.0.metadata.deletion_timestamp.is_some()
    }

    /// Whether an object that a deletion returned still exists: a finalizer keeps it, in a namespace one of its spec, or its grace
    /// period runs. Where it is gone, the server returns it as it was, or as marked without grace.
    pub(crate) fn lives_on(&self) -> bool {
        let has_time = || self.meta().deletion_grace_period_seconds.is_some_and(|seconds| seconds > 0);
        let spec_keeps_it = || {
            let finalizers = self.get(&["spec", "finalizers"]).and_then(Value::as_array);
            finalizers.is_some_and(|finalizers| !finalizers.is_empty())
        };
        !self.finalizers().is_empty() || (self.is_terminating() && (has_time() || spec_keeps_it()))
    }

    /// The value at a path of plain fields, such as `["spec", "replicas"]`. `managedFields` are left out.
    pub fn get(&self, fields: &[&str]) -> Option<&Value> {
        let read = || serde_json::from_str(&self.text_without_managed_fields()).ok();
        fields.iter().try_fold(self.0.lean.get_or_init(read).as_ref()?, |value, field| value.get(field))
    }

    /// The number at a path of plain fields in its spec or its status.
    pub fn number(&self, fields: &[&str]) -> Option<i32> {
        let (part, fields) = fields.split_first()?;
        let part = match *part {
            "spec" => self.spec_text(),
            "status" => self.status_text(),
            _ => None,
        };
        let text = fields.iter().try_fold(part?, |text, field| {
            let member = serde_json::Deserializer::from_str(text).deserialize_map(MemberNamed(field)).ok()?;
            member.map(RawValue::get)
        });
        serde_json::from_str(text?).ok()
    }
}

impl Object {
    fn from_text(text: Box<str>) -> Result<Self, serde_json::Error> {
        // A kind and version may be inserted after the first character.
        let text = if text.starts_with('{') { text } else { text.trim_start().into() };
        if !text.starts_with('{') {
            return Err(serde_json::Error::custom("expected an object"));
        }
        let outline: Outline<'_> = serde_json::from_str(&text)?;
        let owners: MetadataOutline<'_> = serde_json::from_str(outline.metadata.get())?;
        let parts = outline.parts_of(&text, owners.managed_fields);
        // `managedFields` stay text: they are read on demand, and would be in memory twice.
        let start = parts.metadata.start;
        let managed_fields = parts.managed_fields.as_ref().map(|part| part.start - start..part.end - start);
        let head = with_empty_list(outline.metadata.get(), managed_fields);
        let metadata = ObjectMeta { managed_fields: None, ..serde_json::from_str(&head)? };
        Ok(Self { text, parts, json: OnceLock::new(), lean: OnceLock::new(), metadata })
    }
}

/// Deserialized from JSON like any object, so that a watch can deliver it and a cache can keep it.
impl<'de> Deserialize<'de> for LiveObject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::from_text(Box::<RawValue>::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

/// Reads a member of an object, as it is in the text.
struct MemberNamed<'n>(&'n str);

impl<'de> Visitor<'de> for MemberNamed<'_> {
    type Value = Option<&'de RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        while let Some(name) = members.next_key::<Cow<'_, str>>()? {
            if name == self.0 {
                found = Some(members.next_value()?);
            } else {
                members.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }
}

/// Its metadata is read-only: a change by [`meta_mut`](Resource::meta_mut) is neither in the text nor in a prediction.
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

/// The `managedFields` of an object; empty if it has none.
pub(crate) fn entries(object: merge::Value<'_>) -> &[merge::Value<'_>] {
    let entries = object.at(&["metadata", "managedFields"]);
    entries.and_then(|entries| entries.as_list()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Service;

    use super::*;

    #[test]
    fn blanks_before_an_object_hide_nothing_of_it() {
        let text = r#"{"metadata": {"name": "web", "managedFields": [{"manager": "me", "fieldsV1": {"f:spec": {}}}]}, "spec": {}}"#;
        for before in ["", " ", "\n\t "] {
            let mut live = LiveObject::from_text(format!("{before}{text}")).unwrap();
            live.fill_in_kind(&ApiResource::erase::<Service>(&()));
            assert_eq!(live.managers(), ["me"], "{before:?}");
            assert_eq!(live.get(&["kind"]), Some(&json!("Service")), "{before:?}");
            assert_eq!(live.spec_text(), Some("{}"), "{before:?}");
        }
        assert!(
            LiveObject::from_text(r#"[null, {"name": "web"}, null, null]"#).is_err(),
            "a list is no object"
        );
    }
}
