//! What people are told of a pass: status, conditions and Events.
#![allow(clippy::unwrap_used)]

mod common;

use std::collections::BTreeMap;

use baton_controller::{
    child::ChildKind,
    report::{ChildResult, Pass, changes, deeds, status},
};
use baton_crd::{ChildState, HandoverPhase, Workload, WorkloadStatus};
use common::{child, deployment_held_by, seen, workload};
use jiff::{Timestamp, ToSpan};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use serde_json::{Value, json};

fn now() -> Timestamp {
    "2026-01-02T03:04:05Z".parse().unwrap()
}

fn pass(
    workload: &Workload,
    children: impl IntoIterator<Item = (ChildKind, Value)>,
    results: impl IntoIterator<Item = (ChildKind, ChildResult)>,
) -> Pass {
    let results = BTreeMap::from_iter(results);
    Pass { results, settled: true, ..Pass::new(seen(workload, children)) }
}

/// A Deployment that Baton holds, with this status.
fn deployment(status: &Value) -> (ChildKind, Value) {
    let (kind, mut object) = deployment_held_by("b", 3);
    object["metadata"]["generation"] = json!(2);
    object["status"] = status.clone();
    (kind, object)
}

fn running() -> Value {
    json!({
        "observedGeneration": 2, "replicas": 3, "updatedReplicas": 3, "readyReplicas": 3, "availableReplicas": 3,
        "conditions": [{"type": "Available", "status": "True"}, {"type": "Progressing", "status": "True"}],
    })
}

fn applied() -> [(ChildKind, ChildResult); 1] {
    [(ChildKind::Deployment, ChildResult::Applied)]
}

fn condition<'a>(status: &'a WorkloadStatus, type_: &str) -> &'a Condition {
    status.conditions.iter().find(|condition| condition.type_ == type_).unwrap()
}

/// A condition in short, such as `True Available`.
fn told(status: &WorkloadStatus, type_: &str) -> String {
    let condition = condition(status, type_);
    format!("{} {}", condition.status, condition.reason)
}

fn reasons(pass: &Pass, previous: &WorkloadStatus, status: &WorkloadStatus) -> Vec<String> {
    changes(pass, previous, status, now()).into_iter().map(|event| event.reason).collect()
}

#[test]
fn a_pass_that_changes_nothing_gives_the_same_status_whenever_it_runs() {
    let workload = workload(&json!({"replicas": 3}));
    let pass = pass(&workload, [deployment(&running())], applied());
    let first = status(&pass, &WorkloadStatus::default(), now());
    assert_eq!(status(&pass, &first, now() + 1.hour()), first);
    assert_eq!(reasons(&pass, &first, &first), Vec::<String>::new());
}

#[test]
fn a_workload_is_ready_once_its_deployment_is_available_with_the_latest_spec() {
    let workload = workload(&json!({"replicas": 3}));
    let ready = |deployment_status: &Value| {
        let pass = pass(&workload, [deployment(deployment_status)], applied());
        let status = status(&pass, &WorkloadStatus::default(), now());
        (told(&status, "Ready"), told(&status, "Progressing"))
    };
    let pair = |ready: &str, progressing: &str| (ready.to_owned(), progressing.to_owned());
    assert_eq!(ready(&running()), pair("True Available", "False Complete"));

    let mut unseen = running();
    unseen["observedGeneration"] = json!(1);
    assert_eq!(ready(&unseen), pair("False RollingOut", "True RollingOut"));

    let mut too_few = running();
    too_few["availableReplicas"] = json!(1);
    too_few["conditions"] = json!([{"type": "Available", "status": "False"}]);
    assert_eq!(ready(&too_few), pair("False RollingOut", "True RollingOut"));

    let mut stuck = running();
    stuck["conditions"] = json!([{"type": "Progressing", "status": "False", "message": "deadline exceeded"}]);
    assert_eq!(ready(&stuck), pair("False Stuck", "False Stuck"));
}

#[test]
fn a_ready_workload_stays_so_while_another_number_of_replicas_is_looked_at() {
    let workload = workload(&json!({"replicas": 3}));
    let before =
        status(&pass(&workload, [deployment(&running())], applied()), &WorkloadStatus::default(), now());
    let mut unseen = running();
    unseen["observedGeneration"] = json!(1);
    let after = status(&pass(&workload, [deployment(&unseen)], applied()), &before, now());
    assert_eq!(told(&after, "Ready"), "True Available");

    let mut edited = workload.clone();
    edited.metadata.generation = Some(2);
    let after = status(&pass(&edited, [deployment(&unseen)], applied()), &before, now());
    assert_eq!(told(&after, "Ready"), "False RollingOut", "a changed spec has to be seen first");
}

