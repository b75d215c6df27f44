//! A newer definition than the operator knows: it says what it can't read, and goes on with the rest.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use baton_crd::Workload;
use baton_e2e::{Operator, OperatorOptions, web};
use baton_testbed::{Action, ControlPlane, Proxy};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    Api, ResourceExt,
    api::{Patch, PatchParams, PostParams},
    core::{ApiResource, DynamicObject},
    runtime::wait::await_condition,
};
use serde_json::json;

pub async fn a_workload_that_this_version_cannot_read_is_reported_and_hides_no_other(
    control_plane: &ControlPlane,
) {
    let client = control_plane.admin().await.unwrap();
    // It is told even if that doesn't succeed at once.
    let was_refused = Arc::new(AtomicBool::new(false));
    let is_refused = was_refused.clone();
    let proxy = Proxy::start(control_plane, move |request| {
        let is_first = request.path.ends_with("/newer/status") && !is_refused.swap(true, Ordering::Relaxed);
        if is_first { Action::fail(503, "ServiceUnavailable", "not today") } else { Action::Forward }
    });
    let proxy = proxy.await.unwrap();
    let options = OperatorOptions { api_server: Some(proxy.url().to_owned()), ..OperatorOptions::default() };
    let _operator = Operator::start(control_plane, options).await.unwrap();

    let mode = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/mode/enum";
    let open: json_patch::Patch = serde_json::from_value(json!([{"op": "remove", "path": mode}])).unwrap();
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    definitions.patch("workloads.baton.rs", &PatchParams::default(), &Patch::Json::<()>(open)).await.unwrap();

    let workloads: Api<DynamicObject> =
        Api::default_namespaced_with(client, &ApiResource::erase::<Workload>(&()));
    let mut newer = web(&json!({"mode": "Dream"}));
    newer["metadata"]["name"] = json!("newer");
    for workload in [newer, web(&json!({"replicas": 1}))] {
        // The API server takes a moment to see the changed definition.
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
    let condition = &newer.data["status"]["conditions"][0];
    assert!(was_refused.load(Ordering::Relaxed), "the first try was to fail");
    assert_eq!(condition["reason"], "Undecodable");
    assert!(condition["message"].as_str().unwrap().contains("Dream"), "{condition}");

    // Its status can't be read either, so nothing but care keeps it from being written over and over.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let later = workloads.get("newer").await.unwrap();
    assert_eq!(later.resource_version(), newer.resource_version());
}
