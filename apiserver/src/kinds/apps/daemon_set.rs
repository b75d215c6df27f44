//! Validation of daemon sets.

use super::{
    STRATEGY, check_at_most_all, check_collision_count, check_int_or_percent, check_match, check_runs_on,
    check_selector_immutable, int_or_percent,
};
use crate::field::FieldError;
use crate::kinds::{
    check::Check,
    cursor::{Cursor, Errors},
    go_json::go_json,
    pod, selector,
};

pub(in crate::kinds) fn daemon_set(check: &mut Check<'_>) {
    check.metadata_or_update();
    check_selector_immutable(check);
    let (spec, errors) = (check.spec(), &mut check.errors);
    let node = spec.child("selector");
    selector::check(&node, errors);
    if !selector::is_broken(&node) {
        check_match(&spec, errors);
    }
    if selector::is_empty(&node) {
        let detail = "empty selector is invalid for daemonset";
        errors.push(FieldError::invalid_json(&node.path, &selector::selector_json(node.value), detail));
    }
    let template = spec.child("template");
    pod::check_template(&template, errors);
    check_runs_on(&template, "DaemonSet", errors);
    spec.child("minReadySeconds").check_non_negative(errors);
    check_daemon_strategy(&spec.child("updateStrategy"), errors);
    spec.child("revisionHistoryLimit").check_non_negative(errors);
}

fn check_daemon_strategy(strategy: &Cursor<'_>, errors: &mut Errors) {
    let rolling = strategy.child("rollingUpdate");
    match strategy.text_of("type") {
        "OnDelete" => {}
        "RollingUpdate" if !rolling.is_set() => errors.push(rolling.required("")),
        "RollingUpdate" => {
            let (unavailable, surge) = (rolling.child("maxUnavailable"), rolling.child("maxSurge"));
            for value in [&unavailable, &surge] {
                check_int_or_percent(value, errors);
            }
            for value in [&unavailable, &surge] {
                check_at_most_all(value, errors);
            }
            match (int_or_percent(&unavailable) != 0, int_or_percent(&surge) != 0) {
                (true, true) => errors.push(surge.invalid("may not be set when maxUnavailable is non-zero")),
                (false, false) => errors.push(unavailable.required("cannot be 0 when maxSurge is 0")),
                _ => {}
            }
        }
        _ => {
            let json = go_json(strategy.value, STRATEGY);
            errors.push(FieldError::not_supported_json(
                &strategy.path,
                &json,
                &["RollingUpdate", "OnDelete"],
            ));
        }
    }
}

pub(in crate::kinds) fn daemon_set_status(check: &mut Check<'_>) {
    check.metadata_update();
    check.status().check_none_negative(
        &mut check.errors,
        &[
            "currentNumberScheduled",
            "numberMisscheduled",
            "desiredNumberScheduled",
            "numberReady",
            "observedGeneration",
            "updatedNumberScheduled",
            "numberAvailable",
            "numberUnavailable",
            "collisionCount",
        ],
    );
    check_collision_count(check);
}
