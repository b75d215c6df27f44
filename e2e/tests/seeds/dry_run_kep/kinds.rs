//! Dry runs of every kind that the API server stores.

use baton_e2e::{
    scenario::{
        Subject,
        builtin::{POD, SERVICE, SERVICE_ACCOUNT},
    },
    scenario_list,
};
use baton_testbed::{PATIENCE, poll};
use k8s_openapi::api::core::v1::Pod;
use kube::{
    Api, ResourceExt as _,
    api::{DeleteParams, DynamicObject, EvictParams, ListParams, Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};

use crate::kinds::everything;

scenario_list! {
    every_kind_is_created_in_a_dry_run, every_kind_in_a_namespace_is_changed_in_a_dry_run,
    pods_are_bound_and_evicted_in_a_dry_run, a_dry_run_of_a_service_takes_no_address_and_no_port,
    every_operation_that_stores_has_the_parameter,
}

fn done<T>(response: kube::Result<T>, what: &str) -> T {
    response.unwrap_or_else(|error| panic!("{what}: {error}"))
}

async fn every_kind_is_created_in_a_dry_run(s: &mut Subject) {
    let options = PostParams { dry_run: true, ..PostParams::default() };
    let everything = everything(s).await;
    assert!(everything.len() > 50, "only {} kinds", everything.len());
    for tried in everything {
        let (api, what) = (tried.api(s), tried.text());
        let response = done(api.create(&options, &tried.object).await, &what);
        assert_eq!(
            (response.metadata.name.as_deref(), &response.metadata.resource_version),
            (Some(tried.name()), &None),
            "{what}"
        );
        assert_eq!(api.get_opt(tried.name()).await.unwrap(), None, "{what}");
    }
}

async fn every_kind_in_a_namespace_is_changed_in_a_dry_run(s: &mut Subject) {
    let tried: Vec<_> = everything(s).await.into_iter().filter(|tried| tried.namespaced).collect();
    assert!(tried.len() > 25, "only {} kinds in namespaces", tried.len());
    let dry_run = PostParams { dry_run: true, ..PostParams::default() };
    for tried in tried {
        let (api, what) = (tried.api(s), tried.text());
        // For other versions of the kind, the object exists already.
        if api.get_opt(tried.name()).await.unwrap().is_none() {
            done(api.create(&PostParams::default(), &tried.object).await, &what);
        }
        let is_changed = |object: &DynamicObject| object.labels().contains_key("tried");
        let patch = Patch::Merge(json!({"metadata": {"labels": {"tried": "true"}}}));
        let options = PatchParams { dry_run: true, ..PatchParams::default() };
        let response = api.patch(tried.name(), &options, &patch).await;
        assert!(is_changed(&done(response, &what)), "{what}");
        let replaced = async || {
            let mut object = api.get(tried.name()).await?;
            object.labels_mut().insert("tried".to_owned(), "true".to_owned());
            api.replace(tried.name(), &dry_run, &object).await
        };
        // A controller may write between the read and the write.
        let response = poll(PATIENCE, replaced).await;
        assert!(is_changed(&done(response, &what)), "{what}");
        let options = DeleteParams { dry_run: true, ..DeleteParams::default() };
        done(api.delete(tried.name(), &options).await, &what);
        done(api.delete_collection(&options, &ListParams::default()).await, &what);
        let live = done(api.get(tried.name()).await, &what);
        assert!(!is_changed(&live) && live.metadata.deletion_timestamp.is_none(), "{what}: {live:?}");
    }
}

async fn pods_are_bound_and_evicted_in_a_dry_run(s: &mut Subject) {
    s.of(SERVICE_ACCOUNT).await;
    s.create_as("me", "automountServiceAccountToken: false").await;
    s.of(POD).await;
    s.create_as(
        "me",
        "spec: {serviceAccountName: example, schedulerName: nobody, containers: [{name: app, image: nginx}]}",
    )
    .await;
    let pods: Api<Pod> = Api::namespaced(s.server().client().clone(), s.namespace());
    let options = PostParams { dry_run: true, ..PostParams::default() };
    let binding = json!({"apiVersion": "v1", "kind": "Binding", "metadata": {"name": s.name()}, "target": {"kind": "Node", "name": "any"}});
    let bound: Value = pods.create_subresource("binding", s.name(), &options, &binding).await.unwrap();
    assert_eq!(bound["status"], "Success");
    pods.evict(s.name(), &EvictParams { post_options: options, ..EvictParams::default() }).await.unwrap();
    s.refresh().await;
    s.expect_absent(".spec.nodeName");
    s.expect_absent(".metadata.deletionTimestamp");
    pods.evict(s.name(), &EvictParams::default()).await.unwrap();
    s.refresh().await;
    s.expect_absent("");
}

async fn a_dry_run_of_a_service_takes_no_address_and_no_port(s: &mut Subject) {
    s.of(SERVICE).await;
    let service = "spec: {type: NodePort, ports: [{port: 80}]}";
    for response in [s.create_as("me", service).dry_run().await, s.create_as("me", service).dry_run().await] {
        response.expect(".spec.clusterIP", "10.96.0.0");
        response.expect(".spec.ports[0].nodePort", "32769");
    }
    let chosen = "spec: {type: NodePort, clusterIP: 10.96.0.77, ports: [{port: 80, nodePort: 30077}]}";
    s.rehearse(|s| s.create_as("me", chosen)).await;
    s.named("other").await;
    let port = "spec: {type: NodePort, ports: [{port: 80, nodePort: 30077}]}";
    s.rehearse(|s| s.create_as("me", port).is_refused(422, "provided port is already allocated")).await;
    let address = "spec: {clusterIP: 10.96.0.77, ports: [{port: 80}]}";
    s.create_as("me", address).dry_run().creates().await.expect(".spec.clusterIP", "10.96.0.77");
    s.create_as("me", address).is_refused(422, "provided IP is already allocated").await;
}

async fn every_operation_that_stores_has_the_parameter(s: &mut Subject) {
    let read = async |path: &str| {
        let request = hyper::Request::get(path).body(Vec::new()).unwrap();
        s.server().client().request::<Value>(request).await.unwrap()
    };
    // The document of Baton's CRD is published with a delay.
    let documents = poll(PATIENCE, async || {
        let documents = read("/openapi/v3").await["paths"].as_object().unwrap().clone();
        if documents.contains_key("apis/baton.rs/v1alpha1") { Ok(documents) } else { Err(documents) }
    });
    let documents = documents.await.unwrap();
    let mut lacking = Vec::new();
    let mut count = 0;
    for document in documents.keys().filter(|document| !document.contains("example.com")) {
        let document = read(&format!("/openapi/v3/{document}")).await;
        for (path, operations) in document["paths"].as_object().unwrap() {
            for method in ["post", "put", "patch", "delete"] {
                let operation = &operations[method];
                // A connection to a pod stores nothing.
                if operation.is_null() || operation["x-kubernetes-action"] == "connect" {
                    continue;
                }
                let parameters = [operation, operations].map(|level| level["parameters"].as_array());
                let has_it = parameters.into_iter().flatten().flatten().any(|one| one["name"] == "dryRun");
                if !has_it {
                    lacking.push(format!("{method} {path}"));
                }
                count += 1;
            }
        }
    }
    assert_eq!(lacking, ["delete /apis/baton.rs/v1alpha1/namespaces/{namespace}/workloads"]);
    assert!(count > 300, "only {count} operations");
}
