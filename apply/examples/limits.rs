//! The cost of a write at the limits of an API server's store: many fields, many managers, long lists, deep entries.
//!
//! ```text
//! cargo run -p baton-apply --example limits                       # all cases
//! cargo run -p baton-apply --example limits -- managers 2000 8000  # those with this word, for these sizes
//! ```
//!
//! Prints the milliseconds of processor time that each part takes for each size. A cost that grows with the size stays the same for a field.

#![allow(clippy::unwrap_used, reason = "an example that can't go on should say where")]

use std::{
    sync::{Arc, LazyLock},
    time::Instant,
};

use baton_apply::{DryRun, Guard, LiveObject, Outcome, Prediction, Request, Schemas, Target};
use baton_apply::{openapi::document_path, ownership::Migration};
use baton_merge::{Release, server::Resources};
use jiff::Timestamp;
use k8s_openapi::api::apps::v1::Deployment;
use kube::core::ApiResource;
use serde_json::{Map, Value, json};

const SIZES: [usize; 3] = [2_000, 8_000, 20_000];

fn main() {
    let (sizes, words): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|argument| argument.parse::<usize>().is_ok());
    let mut sizes: Vec<usize> = sizes.iter().map(|size| size.parse().unwrap()).collect();
    if sizes.is_empty() {
        sizes.extend(SIZES);
    }
    let is_meant = |name: &str| words.iter().all(|word| name.contains(word.as_str()));
    let schemas = schemas();
    println!("{:<28} {:>7} {:>9} {:>9} {:>9}", "case", "size", "KB", "predict", "settle");
    for (name, case) in CASES.into_iter().filter(|(name, _)| is_meant(name)) {
        for size in &sizes {
            let (live, intent, force) = case(*size);
            let live = LiveObject::from_text(live.to_string()).unwrap();
            let target = Target::of(&live, &deployments());
            let guard = Guard::Unchanged(live.revision());
            let request = Request::apply(target, intent, "baton", force, &guard);
            let begun = cpu();
            let write = schemas.prepare(request, Some(&live), now());
            let predicted = cpu() - begun;
            let response = match &write.prediction {
                Ok(Prediction::Stored(stored)) => Some(stored.clone().returned(Some(&live)).unwrap()),
                _ => None,
            };
            let begun = cpu();
            if let Some(response) = response {
                let outcome = schemas.settle(&write, Some(&live), Ok(Some(response)), DryRun::No);
                assert!(matches!(outcome, Outcome::Stored { .. }), "{outcome:?}");
            }
            let (kb, settled) = (live.as_text().len() / 1000, cpu() - begun);
            println!("{name:<28} {size:>7} {kb:>9} {predicted:>9} {settled:>9}");
        }
    }
    if is_meant(NOTHING_TO_RETIRE) {
        let live = LiveObject::from_text(deep_entry(160_000)).unwrap();
        let (kb, memory) = (live.as_text().len() / 1000, most_memory());
        let begun = cpu();
        assert_eq!(Migration::to("baton", &live, &["apps/v1"], |_| false), None);
        println!("{NOTHING_TO_RETIRE:<28} {:>7} {kb:>9} {:>9}", 160_000, cpu() - begun);
        let afterwards = most_memory();
        let begun = cpu();
        assert!(live.as_json().is_ok());
        let built = cpu() - begun;
        println!(
            "most memory: {memory} before, {afterwards} afterwards; as a tree {} and {built} ms",
            most_memory()
        );
    }
}

const NOTHING_TO_RETIRE: &str = "nothing to retire";

/// The milliseconds of processor time of this thread where the system reports them; else the time of day.
fn cpu() -> u128 {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    let ran = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let ran = ran.and_then(|text| text.split_whitespace().next()?.parse::<u128>().ok());
    ran.map_or_else(|| START.elapsed().as_millis(), |nanoseconds| nanoseconds / 1_000_000)
}

/// The most memory that the process has had, where the system reports it.
fn most_memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    peak.unwrap_or("unknown").trim().to_owned()
}

