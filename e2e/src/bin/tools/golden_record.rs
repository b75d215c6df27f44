//! Writes `controller/tests/golden/<version>/`: Workloads with their children as this version of Baton creates them on a real API
//! server. A test checks that later versions don't change them.
//!
//! The folder of a released version never changes. Run it before the release.

use std::{
    fs,
    time::{Duration, Instant},
};

use anyhow::Context as _;
use baton_controller::decide::child::ChildKind;
use baton_crd::Workload;
use baton_e2e::{Environment, OperatorOptions, workload};
use baton_testbed::{Cluster, ControlPlane, PATIENCE, wait_for, workspace};
use kube::{Api, core::DynamicObject};
use serde_json::{Value, json};

/// A Workload has settled after so long without a change.
const QUIET: Duration = Duration::from_secs(3);

pub(crate) async fn run() -> anyhow::Result<()> {
    let cluster = Cluster::from(ControlPlane::options().start().await?);
    let env = Environment::new(&cluster, "golden").await?;
    let _operator = env.start_operator(OperatorOptions::default()).await?;
    let folder = workspace().join("controller/tests/golden").join(env!("CARGO_PKG_VERSION"));
    fs::create_dir_all(&folder).with_context(|| format!("can't make {}", folder.display()))?;
    for (name, spec, phase) in cases() {
        let recorded = record(&env, name, &spec, phase).await?;
        let path = folder.join(format!("{name}.json"));
        let text = serde_json::to_string_pretty(&recorded)? + "\n";
        fs::write(&path, text).with_context(|| format!("can't write {}", path.display()))?;
        println!("{}", path.display());
    }
    Ok(())
}

/// Name, spec, and the phase in which it settles.
fn cases() -> [(&'static str, Value, &'static str); 5] {
    let minimal = json!({"spec": {"containers": [{"name": "app", "image": "app:1"}]}});
    // With values that the API server spells differently, fills in or drops.
    let odd = json!({
        "metadata": {"labels": {"tier": "web"}, "annotations": {"empty": ""}},
        "spec": {
            "containers": [{
                "name": "app", "image": "app:1", "args": [],
                "env": [{"name": "EMPTY", "value": ""}, {"name": "ABSENT"}],
                "ports": [{"containerPort": 8080}, {"containerPort": 53, "protocol": "UDP", "name": "dns"}],
                "resources": {"requests": {"cpu": "0.5", "memory": "1.5Gi"}, "limits": {"cpu": 1}},
                "livenessProbe": {"httpGet": {"port": 8080}, "initialDelaySeconds": 0},
                "volumeMounts": [{"name": "scratch", "mountPath": "/scratch", "readOnly": false}],
            }],
            "initContainers": [{"name": "first", "image": "first:1", "restartPolicy": "Always"}],
            "volumes": [{"name": "scratch", "emptyDir": {"sizeLimit": "0.5Gi"}}],
            "nodeSelector": {}, "tolerations": [], "securityContext": {}, "priority": 0,
        },
    });
    let service =
        json!({"ports": [{"port": 80, "targetPort": 8080}, {"port": 53, "protocol": "UDP", "name": "dns"}]});
    let mut named_service = service.clone();
    named_service["ports"][0]["name"] = json!("http");
    let autoscaling = json!({
        "minReplicas": 2, "maxReplicas": 5,
        "metrics": [{"type": "Resource", "resource": {
            "name": "cpu", "target": {"type": "AverageValue", "averageValue": "0.25"},
        }}],
        "behavior": {"scaleDown": {"stabilizationWindowSeconds": 60}},
    });
    let rollout = json!({"strategy": {"rollingUpdate": {"maxSurge": "50%"}}, "minReadySeconds": 0});
    [
        ("minimal", json!({"template": minimal}), "Unmanaged"),
        ("fixed", json!({"template": odd, "replicas": 0, "rollout": rollout}), "Fixed"),
        (
            "everything",
            json!({
                "template": odd, "replicas": 1, "rollout": rollout, "service": named_service, "autoscaling": autoscaling,
                "disruptionBudget": {"minAvailable": "50%"},
            }),
            "HandedOver",
        ),
        (
            "pending",
            json!({"template": minimal, "replicas": 2, "autoscaling": {"minReplicas": 1, "maxReplicas": 3}}),
            "HandoverPending",
        ),
        (
            "external",
            json!({"template": minimal, "replicas": 1, "autoscaling": {"external": {}}}),
            "HandoverPending",
        ),
    ]
}

/// Applies the Workload, and reads it and its children when they have settled.
async fn record(env: &Environment, name: &str, spec: &Value, phase: &str) -> anyhow::Result<Value> {
    env.apply_as("user", &workload(name, spec)).await?;
    let (mut last, mut since) = (Value::Null, Instant::now());
    wait_for(&format!("{name} settling as {phase}"), PATIENCE, async || {
        let now = read(env, name).await?;
        let status = &now["workload"]["status"];
        let is_there = status["replicaOwnership"]["phase"] == phase;
        let state = format!("{status:#}");
        if now != last {
            (last, since) = (now, Instant::now());
        } else if is_there && since.elapsed() >= QUIET {
            return Ok(Ok(now));
        }
        Ok(Err(state))
    })
    .await
}

async fn read(env: &Environment, name: &str) -> anyhow::Result<Value> {
    let mut children = Vec::new();
    for kind in ChildKind::ALL {
        let api: Api<DynamicObject> =
            Api::namespaced_with(env.client.clone(), env.ns(), &kind.api_resource());
        children.extend(api.get_opt(name).await?);
    }
    Ok(json!({"workload": env.api::<Workload>().get(name).await?, "children": children}))
}
