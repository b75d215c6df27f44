//! The place and the format of ownership.

use baton_e2e::{scenario::Subject, scenario_list};
use baton_testbed::Json;

use crate::LAST_APPLIED;

use super::{IMAGE, nginx, of_nginx};

scenario_list! {
    a_tree_of_fields, an_index_of_a_list_written_by_hand, an_index_of_an_atomic_list_written_by_hand;
    only real, because "of kubectl":
    an_existing_annotation_stays_up_to_date, kubectl_applies_as_another_manager;
}

async fn an_existing_annotation_stays_up_to_date(s: &mut Subject) {
    of_nginx(s).await;
    s.kubectl("apply -f -").reading(&nginx("nginx")).await;
    // The intent, the annotation, the move of client-side apply's fields, and the intent again.
    s.kubectl("apply --server-side -f -").reading(&nginx("nginx:1.15")).sends(&["patch"; 4]).await;
    s.expect_owner(LAST_APPLIED, "kubectl-last-applied (Apply)");
    assert!(s.text(LAST_APPLIED).contains("nginx:1.15"), "{}", s.text(LAST_APPLIED));
    s.expect_managers(&["kubectl-last-applied (Apply)", "kubectl (Apply)"]);
    s.kubectl("apply --server-side -f -").reading(&nginx("nginx:1.16")).sends(&["patch"]).await;
    // This time the server updated it.
    assert!(s.text(LAST_APPLIED).contains("nginx:1.16"), "{}", s.text(LAST_APPLIED));
    s.expect(IMAGE, "nginx:1.16");
}

async fn kubectl_applies_as_another_manager(s: &mut Subject) {
    let apply = "apply --server-side --field-manager=my-controller -f -";
    s.kubectl(apply).reading("data: {key: value}").await;
    s.expect_managers(&["my-controller (Apply)"]);
    // So an apply of the user's doesn't remove its fields.
    s.kubectl("apply --server-side -f -").reading("data: {other: value}").await;
    s.expect(".data", "{key: value, other: value}");
    s.expect_owner(".data.key", "my-controller (Apply)");
}

async fn a_tree_of_fields(s: &mut Subject) {
    of_nginx(s).await;
    s.apply_as("kubectl", &nginx("nginx")).await;
    let container = r#"'k:{"name":"nginx"}': {.: {}, f:image: {}, f:name: {}}"#;
    let template =
        format!("{{f:metadata: {{f:labels: {{f:app: {{}}}}}}, f:spec: {{f:containers: {{{container}}}}}}}");
    let tree = format!("{{f:spec: {{f:selector: {{}}, f:template: {template}}}}}");
    s.expect(".metadata.managedFields[0].fieldsV1", &tree);
    s.expect_fields(
        "kubectl (Apply)",
        &[
            ".spec.selector",
            ".spec.template.metadata.labels.app",
            r#".spec.template.spec.containers[name="nginx"]"#,
            IMAGE,
            r#".spec.template.spec.containers[name="nginx"].name"#,
        ],
    );
}

/// A patch that adds an update of `indexed` with these fields to the live object's managers.
fn with_entry(s: &Subject, api_version: &str, fields: &str) -> String {
    let entry: Json = format!(
        r#"{{"manager":"indexed","operation":"Update","apiVersion":"{api_version}","time":"2026-01-02T03:04:05Z","fieldsType":"FieldsV1","fieldsV1":{fields}}}"#
    )
    .parse()
    .unwrap();
    let mut entries = s.at(".metadata.managedFields").unwrap().items().to_vec();
    entries.push(entry);
    let list = Json::List(entries);
    format!(r#"[{{"op":"replace","path":"/metadata/managedFields","value":{list}}}]"#)
}

async fn an_index_of_a_list_written_by_hand(s: &mut Subject) {
    s.apply_as("kubectl", "metadata: {finalizers: [example.com/mine]}").await;
    let fields = r#"{"f:metadata":{"f:finalizers":{"i:0":{}}}}"#;
    let patch = with_entry(s, "v1", fields);
    s.json_patch_as("hand", &patch).await;
    s.expect(".metadata.managedFields[1].fieldsV1", "{f:metadata: {f:finalizers: {i:0: {}}}}");
    s.expect_owner(".metadata.finalizers[0]", "indexed (Update)");
    // The index stays when the list changes.
    s.apply_as("kubectl", "metadata: {finalizers: [example.com/new]}").await;
    s.expect_owner(".metadata.finalizers[0]", "indexed (Update)");
}

async fn an_index_of_an_atomic_list_written_by_hand(s: &mut Subject) {
    of_nginx(s).await;
    s.apply_as("kubectl", &nginx("nginx")).await;
    let fields = r#"{"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"nginx\"}":{"f:args":{"i:0":{}}}}}}}}"#;
    let patch = with_entry(s, "apps/v1", fields);
    s.json_patch_as("hand", &patch).await;
    s.expect_fields("indexed (Update)", &[r#".spec.template.spec.containers[name="nginx"].args"#]);
}
