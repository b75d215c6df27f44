//! Results of patches, compared with those of the Go libraries in `cases.json`.

use serde_json::{Value, json};

use super::{PatchError, PatchSchema, json_patch, merge_patch, strategic, unknown_members};

fn cases() -> Value {
    serde_json::from_str(include_str!("cases.json")).unwrap()
}

/// Applies all patches of a type, and returns the results that differ from Go's.
fn check(sort: &str, apply: impl Fn(Value, &mut Value) -> Result<Value, PatchError>) {
    let cases = cases();
    for case in cases[sort].as_array().unwrap() {
        let live = case.get("live").unwrap_or(&cases["live"][sort]);
        let made = apply(live.clone(), &mut case["patch"].clone()).map_err(|error| match error {
            PatchError::Unprocessable(error) => error,
            other => other.to_string(),
        });
        let expected = match case.get("error") {
            Some(error) => Err(error.as_str().unwrap().to_owned()),
            None => Ok(case["want"].clone()),
        };
        assert_eq!(made, expected, "{}", case["about"]);
    }
}

#[test]
fn a_json_patch_changes_what_go_changes() {
    check("json", |live, patch| json_patch(live, patch));
}

#[test]
fn a_merge_patch_changes_what_go_changes() {
    check("merge", |live, patch| merge_patch(live, patch));
}

#[test]
fn a_strategic_merge_patch_changes_what_go_changes() {
    let schema = pods();
    check("strategic", |live, patch| strategic(&schema, "io.k8s.api.core.v1.Pod", live, patch));
}

#[test]
fn a_patch_of_the_wrong_type_is_a_bad_request() {
    let bad = |message: &str| Err(PatchError::BadRequest(message.to_owned()));
    for (patch, message) in [
        (
            json!({}),
            "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp",
        ),
        (
            json!([1]),
            "error decoding patch: json: cannot unmarshal number into Go value of type handlers.jsonPatchOp",
        ),
        (
            json!([{"op": "add", "path": 1}]),
            "error decoding patch: json: cannot unmarshal number into Go struct field jsonPatchOp.path of type string",
        ),
    ] {
        assert_eq!(json_patch(json!({}), &patch), bad(message));
    }
    assert_eq!(merge_patch(json!({}), &Value::Null), bad("Invalid JSON Patch"));
    let message = "json: cannot unmarshal array into Go value of type map[string]interface {}";
    assert_eq!(merge_patch(json!({}), &json!([])), bad(&format!("error decoding patch: {message}")));
    assert_eq!(strategic(&pods(), "Pod", json!({}), &mut json!([])), bad(message));
}

#[test]
fn an_error_carries_what_its_response_needs() {
    let patch = Value::Array(vec![json!({"op": "test", "path": ""}); 10_001]);
    let error = json_patch(json!({}), &patch).unwrap_err();
    let message =
        "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001";
    assert_eq!((error.code(), error.reason()), (413, "RequestEntityTooLarge"));
    assert_eq!(error.to_string(), message);
    let error = json_patch(json!({}), &json!([{"op": "remove", "path": "/a"}])).unwrap_err();
    assert_eq!((error.code(), error.reason()), (422, "Invalid"));
    assert_eq!(error.to_string(), "the server rejected our request due to an error in our request");
}

#[test]
fn a_member_that_no_operation_has_is_warned_of() {
    let patch = json!([{"op": "test", "path": ""}, {"op": "test", "vale": 1}]);
    assert_eq!(unknown_members(&patch), [r#"json patch unknown field "[1].vale""#]);
}

#[test]
fn what_is_printed_of_a_patch_is_what_has_not_been_followed() {
    let mut patch = json!({"spec": {"$setElementOrder/containers": [{"name": "a"}], "containers": [{"name": "a"}], "x": [1, null]}});
    strategic(&pods(), "io.k8s.api.core.v1.Pod", json!({"spec": {}}), &mut patch).unwrap();
    assert_eq!(super::go::go_printed(&patch), "map[spec:map[x:[1 <nil>]]]");
}

#[test]
fn a_patch_may_be_deeper_than_any_object() {
    let deep = || (0..4 * baton_merge::value::MAX_DEPTH).fold(json!(1), |inner, _| json!({ "a": inner }));
    let live = json!({"spec": {}});
    let mut patch = json!({"spec": {"deep": deep()}});
    assert!(merge_patch(live.clone(), &patch).is_ok());
    assert!(merge_patch(patch.clone(), &patch).is_ok());
    assert!(strategic(&pods(), "io.k8s.api.core.v1.Pod", live, &mut patch).is_ok());
}

#[test]
fn a_json_patch_adds_no_more_by_copies_than_the_server_allows() {
    let double = json!({"op": "copy", "from": "/list", "path": "/list/-"});
    let error = json_patch(json!({"list": [1]}), &json!(vec![double; 40])).unwrap_err();
    let PatchError::Unprocessable(message) = error else { panic!("{error:?}") };
    assert!(message.starts_with("Unable to complete the copy, the accumulated size increase"), "{message}");
}

#[test]
fn a_json_patch_whose_moves_nest_too_deep_is_refused() {
    let mut patch = vec![json!({"op": "add", "path": "/x", "value": {}})];
    for _ in 0..3000 {
        patch.push(json!({"op": "move", "from": "/x", "path": "/y"}));
        patch.push(json!({"op": "add", "path": "/x", "value": {}}));
        patch.push(json!({"op": "move", "from": "/y", "path": "/x/a"}));
    }
    assert!(matches!(json_patch(json!({}), &json!(patch)), Err(PatchError::Unprocessable(_))));
    patch.push(json!({"op": "copy", "from": "/x", "path": "/y"}));
    assert!(matches!(json_patch(json!({}), &json!(patch)), Err(PatchError::Unprocessable(_))));
}

/// The part of a document that the cases need.
fn pods() -> PatchSchema {
    let reference =
        |name: &str| json!({"allOf": [{"$ref": format!("#/components/schemas/io.k8s.api.core.v1.{name}")}]});
    let list = |items: Value, key: Option<&str>, strategy: &str| {
        let mut list = json!({"type": "array", "items": items, "x-kubernetes-patch-strategy": strategy});
        if let Some(key) = key {
            list["x-kubernetes-patch-merge-key"] = json!(key);
        }
        list
    };
    let texts = json!({"type": "object", "additionalProperties": {"type": "string"}});
    let text = json!({"type": "string"});
    PatchSchema::of(&json!({"components": {"schemas": {
        "io.k8s.api.core.v1.Pod": {"properties": {"metadata": reference("ObjectMeta"), "spec": reference("PodSpec")}},
        "io.k8s.api.core.v1.ObjectMeta": {"properties": {"labels": texts, "finalizers": list(text.clone(), None, "merge")}},
        "io.k8s.api.core.v1.PodSpec": {"properties": {
            "containers": list(reference("Container"), Some("name"), "merge"),
            "initContainers": list(reference("Container"), Some("name"), "merge"),
            "volumes": list(reference("Volume"), Some("name"), "merge,retainKeys"),
            "tolerations": {"type": "array", "items": reference("Toleration")},
        }},
        "io.k8s.api.core.v1.Container": {"properties": {
            "ports": list(reference("ContainerPort"), Some("containerPort"), "merge"),
            "env": list(reference("EnvVar"), Some("name"), "merge"),
            "args": {"type": "array", "items": text},
        }},
    }}}))
}
