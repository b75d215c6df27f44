//! Validation of metadata.

use super::*;

#[test]
fn metadata_has_a_name_sound_labels_and_one_controller() {
    let owner =
        |name: &str| json!({"apiVersion": "v1", "kind": "Pod", "name": name, "uid": "1", "controller": true});
    let object = json!({"metadata": {
        "name": "Web",
        "namespace": "default",
        "labels": {"app": "a b"},
        "annotations": {"-": ""},
        "finalizers": ["mine"],
        "ownerReferences": [owner("a"), owner("b")],
    }});
    let subdomain = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must \
                     start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
                     '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
    let label = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start \
                 and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for \
                 validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
    let key = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric \
               character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
               '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
    let shown =
        |name| format!(r#"{{"apiVersion":"v1","kind":"Pod","name":"{name}","uid":"1","controller":true}}"#);
    assert_eq!(
        new_problems(&gvk("", "v1", "ConfigMap"), &object),
        [
            format!("metadata.name: Invalid value: \"Web\": {subdomain} (Invalid)"),
            format!("metadata.labels: Invalid value: \"a b\": {label} (Invalid)"),
            format!("metadata.annotations: Invalid value: \"-\": {key} (Invalid)"),
            format!(
                "metadata.ownerReferences: Invalid value: [{},{}]: Only one reference can have Controller set to true. \
                 Found \"true\" in references for Pod/a and Pod/b (Invalid)",
                shown("a"),
                shown("b")
            ),
            "metadata.finalizers[0]: Invalid value: \"mine\": name is neither a standard finalizer name nor is it fully \
             qualified (Invalid)"
                .to_owned(),
        ]
    );
}

#[test]
fn metadata_of_custom_resources_cannot_change_what_makes_up_their_identity() {
    let arena = Arena::new();
    let object = |json: Json| Value::from_text(&arena, arena.copy_text(&json.to_string())).unwrap();
    let old = json!({"metadata": {
        "name": "a", "namespace": "n", "uid": "1", "resourceVersion": "1",
        "deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["x.io/y"],
    }});
    let new = with(with(old.clone(), "/metadata/uid", json!("2")), "/metadata/finalizers", json!(["x.io/z"]));
    let errors = validate_metadata(object(new), Some(object(old)), NameRule::Subdomain, true);
    let errors: Vec<_> = errors.iter().map(ToString::to_string).collect();
    let once = [
        "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers \
         []string{\"x.io/z\"}",
        "metadata.uid: Invalid value: \"2\": field is immutable",
    ];
    assert_eq!(errors, [once, once].concat(), "the server inputs at them twice");
}
