//! Keys of map lists: the items must have them.

use serde_json::Value as Json;

use super::super::schema::Schema;
use crate::field::{FieldError, FieldPath};

/// Validates the keys and items of a list.
pub(super) fn check(schema: &Schema, path: &FieldPath, errors: &mut Vec<FieldError>) {
    let keys = &schema.list_map_keys;
    let (type_at, keys_at) = (path.child("x-kubernetes-list-type"), path.child("x-kubernetes-list-map-keys"));
    let must_be_map = "must be map if x-kubernetes-list-map-keys is non-empty";
    match schema.list_type.as_deref() {
        None if !keys.is_empty() => errors.push(FieldError::required(&type_at, must_be_map)),
        Some(other) if other != "map" && !keys.is_empty() => {
            errors.push(FieldError::invalid_text(&type_at, other, must_be_map));
        }
        _ => {}
    }
    if schema.is_list("map") {
        if keys.is_empty() {
            let detail = "must not be empty if x-kubernetes-list-type is map";
            errors.push(FieldError::required(&keys_at, detail));
        }
        match &schema.items {
            None => {
                let detail = "must have a schema if x-kubernetes-list-type is map";
                errors.push(FieldError::required(&path.child("items"), detail));
            }
            Some(items) => keys_of_items(keys, items, path, errors),
        }
    }
    let Some(items) = &schema.items else { return };
    let Some(list_type) = schema.list_type.as_deref().filter(|name| ["set", "map"].contains(name)) else {
        return;
    };
    let at = path.child("items");
    if items.nullable {
        let detail = format!("cannot be nullable when x-kubernetes-list-type is {list_type}");
        errors.push(FieldError::forbidden(&at.child("nullable"), &detail));
    }
    for key in keys.iter().filter(|_| list_type == "map") {
        let Some(property) = items.properties.get(key) else { continue };
        let at = at.child("properties").key(key);
        if !items.required.contains(key) && property.default.is_none() {
            let detail = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required \
                          property";
            errors.push(FieldError::required(&at.child("default"), detail));
        }
        if property.nullable {
            let detail = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable";
            errors.push(FieldError::forbidden(&at.child("nullable"), detail));
        }
    }
}

fn keys_of_items(keys: &[String], items: &Schema, path: &FieldPath, errors: &mut Vec<FieldError>) {
    let at = path.child("items");
    if items.type_name != "object" {
        let detail = "must be object if parent array's x-kubernetes-list-type is map";
        errors.push(FieldError::invalid_text(&at.child("type"), &items.type_name, detail));
        return;
    }
    let keys_at = path.child("x-kubernetes-list-map-keys");
    let shown = Json::from(keys).to_string();
    for (index, key) in keys.iter().enumerate() {
        match items.properties.get(key).map(|property| property.type_name.as_str()) {
            None => {
                let detail = "entries must all be names of item properties";
                errors.push(FieldError::invalid_json(&keys_at, &shown, detail));
            }
            Some("array" | "object") => {
                let at = at.child("properties").key(key).child("type");
                let detail = "must be a scalar type if parent array's x-kubernetes-list-type is map";
                errors.push(FieldError::invalid_text(&at, &items.type_name, detail));
            }
            Some(_) => {}
        }
        if keys[..index].contains(key) {
            let detail = "must not contain duplicate entries";
            errors.push(FieldError::invalid_json(&keys_at, &shown, detail));
        }
    }
}
