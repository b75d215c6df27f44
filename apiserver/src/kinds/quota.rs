//! Validation of limit ranges and resource quotas, and the names of their resources.

use std::collections::BTreeSet;

use super::{
    check::Check,
    cursor::{Cursor, Errors, IMMUTABLE},
    format,
    pod::{check_amount, check_resource_list_name, check_resource_name, is_native, is_overcommit_allowed},
    quantity::Quantity,
};
use crate::field::FieldError;

/// Resources that count objects.
#[rustfmt::skip]
const COUNTED: [&str; 9] = [
    "pods", "resourcequotas", "services", "replicationcontrollers", "secrets", "configmaps",
    "persistentvolumeclaims", "services.nodeports", "services.loadbalancers",
];

/// Resources that can be limited, besides the counted ones.
#[rustfmt::skip]
const MEASURED: [&str; 10] = [
    "cpu", "memory", "ephemeral-storage", "requests.cpu", "requests.memory", "requests.storage",
    "requests.ephemeral-storage", "limits.cpu", "limits.memory", "limits.ephemeral-storage",
];

const SCOPES: [&str; 7] = [
    "Terminating",
    "NotTerminating",
    "BestEffort",
    "NotBestEffort",
    "PriorityClass",
    "VolumeAttributesClass",
    "CrossNamespacePodAffinity",
];

/// Scopes that exclude each other.
const CONFLICTS: [[&str; 2]; 2] = [["BestEffort", "NotBestEffort"], ["Terminating", "NotTerminating"]];

fn is_quota_resource(name: &str) -> bool {
    COUNTED.contains(&name)
        || MEASURED.contains(&name)
        || name.starts_with("hugepages-")
        || name.starts_with("requests.hugepages-")
}

/// Whether a resource needs no prefix.
pub(super) fn is_standard_resource(name: &str) -> bool {
    is_quota_resource(name) || name == "storage"
}

/// Whether only integers are valid for a resource.
pub(super) fn is_integer_resource(name: &str) -> bool {
    COUNTED.contains(&name)
        || (!is_native(name)
            && !name.starts_with("requests.")
            && format::qualified_name(&format!("requests.{name}")).is_empty())
}

pub(super) fn limit_range(check: &mut Check<'_>) {
    check.metadata();
    let mut types = BTreeSet::new();
    for limit in check.new.at(&["spec", "limits"]).items() {
        let kind = limit.child("type");
        let problems = format::qualified_name(kind.text());
        if problems.is_empty()
            && !kind.text().contains('/')
            && !matches!(kind.text(), "Pod" | "Container" | "PersistentVolumeClaim")
        {
            check.errors.push(kind.invalid_text("must be a standard limit type or fully qualified"));
        }
        check.errors.extend(problems.iter().map(|problem| kind.invalid_text(problem)));
        if !types.insert(kind.text()) {
            check.errors.push(kind.duplicate());
        }
        check_limit(&limit, &mut check.errors);
    }
}

fn check_limit(limit: &Cursor<'_>, errors: &mut Errors) {
    let kind = limit.text_of("type");
    let mut resources = BTreeSet::new();
    let mut check_names = |field: &Cursor<'_>, errors: &mut Errors| {
        for (name, amount) in field.members() {
            if matches!(kind, "Pod" | "Container") {
                check_resource_list_name(name, &amount, errors);
            } else {
                check_resource_name(name, &amount, errors);
            }
            resources.insert(name.to_owned());
        }
    };
    let [max, min, default, request, ratio] =
        ["max", "min", "default", "defaultRequest", "maxLimitRequestRatio"].map(|name| limit.child(name));
    check_names(&max, errors);
    check_names(&min, errors);
    let is_pod = kind == "Pod";
    for field in [&default, &request] {
        if !is_pod {
            check_names(field, errors);
        } else if field.len() > 0 {
            errors.push(field.forbidden("may not be specified when `type` is 'Pod'"));
        }
    }
    if kind == "PersistentVolumeClaim" && !min.has("storage") && !max.has("storage") {
        let detail = "either minimum or maximum storage value is required, but neither was provided";
        errors.push(limit.child("limits").required(detail));
    }
    check_names(&ratio, errors);
    for name in &resources {
        let amounts = [&max, &min, &default, &request, &ratio].map(|field| {
            let is_defaulted = [&default, &request].iter().any(|other| other.path == field.path);
            let amount = Cursor { value: field.get(name), path: field.path.key(name) };
            (amount.is_set() && !(is_pod && is_defaulted)).then_some(amount)
        });
        check_amounts(name, amounts, errors);
    }
}

