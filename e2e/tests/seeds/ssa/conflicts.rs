//! Conflicts, and the three ways out of them.

use baton_e2e::{scenario::Subject, scenario_list};

scenario_list! {
    a_conflict_names_manager_and_field, overwrite_and_be_the_only_manager, give_up_the_claim,
    become_a_shared_manager,
}

async fn a_conflict_names_manager_and_field(s: &mut Subject) {
    s.apply_as("kubectl", "data: {key: some value}").await;
    s.update_as("kube-controller-manager", "data: {key: new value, own: '1'}").await;
    let response = s
        .apply_as("kubectl", "data: {key: some value}")
        .conflicts_with("kube-controller-manager", ".data.key")
        .await;
    let cause = response.at(".details.causes[0].message").map(ToString::to_string).unwrap_or_default();
    assert!(cause.contains(r#"conflict with \"kube-controller-manager\" using v1"#), "{cause}");
    s.expect(".data.key", "new value");
}

async fn overwrite_and_be_the_only_manager(s: &mut Subject) {
    s.apply_as("alice", "data: {key: one}").await;
    s.apply_as("bob", "data: {key: one}").await;
    s.apply_as("carol", "data: {key: two}").by_force().await;
    s.expect(".data.key", "two");
    s.expect_owner(".data.key", "carol (Apply)");
    s.expect_managers(&["carol (Apply)"]);
}

async fn give_up_the_claim(s: &mut Subject) {
    s.apply_as("alice", "data: {key: hers}").await;
    s.apply_as("kubectl", "data: {key: hers, other: mine}").await;
    s.apply_as("kubectl", "data: {key: mine, other: mine}").conflicts_with("alice", ".data.key").await;
    s.apply_as("kubectl", "data: {other: mine}").await;
    s.expect(".data.key", "hers");
    s.expect_owner(".data.key", "alice (Apply)");
    s.expect_fields("kubectl (Apply)", &[".data.other"]);
}

async fn become_a_shared_manager(s: &mut Subject) {
    s.apply_as("kubectl", "data: {key: mine}").await;
    s.update_as("controller", "data: {key: better}").await;
    s.apply_as("kubectl", "data: {key: better}").await;
    s.expect(".data.key", "better");
    s.expect_owners(".data.key", &["kubectl (Apply)", "controller (Update)"]);
}
