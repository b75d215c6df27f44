//! A cluster as far as writes to single objects go: the merge core with the schemas of a real API server.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, reason = "each test binary uses its part")]

use std::sync::{Arc, LazyLock};

use baton_controller::{
    FIELD_MANAGER,
    child::ChildKind,
    live::Live,
    predict::{Forecast, Schemas, Stored, document_path},
    request::{Request, Write},
};
use baton_merge::{Release, server::Resources};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::live;

pub fn schemas() -> &'static Schemas {
    static SCHEMAS: LazyLock<Schemas> = LazyLock::new(|| {
        let text = |kind| match kind {
            ChildKind::Deployment => include_str!("../../../merge/tests/data/openapi/apps__v1.json"),
            ChildKind::Service => include_str!("../../../merge/tests/data/openapi/v1.json"),
            ChildKind::Autoscaler => include_str!("../../../merge/tests/data/openapi/autoscaling__v2.json"),
            ChildKind::DisruptionBudget => include_str!("../../../merge/tests/data/openapi/policy__v1.json"),
        };
        let document = |kind| {
            let resources = Resources::from_openapi(&serde_json::from_str(text(kind)).unwrap()).unwrap();
            (document_path(kind.into()), Arc::new(resources))
        };
        Schemas::new(Release::new(36, 3), ChildKind::ALL.map(document))
    });
    &SCHEMAS
}

/// The time of writes that were made before the test's.
pub fn earlier() -> Timestamp {
    "2026-01-02T03:04:05Z".parse().unwrap()
}

/// The time of the test's writes.
pub fn now() -> Timestamp {
    "2026-01-02T04:00:00Z".parse().unwrap()
}

/// An object `web` with this spec, complete enough to be applied.
pub fn object(kind: ChildKind, spec: &Value) -> Value {
    json!({
        "apiVersion": kind.api_version(),
        "kind": kind.name(),
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": spec,
    })
}

/// A Deployment with one container of these fields beside its name.
pub fn deployment(container: &Value) -> Value {
    let mut app = json!({"name": "app"});
    for (name, value) in container.as_object().unwrap() {
        app[name] = value.clone();
    }
    object(ChildKind::Deployment, &json!({"template": {"spec": {"containers": [app]}}}))
}

pub fn kind_of(object: &Value) -> ChildKind {
    ChildKind::ALL.into_iter().find(|kind| kind.name() == object["kind"]).unwrap()
}

pub fn apply(body: &Value, manager: &'static str, force: bool) -> Request {
    Request { child: kind_of(body), write: Write::Apply { body: body.clone(), manager, force } }
}

/// As Baton applies a child.
pub fn by_baton(body: &Value) -> Request {
    apply(body, FIELD_MANAGER, true)
}

/// What the API server stores, from nothing to one forced apply after another.
pub fn stored(applies: &[(&'static str, &Value)]) -> Live {
    let after = applies.iter().fold(None, |before: Option<Live>, (manager, body)| {
        Some(answer(&apply(body, manager, true), before.as_ref(), earlier()))
    });
    after.unwrap()
}

/// The answer to a request, as it is predicted: a server that fills in nothing gives it.
pub fn answer(request: &Request, before: Option<&Live>, at: Timestamp) -> Live {
    match schemas().forecast(request, before, at).unwrap() {
        Forecast::NoOp => before.unwrap().clone(),
        Forecast::Stored(stored) => as_answered(*stored, before),
        other => panic!("{other:?} stores nothing"),
    }
}

fn as_answered(stored: Stored, before: Option<&Live>) -> Live {
    let mut object = stored.object;
    let version = before.map_or(0, |before| before.revision().resource_version.parse::<u32>().unwrap());
    object["metadata"]["uid"] = json!("uid-of-web");
    object["metadata"]["resourceVersion"] = json!((version + u32::from(stored.changed)).to_string());
    live(object)
}

/// The object with something changed in its JSON, such as what the API server fills in.
pub fn but(live_object: &Live, change: impl FnOnce(&mut Value)) -> Live {
    let mut object = live_object.as_json().clone();
    change(&mut object);
    live(object)
}
