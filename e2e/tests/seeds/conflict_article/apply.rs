//! Writes that name the fields that they are about.

use baton_e2e::{
    plays,
    scenario::{Promise, Scene, Section},
};

use super::{CROWD, of_a_namespace, own_label};

pub const SECTION: Section = Section {
    document: super::DOCUMENT,
    title: "Server-Side Apply",
    promises: &[
        Promise::new(
            "Server-side apply is stable since Kubernetes 1.22: kubectl and the server do it without being allowed to first.",
            plays![server_side_apply_needs_no_leave],
        ),
        Promise::new(
            "Several clients apply their own fields to one object without conflicts.",
            plays![everybody_applies_their_own_label],
        ),
        Promise::new(
            "Who applies needs no loop of reading, editing and applying again, even at the same time as others.",
            plays![applies_of_different_fields_at_the_same_time_all_win, the_first_applies_at_the_same_time_all_win],
        ),
        Promise::new(
            "Who applies says only the fields that it wants to change, not the whole object.",
            plays![everybody_applies_their_own_label],
        ),
        Promise::new(
            "The server tracks the manager of each field, by the client that updates it.",
            plays![everybody_applies_their_own_label, who_updates_a_field_manages_it],
        ),
        Promise::new(
            "kubectl hides the managed fields unless it is told to show them.",
            plays![kubectl_hides_managed_fields],
        ),
        Promise::new(
            "A client that updates a field becomes a manager of it.",
            plays![who_updates_a_field_manages_it],
        ),
        Promise::new(
            "A label that kubectl applied on its own side can be updated by applying it on the server's.",
            plays![the_story_of_the_labels],
        )
        .but(
            "kubectl also moves what it owned as kubectl-client-side-apply over to its manager for server-side apply. In the \
             article it stays where it was.",
        ),
        Promise::new(
            "A new label can be applied on the server's side.",
            plays![the_story_of_the_labels],
        ),
        Promise::new(
            "Who applies has to send every field that it manages. A field that it no longer sends is removed.",
            plays![the_story_of_the_labels, a_label_that_is_no_longer_sent_goes],
        ),
        Promise::new(
            "A field that is no longer sent stays if it has another manager.",
            plays![a_label_of_two_managers_stays_with_the_other],
        ),
        Promise::new(
            "With both labels in the intent both stay.",
            plays![the_story_of_the_labels],
        ),
        Promise::new(
            "A manager that applies another value to somebody else's field is rejected, in words that name the other manager \
             and the field.",
            plays![the_story_of_the_labels],
        )
        .but(
            "The words name kubectl, to which kubectl has moved the label. In the article they name kubectl-client-side-apply.",
        ),
        Promise::new(
            "--field-manager names the manager, and --force-conflicts overwrites.",
            plays![the_story_of_the_labels],
        ),
        Promise::new(
            "A forced apply changes the value that is in conflict, and leaves the other labels alone.",
            plays![the_story_of_the_labels],
        ),
        Promise::new(
            "After a forced apply the field belongs to who forced it, as the managed fields show.",
            plays![the_story_of_the_labels],
        ),
        Promise::new(
            "A controller, which has nobody to ask about a conflict, has to force.",
            plays![a_controller_gets_its_way_by_force_alone],
        ),
        Promise::new(
            "Controllers must not compete for a field: two that force undo each other's value without end.",
            plays![two_controllers_that_force_undo_each_other],
        )
        .and_tests(&["e2e/tests/scenarios/contention.rs::a_fight_is_told_and_bounded_and_ends_by_itself"]),
    ],
};

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
