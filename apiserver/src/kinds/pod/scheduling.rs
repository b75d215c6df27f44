//! Validation of scheduling constraints: affinity, tolerations, spread.

use std::collections::BTreeSet;

use baton_merge::value::Value;

use crate::field::FieldError;
use crate::kinds::{
    cursor::{Cursor, Errors},
    format,
    metadata::check_label_key,
    selector,
};

const WEIGHT: &str = "must be in the range 1-100";

pub(in crate::kinds) fn check_preemption_policy(policy: &Cursor<'_>, errors: &mut Errors) {
    policy.check_choice(errors, &["PreemptLowerPriority", "Never"]);
}

pub(super) fn check_affinity(affinity: &Cursor<'_>, errors: &mut Errors) {
    const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
    const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

    let nodes = affinity.child("nodeAffinity");
    let required = nodes.child(REQUIRED);
    if required.is_set() {
        selector::check_node_selector(&required, errors);
    }
    for term in nodes.child(PREFERRED).items() {
        check_weight(&term, errors);
        selector::check_node_selector_term(&term.child("preference"), errors, false);
    }
    for pods in ["podAffinity", "podAntiAffinity"].map(|name| affinity.child(name)) {
        for term in pods.child(REQUIRED).items() {
            check_pod_term(&term, errors);
        }
        for term in pods.child(PREFERRED).items() {
            check_weight(&term, errors);
            check_pod_term(&term.child("podAffinityTerm"), errors);
        }
    }
}

fn check_weight(term: &Cursor<'_>, errors: &mut Errors) {
    let weight = term.child("weight");
    if !(1..=100).contains(&weight.int()) {
        errors.push(weight.invalid_int(WEIGHT));
    }
}

fn check_pod_term(term: &Cursor<'_>, errors: &mut Errors) {
    selector::check(&term.child("labelSelector"), errors);
    selector::check(&term.child("namespaceSelector"), errors);
    for namespace in term.child("namespaces").items() {
        namespace.shown_at(term.path.child("namespace")).check(errors, format::dns_label);
    }
    check_match_label_keys(term, errors);
    let key = term.child("topologyKey");
    if key.text().is_empty() {
        errors.push(key.required("can not be empty"));
    }
    check_label_key(&key, key.text(), errors);
}

/// Validates `matchLabelKeys` of an affinity term or a spread constraint.
fn check_match_label_keys(term: &Cursor<'_>, errors: &mut Errors) {
    let label_selector = term.child("labelSelector");
    let (matching, mismatching) = (term.child("matchLabelKeys"), term.child("mismatchLabelKeys"));
    for keys in [&matching, &mismatching].into_iter().filter(|keys| keys.len() > 0) {
        if !label_selector.is_set() {
            errors.push(keys.forbidden("must not be specified when labelSelector is not set"));
            continue;
        }
        for key in keys.items() {
            check_label_key(&key, key.text(), errors);
        }
    }
    let keys: Vec<_> = matching.texts().collect();
    let mut selected: BTreeSet<_> =
        label_selector.child("matchLabels").members().map(|(key, _)| key).collect();
    for requirement in label_selector.child("matchExpressions").items() {
        let key = requirement.text_of("key");
        if let (Some(position), false) = (keys.iter().rposition(|other| *other == key), selected.insert(key))
        {
            let detail = "exists in both matchLabelKeys and labelSelector";
            errors.push(FieldError::invalid_text(&term.path.index(position), key, detail));
        }
    }
    for key in matching.items() {
        if mismatching.texts().any(|other| other == key.text()) {
            errors.push(key.invalid_text("exists in both matchLabelKeys and mismatchLabelKeys"));
        }
    }
}

pub(super) fn check_tolerations(tolerations: &Cursor<'_>, errors: &mut Errors) {
    for toleration in tolerations.items() {
        let part = |name| toleration.child(name);
        let (key, operator, effect) = (part("key"), part("operator"), part("effect"));
        let value = toleration.text_of("value");
        if !key.text().is_empty() {
            check_label_key(&key, key.text(), errors);
        } else if operator.text() != "Exists" {
            let detail =
                "operator must be Exists when `key` is empty, which means \"match all values and all keys\"";
            errors.push(operator.invalid_text(detail));
        }
        if toleration.has("tolerationSeconds") && effect.text() != "NoExecute" {
            let detail = "effect must be 'NoExecute' when `tolerationSeconds` is set";
            errors.push(effect.invalid_text(detail));
        }
        match operator.text() {
            "Equal" | "" => {
                let problems = format::label_value(value);
                if !problems.is_empty() {
                    errors.push(FieldError::invalid_text(&operator.path, value, &problems.join(";")));
                }
            }
            "Exists" if value.is_empty() => {}
            "Exists" => {
                let detail = "value must be empty when `operator` is 'Exists'";
                errors.push(FieldError::invalid_text(&operator.path, value, detail));
            }
            "Lt" | "Gt" => errors.push(operator.not_supported(&["Equal", "Exists", "Lt", "Gt"])),
            _ => errors.push(operator.not_supported(&["Equal", "Exists"])),
        }
        if !effect.text().is_empty() {
            effect.check_one_of(errors, &["NoSchedule", "PreferNoSchedule", "NoExecute"]);
        }
    }
}

pub(super) fn check_gates(gates: &Cursor<'_>, errors: &mut Errors) {
    let mut names = BTreeSet::new();
    for gate in gates.items() {
        let name = gate.child("name").shown_at(gate.path.clone());
        name.check(errors, format::qualified_name);
        if !names.insert(name.text()) {
            errors.push(name.duplicate());
        }
    }
}

pub(super) fn check_spread(constraints: &Cursor<'_>, errors: &mut Errors) {
    const ACTIONS: [&str; 2] = ["DoNotSchedule", "ScheduleAnyway"];

    let all: Vec<_> = constraints.items().collect();
    for (position, constraint) in all.iter().enumerate() {
        let (key, action) = (constraint.child("topologyKey"), constraint.child("whenUnsatisfiable"));
        let skew = constraint.child("maxSkew");
        if skew.int() <= 0 {
            errors.push(skew.invalid_int("must be greater than zero"));
        }
        if key.text().is_empty() {
            errors.push(key.required("can not be empty"));
        }
        if !ACTIONS.contains(&action.text()) {
            errors.push(action.not_supported(&ACTIONS));
        }
        let repeats = |other: &Cursor<'_>| {
            other.text_of("topologyKey") == key.text() && other.text_of("whenUnsatisfiable") == action.text()
        };
        if all.iter().skip(position + 1).any(repeats) {
            let pair = format!("{{{}, {}}}", key.text(), action.text());
            let path = constraint.path.child("{topologyKey, whenUnsatisfiable}");
            errors.push(FieldError::duplicate(&path, Value::String(&pair)));
        }
        let min_domains = constraint.child("minDomains");
        if min_domains.is_set() {
            if min_domains.int() <= 0 {
                errors.push(min_domains.invalid_int("must be greater than zero"));
            }
            if action.text() != "DoNotSchedule" {
                let detail = format!(
                    "can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {}",
                    action.text()
                );
                errors.push(min_domains.invalid_int(&detail));
            }
        }
        for name in ["nodeAffinityPolicy", "nodeTaintsPolicy"] {
            constraint.child(name).check_one_of(errors, &["Honor", "Ignore"]);
        }
        check_match_label_keys(constraint, errors);
        selector::check(&constraint.child("labelSelector"), errors);
    }
}
