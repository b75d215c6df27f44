//! The children that a user would create by hand for a Workload.

use baton_controller::decide::child::ChildKind;
use baton_crd::labels;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use kube::{
    Api,
    api::{Patch, PatchParams},
    core::DynamicObject,
};
use serde_json::{Map, Value, json};

use super::installation::Installation;

/// The field manager of that user.
const MANAGER: &str = "by-hand";

/// The kinds of children that are compared.
pub const COMPARED: [ChildKind; 2] = [ChildKind::Deployment, ChildKind::Service];

/// The children of a kind in the installation's namespace.
pub fn children(installation: &impl Installation, kind: ChildKind) -> Api<DynamicObject> {
    Api::namespaced_with(installation.client().clone(), installation.namespace(), &kind.api_resource())
}

/// The manifest to apply by hand, if the Workload has this child.
fn manifest(kind: ChildKind, name: &str, workload: &str, spec: &Value) -> Option<Value> {
    let mut manifest = match kind {
        ChildKind::Deployment => deployment(workload, spec),
        _ => service(workload, spec["service"].as_object()?),
    };
    manifest["apiVersion"] = kind.api_version().into();
    manifest["kind"] = kind.name().into();
    manifest["metadata"]["name"] = name.into();
    let head = [
        (labels::MANAGED_BY, labels::MANAGED_BY_BATON),
        (labels::NAME, workload),
        (labels::WORKLOAD, workload),
    ];
    for (label, value) in head {
        manifest["metadata"]["labels"][label] = value.into();
    }
    Some(manifest)
}

/// The part of a child that a user writes or a server defaults, without the name, the status, and the addresses and ports that a
/// server chooses.
pub fn comparable(kind: ChildKind, child: &DynamicObject) -> Value {
    let mut spec = child.data["spec"].clone();
    let mut annotations = child.metadata.annotations.clone().unwrap_or_default();
    annotations.retain(|name, _| !name.starts_with("deployment.kubernetes.io/"));
    if kind == ChildKind::Service {
        for field in ["clusterIP", "clusterIPs", "healthCheckNodePort"] {
            spec.as_object_mut().map(|spec| spec.remove(field));
        }
        for port in spec.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
            port.as_object_mut().map(|port| port.remove("nodePort"));
        }
    }
    json!({"metadata": {"labels": child.metadata.labels, "annotations": annotations}, "spec": spec})
}

/// The children that server-side apply creates from a Workload's spec, by kind. It is a dry run.
///
/// # Errors
/// When the API server refuses one: the spec doesn't count then.
pub async fn by_hand(installation: &impl Installation, workload: &str, spec: &Value) -> kube::Result<Value> {
    let name = format!("{workload}-by-hand");
    let params = PatchParams { dry_run: true, ..PatchParams::apply(MANAGER).force() };
    let make = async |kind| {
        let Some(manifest) = manifest(kind, &name, workload, spec) else { return Ok(None) };
        let made = children(installation, kind).patch(&name, &params, &Patch::Apply(manifest)).await?;
        Ok::<_, kube::Error>(Some((kind.name().to_owned(), comparable(kind, &made))))
    };
    let all: Vec<_> = stream::iter(COMPARED).then(make).try_collect().await?;
    Ok(Value::Object(all.into_iter().flatten().collect()))
}

fn deployment(workload: &str, spec: &Value) -> Value {
    let mut template = spec["template"].clone();
    if !template["metadata"].is_object() {
        template["metadata"] = json!({});
    }
    if !template["metadata"]["labels"].is_object() {
        template["metadata"]["labels"] = json!({});
    }
    template["metadata"]["labels"][labels::WORKLOAD] = workload.into();
    let mut own = json!({
        "selector": {"matchLabels": {labels::WORKLOAD: workload}},
        "template": template,
    });
    if let Some(replicas) = spec.get("replicas") {
        own["replicas"] = replicas.clone();
    }
    for (field, value) in spec["rollout"].as_object().into_iter().flatten() {
        own[field] = value.clone();
    }
    json!({"spec": own})
}

fn service(workload: &str, wanted: &Map<String, Value>) -> Value {
    let mut own = wanted.clone();
    let labels = own.remove("labels").unwrap_or_else(|| json!({}));
    let annotations = own.remove("annotations").unwrap_or_else(|| json!({}));
    if let Some(seconds) = own.remove("sessionAffinityTimeoutSeconds") {
        own.insert("sessionAffinityConfig".to_owned(), json!({"clientIP": {"timeoutSeconds": seconds}}));
    }
    own.insert("selector".to_owned(), json!({labels::WORKLOAD: workload}));
    json!({"metadata": {"labels": labels, "annotations": annotations}, "spec": own})
}
