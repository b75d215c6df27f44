//! Lines of the driver protocol: every line gets a response, and every response is a JSON object.

use std::{cell::RefCell, env, path::Path, sync::LazyLock};

use baton_merge_driver::Session;
use serde_json::{Value, json};

use super::{choices::Choices, json_trees::mutate};

/// The requests of the corpus. Their paths are relative to the workspace, which becomes the current folder.
static REQUESTS: LazyLock<Vec<Value>> = LazyLock::new(|| {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .find(|folder| folder.join("merge/tests/corpus").is_dir());
    env::set_current_dir(root.expect("the crate is in the workspace's folder")).expect("the folder is there");
    let corpus = [
        include_str!("../../../../tests/corpus/server.jsonl"),
        include_str!("../../../../tests/corpus/updater.jsonl"),
        include_str!("../../../../tests/corpus/merges.jsonl"),
        include_str!("../../../../tests/corpus/sets.jsonl"),
        include_str!("../../../../tests/corpus/values.jsonl"),
        include_str!("../../../../tests/corpus/fuzz.jsonl"),
    ];
    let lines = corpus.iter().flat_map(|corpus| corpus.lines());
    let request = |line| {
        let mut request = serde_json::from_str::<Value>(line).ok()?.get_mut("request").map(Value::take)?;
        request["profile"] = json!("1.36.3");
        Some(request)
    };
    lines.filter_map(request).collect()
});

/// Parts of requests.
static FRAGMENTS: LazyLock<Vec<Value>> = LazyLock::new(|| {
    vec![
        json!({"file": "merge/tests/corpus/data/gadget.crd.json"}),
        json!({"file": "merge/tests/corpus/data/traps.schema.json"}),
        json!({"file": "merge/tests/data/openapi/apps__v1.json"}),
        json!({"file": "no such file"}),
        json!({"f:spec": {"f:replicas": {}}}),
        json!({"f:spec": {".": {}, "f:byName": {"k:{\"name\":\"a\"}": {".": {}, "f:name": {}}}}}),
        json!({"f:set": {"v:\"a\"": {}}, "f:list": {"i:0": {}}}),
        json!({"bob": {"set": {"f:a": {}}, "version": "v1", "applied": true}}),
        json!({"group": "apps", "version": "v1", "kind": "Deployment"}),
        json!([{"manager": "bob", "operation": "Update", "apiVersion": "apps/v1", "fieldsType": "FieldsV1",
            "fieldsV1": {"f:spec": {"f:replicas": {}}}, "time": "2026-01-01T00:00:00Z", "subresource": "scale"}]),
        json!([{}]),
        json!({"ignored": {"v1": {"f:a": {}}}}),
        json!("apply"),
        json!("update"),
        json!("reconcile"),
        json!("1.33"),
        json!("1.36.1"),
        json!("scale"),
        json!("status"),
        json!("kubectl"),
    ]
});

thread_local! {
    // One session for all inputs of a process, as in a long conversation: cached schemas must not matter.
    static SESSION: RefCell<Session> = RefCell::new(Session::checked());
}

/// Sends any text.
pub fn driver_line(data: &[u8]) {
    LazyLock::force(&REQUESTS);
    if let Ok(line) = std::str::from_utf8(data) {
        ask(line);
    }
}

/// Sends a request of the corpus with changes.
pub fn driver_request(data: &[u8]) {
    ask(&changed_request(data).to_string());
}

/// A request of the corpus with changes.
fn changed_request(data: &[u8]) -> Value {
    let requests = LazyLock::force(&REQUESTS);
    let mut choices = Choices::new(data);
    let (high, low) = (choices.below(256), choices.below(256));
    let mut request = requests[(high << 8 | low) % requests.len()].clone();
    mutate(&mut choices, &mut request, &FRAGMENTS);
    if let Some(request) = request.as_object_mut() {
        // Otherwise the response depends on the time.
        let now = request.entry("now").or_insert(Value::Null);
        if now.is_null() {
            *now = json!("2026-01-02T03:04:05Z");
        }
        if request.get("gvk").is_none() {
            request.remove("now");
        }
    }
    request
}

fn ask(line: &str) {
    let asked: Value = serde_json::from_str(line).unwrap_or_default();
    SESSION.with_borrow_mut(|session| {
        let response = session.respond(line);
        let tree: Value = serde_json::from_str(&response)
            .unwrap_or_else(|error| panic!("the response to {line} is no JSON: {error}\n{response}"));
        assert!(tree.is_object(), "the response to {line} is no object: {response}");
        assert!(!response.contains('\n'), "the response to {line} isn't one line: {response}");
        if asked.is_object() {
            assert_eq!(
                tree.get("id").is_some(),
                asked.get("id").is_some(),
                "the id got lost: {line}\n{response}"
            );
        }
        if asked.get("now").is_some() || asked.get("gvk").is_none() {
            assert_eq!(session.respond(line), response, "{line} gets two different responses");
        }
    });
}
