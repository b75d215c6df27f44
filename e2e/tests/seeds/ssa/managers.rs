//! Field managers, and how they are named.

use baton_e2e::{
    scenario::{Subject, unnamed, user_agent},
    scenario_list,
};

scenario_list! {
    an_apply_is_never_inferred, a_manager_is_inferred_from_the_user_agent,
}

async fn an_apply_is_never_inferred(s: &mut Subject) {
    s.apply_as(user_agent("deployer/1.0"), "data: {key: '1'}")
        .is_refused(422, "fieldManager: Required value: is required for apply patch")
        .await;
    s.apply_as(unnamed(), "data: {key: '1'}").is_refused(422, "fieldManager: Required value").await;
    s.expect_absent("");
    // Other writes need no manager.
    s.create_as(unnamed(), "data: {key: '1'}").creates().await;
    s.merge_patch_as(unnamed(), "data: {key: '2'}").await;
    s.expect_owner(".data.key", "unknown (Update)");
}

async fn a_manager_is_inferred_from_the_user_agent(s: &mut Subject) {
    s.create_as(user_agent("curl/8.5.0"), "data: {key: '1'}").await;
    s.merge_patch_as(user_agent("my-tool/v2 (linux/amd64) build/7"), "data: {other: '1'}").await;
    s.expect_owner(".data.key", "curl (Update)");
    s.expect_owner(".data.other", "my-tool (Update)");
}
