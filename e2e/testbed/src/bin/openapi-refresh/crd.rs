//! `crd/openapi/builtin.json`: the API server's own schemas of a Workload's children. The CRD takes its merge markers from there,
//! and the operator the types of what it spells.

use std::collections::BTreeMap;

use anyhow::Context as _;
use serde::Serialize;
use serde_json::Value;

use crate::Document;

/// The documents below `/openapi/v3` that the schemas are in.
const DOCUMENTS: [&str; 4] = ["api/v1", "apis/apps/v1", "apis/autoscaling/v2", "apis/policy/v1"];
/// The schemas of a Workload's children; those that they refer to come with them.
const ROOTS: [&str; 4] = [
    "io.k8s.api.apps.v1.DeploymentSpec",
    "io.k8s.api.autoscaling.v2.HorizontalPodAutoscalerSpec",
    "io.k8s.api.core.v1.ServiceSpec",
    "io.k8s.api.policy.v1.PodDisruptionBudgetSpec",
];
/// How a schema refers to another one of its document.
const REFERENCE: &str = "#/components/schemas/";

/// The file. Its members are sorted, so that a refresh shows what has changed and nothing else.
#[derive(Serialize)]
struct Data {
    documents: [&'static str; 4],
    release: String,
    schemas: BTreeMap<String, Value>,
}

/// The file's content, from the documents of a release.
pub(crate) fn file(documents: &BTreeMap<String, Document>, release: &str) -> anyhow::Result<String> {
    let mut served = BTreeMap::new();
    for name in DOCUMENTS {
        let document = documents.get(name).with_context(|| format!("the API server has no {name}"))?;
        served.extend(schemas(&document.parsed).with_context(|| format!("{name} has no schemas"))?);
    }
    let data = Data { documents: DOCUMENTS, release: release.to_owned(), schemas: closure(&served)? };
    Ok(serde_json::to_string_pretty(&data)? + "\n")
}

/// The schemas of one document, by name.
fn schemas(document: &Value) -> serde_json::Result<BTreeMap<String, Value>> {
    serde_json::from_value(document["components"]["schemas"].clone())
}

/// The roots and all that they refer to.
fn closure(served: &BTreeMap<String, Value>) -> anyhow::Result<BTreeMap<String, Value>> {
    let mut found = BTreeMap::new();
    let mut wanted: Vec<String> = ROOTS.map(str::to_owned).into();
    while let Some(name) = wanted.pop() {
        if found.contains_key(&name) {
            continue;
        }
        let schema = served.get(&name).with_context(|| format!("the API server has no schema {name}"))?;
        references(schema, &mut wanted);
        found.insert(name, schema.clone());
    }
    Ok(found)
}

fn references(schema: &Value, names: &mut Vec<String>) {
    match schema {
        Value::Object(members) => {
            let reference = members.get("$ref").and_then(Value::as_str);
            names.extend(reference.and_then(|text| text.strip_prefix(REFERENCE)).map(str::to_owned));
            members.values().for_each(|member| references(member, names));
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, names)),
        _ => {}
    }
}
