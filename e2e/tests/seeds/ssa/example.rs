//! The example of an object with managed fields.

use baton_e2e::{
    scenario::{Subject, builtin::DEPLOYMENT},
    scenario_list,
};

scenario_list! {
    the_example, the_operation_is_recorded, an_invalid_body_is_refused,
    managed_fields_can_be_written_by_an_update,
}

async fn the_example(s: &mut Subject) {
    s.named("test-cm").await;
    s.apply_as("kubectl", "{metadata: {labels: {test-label: test}}, data: {key: some value}}")
        .creates()
        .await;
    s.expect_managers(&["kubectl (Apply)"]);
    s.expect(".metadata.managedFields[0].manager", "kubectl");
    s.expect(".metadata.managedFields[0].operation", "Apply");
    s.expect(".metadata.managedFields[0].apiVersion", "v1");
    s.expect(".metadata.managedFields[0].fieldsType", "FieldsV1");
    s.expect(
        ".metadata.managedFields[0].fieldsV1",
        "{'f:metadata': {'f:labels': {'f:test-label': {}}}, 'f:data': {'f:key': {}}}",
    );
    assert!(s.at(".metadata.managedFields[0].time").is_some(), "a record has a time");
}

async fn the_operation_is_recorded(s: &mut Subject) {
    s.apply_as("kubectl", "data: {key: some value}").await;
    s.merge_patch_as("kubectl", "data: {other: value}").await;
    s.expect_managers(&["kubectl (Apply)", "kubectl (Update)"]);
    s.expect_owner(".data.key", "kubectl (Apply)");
    s.expect_owner(".data.other", "kubectl (Update)");
    s.merge_patch_as("kubectl", "data: {key: new value}").await;
    s.expect_owner(".data.key", "kubectl (Update)");
}

async fn an_invalid_body_is_refused(s: &mut Subject) {
    s.of(DEPLOYMENT).await;
    s.apply_as("kubectl", "spec: {replicas: 3}")
        .is_refused(422, "spec.template.spec.containers: Required value")
        .await;
    s.expect_absent("");
    s.apply_as("kubectl", super::NGINX).creates().await;
    s.apply_as("kubectl", "spec: {replicas: three}")
        .is_refused(500, "failed to create typed patch object")
        .await;
    s.apply_as("kubectl", "spec: {replicaz: 3}")
        .is_refused(500, ".spec.replicaz: field not declared in schema")
        .await;
    s.apply_as("kubectl", "spec: {replicas: -3}").is_refused(422, "must be greater than or equal to 0").await;
    s.expect(".spec.replicas", "3");
}

async fn managed_fields_can_be_written_by_an_update(s: &mut Subject) {
    s.apply_as("retired", "data: {key: value}").await;
    s.apply_as("kubectl", "data: {other: value}").await;
    let kept = "[{manager: kubectl, operation: Apply, apiVersion: v1, fieldsType: FieldsV1, \
                fieldsV1: {'f:data': {'f:other': {}}}}]";
    s.update_as("admin", &format!("metadata: {{managedFields: {kept}}}")).await;
    s.expect_managers(&["kubectl (Apply)"]);
    s.expect(".data.key", "value");
    s.expect_no_owner(".data.key");
    s.json_patch_as("admin", "[{op: replace, path: /metadata/managedFields/0/manager, value: renamed}]")
        .await;
    s.expect_managers(&["renamed (Apply)"]);
}
