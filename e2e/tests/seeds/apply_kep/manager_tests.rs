//! The unit tests of the plan: how managers are stored.

use baton_e2e::{
    scenario::{Crd, Subject, builtin},
    scenario_list,
};
use baton_testbed::Json;

use super::WEB;

scenario_list! {
    identity_fields_have_no_owner, managed_fields_round_trip,
    managers_of_any_name_are_distinguished, managers_are_sorted, conflicts_are_readable, field_sets_round_trip,
    broken_managed_fields_are_caught, path_elements_round_trip, unknown_qualifiers_are_ignored,
    wrong_values_of_qualifiers_are_caught, built_in_and_custom_objects_become_typed,
    objects_are_converted_between_versions,
}

async fn identity_fields_have_no_owner(s: &mut Subject) {
    let namespace = s.namespace().to_owned();
    s.apply_as("alice", &format!("metadata: {{namespace: {namespace}, labels: {{a: b}}}}\ndata: {{c: d}}"))
        .await;
    s.expect_fields("alice (Apply)", &[".metadata.labels.a", ".data.c"]);
    let (uid, version) =
        (s.at(".metadata.uid").unwrap().clone(), s.at(".metadata.resourceVersion").unwrap().clone());
    s.apply_as(
        "bob",
        &format!(
            "metadata: {{uid: {uid}, resourceVersion: {version}, creationTimestamp: null, labels: {{e: f}}}}"
        ),
    )
    .await;
    s.expect_fields("bob (Apply)", &[".metadata.labels.e"]);
    s.named("created").await;
    s.create_as("carol", &format!("metadata: {{namespace: {namespace}, labels: {{a: b}}}}")).await;
    s.expect_fields("carol (Update)", &[".metadata.labels", ".metadata.labels.a"]);
}

async fn managed_fields_round_trip(s: &mut Subject) {
    s.of(builtin::DEPLOYMENT).await;
    s.apply_as("alice", &WEB.replace("spec: {sel", "spec: {replicas: 1, sel")).await;
    s.scale_as("scaler", 3).await;
    s.status_as("controller", "status: {replicas: 3}").await;
    s.update_as("console", "{}").changes_nothing().await;
    s.expect_managers(&["alice (Apply)", "scaler (Update scale)", "controller (Update status)"]);
    let entries = s.at(".metadata.managedFields").unwrap().clone();
    let patch = Json::object().with("metadata", Json::object().with("managedFields", entries));
    s.merge_patch_as("console", &patch.to_string()).changes_nothing().await;
}

async fn managers_of_any_name_are_distinguished(s: &mut Subject) {
    let names = ["a \"quoted\" name", "a\\b", "{\"manager\":\"x\"}", "ünïcödé 管理", "a name", "a/b:c@d"];
    let longest = "m".repeat(128);
    for (i, name) in names.iter().copied().chain([longest.as_str()]).enumerate() {
        s.apply_as(name, &format!("data: {{key{i}: x}}")).await;
        s.expect_owner(&format!(".data.key{i}"), &format!("{name} (Apply)"));
    }
    assert_eq!(s.managers().len(), 7);
    let too_long = "m".repeat(129);
    s.apply_as(too_long.as_str(), "data: {other: x}").is_refused(422, "may not be more than 128 bytes").await;
    s.apply_as("a\ttab", "data: {other: x}").is_refused(422, "invalid character U+0009").await;
    s.apply_as(names[0], "data: {key0: x, key1: z}").conflicts_with(names[1], ".data.key1").await;
}

async fn managers_are_sorted(s: &mut Subject) {
    s.create_as("z", "data: {z: x}").await;
    s.next_second().await;
    s.update_as("b", "data: {b: x}").await;
    s.next_second().await;
    s.apply_as("y", "data: {q: x}").await;
    s.next_second().await;
    s.apply_as("a", "data: {a: x}").await;
    s.expect_managers_in_order(&["y (Apply)", "a (Apply)", "z (Update)", "b (Update)"]);

    // Entries of the same time are sorted by name, then by version, then by subresource.
    s.of(builtin::AUTOSCALER).await;
    s.apply_as(
        "y",
        "spec: {maxReplicas: 3, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: none}}",
    )
    .await;
    let entry = |manager: &str, operation: &str, time: u8, more: &str| {
        format!(
            "{{manager: {manager}, operation: {operation}, time: '2026-01-02T03:04:0{time}Z', fieldsType: FieldsV1, \
             fieldsV1: {{'f:spec': {{'f:maxReplicas': {{}}}}}}, apiVersion: autoscaling/{more}}}"
        )
    };
    let shuffled = [
        entry("c", "Update", 1, "v1, subresource: status"),
        entry("c", "Update", 1, "v2"),
        entry("c", "Update", 1, "v1"),
        entry("b", "Update", 1, "v2"),
        entry("a", "Update", 2, "v1"),
        entry("z", "Apply", 5, "v2"),
    ];
    s.merge_patch_as("console", &format!("metadata: {{managedFields: [{}]}}", shuffled.join(", "))).await;
    s.expect_managers_in_order(&[
        "z (Apply)",
        "b (Update)",
        "c (Update)",
        "c (Update status)",
        "c (Update)",
        "a (Update)",
    ]);
    s.expect(".metadata.managedFields[2].apiVersion", "autoscaling/v1");
    s.expect(".metadata.managedFields[4].apiVersion", "autoscaling/v2");
}

