//! Server-side applies of several managers to one object.

use baton_e2e::{scenario::Subject, scenario_list};

use super::{CROWD, of_a_namespace, own_label};

scenario_list! {
    applies_of_different_fields_at_the_same_time_all_win, the_first_applies_at_the_same_time_all_win,
    two_controllers_that_force_undo_each_other;
    only real, because "of kubectl":
    kubectl_hides_managed_fields, the_example_of_the_labels;
}

async fn applies_of_different_fields_at_the_same_time_all_win(s: &mut Subject) {
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

async fn the_first_applies_at_the_same_time_all_win(s: &mut Subject) {
    of_a_namespace(s).await;
    let rivals: Vec<_> =
        (0..CROWD).map(|i| s.apply_as(&*format!("client{i}"), &own_label(i)).as_rival()).collect();
    s.at_once(rivals).await.all_win();
    for i in 0..CROWD {
        s.expect_owner(&format!(".metadata.labels.label{i}"), &format!("client{i} (Apply)"));
    }
}

async fn kubectl_hides_managed_fields(s: &mut Subject) {
    of_a_namespace(s).await;
    s.kubectl("apply -f -").reading("metadata: {labels: {label1: '1'}}").await;
    let get = format!("get namespace {} -o yaml", s.name());
    let hidden = s.kubectl(&get).prints("label1: \"1\"").await;
    assert!(!hidden.stdout.contains("managedFields"), "{hidden}");
    s.kubectl(&format!("{get} --show-managed-fields"))
        .prints("managedFields:")
        .prints("manager: kubectl-client-side-apply")
        .prints("f:label1: {}")
        .await;
}

async fn the_example_of_the_labels(s: &mut Subject) {
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
    s.kubectl(&get).prints("manager: new-field-manager").await;
}

async fn two_controllers_that_force_undo_each_other(s: &mut Subject) {
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
