//! Autoscalers: v1 has one metric, the CPU utilization. Its annotations hold the other fields of v2.

use baton_merge::{Arena, Release, value::Value};

use super::{
    super::{
        edit::{items, list, map, text},
        go_json::{
            GoField,
            GoType::{List, Plain, Pointer},
            go_json,
        },
    },
    metrics::{self, in_order},
};
use crate::{
    kinds::convert::Pair,
    types::{Decoder, TYPES},
};

const METRICS: &str = "autoscaling.alpha.kubernetes.io/metrics";
const BEHAVIOR: &str = "autoscaling.alpha.kubernetes.io/behavior";
const MEASURED: &str = "autoscaling.alpha.kubernetes.io/current-metrics";
const CONDITIONS: &str = "autoscaling.alpha.kubernetes.io/conditions";

/// Annotations of v1, which are never stored. No current server writes the last two.
const ANNOTATIONS: [&str; 6] = [
    METRICS,
    BEHAVIOR,
    MEASURED,
    CONDITIONS,
    "autoscaling.alpha.kubernetes.io/scale-down-tolerance",
    "autoscaling.alpha.kubernetes.io/scale-up-tolerance",
];

/// The default CPU utilization.
const DEFAULT_UTILIZATION: Value<'static> = Value::Int(80);

/// The behavior as the server writes it to its annotation, with Go's names.
const BEHAVIOR_FIELDS: &[GoField] =
    &[("ScaleUp", "scaleUp", Pointer(RULES)), ("ScaleDown", "scaleDown", Pointer(RULES))];
const RULES: &[GoField] = &[
    ("StabilizationWindowSeconds", "stabilizationWindowSeconds", Plain("null")),
    ("SelectPolicy", "selectPolicy", Plain("null")),
    (
        "Policies",
        "policies",
        List(&[
            ("Type", "type", Plain("\"\"")),
            ("Value", "value", Plain("0")),
            ("PeriodSeconds", "periodSeconds", Plain("0")),
        ]),
    ),
    ("Tolerance", "tolerance", Plain("null")),
];

/// Converts v1 to v2.
pub(super) fn to_v2<'a>(arena: &'a Arena, v1: Value<'a>) -> Value<'a> {
    let annotation = |name| v1.at(&["metadata", "annotations", name]).and_then(|text| text.as_str());
    let given = |path: &[&str]| v1.at(path).filter(|value| !value.is_null());
    let read = |name, path: &[&str], convert: &dyn Fn(Value<'a>) -> Option<Value<'a>>| {
        read(arena, annotation(name)?, path, convert)
    };

    let others = read(METRICS, &["spec", "metrics"], &|metrics| metrics::to_v2(arena, metrics, true));
    let others = others.and_then(|metrics| metrics.as_list()).unwrap_or_default();
    let utilization = given(&["spec", "targetCPUUtilizationPercentage"])
        .or_else(|| others.is_empty().then_some(DEFAULT_UTILIZATION));
    let of_cpu = utilization.map(|percent| {
        let target = [("averageUtilization", percent), ("type", Value::String("Utilization"))];
        cpu(arena, ("target", map(arena, target)))
    });
    let behavior = read(BEHAVIOR, &["spec", "behavior"], &|behavior| Some(in_api_names(arena, behavior)))
        .filter(|behavior| behavior.as_map().is_some_and(|rules| !rules.is_empty()));
    let v2 = v1
        .with(arena, &["spec", "targetCPUUtilizationPercentage"], None)
        .with(arena, &["spec", "metrics"], Some(list(arena, others.iter().copied().chain(of_cpu))))
        .with(arena, &["spec", "behavior"], behavior);
    let v2 = without_annotations(arena, v2);
    if v2.get("status").is_none() {
        return v2;
    }

    let measured =
        read(MEASURED, &["status", "currentMetrics"], &|metrics| metrics::to_v2(arena, metrics, false));
    let measured_cpu = || {
        let percent = given(&["status", "currentCPUUtilizationPercentage"])?;
        let current = map(arena, [("averageUtilization", percent)]);
        Some(list(arena, [cpu(arena, ("current", current))]))
    };
    let conditions = read(CONDITIONS, &["status", "conditions"], &Some);
    let status = v2.with(arena, &["status", "currentCPUUtilizationPercentage"], None).with(
        arena,
        &["status", "currentMetrics"],
        Some(measured.or_else(measured_cpu).unwrap_or(Value::Null)),
    );
    let status = status.with(arena, &["status", "conditions"], conditions);
    // Version 2 omits a zero.
    match status.at(&["status", "currentReplicas"]) {
        Some(Value::Int(0)) => status.with(arena, &["status", "currentReplicas"], None),
        _ => status,
    }
}

/// Converts v2 to v1.
pub(super) fn to_v1<'a>(arena: &'a Arena, v2: Value<'a>) -> Value<'a> {
    let metrics = items(v2, &["spec", "metrics"]);
    let measured = items(v2, &["status", "currentMetrics"]);
    let conditions = items(v2, &["status", "conditions"]);
    let others: Vec<_> =
        metrics.iter().filter(|metric| cpu_utilization(**metric, "target").is_none()).collect();
    let conditions: Vec<_> = conditions
        .iter()
        .map(|of| in_order(*of, &["type", "status", "lastTransitionTime", "reason", "message"]))
        .collect();
    let annotations = [
        (METRICS, (!others.is_empty()).then(|| metrics::to_text(others.into_iter(), true))),
        (BEHAVIOR, v2.at(&["spec", "behavior"]).map(|behavior| go_json(Some(behavior), BEHAVIOR_FIELDS))),
        (MEASURED, (!measured.is_empty()).then(|| metrics::to_text(measured.iter(), false))),
        (CONDITIONS, (!conditions.is_empty()).then(|| format!("[{}]", conditions.join(",")))),
    ];
    let annotations = annotations.into_iter().filter_map(|(name, text)| Some((name, text?)));
    let target = metrics.iter().find_map(|metric| cpu_utilization(*metric, "target"));
    let v1 = with_annotations(arena, v2, annotations)
        .with(arena, &["spec", "metrics"], None)
        .with(arena, &["spec", "behavior"], None)
        .with(arena, &["spec", "targetCPUUtilizationPercentage"], target);
    if v1.get("status").is_none() {
        return v1;
    }
    let current = measured.iter().rev().find_map(|metric| cpu_utilization(*metric, "current"));
    let replicas = v1.at(&["status", "currentReplicas"]).unwrap_or(Value::Int(0));
    v1.with(arena, &["status", "currentMetrics"], None)
        .with(arena, &["status", "conditions"], None)
        .with(arena, &["status", "currentReplicas"], Some(replicas))
        .with(arena, &["status", "currentCPUUtilizationPercentage"], current)
}

/// A CPU metric.
fn cpu<'a>(arena: &'a Arena, amount: (&'a str, Value<'a>)) -> Value<'a> {
    let resource = map(arena, [("name", Value::String("cpu")), amount]);
    map(arena, [("resource", resource), ("type", Value::String("Resource"))])
}