/// A live object, an intent, and whether it is forced.
type Case = fn(usize) -> (Value, Value, bool);

const CASES: [(&str, Case); 10] = [
    ("annotations taken over", |size| {
        let names = annotations(size, |_| "f".into());
        let live = live(&annotations(size, |_| "2".into()), &json!({}), &[entry("x", "Update", &names)]);
        (live, intent(&annotations(size, |_| "1".into()), &json!({})), true)
    }),
    ("conflicts", |size| {
        let owners: Vec<Value> =
            (0..size).map(|at| entry(&manager(at), "Apply", &one_annotation(at))).collect();
        let live = live(&annotations(size, |_| "2".into()), &json!({}), &owners);
        (live, intent(&annotations(size, |_| "1".into()), &json!({})), false)
    }),
    ("managers of one field each", |size| {
        let owners: Vec<Value> =
            (0..size).map(|at| entry(&manager(at), "Apply", &one_annotation(at))).collect();
        let live = live(&annotations(size, |_| "2".into()), &json!({}), &owners);
        (live, intent(&annotations(size, |_| "1".into()), &json!({})), true)
    }),
    ("managers beside one another", |size| {
        let owners: Vec<Value> =
            (0..size).map(|at| entry(&manager(at), "Apply", &one_annotation(0))).collect();
        let live = live(&annotations(size, |_| "2".into()), &json!({}), &owners);
        (live, intent(&annotations(size, |_| "1".into()), &json!({})), true)
    }),
    ("managers and no change", |size| {
        let mut owners: Vec<Value> =
            (0..size).map(|at| entry(&manager(at), "Apply", &one_annotation(0))).collect();
        owners.insert(0, entry("baton", "Apply", &one_annotation(0)));
        let live = live(&annotations(1, |_| "1".into()), &json!({}), &owners);
        (live, intent(&annotations(1, |_| "1".into()), &json!({})), true)
    }),
    ("annotations removed", |size| {
        let owners = [entry("baton", "Apply", &annotations(size, |_| "f".into()))];
        let live = live(&annotations(size, |_| "2".into()), &json!({}), &owners);
        (live, intent(&annotations(1, |_| "1".into()), &json!({})), true)
    }),
    ("variables taken over", |size| {
        let live =
            live(&annotations(1, |_| "1".into()), &pod(size, "2"), &[of_variables("x", "Update", size)]);
        (live, intent(&annotations(1, |_| "1".into()), &pod(size, "1")), true)
    }),
    ("variables removed", |size| {
        let live =
            live(&annotations(1, |_| "1".into()), &pod(size, "2"), &[of_variables("baton", "Apply", size)]);
        (live, intent(&annotations(1, |_| "1".into()), &pod(1, "1")), true)
    }),
    ("volumes with a new source", |size| {
        let volumes = |source: &str| -> Vec<Value> {
            (0..size).map(|at| json!({"name": format!("v{at:05}"), source: {}})).collect()
        };
        let owned: Map<String, Value> = (0..size)
            .map(|at| (format!("k:{{\"name\":\"v{at:05}\"}}"), json!({".": {}, "f:name": {}})))
            .collect();
        let owned = json!({"f:spec": {"f:template": {"f:spec": {"f:volumes": owned}}}});
        let owned = json!({
            "manager": "baton", "operation": "Apply", "apiVersion": "apps/v1", "fieldsType": "FieldsV1",
            "time": "2026-01-02T03:04:05Z", "fieldsV1": owned,
        });
        let spec = |source| json!({"template": {"spec": {"volumes": volumes(source)}}});
        let live = live(&annotations(1, |_| "1".into()), &spec("emptyDir"), &[owned]);
        (live, intent(&annotations(1, |_| "1".into()), &spec("configMap")), true)
    }),
    ("variables emptied", |size| {
        let live = live(
            &annotations(1, |_| "1".into()),
            &pod_of(size, &json!({"fieldRef": {"fieldPath": "x"}})),
            &[],
        );
        (live, intent(&annotations(1, |_| "1".into()), &pod_of(size, &json!({}))), true)
    }),
];

