//! Validation of rules: their form, their types and their cost.

use baton_merge::value::Value;
use kube_cel::cel::IdedExpr;
use serde_json::json;

use super::super::rules::ValidationRule;
use super::super::schema::Schema;
use super::declared::{Declared, MAX_REQUEST};
use super::{costs, expressions};
use crate::field::{FieldError, FieldPath, escaped};

const REASONS: [&str; 4] =
    ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];

/// Validates the form of a schema's rules.
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
        if !has_field(schema, field_path) {
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

/// Whether a path such as `.spec['a-b']` exists in a schema.
fn has_field(schema: &Schema, path: &str) -> bool {
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

/// The estimated cost of all rules of a version.
#[derive(Default)]
pub(super) struct Total {
    cost: u64,
    /// The most expensive rules, with their paths.
    rules: Vec<(FieldPath, u64)>,
}

impl Total {
    fn add(&mut self, at: FieldPath, cost: u64) {
        self.cost = self.cost.saturating_add(cost);
        if cost >= costs::SCHEMA_LIMIT / 100 {
            self.rules.push((at, cost));
        }
    }

    /// Refuses rules whose total cost is too high.
    pub(super) fn check(mut self, path: &FieldPath, errors: &mut Vec<FieldError>) {
        if self.cost <= costs::SCHEMA_LIMIT {
            return;
        }
        self.rules.sort_by_key(|(_, cost)| std::cmp::Reverse(*cost));
        let detail =
            "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema";
        errors.extend(self.rules.iter().take(4).map(|(at, _)| FieldError::forbidden(at, detail)));
        let of = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema";
        errors.push(FieldError::forbidden(path, &costs::excess(of, self.cost, costs::SCHEMA_LIMIT)));
    }
}

/// The context of a schema whose rules are compiled.
#[derive(Clone, Copy)]
pub(super) struct RuleContext<'p> {
    pub(super) path: &'p FieldPath,
    pub(super) is_object: bool,
    /// The outermost schema below which old values can't be correlated.
    pub(super) no_old_self: Option<&'p FieldPath>,
    /// The most values of the schema in an object, if there is a limit.
    pub(super) most: Option<u64>,
}

/// Compiles and estimates the rules of a schema.
pub(super) fn compile(
    schema: &Schema,
    context: RuleContext<'_>,
    total: &mut Total,
    errors: &mut Vec<FieldError>,
) {
    let RuleContext { path, is_object, no_old_self, most } = context;
    let declared = Declared::of(schema, is_object);
    let most = declared.as_ref().map(|declared| most.unwrap_or(MAX_REQUEST / (declared.min_size + 1)));
    for (index, rule) in schema.rules.iter().enumerate() {
        let at = path.child("x-kubernetes-validations").index(index);
        // Go's type has no JSON names, so the names of its fields are printed.
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
        let mut cost = |name: &str, of: &str, expression: Result<&IdedExpr, &str>, times: u64| {
            if let (Some(declared), Ok(expression)) = (&declared, expression) {
                let cost = costs::estimate(declared, expression).saturating_mul(times);
                if cost > costs::RULE_LIMIT {
                    let detail = costs::excess(of, cost, costs::RULE_LIMIT);
                    errors.push(FieldError::forbidden(&at.child(name), &detail));
                }
                total.add(at.child(name), cost);
            }
        };
        let found = expressions::check(schema, is_object, rule);
        if !matches!(found, Some(("rule", _))) {
            cost("rule", "estimated rule cost", rule.expression(), most.unwrap_or(1));
        }
        if let (None, Some(expression)) = (&found, rule.made_message_expression()) {
            cost("messageExpression", "estimated messageExpression cost", expression, 1);
        }
        let wrong = |(name, why): (&str, String)| FieldError::invalid_json(&at.child(name), &shown, &why);
        errors.extend(found.map(wrong));
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
