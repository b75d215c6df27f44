//! Validation of resource requirements.

use std::collections::BTreeSet;

use baton_merge::value::Value;

use crate::field::FieldError;
use crate::kinds::{
    cursor::{Cursor, Errors},
    format,
    quantity::Quantity,
    quota::{is_integer_resource, is_standard_resource},
};

/// The pod-level resources, besides huge pages.
const POD_RESOURCES: [&str; 2] = ["cpu", "memory"];

/// Whether it is a resource of Kubernetes itself.
pub(in crate::kinds) fn is_native(name: &str) -> bool {
    !name.contains('/') || name.contains("kubernetes.io/")
}

fn is_huge_pages(name: &str) -> bool {
    name.starts_with("hugepages-")
}

/// Whether requests may be less than limits.
pub(in crate::kinds) fn is_overcommit_allowed(name: &str) -> bool {
    is_native(name) && !is_huge_pages(name)
}

/// Validates the name of any resource.
pub(in crate::kinds) fn check_resource_name(name: &str, place: &Cursor<'_>, errors: &mut Errors) {
    let problems = format::qualified_name(name);
    if problems.is_empty() && !name.contains('/') && !is_standard_resource(name) {
        let detail = "must be a standard resource type or fully qualified";
        errors.push(FieldError::invalid_text(&place.path, name, detail));
    }
    errors.extend(problems.iter().map(|problem| FieldError::invalid_text(&place.path, name, problem)));
}

/// Validates the name of a container's resource.
pub(in crate::kinds) fn check_resource_list_name(name: &str, place: &Cursor<'_>, errors: &mut Errors) {
    check_resource_name(name, place, errors);
    let detail = if name.contains('/') {
        let is_extended =
            !name.starts_with("requests.") && format::qualified_name(&format!("requests.{name}")).is_empty();
        (!is_native(name) && !is_extended).then_some("doesn't follow extended resource name standard")
    } else {
        let is_standard = matches!(name, "cpu" | "memory" | "ephemeral-storage") || is_huge_pages(name);
        (!is_standard).then_some("must be a standard resource for containers")
    };
    errors.extend(detail.map(|detail| FieldError::invalid_text(&place.path, name, detail)));
}

fn check_pod_resource_name(name: &str, place: &Cursor<'_>, errors: &mut Errors) {
    let before = errors.len();
    check_resource_name(name, place, errors);
    if errors.len() == before && !POD_RESOURCES.contains(&name) && !is_huge_pages(name) {
        errors.push(FieldError::not_supported(&place.path, Value::String(name), &POD_RESOURCES));
    }
}

/// Validates a quantity: not negative, and an integer where the resource is counted.
pub(in crate::kinds) fn check_amount(name: &str, amount: &Cursor<'_>, errors: &mut Errors) {
    amount.check_non_negative_quantity(errors);
    if is_integer_resource(name) && !amount.quantity().is_whole() {
        errors.push(amount.invalid_text("must be an integer"));
    }
}

pub(super) fn check_container(resources: &Cursor<'_>, claims: &BTreeSet<&str>, errors: &mut Errors) {
    check(resources, &resources.child("limits"), check_resource_list_name, claims, errors);
}

/// The overhead of a pod follows the rules of limits.
pub(super) fn check_overhead(overhead: &Cursor<'_>, claims: &BTreeSet<&str>, errors: &mut Errors) {
    let limits = overhead.shown_at(overhead.path.child("limits"));
    let nothing = Cursor { value: None, path: overhead.path.clone() };
    check(&nothing, &limits, check_resource_list_name, claims, errors);
}

fn check(
    resources: &Cursor<'_>,
    limits: &Cursor<'_>,
    check_resource: fn(&str, &Cursor<'_>, &mut Errors),
    claims: &BTreeSet<&str>,
    errors: &mut Errors,
) {
    let requests = resources.child("requests");
    let check_one = |name: &str, amount: &Cursor<'_>, errors: &mut Errors| {
        check_resource(name, amount, errors);
        check_amount(name, amount, errors);
    };
    for (name, amount) in limits.members() {
        check_one(name, &amount, errors);
        check_huge_pages(name, &amount, errors);
    }
    for (name, amount) in requests.members() {
        check_one(name, &amount, errors);
        check_request(name, &amount, &requests, limits, errors);
        check_huge_pages(name, &amount, errors);
    }
    let has =
        |holds: fn(&str) -> bool| limits.members().chain(requests.members()).any(|(name, _)| holds(name));
    if has(is_huge_pages) && !has(|name| POD_RESOURCES.contains(&name)) {
        errors.push(resources.forbidden("HugePages require cpu or memory"));
    }
    check_claims(&resources.child("claims"), claims, errors);
}

