//! Cleared managed fields, and writes that aren't tracked.

use baton_e2e::{
    scenario::{Crd, Subject, builtin::DEPLOYMENT},
    scenario_list,
};

use super::NGINX;

scenario_list! {
    patches_and_updates_clear, a_json_patch_clears, an_empty_list_clears_no_custom_resource,
    an_empty_list_clears_a_built_in_kind, a_reset_with_other_changes, an_apply_of_a_scale_is_tracked,
    an_apply_of_a_custom_scale_is_refused,
}

const CLEAR: &str = "metadata: {managedFields: [{}]}";

async fn patches_and_updates_clear(s: &mut Subject) {
    for way in ["merged", "strategic", "updated"] {
        s.named(way).await;
        s.apply_as("kubectl", "data: {key: value}").await;
        match way {
            "merged" => s.merge_patch_as("admin", CLEAR).await,
            "strategic" => s.strategic_patch_as("admin", CLEAR).await,
            _ => s.update_as("admin", CLEAR).await,
        };
        s.expect_absent(".metadata.managedFields");
        s.expect(".data.key", "value");
    }
}

async fn a_json_patch_clears(s: &mut Subject) {
    s.apply_as("kubectl", "data: {key: value}").await;
    let operations = |version: &str| {
        format!(
            "[{{op: test, path: /metadata/resourceVersion, value: {version}}},
              {{op: replace, path: /metadata/managedFields, value: [{{}}]}}]"
        )
    };
    s.json_patch_as("admin", &operations("'1'")).is_refused(422, "").await;
    s.expect_managers(&["kubectl (Apply)"]);
    let Some(version) = s.at(".metadata.resourceVersion").cloned() else {
        panic!("the object has no version")
    };
    s.json_patch_as("admin", &operations(&version.to_string())).with_header("if-match", "1").await;
    s.expect_absent(".metadata.managedFields");
}

async fn an_empty_list_clears_no_custom_resource(s: &mut Subject) {
    s.define(Crd::schemaless("Unclearable")).await;
    s.apply_as("kubectl", "spec: {key: value}").await;
    s.merge_patch_as("admin", "metadata: {managedFields: []}").changes_nothing().await;
    s.expect_managers(&["kubectl (Apply)"]);
    s.merge_patch_as("admin", CLEAR).await;
    s.expect_absent(".metadata.managedFields");
}

async fn an_empty_list_clears_a_built_in_kind(s: &mut Subject) {
    s.apply_as("kubectl", "data: {key: value}").await;
    s.merge_patch_as("admin", "metadata: {managedFields: []}").await;
    s.expect_absent(".metadata.managedFields");
}

async fn a_reset_with_other_changes(s: &mut Subject) {
    s.apply_as("kubectl", "data: {key: value, other: value}").await;
    s.merge_patch_as("admin", "{metadata: {managedFields: [{}]}, data: {key: new}}").await;
    s.expect(".data.key", "new");
    s.expect_absent(".metadata.managedFields");
    s.apply_as("kubectl", "data: {own: value}").await;
    s.expect_fields("kubectl (Apply)", &[".data.own"]);
    s.expect_owner(".data.key", "before-first-apply (Update)");
}

async fn an_apply_of_a_scale_is_tracked(s: &mut Subject) {
    s.of(DEPLOYMENT).await;
    s.apply_as("kubectl", NGINX).await;
    let scale = r#"{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"example"},"spec":{"replicas":3}}"#;
    s.apply_as("scaler", scale).to("scale").await;
    s.expect_owners(".spec.replicas", &["scaler (Apply scale)", "kubectl (Apply)"]);
}

async fn an_apply_of_a_custom_scale_is_refused(s: &mut Subject) {
    let properties = "spec: {type: object, properties: {replicas: {type: integer}}}\nstatus: {type: object, \
                      properties: {replicas: {type: integer}}}";
    s.define(Crd::new("Scaled", properties).with_status().with_scale()).await;
    s.apply_as("kubectl", "spec: {replicas: 3}").await;
    let scale = r#"{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"example"},"spec":{"replicas":4}}"#;
    s.apply_as("scaler", scale).to("scale").by_force().is_refused(500, "").await;
    s.scale_as("scaler", 4).await;
    s.expect_owner(".spec.replicas", "scaler (Update scale)");
}
