//! Where server-side apply keeps who manages what, and how that is spelled.

use baton_e2e::{plays, scenario::Scene};
use baton_testbed::Json;

use crate::LAST_APPLIED;

use super::{IMAGE, nginx, of_nginx};

plays! {
    managed_fields_instead_of_an_annotation, an_annotation_that_is_there_is_kept,
    an_entry_says_who_how_and_when, kubectl_applies_as_somebody_else, several_managers_have_an_entry_each,
    who_manages_a_field_is_told_when_another_wants_it, a_tree_of_fields, a_value_in_a_list_of_scalars,
    a_place_in_a_list_by_hand, a_place_in_an_atomic_list_by_hand,
}

async fn managed_fields_instead_of_an_annotation(s: &mut Scene) {
    of_nginx(s).await;
    s.kubectl("apply --server-side -f -").reading(&nginx("nginx")).await;
    s.expect_absent(".metadata.annotations");
    s.expect_managers(&["kubectl (Apply)"]);
    let shown = s.kubectl("apply view-last-applied deployment/nginx").await;
    assert_eq!(shown.stdout, "");
}

async fn an_annotation_that_is_there_is_kept(s: &mut Scene) {
    of_nginx(s).await;
    s.kubectl("apply -f -").reading(&nginx("nginx")).await;
    // The intent, the annotation, the move of what was owned by client-side apply, and the intent again.
    s.kubectl("apply --server-side -f -").reading(&nginx("nginx:1.15")).asks(&["patch"; 4]).await;
    s.expect_owner(LAST_APPLIED, "kubectl-last-applied (Apply)");
    assert!(s.text(LAST_APPLIED).contains("nginx:1.15"), "{}", s.text(LAST_APPLIED));
    s.expect_managers(&["kubectl-last-applied (Apply)", "kubectl (Apply)"]);
    s.kubectl("apply --server-side -f -").reading(&nginx("nginx:1.16")).asks(&["patch"]).await;
    // This time the server has seen to it.
    assert!(s.text(LAST_APPLIED).contains("nginx:1.16"), "{}", s.text(LAST_APPLIED));
    s.expect(IMAGE, "nginx:1.16");
}

async fn an_entry_says_who_how_and_when(s: &mut Scene) {
    s.apply_as("kubectl", "data: {applied: '1'}").await;
    s.update_as("kube-controller-manager", "data: {updated: '1'}").await;
    for (entry, operation, field, manager) in [
        (0, "Apply", "{f:data: {f:applied: {}}}", "kubectl"),
        (1, "Update", "{f:data: {f:updated: {}}}", "kube-controller-manager"),
    ] {
        let at = |member| format!(".metadata.managedFields[{entry}].{member}");
        s.expect(&at("manager"), manager);
        s.expect(&at("operation"), operation);
        s.expect(&at("apiVersion"), "v1");
        s.expect(&at("fieldsType"), "FieldsV1");
        s.expect(&at("fieldsV1"), field);
        s.expect_absent(&at("fields"));
        let time: jiff::Timestamp = s.text(&at("time")).parse().unwrap();
        let age = jiff::Timestamp::now().duration_since(time);
        assert!(age < jiff::SignedDuration::from_mins(1), "{age}");
    }
}

async fn kubectl_applies_as_somebody_else(s: &mut Scene) {
    let apply = "apply --server-side --field-manager=my-controller -f -";
    s.kubectl(apply).reading("data: {key: value}").await;
    s.expect_managers(&["my-controller (Apply)"]);
    // So its part isn't taken for one of the user's own.
    s.kubectl("apply --server-side -f -").reading("data: {other: value}").await;
    s.expect(".data", "{key: value, other: value}");
    s.expect_owner(".data.key", "my-controller (Apply)");
}

async fn several_managers_have_an_entry_each(s: &mut Scene) {
    of_nginx(s).await;
    s.apply_as("kubectl", &nginx("nginx")).await;
    s.next_second().await;
    let revision = "metadata: {annotations: {deployment.kubernetes.io/revision: '1'}}";
    s.merge_patch_as("kube-controller-manager", revision).await;
    s.status_as("kube-controller-manager", "status: {observedGeneration: 1}").await;
    s.next_second().await;
    s.kubectl("set image deployment nginx nginx=nginx:1.15").await;
    s.expect_managers(&[
        "kubectl (Apply)",
        "kube-controller-manager (Update)",
        "kube-controller-manager (Update status)",
        "kubectl-set (Update)",
    ]);
}

async fn who_manages_a_field_is_told_when_another_wants_it(s: &mut Scene) {
    s.apply_as("alice", "data: {key: alices}").await;
    s.apply_as("bob", "data: {key: bobs}").conflicts_with("alice", ".data.key").await;
    s.update_as("kubectl-edit", "data: {key: edited}").await;
    s.apply_as("alice", "data: {key: alices}").conflicts_with("kubectl-edit", ".data.key").await;
    s.expect(".data.key", "edited");
}

async fn a_tree_of_fields(s: &mut Scene) {
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

async fn a_value_in_a_list_of_scalars(s: &mut Scene) {
    s.apply_as("kubectl", "metadata: {finalizers: [example.com/mine]}").await;
    let tree = r#"{f:metadata: {f:finalizers: {'v:"example.com/mine"': {}}}}"#;
    s.expect(".metadata.managedFields[0].fieldsV1", tree);
    s.apply_as("other", "metadata: {finalizers: [example.com/theirs]}").await;
    s.expect(".metadata.finalizers", "[example.com/mine, example.com/theirs]");
    s.expect_owner(r#".metadata.finalizers[="example.com/theirs"]"#, "other (Apply)");
}

/// A patch that adds an update of `indexed` with these fields to the live object's managers.
fn with_entry(s: &Scene, api_version: &str, fields: &str) -> String {
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

async fn a_place_in_a_list_by_hand(s: &mut Scene) {
    s.apply_as("kubectl", "metadata: {finalizers: [example.com/mine]}").await;
    let fields = r#"{"f:metadata":{"f:finalizers":{"i:0":{}}}}"#;
    let patch = with_entry(s, "v1", fields);
    s.json_patch_as("hand", &patch).await;
    s.expect(".metadata.managedFields[1].fieldsV1", "{f:metadata: {f:finalizers: {i:0: {}}}}");
    s.expect_owner(".metadata.finalizers[0]", "indexed (Update)");
    // It stays there, whatever becomes of the list.
    s.apply_as("kubectl", "metadata: {finalizers: [example.com/new]}").await;
    s.expect_owner(".metadata.finalizers[0]", "indexed (Update)");
}

async fn a_place_in_an_atomic_list_by_hand(s: &mut Scene) {
    of_nginx(s).await;
    s.apply_as("kubectl", &nginx("nginx")).await;
    let fields = r#"{"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"nginx\"}":{"f:args":{"i:0":{}}}}}}}}"#;
    let patch = with_entry(s, "apps/v1", fields);
    s.json_patch_as("hand", &patch).await;
    s.expect_fields("indexed (Update)", &[r#".spec.template.spec.containers[name="nginx"].args"#]);
}
