//! JSON merge patch, after RFC 7386 and the server's library, which also drops nulls of maps in lists.

use serde_json::{Map, Value};

use super::{PatchError, cannot_unmarshal};

/// Applies a merge patch.
pub(crate) fn merge_patch(live: Value, patch: &Value) -> Result<Value, PatchError> {
    match (live, patch) {
        (_, Value::Null) => Err(PatchError::BadRequest("Invalid JSON Patch".to_owned())),
        (Value::Object(mut live), Value::Object(patch)) => {
            merge_members(&mut live, patch);
            Ok(Value::Object(live))
        }
        (_, Value::Object(_)) => Ok(pruned(patch)),
        (_, other) => {
            let error = cannot_unmarshal(other, "value of type map[string]interface {}");
            Err(PatchError::BadRequest(format!("error decoding patch: {error}")))
        }
    }
}

fn merge_members(live: &mut Map<String, Value>, patch: &Map<String, Value>) {
    for (name, value) in patch {
        match (live.get_mut(name), value) {
            (_, Value::Null) => {
                live.remove(name);
            }
            (Some(Value::Object(live)), Value::Object(value)) => merge_members(live, value),
            // Upstream keeps the nulls of a list that replaces a map.
            (Some(Value::Object(_)), Value::Array(_)) => {
                live.insert(name.clone(), value.clone());
            }
            _ => {
                live.insert(name.clone(), pruned(value));
            }
        }
    }
}

/// Drops members that are null.
fn pruned(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let kept = members.iter().filter(|(_, value)| !value.is_null());
            Value::Object(kept.map(|(name, value)| (name.clone(), pruned(value))).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(pruned).collect()),
        scalar => scalar.clone(),
    }
}
