//! Changes which fields a manager has applied, without writing them.

use std::borrow::Cow;

use baton_merge::{Arena, fieldpath::FieldSet};
use serde_json::json;

use crate::{Change, LiveObject, Request, Target};

/// A JSON patch of `managedFields` after which the manager owns other fields, as if it had applied them with their live values. The
/// server refuses it if the object has changed. `None` if the manager has applied in another version of the API, in which the
/// fields may have other names.
pub(crate) fn reown<'a>(
    arena: &'a Arena,
    target: &Target,
    live: &'a LiveObject,
    manager: Cow<'static, str>,
    change: impl FnOnce(FieldSet<'a>) -> FieldSet<'a>,
) -> Option<Request> {
    let api_version = &target.resource.api_version;
    let own = live.managed_fields().into_iter().find(|entry| entry.is_applied_by(&manager));
    let write = match own {
        Some(entry) if entry.api_version() != api_version => return None,
        Some(entry) => {
            let path = format!("/metadata/managedFields/{}/fieldsV1", entry.position);
            let fields = change(entry.fields(arena)?).to_fields_v1();
            json!({"op": "replace", "path": path, "value": fields})
        }
        None => json!({"op": "add", "path": "/metadata/managedFields/-", "value": {
            "manager": manager, "operation": "Apply", "apiVersion": api_version,
            "fieldsType": "FieldsV1", "fieldsV1": change(FieldSet::default()).to_fields_v1(),
        }}),
    };
    let operations = serde_json::from_value(json!([live.revision().test(), write])).ok()?;
    Some(Request { target: target.clone(), change: Change::Patch { operations, manager } })
}
