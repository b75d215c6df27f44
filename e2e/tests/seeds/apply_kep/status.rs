//! Fields that a server resets before it stores an object, most of all the status.

use baton_e2e::{
    scenario::{Crd, Subject, builtin},
    scenario_list,
};

use super::WEB;

scenario_list! {
    an_object_is_prepared, a_wiped_field_has_no_owner, a_status_is_owned_through_its_subresource,
    metadata_is_written_through_the_status_subresource, a_custom_resource_with_a_status,
    each_version_resets_its_status, a_status_that_is_a_field_like_others,
    a_status_in_an_apply_is_dropped, a_status_in_an_update_is_dropped,
    a_spec_sent_to_the_status_is_dropped,
}

const SHAPE: &str = "spec: {type: object, properties: {size: {type: integer}}}\n\
    status: {type: object, properties: {seen: {type: integer}, note: {type: string}}}";

async fn an_object_is_prepared(s: &mut Subject) {
    s.of(builtin::DEPLOYMENT).await;
    s.apply_as("team", &format!("{WEB}\nstatus: {{replicas: 7}}")).await;
    s.expect(".metadata.generation", "1");
    s.expect_absent(".status.replicas");
    s.apply_as("team", &WEB.replace("nginx:1", "nginx:2")).await;
    s.expect(".metadata.generation", "2");
    s.status_as("controller", "status: {replicas: 7}").await;
    s.expect(".metadata.generation", "2");
    s.expect(".status.replicas", "7");
}

async fn a_wiped_field_has_no_owner(s: &mut Subject) {
    s.of(builtin::DEPLOYMENT).await;
    s.apply_as("team", &format!("{WEB}\nstatus: {{replicas: 7}}")).await;
    s.expect_no_owner(".status.replicas");
    s.expect_no_owner(".status");
    s.named("created").await;
    s.create_as("team", &format!("{WEB}\nstatus: {{replicas: 7}}")).await;
    s.expect_no_owner(".status.replicas");
    s.expect_no_owner(".status");
}

async fn a_status_is_owned_through_its_subresource(s: &mut Subject) {
    s.of(builtin::DEPLOYMENT).await;
    s.apply_as("controller", WEB).await;
    s.apply_as("controller", "status: {observedGeneration: 1, replicas: 7}").to("status").await;
    s.status_as("helper", "status: {readyReplicas: 3}").await;
    // The same manager has two independent entries.
    s.expect_managers(&["controller (Apply)", "controller (Apply status)", "helper (Update status)"]);
    s.expect_fields("controller (Apply status)", &[".status.observedGeneration", ".status.replicas"]);
    s.expect_owner(".status.readyReplicas", "helper (Update status)");
    s.apply_as("other", "status: {replicas: 8}")
        .to("status")
        .conflicts_with("controller (status)", ".status.replicas")
        .await;
    s.apply_as("controller", WEB).changes_nothing().await;
    s.expect(".status.replicas", "7");
}

async fn metadata_is_written_through_the_status_subresource(s: &mut Subject) {
    s.of(builtin::DEPLOYMENT).await;
    s.apply_as("team", WEB).await;
    s.status_as("controller", "metadata: {annotations: {seen: 'yes'}}\nstatus: {observedGeneration: 1}")
        .await;
    s.expect(".metadata.annotations.seen", "'yes'");
    s.expect_owner(".metadata.annotations.seen", "controller (Update status)");
}

async fn a_custom_resource_with_a_status(s: &mut Subject) {
    s.define(Crd::new("KepStatus", SHAPE).with_status()).await;
    s.apply_as("team", "spec: {size: 1}\nstatus: {seen: 7}").await;
    s.expect_absent(".status");
    s.expect_fields("team (Apply)", &[".spec.size"]);
    s.status_as("controller", "status: {seen: 7}").await;
    s.expect_owner(".status.seen", "controller (Update status)");
    s.apply_as("other", "status: {seen: 8, note: something}")
        .to("status")
        .conflicts_with("controller (status)", ".status.seen")
        .await;
    s.apply_as("other", "status: {note: something}").to("status").await;
    s.expect_owner(".status.note", "other (Apply status)");
}

async fn each_version_resets_its_status(s: &mut Subject) {
    let target = "scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: nothing}";
    let versions = [
        ("one", builtin::AUTOSCALER_V1, "currentCPUUtilizationPercentage: 90"),
        ("two", builtin::AUTOSCALER, "currentMetrics: []"),
    ];
    for (name, kind, status) in versions {
        s.of(kind).await;
        s.named(name).await;
        s.apply_as(
            "team",
            &format!("spec: {{maxReplicas: 3, {target}}}\nstatus: {{currentReplicas: 7, {status}}}"),
        )
        .await;
        s.expect_no_owner(".status.currentReplicas");
        s.expect_no_owner(".status");
    }
}

async fn a_status_that_is_a_field_like_others(s: &mut Subject) {
    s.define(Crd::new("KepNoStatus", SHAPE)).await;
    s.apply_as("team", "spec: {size: 1}\nstatus: {seen: 7}").await;
    s.expect(".status.seen", "7");
    s.expect_fields("team (Apply)", &[".spec.size", ".status.seen"]);
    s.apply_as("other", "status: {seen: 8}").conflicts_with("team", ".status.seen").await;
    s.update_as("console", "status: {seen: 9}").await;
    s.expect_owner(".status.seen", "console (Update)");
}

async fn a_status_in_an_apply_is_dropped(s: &mut Subject) {
    s.of(builtin::DEPLOYMENT).await;
    s.apply_as("team", WEB).await;
    s.status_as("controller", "status: {replicas: 7}").await;
    let response = s.apply_as("team", &format!("{WEB}\nstatus: {{replicas: 8}}")).changes_nothing().await;
    assert_eq!(response.warnings, [""; 0]);
    s.expect(".status.replicas", "7");
    s.expect_owner(".status.replicas", "controller (Update status)");
}

async fn a_status_in_an_update_is_dropped(s: &mut Subject) {
    s.of(builtin::DEPLOYMENT).await;
    s.apply_as("team", WEB).await;
    s.update_as("console", "status: {replicas: 8}\nspec: {paused: true}").await;
    s.expect_fields("console (Update)", &[".spec.paused"]);
    s.expect_absent(".status.replicas");

    s.define(Crd::new("KepStatusUpdate", SHAPE).with_status()).await;
    s.apply_as("team", "spec: {size: 1}").await;
    s.merge_patch_as("console", "spec: {size: 2}\nstatus: {seen: 8}").await;
    s.expect_fields("console (Update)", &[".spec.size"]);
    s.expect_absent(".status");
}

async fn a_spec_sent_to_the_status_is_dropped(s: &mut Subject) {
    s.of(builtin::DEPLOYMENT).await;
    s.apply_as("team", WEB).await;
    s.apply_as("controller", "spec: {replicas: 5}\nstatus: {replicas: 7}").to("status").await;
    s.expect(".spec.replicas", "1");
    s.expect_fields("controller (Apply status)", &[".status.replicas"]);
    s.status_as("helper", "spec: {paused: true}\nstatus: {readyReplicas: 7}").await;
    s.expect_fields("helper (Update status)", &[".status.readyReplicas"]);

    s.define(Crd::new("KepStatusWay", SHAPE).with_status()).await;
    s.apply_as("team", "spec: {size: 1}").await;
    s.apply_as("controller", "spec: {size: 2}\nstatus: {seen: 1}").to("status").await;
    s.expect(".spec.size", "1");
    s.expect_fields("controller (Apply status)", &[".status.seen"]);
}
