//! Validation of roles and their bindings.

use super::{
    check::Check,
    cursor::{Cursor, Errors},
    format,
    go_json::{GoField, GoType, go_json},
    selector,
};
use crate::field::FieldError;

const GROUP: &str = "rbac.authorization.k8s.io";

/// A reference to a role, as Go prints it.
const ROLE_REF: &[GoField] = &[
    ("APIGroup", "apiGroup", GoType::Plain("\"\"")),
    ("Kind", "kind", GoType::Plain("\"\"")),
    ("Name", "name", GoType::Plain("\"\"")),
];

pub(super) fn role(check: &mut Check<'_>) {
    check.metadata();
    check_rules(check);
    check.metadata_update();
}

/// Validates a role of the whole cluster.
pub(super) fn cluster_role(check: &mut Check<'_>) {
    check.metadata();
    check_rules(check);
    let aggregation = check.new.child("aggregationRule");
    let selectors = aggregation.child("clusterRoleSelectors");
    if aggregation.is_set() && selectors.len() == 0 {
        let detail = "at least one clusterRoleSelector required if aggregationRule is non-nil";
        check.errors.push(selectors.required(detail));
    }
    for one in selectors.items() {
        selector::check(&one, &mut check.errors);
        if selector::is_broken(&one) {
            check.errors.push(FieldError::invalid_json(&one.path, "null", "invalid label selector."));
        }
    }
    check.metadata_update();
}

fn check_rules(check: &mut Check<'_>) {
    let (namespaced, errors) = (check.kind.namespaced, &mut check.errors);
    for rule in check.new.child("rules").items() {
        let verbs = rule.child("verbs");
        if verbs.len() == 0 {
            errors.push(verbs.required("verbs must contain at least one value"));
        }
        let urls = rule.child("nonResourceURLs");
        let (groups, resources) = (rule.child("apiGroups"), rule.child("resources"));
        if urls.len() > 0 {
            if namespaced {
                errors.push(urls.invalid("namespaced rules cannot apply to non-resource URLs"));
            }
            if groups.len() > 0 || resources.len() > 0 || rule.child("resourceNames").len() > 0 {
                let detail = "rules cannot apply to both regular resources and non-resource URLs";
                errors.push(urls.invalid(detail));
            }
            continue;
        }
        if groups.len() == 0 {
            errors.push(groups.required("resource rules must supply at least one api group"));
        }
        if resources.len() == 0 {
            errors.push(resources.required("resource rules must supply at least one resource"));
        }
    }
}

/// Validates a `RoleBinding` or `ClusterRoleBinding`.
pub(super) fn binding(check: &mut Check<'_>) {
    check.metadata();
    let (namespaced, errors) = (check.kind.namespaced, &mut check.errors);
    let reference = check.new.child("roleRef");
    let (group, kind, name) = (reference.child("apiGroup"), reference.child("kind"), reference.child("name"));
    if group.text() != GROUP {
        errors.push(group.not_supported(&[GROUP]));
    }
    let kinds: &[&str] = if namespaced { &["Role", "ClusterRole"] } else { &["ClusterRole"] };
    if !kinds.contains(&kind.text()) {
        errors.push(kind.not_supported(kinds));
    }
    name.check_required(errors, format::path_segment);
    for subject in check.new.child("subjects").items() {
        check_subject(&subject, namespaced, errors);
    }
    check.metadata_update();
    if check.old.is_some() && reference.value != check.old_at(&["roleRef"]).value {
        let json = go_json(reference.value, ROLE_REF);
        check.errors.push(FieldError::invalid_json(&reference.path, &json, "cannot change roleRef"));
    }
}

fn check_subject(subject: &Cursor<'_>, namespaced: bool, errors: &mut Errors) {
    let (kind, name, group) = (subject.child("kind"), subject.child("name"), subject.child("apiGroup"));
    name.check_present(errors);
    match kind.text() {
        "ServiceAccount" => {
            name.check_unless_empty(errors, format::dns_subdomain);
            if !group.text().is_empty() {
                errors.push(group.not_supported(&[""]));
            }
            if !namespaced {
                subject.child("namespace").check_present(errors);
            }
        }
        "User" | "Group" => {
            if group.text() != GROUP {
                errors.push(group.not_supported(&[GROUP]));
            }
        }
        _ => errors.push(kind.not_supported(&["ServiceAccount", "User", "Group"])),
    }
}
