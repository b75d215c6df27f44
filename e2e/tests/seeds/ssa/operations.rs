//! The operations that manage fields.

use baton_e2e::{
    plays,
    scenario::{Promise, Scene, Section, user_agent},
};

use super::DOCUMENT;

pub const SECTION: Section = Section {
    document: DOCUMENT,
    title: "Operations in scope of field management",
    promises: &[
        Promise::new(
            "Apply (PATCH with its media type) and update (PUT) both maintain `.metadata.managedFields`.",
            plays![an_update_overrules_where_an_apply_conflicts],
        ),
        Promise::new(
            "An apply that conflicts fails, unless it is forced; an update never fails for a conflict.",
            plays![an_update_overrules_where_an_apply_conflicts],
        ),
        Promise::new(
            "Every apply has to name its manager, and an update may leave that out.",
            plays![an_update_may_leave_the_manager_out],
        ),
        Promise::new(
            "An apply can't set `managedFields` in its body.",
            plays![managed_fields_in_an_apply_are_refused],
        ),
        Promise::new(
            "In the example of two managers, `kube-controller-manager` has updated a value, and so manages it.",
            plays![an_update_overrules_where_an_apply_conflicts],
        ),
        Promise::new(
            "Had it been an apply, it would have failed with a conflict.",
            plays![an_update_overrules_where_an_apply_conflicts],
        ),
    ],
};

async fn an_update_overrules_where_an_apply_conflicts(s: &mut Scene) {
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

async fn an_update_may_leave_the_manager_out(s: &mut Scene) {
    s.create_as(user_agent("some-tool/1.0"), "data: {key: value}").await;
    s.update_as(user_agent("some-tool/1.0"), "data: {key: other}").await;
    s.expect_owner(".data.key", "some-tool (Update)");
    s.apply_as(user_agent("some-tool/1.0"), "data: {key: value}")
        .is_refused(422, "fieldManager: Required value")
        .await;
}

async fn managed_fields_in_an_apply_are_refused(s: &mut Scene) {
    let own = "metadata: {managedFields: [{manager: kubectl, operation: Apply, apiVersion: v1, \
               fieldsType: FieldsV1, fieldsV1: {'f:data': {'f:key': {}}}}]}";
    s.apply_as("kubectl", own).is_refused(400, "metadata.managedFields must be nil").await;
    s.apply_as("kubectl", "metadata: {managedFields: []}")
        .is_refused(400, "metadata.managedFields must be nil")
        .await;
    s.apply_as("kubectl", "{metadata: {managedFields: null}, data: {key: value}}").creates().await;
}
