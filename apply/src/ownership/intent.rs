//! Intents made from an object: the apply by which a manager owns certain fields as they are.

use std::collections::BTreeSet;

use baton_merge::{
    Arena,
    fieldpath::{Branch, FieldSet, Path, PathElement},
    typed::{Duplicates, Typed},
    value::{Value, ValueError},
};
use serde_json::{Map, Value as Json, json};

use crate::{LiveObject, NoSchema, Schemas, Secrecy, Target, quoted::without_mistyped_secrets};

/// The error of an intent that can't be made from a live object.
#[derive(Clone, Debug, thiserror::Error)]
pub enum IntentError {
    /// There is no schema.
    #[error(transparent)]
    NoSchema(#[from] NoSchema),
    /// The live object isn't JSON that the merge core can read.
    #[error("can't read the live object")]
    Value(#[from] ValueError),
    /// The live object doesn't fit its schema.
    #[error("the live object doesn't fit its schema: {0}")]
    Invalid(String),
}

/// The fields that a manager owns by server-side apply of the object itself.
pub fn applied_fields<'a>(arena: &'a Arena, live: &'a LiveObject, manager: &str) -> FieldSet<'a> {
    live.applied_entry(manager).and_then(|entry| entry.fields(arena)).unwrap_or_default()
}

impl Schemas {
    /// The fields at a path and below it that the live object has: what a manager owns that applies the value there.
    ///
    /// # Errors
    /// When the object has no schema or doesn't fit it.
    pub fn fields_at<'a>(
        &'a self,
        arena: &'a Arena,
        target: &Target,
        live: &'a LiveObject,
        path: Path<'_>,
    ) -> Result<FieldSet<'a>, IntentError> {
        let all = self.fields_in(arena, target, live)?;
        let is_within = |own: &Path<'_>| own.elements().starts_with(path.elements());
        Ok(FieldSet::of_paths(arena, all.paths(arena).into_iter().filter(is_within)))
    }

    /// The intent of a manager that owns these fields: the object with just them, as they are live. Lists keep their order. What the
    /// object doesn't have is left out, also fields that the server doesn't store, such as `paused: false`.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// use baton_apply::{
    ///     Arena, LiveObject, Release, Resources, Schemas, Target, openapi::document_path, ownership::applied_fields,
    /// };
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube::core::ApiResource;
    /// use serde_json::json;
    ///
    /// # let gvk = json!([{"group": "", "version": "v1", "kind": "ConfigMap"}]);
    /// # let text = json!({"type": "string"});
    /// # let document = json!({"openapi": "3.0.0", "components": {"schemas": {"ConfigMap": {
    /// #     "type": "object", "x-kubernetes-group-version-kind": gvk, "properties": {
    /// #         "apiVersion": text, "kind": text, "metadata": {"type": "object"},
    /// #         "data": {"type": "object", "additionalProperties": text},
    /// #     },
    /// # }}}});
    /// let kind = ApiResource::erase::<ConfigMap>(&());
    /// let resources = Resources::from_openapi(&document)?;
    /// let schemas = Schemas::new(Release::LATEST, [(document_path(&kind), Arc::new(resources))]);
    /// let live = LiveObject::from_json(json!({
    ///     "apiVersion": "v1", "kind": "ConfigMap", "data": {"mine": "1", "theirs": "2"},
    ///     "metadata": {"name": "settings", "namespace": "shop", "managedFields": [
    ///         {"manager": "me", "operation": "Apply", "fieldsV1": {"f:data": {"f:mine": {}}}},
    ///     ]},
    /// }))?;
    ///
    /// let target = Target::of(&live, &kind);
    /// let arena = Arena::new();
    /// let intent = schemas.intent(&target, &live, applied_fields(&arena, &live, "me"))?;
    /// assert_eq!(intent["data"], json!({"mine": "1"}));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// When the object has no schema or doesn't fit it.
    pub fn intent(
        &self,
        target: &Target,
        live: &LiveObject,
        fields: FieldSet<'_>,
    ) -> Result<Json, IntentError> {
        let arena = Arena::new();
        let (all, value) = (self.fields_in(&arena, target, live)?, live.value(&arena)?);
        let intent = intent_of(target, value, fields, all, Keys::Owned);
        // An item that leaves out a key without a default, or with another value than that, would be another item.
        let is_complete = LiveObject::from_json(intent.clone()).is_ok_and(|intent| {
            let missing = self.fields_in(&arena, target, &intent).map(|own| all.difference(&arena, own));
            missing.is_ok_and(|missing| fields.intersection(&arena, missing).is_empty())
        });
        Ok(if is_complete { intent } else { intent_of(target, value, fields, all, Keys::All) })
    }

    /// The fields of an object.
    pub(crate) fn fields_in<'a>(
        &'a self,
        arena: &'a Arena,
        target: &Target,
        live: &'a LiveObject,
    ) -> Result<FieldSet<'a>, IntentError> {
        let resource = self.resource(&target.resource)?;
        let (schema, type_id, value) = (resource.schema(), resource.type_id(), live.value(arena)?);
        let typed = Typed::for_release(self.release(), arena, schema, type_id, value, Duplicates::Allowed);
        typed.and_then(|typed| typed.to_set()).map_err(|invalid| {
            let secrecy = Secrecy::of(&target.resource);
            IntentError::Invalid(without_mistyped_secrets(&invalid.to_string(), secrecy))
        })
    }
}

