//! Validation of deployments.

use super::{
    STRATEGY, check_at_most_all, check_collision_count, check_counts, check_int_or_percent, check_match,
    check_runs_on, check_selector, check_selector_immutable, int_or_percent,
};
use crate::field::FieldError;
use crate::kinds::{
    check::Check,
    cursor::{Cursor, Errors},
    go_json::go_json,
    pod,
};

pub(in crate::kinds) fn deployment(check: &mut Check<'_>) {
    check.metadata_or_update();
    let (spec, errors) = (check.spec(), &mut check.errors);
    spec.child("replicas").check_non_negative(errors);
    if check_selector(&spec, "deployment", "invalid label selector", errors) {
        check_match(&spec, errors);
        let template = spec.child("template");
        pod::check_template(&template, errors);
        check_runs_on(&template, "ReplicaSet", errors);
    }
    check_deployment_strategy(&spec.child("strategy"), errors);
    spec.check_none_negative(errors, &["minReadySeconds", "revisionHistoryLimit"]);
    let deadline = spec.child("progressDeadlineSeconds");
    if deadline.is_set() {
        deadline.check_non_negative(errors);
        if deadline.int() <= spec.int_of("minReadySeconds") {
            errors.push(deadline.invalid_int("must be greater than minReadySeconds"));
        }
    }
    check_selector_immutable(check);
}

fn check_deployment_strategy(strategy: &Cursor<'_>, errors: &mut Errors) {
    let rolling = strategy.child("rollingUpdate");
    match strategy.text_of("type") {
        "Recreate" => {
            rolling.check_unset(errors, "may not be specified when strategy `type` is 'Recreate'");
        }
        "RollingUpdate" if !rolling.is_set() => {
            errors.push(rolling.required("this should be defaulted and never be nil"));
        }
        "RollingUpdate" => {
            let (unavailable, surge) = (rolling.child("maxUnavailable"), rolling.child("maxSurge"));
            check_int_or_percent(&unavailable, errors);
            check_int_or_percent(&surge, errors);
            if int_or_percent(&unavailable) == 0 && int_or_percent(&surge) == 0 {
                errors.push(unavailable.invalid("may not be 0 when `maxSurge` is 0"));
            }
            check_at_most_all(&unavailable, errors);
        }
        _ => {
            let json = go_json(strategy.value, STRATEGY);
            errors.push(FieldError::not_supported_json(
                &strategy.path,
                &json,
                &["Recreate", "RollingUpdate"],
            ));
        }
    }
}

pub(in crate::kinds) fn deployment_status(check: &mut Check<'_>) {
    check.metadata_update();
    let (status, errors) = (check.status(), &mut check.errors);
    status.check_none_negative(
        errors,
        &[
            "observedGeneration",
            "replicas",
            "updatedReplicas",
            "readyReplicas",
            "availableReplicas",
            "unavailableReplicas",
            "terminatingReplicas",
            "collisionCount",
        ],
    );
    let counts = ["updatedReplicas", "readyReplicas", "availableReplicas"];
    check_counts(&status, &counts, "cannot be greater than readyReplicas", errors);
    check_collision_count(check);
}
