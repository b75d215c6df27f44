//! Applies against a server that plays a part: what is sent, and what comes of it.

use std::sync::{Arc, Mutex};

use baton_apply::{ApiError, Applier, ApplyError, ApplyOutcome, LiveObject, Options, SchemaCache, Target};
use http::{Method, Request, Response};
use k8s_openapi::{
    api::apps::v1::{Deployment, DeploymentSpec},
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use kube::{Client, client::Body};
use serde_json::{Value, json};
use tower::service_fn;

use crate::common::{MANAGER, but, deployment, deployments, forced, now, response, stored};

/// The server: it has one Deployment, and refuses so many writes of it because it has changed.
struct Server {
    live: LiveObject,
    refusals: usize,
    /// The bodies of the writes.
    sent: Vec<Value>,
}

impl Server {
    fn respond(&mut self, method: &Method, path: &str, body: &[u8]) -> (u16, String) {
        const DOCUMENT: &str = include_str!("../../../merge/tests/data/openapi/apps__v1.json");
        let path = path.trim_start_matches('/');
        match (method, path) {
            (_, "version") => (200, VERSION.to_owned()),
            (_, "openapi/v3") => {
                let location = json!({"serverRelativeURL": "/openapi/v3/apis/apps/v1"});
                (200, json!({"paths": {"apis/apps/v1": location}}).to_string())
            }
            (_, "openapi/v3/apis/apps/v1") => (200, DOCUMENT.to_owned()),
            (&Method::PATCH, _) => {
                self.sent.push(serde_json::from_slice(body).unwrap());
                if self.refusals == 0 {
                    return (200, self.live.as_text().to_owned());
                }
                self.refusals -= 1;
                let details = json!({"group": "apps", "kind": "deployments", "name": "web"});
                let status = json!({"status": "Failure", "code": 409, "reason": "Conflict", "message": "modified", "details": details});
                (409, status.to_string())
            }
            _ => (200, self.live.as_text().to_owned()),
        }
    }
}

const VERSION: &str = r#"{"major": "1", "minor": "36", "gitVersion": "v1.36.3", "gitCommit": "", "gitTreeState": "", "buildDate": "",
    "goVersion": "", "compiler": "", "platform": ""}"#;

/// The outcome of an apply to an object that was read when it was this, and the bodies that were sent.
async fn applied(
    read: &LiveObject,
    now_live: LiveObject,
    refusals: usize,
    intent: &Value,
    options: Options<'_>,
) -> (Result<ApplyOutcome, ApplyError>, Vec<Value>) {
    let (applier, server) = applier(now_live, refusals).await;
    let outcome = applier.apply_json(&deployments(), Some(read), intent.clone(), options).await;
    let sent = std::mem::take(&mut server.lock().unwrap().sent);
    (outcome, sent)
}

async fn applier(live: LiveObject, refusals: usize) -> (Applier, Arc<Mutex<Server>>) {
    let server = Arc::new(Mutex::new(Server { live, refusals, sent: Vec::new() }));
    let played = server.clone();
    let client = service_fn(move |request: Request<Body>| {
        let server = played.clone();
        async move {
            let (parts, body) = request.into_parts();
            let body = body.collect_bytes().await.unwrap();
            let (code, text) = server.lock().unwrap().respond(&parts.method, parts.uri.path(), &body);
            Ok::<_, kube::Error>(
                Response::builder().status(code).body(Body::from(text.into_bytes())).unwrap(),
            )
        }
    });
    let (client, limit) = (Client::new(client, "shop"), std::time::Duration::from_secs(30));
    let schemas = SchemaCache::new(client.clone(), [deployments()], limit);
    schemas.load().await.unwrap();
    (Applier::new(client, Some(schemas), limit).with_clock(now), server)
}

fn image(image: &str) -> Value {
    deployment(&json!({"image": image}))
}

fn versions(sent: &[Value]) -> Vec<Option<&str>> {
    sent.iter().map(|body| body["metadata"]["resourceVersion"].as_str()).collect()
}

/// The object before, with an identity, and with another version.
fn live_objects() -> (LiveObject, LiveObject) {
    let read = stored(&[(MANAGER, &image("app:1"))]);
    let newer = but(&read, |object| object["metadata"]["resourceVersion"] = json!("77"));
    (read, newer)
}

