//! Validation of horizontal pod autoscalers and for the `scale` subresource.

use baton_merge::value::Value;

use super::{
    check::Check,
    cursor::{Cursor, Errors},
    format,
    pod::check_resource_list_name,
    quantity::Quantity,
};

/// The longest period of a policy, and the longest stabilization window.
const MAX_PERIOD: i64 = 1800;
const MAX_WINDOW: i64 = 3600;

/// The sources of metrics in the server's order, with their types.
const SOURCES: [(&str, &str); 5] = [
    ("object", "Object"),
    ("external", "External"),
    ("pods", "Pods"),
    ("resource", "Resource"),
    ("containerResource", "ContainerResource"),
];

const SOURCE_TYPES: [&str; 5] = ["ContainerResource", "External", "Object", "Pods", "Resource"];

/// Validates the `scale` subresource.
pub(super) fn scale(check: &mut Check<'_>) {
    check.metadata();
    check.new.at(&["spec", "replicas"]).check_non_negative(&mut check.errors);
}

pub(super) fn autoscaler(check: &mut Check<'_>) {
    check.metadata_or_update();
    let (spec, old_spec) = (check.spec(), check.old_at(&["spec"]));
    let errors = &mut check.errors;
    let had_none = matches!(old_spec.get("minReplicas"), Some(Value::Int(0)));
    let lowest = i64::from(!had_none);
    let (min, max) = (spec.child("minReplicas"), spec.child("maxReplicas"));
    if min.is_set() && min.int() < lowest {
        errors.push(min.invalid_int(&format!("must be greater than or equal to {lowest}")));
    }
    if max.int() == 0 {
        errors.push(max.required("must be set and greater than 0"));
    } else if max.int() < 0 {
        errors.push(max.invalid_int("must be greater than or equal to 1"));
    }
    if min.is_set() && max.int() < min.int() {
        errors.push(max.invalid_int("must be greater than or equal to `minReplicas`"));
    }
    let (target, old_target) = (spec.child("scaleTargetRef"), old_spec.child("scaleTargetRef"));
    let is_same = old_spec.is_set()
        && ["apiVersion", "kind"].iter().all(|name| target.get(name) == old_target.get(name));
    let group = match target.text_of("kind") {
        _ if is_same => Group::Any,
        "ReplicationController" => Group::Optional,
        _ => Group::Needed,
    };
    check_reference(&target, group, errors);
    check_metrics(&spec.child("metrics"), &min, errors);
    for rules in ["scaleUp", "scaleDown"].map(|name| spec.at(&["behavior", name])) {
        if rules.is_set() {
            check_scaling_rules(&rules, errors);
        }
    }
}

/// The API version that a reference must have.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Group {
    Needed,
    Optional,
    Any,
}

fn check_reference(reference: &Cursor<'_>, group: Group, errors: &mut Errors) {
    for name in ["kind", "name"] {
        reference.child(name).check_required(errors, format::path_segment);
    }
    let version = reference.child("apiVersion");
    if group == Group::Any {
        return;
    }
    let slashes = version.text().matches('/').count();
    if slashes > 1 {
        errors.push(version.invalid_text(&format!("unexpected GroupVersion string: {}", version.text())));
    } else if group == Group::Needed
        && version.text().split_once('/').is_none_or(|(group, _)| group.is_empty())
    {
        errors.push(version.invalid_text("apiVersion must specify API group"));
    }
}

fn check_metrics(metrics: &Cursor<'_>, min: &Cursor<'_>, errors: &mut Errors) {
    for metric in metrics.items() {
        check_metric(&metric, errors);
    }
    let is_outside = |metric: Cursor<'_>| matches!(metric.text_of("type"), "Object" | "External");
    if min.is_set() && min.int() == 0 && !metrics.items().any(is_outside) {
        let detail =
            "must specify at least one Object or External metric to support scaling to zero replicas";
        errors.push(metrics.forbidden(detail));
    }
}

fn check_metric(metric: &Cursor<'_>, errors: &mut Errors) {
    let kind = metric.child("type");
    if kind.text().is_empty() {
        errors.push(kind.required("must specify a metric source type"));
    }
    let is_known = SOURCE_TYPES.contains(&kind.text());
    if !is_known {
        errors.push(kind.not_supported(&SOURCE_TYPES));
    }
    let present: Vec<_> = SOURCES.iter().filter(|(name, _)| metric.has(name)).collect();
    if let Some((name, _)) = present.first() {
        check_source(name, &metric.child(name), errors);
    }
    let expected = SOURCES.iter().find(|(_, source)| *source == kind.text()).map(|(name, _)| *name);
    match expected {
        Some(name) if !metric.has(name) => {
            let detail = "must populate information for the given metric source";
            errors.push(metric.child(name).required(detail));
        }
        Some(_) => {}
        None => errors.push(kind.not_supported(&SOURCE_TYPES)),
    }
    if present.len() != 1 {
        for (name, _) in present.iter().filter(|(name, _)| Some(*name) != expected) {
            errors.push(metric.child(name).forbidden("must populate the given metric source only"));
        }
    }
}

