//! Metrics of an autoscaler in v1: JSON in annotations.

use baton_merge::{Arena, value::Value};

use super::super::{edit::map, quantity::Quantity, selector::selector_json};
use crate::field::escaped;

/// A field of a source: its name in v1, its path in v2, and its type. Current values have `current` in place of `target`.
type Field = (&'static str, &'static [&'static str], Holds);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Holds {
    /// A plain optional value.
    Plain,
    /// A quantity, which v1 writes even if it is zero.
    Amount,
    /// A quantity, which v1 writes even if it is zero, unless it is a target.
    CurrentAmount,
    /// The measured object.
    Reference,
    Selector,
}
use Holds::{Amount, CurrentAmount, Plain, Reference, Selector};

const METRIC_NAME: &[&str] = &["metric", "name"];
const METRIC_SELECTOR: &[&str] = &["metric", "selector"];
const VALUE: &[&str] = &["target", "value"];
const AVERAGE: &[&str] = &["target", "averageValue"];
const UTILIZATION: &[&str] = &["target", "averageUtilization"];

/// The sources of metrics and their fields, in the order of the Go types.
#[rustfmt::skip]
const SOURCES: [(&str, &[Field]); 5] = [
    ("object", &[
        ("target", &["describedObject"], Reference), ("metricName", METRIC_NAME, Plain), ("targetValue", VALUE, Amount),
        ("selector", METRIC_SELECTOR, Selector), ("averageValue", AVERAGE, Plain),
    ]),
    ("pods", &[
        ("metricName", METRIC_NAME, Plain), ("targetAverageValue", AVERAGE, Amount),
        ("selector", METRIC_SELECTOR, Selector),
    ]),
    ("resource", &[
        ("name", &["name"], Plain), ("targetAverageUtilization", UTILIZATION, Plain),
        ("targetAverageValue", AVERAGE, CurrentAmount),
    ]),
    ("containerResource", &[
        ("name", &["name"], Plain), ("targetAverageUtilization", UTILIZATION, Plain),
        ("targetAverageValue", AVERAGE, CurrentAmount), ("container", &["container"], Plain),
    ]),
    ("external", &[
        ("metricName", METRIC_NAME, Plain), ("metricSelector", METRIC_SELECTOR, Selector),
        ("targetValue", VALUE, CurrentAmount), ("targetAverageValue", AVERAGE, Plain),
    ]),
];

/// The fields of a source, of targets or of current values.
fn fields_of(fields: &[Field], is_target: bool) -> impl Iterator<Item = (String, Vec<&'static str>, Holds)> {
    fields.iter().map(move |(name, path, holds)| {
        let holds = match holds {
            CurrentAmount if is_target => Plain,
            CurrentAmount => Amount,
            other => *other,
        };
        if is_target || holds == Reference {
            return ((*name).to_owned(), path.to_vec(), holds);
        }
        let path = path.iter().map(|part| if *part == "target" { "current" } else { *part });
        (name.replace("target", "current"), path.collect(), holds)
    })
}

/// Metrics of v2 as the JSON of v1: targets or current values.
pub(super) fn to_text<'v>(metrics: impl Iterator<Item = &'v Value<'v>>, is_target: bool) -> String {
    let items: Vec<_> = metrics.map(|metric| object_text(metric, is_target)).collect();
    format!("[{}]", items.join(","))
}

fn object_text(metric: &Value<'_>, is_target: bool) -> String {
    let kind = metric.get("type").map(|kind| ("type".to_owned(), plain(kind)));
    let present = SOURCES.iter().filter_map(|(name, fields)| {
        let source = metric.get(name)?;
        let members = fields_of(fields, is_target).filter_map(|(name, path, holds)| {
            let text = match (holds, source.at(&path)) {
                (Amount, None) => "\"0\"".to_owned(),
                (_, None) => return None,
                (Plain | Amount | CurrentAmount, Some(value)) => plain(value),
                (Reference, Some(value)) => in_order(value, &["kind", "name", "apiVersion"]),
                (Selector, selector) => selector_json(selector),
            };
            Some((name, text))
        });
        Some(((*name).to_owned(), members_text(members)))
    });
    members_text(kind.into_iter().chain(present))
}

/// These members of an object, as JSON in this order.
pub(super) fn in_order(object: Value<'_>, names: &[&'static str]) -> String {
    members_text(names.iter().filter_map(|name| Some(((*name).to_owned(), plain(object.get(name)?)))))
}

fn members_text(members: impl Iterator<Item = (String, String)>) -> String {
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
    let of_metric = |metric: &Value<'a>| {
        let kept = metric.as_map()?.get("type").map(|kind| ("type", kind));
        let mut out = map(arena, kept);
        for (name, fields) in SOURCES {
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
    for (name, path, holds) in fields_of(fields, is_target) {
        let value = given(&name).or_else(|| (holds == Amount).then_some(Value::String("0")));
        if value.is_some() {
            out = out.with(arena, &path, value);
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
