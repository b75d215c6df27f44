//! Writes `crd/openapi/builtin.json`: the API server's own schemas of a Workload's children, as it serves them. The CRD takes its
//! merge markers from there, and the operator the types of what it spells.
//!
//! `--check` writes nothing, and fails when the file isn't what the control plane of this crate would make it.

use std::{collections::BTreeMap, fs, path::PathBuf};

use anyhow::{Context as _, bail};
use baton_testbed::{ControlPlane, workspace};
use clap::Parser;
use kube::{
    Client,
    api::{GetParams, Request},
};
use serde::Serialize;
use serde_json::Value;

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

/// Refreshes the API server's schemas that the CRD is made with.
#[derive(Parser)]
struct Cli {
    /// Compare only, and fail when the file is stale.
    #[arg(long)]
    check: bool,
}

/// The file. Its members are sorted, so that a refresh shows what has changed and nothing else.
#[derive(Serialize)]
struct Data {
    documents: [&'static str; 4],
    release: String,
    schemas: BTreeMap<String, Value>,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let cli = Cli::parse();
    let path = file();
    let control_plane = ControlPlane::options().start().await?;
    let client = control_plane.admin().await?;
    let mut served = BTreeMap::new();
    for document in DOCUMENTS {
        served.extend(schemas(&client, document).await?);
    }
    let data =
        Data { documents: DOCUMENTS, release: control_plane.version().await?, schemas: closure(&served)? };
    let text = serde_json::to_string_pretty(&data)? + "\n";
    let current = fs::read_to_string(&path).unwrap_or_default();
    match (current == text, cli.check) {
        (true, _) => println!("{} is that of {}", path.display(), data.release),
        (false, true) => bail!("{} is stale: run `cargo openapi-refresh` and `cargo crdgen`", path.display()),
        (false, false) => {
            fs::write(&path, text).with_context(|| format!("can't write {}", path.display()))?;
            println!("{} is now that of {}; run `cargo crdgen`", path.display(), data.release);
        }
    }
    Ok(())
}

fn file() -> PathBuf {
    workspace().join("crd/openapi/builtin.json")
}

/// The schemas of one document, by name.
async fn schemas(client: &Client, document: &str) -> anyhow::Result<BTreeMap<String, Value>> {
    let request = Request::new("/openapi/v3").get(document, &GetParams::default())?;
    let mut answer: Value = client.request(request).await.with_context(|| format!("can't get {document}"))?;
    serde_json::from_value(answer["components"]["schemas"].take())
        .with_context(|| format!("{document} has no schemas"))
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
