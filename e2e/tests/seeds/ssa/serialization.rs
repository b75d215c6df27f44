//! The formats of an intent.

use baton_e2e::{scenario::Subject, scenario_list};

scenario_list! {
    yaml_and_json_mean_the_same, another_media_type_is_no_apply, escapes_of_json,
    an_empty_intent_changes_nothing,
}

async fn yaml_and_json_mean_the_same(s: &mut Subject) {
    let yaml =
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: example\ndata:\n  key: some value # a comment\n";
    s.apply_as("kubectl", "data: {key: some value}").spelled(yaml).creates().await;
    let json =
        r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"example"},"data":{"key":"some value"}}"#;
    s.apply_as("kubectl", "data: {key: some value}").spelled(json).changes_nothing().await;
    s.expect_owner(".data.key", "kubectl (Apply)");
}

async fn another_media_type_is_no_apply(s: &mut Subject) {
    s.apply_as("kubectl", "data: {key: some value}")
        .with_header("content-type", "application/json")
        .is_refused(415, "Unsupported Media Type")
        .await;
}

async fn escapes_of_json(s: &mut Subject) {
    let body = |value: &str| {
        format!(
            r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"example"}},"data":{{"key":"{value}"}}}}"#
        )
    };
    s.apply_as("kubectl", r#"data: {key: "a\tbé"}"#).spelled(&body(r"a\tb\u00e9")).await;
    s.expect(".data.key", r#""a\tbé""#);
    // In JSON a surrogate pair is one character; in YAML it is two invalid ones.
    s.apply_as("kubectl", r#"data: {key: "😀"}"#).spelled(&body(r"\ud83d\ude00")).is_refused(400, "").await;
}

async fn an_empty_intent_changes_nothing(s: &mut Subject) {
    s.create_as("editor", "data: {key: some value}").await;
    s.apply_as("kubectl", "{}").spelled(r#"{"apiVersion":"v1","kind":"ConfigMap"}"#).changes_nothing().await;
    s.expect_managers(&["editor (Update)"]);
}
