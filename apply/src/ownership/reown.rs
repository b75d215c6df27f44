//! Changes which fields a manager has applied, without writing them.

use std::borrow::Cow;

use baton_merge::{Arena, fieldpath::FieldSet};
use serde_json::{Value, json};

use crate::{Change, LiveObject, Request, Target, object::text};

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
    let is_own = |entry: &&Value| {
        text(entry, "subresource").is_none_or(str::is_empty)
            && (text(entry, "manager"), text(entry, "operation")) == (Some(&*manager), Some("Apply"))
    };
    let own = live.managed_fields().iter().enumerate().find(|(_, entry)| is_own(entry));
    let write = match own {
        Some((_, entry)) if text(entry, "apiVersion") != Some(api_version) => return None,
        Some((position, entry)) => {
            let fields = change(FieldSet::from_fields_v1(arena, entry.get("fieldsV1")?).ok()?).to_fields_v1();
            json!({"op": "replace", "path": format!("/metadata/managedFields/{position}/fieldsV1"), "value": fields})
        }
        None => json!({"op": "add", "path": "/metadata/managedFields/-", "value": {
            "manager": manager, "operation": "Apply", "apiVersion": api_version,
            "fieldsType": "FieldsV1", "fieldsV1": change(FieldSet::default()).to_fields_v1(),
        }}),
    };
    let operations = serde_json::from_value(json!([live.revision().test(), write])).ok()?;
    Some(Request { target: target.clone(), change: Change::Patch { operations, manager } })
}
