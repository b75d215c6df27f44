//! Writes with the `resourceVersion` of the object that they change.

use baton_e2e::{scenario::Subject, scenario_list};

use super::{CROWD, of_a_namespace, same_label};

scenario_list! {
    a_stale_resource_version_is_refused, after_a_conflict_a_client_reads_again,
    json_patches_overwrite_each_other, strategic_patches_overwrite_each_other,
    one_of_many_locked_patches_wins;
    only real, because "of kubectl":
    late_applies_with_a_resource_version_are_refused,
    kubectl_leaves_out_a_resource_version_that_it_has_just_read,
    one_of_many_updates_with_a_resource_version_wins;
}

async fn a_stale_resource_version_is_refused(s: &mut Subject) {
    of_a_namespace(s).await;
    s.create_as("admin", "metadata: {labels: {label: none}}").await;
    let stale = s.text(".metadata.resourceVersion").to_owned();
    s.merge_patch_as("other", "metadata: {labels: {label: newer}}").await;
    let late = format!("metadata: {{resourceVersion: '{stale}', labels: {{label: late}}}}");
    let refusal = "the object has been modified";
    s.replace_as("admin", &late).is_refused(409, refusal).await;
    s.merge_patch_as("admin", &late).is_refused(409, refusal).await;
    s.apply_as("admin", &late).by_force().is_refused(409, refusal).await;
    s.expect(".metadata.labels.label", "newer");
}

async fn late_applies_with_a_resource_version_are_refused(s: &mut Subject) {
    of_a_namespace(s).await;
    s.kubectl("apply -f -").reading("metadata: {labels: {label0: '0'}}").await;
    let version = s.text(".metadata.resourceVersion").to_owned();
    let file = |i| format!("metadata: {{resourceVersion: '{version}', labels: {{label{i}: '{i}'}}}}");
    s.kubectl("apply -f -").reading(&file(1)).await;
    s.expect(".metadata.labels.label1", "'1'");
    s.kubectl("apply -f -").reading(&file(2)).fails("Error from server (Conflict)").await;
    s.kubectl("apply -f -").reading(&file(3)).fails("the object has been modified").await;
    s.expect_absent(".metadata.labels.label2");
    s.expect_absent(".metadata.labels.label3");
}

async fn kubectl_leaves_out_a_resource_version_that_it_has_just_read(s: &mut Subject) {
    of_a_namespace(s).await;
    s.kubectl("apply -f -").reading("metadata: {labels: {label0: '0'}}").await;
    let version = s.text(".metadata.resourceVersion").to_owned();
    let file = |i| format!("metadata: {{resourceVersion: '{version}', labels: {{label{i}: '{i}'}}}}");
    s.kubectl("apply -f -").reading(&file(1)).sends(&["get", "patch"]).await;
    // It isn't in the patch that kubectl sends, so the server doesn't compare it.
    let sent = s.recorded().last().unwrap().sent.clone().unwrap();
    assert!(sent.at(&["metadata", "labels", "label1"]).is_some(), "{sent}");
    assert!(sent.at(&["metadata", "resourceVersion"]).is_none(), "{sent}");
}

async fn one_of_many_updates_with_a_resource_version_wins(s: &mut Subject) {
    of_a_namespace(s).await;
    s.create_as("admin", "metadata: {labels: {label0: '0'}}").await;
    let version = s.text(".metadata.resourceVersion").to_owned();
    let file = |i| format!("metadata: {{resourceVersion: '{version}', labels: {{label: '{i}'}}}}");
    let rivals: Vec<_> = (0..CROWD).map(|i| s.kubectl("replace -f -").reading(&file(i)).as_rival()).collect();
    let winner = s.at_once(rivals).await.one_wins("(Conflict)");
    s.expect(".metadata.labels.label", &format!("'{winner}'"));
    assert_ne!(s.text(".metadata.resourceVersion"), version);
}

async fn after_a_conflict_a_client_reads_again(s: &mut Subject) {
    of_a_namespace(s).await;
    s.create_as("admin", "metadata: {labels: {label: none}}").await;
    let read = s.text(".metadata.resourceVersion").to_owned();
    s.merge_patch_as("other", "metadata: {annotations: {by: other}}").await;
    let edited = format!("metadata: {{resourceVersion: '{read}', labels: {{label: edited}}}}");
    s.update_as("admin", &edited).is_refused(409, "please apply your changes to the latest version").await;
    s.refresh().await;
    s.update_as("admin", "metadata: {labels: {label: edited}}").await;
    s.expect(".metadata.labels.label", "edited");
    s.expect(".metadata.annotations.by", "other");
}

async fn json_patches_overwrite_each_other(s: &mut Subject) {
    of_a_namespace(s).await;
    s.create_as("admin", "metadata: {labels: {label: none}}").await;
    let patch = |i| format!("[{{op: replace, path: /metadata/labels/label, value: '{i}'}}]");
    let rivals: Vec<_> =
        (0..CROWD).map(|i| s.json_patch_as(&*format!("client{i}"), &patch(i)).as_rival()).collect();
    s.at_once(rivals).await.all_win();
    let last = s.text(".metadata.labels.label").to_owned();
    s.expect_owner(".metadata.labels.label", &format!("client{last} (Update)"));
    s.json_patch_as("late", &patch(CROWD)).await;
    s.expect(".metadata.labels.label", &format!("'{CROWD}'"));
}

async fn strategic_patches_overwrite_each_other(s: &mut Subject) {
    of_a_namespace(s).await;
    s.create_as("admin", "metadata: {labels: {label: none}}").await;
    let rivals: Vec<_> =
        (0..CROWD).map(|i| s.strategic_patch_as(&*format!("client{i}"), &same_label(i)).as_rival()).collect();
    s.at_once(rivals).await.all_win();
    let last = s.text(".metadata.labels.label").to_owned();
    s.expect_owner(".metadata.labels.label", &format!("client{last} (Update)"));
    s.strategic_patch_as("late", &same_label(CROWD)).await;
    s.expect(".metadata.labels.label", &format!("'{CROWD}'"));
}

async fn one_of_many_locked_patches_wins(s: &mut Subject) {
    of_a_namespace(s).await;
    s.create_as("admin", "metadata: {labels: {label: none}}").await;
    let version = s.text(".metadata.resourceVersion").to_owned();
    let strategic = |i| format!("metadata: {{resourceVersion: '{version}', labels: {{label: '{i}'}}}}");
    let rivals: Vec<_> =
        (0..CROWD).map(|i| s.strategic_patch_as(&*format!("client{i}"), &strategic(i)).as_rival()).collect();
    let winner = s.at_once(rivals).await.one_wins("the object has been modified");
    s.expect_owner(".metadata.labels.label", &format!("client{winner} (Update)"));

    let version = s.text(".metadata.resourceVersion").to_owned();
    let json = |i| {
        format!(
            "[{{op: replace, path: /metadata/resourceVersion, value: '{version}'}}, \
             {{op: replace, path: /metadata/labels/label, value: json{i}}}]"
        )
    };
    let rivals: Vec<_> =
        (0..CROWD).map(|i| s.json_patch_as(&*format!("client{i}"), &json(i)).as_rival()).collect();
    let winner = s.at_once(rivals).await.one_wins("the object has been modified");
    s.expect(".metadata.labels.label", &format!("json{winner}"));
}
