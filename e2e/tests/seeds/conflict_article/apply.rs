//! Writes that name the fields that they are about.

use baton_e2e::{plays, scenario::Scene};

use super::{CROWD, of_a_namespace, own_label};

plays! {
    server_side_apply_needs_no_leave, everybody_applies_their_own_label,
    applies_of_different_fields_at_the_same_time_all_win, the_first_applies_at_the_same_time_all_win,
    who_updates_a_field_manages_it, kubectl_hides_managed_fields, the_story_of_the_labels,
    a_label_that_is_no_longer_sent_goes, a_label_of_two_managers_stays_with_the_other,
    a_controller_gets_its_way_by_force_alone, two_controllers_that_force_undo_each_other,
}

async fn server_side_apply_needs_no_leave(s: &mut Scene) {
    of_a_namespace(s).await;
    s.kubectl("apply --server-side -f -")
        .reading("metadata: {labels: {label1: '1'}}")
        .says("serverside-applied")
        .await;
    s.expect_owner(".metadata.labels.label1", "kubectl (Apply)");
}

async fn everybody_applies_their_own_label(s: &mut Scene) {
    of_a_namespace(s).await;
    for client in ["alice", "bob", "carol"] {
        s.apply_as(client, &format!("metadata: {{labels: {{{client}: here}}}}")).await;
    }
    for client in ["alice", "bob", "carol"] {
        s.expect(&format!(".metadata.labels.{client}"), "here");
        s.expect_fields(&format!("{client} (Apply)"), &[&format!(".metadata.labels.{client}")]);
    }
}

async fn applies_of_different_fields_at_the_same_time_all_win(s: &mut Scene) {
    of_a_namespace(s).await;
    s.create_as("admin", "metadata: {labels: {label: none}}").await;
    let rivals: Vec<_> =
        (0..CROWD).map(|i| s.apply_as(&*format!("client{i}"), &own_label(i)).as_rival()).collect();
    s.at_once(rivals).await.all_win();
    for i in 0..CROWD {
        s.expect(&format!(".metadata.labels.label{i}"), &format!("'{i}'"));
        s.expect_owner(&format!(".metadata.labels.label{i}"), &format!("client{i} (Apply)"));
    }
}

async fn the_first_applies_at_the_same_time_all_win(s: &mut Scene) {
    of_a_namespace(s).await;
    let rivals: Vec<_> =
        (0..CROWD).map(|i| s.apply_as(&*format!("client{i}"), &own_label(i)).as_rival()).collect();
    s.at_once(rivals).await.all_win();
    for i in 0..CROWD {
        s.expect_owner(&format!(".metadata.labels.label{i}"), &format!("client{i} (Apply)"));
    }
}

async fn who_updates_a_field_manages_it(s: &mut Scene) {
    of_a_namespace(s).await;
    s.kubectl("apply -f -").reading("metadata: {labels: {label1: '1', label2: '2'}}").await;
    s.expect_owner(".metadata.labels.label1", "kubectl-client-side-apply (Update)");
    s.update_as("controller", "metadata: {labels: {label1: new}}").await;
    s.expect_owner(".metadata.labels.label1", "controller (Update)");
    s.expect_owner(".metadata.labels.label2", "kubectl-client-side-apply (Update)");
}

async fn kubectl_hides_managed_fields(s: &mut Scene) {
    of_a_namespace(s).await;
    s.kubectl("apply -f -").reading("metadata: {labels: {label1: '1'}}").await;
    let get = format!("get namespace {} -o yaml", s.name());
    let hidden = s.kubectl(&get).says("label1: \"1\"").await;
    assert!(!hidden.stdout.contains("managedFields"), "{hidden}");
    s.kubectl(&format!("{get} --show-managed-fields"))
        .says("managedFields:")
        .says("manager: kubectl-client-side-apply")
        .says("f:label1: {}")
        .await;
}

