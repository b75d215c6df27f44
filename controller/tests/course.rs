//! A pass, request by request: what it reads past the caches before it writes, and what it makes of it.
#![allow(clippy::unwrap_used)]

mod common;

use std::{collections::BTreeSet, sync::Arc};

use baton_controller::{
    child::ChildKind,
    course::{Course, Look, Next},
    live::Live,
    plan::Step,
};
use baton_crd::Workload;
use common::{deployment_held_by, live, seen, workload};
use serde_json::json;

/// A pass of a Workload that asks for an autoscaler, while the cache shows the Deployment as these managers hold it.
fn autoscaled(managers: &str) -> (Arc<Workload>, Course) {
    let workload = workload(&json!({"autoscaling": {"minReplicas": 2, "maxReplicas": 5}}));
    let seen = seen(&workload, [deployment_held_by(managers, 4)]);
    (seen.workload.clone(), Course::new(seen, BTreeSet::new()))
}

fn deployment(managers: &str) -> Live {
    live(deployment_held_by(managers, 4).1)
}

/// The first step that isn't a look, where the Deployment is like this on the server, or can't be read.
fn first_step(workload: &Workload, mut course: Course, on_the_server: Option<&Live>) -> Next {
    loop {
        match (course.go_on().unwrap(), on_the_server) {
            (Next::Look(Look::Workload), _) => course.saw_workload(Some(workload)),
            (Next::Look(Look::Autoscalers), _) => course.saw_autoscalers(Vec::new()),
            (Next::Look(Look::Child(ChildKind::Deployment)), Some(live)) => {
                course.saw_child(ChildKind::Deployment, Some(live.clone()));
            }
            (Next::Look(look @ Look::Child(ChildKind::Deployment)), None) => course.missed(look),
            (Next::Look(Look::Child(child)), _) => course.saw_child(child, None),
            (next, _) => return next,
        }
    }
}

#[test]
fn an_autoscaler_is_not_created_on_the_word_of_a_cache_that_does_not_show_baton_as_the_holder_yet() {
    let (workload, course) = autoscaled("s");
    let next = first_step(&workload, course, Some(&deployment("b")));
    assert!(matches!(next, Next::Write(Step::HandOver { replicas: 4, .. })), "{next:?}");
}

#[test]
fn without_a_look_at_the_deployment_neither_the_number_is_moved_nor_the_autoscaler_created() {
    for managers in ["s", "b"] {
        let (workload, course) = autoscaled(managers);
        assert_eq!(first_step(&workload, course, None), Next::Done, "held by {managers}");
    }
}

#[test]
fn a_number_that_baton_does_not_hold_is_set_only_after_a_look() {
    let workload = workload(&json!({"replicas": 3}));
    let seen = seen(&workload, [deployment_held_by("o", 4)]);
    let next = Course::new(seen, BTreeSet::new()).go_on().unwrap();
    assert_eq!(next, Next::Look(Look::Workload));
}