/// The keys that name the items of lists in an intent.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Keys {
    /// The keys among the fields, if any is: a manager may leave out a key that has its default.
    Owned,
    /// All.
    All,
}

/// The object with just these fields. A field that `all` has fields below is a container of its own, and is empty here; any other
/// is taken as a whole.
pub(super) fn intent_of(
    target: &Target,
    live: Value<'_>,
    fields: FieldSet<'_>,
    all: FieldSet<'_>,
    keys: Keys,
) -> Json {
    let mut intent = smallest(target);
    if let (Json::Object(intent), Some(Json::Object(found))) = (&mut intent, part(live, fields, all, keys)) {
        for (name, value) in found {
            match (name.as_str(), value) {
                ("apiVersion" | "kind", _) => {}
                ("metadata", Json::Object(found)) => {
                    if let Some(Json::Object(metadata)) = intent.get_mut("metadata") {
                        metadata.extend(found);
                    }
                }
                (_, value) => drop(intent.insert(name, value)),
            }
        }
    }
    intent
}

/// The smallest object that can be applied.
pub(super) fn smallest(target: &Target) -> Json {
    json!({
        "apiVersion": target.resource.api_version,
        "kind": target.resource.kind,
        "metadata": {"name": target.name},
    })
}

/// The part of a value that a set has; nothing if the value has nothing of it.
fn part(value: Value<'_>, fields: FieldSet<'_>, all: FieldSet<'_>, which: Keys) -> Option<Json> {
    let [branches, all] = [fields, all].map(|set| set.branches().collect::<Vec<_>>());
    let all_below = |element: &PathElement<'_>| {
        Branch::find(&all, element).map(|branch| branch.below).unwrap_or_default()
    };
    match value {
        Value::Map(map) => {
            let member = |(name, value): &(&str, Value<'_>)| {
                let element = PathElement::Field(name);
                let found = Branch::find(&branches, &element)?;
                Some(((*name).to_owned(), below(*value, *found, all_below(&element), which)?))
            };
            let members: Map<_, _> = map.members().iter().filter_map(member).collect();
            (!members.is_empty()).then_some(Json::Object(members))
        }
        Value::List(items) => {
            let key_names = key_names(&branches);
            let items = items.iter().filter_map(|item| {
                let found = branch_of(*item, &branches, &key_names)?;
                let is_whole =
                    found.below.is_empty() && !all.is_empty() && all_below(&found.element).is_empty();
                let mut part = match found.element {
                    PathElement::Value(_) => return Some(item.to_json()),
                    // Such as an owner reference.
                    _ if is_whole => return Some(item.to_json()),
                    _ => part(*item, found.below, all_below(&found.element), which)
                        .unwrap_or_else(|| json!({})),
                };
                if let PathElement::Key(keys) = found.element {
                    let has_own =
                        which == Keys::Owned && keys.iter().any(|(name, _)| part.get(name).is_some());
                    let keys = keys.iter().filter(|_| !has_own);
                    for (name, key) in keys.filter_map(|(name, _)| Some((name, item.get(name)?))) {
                        part[*name] = key.to_json();
                    }
                }
                Some(part)
            });
            let items: Vec<_> = items.collect();
            (!items.is_empty()).then_some(Json::Array(items))
        }
        _ => None,
    }
}

fn below(value: Value<'_>, found: Branch<'_>, all: FieldSet<'_>, which: Keys) -> Option<Json> {
    if !found.below.is_empty() {
        return part(value, found.below, all, which);
    }
    Some(match value {
        Value::Map(_) if !all.is_empty() => json!({}),
        Value::List(_) if !all.is_empty() => json!([]),
        _ => value.to_json(),
    })
}

/// The names of the keys that name items, by which an item is searched.
fn key_names<'a>(branches: &[Branch<'a>]) -> BTreeSet<Vec<&'a str>> {
    let names = |branch: &Branch<'a>| match branch.element {
        PathElement::Key(keys) => Some(keys.iter().map(|(name, _)| *name).collect()),
        _ => None,
    };
    branches.iter().filter_map(names).collect()
}

/// The element by which the fields of a list name an item of it.
pub(crate) fn name_of_item<'a>(item: Value<'_>, fields: FieldSet<'a>) -> Option<PathElement<'a>> {
    let branches: Vec<_> = fields.branches().collect();
    branch_of(item, &branches, &key_names(&branches)).map(|branch| branch.element)
}

/// The branch that names an item of a list by its value, or by its keys, of which there are these. An item may leave out a key that
/// has a default; one with all keys comes first.
fn branch_of<'b, 'a>(
    item: Value<'_>,
    branches: &'b [Branch<'a>],
    key_names: &BTreeSet<Vec<&str>>,
) -> Option<&'b Branch<'a>> {
    if item.as_map().is_none() {
        return Branch::find(branches, &PathElement::Value(item));
    }
    let mut leaves_out = false;
    for names in key_names {
        let keys: Vec<_> = names.iter().filter_map(|name| Some((*name, item.get(name)?))).collect();
        if keys.len() < names.len() {
            leaves_out = true;
        } else if let Some(found) = Branch::find(branches, &PathElement::Key(&keys)) {
            return Some(found);
        }
    }
    branches.iter().filter(|_| leaves_out).find(|branch| branch.element.may_name(item))
}