async fn the_story_of_the_labels(s: &mut Scene) {
    of_a_namespace(s).await;
    s.kubectl("apply -f -").reading("metadata: {labels: {label1: '1'}}").await;
    s.expect_owner(".metadata.labels.label1", "kubectl-client-side-apply (Update)");

    s.kubectl("apply --server-side -f -").reading("metadata: {labels: {label1: updated}}").await;
    s.expect(".metadata.labels.label1", "updated");
    s.expect_owner(".metadata.labels.label1", "kubectl (Apply)");

    s.kubectl("apply --server-side -f -").reading("metadata: {labels: {newlabel: new}}").await;
    s.expect(".metadata.labels.newlabel", "new");
    s.expect_absent(".metadata.labels.label1");

    let whole = "metadata: {labels: {label1: updated, newlabel: new}}";
    s.kubectl("apply --server-side -f -").reading(whole).await;
    s.expect(".metadata.labels.newlabel", "new");
    s.expect(".metadata.labels.label1", "updated");

    let other = "metadata: {labels: {label1: by-another}}";
    s.kubectl("apply --server-side --field-manager=new-field-manager -f -")
        .reading(other)
        .fails("conflict with \"kubectl\": .metadata.labels.label1")
        .await;
    s.expect(".metadata.labels.label1", "updated");

    s.kubectl("apply --server-side --field-manager=new-field-manager --force-conflicts -f -")
        .reading(other)
        .await;
    s.expect(".metadata.labels.label1", "by-another");
    s.expect(".metadata.labels.newlabel", "new");
    s.expect_owner(".metadata.labels.label1", "new-field-manager (Apply)");
    s.expect_owner(".metadata.labels.newlabel", "kubectl (Apply)");
    let get = format!("get namespace {} -o yaml --show-managed-fields", s.name());
    s.kubectl(&get).says("manager: new-field-manager").await;
}

async fn a_label_that_is_no_longer_sent_goes(s: &mut Scene) {
    of_a_namespace(s).await;
    s.apply_as("alice", "metadata: {labels: {label1: '1', label2: '2'}}").await;
    s.apply_as("alice", "metadata: {labels: {label2: '2'}}").await;
    s.expect_absent(".metadata.labels.label1");
    s.expect_fields("alice (Apply)", &[".metadata.labels.label2"]);
}

async fn a_label_of_two_managers_stays_with_the_other(s: &mut Scene) {
    of_a_namespace(s).await;
    s.apply_as("alice", "metadata: {labels: {label1: '1', label2: '2'}}").await;
    s.apply_as("bob", "metadata: {labels: {label1: '1'}}").await;
    s.expect_owners(".metadata.labels.label1", &["bob (Apply)", "alice (Apply)"]);
    s.apply_as("alice", "metadata: {labels: {label2: '2'}}").await;
    s.expect(".metadata.labels.label1", "'1'");
    s.expect_owner(".metadata.labels.label1", "bob (Apply)");
}

async fn a_controller_gets_its_way_by_force_alone(s: &mut Scene) {
    of_a_namespace(s).await;
    s.create_as("user", "metadata: {labels: {mode: manual}}").await;
    let intent = "metadata: {labels: {mode: automatic}}";
    // It may try again as often as it wants.
    for _try in 0..3 {
        s.apply_as("controller", intent).conflicts_with("user", ".metadata.labels.mode").await;
    }
    s.apply_as("controller", intent).by_force().await;
    s.expect(".metadata.labels.mode", "automatic");
    s.expect_owner(".metadata.labels.mode", "controller (Apply)");
    s.apply_as("controller", intent).by_force().changes_nothing().await;
}

async fn two_controllers_that_force_undo_each_other(s: &mut Scene) {
    of_a_namespace(s).await;
    s.apply_as("one", "metadata: {labels: {mode: one}}").await;
    for _round in 0..3 {
        for controller in ["two", "one"] {
            let before = s.text(".metadata.resourceVersion").to_owned();
            s.apply_as(controller, &format!("metadata: {{labels: {{mode: {controller}}}}}")).by_force().await;
            s.expect(".metadata.labels.mode", controller);
            s.expect_managers(&[&*format!("{controller} (Apply)")]);
            assert_ne!(s.text(".metadata.resourceVersion"), before);
        }
    }
}
