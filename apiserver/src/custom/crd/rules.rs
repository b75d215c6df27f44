//! What is wrong with the rules of a definition: how they are written, and whether they can be evaluated.

use baton_merge::value::Value;
use serde_json::json;

use super::super::rules::ValidationRule;
use super::super::schema::Schema;
use super::expressions;
use crate::field::{FieldError, FieldPath, escaped};

const REASONS: [&str; 4] =
    ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];

/// How the rules of a schema are written.
pub(super) fn check(schema: &Schema, path: &FieldPath, errors: &mut Vec<FieldError>) {
    for (index, rule) in schema.rules.iter().enumerate() {
        let at = path.child("x-kubernetes-validations").index(index);
        check_text(rule, &at, errors);
        if !rule.message_expression.is_empty() && rule.message_expression.trim().is_empty() {
            let detail = "messageExpression must be non-empty if specified";
            errors.push(FieldError::required(&at.child("messageExpression"), detail));
        }
        if let Some(reason) = rule.reason.as_deref().filter(|reason| !REASONS.contains(reason)) {
            errors.push(FieldError::not_supported(&at.child("reason"), Value::String(reason), &REASONS));
        }
        let field_path = rule.field_path.as_str();
        if field_path.is_empty() {
            continue;
        }
        let at = at.child("fieldPath");
        if field_path.trim().is_empty() {
            errors.push(FieldError::invalid_text(&at, field_path, "must be non-empty if specified"));
        }
        if has_lines(field_path) {
            errors.push(FieldError::invalid_text(&at, field_path, "must not contain line breaks"));
        }
        if !leads_somewhere(schema, field_path) {
            errors.push(FieldError::invalid_text(&at, field_path, "must be a valid path"));
        }
    }
}

fn check_text(rule: &ValidationRule, at: &FieldPath, errors: &mut Vec<FieldError>) {
    let (text, message) = (rule.rule.trim(), rule.message.trim());
    let message_at = at.child("message");
    if text.is_empty() {
        errors.push(FieldError::required(&at.child("rule"), "rule is not specified"));
    } else if !rule.message.is_empty() && message.is_empty() {
        errors.push(FieldError::invalid_text(&message_at, &rule.message, "must be non-empty if specified"));
    } else if has_lines(message) {
        errors.push(FieldError::invalid_text(&message_at, &rule.message, "must not contain line breaks"));
    } else if has_lines(text) && message.is_empty() {
        let detail = "message must be specified if rule contains line breaks";
        errors.push(FieldError::required(&message_at, detail));
    }
}

fn has_lines(text: &str) -> bool {
    text.contains(['\n', '\r'])
}

/// Whether a path such as `.spec['a-b']` leads to a field of a schema.
fn leads_somewhere(schema: &Schema, path: &str) -> bool {
    let mut schema = schema;
    let mut rest = path;
    while !rest.is_empty() {
        let (name, after) = if let Some(quoted) = rest.strip_prefix("['") {
            let Some((name, after)) = quoted.split_once("']") else { return false };
            (name, after)
        } else if let Some(plain) = rest.strip_prefix('.') {
            plain.split_at(plain.find(['.', '[']).unwrap_or(plain.len()))
        } else {
            return false;
        };
        let name = name.replace("\\'", "'");
        let below = if schema.properties.is_empty() { schema.values() } else { schema.properties.get(&name) };
        let Some(below) = below else { return false };
        (schema, rest) = (below, after);
    }
    true
}

/// Whether the rules of a schema can be evaluated.
pub(super) fn compile(
    schema: &Schema,
    is_object: bool,
    path: &FieldPath,
    no_old_self: Option<&FieldPath>,
    errors: &mut Vec<FieldError>,
) {
    for (index, rule) in schema.rules.iter().enumerate() {
        let at = path.child("x-kubernetes-validations").index(index);
        // The type has no names for JSON, so Go writes those of its fields.
        let shown = format!(
            r#"{{"Rule":{},"Message":{},"MessageExpression":{},"Reason":{},"FieldPath":{},"OptionalOldSelf":{}}}"#,
            json!(rule.rule),
            json!(rule.message),
            json!(rule.message_expression),
            json!(rule.reason),
            json!(rule.field_path),
            json!(rule.optional_old_self),
        );
        let shown = escaped(&shown);
        let wrong = |(name, why): (&str, String)| FieldError::invalid_json(&at.child(name), &shown, &why);
        errors.extend(expressions::check(schema, is_object, rule).map(wrong));
        if rule.uses_old_self() {
            if let Some(path) = no_old_self {
                let detail = format!(
                    "oldSelf cannot be used on the uncorrelatable portion of the schema within {path}"
                );
                errors.push(FieldError::invalid_text(&at.child("rule"), &rule.rule, &detail));
            }
        } else if let Some(optional) = rule.optional_old_self {
            let detail = "may not be set if oldSelf is not used in rule";
            let at = at.child("optionalOldSelf");
            errors.push(FieldError::invalid_json(&at, &optional.to_string(), detail));
        }
    }
}
