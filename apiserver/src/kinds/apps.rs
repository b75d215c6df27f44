//! The rules for the kinds that keep pods running: deployments, replica sets, stateful sets, daemon sets.

use baton_merge::{
    Arena,
    value::{Map, Value},
};

use super::{
    check::Check,
    format,
    go_json::{GoField, GoType, go_json},
    node::{Errors, Node},
    pod, selector, storage,
};
use crate::field::FieldError;

/// What is said of a selector that doesn't select the pods of its own template.
pub(super) const NO_MATCH: &str = "`selector` does not match template `labels`";

const ROLLING_UPDATE: &[GoField] =
    &[("MaxUnavailable", "maxUnavailable", GoType::Plain("0")), ("MaxSurge", "maxSurge", GoType::Plain("0"))];

/// The strategies of deployments and daemon sets as the server shows them.
const STRATEGY: &[GoField] = &[
    ("Type", "type", GoType::Plain("\"\"")),
    ("RollingUpdate", "rollingUpdate", GoType::Pointer(ROLLING_UPDATE)),
];

const STATEFUL_ROLLING_UPDATE: &[GoField] = &[
    ("Partition", "partition", GoType::Plain("0")),
    ("MaxUnavailable", "maxUnavailable", GoType::Plain("null")),
];

/// The strategy of stateful sets as the server shows it.
const STATEFUL_STRATEGY: &[GoField] = &[
    ("Type", "type", GoType::Plain("\"\"")),
    ("RollingUpdate", "rollingUpdate", GoType::Pointer(STATEFUL_ROLLING_UPDATE)),
];

/// Pods that are kept running are restarted whenever they end.
pub(super) fn check_runs_on(template: &Node<'_>, kind: &str, errors: &mut Errors) {
    let policy = template.at(&["spec", "restartPolicy"]);
    if policy.text() != "Always" {
        errors.push(policy.not_supported(&["Always"]));
    }
    let deadline = template.at(&["spec", "activeDeadlineSeconds"]);
    if deadline.is_set() {
        errors.push(deadline.forbidden(&format!("activeDeadlineSeconds in {kind} is not Supported")));
    }
}

/// The selector of a controller: it has to be there, and to select by something. Returns whether it can be matched.
fn check_selector(spec: &Node<'_>, kind: &str, broken: &str, errors: &mut Errors) -> bool {
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

/// The labels of the template have to be those that the selector selects.
fn check_match(spec: &Node<'_>, errors: &mut Errors) {
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
            super::node::IMMUTABLE,
        ));
    }
}

/// A number of pods, or a part of them.
pub(super) fn check_int_or_percent(value: &Node<'_>, errors: &mut Errors) {
    if value.value.is_some_and(|value| value.as_str().is_some()) {
        value.check(errors, format::percent);
    } else {
        value.check_non_negative(errors);
    }
}

/// The number in a number of pods, or in a part of them.
fn int_or_percent(value: &Node<'_>) -> i64 {
    if value.text().is_empty() {
        return value.int();
    }
    value.text().trim_end_matches('%').parse().unwrap_or(0)
}

/// A part of the pods isn't more than all.
pub(super) fn check_at_most_all(value: &Node<'_>, errors: &mut Errors) {
    let is_percent = !value.text().is_empty() && format::percent(value.text()).is_empty();
    if is_percent && int_or_percent(value) > 100 {
        errors.push(value.invalid("must not be greater than 100%"));
    }
}

