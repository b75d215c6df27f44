//! Label selectors and node selectors: validation and matching.

use baton_merge::value::Value;

use super::{
    cursor::{Cursor, Errors},
    format,
    metadata::{check_label_key, check_labels},
};
use crate::field::shown;

const VALUES_NEEDED: &str = "must be specified when `operator` is 'In' or 'NotIn'";
const VALUES_FORBIDDEN: &str = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
const UNKNOWN_OPERATOR: &str = "not a valid selector operator";

/// Validates a label selector.
pub(super) fn check(selector: &Cursor<'_>, errors: &mut Errors) {
    check_labels(&selector.child("matchLabels"), errors);
    for requirement in selector.child("matchExpressions").items() {
        let values = requirement.child("values");
        match requirement.text_of("operator") {
            "In" | "NotIn" if values.len() == 0 => errors.push(values.required(VALUES_NEEDED)),
            "Exists" | "DoesNotExist" if values.len() > 0 => errors.push(values.forbidden(VALUES_FORBIDDEN)),
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            _ => errors.push(requirement.child("operator").invalid_text(UNKNOWN_OPERATOR)),
        }
        check_label_key(&requirement.child("key"), requirement.text_of("key"), errors);
        for value in values.items() {
            value.check(errors, format::label_value);
        }
    }
}

/// Whether a label selector is invalid.
pub(super) fn is_broken(selector: &Cursor<'_>) -> bool {
    let mut errors = Errors::new();
    check(selector, &mut errors);
    !errors.is_empty()
}

/// Whether a label selector exists and is empty.
pub(super) fn is_empty(selector: &Cursor<'_>) -> bool {
    selector.is_set() && selector.child("matchLabels").len() + selector.child("matchExpressions").len() == 0
}

/// Whether a label selector matches labels. An absent one matches nothing.
pub(super) fn matches(selector: &Cursor<'_>, labels: &Cursor<'_>) -> bool {
    selector.is_set()
        && map_matches(&selector.child("matchLabels"), labels)
        && selector.child("matchExpressions").items().all(|requirement| {
            let values = requirement.child("values");
            let found = labels.get(requirement.text_of("key"));
            let is_among = found.is_some_and(|found| values.items().any(|value| value.value == Some(found)));
            match requirement.text_of("operator") {
                "In" => is_among,
                "NotIn" => !is_among,
                "Exists" => found.is_some(),
                "DoesNotExist" => found.is_none(),
                _ => false,
            }
        })
}

/// Whether labels have all members of a map.
pub(super) fn map_matches(wanted: &Cursor<'_>, labels: &Cursor<'_>) -> bool {
    wanted.members().all(|(key, value)| labels.get(key) == value.value)
}

/// A label selector as Go prints it.
pub(super) fn selector_json(selector: Option<Value<'_>>) -> String {
    let Some(selector) = selector else { return "null".to_owned() };
    let members: Vec<_> = ["matchLabels", "matchExpressions"]
        .iter()
        .filter_map(|name| Some(format!("\"{name}\":{}", shown(selector.get(name)?))))
        .collect();
    format!("{{{}}}", members.join(","))
}

/// Validates a node selector, whose terms are required.
pub(super) fn check_node_selector(selector: &Cursor<'_>, errors: &mut Errors) {
    let terms = selector.child("nodeSelectorTerms");
    if terms.len() == 0 {
        errors.push(terms.required("must have at least one node selector term"));
    }
    for term in terms.items() {
        check_node_selector_term(&term, errors, true);
    }
}

/// Validates a term of a node selector. Only those of required terms need valid values.
pub(super) fn check_node_selector_term(term: &Cursor<'_>, errors: &mut Errors, required: bool) {
    for requirement in term.child("matchExpressions").items() {
        let values = requirement.child("values");
        match (requirement.text_of("operator"), values.len()) {
            ("In" | "NotIn", 0) => errors.push(values.required(VALUES_NEEDED)),
            ("Exists" | "DoesNotExist", 1..) => errors.push(values.forbidden(VALUES_FORBIDDEN)),
            ("Gt" | "Lt", 0 | 2..) => {
                let detail = "must be specified single value when `operator` is 'Lt' or 'Gt'";
                errors.push(values.required(detail));
            }
            ("In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt", _) => {}
            _ => errors.push(requirement.child("operator").invalid_text(UNKNOWN_OPERATOR)),
        }
        check_label_key(&requirement.child("key"), requirement.text_of("key"), errors);
        if required {
            for value in values.items() {
                value.check(errors, format::label_value);
            }
        }
    }
    for requirement in term.child("matchFields").items() {
        let values = requirement.child("values");
        if !matches!(requirement.text_of("operator"), "In" | "NotIn") {
            errors.push(requirement.child("operator").invalid_text(UNKNOWN_OPERATOR));
        } else if values.len() != 1 {
            let detail = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector";
            errors.push(values.required(detail));
        }
        if requirement.text_of("key") == "metadata.name" {
            for value in values.items() {
                value.check(errors, format::dns_subdomain);
            }
        } else {
            errors.push(requirement.child("key").invalid_text("not a valid field selector key"));
        }
    }
}
