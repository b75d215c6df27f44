//! Writes of clients that don't know of each other.

use baton_e2e::{
    scenario::{Subject, builtin},
    scenario_list,
};

use super::{CROWD, of_a_namespace, own_label, same_label};

scenario_list! {
    invalid_and_forbidden_writes_are_not_stored, writes_to_different_objects_all_succeed,
    two_patches_from_one_read_mix, two_clients_can_overwrite_each_other_forever;
    only real, because "an autoscaler would write before a prediction is compared":
    a_control_loop_reports_in_the_status;
    only real, because "of kubectl":
    one_of_many_creations_wins, the_last_of_many_client_side_applies_wins;
}

async fn invalid_and_forbidden_writes_are_not_stored(s: &mut Subject) {
    of_a_namespace(s).await;
    s.create_as("admin", "metadata: {labels: {label1: not/valid}}").is_refused(422, "Invalid value").await;
    s.create_as("intern", "metadata: {labels: {label1: '1'}}")
        .by_user("intern")
        .is_refused(403, "intern")
        .await;
    s.expect_absent("");
    s.create_as("admin", "metadata: {labels: {label1: '1'}}").creates().await;
    s.expect(".metadata.labels.label1", "'1'");
}

async fn a_control_loop_reports_in_the_status(s: &mut Subject) {
    s.of(builtin::AUTOSCALER).await;
    let target = "scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: absent}";
    s.apply_as("user", &format!("spec: {{maxReplicas: 3, {target}}}")).creates().await;
    // The autoscaler didn't find its target.
    s.eventually(r#".status.conditions[type="AbleToScale"].status"#, "'False'").await;
    s.expect_owner(".spec.maxReplicas", "user (Apply)");
    s.expect_owner(
        r#".status.conditions[type="AbleToScale"].status"#,
        "kube-controller-manager (Update status)",
    );
}

async fn writes_to_different_objects_all_succeed(s: &mut Subject) {
    let mut rivals = Vec::new();
    for name in ["one", "two", "three", "four"] {
        s.named(name).await;
        rivals.push(s.create_as("admin", &format!("data: {{name: {name}}}")).as_rival());
    }
    s.at_once(rivals).await.all_win();
    for name in ["one", "two", "three", "four"] {
        s.named(name).await;
        s.expect(".data.name", name);
    }
}

async fn one_of_many_creations_wins(s: &mut Subject) {
    of_a_namespace(s).await;
    let rivals: Vec<_> =
        (0..CROWD).map(|i| s.kubectl("create -f -").reading(&own_label(i)).as_rival()).collect();
    let winner = s.at_once(rivals).await.one_wins("(AlreadyExists)");
    for i in 0..CROWD {
        let label = format!(".metadata.labels.label{i}");
        if i == winner { s.expect(&label, &format!("'{i}'")) } else { s.expect_absent(&label) }
    }
    s.expect_managers(&["kubectl-create (Update)"]);
}

async fn the_last_of_many_client_side_applies_wins(s: &mut Subject) {
    of_a_namespace(s).await;
    s.kubectl("apply -f -").reading("metadata: {labels: {label: none}}").await;
    let rivals: Vec<_> =
        (0..CROWD).map(|i| s.kubectl("apply -f -").reading(&same_label(i)).as_rival()).collect();
    s.at_once(rivals).await.all_win();
    let last = s.text(".metadata.labels.label").to_owned();
    assert!((0..CROWD).any(|i| last == i.to_string()), "none of them sent {last}");
}

/// The patches of two kubectls that both read label0: each removes it, and adds its own label.
async fn two_patches_from_one_read_mix(s: &mut Subject) {
    of_a_namespace(s).await;
    s.create_as("kubectl-client-side-apply", "metadata: {labels: {label0: '0'}}").await;
    let patches = [
        "metadata: {labels: {label0: null, label1: '1'}}",
        "metadata: {labels: {label0: null, label2: '2'}}",
    ];
    let rivals = patches.map(|patch| s.strategic_patch_as("kubectl-client-side-apply", patch).as_rival());
    s.at_once(rivals).await.all_win();
    s.expect_absent(".metadata.labels.label0");
    // Neither client sent both.
    s.expect(".metadata.labels.label1", "'1'");
    s.expect(".metadata.labels.label2", "'2'");
}

async fn two_clients_can_overwrite_each_other_forever(s: &mut Subject) {
    of_a_namespace(s).await;
    s.create_as("admin", "metadata: {labels: {label: none}}").await;
    for _round in 0..3 {
        for client in ["alice", "bob"] {
            let before = s.text(".metadata.resourceVersion").to_owned();
            s.merge_patch_as(client, &format!("metadata: {{labels: {{label: {client}}}}}")).await;
            s.expect(".metadata.labels.label", client);
            s.expect_owner(".metadata.labels.label", &format!("{client} (Update)"));
            assert_ne!(s.text(".metadata.resourceVersion"), before);
        }
    }
}