/// The rules for a deployment.
pub(super) fn deployment(check: &mut Check<'_>) {
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

fn check_deployment_strategy(strategy: &Node<'_>, errors: &mut Errors) {
    let rolling = strategy.child("rollingUpdate");
    match strategy.text_of("type") {
        "Recreate" => {
            if rolling.is_set() {
                errors.push(rolling.forbidden("may not be specified when strategy `type` is 'Recreate'"));
            }
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

/// No count of pods is larger than that of all.
fn check_counts(status: &Node<'_>, counts: &[&str], ready: &str, errors: &mut Errors) {
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

/// The rules for the status of a deployment.
pub(super) fn deployment_status(check: &mut Check<'_>) {
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

/// The rules for a replica set.
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

/// The rules for the status of a replica set.
pub(super) fn replica_set_status(check: &mut Check<'_>) {
    check.metadata_update();
    check_replica_counts(check);
}

/// The rules for the counts of a replica set or replication controller.
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

/// The rules for a stateful set.
pub(super) fn stateful_set(check: &mut Check<'_>) {
    /// What may change in the spec of a stateful set.
    const MUTABLE: [&str; 7] = [
        "replicas",
        "template",
        "updateStrategy",
        "minReadySeconds",
        "ordinals",
        "revisionHistoryLimit",
        "persistentVolumeClaimRetentionPolicy",
    ];

    check.metadata_or_update();
    let spec = check.spec();
    let mut checks_template = true;
    if check.old.is_some() {
        // What has been stored with a broken template can still be updated.
        let mut broken = Errors::new();
        check_stateful_spec(&check.old_at(&["spec"]), (false, true), &mut broken);
        checks_template = broken.is_empty();
    }
    check_stateful_spec(&spec, (check.old.is_none(), checks_template), &mut check.errors);
    let old_spec = check.old_at(&["spec"]);
    let arena = Arena::new();
    if let (Some(new), Some(old)) = (spec.value, old_spec.value) {
        let munged = MUTABLE.iter().fold(new, |spec, name| spec.with(&arena, &[name], old.get(name)));
        if munged != old {
            let detail = "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', \
                          'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and \
                          'minReadySeconds' are forbidden";
            check.errors.push(spec.forbidden(detail));
        }
    }
}

fn check_stateful_spec(spec: &Node<'_>, (is_new, checks_template): (bool, bool), errors: &mut Errors) {
    let policy = spec.child("podManagementPolicy");
    match policy.text() {
        "" => errors.push(policy.required("")),
        "OrderedReady" | "Parallel" => {}
        _ => errors.push(policy.invalid_text("must be 'OrderedReady' or 'Parallel'")),
    }
    check_stateful_strategy(&spec.child("updateStrategy"), errors);
    let retention = spec.child("persistentVolumeClaimRetentionPolicy");
    for name in ["whenDeleted", "whenScaled"] {
        let choice = retention.child(name);
        if retention.is_set() && !matches!(choice.text(), "Retain" | "Delete") {
            errors.push(choice.not_supported(&["Retain", "Delete"]));
        }
    }
    let templates = spec.child("volumeClaimTemplates");
    if is_new {
        for template in templates.items() {
            storage::check_claim_spec(&template.child("spec"), errors);
        }
    }
    spec.check_none_negative(errors, &["replicas", "minReadySeconds"]);
    let start = spec.at(&["ordinals", "start"]);
    start.check_non_negative(errors);
    let service = spec.child("serviceName");
    if is_new && !service.text().is_empty() {
        service.check(errors, format::dns_label);
    }
    let template = spec.child("template");
    if check_selector(spec, "statefulset", "", errors) {
        check_match(spec, errors);
        let arena = Arena::new();
        let checked =
            Node { value: with_claimed_volumes(&arena, &template, &templates), path: template.path.clone() };
        if checks_template {
            pod::check_template(&checked, errors);
        }
        pod::check_template_metadata(&checked, errors);
    }
    check_runs_on(&template, "StatefulSet", errors);
}

/// The template with the volumes that the claims become, and without names, which the pods get from their set.
fn with_claimed_volumes<'a>(arena: &'a Arena, template: &Node<'a>, claims: &Node<'a>) -> Option<Value<'a>> {
    let template =
        template.value?.with(arena, &["spec", "subdomain"], None).with(arena, &["spec", "hostname"], None);
    let names: Vec<_> = claims.items().map(|claim| claim.at(&["metadata", "name"]).text()).collect();
    if names.is_empty() {
        return Some(template);
    }
    let claimed = names.iter().map(|name| {
        let source = Value::Map(Map::new(arena, [("claimName", Value::String(name))]));
        Value::Map(Map::new(arena, [("name", Value::String(name)), ("persistentVolumeClaim", source)]))
    });
    let own = template.at(&["spec", "volumes"]).and_then(|volumes| volumes.as_list()).unwrap_or_default();
    let is_claimed = |volume: &&Value<'_>| {
        volume.get("name").and_then(|name| name.as_str()).is_some_and(|name| names.contains(&name))
    };
    let rest = own.iter().filter(|volume| !is_claimed(volume)).copied();
    let volumes = arena.list(claimed.chain(rest));
    Some(template.with(arena, &["spec", "volumes"], Some(Value::List(volumes))))
}

fn check_stateful_strategy(strategy: &Node<'_>, errors: &mut Errors) {
    let rolling = strategy.child("rollingUpdate");
    match strategy.text_of("type") {
        "" => errors.push(strategy.required("")),
        "OnDelete" => {
            if rolling.is_set() {
                let json = go_json(rolling.value, STATEFUL_ROLLING_UPDATE);
                let detail = "only allowed for updateStrategy 'RollingUpdate'";
                errors.push(FieldError::invalid_json(&rolling.path, &json, detail));
            }
        }
        "RollingUpdate" => {
            rolling.child("partition").check_non_negative(errors);
            let unavailable = rolling.child("maxUnavailable");
            if unavailable.is_set() {
                check_int_or_percent(&unavailable, errors);
                if int_or_percent(&unavailable) == 0 {
                    errors.push(unavailable.invalid("cannot be 0"));
                }
                check_at_most_all(&unavailable, errors);
            }
        }
        _ => {
            let json = go_json(strategy.value, STATEFUL_STRATEGY);
            errors.push(FieldError::invalid_json(
                &strategy.path,
                &json,
                "must be 'RollingUpdate' or 'OnDelete'",
            ));
        }
    }
}

/// The rules for the status of a stateful set.
pub(super) fn stateful_set_status(check: &mut Check<'_>) {
    let (status, errors) = (check.status(), &mut check.errors);
    status.check_none_negative(
        errors,
        &[
            "replicas",
            "readyReplicas",
            "currentReplicas",
            "updatedReplicas",
            "availableReplicas",
            "observedGeneration",
            "collisionCount",
        ],
    );
    let counts = ["readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"];
    check_counts(&status, &counts, "cannot be greater than status.readyReplicas", errors);
    check.metadata_update();
    check_collision_count(check);
}

/// The rules for a daemon set.
pub(super) fn daemon_set(check: &mut Check<'_>) {
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

fn check_daemon_strategy(strategy: &Node<'_>, errors: &mut Errors) {
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

/// The rules for the status of a daemon set.
pub(super) fn daemon_set_status(check: &mut Check<'_>) {
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

/// The rules for a revision of a controller.
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
