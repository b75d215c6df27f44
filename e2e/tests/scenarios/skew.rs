//! Under a newer CRD, the operator reports what it can't read, and reconciles the rest. Under an older one, it writes nothing.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use baton_crd::Workload;
use baton_e2e::{Operator, OperatorOptions, web};
use baton_testbed::{Action, Cluster, Proxy, eventually};
use k8s_openapi::{
    api::apps::v1::Deployment,
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
    apimachinery::pkg::apis::meta::v1::Condition,
};
use kube::{
    Api, ResourceExt,
    api::{Patch, PatchParams, PostParams},
    core::{ApiResource, DynamicObject},
    runtime::wait::await_condition,
};
use serde_json::json;

pub async fn a_workload_that_this_version_cannot_read_is_reported_and_hides_no_other(cluster: &Cluster) {
    let client = cluster.admin().await.unwrap();
    // The first write of the report fails, and is retried.
    let was_refused = Arc::new(AtomicBool::new(false));
    let is_refused = was_refused.clone();
    let proxy = Proxy::start(cluster, move |request| {
        let is_first = request.path.ends_with("/newer/status") && !is_refused.swap(true, Ordering::Relaxed);
        if is_first { Action::fail(503, "ServiceUnavailable", "not today") } else { Action::Forward }
    });
    let proxy = proxy.await.unwrap();
    let options = OperatorOptions { by_way_of: Some(proxy.route()), ..OperatorOptions::default() };
    let _operator = Operator::start(cluster, options).await.unwrap();

    let at = |path: &str| format!("/spec/versions/0/schema/openAPIV3Schema/properties/{path}");
    let open: json_patch::Patch = serde_json::from_value(json!([
        {"op": "remove", "path": at("spec/properties/mode/enum")},
        {"op": "add", "path": at("spec/properties/newer"), "value": {"type": "string"}},
        {"op": "add", "path": at("spec/properties/template/properties/spec/properties/newer"), "value": {"type": "string"}},
        {"op": "remove", "path": at("status/properties/children/items/properties/state/enum")},
        {"op": "remove", "path": at("status/properties/replicaOwnership/properties/phase/enum")},
    ]))
    .unwrap();
    let crds: Api<CustomResourceDefinition> = Api::all(client.clone());
    crds.patch("workloads.baton.rs", &PatchParams::default(), &Patch::Json::<()>(open)).await.unwrap();

    let workloads: Api<DynamicObject> =
        Api::default_namespaced_with(client, &ApiResource::erase::<Workload>(&()));
    let mut newer = web(&json!({"mode": "Dream"}));
    newer["metadata"]["name"] = json!("newer");
    for workload in [newer, web(&json!({"replicas": 1}))] {
        // The API server takes a moment to see the changed CRD.
        let created = async || {
            workloads.create(&PostParams::default(), &serde_json::from_value(workload.clone()).unwrap()).await
        };
        while let Err(error) = created().await {
            assert!(error.to_string().contains("Unsupported value"), "{error}");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    let has = |type_: &'static str, status: &'static str| {
        move |workload: Option<&DynamicObject>| {
            let conditions = workload.and_then(|workload| workload.data["status"]["conditions"].as_array());
            conditions.is_some_and(|conditions| {
                conditions.iter().any(|condition| condition["type"] == type_ && condition["status"] == status)
            })
        }
    };
    let limit = Duration::from_mins(1);
    let web = tokio::time::timeout(limit, await_condition(workloads.clone(), "web", has("Ready", "True")));
    web.await.unwrap().unwrap();
    let newer =
        tokio::time::timeout(limit, await_condition(workloads.clone(), "newer", has("Applied", "False")));
    let newer = newer.await.unwrap().unwrap().unwrap();
    let condition = |workload: &DynamicObject, type_: &str| {
        let conditions = workload.data["status"]["conditions"].as_array().unwrap();
        conditions.iter().find(|condition| condition["type"] == type_).cloned().unwrap()
    };
    let applied = condition(&newer, "Applied");
    assert!(was_refused.load(Ordering::Relaxed), "the first write of the report has failed");
    assert_eq!(applied["reason"], "Undecodable");
    assert!(applied["message"].as_str().unwrap().contains("Dream"), "{applied}");
    assert_eq!(condition(&newer, "Ready")["status"], "Unknown", "no condition would mean that it is ready");

    // It is reported once.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let later = workloads.get("newer").await.unwrap();
    assert_eq!(later.resource_version(), newer.resource_version());

    let merge = async |patch: serde_json::Value, subresource: Option<&str>| {
        let (params, patch) = (PatchParams::default(), Patch::Merge(patch));
        match subresource {
            None => workloads.patch("web", &params, &patch).await.unwrap(),
            Some(_) => workloads.patch_status("web", &params, &patch).await.unwrap(),
        }
    };
    // What another version has written in the status is replaced.
    let ownership = json!({"phase": "Newer", "owner": "baton", "value": 1, "since": "2026-01-02T03:04:05Z"});
    let child = json!({"kind": "Deployment", "name": "web", "apiVersion": "apps/v1", "state": "Dreaming"});
    merge(json!({"status": {"replicaOwnership": ownership, "children": [child]}}), Some("status")).await;
    eventually("a status that can be read", async || {
        let status = workloads.get("web").await.unwrap().data["status"].clone();
        let is_own =
            status["children"][0]["state"] == "Applied" && status["replicaOwnership"]["phase"] == "Fixed";
        if is_own { Ok(()) } else { Err(status) }
    })
    .await;

    // The rest of the status stays while the spec can't be read, here because of a field outside the template.
    let known = merge(json!({"spec": {"newer": "yes"}}), None).await;
    let unread =
        tokio::time::timeout(limit, await_condition(workloads.clone(), "web", has("Applied", "False")));
    let unread = unread.await.unwrap().unwrap().unwrap();
    assert!(condition(&unread, "Applied")["message"].as_str().unwrap().contains("unknown field `newer`"));
    assert_eq!(condition(&unread, "Ready")["status"], "Unknown");
    for field in ["replicas", "readyReplicas", "selector", "children"] {
        assert_eq!(unread.data["status"][field], known.data["status"][field], "{field}");
    }

    // An unknown field in the template is passed on. The API server of this test refuses it in a Deployment.
    merge(json!({"spec": {"newer": null, "template": {"spec": {"newer": "yes"}}}}), None).await;
    eventually("the API server's refusal", async || {
        let workload = workloads.get("web").await.unwrap();
        let applied = condition(&workload, "Applied");
        let message = applied["message"].as_str().unwrap();
        if applied["reason"] == "Rejected" && message.contains("newer") { Ok(()) } else { Err(applied) }
    })
    .await;
}

/// The API server drops what an older CRD lacks from all Workloads at once. Nothing is written until the CRD is
/// complete again.
pub async fn under_an_older_crd_nothing_is_written(cluster: &Cluster) {
    let client = cluster.admin().await.unwrap();
    let options = OperatorOptions { name: Some("baton-older".to_owned()), ..OperatorOptions::default() };
    let operator = Operator::start(cluster, options).await.unwrap();
    let namespace = cluster.namespace("older").await.unwrap();
    let workloads: Api<Workload> = Api::namespaced(client.clone(), namespace.name());
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), namespace.name());
    let spec = json!({"replicas": 1, "rollout": {"minReadySeconds": 5}});
    let web = serde_json::from_value(web(&spec)).unwrap();
    workloads.create(&PostParams::default(), &web).await.unwrap();
    let applied = async |status: &str, reason: &str| {
        eventually(&format!("Applied={status}"), async || {
            let workload = workloads.get("web").await.unwrap();
            let conditions = workload.status.unwrap_or_default().conditions;
            let is_so = |condition: &&Condition| {
                condition.type_ == "Applied" && condition.status == status && condition.reason == reason
            };
            conditions.iter().find(is_so).cloned().ok_or(conditions)
        })
        .await
    };
    applied("True", "Applied").await;
    let before = deployments.get("web").await.unwrap();

    let crds: Api<CustomResourceDefinition> = Api::all(client.clone());
    let complete = crds.get("workloads.baton.rs").await.unwrap().spec;
    let fields = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties";
    let older: json_patch::Patch =
        serde_json::from_value(json!([{"op": "remove", "path": format!("{fields}/rollout")}])).unwrap();
    crds.patch("workloads.baton.rs", &PatchParams::default(), &Patch::Json::<()>(older)).await.unwrap();
    let outdated = applied("False", "OutdatedCRD").await;
    assert!(outdated.message.contains(".spec.rollout"), "{}", outdated.message);
    eventually("readiness to report it", async || match operator.readiness().await {
        Some((503, body)) if body.contains("older than this operator") => Ok(()),
        other => Err(other),
    })
    .await;
    let changed = Patch::Merge(json!({"spec": {"replicas": 2}}));
    workloads.patch("web", &PatchParams::default(), &changed).await.unwrap();
    tokio::time::sleep(Duration::from_secs(3)).await;
    let after = deployments.get("web").await.unwrap();
    assert_eq!(after.metadata.generation, before.metadata.generation, "nothing was written");

    let complete = Patch::Merge(json!({"spec": complete}));
    crds.patch("workloads.baton.rs", &PatchParams::default(), &complete).await.unwrap();
    eventually("the operator to continue", async || {
        let spec = deployments.get("web").await.unwrap().spec.unwrap();
        if spec.replicas == Some(2) { Ok(()) } else { Err(spec.replicas) }
    })
    .await;
    applied("True", "Applied").await;
    assert_eq!(operator.readiness().await, Some((200, "ok\n".to_owned())));
}