async fn conflicts_are_readable(s: &mut Subject) {
    s.apply_as("alice", "data: {a: '1', b: '1'}").await;
    let response = s.apply_as("bob", "data: {a: '2'}").conflicts_with("alice", ".data.a").await;
    let text = |path: &str| response.at(path).and_then(Json::as_str).unwrap_or_default().to_owned();
    assert_eq!((text(".kind").as_str(), text(".reason").as_str()), ("Status", "Conflict"));
    assert_eq!(text(".message"), r#"Apply failed with 1 conflict: conflict with "alice": .data.a"#);
    assert_eq!(text(".details.causes[0].reason"), "FieldManagerConflict");
    assert_eq!(text(".details.causes[0].message"), r#"conflict with "alice""#);
    assert_eq!(text(".details.causes[0].field"), ".data.a");

    s.update_as("console", "data: {c: '1'}").await;
    let response = s
        .apply_as("bob", "data: {a: '2', b: '2', c: '2'}")
        .conflicts_with("alice", ".data.a")
        .conflicts_with("alice", ".data.b")
        .conflicts_with("console", ".data.c")
        .await;
    let message = response.at(".message").and_then(Json::as_str).unwrap_or_default();
    assert!(message.starts_with("Apply failed with 3 conflicts:"), "{message}");
    assert!(message.contains("conflicts with \"alice\":\n- .data.a\n- .data.b"), "{message}");
    assert!(message.contains("conflicts with \"console\" using v1"), "{message}");
}

const SHAPE: &str = "spec:
  type: object
  properties:
    tags: {type: array, x-kubernetes-list-type: set, items: {type: string}}
    numbers: {type: array, x-kubernetes-list-type: set, items: {type: integer}}
    names: {type: array, items: {type: string}}
    parts:
      type: array
      x-kubernetes-list-type: map
      x-kubernetes-list-map-keys: [name, size]
      items:
        type: object
        required: [name, size]
        properties: {name: {type: string}, size: {type: integer}, open: {type: boolean}}";

async fn field_sets_round_trip(s: &mut Subject) {
    s.define(Crd::new("KepSetsRound", SHAPE)).await;
    s.apply_as(
        "alice",
        "spec: {tags: [a, 'b \"c\"'], numbers: [1], names: [p], parts: [{name: one, size: 1, open: true}]}",
    )
    .await;
    let fields = s.at(".metadata.managedFields[0].fieldsV1").unwrap().to_string();
    // Written by hand for another manager, they are read back unchanged.
    let entry = format!(
        "{{manager: copy, operation: Update, apiVersion: example.com/v1, time: '2026-01-02T03:04:05Z', \
         fieldsType: FieldsV1, fieldsV1: {fields}}}"
    );
    s.json_patch_as("console", &format!("[{{op: add, path: /metadata/managedFields/-, value: {entry}}}]"))
        .await;
    s.expect_managers(&["alice (Apply)", "copy (Update)"]);
    assert_eq!(s.at(".metadata.managedFields[1].fieldsV1").unwrap().to_string(), fields);
    s.apply_as("bob", "spec: {numbers: [2]}").await;
    assert_eq!(s.at(".metadata.managedFields[2].fieldsV1").unwrap().to_string(), fields);
}

/// A list of managers with one entry, which owns these fields.
fn managed(fields: &str) -> String {
    format!(
        "metadata: {{managedFields: [{{manager: hand, operation: Update, apiVersion: v1, time: '2026-01-02T03:04:05Z', \
         fieldsType: FieldsV1, fieldsV1: {fields}}}]}}"
    )
}

async fn broken_managed_fields_are_caught(s: &mut Subject) {
    s.apply_as("alice", "data: {a: '1'}").await;
    for fields in ["[]", "text", "{'f:data': 1}", "{'f:data': {'f:a': [1]}}", "{'nothing': {}}"] {
        s.merge_patch_as("console", &managed(fields)).changes_nothing().await;
    }
    // So are unknown operations and types of fields.
    for (right, wrong) in [("operation: Update", "operation: Destroy"), ("FieldsV1,", "FieldsV9,")] {
        s.merge_patch_as("console", &managed("{'f:data': {'f:a': {}}}").replace(right, wrong))
            .changes_nothing()
            .await;
    }
    s.expect_managers(&["alice (Apply)"]);
    s.apply_as("bob", &format!("{}\ndata: {{b: '1'}}", managed("{}")))
        .is_refused(400, "metadata.managedFields must be nil")
        .await;
}

async fn path_elements_round_trip(s: &mut Subject) {
    s.define(Crd::new("KepElements", SHAPE)).await;
    s.apply_as(
        "alice",
        "spec: {tags: [a, 'b \"c\"'], numbers: [1, 10], names: [p, m], parts: [{name: one, size: 1}]}",
    )
    .await;
    let fields = "{\"f:spec\":{\"f:names\":{},\"f:numbers\":{\"v:1\":{},\"v:10\":{}},\
        \"f:parts\":{\"k:{\\\"name\\\":\\\"one\\\",\\\"size\\\":1}\":{\".\":{},\"f:name\":{}}},\
        \"f:tags\":{\".\":{},\"v:\\\"a\\\"\":{},\"v:\\\"b \\\\\\\"c\\\\\\\"\\\"\":{}}}}";
    s.merge_patch_as("console", &managed(fields).replace("v1,", "example.com/v1,")).await;
    assert_eq!(s.at(".metadata.managedFields[0].fieldsV1").unwrap().to_string(), fields);
    s.expect_fields(
        "hand (Update)",
        &[
            ".spec.names",
            ".spec.numbers[=1]",
            ".spec.numbers[=10]",
            r#".spec.parts[name="one",size=1]"#,
            r#".spec.parts[name="one",size=1].name"#,
            ".spec.tags",
            r#".spec.tags[="a"]"#,
            r#".spec.tags[="b \"c\""]"#,
        ],
    );
    // Only a list without a schema can have an index.
    s.define(Crd::schemaless("KepIndexes")).await;
    s.apply_as("alice", "spec: {names: [p, m]}").await;
    let fields = "{\"f:spec\":{\"f:names\":{\"i:0\":{},\"i:1\":{\"f:a\":{}}}}}";
    s.merge_patch_as("console", &managed(fields).replace("v1,", "example.com/v1,")).await;
    assert_eq!(s.at(".metadata.managedFields[0].fieldsV1").unwrap().to_string(), fields);
    s.expect_fields("hand (Update)", &[".spec.names[0]", ".spec.names[1].a"]);
}

async fn unknown_qualifiers_are_ignored(s: &mut Subject) {
    s.apply_as("alice", "data: {a: '1', b: '1'}").await;
    s.merge_patch_as(
        "console",
        &managed("{'f:data': {'f:a': {}, 'x:b': {}, 'z:': {'f:c': {}}}, 'q:spec': {}}"),
    )
    .await;
    s.expect_managers(&["hand (Update)"]);
    s.expect_fields("hand (Update)", &[".data.a"]);
}

async fn wrong_values_of_qualifiers_are_caught(s: &mut Subject) {
    s.apply_as("alice", "data: {a: '1'}").await;
    for element in ["k:not JSON", "k:[]", "v:not JSON", "i:x", "i:1.5", "fdata", ""] {
        let fields = format!("{{'f:data': {{'f:a': {{}}, '{element}': {{}}}}}}");
        s.merge_patch_as("console", &managed(&fields)).changes_nothing().await;
    }
    s.expect_fields("alice (Apply)", &[".data.a"]);
}

async fn built_in_and_custom_objects_become_typed(s: &mut Subject) {
    s.define(Crd::new("KepBoth", SHAPE)).await;
    s.apply_as("alice", "spec: {parts: [{name: one, size: 1}]}").await;
    s.expect_owner(r#".spec.parts[name="one",size=1]"#, "alice (Apply)");
    s.apply_as("alice", "spec: {parts: [{name: one, size: 1, of: x}]}")
        .is_refused(500, ".of: field not declared")
        .await;
    s.of(builtin::SERVICE).await;
    s.apply_as("alice", "spec: {ports: [{port: 80}]}").await;
    s.expect_owner(r#".spec.ports[port=80,protocol="TCP"]"#, "alice (Apply)");
    s.apply_as("alice", "spec: {ports: [{port: 80, of: x}]}")
        .is_refused(500, ".of: field not declared")
        .await;
}

async fn objects_are_converted_between_versions(s: &mut Subject) {
    let target = "scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: nothing}";
    s.of(builtin::AUTOSCALER_V1).await;
    s.apply_as("alice", &format!("spec: {{minReplicas: 2, maxReplicas: 3, {target}}}")).await;
    s.of(builtin::AUTOSCALER).await;
    s.apply_as("bob", "spec: {maxReplicas: 4}").conflicts_with("alice", ".spec.maxReplicas").await;
    s.apply_as("bob", "spec: {minReplicas: 2}").await;
    s.expect_owners(".spec.minReplicas", &["bob (Apply)", "alice (Apply)"]);
    s.expect(".metadata.managedFields[0].apiVersion", "autoscaling/v2");

    let shape = "spec: {type: object, properties: {a: {type: integer}}}";
    s.define(Crd::new("KepConverted", shape).version("v2", shape)).await;
    s.apply_as("alice", "spec: {a: 1}").await;
    s.of(("KepConverted", "v2")).await;
    s.expect(".apiVersion", "example.com/v2");
    s.apply_as("bob", "spec: {a: 2}").conflicts_with("alice", ".spec.a").await;
    s.apply_as("alice", "spec: {a: 2}").await;
    s.expect(".metadata.managedFields[0].apiVersion", "example.com/v2");
}
