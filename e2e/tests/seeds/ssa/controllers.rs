//! Server-side apply in a controller.

use baton_e2e::{
    scenario::{Subject, builtin::DEPLOYMENT},
    scenario_list,
};

use super::NGINX;

scenario_list! {
    a_controller_sends_all_that_it_cares_about, what_was_never_applied_can_only_be_patched_away,
    a_controller_needs_no_read_and_no_version, a_controller_forces,
}

async fn a_controller_sends_all_that_it_cares_about(s: &mut Subject) {
    s.apply_as("controller", "data: {one: '1', two: '2'}").await;
    s.apply_as("controller", "data: {one: changed}").by_force().await;
    s.expect(".data", "{one: changed}");
}

async fn what_was_never_applied_can_only_be_patched_away(s: &mut Subject) {
    s.create_as("editor", "data: {old: '1', wanted: '1'}").await;
    s.apply_as("controller", "data: {wanted: '1'}").by_force().await;
    s.expect(".data.old", "'1'");
    s.apply_as("controller", "data: {wanted: '1', old: null}").by_force().await;
    s.expect(".data.old", "''");
    s.merge_patch_as("controller", "data: {old: null}").await;
    s.expect_absent(".data.old");
}

async fn a_controller_needs_no_read_and_no_version(s: &mut Subject) {
    s.of(DEPLOYMENT).await;
    s.apply_as("controller", NGINX).by_force().creates().await;
    s.update_as("editor", "metadata: {labels: {more: '1'}}").await;
    s.scale_as("autoscaler", 5).await;
    // The same request works whatever was written in between.
    s.apply_as("controller", NGINX).by_force().await;
    s.expect(".spec.replicas", "3");
    s.expect(".metadata.labels", "{app: nginx, more: '1'}");
}

async fn a_controller_forces(s: &mut Subject) {
    s.apply_as("controller", "data: {key: wanted}").by_force().await;
    s.update_as("kubectl-edit", "data: {key: edited}").await;
    s.apply_as("controller", "data: {key: wanted}").conflicts_with("kubectl-edit", ".data.key").await;
    s.apply_as("controller", "data: {key: wanted}").by_force().await;
    s.expect_owner(".data.key", "controller (Apply)");
    s.apply_as("controller", "data: {key: wanted}").by_force().changes_nothing().await;
}
