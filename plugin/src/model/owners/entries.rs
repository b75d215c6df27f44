//! Entries of `managedFields` that can't be read: which fields they own isn't known.

use baton_apply::LiveObject;
use baton_merge::{
    Arena, Release,
    server::{Entry, EntryError},
    value::Value,
};

/// Fails for the first entry that the server can't read, or of which it ignores a part.
pub(crate) fn check_entries(live: &LiveObject) -> Result<(), EntryError> {
    let arena = Arena::new();
    let object = Value::from_text(&arena, live.as_text()).unwrap_or(Value::Null);
    Entry::all_of(&arena, object, Release::OLDEST)?;
    let entries = object.at(&["metadata", "managedFields"]).and_then(|entries| entries.as_list());
    let unknown = |(position, entry): (usize, &Value<'_>)| {
        let name = unknown_element(entry.get("fieldsV1")?)?;
        let problem = format!("the path element {name:?} is of no known kind: f:, k:, v: or i:");
        Some(EntryError { position, problem })
    };
    match entries.unwrap_or_default().iter().enumerate().find_map(unknown) {
        Some(error) => Err(error),
        None => Ok(()),
    }
}

/// An element of FieldsV1 that the server leaves out.
fn unknown_element(fields: Value<'_>) -> Option<&str> {
    fields.as_map()?.members().iter().find_map(|(name, below)| {
        let is_known = *name == "." || ["f:", "k:", "v:", "i:"].iter().any(|kind| name.starts_with(kind));
        if is_known { unknown_element(*below) } else { Some(*name) }
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::*;

    #[test]
    fn what_cannot_be_read_of_an_entry_is_named() {
        let entry = json!({"manager": "", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1",
            "fieldsV1": {"f:spec": {".": {}, "k:{\"name\":\"app\"}": {}, "v:1": {}, "i:0": {}}}});
        for (name, value, problem) in [
            ("manager", json!("m"), None),
            ("fieldsType", json!(null), Some("fieldsType must be FieldsV1, found \"\"")),
            ("fieldsType", json!("FieldsV2"), Some("fieldsType must be FieldsV1, found \"FieldsV2\"")),
            ("operation", json!(""), Some("operation must be Apply or Update, found \"\"")),
            ("apiVersion", json!(""), Some("apiVersion must not be empty")),
            (
                "fieldsV1",
                json!({"f:spec": 5}),
                Some("not a field set (FieldsV1): expected an object of path elements below \"f:spec\""),
            ),
            (
                "fieldsV1",
                json!({"f:spec": {"x:a": {}}}),
                Some("the path element \"x:a\" is of no known kind: f:, k:, v: or i:"),
            ),
            ("time", json!(5), Some("not an entry")),
        ] {
            let mut changed = entry.clone();
            changed[name] = value;
            let entries: [&Json; 2] = [&entry, &changed];
            let live = LiveObject::from_json(json!({"metadata": {"managedFields": entries}})).unwrap();
            let found = check_entries(&live).err().map(|error| error.to_string());
            let expected = problem.map(|problem| format!("metadata.managedFields[1]: {problem}"));
            assert_eq!(found, expected, "{changed}");
        }
    }
}
