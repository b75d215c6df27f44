//! A pass, request by request: what it reads past the caches before it writes, and what it makes of it.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use crate::common::{
    child,
    cluster::{apply, earlier, enforced, object, response, schemas},
    deployment_held_by, live, seen, workload,
};
use baton_apply::{ApiError, Change, LiveObject, Outcome, contention::Correction};
use baton_controller::decide::{
    child::ChildKind,
    course::{ChildResult, Course, Ended, Next, Read},
    plan::{Step, plan},
    snapshot::Snapshot,
};
use baton_crd::Workload;
use kube::core::Status;
use serde_json::json;

/// A pass of a Workload that asks for an autoscaler, while the cache shows the Deployment as these managers hold it.
fn autoscaled(managers: &str) -> (Arc<Workload>, Course) {
    let workload = workload(&json!({"autoscaling": {"minReplicas": 2, "maxReplicas": 5}}));
    let seen = seen(&workload, [deployment_held_by(managers, 4)]);
    (seen.workload.clone(), Course::new(seen, BTreeSet::new(), false))
}

fn deployment(managers: &str) -> LiveObject {
    live(deployment_held_by(managers, 4).1)
}

fn unanswered() -> ApiError {
    ApiError::Timeout(Duration::from_secs(1))
}

fn refusal(code: u16) -> ApiError {
    let details = serde_json::from_value(json!({"kind": "Deployment"})).unwrap();
    ApiError::Response(Status::failure("no", "Because").with_code(code).with_details(details).boxed())
}

/// The first step that is sent, where the Deployment is like this on the server, or can't be read; none where nothing is.
fn first_step(
    workload: &Workload,
    course: &mut Course,
    on_the_server: Result<Option<&LiveObject>, &ApiError>,
) -> Option<Step> {
    loop {
        match (course.next(schemas(), earlier()), on_the_server) {
            (Next::Read(Read::Workload), _) => course.read_workload(Some(&workload.metadata)),
            (Next::Read(Read::Autoscalers), _) => course.read_autoscalers(Vec::new()),
            (Next::Read(Read::Child(ChildKind::Deployment)), Ok(live)) => {
                course.read_child(ChildKind::Deployment, live.cloned());
            }
            (Next::Read(read @ Read::Child(ChildKind::Deployment)), Err(error)) => {
                course.unreadable(read, error);
            }
            (Next::Read(Read::Child(child)), _) => course.read_child(child, None),
            (Next::Plan, _) => course.planned(plan(course.seen(), course.held_back()).unwrap()),
            (Next::Send(_), _) => return course.step_under_way().cloned(),
            (Next::Done, _) => return None,
        }
    }
}

#[test]
fn an_autoscaler_is_not_created_on_the_word_of_a_cache_that_does_not_show_baton_as_the_holder_yet() {
    let (workload, mut course) = autoscaled("s");
    let step = first_step(&workload, &mut course, Ok(Some(&deployment("b"))));
    assert!(matches!(step, Some(Step::HandOver(_))), "{step:?}");
}

#[test]
fn without_reading_the_deployment_neither_the_replica_count_is_moved_nor_the_autoscaler_created() {
    for managers in ["s", "b"] {
        let (workload, mut course) = autoscaled(managers);
        assert_eq!(first_step(&workload, &mut course, Err(&unanswered())), None, "held by {managers}");
    }
}

#[test]
fn a_replica_count_that_baton_does_not_hold_is_set_only_after_reading() {
    let workload = workload(&json!({"replicas": 3}));
    let mut course = Course::new(seen(&workload, [deployment_held_by("o", 4)]), BTreeSet::new(), false);
    course.next(schemas(), earlier());
    course.planned(plan(course.seen(), course.held_back()).unwrap());
    assert!(matches!(course.next(schemas(), earlier()), Next::Read(Read::Workload)));
}

/// A Workload with a Service, and what a pass made of it.
fn settled() -> Snapshot {
    let spec = json!({"replicas": 3, "service": {"type": "ClusterIP", "ports": [{"port": 80}]}});
    enforced(seen(&workload(&spec), [])).0.seen
}

/// The same after somebody else applied another type to the Service.
fn contested() -> Snapshot {
    let mut seen = settled();
    let rogue = object(ChildKind::Service, &json!({"type": "NodePort"}));
    let taken = response(&apply(&rogue, "rogue", true), seen.child(ChildKind::Service), earlier());
    seen.put(ChildKind::Service, Some(taken));
    seen
}

/// Sends the first step of a pass, which ends like this.
fn ended(course: &mut Course, response: Result<Option<LiveObject>, ApiError>) -> Ended {
    let workload = course.seen().workload.clone();
    let live = course.seen().child(ChildKind::Deployment).cloned();
    first_step(&workload, course, Ok(live.as_ref())).expect("something is sent");
    course.responded(schemas(), response).unwrap()
}

#[test]
fn what_would_change_nothing_is_not_sent_and_counts_as_applied() {
    let (finished, writes) = enforced(settled());
    assert_eq!(writes, Vec::<String>::new());
    assert_eq!(finished.skipped, [ChildKind::Deployment, ChildKind::Service]);
    assert_eq!(finished.results[&ChildKind::Service], ChildResult::Applied);
    assert!(finished.settled);
}

