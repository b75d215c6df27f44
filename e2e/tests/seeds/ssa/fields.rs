//! Which manager owns which field.

use baton_e2e::{
    scenario::{Subject, builtin::DEPLOYMENT},
    scenario_list,
};

use super::NGINX;

scenario_list! {
    two_appliers_share_an_object, every_way_to_write_is_recorded, another_value_is_a_conflict,
    a_manager_that_changes_a_value_owns_it, a_removed_field_has_no_owner, a_dropped_field_is_removed_or_defaulted,
    dropped_items_of_lists_and_maps_are_removed, the_same_value_is_shared, a_shared_owner_releases_a_field,
    no_annotation_is_needed,
}

async fn two_appliers_share_an_object(s: &mut Subject) {
    s.apply_as("team-a", "data: {color: red}").creates().await;
    s.apply_as("team-b", "data: {size: large}").await;
    s.expect(".data", "{color: red, size: large}");
    s.expect_fields("team-a (Apply)", &[".data.color"]);
    s.expect_fields("team-b (Apply)", &[".data.size"]);
}

async fn every_way_to_write_is_recorded(s: &mut Subject) {
    s.create_as("poster", "data: {post: '1'}").creates().await;
    s.update_as("putter", "data: {put: '1'}").await;
    s.merge_patch_as("merger", "data: {merge: '1'}").await;
    s.strategic_patch_as("strategist", "data: {strategic: '1'}").await;
    s.json_patch_as("json-patcher", "[{op: add, path: /data/json, value: '1'}]").await;
    s.apply_as("applier", "data: {apply: '1'}").await;
    s.expect_owner(".data.post", "poster (Update)");
    s.expect_owner(".data.put", "putter (Update)");
    s.expect_owner(".data.merge", "merger (Update)");
    s.expect_owner(".data.strategic", "strategist (Update)");
    s.expect_owner(".data.json", "json-patcher (Update)");
    s.expect_owner(".data.apply", "applier (Apply)");
}

async fn another_value_is_a_conflict(s: &mut Subject) {
    s.apply_as("alice", "data: {key: hers}").await;
    s.apply_as("bob", "data: {key: his}").conflicts_with("alice", ".data.key").await;
    s.expect(".data.key", "hers");
    s.apply_as("bob", "data: {key: his}").by_force().await;
    s.expect(".data.key", "his");
    s.expect_owner(".data.key", "bob (Apply)");
}

async fn a_manager_that_changes_a_value_owns_it(s: &mut Subject) {
    s.apply_as("kubectl", "data: {key: one}").await;
    s.update_as("editor", "data: {key: two}").await;
    s.expect_owner(".data.key", "editor (Update)");
    s.merge_patch_as("patcher", "data: {key: three}").await;
    s.expect_owner(".data.key", "patcher (Update)");
}

async fn a_removed_field_has_no_owner(s: &mut Subject) {
    s.create_as("owner", "data: {one: '1', two: '2', three: '3'}").await;
    s.merge_patch_as("owner", "data: {one: null}").await;
    s.merge_patch_as("editor", "data: {two: null}").await;
    s.expect_fields("owner (Update)", &[".data", ".data.three"]);
    // A manager that only removes fields owns nothing.
    s.expect_managers(&["owner (Update)"]);
}

async fn a_dropped_field_is_removed_or_defaulted(s: &mut Subject) {
    s.of(DEPLOYMENT).await;
    s.apply_as("kubectl", NGINX).await;
    s.apply_as("kubectl", &with_nginx("revisionHistoryLimit: 3, paused: true")).await;
    s.apply_as("kubectl", NGINX).await;
    s.expect(".spec.revisionHistoryLimit", "10");
    s.expect_absent(".spec.paused");
}

/// The example's Deployment with these fields in its spec.
fn with_nginx(more: &str) -> String {
    NGINX.replacen("replicas: 3", &format!("replicas: 3\n      {}", more.replace(", ", "\n      ")), 1)
}

async fn dropped_items_of_lists_and_maps_are_removed(s: &mut Subject) {
    s.of(DEPLOYMENT).await;
    let sidecar = "\n          - {name: sidecar, image: envoy}";
    s.apply_as(
        "kubectl",
        &(NGINX.replace("{app: nginx}}\n    spec", "{app: nginx, tier: web}}\n    spec") + sidecar),
    )
    .await;
    s.merge_patch_as("tagger", "metadata: {finalizers: [example.com/kept], labels: {team: a}}").await;
    s.apply_as("kubectl", NGINX).await;
    s.expect(".metadata.labels", "{app: nginx, team: a}");
    s.expect_absent(r#".spec.template.spec.containers[name="sidecar"]"#);
    s.expect(".metadata.finalizers", "[example.com/kept]");

    s.apply_as("finalizer", "metadata: {finalizers: [example.com/kept, example.com/own]}").await;
    s.apply_as("finalizer", "metadata: {finalizers: [example.com/kept]}").await;
    s.expect(".metadata.finalizers", "[example.com/kept]");
}

async fn the_same_value_is_shared(s: &mut Subject) {
    s.apply_as("alice", "data: {key: same}").await;
    s.apply_as("bob", "data: {key: same}").await;
    s.expect_owners(".data.key", &["bob (Apply)", "alice (Apply)"]);
    s.apply_as("alice", "data: {key: other}").conflicts_with("bob", ".data.key").await;
    s.apply_as("bob", "data: {key: other}").conflicts_with("alice", ".data.key").await;
    s.apply_as("carol", "data: {key: other}")
        .conflicts_with("alice", ".data.key")
        .conflicts_with("bob", ".data.key")
        .await;
}

async fn a_shared_owner_releases_a_field(s: &mut Subject) {
    s.apply_as("alice", "data: {key: same}").await;
    s.apply_as("bob", "data: {key: same, own: '1'}").await;
    s.apply_as("bob", "data: {own: '1'}").await;
    s.expect_owner(".data.key", "alice (Apply)");
    s.expect(".data.key", "same");
}

async fn no_annotation_is_needed(s: &mut Subject) {
    s.apply_as("applier", "data: {key: one}").await;
    s.expect_absent(".metadata.annotations");
    s.update_as("editor", "data: {other: two}").await;
    s.apply_as("applier", "data: {}").await;
    // Its own field is removed. The other manager's field stays, though no apply ever had it.
    s.expect(".data", "{other: two}");
}
