//! Cells of autoscalers.

use baton_merge::value::Value;

use super::access::{at, first_few, list, quantity, text};

/// The most metrics shown.
const MOST: usize = 2;
const UNKNOWN: &str = "<unknown>";

pub(super) fn target(autoscaler: Value<'_>) -> String {
    let target = |name: &str| text(autoscaler, &format!("spec.scaleTargetRef.{name}")).to_owned();
    format!("{}/{}", target("kind"), target("name"))
}

pub(super) fn min_replicas(autoscaler: Value<'_>) -> String {
    at(autoscaler, "spec.minReplicas").map_or_else(|| "<unset>".to_owned(), |replicas| replicas.to_string())
}

/// The current value and the target of each metric.
pub(super) fn metrics(autoscaler: Value<'_>) -> String {
    let current = list(autoscaler, "status.currentMetrics");
    let specs = list(autoscaler, "spec.metrics").iter().enumerate();
    let metrics: Vec<_> = specs
        .map(|(position, spec)| metric(*spec, current.get(position).copied().unwrap_or(Value::Null)))
        .collect();
    if metrics.is_empty() { "<none>".to_owned() } else { first_few(&metrics, MOST, ", ") }
}

fn metric(spec: Value<'_>, status: Value<'_>) -> String {
    let (member, is_resource) = match text(spec, "type") {
        "External" => ("external", false),
        "Object" => ("object", false),
        "Pods" => ("pods", false),
        "Resource" => ("resource", true),
        "ContainerResource" => ("containerResource", true),
        _ => return "<unknown type>".to_owned(),
    };
    let source = spec.get(member).unwrap_or(Value::Null);
    let status = at(status, member);
    let wanted = |name: &str| at(source, &format!("target.{name}"));
    // An absent metric is unknown; one without this value is printed as Go's nil.
    let measured = |name: &str| status.map(|status| at(status, &format!("current.{name}")));
    let amount =
        |value: Option<Value<'_>>| value.map_or_else(|| "<nil>".to_owned(), |value| quantity(Some(value)));
    let now = |name: &str| measured(name).map_or_else(|| UNKNOWN.to_owned(), amount);
    let percent = |value: Option<Value<'_>>, other: &str| {
        value.map_or_else(|| other.to_owned(), |value| format!("{value}%"))
    };
    let average = wanted("averageValue");
    match (is_resource, average) {
        (true, Some(_)) => format!("{}: {}/{}", text(source, "name"), now("averageValue"), amount(average)),
        (true, None) => format!(
            "{}: {}/{}",
            text(source, "name"),
            percent(measured("averageUtilization").flatten(), UNKNOWN),
            percent(wanted("averageUtilization"), "<auto>")
        ),
        (false, _) if member == "pods" => format!("{}/{}", now("averageValue"), amount(average)),
        (false, Some(_)) => {
            let now = measured("averageValue")
                .flatten()
                .map_or_else(|| UNKNOWN.to_owned(), |now| quantity(Some(now)));
            format!("{now}/{} (avg)", amount(average))
        }
        (false, None) => format!("{}/{}", now("value"), amount(wanted("value"))),
    }
}
