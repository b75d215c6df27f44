//! The operations that change ownership.

use baton_e2e::{scenario::Subject, scenario_list};

scenario_list! {
    an_update_overwrites_where_an_apply_conflicts, managed_fields_in_an_apply_are_refused,
}

async fn an_update_overwrites_where_an_apply_conflicts(s: &mut Subject) {
    s.named("test-cm").await;
    s.apply_as("kubectl", "{metadata: {labels: {test-label: test}}, data: {key: some value}}").await;
    s.apply_as("kube-controller-manager", "data: {key: new value}")
        .conflicts_with("kubectl", ".data.key")
        .await;
    s.update_as("kube-controller-manager", "data: {key: new value}").await;
    s.expect(".data.key", "new value");
    s.expect_fields("kubectl (Apply)", &[".metadata.labels.test-label"]);
    s.expect_fields("kube-controller-manager (Update)", &[".data.key"]);
}

async fn managed_fields_in_an_apply_are_refused(s: &mut Subject) {
    let own = "metadata: {managedFields: [{manager: kubectl, operation: Apply, apiVersion: v1, \
               fieldsType: FieldsV1, fieldsV1: {'f:data': {'f:key': {}}}}]}";
    s.apply_as("kubectl", own).is_refused(400, "metadata.managedFields must be nil").await;
    for list in ["[]", "[{}]"] {
        s.apply_as("kubectl", &format!("metadata: {{managedFields: {list}}}"))
            .is_refused(400, "metadata.managedFields must be nil")
            .await;
    }
    s.apply_as("kubectl", "{metadata: {managedFields: null}, data: {key: value}}").creates().await;
}