fn check_request(
    name: &str,
    request: &Cursor<'_>,
    requests: &Cursor<'_>,
    limits: &Cursor<'_>,
    errors: &mut Errors,
) {
    let Some(limit) = limits.get(name) else {
        if !is_overcommit_allowed(name) {
            errors.push(limits.required("Limit must be set for non overcommitable resources"));
        }
        return;
    };
    let relation = match request.quantity().cmp(&Quantity::of(Some(limit))) {
        order if order.is_ne() && !is_overcommit_allowed(name) => "equal to",
        order if order.is_gt() => "less than or equal to",
        _ => return,
    };
    let limit = limit.as_str().unwrap_or_default();
    let detail = format!("must be {relation} {name} limit of {limit}");
    errors.push(FieldError::invalid_text(&requests.path, request.text(), &detail));
}

fn check_huge_pages(name: &str, amount: &Cursor<'_>, errors: &mut Errors) {
    let Some(size) = name.strip_prefix("hugepages-") else { return };
    if !amount.quantity().is_multiple_of(Quantity::parse(size)) {
        let detail = format!("{} is not positive integer multiple of {name}", amount.text());
        errors.push(amount.invalid_text(&detail));
    }
}

fn check_claims(claims: &Cursor<'_>, of_pod: &BTreeSet<&str>, errors: &mut Errors) {
    let mut taken = BTreeSet::new();
    for claim in claims.items() {
        let (name, request) = (claim.text_of("name"), claim.child("request"));
        if name.is_empty() {
            errors.push(claim.required(""));
            continue;
        }
        let duplicate = |key: &str| FieldError::duplicate(&claim.path, Value::String(key));
        if taken.contains(name) {
            errors.push(duplicate(name));
        } else if request.text().is_empty() {
            let parts = taken.iter().filter(|key: &&String| key.starts_with(&format!("{name}/"))).count();
            errors.extend((0..parts).map(|_| duplicate(name)));
            taken.insert(name.to_owned());
        } else {
            request.check(errors, format::dns_label);
            let key = format!("{name}/{}", request.text());
            if !taken.insert(key.clone()) {
                errors.push(duplicate(&key));
            }
        }
        if !of_pod.contains(name) {
            let rest = match of_pod.iter().copied().collect::<Vec<_>>() {
                names if names.is_empty() => " which is empty".to_owned(),
                names => format!(": {}", names.join(", ")),
            };
            let detail = format!("must be one of the names in pod.spec.resourceClaims{rest}");
            errors.push(FieldError::not_found(&claim.path, Value::String(name), &detail));
        }
    }
}

pub(super) fn check_resize_policy(policies: &Cursor<'_>, restart_policy: &str, errors: &mut Errors) {
    let mut names = BTreeSet::new();
    for policy in policies.items() {
        let at_list = |name: &str| policy.child(name).shown_at(policies.path.clone());
        let (resource, restart) = (at_list("resourceName"), at_list("restartPolicy"));
        if !names.insert(resource.text()) {
            errors.push(resource.shown_at(policy.path.clone()).duplicate());
        }
        resource.check_choice(errors, &POD_RESOURCES);
        restart.check_choice(errors, &["NotRequired", "RestartContainer"]);
        if restart_policy == "Never" && restart.text() != "NotRequired" {
            let detail = "must be 'NotRequired' when pod `restartPolicy` is 'Never'";
            errors.push(restart.invalid_text(detail));
        }
    }
}

/// Validates pod-level resources, which must cover the containers.
pub(super) fn check_pod_level(spec: &Cursor<'_>, claims: &BTreeSet<&str>, errors: &mut Errors) {
    let resources = spec.child("resources");
    if !resources.is_set() {
        return;
    }
    if spec.at(&["os", "name"]).text() == "windows" {
        errors.push(resources.forbidden("may not be set for a windows pod"));
        return;
    }
    resources.child("claims").check_unset(errors, "claims may not be set for Resources at pod-level");
    let limits = resources.child("limits");
    check(&resources, &limits, check_pod_resource_name, claims, errors);
    for (position, container) in spec.child("containers").items().enumerate() {
        for (name, limit) in container.at(&["resources", "limits"]).members() {
            let Some(of_pod) = limits.get(name) else { continue };
            if limit.quantity() > Quantity::of(Some(of_pod)) {
                let path = resources.path.child("containers").index(position).key(name).child("limits");
                let of_pod = of_pod.as_str().unwrap_or_default();
                let detail = format!("must be less than or equal to pod limits of {of_pod}");
                errors.push(FieldError::invalid_text(&path, limit.text(), &detail));
            }
        }
    }
}
