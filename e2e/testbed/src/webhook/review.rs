//! The documents of the API, and the response of each hook, which depends on the hook's path and the request alone.

use k8s_openapi::ByteString;
use serde::Deserialize;
use serde_json::{Value, json};

/// The hook that changes the objects of its reviews.
const MUTATE: &str = "/mutate";
/// The hook that denies it; with a code below it, such as `/deny/422`, with this code.
const DENY: &str = "/deny";

/// A review that an API server requested from a webhook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Review {
    /// The path of the hook that was called, without its query.
    pub path: String,
    /// `CREATE`, `UPDATE`, `DELETE` or `CONNECT`. A patch is an `UPDATE`, or a `CREATE` where there was nothing.
    pub operation: String,
    /// The kind of the object, such as `Deployment`.
    pub kind: String,
    /// The object's namespace, if it has one.
    pub namespace: Option<String>,
    /// The object's name; `None` if the API server will generate it, and if many objects are deleted at once.
    pub name: Option<String>,
    /// Whether the write is a dry run; `None` if the review doesn't have the field.
    pub dry_run: Option<bool>,
    /// The name of the user who writes.
    pub user: String,
}

/// The part of an `AdmissionReview` that is used here. The group has no other kind, and a request without its fields is an
/// error; so is one of another version.
#[derive(Deserialize)]
#[serde(tag = "apiVersion")]
enum AdmissionReview {
    #[serde(rename = "admission.k8s.io/v1")]
    V1 { request: AdmissionRequest },
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AdmissionRequest {
    uid: String,
    operation: String,
    kind: GroupVersionKind,
    namespace: Option<String>,
    name: Option<String>,
    dry_run: Option<bool>,
    user_info: UserInfo,
    /// As it would be kept; null when it is deleted.
    #[serde(default)]
    object: Value,
}

#[derive(Deserialize)]
struct GroupVersionKind {
    kind: String,
}

#[derive(Deserialize)]
struct UserInfo {
    username: String,
}

/// The review in this body of a request to the hook at `path`, and the body of the response.
///
/// # Errors
/// When the body isn't an `AdmissionReview` of `admission.k8s.io/v1` with a request.
pub(super) fn answer(path: &str, body: &[u8]) -> Result<(Review, Value), serde_json::Error> {
    let AdmissionReview::V1 { request } = serde_json::from_slice(body)?;
    let document = json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response(path, &request),
    });
    let review = Review {
        path: path.to_owned(),
        operation: request.operation,
        kind: request.kind.kind,
        namespace: request.namespace,
        name: request.name,
        dry_run: request.dry_run,
        user: request.user_info.username,
    };
    Ok((review, document))
}

fn response(path: &str, request: &AdmissionRequest) -> Value {
    let uid = &request.uid;
    if let Some(code) = path.strip_prefix(DENY) {
        let message = format!("the hook at {path} denies everything");
        let mut status = json!({"message": message});
        if let Ok(code) = code.trim_start_matches('/').parse::<u16>() {
            status["code"] = code.into();
        }
        return json!({"uid": uid, "allowed": false, "status": status});
    }
    match (path, touch(&request.object)) {
        (MUTATE, Some(change)) => {
            let change = ByteString(change.to_string().into_bytes());
            json!({"uid": uid, "allowed": true, "patchType": "JSONPatch", "patch": change})
        }
        _ => json!({"uid": uid, "allowed": true}),
    }
}

/// The JSON patch that annotates an object. `None` where there is nothing to annotate: an API server fails the write when
/// a deletion is patched, and the options of a connection have no metadata.
fn touch(object: &Value) -> Option<Value> {
    let annotations = &object.get("metadata")?["annotations"];
    let annotation =
        json!({"op": "add", "path": "/metadata/annotations/webhook.test~1touched", "value": "true"});
    Some(if annotations.is_object() {
        json!([annotation])
    } else {
        json!([{"op": "add", "path": "/metadata/annotations", "value": {}}, annotation])
    })
}

/// A request as an API server writes it, about a Deployment in the namespace `shop`.
#[cfg(test)]
pub(super) fn question(operation: &str, name: &str) -> Value {
    json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "request": {
            "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
            "kind": {"group": "apps", "version": "v1", "kind": "Deployment"},
            "resource": {"group": "apps", "version": "v1", "resource": "deployments"},
            "name": name, "namespace": "shop", "operation": operation, "dryRun": true,
            "userInfo": {"username": "ann", "groups": ["system:authenticated"]},
            "object": {"metadata": {"name": name, "namespace": "shop"}}, "oldObject": null,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(path: &str, question: &Value) -> (Review, Value) {
        answer(path, question.to_string().as_bytes()).unwrap()
    }

    /// The object of a request about it, after the patch in the response.
    fn mutated(object: Value) -> Value {
        let mut question = question("CREATE", "web");
        question["request"]["object"] = object;
        let response = ask("/mutate", &question).1["response"].take();
        let patch: ByteString = serde_json::from_value(response["patch"].clone()).unwrap();
        let patch: json_patch::Patch = serde_json::from_slice(&patch.0).unwrap();
        let mut object = question["request"]["object"].take();
        json_patch::patch(&mut object, &patch).unwrap();
        object
    }

    #[test]
    fn a_hook_allows_with_the_uid_of_the_request() {
        let (review, document) = ask("/any", &question("UPDATE", "web"));
        let uid = "705ab4f5-6393-11e8-b7cc-42010a800002";
        let expected = json!({
            "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
            "response": {"uid": uid, "allowed": true},
        });
        assert_eq!(document, expected);
        let expected = Review {
            path: "/any".to_owned(),
            operation: "UPDATE".to_owned(),
            kind: "Deployment".to_owned(),
            namespace: Some("shop".to_owned()),
            name: Some("web".to_owned()),
            dry_run: Some(true),
            user: "ann".to_owned(),
        };
        assert_eq!(review, expected);
    }

    #[test]
    fn what_is_absent_from_a_request_is_absent_from_its_review() {
        let mut question = question("CREATE", "web");
        for field in ["namespace", "name", "dryRun", "object"] {
            question["request"].as_object_mut().unwrap().remove(field);
        }
        let (review, _) = ask("/any", &question);
        assert_eq!((review.namespace, review.name, review.dry_run), (None, None, None));
    }

    #[test]
    fn an_annotation_is_added_to_those_that_there_are() {
        let touched = json!({"metadata": {"annotations": {"webhook.test/touched": "true"}}});
        for before in [json!({"metadata": {}}), json!({"metadata": {"annotations": null}}), touched.clone()] {
            assert_eq!(mutated(before.clone()), touched, "{before}");
        }
        let other = json!({"metadata": {"annotations": {"team": "a"}}});
        let both = json!({"metadata": {"annotations": {"team": "a", "webhook.test/touched": "true"}}});
        assert_eq!(mutated(other), both);
    }

    #[test]
    fn what_has_no_metadata_is_allowed_as_it_is() {
        for object in [json!(null), json!({"container": "app"})] {
            let mut question = question("CONNECT", "web");
            question["request"]["object"] = object;
            let response = ask("/mutate", &question).1["response"].take();
            assert_eq!(response, json!({"uid": question["request"]["uid"], "allowed": true}));
        }
    }

    #[test]
    fn a_denial_says_who_denies() {
        let response = ask("/deny", &question("CREATE", "web")).1["response"].take();
        assert_eq!(response["allowed"], false);
        assert_eq!(response["status"]["message"], "the hook at /deny denies everything");
    }
}
