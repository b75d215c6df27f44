//! Validation of jobs, and for the templates of jobs.

use baton_merge::{
    Arena,
    value::{Map, Value},
};

use super::{failure_policy, has_condition};
use crate::field::FieldError;
use crate::kinds::{
    apps::NO_MATCH,
    check::Check,
    cursor::{Cursor, Errors, IMMUTABLE, same},
    format,
    networking::check_prefixed_path,
    pod, selector,
};

/// The labels of a job's pods: the legacy and the current key of each.
pub(in crate::kinds) const JOB_NAME: [&str; 2] = ["job-name", "batch.kubernetes.io/job-name"];
pub(in crate::kinds) const CONTROLLER_UID: [&str; 2] =
    ["controller-uid", "batch.kubernetes.io/controller-uid"];

const MAX_PARALLELISM: i64 = 100_000;
const MAX_FAILED_INDEXES: i64 = 100_000;
const MANY_COMPLETIONS: i64 = 100_000;
const LIMIT_FOR_MANY: i64 = 10_000;
const MANAGED_BY_LENGTH: usize = 63;

pub(in crate::kinds) fn job(check: &mut Check<'_>) {
    check_job(check);
    if check.old.is_some() {
        check.metadata_update();
        check_spec_and_selector(&check.spec(), &mut check.errors);
        check_update(check);
    }
}

fn check_job(check: &mut Check<'_>) {
    check.metadata();
    let (spec, name) = (check.spec(), check.new.at(&["metadata", "name"]));
    let old_labels = check.old_at(&["spec", "template", "metadata", "labels"]);
    let prefixed = check.old.is_none() || (old_labels.has(JOB_NAME[1]) && old_labels.has(CONTROLLER_UID[1]));
    check_generated_selector(&check.new.clone(), prefixed, &mut check.errors);
    check_spec_and_selector(&spec, &mut check.errors);
    let completions = spec.int_of("completions");
    if spec.text_of("completionMode") == "Indexed" && completions > 0 {
        let last = format!("{}-{}", name.text(), completions - 1);
        if !format::dns_label(&last).is_empty() {
            let detail = format!("will not able to create pod with invalid DNS label: {last}");
            check.errors.push(name.invalid_text(&detail));
        }
    }
}

fn check_generated_selector(job: &Cursor<'_>, prefixed: bool, errors: &mut Errors) {
    let spec = job.child("spec");
    let selector = spec.child("selector");
    if spec.flag_of("manualSelector") || !selector.is_set() {
        return;
    }
    let (name, uid) = (job.at(&["metadata", "name"]).text(), job.at(&["metadata", "uid"]));
    uid.check_present(errors);
    let labels = spec.at(&["template", "metadata", "labels"]);
    let mut expected = vec![];
    for position in if prefixed { 0..2 } else { 0..1 } {
        for (key, value) in [(CONTROLLER_UID[position], uid.text()), (JOB_NAME[position], name)] {
            expected.push((key, Value::String(value)));
            let label = labels.shown_at(labels.path.key(key));
            match labels.get(key) {
                None => errors.push(label.required(&format!("must be '{value}'"))),
                Some(found) if found != Value::String(value) => {
                    errors.push(label.invalid(&format!("must be '{value}'")));
                }
                Some(_) => {}
            }
        }
    }
    let arena = Arena::new();
    let expected = Cursor { value: Some(Value::Map(Map::new(&arena, expected))), path: labels.path.clone() };
    if !selector::is_broken(&selector) && !selector::matches(&selector, &expected) {
        let json = selector::selector_json(selector.value);
        errors.push(FieldError::invalid_json(&selector.path, &json, "`selector` not auto-generated"));
    }
}

fn check_spec_and_selector(spec: &Cursor<'_>, errors: &mut Errors) {
    check_spec(spec, errors);
    let node = spec.child("selector");
    if node.is_set() {
        selector::check(&node, errors);
    } else {
        errors.push(node.required(""));
    }
    let labels = spec.at(&["template", "metadata", "labels"]);
    if !selector::is_broken(&node) && !selector::matches(&node, &labels) {
        errors.push(labels.invalid(NO_MATCH));
    }
}

/// Validates the spec, without its selector.
pub(super) fn check_spec(spec: &Cursor<'_>, errors: &mut Errors) {
    spec.check_none_negative(
        errors,
        &[
            "parallelism",
            "completions",
            "activeDeadlineSeconds",
            "backoffLimit",
            "ttlSecondsAfterFinished",
            "backoffLimitPerIndex",
            "maxFailedIndexes",
        ],
    );
    let per_index = spec.child("backoffLimitPerIndex");
    if spec.has("maxFailedIndexes") && !per_index.is_set() {
        errors.push(per_index.required("when maxFailedIndexes is specified"));
    }
    let manager = spec.child("managedBy");
    if manager.is_set() {
        check_prefixed_path(&manager, errors);
        if manager.text().len() > MANAGED_BY_LENGTH {
            errors.push(FieldError::too_long(&manager.path, MANAGED_BY_LENGTH));
        }
    }
    check_completion_mode(spec, errors);
    failure_policy::check(spec, errors);
    failure_policy::check_success(spec, errors);
    let replacement = spec.child("podReplacementPolicy");
    if spec.has("podFailurePolicy") {
        replacement.check_one_of(errors, &["Failed"]);
    } else {
        replacement.check_one_of(errors, &["Failed", "TerminatingOrFailed"]);
    }
    let template = spec.child("template");
    pod::check_template(&template, errors);
    let policy = template.at(&["spec", "restartPolicy"]);
    match policy.text() {
        "Always" | "" => errors.push(policy.required("valid values: \"OnFailure\", \"Never\"")),
        "OnFailure" if spec.has("podFailurePolicy") => {
            errors
                .push(policy.invalid_text("only \"Never\" is supported when podFailurePolicy is specified"));
        }
        "OnFailure" | "Never" => {}
        _ => errors.push(policy.not_supported(&["OnFailure", "Never"])),
    }
}

