//! Checks that `docs/metrics.md` and the metrics agree, and that the metrics' text is correct.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use baton_runtime::metrics::{Code, RequestKind, Verb};

use super::*;

const TABLE: &str = include_str!("../../../docs/metrics.md");

/// Labels whose values can't be listed beforehand.
const OPEN: [&str; 4] = ["version", "manager", "resource", "code"];

/// Labels with values that the table lists once for several metrics.
const SHARED: [&str; 2] = ["kind", "verb"];

/// Metrics with at least one series each, because the text leaves out those without.
fn all_metrics() -> Metrics {
    let metrics = Metrics::default();
    for verb in Verb::ALL {
        let request = RequestKind { verb, resource: "workloads".to_owned() };
        metrics.requests().requested(&request, Code::Status(200), Duration::from_millis(2));
        metrics.requests().denied(&request);
    }
    metrics
}

/// The lines of the text that begin with this comment, as the metric's name and the rest.
fn comments<'a>(text: &'a str, comment: &str) -> BTreeMap<&'a str, &'a str> {
    text.lines().filter_map(|line| line.strip_prefix(comment)?.trim_start().split_once(' ')).collect()
}

/// The name in queries of a metric of this type.
fn queried(name: &str, kind: &str) -> String {
    match kind {
        "counter" => format!("{name}_total"),
        "info" => format!("{name}_info"),
        _ => name.to_owned(),
    }
}

/// Name, type and labels of each row of the table.
fn rows() -> Vec<(&'static str, &'static str, &'static str)> {
    let row = |line: &'static str| {
        let mut cells = line.strip_prefix("| `baton_")?.split('|').map(str::trim);
        let name = cells.next()?.trim_end_matches('`');
        Some((name, cells.next()?, cells.next()?))
    };
    TABLE.lines().filter_map(row).collect()
}

#[test]
fn the_table_has_exactly_one_row_for_each_metric() {
    let text = all_metrics().text([]).unwrap();
    let served: BTreeSet<_> =
        comments(&text, "# TYPE").into_iter().map(|(name, kind)| (queried(name, kind), kind)).collect();
    let documented: BTreeSet<_> =
        rows().iter().map(|(name, kind, _)| (format!("baton_{name}"), *kind)).collect();
    assert_eq!(served, documented);
    assert_eq!(rows().len(), documented.len(), "no metric has two rows");
}

#[test]
fn the_table_names_the_labels_of_each_metric_and_their_known_values() {
    let text = all_metrics().text([]).unwrap();
    let samples: Vec<_> = text.lines().filter_map(|line| line.split_once('{')).collect();
    for (name, _, labels) in rows() {
        let name = format!("baton_{name}");
        for (_, set) in samples.iter().filter(|(sample, _)| sample.starts_with(&name)) {
            let pairs = set.split('}').next().unwrap().split(',').filter_map(|pair| pair.split_once('='));
            for (label, value) in pairs.filter(|(label, _)| *label != "le") {
                let value = value.trim_matches('"');
                assert!(labels.contains(&format!("`{label}`")), "{name}: {label}");
                let list = if SHARED.contains(&label) { TABLE } else { labels };
                let is_listed = list.contains(&format!("`{value}`"));
                assert!(OPEN.contains(&label) || is_listed, "{name}: {label}={value}");
            }
        }
    }
}

#[test]
fn each_metric_has_a_help_text() {
    let text = all_metrics().text([]).unwrap();
    let helps = comments(&text, "# HELP");
    let names: Vec<_> = comments(&text, "# TYPE").into_keys().collect();
    assert_eq!(helps.keys().copied().collect::<Vec<_>>(), names);
    for (name, help) in helps {
        assert!(help.len() > 10 && help.ends_with('.') && !help.contains("  "), "{name}: {help}");
    }
}

#[test]
fn every_series_has_the_shards_name_as_a_label_if_there_is_one() {
    let shards = |metrics: &Metrics| {
        let text = metrics.text([]).unwrap();
        let samples = text.lines().filter(|line| !line.starts_with('#'));
        samples.map(|line| line.contains("shard=\"second\"")).collect::<BTreeSet<_>>()
    };
    assert_eq!(shards(&Metrics::of_shard(Some("second"))), BTreeSet::from([true]));
    assert_eq!(shards(&Metrics::default()), BTreeSet::from([false]));
}

#[test]
fn metrics_are_written_as_open_metrics() {
    let metrics = Metrics::default();
    metrics.reconciled(ReconcileOutcome::Settled, Duration::from_millis(20));
    metrics.reconciled(ReconcileOutcome::Failed, Duration::from_secs(2));
    metrics.applied(ChildKind::Deployment, WriteOutcome::Sent);
    metrics.applied(ChildKind::Deployment, WriteOutcome::Skipped);
    metrics.predicted(ChildKind::Autoscaler, PredictionOutcome::ModuloDefaulting);
    metrics.took_over(ChildKind::Deployment, "kubectl \"edit\"", 3);
    metrics.schemas(true);
    metrics.schemas_refreshed(RefreshOutcome::Changed);
    let request = RequestKind { verb: Verb::Apply, resource: "workloads/status".to_owned() };
    metrics.requests().requested(&request, Code::Status(200), Duration::from_millis(3));
    metrics.requests().requested(&request, Code::Error, Duration::from_secs(30));

    let text = metrics.text([]).unwrap();
    let version = env!("CARGO_PKG_VERSION");
    for line in [
        &*format!("baton_build_info{{version=\"{version}\"}} 1"),
        "# TYPE baton_reconciles counter",
        r#"baton_reconciles_total{outcome="settled"} 1"#,
        r#"baton_reconciles_total{outcome="unsettled"} 0"#,
        r#"baton_reconciles_total{outcome="failed"} 1"#,
        "# UNIT baton_reconcile_duration_seconds seconds",
        r#"baton_reconcile_duration_seconds_bucket{le="0.025"} 1"#,
        "baton_reconcile_duration_seconds_sum 2.02",
        "baton_reconcile_duration_seconds_count 2",
        r#"baton_applies_total{kind="Deployment",outcome="sent"} 1"#,
        r#"baton_applies_total{kind="Deployment",outcome="skipped"} 1"#,
        r#"baton_applies_total{kind="Service",outcome="sent"} 0"#,
        r#"baton_predictions_total{kind="HorizontalPodAutoscaler",outcome="modulo-defaulting"} 1"#,
        r#"baton_takeovers_total{kind="Deployment",manager="kubectl \"edit\""} 3"#,
        r#"baton_takeovers_total{kind="Deployment",manager="other"} 0"#,
        "baton_schemas_usable 1",
        r#"baton_schema_refreshes_total{outcome="changed"} 1"#,
        r#"baton_api_requests_total{verb="apply",resource="workloads/status",code="200"} 1"#,
        r#"baton_api_requests_total{verb="apply",resource="workloads/status",code="error"} 1"#,
        r#"baton_api_request_duration_seconds_count{verb="apply",resource="workloads/status"} 2"#,
    ] {
        assert!(text.lines().any(|have| have == line), "missing: {line}\n{text}");
    }
    assert!(text.ends_with("# EOF\n"), "{text}");
}
