//! The API, and who may use it.

use baton_e2e::{
    plays,
    scenario::{
        Promise, Scene, Section,
        builtin::{CONFIG_MAP, ROLE, ROLE_BINDING},
    },
};

use super::DOCUMENT;

pub const IMPLEMENTATION: Section = Section {
    document: DOCUMENT,
    title: "API implementation",
    promises: &[
        Promise::new(
            "The `PATCH` verb of a resource takes the content type `application/apply-patch+yaml`.",
            plays![part_of_an_object_is_patched],
        ),
        Promise::new(
            "Its body is a partly specified object, in YAML, sent to the URI of the resource.",
            plays![part_of_an_object_is_patched],
        ),
        Promise::new(
            "Include every field that matters for the outcome, each time.",
            plays![part_of_an_object_is_patched],
        ),
    ],
};

pub const PERMISSIONS: Section = Section {
    document: DOCUMENT,
    title: "Access control and permissions",
    promises: &[
        Promise::new(
            "An apply is a kind of PATCH: to change an object that exists, the verb `patch` is needed.",
            plays![patch_is_needed_to_apply],
        ),
        Promise::new(
            "To create an object by applying it, the verb `create` is needed, too.",
            plays![create_is_needed_to_create],
        )
        .and_tests(&["e2e/tests/scenarios/permissions.rs::every_permission_is_used_and_none_is_missing"]),
    ],
};

async fn part_of_an_object_is_patched(s: &mut Scene) {
    let body =
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: example\ndata:\n  key: value\n  other: value\n";
    s.apply_as("kubectl", "data: {key: value, other: value}").spelled(body).creates().await;
    s.apply_as("kubectl", "data: {key: value}").await;
    s.expect(".data", "{key: value}");
}

/// Lets the user `jane` do this to every `ConfigMap` of the namespace.
async fn allow(s: &mut Scene, verbs: &str) {
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

async fn patch_is_needed_to_apply(s: &mut Scene) {
    s.create_as("somebody", "data: {key: one}").await;
    let forbidden = r#"User "jane" cannot patch resource "configmaps""#;
    s.apply_as("kubectl", "data: {own: '1'}").by_user("jane").is_refused(403, forbidden).await;
    allow(s, "[update, create, get]").await;
    s.apply_as("kubectl", "data: {own: '1'}").by_user("jane").is_refused(403, forbidden).await;
    allow(s, "[patch]").await;
    s.apply_as("kubectl", "data: {own: '1'}").by_user("jane").await;
    s.expect_owner(".data.own", "kubectl (Apply)");
}

async fn create_is_needed_to_create(s: &mut Scene) {
    allow(s, "[patch]").await;
    let forbidden = r#"User "jane" cannot create resource "configmaps""#;
    s.apply_as("kubectl", "data: {own: '1'}").by_user("jane").is_refused(403, forbidden).await;
    allow(s, "[patch, create]").await;
    s.apply_as("kubectl", "data: {own: '1'}").by_user("jane").creates().await;
}
