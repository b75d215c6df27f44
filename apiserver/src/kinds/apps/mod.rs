//! Validation of workloads: deployments, replica sets, stateful sets and daemon sets.

mod daemon_set;
mod deployment;
mod stateful_set;

pub(super) use daemon_set::{daemon_set, daemon_set_status};
pub(super) use deployment::{deployment, deployment_status};
pub(super) use stateful_set::{stateful_set, stateful_set_status};

use super::{
    check::Check,
    cursor::{Cursor, Errors},
    format,
    go_json::{GoField, GoType},
    pod, selector,
};
use crate::field::FieldError;

const ROLLING_UPDATE: &[GoField] =
    &[("MaxUnavailable", "maxUnavailable", GoType::Plain("0")), ("MaxSurge", "maxSurge", GoType::Plain("0"))];

/// Strategies of deployments and daemon sets, as Go prints them.
const STRATEGY: &[GoField] = &[
    ("Type", "type", GoType::Plain("\"\"")),
    ("RollingUpdate", "rollingUpdate", GoType::Pointer(ROLLING_UPDATE)),
];

/// The message for a selector that doesn't match its template.
pub(super) const NO_MATCH: &str = "`selector` does not match template `labels`";

/// Requires `restartPolicy: Always`.
pub(super) fn check_runs_on(template: &Cursor<'_>, kind: &str, errors: &mut Errors) {
    let policy = template.at(&["spec", "restartPolicy"]);
    if policy.text() != "Always" {
        errors.push(policy.not_supported(&["Always"]));
    }
    let deadline = template.at(&["spec", "activeDeadlineSeconds"]);
    if deadline.is_set() {
        errors.push(deadline.forbidden(&format!("activeDeadlineSeconds in {kind} is not Supported")));
    }
}

/// Validates the selector of a controller, which is required and not empty. Returns whether it is valid.
fn check_selector(spec: &Cursor<'_>, kind: &str, broken: &str, errors: &mut Errors) -> bool {
    let node = spec.child("selector");
    if node.is_set() {
        selector::check(&node, errors);
        if selector::is_empty(&node) {
            let detail = format!("empty selector is invalid for {kind}");
            errors.push(FieldError::invalid_json(&node.path, &selector::selector_json(node.value), &detail));
        }
    } else {
        errors.push(node.required(""));
    }
    let is_broken = selector::is_broken(&node);
    if is_broken {
        errors.push(FieldError::invalid_json(&node.path, &selector::selector_json(node.value), broken));
    }
    !is_broken
}

/// Requires that the selector matches the template's labels.
fn check_match(spec: &Cursor<'_>, errors: &mut Errors) {
    let node = spec.child("selector");
    let labels = spec.at(&["template", "metadata", "labels"]);
    if !selector::matches(&node, &labels) {
        errors.push(labels.invalid(NO_MATCH));
    }
}

fn check_selector_immutable(check: &mut Check<'_>) {
    let (new, old) = (check.new.at(&["spec", "selector"]), check.old_at(&["spec", "selector"]));
    if check.old.is_some() && new.value != old.value {
        check.errors.push(FieldError::invalid_json(
            &new.path,
            &selector::selector_json(new.value),
            super::cursor::IMMUTABLE,
        ));
    }
}

/// Validates a count or a percentage of pods.
pub(super) fn check_int_or_percent(value: &Cursor<'_>, errors: &mut Errors) {
    if value.value.is_some_and(|value| value.as_str().is_some()) {
        value.check(errors, format::percent);
    } else {
        value.check_non_negative(errors);
    }
}

/// The number of a count or a percentage.
fn int_or_percent(value: &Cursor<'_>) -> i64 {
    if value.text().is_empty() {
        return value.int();
    }
    match value.text().strip_suffix('%') {
        Some(percent) if percent.bytes().all(|byte| byte.is_ascii_digit()) => percent.parse().unwrap_or(0),
        _ => value.text().parse().unwrap_or(0),
    }
}

/// A percentage is at most 100%.
pub(super) fn check_at_most_all(value: &Cursor<'_>, errors: &mut Errors) {
    let is_percent = !value.text().is_empty() && format::percent(value.text()).is_empty();
    if is_percent && int_or_percent(value) > 100 {
        errors.push(value.invalid("must not be greater than 100%"));
    }
}

/// Counts of pods are at most the total.
fn check_counts(status: &Cursor<'_>, counts: &[&str], ready: &str, errors: &mut Errors) {
    let mut check = |name: &str, most: i64, detail: &str| {
        let count = status.child(name);
        if count.int() > most {
            errors.push(count.invalid_int(detail));
        }
    };
    for name in counts {
        check(name, status.int_of("replicas"), "cannot be greater than status.replicas");
    }
    check("availableReplicas", status.int_of("readyReplicas"), ready);
}

fn check_collision_count(check: &mut Check<'_>) {
    let (new, old) =
        (check.new.at(&["status", "collisionCount"]), check.old_at(&["status", "collisionCount"]));
    if old.is_set() && (!new.is_set() || new.int() < old.int()) {
        check.errors.push(new.invalid_int("cannot be decremented"));
    }
}

pub(super) fn replica_set(check: &mut Check<'_>) {
    check.metadata_or_update();
    let (spec, errors) = (check.spec(), &mut check.errors);
    spec.check_none_negative(errors, &["replicas", "minReadySeconds"]);
    if check_selector(&spec, "deployment", "invalid label selector", errors) {
        check_match(&spec, errors);
        let template = spec.child("template");
        pod::check_template(&template, errors);
        check_runs_on(&template, "ReplicaSet", errors);
    }
    check_selector_immutable(check);
}

pub(super) fn replica_set_status(check: &mut Check<'_>) {
    check.metadata_update();
    check_replica_counts(check);
}

/// Validates the counts of a replica set or replication controller.
pub(super) fn check_replica_counts(check: &mut Check<'_>) {
    let (status, errors) = (check.status(), &mut check.errors);
    status.check_none_negative(
        errors,
        &[
            "replicas",
            "fullyLabeledReplicas",
            "readyReplicas",
            "availableReplicas",
            "observedGeneration",
            "terminatingReplicas",
        ],
    );
    let counts = ["fullyLabeledReplicas", "readyReplicas", "availableReplicas"];
    check_counts(&status, &counts, "cannot be greater than readyReplicas", errors);
}

pub(super) fn controller_revision(check: &mut Check<'_>) {
    check.metadata_update_and_metadata();
    check.new.child("revision").check_non_negative(&mut check.errors);
    let data = check.new.child("data");
    if check.old.is_some() {
        check.immutable(&["data"]);
    } else if data.value.is_none_or(|data| data.is_null()) {
        check.errors.push(data.required("data is mandatory"));
    } else if data.value.is_some_and(|data| data.as_map().is_none()) {
        check.errors.push(data.required("data must be a valid JSON object"));
    }
}
