//! A pass on the cluster of the engine's own tests: the merge core with the schemas of a real API server.
#[allow(dead_code, reason = "the engine's own tests use all of it")]
#[path = "../../../../apply/tests/engine/common.rs"]
mod engine;

use baton_apply::{Change, LiveObject, contention::Correction};
use baton_controller::decide::{
    child::ChildKind,
    course::{Course, Finished, Next, Read},
    plan::plan,
    snapshot::Snapshot,
};
pub use engine::{apply, but, deployment, earlier, now, response, schemas, stored};
use serde_json::Value;

/// A child `web` with this spec, complete enough to be applied.
pub fn object(kind: ChildKind, spec: &Value) -> Value {
    engine::object(&kind.api_resource(), spec)
}

/// Runs one pass against a server that stores this snapshot and does what is predicted; returns the writes that changed something.
pub fn enforced(seen: Snapshot) -> (Finished, Vec<String>) {
    let (finished, writes, _) = corrected(seen);
    (finished, writes)
}

/// The same, with what it has corrected.
pub fn corrected(seen: Snapshot) -> (Finished, Vec<String>, Vec<Correction>) {
    let workload = seen.workload.clone();
    let mut course = Course::new(seen, [].into(), false);
    let (mut writes, mut corrections) = (Vec::new(), Vec::new());
    loop {
        let request = match course.next(schemas(), earlier()) {
            Next::Read(Read::Workload) => {
                course.read_workload(Some(&workload.metadata));
                continue;
            }
            // The snapshot is what the server stores.
            Next::Read(_) => continue,
            Next::Plan => {
                course.planned(plan(course.seen(), course.held_back()).unwrap());
                continue;
            }
            Next::Send { write, .. } => write.request.clone(),
            Next::Done => return (course.finish(), writes, corrections),
        };
        let step = course.step_under_way().unwrap();
        let before = course.seen().child(step.child());
        let is_deletion = matches!(request.change, Change::Delete(_));
        let after = (!is_deletion).then(|| response(&request, before, earlier()));
        if before.map(LiveObject::revision) != after.as_ref().map(LiveObject::revision) {
            writes.push(format!("{} {}", step.describe(), step.child()));
        }
        corrections
            .extend(course.responded(schemas(), Ok(after)).into_iter().flat_map(|ended| ended.corrections));
    }
}