fn check_source(name: &str, source: &Cursor<'_>, errors: &mut Errors) {
    let target = source.child("target");
    let (value, average) = (target.child("value"), target.child("averageValue"));
    if name == "object" {
        check_reference(&source.child("describedObject"), Group::Optional, errors);
    }
    if matches!(name, "resource" | "containerResource") {
        check_resource_source(name, source, &target, errors);
        return;
    }
    let metric = source.at(&["metric", "name"]);
    if metric.text().is_empty() {
        errors.push(metric.required("must specify a metric name"));
    } else {
        metric.check(errors, format::path_segment);
    }
    check_target(&target, errors);
    let needed = match name {
        "object" => "must set either a target value or averageValue",
        "external" => "must set either a target value for metric or a per-pod target",
        _ => "must specify a positive target averageValue",
    };
    if !average.is_set() && (name == "pods" || !value.is_set()) {
        errors.push(average.required(needed));
    }
    if name == "external" && value.is_set() && average.is_set() {
        let detail = "may not set both a target value for metric and a per-pod target";
        errors.push(value.forbidden(detail));
    }
}

fn check_resource_source(name: &str, source: &Cursor<'_>, target: &Cursor<'_>, errors: &mut Errors) {
    let resource = source.child("name");
    if resource.text().is_empty() {
        errors.push(resource.required("must specify a resource name"));
    } else if name == "containerResource" {
        check_resource_list_name(resource.text(), &resource, errors);
    }
    if name == "containerResource" {
        let container = source.child("container");
        if container.text().is_empty() {
            errors.push(container.required("must specify a container"));
        } else {
            container.check(errors, format::dns_label);
        }
    }
    check_target(target, errors);
    let (utilization, average) = (target.child("averageUtilization"), target.child("averageValue"));
    match (utilization.is_set(), average.is_set()) {
        (false, false) => {
            let detail = "must set either a target raw value or a target utilization";
            errors.push(utilization.required(detail));
        }
        (true, true) => {
            let detail = "may not set both a target raw value and a target utilization";
            errors.push(average.forbidden(detail));
        }
        _ => {}
    }
}

fn check_target(target: &Cursor<'_>, errors: &mut Errors) {
    let kind = target.child("type");
    if kind.text().is_empty() {
        errors.push(kind.required("must specify a metric target type"));
    }
    if !matches!(kind.text(), "Utilization" | "Value" | "AverageValue") {
        errors.push(kind.invalid_text("must be either Utilization, Value, or AverageValue"));
    }
    for value in ["value", "averageValue"].map(|name| target.child(name)) {
        if value.is_set() && value.quantity() <= Quantity::ZERO {
            errors.push(value.invalid("must be positive"));
        }
    }
    let utilization = target.child("averageUtilization");
    if utilization.is_set() && utilization.int() < 1 {
        errors.push(utilization.invalid_int("must be greater than 0"));
    }
}

fn check_scaling_rules(rules: &Cursor<'_>, errors: &mut Errors) {
    let window = rules.child("stabilizationWindowSeconds");
    if window.int() < 0 {
        errors.push(window.invalid_int("must be greater than or equal to zero"));
    }
    if window.int() > MAX_WINDOW {
        errors.push(window.invalid_int(&format!("must be less than or equal to {MAX_WINDOW}")));
    }
    rules.child("selectPolicy").check_one_of(errors, &["Disabled", "Max", "Min"]);
    let policies = rules.child("policies");
    if policies.len() == 0 {
        errors.push(policies.required("must specify at least one Policy"));
    }
    for policy in policies.items() {
        let kind = policy.child("type");
        if !matches!(kind.text(), "Pods" | "Percent") {
            errors.push(kind.not_supported(&["Percent", "Pods"]));
        }
        for number in ["value", "periodSeconds"].map(|name| policy.child(name)) {
            if number.int() <= 0 {
                errors.push(number.invalid_int("must be greater than zero"));
            }
        }
        let period = policy.child("periodSeconds");
        if period.int() > MAX_PERIOD {
            errors.push(period.invalid_int(&format!("must be less than or equal to {MAX_PERIOD}")));
        }
    }
    rules.child("tolerance").check_non_negative_quantity(errors);
}

pub(super) fn autoscaler_status(check: &mut Check<'_>) {
    check.metadata_update();
    check.status().check_none_negative(&mut check.errors, &["currentReplicas", "desiredReplicas"]);
}
