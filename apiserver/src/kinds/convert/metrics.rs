//! Metrics of an autoscaler in v1: JSON in annotations.

use baton_merge::{Arena, value::Value};

use super::super::{edit::map, quantity::Quantity, selector::selector_json};
use crate::field::escaped;

/// The sources of metrics, in the order of the Go type's fields.
type Sources = [(&'static str, &'static [Field]); 5];

/// A field of a source: its name in v1, its path in v2, and its type.
type Field = (&'static str, &'static [&'static str], Holds);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Holds {
    /// A plain optional value.
    Plain,
    /// A quantity, which v1 writes even if it is zero.
    Amount,
    /// The measured object.
    Reference,
    Selector,
}
use Holds::{Amount, Plain, Reference, Selector};

const DESCRIBED: &[&str] = &["describedObject"];
const METRIC_NAME: &[&str] = &["metric", "name"];
const METRIC_SELECTOR: &[&str] = &["metric", "selector"];

/// Targets.
const TARGETS: Sources = [
    (
        "object",
        &[
            ("target", DESCRIBED, Reference),
            ("metricName", METRIC_NAME, Plain),
            ("targetValue", &["target", "value"], Amount),
            ("selector", METRIC_SELECTOR, Selector),
            ("averageValue", &["target", "averageValue"], Plain),
        ],
    ),
    (
        "pods",
        &[
            ("metricName", METRIC_NAME, Plain),
            ("targetAverageValue", &["target", "averageValue"], Amount),
            ("selector", METRIC_SELECTOR, Selector),
        ],
    ),
    (
        "resource",
        &[
            ("name", &["name"], Plain),
            ("targetAverageUtilization", &["target", "averageUtilization"], Plain),
            ("targetAverageValue", &["target", "averageValue"], Plain),
        ],
    ),
    (
        "containerResource",
        &[
            ("name", &["name"], Plain),
            ("targetAverageUtilization", &["target", "averageUtilization"], Plain),
            ("targetAverageValue", &["target", "averageValue"], Plain),
            ("container", &["container"], Plain),
        ],
    ),
    (
        "external",
        &[
            ("metricName", METRIC_NAME, Plain),
            ("metricSelector", METRIC_SELECTOR, Selector),
            ("targetValue", &["target", "value"], Plain),
            ("targetAverageValue", &["target", "averageValue"], Plain),
        ],
    ),
];

/// Current values.
const MEASURED: Sources = [
    (
        "object",
        &[
            ("target", DESCRIBED, Reference),
            ("metricName", METRIC_NAME, Plain),
            ("currentValue", &["current", "value"], Amount),
            ("selector", METRIC_SELECTOR, Selector),
            ("averageValue", &["current", "averageValue"], Plain),
        ],
    ),
    (
        "pods",
        &[
            ("metricName", METRIC_NAME, Plain),
            ("currentAverageValue", &["current", "averageValue"], Amount),
            ("selector", METRIC_SELECTOR, Selector),
        ],
    ),
    (
        "resource",
        &[
            ("name", &["name"], Plain),
            ("currentAverageUtilization", &["current", "averageUtilization"], Plain),
            ("currentAverageValue", &["current", "averageValue"], Amount),
        ],
    ),
    (
        "containerResource",
        &[
            ("name", &["name"], Plain),
            ("currentAverageUtilization", &["current", "averageUtilization"], Plain),
            ("currentAverageValue", &["current", "averageValue"], Amount),
            ("container", &["container"], Plain),
        ],
    ),
    (
        "external",
        &[
            ("metricName", METRIC_NAME, Plain),
            ("metricSelector", METRIC_SELECTOR, Selector),
            ("currentValue", &["current", "value"], Amount),
            ("currentAverageValue", &["current", "averageValue"], Plain),
        ],
    ),
];

/// Metrics of v2 as the JSON of v1: targets or current values.
pub(super) fn to_text<'v>(metrics: impl Iterator<Item = &'v Value<'v>>, is_target: bool) -> String {
    let sources = if is_target { &TARGETS } else { &MEASURED };
    let items: Vec<_> = metrics.map(|metric| object_text(metric, sources)).collect();
    format!("[{}]", items.join(","))
}

fn object_text(metric: &Value<'_>, sources: &Sources) -> String {
    let kind = metric.get("type").map(|kind| ("type", plain(kind)));
    let present = sources.iter().filter_map(|(name, fields)| {
        let source = metric.get(name)?;
        let members = fields.iter().filter_map(|(name, path, holds)| {
            let text = match (holds, source.at(path)) {
                (Amount, None) => "\"0\"".to_owned(),
                (_, None) => return None,
                (Plain | Amount, Some(value)) => plain(value),
                (Reference, Some(value)) => in_order(value, &["kind", "name", "apiVersion"]),
                (Selector, selector) => selector_json(selector),
            };
            Some((*name, text))
        });
        Some((*name, members_text(members)))
    });
    members_text(kind.into_iter().chain(present))
}

/// These members of an object, as JSON in this order.
pub(super) fn in_order(object: Value<'_>, names: &[&'static str]) -> String {
    members_text(names.iter().filter_map(|name| Some((*name, plain(object.get(name)?)))))
}

fn members_text<'n>(members: impl Iterator<Item = (&'n str, String)>) -> String {
    let members: Vec<_> = members.map(|(name, text)| format!("\"{name}\":{text}")).collect();
    format!("{{{}}}", members.join(","))
}

fn plain(value: Value<'_>) -> String {
    let mut text = String::new();
    value.write_json(&mut text);
    escaped(&text)
}

/// Metrics of v1 in v2: targets or current values. None if they aren't metrics.
pub(super) fn to_v2<'a>(arena: &'a Arena, metrics: Value<'a>, is_target: bool) -> Option<Value<'a>> {
    let sources = if is_target { &TARGETS } else { &MEASURED };
    let of_metric = |metric: &Value<'a>| {
        let kept = metric.as_map()?.get("type").map(|kind| ("type", kind));
        let mut out = map(arena, kept);
        for (name, fields) in sources {
            let Some(source) = metric.get(name).filter(|source| !source.is_null()) else { continue };
            source.as_map()?;
            out = out.with(arena, &[name], Some(source_to_v2(arena, name, source, fields, is_target)));
        }
        Some(out)
    };
    let converted: Option<Vec<_>> = metrics.as_list()?.iter().map(of_metric).collect();
    Some(Value::List(arena.list(converted?)))
}

fn source_to_v2<'a>(
    arena: &'a Arena,
    name: &str,
    source: Value<'a>,
    fields: &[Field],
    is_target: bool,
) -> Value<'a> {
    let given = |name: &str| source.get(name).filter(|value| !value.is_null());
    let mut out = map(arena, []);
    for (name, path, holds) in fields {
        let value = given(name).or_else(|| (*holds == Amount).then_some(Value::String("0")));
        if value.is_some() {
            out = out.with(arena, path, value);
        }
    }
    if !is_target {
        return out;
    }
    let kind = match name {
        "object" if given("averageValue").is_some() => {
            // Version 1 writes an absent value as zero.
            if is_zero(out.at(&["target", "value"])) {
                out = out.with(arena, &["target", "value"], None);
            }
            "AverageValue"
        }
        "object" => "Value",
        "external" if given("targetValue").is_some() => "Value",
        "resource" | "containerResource" if given("targetAverageUtilization").is_some() => "Utilization",
        _ => "AverageValue",
    };
    out.with(arena, &["target", "type"], Some(Value::String(kind)))
}

fn is_zero(quantity: Option<Value<'_>>) -> bool {
    Quantity::of(quantity) == Quantity::ZERO
}