fn check_completion_mode(spec: &Cursor<'_>, errors: &mut Errors) {
    let mode = spec.child("completionMode");
    mode.check_one_of(errors, &["NonIndexed", "Indexed"]);
    let (completions, parallelism) = (spec.child("completions"), spec.child("parallelism"));
    let (per_index, failed) = (spec.child("backoffLimitPerIndex"), spec.child("maxFailedIndexes"));
    if matches!(mode.text(), "" | "NonIndexed") {
        for field in [&per_index, &failed].into_iter().filter(|field| field.is_set()) {
            errors.push(field.invalid_int("requires indexed completion mode"));
        }
    }
    if mode.text() != "Indexed" {
        return;
    }
    completions.check_set(errors, "when completion mode is Indexed");
    if parallelism.int() > MAX_PARALLELISM {
        errors.push(parallelism.invalid_int(&format!(
            "must be less than or equal to {MAX_PARALLELISM} when completion mode is Indexed"
        )));
    }
    if completions.is_set() && failed.is_set() && failed.int() > completions.int() {
        errors.push(failed.invalid_int("must be less than or equal to completions"));
    }
    if failed.int() > MAX_FAILED_INDEXES {
        errors.push(failed.invalid_int(&format!("must be less than or equal to {MAX_FAILED_INDEXES}")));
    }
    if completions.int() <= MANY_COMPLETIONS || !per_index.is_set() {
        return;
    }
    if !failed.is_set() {
        errors.push(
            failed.required(&format!("must be specified when completions is above {MANY_COMPLETIONS}")),
        );
    }
    for field in [&parallelism, &failed] {
        if field.int() > LIMIT_FOR_MANY {
            errors.push(field.invalid_int(&format!(
                "must be less than or equal to {LIMIT_FOR_MANY} when completions are above {MANY_COMPLETIONS} and used \
                 with backoff limit per index"
            )));
        }
    }
}

fn check_update(check: &mut Check<'_>) {
    let (spec, old_spec) = (check.spec(), check.old_at(&["spec"]));
    let (completions, parallelism) = (spec.child("completions"), spec.child("parallelism"));
    let old_completions = old_spec.child("completions");
    if spec.text_of("completionMode") != "Indexed" {
        completions.check_immutable(&mut check.errors, &old_completions);
    } else if completions.is_set()
        && completions.value != old_completions.value
        && completions.value != parallelism.value
    {
        let detail = "can only be modified in tandem with spec.parallelism";
        check.errors.push(completions.invalid_int(detail));
    }
    let selector = spec.child("selector");
    if !same(selector.value, old_spec.get("selector")) {
        let json = selector::selector_json(selector.value);
        check.errors.push(FieldError::invalid_json(&selector.path, &json, IMMUTABLE));
    }
    check_template_update(check);
    for name in ["completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy"] {
        check.immutable(&["spec", name]);
    }
}

/// The scheduling fields and resources of the template may change while the job is suspended.
fn check_template_update(check: &mut Check<'_>) {
    let (Some(template), Some(old_template)) =
        (check.spec().get("template"), check.old_at(&["spec", "template"]).value)
    else {
        return;
    };
    let old = check.old_at(&[]);
    let suspended = old.at(&["spec", "suspend"]).flag();
    let mutable = suspended
        && (!old.child("status").has("startTime") || has_condition(&old, "Suspended"))
        && old.at(&["status", "active"]).int() == 0;
    let arena = Arena::new();
    let mut allowed = old_template;
    if mutable {
        for path in [
            &["spec", "nodeSelector"][..],
            &["spec", "tolerations"],
            &["spec", "schedulingGates"],
            &["spec", "affinity", "nodeAffinity"],
            &["metadata", "annotations"],
            &["metadata", "labels"],
        ] {
            allowed = allowed.with(&arena, path, template.at(path));
        }
        let is_empty = |value: Value<'_>| value.as_map().is_some_and(|map| map.is_empty());
        if template.at(&["spec", "affinity"]).is_none()
            && allowed.at(&["spec", "affinity"]).is_some_and(is_empty)
        {
            allowed = allowed.with(&arena, &["spec", "affinity"], None);
        }
        allowed = with_resources(&arena, allowed, template);
    }
    if template == allowed {
        return;
    }
    let path = check.spec().path.child(if mutable { "template.spec" } else { "template" });
    check.errors.push(FieldError::invalid_omitted(&path, IMMUTABLE));
}

/// The template with the resources of another one's containers, if both have the same containers.
fn with_resources<'a>(arena: &'a Arena, template: Value<'a>, other: Value<'a>) -> Value<'a> {
    ["containers", "initContainers"].iter().fold(template, |template, name| {
        let path = ["spec", name];
        let list = |value: Value<'a>| value.at(&path).and_then(|list| list.as_list());
        let (Some(containers), Some(others)) = (list(template), list(other)) else { return template };
        if containers.len() != others.len() {
            return template;
        }
        let merged = containers.iter().zip(others).map(|(container, other)| {
            if container.get("name") == other.get("name") {
                container.with(arena, &["resources"], other.get("resources"))
            } else {
                *container
            }
        });
        template.with(arena, &path, Some(Value::List(arena.list(merged))))
    })
}