#[tokio::test]
async fn an_apply_is_repeated_for_the_newer_object_and_in_the_end_without_its_guard() {
    let (read, newer) = live_objects();
    let version = read.revision().resource_version;
    for (refusals, expected) in [
        (0, vec![Some(&*version)]),
        (1, vec![Some(&*version), Some("77")]),
        (3, vec![Some(&*version), Some("77"), Some("77"), None]),
    ] {
        let (outcome, sent) =
            applied(&read, newer.clone(), refusals, &image("app:2"), Options::forced(MANAGER)).await;
        assert!(outcome.unwrap().sent);
        assert_eq!(versions(&sent), expected);
    }
    let (outcome, sent) = applied(&read, newer, 4, &image("app:2"), Options::forced(MANAGER)).await;
    assert!(matches!(outcome, Err(ApplyError::Stale(_))), "{outcome:?}");
    assert_eq!(sent.len(), 4);
}

#[tokio::test]
async fn an_apply_is_not_repeated_by_itself_if_its_author_has_to_decide_again() {
    let (read, newer) = live_objects();
    let guarded = Options::forced(MANAGER).guarded();
    let replaced = but(&newer, |object| object["metadata"]["uid"] = json!("another"));
    for (now_live, options) in [(newer, guarded), (replaced, Options::forced(MANAGER))] {
        let (outcome, sent) = applied(&read, now_live, 1, &image("app:2"), options).await;
        assert!(matches!(outcome, Err(ApplyError::Stale(_))), "{outcome:?}");
        assert_eq!(sent.len(), 1);
    }
}

#[tokio::test]
async fn an_apply_that_changes_nothing_is_sent_only_on_request() {
    let (read, _) = live_objects();
    let same = image("app:1");
    let (outcome, sent) = applied(&read, read.clone(), 0, &same, Options::forced(MANAGER)).await;
    let outcome = outcome.unwrap();
    assert!(!outcome.sent && !outcome.changed && sent.is_empty(), "{sent:?}");
    assert_eq!(outcome.object.revision(), read.revision());
    let always = Options::forced(MANAGER).always_send(true);
    let (outcome, sent) = applied(&read, read.clone(), 0, &same, always).await;
    let outcome = outcome.unwrap();
    assert!(outcome.sent && !outcome.changed && sent.len() == 1, "{sent:?}");
}

#[tokio::test]
async fn what_a_typed_intent_leaves_empty_is_not_applied() {
    let metadata = ObjectMeta {
        name: Some("web".to_owned()),
        namespace: Some("shop".to_owned()),
        ..ObjectMeta::default()
    };
    let spec = DeploymentSpec { paused: Some(true), ..DeploymentSpec::default() };
    let intent = Deployment { metadata, spec: Some(spec), ..Deployment::default() };
    let created = response(&forced(&image("app:1")), None, now());
    let (applier, server) = applier(created, 0).await;
    let outcome = applier.apply(None, &intent, Options::forced(MANAGER)).await.unwrap();
    assert!(outcome.sent);
    let spec = json!({"paused": true, "selector": {}, "template": {}});
    assert_eq!(server.lock().unwrap().sent[0]["spec"], spec);
    let target = Target::of(&intent, &());
    assert_eq!(target.to_string(), "Deployment shop/web");
}

#[tokio::test]
async fn a_request_that_makes_no_sense_is_not_sent() {
    let (read, _) = live_objects();
    let with = |pointer: &str, value: Value| {
        let mut intent = image("app:2");
        *intent.pointer_mut(pointer).unwrap() = value;
        intent
    };
    let of_uid = json!({"namespace": "shop", "name": "web", "uid": "u"});
    let forced = Options::forced(MANAGER);
    let service =
        but(&read, |object| (object["kind"], object["apiVersion"]) = (json!("Service"), json!("v1")));
    for (live, intent, options, expected) in [
        (None, json!("text"), forced, "the intent of a Deployment has no metadata.name"),
        (Some(&read), json!([1]), forced, "the intent of a Deployment has no metadata.name"),
        (
            Some(&read),
            with("/metadata", json!("web")),
            forced,
            "the intent of a Deployment has no metadata.name",
        ),
        (None, with("/metadata", of_uid), forced, "Deployment shop/web was not read, and"),
        (None, image("app:2"), forced.subresource("status"), "Deployment/status shop/web was not read, and"),
        (
            Some(&read),
            with("/kind", json!("Scale")),
            forced.subresource("scale"),
            "the intent is a Scale (apps/v1), and a Deployment (apps/v1) is written",
        ),
        (
            Some(&service),
            image("app:2"),
            forced,
            "the live object is a Service (v1), and a Deployment (apps/v1) is written",
        ),
    ] {
        let (applier, server) = applier(read.clone(), 0).await;
        let error = applier.apply_json(&deployments(), live, intent, options).await.unwrap_err();
        assert!(matches!(&error, ApplyError::Rejected(ApiError::Misuse(_))), "{error:?}");
        assert!(error.to_string().starts_with(expected), "{error}");
        assert!(server.lock().unwrap().sent.is_empty());
    }
}