fn check_amounts(
    name: &str,
    [max, min, default, request, ratio]: [Option<Cursor<'_>>; 5],
    errors: &mut Errors,
) {
    let mut check = |low: (&Option<Cursor<'_>>, &str),
                     high: (&Option<Cursor<'_>>, &str),
                     place: &Option<Cursor<'_>>,
                     shown: &Option<Cursor<'_>>| {
        if let ((Some(low), low_name), (Some(high), high_name), Some(place), Some(shown)) =
            (low, high, place, shown)
            && low.quantity() > high.quantity()
        {
            let detail =
                format!("{low_name} value {} is greater than {high_name} value {}", low.text(), high.text());
            errors.push(FieldError::invalid_text(&place.path, shown.text(), &detail));
        }
    };
    check((&min, "min"), (&max, "max"), &min, &min);
    check((&min, "min"), (&request, "default request"), &request, &request);
    check((&request, "default request"), (&max, "max"), &request, &request);
    check((&request, "default request"), (&default, "default limit"), &request, &request);
    check((&min, "min"), (&default, "default"), &default, &min);
    check((&default, "default"), (&max, "max"), &default, &max);
    if let Some(ratio) = &ratio {
        if ratio.quantity() < Quantity::ONE {
            errors.push(ratio.invalid_text(&format!("ratio {} is less than 1", ratio.text())));
        }
        if let (Some(min), Some(max)) = (&min, &max) {
            let most = max.quantity().ratio_to(min.quantity());
            if ratio.quantity().ratio_to(Quantity::ONE) > most {
                let detail = format!("ratio {} is greater than max/min = {most:.6}", ratio.text());
                errors.push(ratio.invalid_text(&detail));
            }
        }
    }
    if let (Some(default), Some(request), false) = (&default, &request, is_overcommit_allowed(name))
        && default.quantity() != request.quantity()
    {
        let detail = format!(
            "default value {} must equal to defaultRequest value {} in {name}",
            default.text(),
            request.text()
        );
        errors.push(request.invalid_text(&detail));
    }
}

pub(super) fn resource_quota(check: &mut Check<'_>) {
    check.metadata_or_update();
    let spec = check.spec();
    check_quota_amounts(&spec.child("hard"), &mut check.errors);
    check_scopes(&spec, &mut check.errors);
    check_scope_selector(&spec, &mut check.errors);
    if check.old.is_none() {
        resource_quota_amounts_of_status(check);
        return;
    }
    let scopes = spec.child("scopes");
    let old_scopes = check.old_at(&["spec", "scopes"]);
    if scopes.texts().collect::<BTreeSet<_>>() != old_scopes.texts().collect() {
        check.errors.push(scopes.invalid(IMMUTABLE));
    }
}

pub(super) fn resource_quota_status(check: &mut Check<'_>) {
    check.metadata_update();
    resource_quota_amounts_of_status(check);
}

fn resource_quota_amounts_of_status(check: &mut Check<'_>) {
    for name in ["hard", "used"] {
        check_quota_amounts(&check.new.at(&["status", name]), &mut check.errors);
    }
}

fn check_quota_amounts(amounts: &Cursor<'_>, errors: &mut Errors) {
    for (name, amount) in amounts.members() {
        check_resource_name(name, &amount, errors);
        if !name.contains('/') && !is_quota_resource(name) {
            let detail = "must be a standard resource for quota";
            errors.push(FieldError::invalid_text(&amount.path, name, detail));
        }
        check_amount(name, &amount, errors);
    }
}

/// Whether a quota for a resource can have a scope.
fn is_scope_for(scope: &str, resource: &str) -> bool {
    let is_pods = resource == "pods";
    let is_compute = matches!(
        resource,
        "cpu" | "memory" | "limits.cpu" | "limits.memory" | "requests.cpu" | "requests.memory"
    );
    match scope {
        "Terminating"
        | "NotTerminating"
        | "NotBestEffort"
        | "PriorityClass"
        | "CrossNamespacePodAffinity" => is_pods || is_compute,
        "BestEffort" => is_pods,
        "VolumeAttributesClass" => matches!(resource, "persistentvolumeclaims" | "requests.storage"),
        _ => true,
    }
}

fn unscoped_resources(spec: &Cursor<'_>, scope: &str) -> usize {
    let hard = spec.child("hard");
    hard.members().filter(|(name, _)| is_quota_resource(name) && !is_scope_for(scope, name)).count()
}

fn check_scopes(spec: &Cursor<'_>, errors: &mut Errors) {
    let scopes = spec.child("scopes");
    for scope in scopes.texts() {
        if !SCOPES.contains(&scope) {
            errors.push(scopes.invalid("unsupported scope"));
        }
        for _ in 0..unscoped_resources(spec, scope) {
            errors.push(scopes.invalid("unsupported scope applied to resource"));
        }
    }
    for pair in CONFLICTS {
        if pair.iter().all(|scope| scopes.texts().any(|other| other == *scope)) {
            errors.push(scopes.invalid("conflicting scopes"));
        }
    }
}

fn check_scope_selector(spec: &Cursor<'_>, errors: &mut Errors) {
    const EXISTS_ONLY: &str = "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, \
        ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or \
        ResourceQuotaScopeCrossNamespacePodAffinity";

    let expressions = spec.at(&["scopeSelector", "matchExpressions"]);
    for requirement in expressions.items() {
        // The server uses the path of the list.
        let part = |name: &str| requirement.child(name).shown_at(expressions.path.child(name));
        let (scope, operator, values) = (part("scopeName"), part("operator"), part("values"));
        if !SCOPES.contains(&scope.text()) {
            errors.push(scope.invalid_text("unsupported scope"));
        }
        for _ in 0..unscoped_resources(spec, scope.text()) {
            let place = spec.child("scopeSelector").shown_at(expressions.path.clone());
            errors.push(place.invalid("unsupported scope applied to resource"));
        }
        let takes_values = matches!(scope.text(), "PriorityClass" | "VolumeAttributesClass");
        if SCOPES.contains(&scope.text()) && !takes_values && operator.text() != "Exists" {
            errors.push(operator.invalid_text(EXISTS_ONLY));
        }
        match operator.text() {
            "In" | "NotIn" if values.len() == 0 => errors.push(values.required(
                "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector",
            )),
            "Exists" | "DoesNotExist" if values.len() > 0 => {
                errors.push(values.invalid(
                    "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector",
                ));
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            _ => errors.push(operator.invalid_text("not a valid selector operator")),
        }
    }
    let has = |scope: &str| expressions.items().any(|other| other.text_of("scopeName") == scope);
    for pair in CONFLICTS {
        if pair.iter().all(|scope| has(scope)) {
            errors
                .push(spec.child("scopes").shown_at(expressions.path.clone()).invalid("conflicting scopes"));
        }
    }
}
