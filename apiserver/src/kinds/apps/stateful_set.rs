//! Validation of stateful sets.

use baton_merge::{
    Arena,
    value::{Map, Value},
};

use super::{
    check_at_most_all, check_collision_count, check_counts, check_int_or_percent, check_match, check_runs_on,
    check_selector, int_or_percent,
};
use crate::field::FieldError;
use crate::kinds::{
    check::Check,
    cursor::{Cursor, Errors},
    format,
    go_json::{GoField, GoType, go_json},
    pod, storage,
};

const STATEFUL_ROLLING_UPDATE: &[GoField] = &[
    ("Partition", "partition", GoType::Plain("0")),
    ("MaxUnavailable", "maxUnavailable", GoType::Plain("null")),
];

/// The strategy as Go prints it.
const STATEFUL_STRATEGY: &[GoField] = &[
    ("Type", "type", GoType::Plain("\"\"")),
    ("RollingUpdate", "rollingUpdate", GoType::Pointer(STATEFUL_ROLLING_UPDATE)),
];

pub(in crate::kinds) fn stateful_set(check: &mut Check<'_>) {
    /// The mutable fields of the spec.
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
        // A stored object with an invalid template can still be updated.
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

fn check_stateful_spec(spec: &Cursor<'_>, (is_new, checks_template): (bool, bool), errors: &mut Errors) {
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
        let checked = Cursor {
            value: with_claimed_volumes(&arena, &template, &templates),
            path: template.path.clone(),
        };
        if checks_template {
            pod::check_template(&checked, errors);
        }
        pod::check_template_metadata(&checked, errors);
    }
    check_runs_on(&template, "StatefulSet", errors);
}

/// The template with the claims as volumes, and without names, which the set gives to its pods.
fn with_claimed_volumes<'a>(
    arena: &'a Arena,
    template: &Cursor<'a>,
    claims: &Cursor<'a>,
) -> Option<Value<'a>> {
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

fn check_stateful_strategy(strategy: &Cursor<'_>, errors: &mut Errors) {
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

pub(in crate::kinds) fn stateful_set_status(check: &mut Check<'_>) {
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
