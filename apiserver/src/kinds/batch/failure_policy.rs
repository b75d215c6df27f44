//! Validation of the failure and success policies of jobs.

use std::collections::BTreeSet;

use super::indexes;
use crate::field::FieldError;
use crate::kinds::{
    cursor::{Cursor, Errors},
    format,
    go_json::{GoField, GoType, go_json},
};

const RULES: usize = 20;
const EXIT_CODES: usize = 255;
const CONDITIONS: usize = 20;
const INDEXES_LENGTH: usize = 64 << 10;
const ACTIONS: [&str; 4] = ["Count", "FailIndex", "FailJob", "Ignore"];

/// The success policy as Go prints it.
const SUCCESS: &[GoField] = &[(
    "Rules",
    "rules",
    GoType::List(&[
        ("SucceededIndexes", "succeededIndexes", GoType::Plain("null")),
        ("SucceededCount", "succeededCount", GoType::Plain("null")),
    ]),
)];

/// Validates the failure policy.
pub(super) fn check(spec: &Cursor<'_>, errors: &mut Errors) {
    let rules = spec.at(&["podFailurePolicy", "rules"]);
    if rules.len() > RULES {
        errors.push(FieldError::too_many(&rules.path, rules.len(), RULES));
    }
    for rule in rules.items() {
        let action = rule.child("action");
        match action.text() {
            "" => {
                let quoted: Vec<_> = ACTIONS.iter().map(|action| format!("{action:?}")).collect();
                errors.push(action.required(&format!("valid values: [{}]", quoted.join(" "))));
            }
            "FailIndex" if !spec.has("backoffLimitPerIndex") => {
                errors.push(action.invalid_text("requires the backoffLimitPerIndex to be set"));
            }
            _ => action.check_one_of(errors, &ACTIONS),
        }
        let (codes, conditions) = (rule.child("onExitCodes"), rule.child("onPodConditions"));
        if codes.is_set() {
            check_exit_codes(&codes, spec, errors);
        }
        check_conditions(&conditions, errors);
        match (codes.is_set(), conditions.len() > 0) {
            (true, true) => errors.push(FieldError::invalid_omitted(
                &rule.path,
                "specifying both OnExitCodes and OnPodConditions is not supported",
            )),
            (false, false) => errors.push(FieldError::invalid_omitted(
                &rule.path,
                "specifying one of OnExitCodes and OnPodConditions is required",
            )),
            _ => {}
        }
    }
}

/// A required field with these choices.
fn check_choice(choice: &Cursor<'_>, choices: &[&str], errors: &mut Errors) {
    if choice.text().is_empty() {
        let quoted: Vec<_> = choices.iter().map(|choice| format!("{choice:?}")).collect();
        errors.push(choice.required(&format!("valid values: [{}]", quoted.join(" "))));
    } else {
        choice.check_one_of(errors, choices);
    }
}

fn check_exit_codes(codes: &Cursor<'_>, spec: &Cursor<'_>, errors: &mut Errors) {
    let operator = codes.child("operator");
    check_choice(&operator, &["In", "NotIn"], errors);
    let container = codes.child("containerName");
    let is_named = |list: &str| {
        spec.at(&["template", "spec", list]).items().any(|other| other.text_of("name") == container.text())
    };
    if container.is_set() && !is_named("containers") && !is_named("initContainers") {
        let detail = "must be one of the container or initContainer names in the pod template";
        errors.push(container.invalid_text(detail));
    }
    let values = codes.child("values");
    if values.len() == 0 {
        errors.push(values.invalid("at least one value is required"));
    } else if values.len() > EXIT_CODES {
        errors.push(FieldError::too_many(&values.path, values.len(), EXIT_CODES));
    }
    let mut seen = BTreeSet::new();
    for value in values.items() {
        if operator.text() == "In" && value.int() == 0 {
            errors.push(value.invalid_int("must not be 0 for the In operator"));
        }
        if !seen.insert(value.int()) {
            errors.push(value.duplicate());
        }
    }
    if !values.items().map(|value| value.int()).is_sorted() {
        errors.push(values.invalid("must be ordered"));
    }
}

fn check_conditions(conditions: &Cursor<'_>, errors: &mut Errors) {
    if conditions.len() > CONDITIONS {
        errors.push(FieldError::too_many(&conditions.path, conditions.len(), CONDITIONS));
    }
    for condition in conditions.items() {
        condition.child("type").check(errors, format::qualified_name);
        check_choice(&condition.child("status"), &["False", "True", "Unknown"], errors);
    }
}

/// Validates the success policy.
pub(super) fn check_success(spec: &Cursor<'_>, errors: &mut Errors) {
    let policy = spec.child("successPolicy");
    if !policy.is_set() {
        return;
    }
    if spec.text_of("completionMode") != "Indexed" {
        let json = go_json(policy.value, SUCCESS);
        errors.push(FieldError::invalid_json(&policy.path, &json, "requires indexed completion mode"));
        return;
    }
    let rules = policy.child("rules");
    if rules.len() == 0 {
        errors
            .push(rules.required("at least one rules must be specified when the successPolicy is specified"));
    }
    if rules.len() > RULES {
        errors.push(FieldError::too_many(&rules.path, rules.len(), RULES));
    }
    let completions = spec.int_of("completions");
    for rule in rules.items() {
        check_success_rule(&rule, completions, errors);
    }
}

fn check_success_rule(rule: &Cursor<'_>, completions: i64, errors: &mut Errors) {
    let (count, which) = (rule.child("succeededCount"), rule.child("succeededIndexes"));
    if !count.is_set() && !which.is_set() {
        errors.push(rule.required("at least one of succeededCount or succeededIndexes must be specified"));
    }
    if which.text().len() > INDEXES_LENGTH {
        errors.push(FieldError::too_long(&which.path, INDEXES_LENGTH));
    }
    let total = indexes::count(which.text(), completions).unwrap_or_else(|problem| {
        errors.push(which.invalid_text(&format!("error parsing succeededIndexes: {problem}")));
        0
    });
    if !count.is_set() {
        return;
    }
    count.check_non_negative(errors);
    if count.int() > completions {
        errors.push(count.invalid_int(&format!(
            "must be less than or equal to {completions} (the number of specified completions)"
        )));
    }
    if which.is_set() && count.int() > total {
        errors.push(count.invalid_int(&format!(
            "must be less than or equal to {total} (the number of indexes in the specified succeededIndexes field)"
        )));
    }
}
