//! A cluster for writes to single objects: the merge core with the schemas of a real API server.

use std::sync::{Arc, LazyLock};

use baton_apply::{
    Guard, LiveObject, Prediction, Request, Schemas, Target,
    openapi::{document_path, united},
};
use baton_merge::{Release, server::Resources};
use jiff::Timestamp;
use k8s_openapi::api::{
    apps::v1::Deployment, autoscaling::v2::HorizontalPodAutoscaler, core::v1::Service,
    policy::v1::PodDisruptionBudget,
};
use kube::core::ApiResource;
use serde_json::{Value, json};

pub const MANAGER: &str = "baton";

pub fn schemas() -> &'static Schemas {
    static SCHEMAS: LazyLock<Schemas> = LazyLock::new(|| {
        let texts = [
            vec![include_str!("../../../merge/tests/data/openapi/apps__v1.json")],
            vec![include_str!("../../../merge/tests/data/openapi/v1.json")],
            vec![
                include_str!("../../../merge/tests/data/openapi/autoscaling__v1.json"),
                include_str!("../../../merge/tests/data/openapi/autoscaling__v2.json"),
            ],
            vec![include_str!("../../../merge/tests/data/openapi/policy__v1.json")],
        ];
        let documents = kinds().into_iter().zip(texts).map(|(kind, texts)| {
            let documents = texts.into_iter().map(|text| serde_json::from_str(text).unwrap());
            let resources = Resources::from_openapi(&united(documents)).unwrap();
            (document_path(&kind), Arc::new(resources))
        });
        Schemas::new(Release::new(36, 3), documents)
    });
    &SCHEMAS
}

fn kinds() -> [ApiResource; 4] {
    let autoscalers = ApiResource::erase::<HorizontalPodAutoscaler>(&());
    let budgets = ApiResource::erase::<PodDisruptionBudget>(&());
    [deployments(), services(), autoscalers, budgets]
}

pub fn deployments() -> ApiResource {
    ApiResource::erase::<Deployment>(&())
}

pub fn services() -> ApiResource {
    ApiResource::erase::<Service>(&())
}

/// The time of writes before the test's.
pub fn earlier() -> Timestamp {
    "2026-01-02T03:04:05Z".parse().unwrap()
}

/// The time of the test's writes.
pub fn now() -> Timestamp {
    "2026-01-02T04:00:00Z".parse().unwrap()
}

/// An object `web` with this spec, complete enough to be applied.
pub fn object(kind: &ApiResource, spec: &Value) -> Value {
    json!({
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": spec,
    })
}

/// A Deployment with one container that has a name and these fields.
pub fn deployment(container: &Value) -> Value {
    let mut app = json!({"name": "app"});
    for (name, value) in container.as_object().unwrap() {
        app[name] = value.clone();
    }
    object(&deployments(), &json!({"template": {"spec": {"containers": [app]}}}))
}

pub fn target(object: &Value) -> Target {
    let kind = kinds().into_iter().find(|kind| object["kind"] == kind.kind.as_str()).unwrap();
    Target::new(kind, Some("shop".to_owned()), "web")
}

pub fn apply(body: &Value, manager: &'static str, force: bool) -> Request {
    Request::apply(target(body), body.clone(), manager, force, &Guard::Nothing)
}

/// An apply by a controller.
pub fn forced(body: &Value) -> Request {
    apply(body, MANAGER, true)
}

/// The object after these forced applies.
pub fn stored(applies: &[(&'static str, &Value)]) -> LiveObject {
    let after = applies.iter().fold(None, |before: Option<LiveObject>, (manager, body)| {
        Some(response(&apply(body, manager, true), before.as_ref(), earlier()))
    });
    after.unwrap()
}

/// The predicted response to a request, from a server that fills in nothing.
pub fn response(request: &Request, before: Option<&LiveObject>, at: Timestamp) -> LiveObject {
    match schemas().predict(request, before, at).unwrap() {
        Prediction::NoOp => before.unwrap().clone(),
        Prediction::Stored(stored) => stored.returned(before).unwrap(),
        other => panic!("{other:?} stores nothing"),
    }
}

/// The object with a change of its JSON, such as a default that the API server fills in.
pub fn but(live: &LiveObject, change: impl FnOnce(&mut Value)) -> LiveObject {
    let mut object = live.as_json().unwrap().clone();
    change(&mut object);
    LiveObject::from_json(object).unwrap()
}
