//! Validation of events, which depends on the group of the request. They are stored in the core group.

use baton_merge::value::Value;

use super::{
    check::Check,
    cursor::{Cursor, Errors, IMMUTABLE, same},
    format,
    go_json::{GoField, GoType, go_json},
};
use crate::field::{FieldError, FieldPath};

/// The limits of an event's strings.
const LIMITS: [(&str, usize); 3] = [("reportingInstance", 128), ("action", 128), ("reason", 128)];
const MESSAGE_LENGTH: usize = 1024;

/// A reference to an object, as Go prints it.
const REFERENCE: &[GoField] = &[
    ("Kind", "kind", GoType::Plain(EMPTY)),
    ("Namespace", "namespace", GoType::Plain(EMPTY)),
    ("Name", "name", GoType::Plain(EMPTY)),
    ("UID", "uid", GoType::Plain(EMPTY)),
    ("APIVersion", "apiVersion", GoType::Plain(EMPTY)),
    ("ResourceVersion", "resourceVersion", GoType::Plain(EMPTY)),
    ("FieldPath", "fieldPath", GoType::Plain(EMPTY)),
];
const EMPTY: &str = "\"\"";

/// Validates an event of the core group.
pub(super) fn core_event(check: &mut Check<'_>) {
    check_fields(&check.new.clone(), "reportingComponent", &mut check.errors);
}

/// Validates an event that is written in `events.k8s.io`.
pub(super) fn event(check: &mut Check<'_>) {
    let new = check.new.clone();
    check_fields(&new, "reportingController", &mut check.errors);
    check.metadata_or_update();
    if check.old.is_some() {
        check_event_update(check);
        return;
    }
    check_series(&new, &mut check.errors);
    let errors = &mut check.errors;
    if !has_time(&new, "eventTime") {
        errors.push(new.child("eventTime").required(""));
    }
    let empty = |name: &str, detail: &str| FieldError::invalid_text(&FieldPath::new(name), "", detail);
    let kind = new.text_of("type");
    if !matches!(kind, "Normal" | "Warning") {
        errors.push(empty("type", &format!("has invalid value: {kind}")));
    }
    for name in ["firstTimestamp", "lastTimestamp"] {
        if has_time(&new, name) {
            errors.push(empty(name, "needs to be unset"));
        }
    }
    if new.int_of("count") != 0 {
        errors.push(empty("count", "needs to be unset"));
    }
    let source = new.child("source");
    if !source.text_of("component").is_empty() || !source.text_of("host").is_empty() {
        errors.push(empty("source", "needs to be unset"));
    }
}

fn has_time(event: &Cursor<'_>, name: &str) -> bool {
    event.get(name).is_some_and(|time| !time.is_null())
}

fn check_series(event: &Cursor<'_>, errors: &mut Errors) {
    let series = event.child("series");
    if !series.is_set() {
        return;
    }
    if series.int_of("count") < 2 {
        errors.push(FieldError::invalid_text(&series.child("count").path, "", "should be at least 2"));
    }
    if !has_time(&series, "lastObservedTime") {
        errors.push(series.child("lastObservedTime").required(""));
    }
}

fn check_event_update(check: &mut Check<'_>) {
    // The server lists `reason` twice.
    #[rustfmt::skip]
    const FIELDS: [&str; 14] = [
        "involvedObject", "reason", "message", "source", "firstTimestamp", "lastTimestamp", "count", "reason",
        "type", "eventTime", "action", "related", "reportingComponent", "reportingInstance",
    ];
    if check.new.get("series") != check.old_at(&["series"]).value {
        check_series(&check.new.clone(), &mut check.errors);
    }
    for name in FIELDS {
        let old = check.old_at(&[name]);
        let shown = if name == "reportingComponent" { "reportingController" } else { name };
        let field = check.new.child(name).shown_at(FieldPath::new(shown));
        if matches!(name, "involvedObject" | "related") && !same(field.value, old.value) {
            let json = match field.value {
                Some(_) => go_json(field.value, REFERENCE),
                None => "null".to_owned(),
            };
            check.errors.push(FieldError::invalid_json(&field.path, &json, IMMUTABLE));
        } else {
            field.check_immutable(&mut check.errors, &old);
        }
    }
}

/// The rules of both groups, except for the name of the reporting controller.
fn check_fields(event: &Cursor<'_>, controller: &str, errors: &mut Errors) {
    let namespace = event.at(&["metadata", "namespace"]).text();
    let of_object = event.at(&["involvedObject", "namespace"]);
    let is_new_style = has_time(event, "eventTime");
    let expected = match (of_object.text().is_empty(), is_new_style) {
        (true, true) => matches!(namespace, "default" | "kube-system"),
        (true, false) => matches!(namespace, "" | "default"),
        (false, true) => true,
        (false, false) => namespace == of_object.text(),
    };
    if !expected {
        errors.push(of_object.invalid_text("does not match event.namespace"));
    }
    if is_new_style {
        let controller = event.child("reportingComponent").shown_at(FieldPath::new(controller));
        controller.check_present(errors);
        controller.check(errors, format::qualified_name);
        let mut check_length = |name: &str, limit: usize, needed: bool| {
            let text = event.child(name);
            if needed {
                text.check_present(errors);
            }
            if text.text().len() > limit {
                let detail = format!("can have at most {limit} characters");
                errors.push(FieldError::invalid_text(&text.path, "", &detail));
            }
        };
        for (name, limit) in LIMITS {
            check_length(name, limit, true);
        }
        check_length("message", MESSAGE_LENGTH, false);
    }
    let place = Cursor { value: Some(Value::String(namespace)), path: FieldPath::new("namespace") };
    place.check(errors, format::dns_subdomain);
}
