//! Alerts and dashboard: Prometheus can parse their expressions, the metrics that they select exist, and people who get an
//! alert find what to do.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    process::Command,
};

use baton_merge::yaml;
use baton_testbed::assets;
use serde::Deserialize;
use serde_json::Value;

use super::objects::repository;
use crate::health::judge_lines;

/// Metrics of other programs: kube-state-metrics, and the kubelet's cAdvisor.
const FOREIGN: [&str; 8] = [
    "baton_workload_info",
    "baton_workload_status_condition",
    "container_cpu_usage_seconds_total",
    "container_memory_working_set_bytes",
    "kube_deployment_spec_replicas",
    "kube_deployment_status_replicas_ready",
    "kube_pod_container_resource_limits",
    "kube_pod_container_status_restarts_total",
];
/// The metrics that kube-state-metrics makes of Workloads, whose namespace is the Workload's.
const OF_WORKLOADS: &str = "baton_workload_";
/// Labels that Prometheus adds when it scrapes.
const OF_THE_TARGET: [&str; 2] = ["namespace", "pod"];

/// The result of Prometheus' parser for one expression.
#[derive(Debug, Deserialize)]
struct Parsed {
    error: Option<String>,
    #[serde(default)]
    selectors: Vec<Selector>,
}

#[derive(Debug, Deserialize)]
struct Selector {
    metric: String,
    labels: BTreeMap<String, String>,
}

fn parse(expressions: &[String]) -> Vec<Parsed> {
    let mut parser = Command::new(assets::promql().unwrap());
    judge_lines(&mut parser, expressions.iter().map(|text| text.replace('\n', " ")))
}

/// The words in backticks.
fn words(text: &str) -> BTreeSet<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

/// The rows of the table in `docs/metrics.md`: the labels of each metric, and their values.
fn documented(page: &str) -> BTreeMap<&str, BTreeSet<&str>> {
    let table = page.lines().filter(|line| line.starts_with("| `baton_"));
    let row = |line| {
        let cells: Vec<&str> = str::split(line, '|').collect();
        (cells[1].trim().trim_matches('`'), words(cells[3]))
    };
    let mut rows: BTreeMap<&str, BTreeSet<&str>> = table.map(row).collect();
    // The text below the table is about several metrics.
    let below = words(page.rsplit_once("\n| ").unwrap().1.split_once('\n').unwrap().1);
    for row in rows.values_mut().filter(|row| row.contains("kind")) {
        row.extend(&below);
    }
    rows
}

/// Asserts that each expression is valid and selects documented metrics.
fn check(expressions: &[String]) {
    let page = fs::read_to_string(repository("docs/metrics.md")).unwrap();
    let documented = documented(&page);
    for (text, parsed) in expressions.iter().zip(parse(expressions)) {
        assert_eq!(parsed.error, None, "{text}");
        assert!(!parsed.selectors.is_empty(), "{text}");
        for Selector { metric, labels } in parsed.selectors {
            if FOREIGN.contains(&metric.as_str()) {
                continue;
            }
            let base = ["_bucket", "_sum", "_count"].iter().find_map(|suffix| metric.strip_suffix(suffix));
            let row = documented.get(metric.as_str()).or_else(|| documented.get(base?));
            let row = row.unwrap_or_else(|| panic!("docs/metrics.md has no {metric}, selected in {text}"));
            for (label, value) in labels {
                if OF_THE_TARGET.contains(&label.as_str()) {
                    continue;
                }
                assert!(row.contains(label.as_str()), "{metric} has no label {label}, selected in {text}");
                // Codes are the HTTP protocol's.
                for value in value.split('|').filter(|_| label != "code") {
                    assert!(row.contains(value), "{label} of {metric} is never {value}, selected in {text}");
                }
            }
        }
    }
}

/// A file of the component that `manifests/overlays/monitoring` adds.
fn component(file: &str) -> String {
    fs::read_to_string(repository("manifests/components/monitoring").join(file)).unwrap()
}

fn alerts() -> Vec<Value> {
    let rule: Value = yaml::from_str(&component("prometheusrule.yaml")).unwrap();
    let groups = rule["spec"]["groups"].as_array().unwrap();
    groups.iter().flat_map(|group| group["rules"].as_array().unwrap().clone()).collect()
}

