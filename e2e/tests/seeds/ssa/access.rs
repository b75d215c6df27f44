//! The permissions that an apply needs.

use baton_e2e::{
    scenario::{
        Subject,
        builtin::{CONFIG_MAP, ROLE, ROLE_BINDING},
    },
    scenario_list,
};

scenario_list! {
    patch_is_needed_to_apply, create_is_needed_to_create,
}

/// Gives the user `jane` these verbs on all `ConfigMap`s of the namespace.
async fn allow(s: &mut Subject, verbs: &str) {
    s.of(ROLE).await;
    s.named("jane").await;
    s.apply_as("admin", &format!("rules: [{{apiGroups: [''], resources: [configmaps], verbs: {verbs}}}]"))
        .await;
    s.of(ROLE_BINDING).await;
    let subject = "subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: jane}]";
    let role = "roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: jane}";
    s.apply_as("admin", &format!("{{{subject}, {role}}}")).await;
    s.of(CONFIG_MAP).await;
    s.named("example").await;
}

async fn patch_is_needed_to_apply(s: &mut Subject) {
    s.create_as("editor", "data: {key: one}").await;
    let forbidden = r#"User "jane" cannot patch resource "configmaps""#;
    s.apply_as("kubectl", "data: {own: '1'}").by_user("jane").is_refused(403, forbidden).await;
    allow(s, "[update, create, get]").await;
    s.apply_as("kubectl", "data: {own: '1'}").by_user("jane").is_refused(403, forbidden).await;
    allow(s, "[patch]").await;
    s.apply_as("kubectl", "data: {own: '1'}").by_user("jane").await;
    s.expect_owner(".data.own", "kubectl (Apply)");
}

async fn create_is_needed_to_create(s: &mut Subject) {
    allow(s, "[patch]").await;
    let forbidden = r#"User "jane" cannot create resource "configmaps""#;
    s.apply_as("kubectl", "data: {own: '1'}").by_user("jane").is_refused(403, forbidden).await;
    allow(s, "[patch, create]").await;
    s.apply_as("kubectl", "data: {own: '1'}").by_user("jane").creates().await;
}
