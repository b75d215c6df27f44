//! Dry runs in the storage.

use std::pin::pin;

use baton_e2e::{
    scenario::{Subject, builtin::DEPLOYMENT},
    scenario_list,
};
use futures::StreamExt as _;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, ListParams, WatchEvent, WatchParams},
};

scenario_list! {
    a_collection_can_be_deleted_in_a_dry_run, a_watch_shows_no_dry_run,
    a_late_refusal_is_the_same_in_a_dry_run, subresources_have_dry_runs,
    an_existing_object_cannot_be_created_in_a_dry_run, a_missing_object_cannot_be_changed_in_a_dry_run,
}

fn config_maps(s: &Subject) -> Api<ConfigMap> {
    Api::namespaced(s.server().client().clone(), s.namespace())
}

async fn names(s: &Subject) -> Vec<String> {
    config_maps(s).list(&ListParams::default()).await.unwrap().iter().map(ResourceExt::name_any).collect()
}

async fn a_collection_can_be_deleted_in_a_dry_run(s: &mut Subject) {
    for name in ["one", "two"] {
        s.named(name).await;
        s.create_as("me", "data: {key: a}").await;
    }
    let options = DeleteParams { dry_run: true, ..DeleteParams::default() };
    let tried = config_maps(s).delete_collection(&options, &ListParams::default()).await.unwrap();
    assert_eq!(tried.left().unwrap().items.len(), 2);
    assert_eq!(names(s).await, ["one", "two"]);
    config_maps(s).delete_collection(&DeleteParams::default(), &ListParams::default()).await.unwrap();
    assert_eq!(names(s).await, [""; 0]);
}

async fn a_watch_shows_no_dry_run(s: &mut Subject) {
    s.create_as("me", "data: {key: a}").await;
    let objects = config_maps(s);
    let now = objects.list(&ListParams::default()).await.unwrap().metadata.resource_version.unwrap();
    s.update_as("me", "data: {key: b}").dry_run().await;
    s.apply_as("you", "data: {other: b}").dry_run().await;
    s.merge_patch_as("me", "metadata: {finalizers: [example.com/hold]}").dry_run().await;
    s.delete().dry_run().await;
    s.named("other").await;
    s.create_as("me", "data: {key: b}").dry_run().await;
    s.apply_as("me", "data: {key: b}").dry_run().await;
    s.named("last").await;
    s.create_as("me", "data: {key: c}").await;
    let mut seen = pin!(objects.watch(&WatchParams::default(), &now).await.unwrap());
    match seen.next().await {
        Some(Ok(WatchEvent::Added(object))) => assert_eq!(object.name_any(), "last"),
        other => panic!("the first that is seen should be the last write: {other:?}"),
    }
}

async fn a_late_refusal_is_the_same_in_a_dry_run(s: &mut Subject) {
    s.create_as("me", "data: {key: a}").await;
    s.rehearse(|s| {
        s.update_as("me", "metadata: {resourceVersion: '1'}").is_refused(409, "has been modified")
    })
    .await;
    let uid = "metadata: {uid: 00000000-0000-0000-0000-000000000000}";
    let refused = "Precondition failed: UID in precondition";
    let tried = s.update_as("me", uid).dry_run().is_refused(409, refused).await;
    let real = s.update_as("me", uid).is_refused(409, refused).await;
    // Only the key in the message differs.
    assert_eq!(tried.body.to_string(), real.body.to_string().replace("Key: /registry/", "Key: /"));
    s.merge_patch_as("me", "immutable: true").await;
    s.rehearse(|s| s.merge_patch_as("me", "data: {key: b}").is_refused(422, "field is immutable")).await;
    s.delete()
        .spelled(r#"{"dryRun": ["All"], "preconditions": {"resourceVersion": "1"}}"#)
        .is_refused(409, "in the precondition")
        .await;
}

async fn subresources_have_dry_runs(s: &mut Subject) {
    s.of(DEPLOYMENT).await;
    s.create_as("me", super::DEPLOYMENT).await;
    let tried = s.status_as("controller", "status: {observedGeneration: 1, replicas: 2}").dry_run().await;
    tried.expect(".status.replicas", "2");
    s.expect_absent(".status.replicas");
    s.rehearse(|s| s.status_as("controller", "status: {observedGeneration: 1, replicas: 2}")).await;
    s.scale_as("autoscaler", 5).dry_run().await.expect(".spec.replicas", "5");
    s.expect(".spec.replicas", "2");
    s.rehearse(|s| s.scale_as("autoscaler", 5)).await;
    s.rehearse(|s| s.scale_as("autoscaler", -1).is_refused(422, "must be greater than or equal to 0")).await;
    s.expect_owner(".spec.replicas", "autoscaler (Update scale)");
}

async fn an_existing_object_cannot_be_created_in_a_dry_run(s: &mut Subject) {
    s.create_as("me", "data: {key: a}").await;
    let refused =
        s.rehearse(|s| s.create_as("you", "data: {key: b}").is_refused(409, "already exists")).await.dry_run;
    refused.expect(".reason", "AlreadyExists");
    s.expect_managers(&["me (Update)"]);
}

async fn a_missing_object_cannot_be_changed_in_a_dry_run(s: &mut Subject) {
    let message = r#"configmaps "example" not found"#;
    let refused = s.rehearse(|s| s.replace_as("me", "data: {key: a}").is_refused(404, message)).await.dry_run;
    refused.expect(".reason", "NotFound");
    s.rehearse(|s| s.merge_patch_as("me", "data: {key: a}").is_refused(404, message)).await;
    s.rehearse(|s| s.strategic_patch_as("me", "data: {key: a}").is_refused(404, message)).await;
    s.rehearse(|s| s.json_patch_as("me", "[{op: add, path: /data, value: {}}]").is_refused(404, message))
        .await;
    s.rehearse(|s| s.delete().is_refused(404, message)).await;
    s.rehearse(|s| s.apply_as("me", "data: {key: a}").creates()).await;
}