fn dashboard() -> Value {
    serde_json::from_str(&component("dashboard.json")).unwrap()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("{value} is not a string"))
}

fn expressions_of_alerts() -> Vec<String> {
    alerts().iter().map(|alert| text(&alert["expr"]).to_owned()).collect()
}

#[test]
#[ignore = "by Prometheus's own parser, in Go"]
fn alerts_select_metrics_that_exist() {
    check(&expressions_of_alerts());
}

/// Otherwise a pod of any namespace could cause an alert, or keep one from firing, by a metric of the same name.
#[test]
#[ignore = "by Prometheus's own parser, in Go"]
fn alerts_are_about_the_metrics_of_batons_own_namespace() {
    let expressions = expressions_of_alerts();
    for (text, parsed) in expressions.iter().zip(parse(&expressions)) {
        for Selector { metric, labels } in parsed.selectors {
            if !metric.starts_with(OF_WORKLOADS) {
                assert!(labels.get("namespace").is_some_and(|it| it == "baton-system"), "{metric} in {text}");
            }
        }
    }
}

#[test]
fn every_alert_says_what_it_means_and_where_to_read_on() {
    let page = fs::read_to_string(repository("docs/operations.md")).unwrap();
    let mut names = BTreeSet::new();
    for alert in alerts() {
        let name = text(&alert["alert"]);
        assert!(names.insert(name.to_owned()), "there are two alerts {name}");
        assert!(["critical", "warning", "info"].contains(&text(&alert["labels"]["severity"])), "{name}");
        for annotation in ["summary", "description"] {
            assert!(text(&alert["annotations"][annotation]).ends_with('.'), "{annotation} of {name}");
        }
        let url = format!("docs/operations.md#{}", name.to_lowercase());
        assert_eq!(text(&alert["annotations"]["runbook_url"]), url);
        assert!(page.contains(&format!("\n### {name}\n")), "docs/operations.md has no heading {name}");
    }
    for heading in page.lines().filter_map(|line| line.strip_prefix("### Baton")) {
        assert!(
            names.contains(&format!("Baton{heading}")),
            "there is no alert Baton{heading}, which docs/operations.md has"
        );
    }
}

#[test]
#[ignore = "by Prometheus's own parser, in Go"]
fn the_dashboard_selects_metrics_that_exist() {
    let dashboard = dashboard();
    let targets =
        dashboard["panels"].as_array().unwrap().iter().filter_map(|panel| panel["targets"].as_array());
    let expressions: Vec<String> = targets
        .flatten()
        .map(|target| text(&target["expr"]).replace("$__rate_interval", "5m").replace("$namespace", "any"))
        .collect();
    assert!(expressions.len() > 20);
    check(&expressions);
}

#[test]
fn grafana_can_lay_out_the_dashboard() {
    let dashboard = dashboard();
    assert_eq!(dashboard["uid"], "baton");
    assert!(dashboard["schemaVersion"].as_u64() >= Some(39), "that of Grafana 11");
    let variables = dashboard["templating"]["list"].as_array().unwrap();
    assert!(variables.iter().any(|one| one["type"] == "datasource" && one["name"] == "datasource"));

    let (mut ids, mut taken) = (BTreeSet::new(), BTreeSet::new());
    for panel in dashboard["panels"].as_array().unwrap() {
        let title = text(&panel["title"]);
        assert!(ids.insert(panel["id"].as_u64()), "{title} has the id of another panel");
        let [x, y, w, h] = ["x", "y", "w", "h"].map(|field| panel["gridPos"][field].as_u64().unwrap());
        assert!(x + w <= 24, "{title} is too far to the right");
        for cell in (x..x + w).flat_map(|x| (y..y + h).map(move |y| (x, y))) {
            assert!(taken.insert(cell), "{title} overlaps another panel");
        }
        if panel["type"] != "row" {
            assert_eq!(panel["datasource"]["uid"], "${datasource}", "{title}");
            assert!(text(&panel["description"]).ends_with('.'), "{title} doesn't say what it shows");
        }
    }
}
