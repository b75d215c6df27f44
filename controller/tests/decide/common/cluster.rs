//! A pass on the cluster of the engine's own tests: the merge core with the schemas of a real API server.
#[allow(dead_code, reason = "the engine's own tests use all of it")]
#[path = "../../../../apply/tests/engine/common.rs"]
mod engine;

use baton_apply::{ApiError, Change, LiveObject, Request, contention::Correction};
use baton_controller::decide::{
    child::ChildKind,
    course::{Course, Next, Read},
    pass::Pass,
    plan::{Step, plan},
    snapshot::Snapshot,
};
pub use engine::{apply, but, deployment, earlier, now, schemas, stored};
use kube::core::Status;
use serde_json::Value;

/// A child `web` with this spec, complete enough to be applied.
pub fn object(kind: ChildKind, spec: &Value) -> Value {
    engine::object(&kind.api_resource(), spec)
}

/// A request of a course.
#[derive(Debug)]
pub enum Asked {
    Read(Read),
    Write(Box<Step>, Box<Request>),
}

/// The next request of a course; `None` when it is done. Plans are made in between.
pub fn next(course: &mut Course) -> Option<Asked> {
    loop {
        let request = match course.next(schemas(), earlier()) {
            Next::Read(read) => return Some(Asked::Read(read)),
            Next::Send { write, .. } => Box::new(write.request.clone()),
            Next::Done => return None,
            Next::Plan => {
                course.planned(plan(course.seen(), course.held_back()).unwrap());
                continue;
            }
        };
        let step = course.step_under_way().unwrap().clone();
        return Some(Asked::Write(Box::new(step), request));
    }
}

/// Delivers what was read, from a server that stores this.
pub fn show(course: &mut Course, read: Read, server: &Snapshot) {
    match read {
        Read::Workload => course.read_workload(Some(&server.workload.metadata)),
        Read::Autoscalers => course.read_autoscalers(server.autoscalers.clone()),
        Read::Child(child) | Read::Newer(child) => course.read_child(child, server.child(child).cloned()),
    }
}

/// The predicted response to a request: the object afterwards, or none where it is deleted.
pub fn done(request: &Request, before: Option<&LiveObject>) -> Option<LiveObject> {
    let is_deletion = matches!(request.change, Change::Delete(_));
    (!is_deletion).then(|| response(request, before))
}

/// The predicted response to a request that stores something.
pub fn response(request: &Request, before: Option<&LiveObject>) -> LiveObject {
    engine::response(request, before, earlier())
}

/// Writes to a server, which refuses a write that was planned from another state of the child.
pub fn write(
    server: &mut Snapshot,
    course: &Course,
    child: ChildKind,
    request: &Request,
) -> Result<Option<LiveObject>, ApiError> {
    let version = |snapshot: &Snapshot| snapshot.child(child).map(LiveObject::revision);
    if version(server) != version(course.seen()) {
        return Err(failure(409, "Conflict", "the object has been modified"));
    }
    let after = done(request, server.child(child));
    server.put(child, after.clone());
    Ok(after)
}

/// A response with this code, reason and message.
pub fn failure(code: u16, reason: &str, message: &str) -> ApiError {
    ApiError::Response(Status::failure(message, reason).with_code(code).boxed())
}

/// Runs one pass against a server that stores this snapshot and does what is predicted; returns the writes that changed something.
pub fn enforced(seen: Snapshot) -> (Pass, Vec<String>) {
    let (pass, writes, _) = corrected(seen);
    (pass, writes)
}

/// The same, with what it has corrected.
pub fn corrected(seen: Snapshot) -> (Pass, Vec<String>, Vec<Correction>) {
    let mut course = Course::new(seen, [].into(), false);
    let (mut writes, mut corrections) = (Vec::new(), Vec::new());
    while let Some(asked) = next(&mut course) {
        let server = course.seen().clone();
        match asked {
            Asked::Read(read) => show(&mut course, read, &server),
            Asked::Write(step, request) => {
                let before = server.child(step.child());
                let after = done(&request, before);
                if before.map(LiveObject::revision) != after.as_ref().map(LiveObject::revision) {
                    writes.push(format!("{} {}", step.describe(), step.child()));
                }
                corrections.extend(course.responded(schemas(), Ok(after)).unwrap().corrections);
            }
        }
    }
    (course.finish(), writes, corrections)
}
