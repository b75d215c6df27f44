//! A cluster as far as writes to single objects go: the merge core with the schemas of a real API server.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, reason = "each test binary uses its part")]

use std::sync::{Arc, LazyLock};

use baton_apply::{
    Change, Forecast, Guard, LiveObject, PredictedObject, Request, Schemas, Target, openapi::document_path,
};
use baton_controller::decide::{
    child::ChildKind,
    course::{Course, Finished, Next, Read},
    plan::plan,
    snapshot::Snapshot,
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
            (document_path(&kind.api_resource()), Arc::new(resources))
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

pub fn apply(body: &Value, manager: &'static str, force: bool) -> Request {
    let kind = ChildKind::ALL.into_iter().find(|kind| kind.name() == body["kind"]).unwrap();
    let target = Target::new(kind.api_resource(), Some("shop".to_owned()), "web");
    Request::apply(target, body.clone(), manager, force, &Guard::Create)
}

/// What the API server stores, from nothing to one forced apply after another.
pub fn stored(applies: &[(&'static str, &Value)]) -> LiveObject {
    let after = applies.iter().fold(None, |before: Option<LiveObject>, (manager, body)| {
        Some(response(&apply(body, manager, true), before.as_ref(), earlier()))
    });
    after.unwrap()
}

/// The response to a request, as it is predicted: that of a server that fills in nothing.
pub fn response(request: &Request, before: Option<&LiveObject>, at: Timestamp) -> LiveObject {
    match schemas().forecast(request, before, at).unwrap() {
        Forecast::NoOp => before.unwrap().clone(),
        Forecast::Stored(stored) => as_stored(*stored, before),
        other => panic!("{other:?} stores nothing"),
    }
}

fn as_stored(predicted: PredictedObject, before: Option<&LiveObject>) -> LiveObject {
    let mut object = predicted.object;
    let version = before.map_or(0, |before| before.revision().resource_version.parse::<u32>().unwrap());
    object["metadata"]["uid"] = json!("uid-of-web");
    object["metadata"]["resourceVersion"] = json!((version + u32::from(predicted.changed)).to_string());
    live(object)
}

/// The object with something changed in its JSON, such as what the API server fills in.
pub fn but(live_object: &LiveObject, change: impl FnOnce(&mut Value)) -> LiveObject {
    let mut object = live_object.as_json().clone();
    change(&mut object);
    live(object)
}

/// Runs one pass against a server that has what was seen and does what is predicted; returns each write that changed something.
pub fn enforced(seen: Snapshot) -> (Finished, Vec<String>) {
    let workload = seen.workload.clone();
    let mut course = Course::new(seen, [].into(), false);
    let mut writes = Vec::new();
    loop {
        let request = match course.next(schemas(), earlier()) {
            Next::Read(Read::Workload) => {
                course.read_workload(Some(&workload));
                continue;
            }
            // What was seen is what there is.
            Next::Read(_) => continue,
            Next::Plan => {
                course.planned(plan(course.seen(), course.held_back()).unwrap());
                continue;
            }
            Next::Send(write) => write.request.clone(),
            Next::Done => return (course.finish(), writes),
        };
        let step = course.step_under_way().unwrap();
        let before = course.seen().child(step.child());
        let is_deletion = matches!(request.change, Change::Delete(_));
        let after = (!is_deletion).then(|| response(&request, before, earlier()));
        if before.map(LiveObject::revision) != after.as_ref().map(LiveObject::revision) {
            writes.push(format!("{} {}", step.describe(), step.child()));
        }
        course.responded(schemas(), Ok(after));
    }
}