#[test]
fn a_field_that_was_taken_back_is_a_correction_with_its_manager() {
    let mut course = Course::new(contested(), BTreeSet::new(), false);
    let workload = course.seen().workload.clone();
    let live = course.seen().child(ChildKind::Deployment).cloned();
    let step = first_step(&workload, &mut course, Ok(live.as_ref())).unwrap();
    let request = step.request(&workload).unwrap();
    let after = response(&request, course.seen().child(ChildKind::Service), earlier());
    let Ended { corrections, takes, .. } = course.responded(schemas(), Ok(Some(after))).unwrap();
    let correction = Correction { path: takes[0].path.clone(), from: Some("rogue".to_owned()) };
    assert_eq!((takes.len(), corrections), (1, vec![correction]));
    assert_eq!(takes[0].path.as_str(), ".spec.type");
}

#[test]
fn an_object_that_is_made_is_one_correction_whatever_is_in_it() {
    let workload = workload(&json!({"replicas": 3}));
    let mut course = Course::new(seen(&workload, []), BTreeSet::new(), false);
    let step = first_step(&workload, &mut course, Ok(None)).unwrap();
    let request = step.request(&workload).unwrap();
    let made = response(&request, None, earlier());
    let Ended { corrections, result, .. } = course.responded(schemas(), Ok(Some(made))).unwrap();
    let paths: Vec<&str> = corrections.iter().map(|correction| correction.path.as_str()).collect();
    assert_eq!((paths, result), (vec!["the object itself"], Some(ChildResult::Created)));
}

#[test]
fn a_stale_write_is_followed_by_a_read_and_another_plan() {
    let mut course = Course::new(contested(), BTreeSet::new(), false);
    let Ended { outcome, result, .. } = ended(&mut course, Err(refusal(409)));
    assert!(matches!(outcome, Outcome::Stale { .. }) && result.is_none());
    assert!(matches!(course.next(schemas(), earlier()), Next::Read(Read::Child(ChildKind::Service))));
    assert!(matches!(course.next(schemas(), earlier()), Next::Plan));
}

#[test]
fn a_rejected_child_and_one_without_a_response_are_left_alone_from_then_on() {
    for (error, expected) in [
        (refusal(422), ChildResult::Rejected("no".to_owned())),
        (unanswered(), ChildResult::Failed("the API server did not respond within 1s".to_owned())),
    ] {
        let mut course = Course::new(contested(), BTreeSet::new(), false);
        assert_eq!(ended(&mut course, Err(error)).result.as_ref(), Some(&expected));
        assert!(course.held_back().contains(&ChildKind::Service));
        let workload = course.seen().workload.clone();
        let live = course.seen().child(ChildKind::Deployment).cloned();
        assert_eq!(first_step(&workload, &mut course, Ok(live.as_ref())), None);
        assert_eq!(course.finish().results[&ChildKind::Service], expected);
    }
}

#[test]
fn what_somebody_made_while_baton_looked_is_met_by_a_conflict_and_not_overwritten() {
    let workload = workload(&json!({"replicas": 3}));
    let mut course = Course::new(seen(&workload, []), BTreeSet::new(), false);
    let created = first_step(&workload, &mut course, Ok(None)).unwrap();
    let request = created.request(&workload).unwrap();
    assert!(matches!(request.change, Change::Apply { force: false, .. }), "{request:?}");

    let ended = course.responded(schemas(), Err(refusal(409))).unwrap();
    assert!(matches!(ended.outcome, Outcome::Stale { .. }), "{ended:?}");
    let mut theirs = deployment_held_by("o", 4).1;
    theirs["metadata"]["ownerReferences"] = json!([]);
    assert_eq!(first_step(&workload, &mut course, Ok(Some(&live(theirs)))), None);
    let refused: Vec<ChildKind> = course.finish().refused.iter().map(|refusal| refusal.child).collect();
    assert_eq!(refused, [ChildKind::Deployment]);
}

#[test]
fn a_child_that_is_not_wanted_any_more_is_deleted_though_it_has_lost_the_label_that_caches_know_it_by() {
    let mut workload = workload(&json!({"replicas": 4}));
    let told =
        json!({"kind": "PodDisruptionBudget", "name": "web", "apiVersion": "policy/v1", "state": "Applied"});
    workload.status = Some(serde_json::from_value(json!({"children": [told]})).unwrap());
    let seen = seen(&workload, [deployment_held_by("b", 4)]);
    let budget = ChildKind::DisruptionBudget;
    let mut held_back = Course::new(seen.clone(), [budget].into(), false);
    let mut course = Course::new(seen, BTreeSet::new(), false);
    for course in [&mut held_back, &mut course] {
        assert!(matches!(course.next(schemas(), earlier()), Next::Read(Read::Child(read)) if read == budget));
    }
    course.read_child(budget, Some(live(child(budget).1)));
    let step = first_step(&workload, &mut course, Ok(None));
    assert!(matches!(step, Some(Step::Delete { child, .. }) if child == budget), "{step:?}");
}