#[test]
fn a_condition_is_dated_by_the_change_of_its_status() {
    let workload = workload(&json!({"replicas": 3}));
    let well = pass(&workload, [deployment(&running())], applied());
    let before = status(&well, &WorkloadStatus::default(), now());
    let rejected = [(ChildKind::Deployment, ChildResult::Rejected("no".into()))];
    let after = status(&pass(&workload, [deployment(&running())], rejected), &before, now() + 1.minute());
    let since = |status: &WorkloadStatus, type_| condition(status, type_).last_transition_time.0;
    assert_eq!(since(&after, "Progressing"), now());
    assert_eq!(since(&after, "Applied"), now() + 1.minute());
}

#[test]
fn a_rejected_child_is_told_in_the_servers_words_by_one_event_and_its_recovery_by_another() {
    let workload = workload(&json!({"replicas": 3}));
    let words = "spec.replicas: Invalid value";
    let rejected = pass(&workload, [], [(ChildKind::Deployment, ChildResult::Rejected(words.into()))]);
    let first = status(&rejected, &WorkloadStatus::default(), now());
    assert_eq!(told(&first, "Applied"), "False Rejected");
    assert!(condition(&first, "Applied").message.contains(words));
    assert_eq!(reasons(&rejected, &WorkloadStatus::default(), &first), ["Rejected"]);

    let held_back = pass(&workload, [], [(ChildKind::Deployment, ChildResult::HeldBack)]);
    let second = status(&held_back, &first, now());
    assert_eq!(second, first, "while it is held back, what was said still holds");
    assert_eq!(reasons(&held_back, &first, &second), Vec::<String>::new());

    let well = pass(&workload, [deployment(&running())], applied());
    let third = status(&well, &second, now());
    assert_eq!(third.children[0].state, ChildState::Applied);
    assert!(reasons(&well, &second, &third).contains(&"Accepted".to_owned()));
}

#[test]
fn the_handover_shows_in_holder_phase_and_conditions() {
    let autoscaled = workload(&json!({"autoscaling": {"minReplicas": 2, "maxReplicas": 5}}));
    let told_of = |managers: &str| {
        let children = [deployment_held_by(managers, 4), child(ChildKind::Autoscaler)];
        let status = status(&pass(&autoscaled, children, []), &WorkloadStatus::default(), now());
        let ownership = status.replica_ownership.clone().unwrap();
        let types = status.conditions.iter().filter(|condition| condition.type_.contains("Hand"));
        let types: Vec<String> =
            types.map(|condition| format!("{}={}", condition.type_, condition.status)).collect();
        (ownership.holder, ownership.phase, types)
    };
    let pending = vec!["HandedOver=False".to_owned(), "HandoverPending=True".to_owned()];
    assert_eq!(told_of("t"), ("handover-to-hpa".into(), HandoverPhase::HandoverPending, pending));
    let done = vec!["HandedOver=True".to_owned()];
    assert_eq!(told_of("s"), ("kube-controller-manager (scale)".into(), HandoverPhase::HandedOver, done));
    let other = vec!["HandedOver=False".to_owned()];
    assert_eq!(told_of("o"), ("kubectl".into(), HandoverPhase::OwnedByOther, other));
}

#[test]
fn an_autoscaler_that_is_gone_is_missed_while_the_number_stays() {
    let autoscaled = workload(&json!({"autoscaling": {"minReplicas": 2, "maxReplicas": 5}}));
    let pass = pass(&autoscaled, [deployment_held_by("s", 4)], []);
    let status = status(&pass, &WorkloadStatus::default(), now());
    assert_eq!(told(&status, "AutoscalerMissing"), "True AutoscalerMissing");
    assert_eq!(status.replica_ownership.unwrap().value, 4);
}

#[test]
fn an_event_names_its_child_and_fits_what_the_server_takes() {
    let workload = workload(&json!({"replicas": 3}));
    let long = "ä".repeat(2000);
    let pass = pass(&workload, [], [(ChildKind::Deployment, ChildResult::Rejected(long))]);
    let after = status(&pass, &WorkloadStatus::default(), now());
    let events = changes(&pass, &WorkloadStatus::default(), &after, now());
    assert!(events[0].note.as_ref().unwrap().len() <= 1024);
    assert_eq!(events[0].secondary.as_ref().unwrap().kind.as_deref(), Some("Deployment"));
}

#[test]
fn what_was_made_or_deleted_is_told_and_what_was_only_applied_is_not() {
    let workload = workload(&json!({"replicas": 3}));
    let results = [
        (ChildKind::Deployment, ChildResult::Applied),
        (ChildKind::Service, ChildResult::Created),
        (ChildKind::DisruptionBudget, ChildResult::Deleted),
    ];
    let events = deeds(&pass(&workload, [], results));
    let told: Vec<_> = events.into_iter().filter_map(|event| event.note).collect();
    assert_eq!(
        told,
        ["created Service web", "deleted PodDisruptionBudget web: the spec no longer asks for it"]
    );
}
