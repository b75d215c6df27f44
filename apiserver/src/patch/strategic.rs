//! Strategic merge patch, after `k8s.io/apimachinery/pkg/util/strategicpatch`: merges lists by keys, and has directives.

use serde_json::{Map, Value};

use super::go::{go_printed, go_type};
use super::lists::{self, List};
use super::schema::{PatchSchema, Shape, Strategy};
use super::{PatchError, cannot_unmarshal};

pub(super) const PATCH: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const ELEMENT_ORDER: &str = "$setElementOrder";
const DELETE_FROM: &str = "$deleteFromPrimitiveList";

/// Applies a strategic merge patch. The type is the name of a schema, such as `io.k8s.api.core.v1.Pod`.
///
/// As upstream, directives are removed from the patch when they are applied: the server [prints](go_printed) the rest of
/// the patch in the error of an invalid result.
pub(crate) fn strategic(
    schema: &PatchSchema,
    type_name: &str,
    live: Value,
    patch: &mut Value,
) -> Result<Value, PatchError> {
    match (live, patch) {
        (live, Value::Null) => Ok(live),
        (Value::Object(mut live), Value::Object(patch)) => {
            merge_members(schema, &Shape::Struct(type_name.to_owned()), &mut live, patch)?;
            Ok(Value::Object(live))
        }
        (_, patch) => {
            Err(PatchError::BadRequest(cannot_unmarshal(patch, "value of type map[string]interface {}")))
        }
    }
}

/// Merges a map into another.
pub(super) fn merge_members(
    schema: &PatchSchema,
    shape: &Shape,
    live: &mut Map<String, Value>,
    patch: &mut Map<String, Value>,
) -> Result<(), PatchError> {
    if let Some(directive) = patch.get(PATCH) {
        match directive.as_str() {
            Some("replace") => {
                patch.remove(PATCH);
                live.clone_from(patch);
            }
            Some("delete") => live.clear(),
            _ => return Err(unknown_directive(directive, patch)),
        }
        return Ok(());
    }
    retain_keys(live, patch)?;
    let is_order = |name: &&String| name.starts_with(ELEMENT_ORDER);
    let orders: Vec<_> = patch.keys().filter(is_order).cloned().collect();
    for order in orders {
        set_element_order(schema, shape, live, patch, &order)?;
    }
    for (name, value) in patch.iter_mut() {
        merge_member(schema, shape, live, name, value)?;
    }
    Ok(())
}

fn merge_member(
    schema: &PatchSchema,
    shape: &Shape,
    live: &mut Map<String, Value>,
    name: &str,
    value: &mut Value,
) -> Result<(), PatchError> {
    let (name, is_deletion) = match name.strip_prefix(DELETE_FROM) {
        None => (name, false),
        Some(rest) => {
            let wrong = || PatchError::BadRequest("invalid patch format of primitive list".to_owned());
            (rest.strip_prefix('/').ok_or_else(wrong)?, true)
        }
    };
    if value.is_null() {
        live.remove(name);
        return Ok(());
    }
    match (live.get_mut(name), &mut *value) {
        (Some(Value::Object(live)), Value::Object(value)) => {
            let field = schema.field(shape, name)?;
            if field.strategy == Strategy::Replace {
                live.clone_from(value);
            } else {
                merge_members(schema, field.shape(), live, value)?;
            }
        }
        (Some(Value::Array(live)), Value::Array(value)) => {
            let field = schema.field(shape, name)?;
            let items = field.items()?;
            if is_deletion && !lists::is_of_maps(&[live, value])? {
                live.retain(|item| !value.contains(item));
            } else if field.strategy == Strategy::Merge || is_deletion {
                let list = List { schema, items, key: field.merge_key.as_deref() };
                *live = list.merge(std::mem::take(live), value)?;
            } else {
                live.clone_from(value);
            }
        }
        // There is nothing to delete from.
        _ if is_deletion => {}
        _ => {
            discard_nulls(value);
            match without_directives(value) {
                Some(value) => live.insert(name.to_owned(), value),
                None => live.remove(name),
            };
        }
    }
    Ok(())
}

