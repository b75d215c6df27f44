//! Changes of the fields that a manager has applied, without writing them.

use baton_merge::fieldpath::FieldSet;
use serde_json::json;

use crate::{LiveObject, Request, Target};

/// A JSON patch of `managedFields` after which the manager owns just these fields, as if it had applied them with their live values.
/// An [intent](crate::Schemas::intent) can't do that for [fields without a live value](super::fields_without_value). The server
/// refuses it if the object has changed. `None` if the manager has applied in another version of the API than these, in which the
/// fields may have other names.
pub fn reown(
    target: &Target,
    live: &LiveObject,
    manager: impl Into<String>,
    versions: &[&str],
    fields: FieldSet<'_>,
) -> Option<Request> {
    let manager = manager.into();
    let write = match live.applied_entry(&manager) {
        Some(entry) if !versions.contains(&entry.api_version()) => return None,
        Some(entry) => {
            let path = format!("/metadata/managedFields/{}/fieldsV1", entry.position);
            json!({"op": "replace", "path": path, "value": fields.to_fields_v1()})
        }
        None => {
            let entry = json!({
                "manager": manager, "operation": "Apply", "apiVersion": target.resource.api_version,
                "fieldsType": "FieldsV1", "fieldsV1": fields.to_fields_v1(),
            });
            if live.managed_fields().is_empty() {
                json!({"op": "add", "path": "/metadata/managedFields", "value": [entry]})
            } else {
                json!({"op": "add", "path": "/metadata/managedFields/-", "value": entry})
            }
        }
    };
    Request::patch(target.clone(), &live.revision(), manager, [write]).ok()
}
