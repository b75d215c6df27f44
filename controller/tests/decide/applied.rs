//! What `Applied` promises, over passes on servers that do anything.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use crate::common::{
    change,
    cluster::{Asked, apply, earlier, enforced, failure, next, object, response, schemas, show, write},
    seen, spec_of_all, terminate, workload,
};
use baton_apply::ApiError;
use baton_controller::{
    decide::{child::ChildKind, course::Course, pass::Pass, snapshot::Snapshot},
    report::status,
};
use baton_crd::{ChildState, WorkloadStatus};
use proptest::prelude::*;
use serde_json::json;

/// The server's response to a write.
#[derive(Clone, Copy, Debug)]
enum Play {
    Store,
    /// Another manager writes first.
    Overtake,
    /// Another manager deletes the object first, which a finalizer keeps.
    Delete,
    Conflict,
    Deny,
    Fail,
    Lose,
}

/// How a child is in the cache when the pass begins.
#[derive(Clone, Copy, Debug)]
enum Start {
    Missing,
    AsWanted,
    Edited,
    Dying,
}

/// A Workload with all four children, after a pass over it.
fn complete() -> Snapshot {
    enforced(seen(&workload(&spec_of_all()), [])).0.seen
}

/// Another manager takes a field of Baton's.
fn edit(server: &mut Snapshot, child: ChildKind, number: usize) {
    let spec = match child {
        ChildKind::Deployment => json!({"progressDeadlineSeconds": 100 + number}),
        ChildKind::Service => {
            json!({"type": if number.is_multiple_of(2) { "NodePort" } else { "LoadBalancer" }})
        }
        ChildKind::Autoscaler => json!({"maxReplicas": 10 + number}),
        ChildKind::DisruptionBudget => json!({"maxUnavailable": 10 + number}),
    };
    let edit = apply(&object(child, &spec), "rogue", true);
    let edited = response(&edit, server.child(child));
    server.put(child, Some(edited));
}

/// Runs a pass; the plays are those of its writes, in order. Returns also the children whose last write was stored.
fn run(cached: Snapshot, server: &mut Snapshot, plays: &[Play]) -> (Pass, BTreeSet<ChildKind>) {
    let mut course = Course::new(cached, BTreeSet::new(), false);
    let (mut stored, mut plays) = (BTreeSet::new(), plays.iter().copied().enumerate());
    while let Some(asked) = next(&mut course) {
        let (step, request) = match asked {
            Asked::Read(read) => {
                show(&mut course, read, server);
                continue;
            }
            Asked::Write(step, request) => (step, request),
        };
        let child = step.child();
        stored.remove(&child);
        let (number, play) = plays.next().unwrap_or((0, Play::Store));
        let exists = server.child(child).is_some_and(|live| !live.is_terminating());
        let refused = match play {
            Play::Overtake if exists => {
                edit(server, child, number);
                None
            }
            Play::Delete if exists => {
                terminate(server, child);
                change(server, child, |object| {
                    object["metadata"]["resourceVersion"] = json!(format!("gone-{number}"));
                });
                None
            }
            Play::Store | Play::Overtake | Play::Delete => None,
            Play::Conflict => Some(failure(409, "Conflict", "the object has been modified")),
            Play::Deny => Some(failure(409, "", "admission webhook \"x.y\" denied the request")),
            Play::Fail => Some(failure(500, "", "etcdserver: leader changed")),
            Play::Lose => Some(ApiError::Timeout(Duration::from_secs(1))),
        };
        let result = refused.map_or_else(|| write(server, &course, child, &request), Err);
        if result.is_ok() {
            stored.insert(child);
        }
        course.responded(schemas(), result).unwrap();
    }
    let pass = course.finish();
    stored.extend(pass.skipped.iter().copied());
    (pass, stored)
}

fn plays() -> impl Strategy<Value = Vec<Play>> {
    let play = prop_oneof![
        4 => Just(Play::Store),
        4 => Just(Play::Overtake),
        1 => Just(Play::Delete),
        4 => Just(Play::Conflict),
        1 => Just(Play::Deny),
        1 => Just(Play::Fail),
        1 => Just(Play::Lose),
    ];
    prop_oneof![
        3 => prop::collection::vec(play, 0..30),
        1 => Just(vec![Play::Conflict; 60]),
        1 => Just(vec![Play::Overtake; 60]),
    ]
}

fn start() -> impl Strategy<Value = Start> {
    prop_oneof![
        1 => Just(Start::Missing),
        2 => Just(Start::AsWanted),
        3 => Just(Start::Edited),
        1 => Just(Start::Dying),
    ]
}

/// Plays a pass, and judges what its status claims.
fn judge(starts: [Start; 4], plays: &[Play]) -> Result<(), TestCaseError> {
    let mut server = complete();
    for (child, start) in ChildKind::ALL.into_iter().zip(starts) {
        match start {
            Start::Missing => server.put(child, None),
            Start::AsWanted => {}
            Start::Edited => edit(&mut server, child, 99),
            Start::Dying => terminate(&mut server, child),
        }
    }
    let (pass, stored) = run(server.clone(), &mut server, plays);
    let before = WorkloadStatus { observed_generation: Some(0), ..WorkloadStatus::default() };
    let after = status(&pass, &before, earlier());
    let states: BTreeMap<&str, ChildState> =
        after.children.iter().map(|child| (child.kind.as_str(), child.state)).collect();
    for child in ChildKind::ALL {
        if states.get(child.name()) == Some(&ChildState::Applied) {
            prop_assert!(stored.contains(&child), "{child}: {pass:?}");
            prop_assert!(!pass.seen.child(child).unwrap().is_terminating(), "{child}: {pass:?}");
        }
    }
    let is_true = |type_: &str| after.conditions.iter().any(|one| one.type_ == type_ && one.status == "True");
    if is_true("Applied") || is_true("Ready") {
        prop_assert!(states.values().all(|state| *state == ChildState::Applied), "{after:?}");
        prop_assert!(pass.settled, "{after:?}");
        prop_assert_eq!(after.observed_generation, Some(1));
    }
    if after.observed_generation != Some(1) {
        prop_assert!(is_true("Reconciling"), "{after:?}");
    }
    Ok(())
}

proptest! {
    #[test]
    fn a_child_is_applied_only_if_its_last_write_was_stored_or_proven_a_no_op_and_it_is_not_being_deleted(
        starts in prop::array::uniform4(start()),
        plays in plays(),
    ) {
        judge(starts, &plays)?;
    }
}

#[test]
fn a_child_that_was_created_and_conflicts_until_the_pass_ends_is_not_applied() {
    use Play::{Conflict, Store};
    let plays = [Store, Conflict, Store, Conflict, Conflict, Conflict, Store]
        .into_iter()
        .chain([Conflict; 4])
        .collect::<Vec<_>>();
    judge([Start::Missing, Start::AsWanted, Start::Missing, Start::Missing], &plays).unwrap();
}
