//! Validation of disruption budgets, leases and priority classes.

use baton_merge::value::Value;

use super::{
    apps::{check_at_most_all, check_int_or_percent},
    check::Check,
    cursor::{Cursor, Errors},
    format,
    go_json::{GoField, GoType, go_json},
    metadata::check_label_key,
    pod::check_preemption_policy,
    selector,
};
use crate::field::FieldError;

/// The spec of a disruption budget, as Go prints it.
const BUDGET_SPEC: &[GoField] = &[
    ("MinAvailable", "minAvailable", GoType::Plain("null")),
    ("Selector", "selector", GoType::Selector),
    ("MaxUnavailable", "maxUnavailable", GoType::Plain("null")),
    ("UnhealthyPodEvictionPolicy", "unhealthyPodEvictionPolicy", GoType::Plain("null")),
];

/// The highest priority of a user's class.
const HIGHEST_PRIORITY: i64 = 1_000_000_000;

/// The system classes: name, value and description.
pub(crate) const SYSTEM_CLASSES: [(&str, i32, &str); 2] = [
    (
        "system-cluster-critical",
        2_000_000_000,
        "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
    ),
    (
        "system-node-critical",
        2_000_001_000,
        "Used for system critical pods that must not be moved from their current node.",
    ),
];

pub(super) fn disruption_budget(check: &mut Check<'_>) {
    let (spec, errors) = (check.spec(), &mut check.errors);
    let amounts = ["minAvailable", "maxUnavailable"].map(|name| spec.child(name));
    if amounts.iter().all(Cursor::is_set) {
        let detail = "minAvailable and maxUnavailable cannot be both set";
        errors.push(FieldError::invalid_json(&spec.path, &go_json(spec.value, BUDGET_SPEC), detail));
    }
    for amount in amounts.iter().filter(|amount| amount.is_set()) {
        check_int_or_percent(amount, errors);
        check_at_most_all(amount, errors);
    }
    selector::check(&spec.child("selector"), errors);
    spec.child("unhealthyPodEvictionPolicy").check_one_of(errors, &["AlwaysAllow", "IfHealthyBudget"]);
}

pub(super) fn disruption_budget_status(check: &mut Check<'_>) {
    let (status, errors) = (check.status(), &mut check.errors);
    check_conditions(&status.child("conditions"), errors);
    status.check_none_negative(
        errors,
        &["disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"],
    );
}

fn check_conditions(conditions: &Cursor<'_>, errors: &mut Errors) {
    const REASON_LENGTH: usize = 1 << 10;
    const MESSAGE_LENGTH: usize = 32 << 10;

    let mut types = std::collections::BTreeSet::new();
    for condition in conditions.items() {
        let part = |name| condition.child(name);
        let (kind, reason, message) = (part("type"), part("reason"), part("message"));
        if !types.insert(kind.text()) {
            errors.push(kind.duplicate());
        }
        check_label_key(&kind, kind.text(), errors);
        let status = part("status");
        if !matches!(status.text(), "True" | "False" | "Unknown") {
            errors.push(status.not_supported(&["False", "True", "Unknown"]));
        }
        let generation = part("observedGeneration");
        if generation.int() < 0 {
            errors.push(generation.invalid_int("must be greater than or equal to zero"));
        }
        part("lastTransitionTime").check_present(errors);
        reason.check_required(errors, format::condition_reason);
        for (text, limit) in [(reason, REASON_LENGTH), (message, MESSAGE_LENGTH)] {
            if text.text().len() > limit {
                errors.push(FieldError::too_long(&text.path, limit));
            }
        }
    }
}

/// Validates a lease, the only built-in kind whose finalizers need no prefix.
pub(super) fn lease(check: &mut Check<'_>) {
    let meta = check.new.child("metadata");
    match &check.old {
        Some(old) => super::metadata::check_update(&meta, &old.child("metadata"), &mut check.errors),
        None => super::metadata::check(&meta, &mut check.errors, check.kind.name_rule, check.kind.namespaced),
    }
    let (spec, errors) = (check.spec(), &mut check.errors);
    let duration = spec.child("leaseDurationSeconds");
    if duration.is_set() && duration.int() <= 0 {
        errors.push(duration.invalid_int("must be greater than 0"));
    }
    spec.child("leaseTransitions").check_non_negative(errors);
    let strategy = spec.child("strategy");
    if strategy.is_set() {
        // The server repeats the field in its path.
        let place = strategy.shown_at(strategy.path.child("strategy"));
        if strategy.text().contains('/') {
            place.check(errors, format::qualified_name);
        } else {
            place.check_one_of(errors, &["OldestEmulationVersion"]);
        }
    }
    let preferred = spec.child("preferredHolder");
    if !preferred.text().is_empty() && strategy.text().is_empty() {
        errors.push(preferred.forbidden("may only be specified if `strategy` is defined"));
    }
}

pub(super) fn priority_class(check: &mut Check<'_>) {
    check.metadata_or_update();
    let (value, policy) = (check.new.child("value"), check.new.child("preemptionPolicy"));
    if check.old.is_some() {
        if value.int() != check.old_at(&["value"]).int() {
            check.errors.push(value.forbidden("may not be changed in an update."));
        }
        check.immutable(&["preemptionPolicy"]);
        return;
    }
    let name = check.new.at(&["metadata", "name"]);
    let errors = &mut check.errors;
    if name.text().starts_with("system-") {
        let known = SYSTEM_CLASSES.iter().find(|(class, ..)| *class == name.text());
        let problem = match known {
            None => Some(format!("{} is not a known system priority class", name.text())),
            Some((class, priority, _)) if value.int() != i64::from(*priority) => {
                Some(format!("value of {class} PriorityClass must be {priority}"))
            }
            Some((class, ..)) if check.new.get("globalDefault") == Some(Value::Bool(true)) => {
                Some(format!("globalDefault of {class} PriorityClass must be false"))
            }
            Some(_) => None,
        };
        if let Some(problem) = problem {
            errors.push(name.forbidden(&format!(
                "priority class names with 'system-' prefix are reserved for system use only. error: {problem}"
            )));
        }
    } else if value.int() > HIGHEST_PRIORITY {
        let detail = format!("maximum allowed value of a user defined priority is {HIGHEST_PRIORITY}");
        errors.push(value.forbidden(&detail));
    }
    if policy.is_set() {
        check_preemption_policy(&policy, errors);
    }
}
