//! Server-side apply in a controller.

use baton_e2e::{
    plays,
    scenario::{Promise, Scene, Section, builtin::DEPLOYMENT},
};

use super::{DOCUMENT, NGINX, baton::baton_forces_its_own_fields_and_no_others};

pub const SECTION: Section = Section {
    document: DOCUMENT,
    title: "Using Server-Side Apply in a controller",
    promises: &[
        Promise::new(
            "What a controller applies has to hold every field that it cares about: what it leaves out, it gives up.",
            plays![a_controller_sends_all_that_it_cares_about],
        )
        .and_tests(&["e2e/tests/scenarios/ownership.rs::each_child_has_one_apply_entry_of_baton_with_exactly_the_intents_fields"]),
        Promise::new(
            "It can't remove a field that was there before and that it never applied; for that it has to patch or update.",
            plays![what_was_never_applied_can_only_be_patched_away],
        ),
        Promise::new(
            "It needn't read the object before, and needs no `resourceVersion`.",
            plays![a_controller_needs_no_read_and_no_version, a_version_in_an_intent_is_a_guard],
        ),
        Promise::new(
            "It should always force: it has no other way out of a conflict.",
            plays![a_controller_forces, baton_forces_its_own_fields_and_no_others],
        )
        .and_tests(&["e2e/tests/scenarios/drift.rs::a_foreign_change_of_a_field_that_baton_owns_is_put_back"]),
    ],
};

async fn a_controller_sends_all_that_it_cares_about(s: &mut Scene) {
    s.apply_as("controller", "data: {one: '1', two: '2'}").await;
    s.apply_as("controller", "data: {one: changed}").by_force().await;
    s.expect(".data", "{one: changed}");
}

async fn what_was_never_applied_can_only_be_patched_away(s: &mut Scene) {
    s.create_as("somebody", "data: {old: '1', wanted: '1'}").await;
    s.apply_as("controller", "data: {wanted: '1'}").by_force().await;
    s.expect(".data.old", "'1'");
    s.apply_as("controller", "data: {wanted: '1', old: null}").by_force().await;
    s.expect(".data.old", "''");
    s.merge_patch_as("controller", "data: {old: null}").await;
    s.expect_absent(".data.old");
}

async fn a_controller_needs_no_read_and_no_version(s: &mut Scene) {
    s.of(DEPLOYMENT).await;
    s.apply_as("controller", NGINX).by_force().creates().await;
    s.update_as("somebody", "metadata: {labels: {more: '1'}}").await;
    s.scale_as("autoscaler", 5).await;
    // Whatever has happened in between, the same request does.
    s.apply_as("controller", NGINX).by_force().await;
    s.expect(".spec.replicas", "3");
    s.expect(".metadata.labels", "{app: nginx, more: '1'}");
}

async fn a_version_in_an_intent_is_a_guard(s: &mut Scene) {
    s.apply_as("controller", "data: {key: one}").await;
    let Some(read) = s.at(".metadata.resourceVersion").cloned() else { panic!("an object has a version") };
    let guarded = format!("{{metadata: {{resourceVersion: {read}}}, data: {{key: two}}}}");
    s.update_as("somebody", "data: {other: '1'}").await;
    s.apply_as("controller", &guarded).by_force().is_refused(409, "the object has been modified").await;
    s.apply_as("controller", "data: {key: two}").by_force().await;
}

async fn a_controller_forces(s: &mut Scene) {
    s.apply_as("controller", "data: {key: wanted}").by_force().await;
    s.update_as("kubectl-edit", "data: {key: edited}").await;
    s.apply_as("controller", "data: {key: wanted}").conflicts_with("kubectl-edit", ".data.key").await;
    s.apply_as("controller", "data: {key: wanted}").by_force().await;
    s.expect_owner(".data.key", "controller (Apply)");
}