/// Drops the members that `$retainKeys` doesn't list.
fn retain_keys(live: &mut Map<String, Value>, patch: &mut Map<String, Value>) -> Result<(), PatchError> {
    let Some(retained) = patch.remove(RETAIN_KEYS) else { return Ok(()) };
    let wrong = || PatchError::BadRequest("invalid patch format of retainKeys".to_owned());
    let retained = retained.as_array().ok_or_else(wrong)?;
    let is_retained = |name: &str| retained.iter().any(|retained| retained == name);
    let is_listed = |(name, value): (&String, &Value)| {
        value.is_null()
            || name.starts_with(DELETE_FROM)
            || name.starts_with(ELEMENT_ORDER)
            || is_retained(name)
    };
    if !patch.iter().all(is_listed) {
        return Err(wrong());
    }
    live.retain(|name, _| is_retained(name));
    Ok(())
}

/// Merges a list with a `$setElementOrder`, and sorts it.
fn set_element_order(
    schema: &PatchSchema,
    shape: &Shape,
    live: &mut Map<String, Value>,
    patch: &mut Map<String, Value>,
    directive: &str,
) -> Result<(), PatchError> {
    let order = patch.remove(directive).unwrap_or_default();
    let order = list(&order)?;
    let name = directive.strip_prefix(ELEMENT_ORDER).and_then(|rest| rest.strip_prefix('/'));
    let name = name
        .ok_or_else(|| PatchError::BadRequest("invalid patch format of setElementOrder list".to_owned()))?;
    let own = live.get(name).map(list).transpose()?.cloned();
    patch.get(name).map(list).transpose()?;
    let field = schema.field(shape, name)?;
    let items = List { schema, items: field.items()?, key: field.merge_key.as_deref() };
    let mut no_items = Vec::new();
    let mut changes = patch.get_mut(name).and_then(Value::as_array_mut);
    items.check_order(changes.as_deref().unwrap_or(&no_items), order)?;
    let merged = match (own.clone(), &mut changes) {
        (None, None) => return Ok(()),
        (Some(own), None) => own,
        (None, Some(changes)) => changes.iter().filter_map(without_directives).collect(),
        (Some(own), Some(changes)) if field.strategy == Strategy::Merge => items.merge(own, changes)?,
        (Some(_), Some(changes)) => changes.clone(),
    };
    let own = own.unwrap_or_default();
    let are_maps = lists::is_of_maps(&[&own, changes.unwrap_or(&mut no_items)])?;
    let ordered = items.ordered(merged, order, &own, are_maps)?;
    live.insert(name.to_owned(), Value::Array(ordered));
    patch.remove(name);
    Ok(())
}

fn list(value: &Value) -> Result<&Vec<Value>, PatchError> {
    value.as_array().ok_or_else(|| wrong_type("[]interface {}", value))
}

pub(super) fn wrong_type(expected: &str, found: &Value) -> PatchError {
    PatchError::Internal(format!("expected a {expected}, but received a {}", go_type(found)))
}

pub(super) fn unknown_directive(directive: &Value, map: &Map<String, Value>) -> PatchError {
    let map = go_printed(&Value::Object(map.clone()));
    PatchError::Internal(format!("unknown patch type: {} in map: {map}", go_printed(directive)))
}

/// Drops null members where there is nothing to delete.
fn discard_nulls(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|_, value| !value.is_null());
            members.values_mut().for_each(discard_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(discard_nulls),
        _ => {}
    }
}

/// Drops maps with a directive; none if the value is one.
fn without_directives(value: &Value) -> Option<Value> {
    Some(match value {
        Value::Object(members) if members.contains_key(PATCH) => return None,
        Value::Object(members) => {
            let kept =
                members.iter().filter_map(|(name, value)| Some((name.clone(), without_directives(value)?)));
            Value::Object(kept.collect())
        }
        Value::Array(items) => Value::Array(items.iter().filter_map(without_directives).collect()),
        scalar => scalar.clone(),
    })
}
