//! From client-side to server-side apply, and back.

use baton_e2e::{
    scenario::{Subject, builtin::DEPLOYMENT},
    scenario_list,
};

use crate::LAST_APPLIED;

use super::{NGINX, NGINX_WITHOUT_REPLICAS};

scenario_list! {
    only real, because "of kubectl":
    an_upgrade_without_conflict, the_annotation_shows_what_was_managed,
    a_field_that_client_side_apply_did_not_know, an_upgrade_under_another_name, a_downgrade,
    a_downgrade_from_another_name;
}

/// The value of client-side apply's annotation.
fn last_applied(s: &Subject) -> String {
    s.at(LAST_APPLIED).and_then(|text| text.as_str()).unwrap_or_default().to_owned()
}

async fn an_upgrade_without_conflict(s: &mut Subject) {
    s.of(DEPLOYMENT).await;
    s.kubectl("apply -f -").reading(NGINX).await;
    s.expect_owner(".spec.replicas", "kubectl-client-side-apply (Update)");
    s.kubectl("apply --server-side -f -").reading(&NGINX.replace("replicas: 3", "replicas: 4")).await;
    s.expect(".spec.replicas", "4");
    // The annotation has its own manager, so it stays when others apply the rest.
    s.expect_managers(&["kubectl-last-applied (Apply)", "kubectl (Apply)"]);
    s.kubectl("apply --server-side -f -").reading(NGINX_WITHOUT_REPLICAS).await;
    s.expect(".spec.replicas", "1");
}

async fn the_annotation_shows_what_was_managed(s: &mut Subject) {
    s.kubectl("apply -f -").reading("data: {key: one, other: one}").await;
    // A server-side apply as `kubectl` takes over a changed value from client-side apply without a conflict.
    s.apply_as("kubectl", "data: {key: two, other: one}").await;
    s.expect_owner(".data.key", "kubectl (Apply)");

    s.named("outdated").await;
    s.kubectl("apply -f -").reading("data: {key: one}").await;
    s.merge_patch_as(
        "editor",
        "metadata: {annotations: {kubectl.kubernetes.io/last-applied-configuration: null}}",
    )
    .await;
    s.apply_as("kubectl", "data: {key: two}").conflicts_with("kubectl-client-side-apply", ".data.key").await;
}

async fn a_field_that_client_side_apply_did_not_know(s: &mut Subject) {
    s.of(DEPLOYMENT).await;
    s.kubectl("apply -f -").reading(NGINX_WITHOUT_REPLICAS).await;
    s.kubectl("scale deployment example --replicas=5").await;
    s.expect_owner(".spec.replicas", "kubectl (Update scale)");
    s.kubectl("apply --server-side -f -")
        .reading(NGINX)
        .fails(r#"conflict with "kubectl" with subresource "scale" using apps/v1: .spec.replicas"#)
        .await;
    s.expect(".spec.replicas", "5");
}

async fn an_upgrade_under_another_name(s: &mut Subject) {
    s.kubectl("apply -f -").reading("data: {key: one}").await;
    s.kubectl("apply --server-side --field-manager=my-manager -f -")
        .reading("data: {key: two}")
        .fails(r#"conflict with "kubectl-client-side-apply" using v1: .data.key"#)
        .await;
    s.kubectl("apply --server-side --field-manager=my-manager -f -").reading("data: {key: one}").await;
    // After the apply, kubectl itself moves client-side apply's fields to the new manager.
    s.expect_owner(".data.key", "my-manager (Apply)");
}

async fn a_downgrade(s: &mut Subject) {
    s.kubectl("apply -f -").reading("data: {key: one, dropped: one}").await;
    s.kubectl("apply --server-side -f -").reading("data: {key: two, dropped: one}").await;
    s.kubectl("apply -f -").reading("data: {key: three}").await;
    s.expect(".data", "{key: three}");
}

async fn a_downgrade_from_another_name(s: &mut Subject) {
    s.kubectl("apply --server-side --field-manager=my-manager -f -")
        .reading("data: {key: one, dropped: one}")
        .await;
    assert_eq!(last_applied(s), "");
    s.kubectl("apply -f -")
        .reading("data: {key: two}")
        .prints("missing the kubectl.kubernetes.io/last-applied")
        .await;
    // Without the annotation, client-side apply doesn't know that this field was applied before.
    s.expect(".data", "{key: two, dropped: one}");
}