/// The target or current utilization of a CPU metric.
fn cpu_utilization<'a>(metric: Value<'a>, of: &str) -> Option<Value<'a>> {
    let is_cpu = text(metric, &["type"]) == "Resource" && text(metric, &["resource", "name"]) == "cpu";
    metric.at(&["resource", of, "averageUtilization"]).filter(|_| is_cpu)
}

/// A v2 autoscaler without the annotations of v1, which have no meaning there.
pub(crate) fn without_annotations<'a>(arena: &'a Arena, autoscaler: Value<'a>) -> Value<'a> {
    with_annotations(arena, autoscaler, [])
}

/// The autoscaler with these annotations of v1 only.
fn with_annotations<'a>(
    arena: &'a Arena,
    autoscaler: Value<'a>,
    annotations: impl IntoIterator<Item = (&'static str, String)>,
) -> Value<'a> {
    const PATH: [&str; 2] = ["metadata", "annotations"];

    let before = autoscaler.at(&PATH).and_then(|all| all.as_map()).unwrap_or_default();
    let mut all = ANNOTATIONS.iter().fold(before, |all, name| all.with(arena, name, None));
    for (name, text) in annotations {
        all = all.with(arena, name, Some(Value::String(arena.copy_text(&text))));
    }
    if all == before {
        return autoscaler;
    }
    autoscaler.with(arena, &PATH, (!all.is_empty()).then_some(Value::Map(all)))
}

/// The value in an annotation for a field of v2. As on the server, an unreadable one is ignored.
fn read<'a>(
    arena: &'a Arena,
    annotation: &'a str,
    path: &[&str],
    convert: &dyn Fn(Value<'a>) -> Option<Value<'a>>,
) -> Option<Value<'a>> {
    let field = convert(Value::from_text(arena, annotation).ok()?)?;
    let alone = map(arena, []).with(arena, path, Some(field));
    let decoder =
        Decoder { types: &TYPES, arena, fills_in: false, keeps_empty: false, release: Release::LATEST };
    decoder.decode(TYPES.of_kind(&Pair::Autoscaler.stored())?, alone).ok()?.object.at(path)
}

/// A behavior with the API's names instead of Go's.
fn in_api_names<'a>(arena: &'a Arena, value: Value<'a>) -> Value<'a> {
    match value {
        Value::Map(members) => map(
            arena,
            members.members().iter().map(|(name, value)| {
                let mut letters = name.chars();
                let first = letters.next().map(|first| first.to_ascii_lowercase());
                let name: String = first.into_iter().chain(letters).collect();
                (arena.copy_text(&name), in_api_names(arena, *value))
            }),
        ),
        Value::List(items) => list(arena, items.iter().map(|item| in_api_names(arena, *item))),
        other => other,
    }
}
