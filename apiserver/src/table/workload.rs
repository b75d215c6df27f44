//! Cells of workloads, policies and bindings.

use baton_merge::value::Value;
use jiff::Timestamp;
use serde_json::{Value as Json, json};

use super::access::{at, has_condition, int, list, map, quantity, text};
use super::age::{human_duration, since, time};
use crate::selector::LabelSelector;

pub(super) fn component_status(status: Value<'_>, _now: Timestamp) -> Vec<Json> {
    let healthy =
        list(status, "conditions").iter().copied().find(|condition| text(*condition, "type") == "Healthy");
    let member = |name| healthy.map(|healthy| text(healthy, name)).unwrap_or_default();
    let state = match (healthy, member("status")) {
        (None, _) => "Unknown",
        (_, "True") => "Healthy",
        _ => "Unhealthy",
    };
    vec![json!(text(status, "metadata.name")), json!(state), json!(member("message")), json!(member("error"))]
}

/// The used and the hard amounts of a quota: limits, or all others.
pub(super) fn quota(quota: Value<'_>, are_limits: bool) -> String {
    let used = map(quota, "status.used");
    let hard = map(quota, "status.hard").members().iter();
    let counted: Vec<_> = hard
        .filter(|(name, _)| name.starts_with("limits.") == are_limits)
        .map(|(name, hard)| format!("{name}: {}/{}", quantity(used.get(name)), quantity(Some(*hard))))
        .collect();
    counted.join(", ")
}

pub(super) fn param_kind(policy: Value<'_>) -> String {
    at(policy, "spec.paramKind").map_or_else(
        || "<unset>".to_owned(),
        |kind| format!("{}/{}", text(kind, "apiVersion"), text(kind, "kind")),
    )
}

pub(super) fn param_ref(binding: Value<'_>) -> String {
    match (text(binding, "spec.paramRef.name"), text(binding, "spec.paramRef.namespace")) {
        ("", _) => match at(binding, "spec.paramRef.selector") {
            Some(selector) => go_selector(selector),
            None => "<unset>".to_owned(),
        },
        (name, "") => format!("*/{name}"),
        (name, namespace) => format!("{namespace}/{name}"),
    }
}

/// A label selector as Go's generated code prints it.
fn go_selector(selector: Value<'_>) -> String {
    let labels = map(selector, "matchLabels").members().iter();
    let labels = labels.map(|(key, value)| format!("{key}: {},", value.as_str().unwrap_or_default()));
    let expressions = list(selector, "matchExpressions").iter().map(|expression| {
        let values: Vec<_> =
            list(*expression, "values").iter().map(|value| value.as_str().unwrap_or_default()).collect();
        format!(
            "LabelSelectorRequirement{{Key:{},Operator:{},Values:[{}],}},",
            text(*expression, "key"),
            text(*expression, "operator"),
            values.join(" ")
        )
    });
    format!(
        "&LabelSelector{{MatchLabels:map[string]string{{{}}},MatchExpressions:[]LabelSelectorRequirement{{{}}},}}",
        labels.collect::<Vec<_>>().concat(),
        expressions.collect::<Vec<_>>().concat()
    )
}

pub(super) fn controller(revision: Value<'_>) -> String {
    let owners = list(revision, "metadata.ownerReferences");
    let Some(owner) = owners.iter().find(|owner| matches!(owner.get("controller"), Some(Value::Bool(true))))
    else {
        return "<none>".to_owned();
    };
    let (version, kind, name) = (text(*owner, "apiVersion"), text(*owner, "kind"), text(*owner, "name"));
    let group = version.split_once('/').map_or("", |(group, _)| group);
    match (kind, group) {
        ("", "") => name.to_owned(),
        (kind, "") => format!("{}/{name}", kind.to_lowercase()),
        (kind, group) => format!("{}.{}/{name}", kind.to_lowercase(), group.to_lowercase()),
    }
}

/// Unlike other selectors, an empty one is printed as nothing.
pub(super) fn deployment_selector(deployment: Value<'_>) -> String {
    LabelSelector::from_object(at(deployment, "spec.selector"))
        .map_or_else(|_| "<invalid>".to_owned(), |selector| selector.to_string())
}

pub(super) fn suspended(cron_job: Value<'_>) -> String {
    let suspended = match at(cron_job, "spec.suspend") {
        None => "<unset>",
        Some(Value::Bool(true)) => "True",
        Some(_) => "False",
    };
    suspended.to_owned()
}

pub(super) fn last_schedule(cron_job: Value<'_>, now: Timestamp) -> String {
    at(cron_job, "status.lastScheduleTime")
        .map_or_else(|| "<none>".to_owned(), |last| since(time(Some(last)), now))
}

pub(super) fn job_status(job: Value<'_>) -> String {
    let has = |kind: &&str| has_condition(job, kind);
    let status = match ["Complete", "Failed"].into_iter().find(has) {
        Some(status) => status,
        None if at(job, "metadata.deletionTimestamp").is_some() => "Terminating",
        None => {
            ["Suspended", "FailureTarget", "SuccessCriteriaMet"].into_iter().find(has).unwrap_or("Running")
        }
    };
    status.to_owned()
}

pub(super) fn job_completions(job: Value<'_>) -> String {
    let succeeded = int(job, "status.succeeded");
    match (at(job, "spec.completions"), int(job, "spec.parallelism")) {
        (Some(completions), _) => format!("{succeeded}/{completions}"),
        (None, parallelism @ 2..) => format!("{succeeded}/1 of {parallelism}"),
        _ => format!("{succeeded}/1"),
    }
}

pub(super) fn job_duration(job: Value<'_>, now: Timestamp) -> String {
    let Some(start) = time(at(job, "status.startTime")) else { return String::new() };
    let end = time(at(job, "status.completionTime")).unwrap_or(now);
    human_duration(end.duration_since(start).as_secs())
}

pub(super) fn count_or_none(budget: Value<'_>, path: &str) -> String {
    at(budget, path).map_or_else(|| "N/A".to_owned(), |count| quantity(Some(count)))
}

pub(super) fn role(binding: Value<'_>) -> String {
    format!("{}/{}", text(binding, "roleRef.kind"), text(binding, "roleRef.name"))
}

/// The names of the subjects of a kind.
pub(super) fn subjects(binding: Value<'_>, kind: &str) -> String {
    let subjects = list(binding, "subjects").iter().filter(|subject| text(**subject, "kind") == kind);
    let names = subjects.map(|subject| match kind {
        "ServiceAccount" => format!("{}/{}", text(*subject, "namespace"), text(*subject, "name")),
        _ => text(*subject, "name").to_owned(),
    });
    names.collect::<Vec<_>>().join(", ")
}

pub(super) fn claim_state(claim: Value<'_>) -> String {
    let is_deleted = at(claim, "metadata.deletionTimestamp").is_some();
    let is_allocated = at(claim, "status.allocation").is_some();
    let is_reserved = is_allocated && !list(claim, "status.reservedFor").is_empty();
    let states = [
        ("deleted", is_deleted),
        ("pending", !is_allocated && !is_deleted),
        ("allocated", is_allocated),
        ("reserved", is_reserved),
    ];
    states.into_iter().filter(|(_, is_so)| *is_so).map(|(state, _)| state).collect::<Vec<_>>().join(",")
}
