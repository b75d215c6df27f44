//! The part of a server's response to a write that a prediction can be compared with, in the form that is recorded.

use super::write::Write;
use crate::Json;

/// A write that the server did.
///
/// `{"code":200,"changed":false}`, or with `changed` true the whole `object` after an apply and after a write of the
/// scale, and only its `managedFields` after any other: there the object is part of the question.
pub(super) fn done(write: &Write, changed: bool, after: &Json) -> Json {
    let answer = Json::object().with("code", 200).with("changed", changed);
    match (changed, write.is_apply() || write.subresource == "scale") {
        (false, _) => answer,
        (true, true) => answer.with("object", after.clone()),
        (true, false) => {
            let owners = after.at(&["metadata", "managedFields"]).cloned();
            answer.with("managedFields", owners.unwrap_or_else(|| Vec::new().into()))
        }
    }
}

/// A refusal, from its `Status`. The causes of a `409 Conflict` become rows as the protocol has them.
pub fn refused(status: &kube::core::Status) -> Json {
    let causes = status.details.iter().flat_map(|details| &details.causes);
    let mut conflicts: Vec<_> = causes
        .filter(|cause| cause.reason == "FieldManagerConflict")
        .map(|cause| conflict(&cause.message, &cause.field))
        .collect();
    conflicts.sort_by_cached_key(row_order);
    let answer = Json::object()
        .with("code", i64::from(status.code))
        .with("reason", status.reason.as_str())
        .with("message", status.message.as_str());
    if conflicts.is_empty() { answer } else { answer.with("conflicts", conflicts) }
}

/// The order that rows of conflicts have in the protocol, and beyond it any that is always the same.
fn row_order(row: &Json) -> Vec<Option<String>> {
    let names = ["manager", "field", "operation", "subresource", "apiVersion"];
    names.map(|name| row.get(name).and_then(Json::as_str).map(str::to_owned)).into()
}

/// `conflict with "MANAGER" with subresource "SUBRESOURCE" using VERSION at TIME`: all but the manager may be missing, and
/// an apply has no version.
fn conflict(message: &str, field: &str) -> Json {
    let rest = message.strip_prefix("conflict with ").unwrap_or(message);
    let (manager, rest) = quoted(rest);
    let (subresource, rest) = match rest.strip_prefix(" with subresource ") {
        Some(rest) => quoted(rest),
        None => (String::new(), rest),
    };
    let version = rest.strip_prefix(" using ").map(|rest| rest.split(" at ").next().unwrap_or(rest));
    let row = Json::object()
        .with("manager", manager)
        .with("operation", if version.is_some() { "Update" } else { "Apply" })
        .with("subresource", subresource)
        .with("field", field);
    match version {
        Some(version) => row.with("apiVersion", version),
        None => row,
    }
}

/// A quoted string, and what comes after it.
fn quoted(text: &str) -> (String, &str) {
    let mut strings = serde_json::Deserializer::from_str(text).into_iter::<String>();
    match strings.next() {
        Some(Ok(string)) => (string, text.get(strings.byte_offset()..).unwrap_or_default()),
        _ => (text.to_owned(), ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_causes_of_a_conflict_are_read() {
        let row = |message| conflict(message, ".spec.replicas").to_string();
        assert_eq!(
            row(r#"conflict with "kubectl" with subresource "scale" using apps/v1 at 2026-01-02T03:04:05Z"#),
            r#"{"manager":"kubectl","operation":"Update","subresource":"scale","field":".spec.replicas","apiVersion":"apps/v1"}"#
        );
        assert_eq!(
            row(r#"conflict with "baton \"x\"""#),
            r#"{"manager":"baton \"x\"","operation":"Apply","subresource":"","field":".spec.replicas"}"#
        );
        assert_eq!(
            row(r#"conflict with "m" using v1"#),
            r#"{"manager":"m","operation":"Update","subresource":"","field":".spec.replicas","apiVersion":"v1"}"#
        );
    }
}