fn schemas() -> Schemas {
    let document = include_str!("../../merge/tests/data/openapi/apps__v1.json");
    let resources = Resources::from_openapi(&serde_json::from_str(document).unwrap()).unwrap();
    Schemas::new(Release::new(36, 3), [(document_path(&deployments()), Arc::new(resources))])
}

fn deployments() -> ApiResource {
    ApiResource::erase::<Deployment>(&())
}

fn now() -> Timestamp {
    "2026-01-02T04:00:00Z".parse().unwrap()
}

fn manager(at: usize) -> String {
    format!("m{at:05}")
}

fn annotations(size: usize, value: impl Fn(usize) -> String) -> Map<String, Value> {
    (0..size).map(|at| (format!("k{at:05}"), value(at).into())).collect()
}

fn one_annotation(at: usize) -> Map<String, Value> {
    std::iter::once((format!("k{at:05}"), Value::Null)).collect()
}

fn pod(variables: usize, value: &str) -> Value {
    let variables = (0..variables).map(|at| json!({"name": format!("V{at:05}"), "value": value}));
    json!({"template": {"spec": {"containers": [{"name": "app", "env": variables.collect::<Vec<_>>()}]}}})
}

fn pod_of(variables: usize, source: &Value) -> Value {
    let variables = (0..variables).map(|at| json!({"name": format!("V{at:05}"), "valueFrom": source}));
    json!({"template": {"spec": {"containers": [{"name": "app", "env": variables.collect::<Vec<_>>()}]}}})
}

/// An entry of `managedFields` that owns these annotations.
fn entry(manager: &str, operation: &str, annotations: &Map<String, Value>) -> Value {
    let owned: Map<String, Value> = annotations.keys().map(|name| (format!("f:{name}"), json!({}))).collect();
    json!({
        "manager": manager, "operation": operation, "apiVersion": "apps/v1", "fieldsType": "FieldsV1",
        "time": "2026-01-02T03:04:05Z", "fieldsV1": {"f:metadata": {"f:annotations": owned}},
    })
}

fn of_variables(manager: &str, operation: &str, size: usize) -> Value {
    let owned: Map<String, Value> = (0..size)
        .map(|at| (format!("k:{{\"name\":\"V{at:05}\"}}"), json!({".": {}, "f:name": {}, "f:value": {}})))
        .collect();
    let app = json!({".": {}, "f:name": {}, "f:env": owned});
    json!({
        "manager": manager, "operation": operation, "apiVersion": "apps/v1", "fieldsType": "FieldsV1",
        "time": "2026-01-02T03:04:05Z",
        "fieldsV1": {"f:spec": {"f:template": {"f:spec": {"f:containers": {"k:{\"name\":\"app\"}": app}}}}},
    })
}

fn live(annotations: &Map<String, Value>, spec: &Value, owners: &[Value]) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {
            "name": "web", "namespace": "shop", "uid": "u", "resourceVersion": "1",
            "annotations": annotations, "managedFields": owners,
        },
        "spec": spec,
    })
}

fn intent(annotations: &Map<String, Value>, spec: &Value) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "shop", "annotations": annotations},
        "spec": spec,
    })
}

/// The text of an object with an entry of this many fields, ninety levels deep.
fn deep_entry(fields: usize) -> String {
    const DEPTH: usize = 90;
    let chain = |at: usize| format!("\"f:{at}\":{}{{}}{}", "{\"f:a\":".repeat(DEPTH), "}".repeat(DEPTH));
    let chains: Vec<String> = (0..fields / DEPTH).map(chain).collect();
    let live = live(&Map::new(), &json!({}), &[entry("deep", "Apply", &Map::new())]).to_string();
    live.replace(r#"{"f:metadata":{"f:annotations":{}}}"#, &format!("{{{}}}", chains.join(",")))
}
