//! The report of a pass: status, conditions and Events.

use std::{collections::BTreeMap, time::Duration};

use crate::common::{child, deployment_owned_by, seen, terminate, workload};
use baton_apply::{
    Effects, FieldPath, Takeover,
    contention::{Contested, LONGEST_PAUSE},
};
use baton_controller::{
    decide::{
        child::ChildKind,
        course::{ChildResult, Milestone},
        rehearsal::Rehearsed,
        replicas::{Autoscaler, Scales},
    },
    report::{Done, Pass, Tried, Unreadable, Unreported, events, status, unreadable},
};
use baton_crd::{ChildState, DryRunResult, HandoverPhase, PlannedAction, Workload, WorkloadStatus};
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
    let done = Done::Enforced { results: BTreeMap::from_iter(results), contested: Vec::new() };
    Pass { done, ..Pass::of_nothing(seen(workload, children)) }
}

fn contested_field(path: &str) -> Contested<ChildKind> {
    Contested {
        key: ChildKind::Deployment,
        path: FieldPath::spelled(path),
        manager: "rogue".to_owned(),
        count: 5,
        pause: Duration::from_secs(4),
    }
}

/// The same while this is contested.
fn contested_pass(contested: Contested<ChildKind>) -> Pass {
    let mut pass = pass(&workload(&json!({"replicas": 3})), [deployment(&running())], applied());
    if let Done::Enforced { contested: all, .. } = &mut pass.done {
        all.push(contested);
    }
    pass
}

/// A Deployment whose replica count Baton owns, with this status.
fn deployment(status: &Value) -> (ChildKind, Value) {
    let (kind, mut object) = deployment_owned_by("b", 3);
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
fn brief(status: &WorkloadStatus, type_: &str) -> String {
    let condition = condition(status, type_);
    format!("{} {}", condition.status, condition.reason)
}

/// What kstatus reads: `Stalled` or `Reconciling` with its reason, or none when settled.
fn progress(status: &WorkloadStatus) -> Option<String> {
    let is_progress = |condition: &&Condition| matches!(condition.type_.as_str(), "Stalled" | "Reconciling");
    let found: Vec<&Condition> = status.conditions.iter().filter(is_progress).collect();
    assert!(found.len() < 2 && found.iter().all(|condition| condition.status == "True"), "{found:?}");
    found.first().map(|condition| format!("{} {}", condition.type_, condition.reason))
}

fn reasons(pass: &Pass, previous: &WorkloadStatus, status: &WorkloadStatus) -> Vec<String> {
    events(pass, previous, status, now()).into_iter().map(|event| event.reason).collect()
}

#[test]
fn a_pass_that_changes_nothing_gives_the_same_status_at_any_time() {
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
        (brief(&status, "Ready"), progress(&status))
    };
    let pair = |ready: &str, progress: &str| (ready.to_owned(), Some(progress.to_owned()));
    assert_eq!(ready(&running()), ("True Available".to_owned(), None));

    let mut unseen = running();
    unseen["observedGeneration"] = json!(1);
    assert_eq!(ready(&unseen), pair("False RollingOut", "Reconciling RollingOut"));

    let mut too_few = running();
    too_few["availableReplicas"] = json!(1);
    too_few["conditions"] = json!([{"type": "Available", "status": "False"}]);
    assert_eq!(ready(&too_few), pair("False RollingOut", "Reconciling RollingOut"));

    let mut stuck = running();
    stuck["conditions"] = json!([{"type": "Progressing", "status": "False", "message": "deadline exceeded"}]);
    assert_eq!(ready(&stuck), pair("False Stuck", "Stalled Stuck"));

    let mut short = too_few;
    let conditions = short["conditions"].as_array_mut().unwrap();
    conditions.push(json!({"type": "ReplicaFailure", "status": "True", "message": "exceeded quota: small"}));
    assert_eq!(ready(&short), pair("False ReplicaFailure", "Reconciling ReplicaFailure"));
}

#[test]
fn a_workload_with_a_child_that_is_not_applied_is_not_ready_and_stalls_if_baton_cannot_continue() {
    let workload = workload(&json!({"replicas": 3, "service": {"ports": [{"port": 80}]}}));
    let with = |result: ChildResult| {
        let results = applied().into_iter().chain([(ChildKind::Service, result)]);
        let pass = pass(&workload, [deployment(&running())], results);
        let status = status(&pass, &WorkloadStatus::default(), now());
        (brief(&status, "Ready"), progress(&status))
    };
    let not_ready = |progress: &str| ("False NotApplied".to_owned(), Some(progress.to_owned()));
    assert_eq!(with(ChildResult::Created), ("True Available".to_owned(), None));
    assert_eq!(with(ChildResult::Failed("no response".to_owned())), not_ready("Reconciling Pending"));
    assert_eq!(with(ChildResult::Rejected("no".to_owned())), not_ready("Stalled Rejected"));
}

/// The Workload after an edit, and its status before it.
fn edited() -> (Workload, WorkloadStatus) {
    let mut workload = workload(&json!({"replicas": 3}));
    let before =
        status(&pass(&workload, [deployment(&running())], applied()), &WorkloadStatus::default(), now());
    assert_eq!((before.observed_generation, brief(&before, "Ready")), (Some(1), "True Available".to_owned()));
    workload.metadata.generation = Some(2);
    (workload, before)
}

#[test]
fn a_pass_that_is_not_settled_claims_nothing_for_the_generation() {
    let (workload, before) = edited();
    let written = || vec![(ChildKind::Deployment, ChildResult::Applied)];
    let overtaken = ChildResult::Overtaken("the object has been modified".to_owned());
    for (settled, results) in [
        (false, Vec::new()),
        (false, written()),
        (true, vec![(ChildKind::Deployment, overtaken)]),
        (true, vec![(ChildKind::Deployment, ChildResult::Failed("no response".to_owned()))]),
    ] {
        let pass = Pass { settled, ..pass(&workload, [deployment(&running())], results) };
        let after = status(&pass, &before, now());
        assert_eq!(after.observed_generation, Some(1), "{pass:?}");
        assert_eq!(brief(&after, "Applied"), "False Pending", "{pass:?}");
        assert_eq!(brief(&after, "Ready"), "False NotApplied", "{pass:?}");
        assert_eq!(progress(&after).as_deref(), Some("Reconciling Pending"), "{pass:?}");
    }
    let settled = pass(&workload, [deployment(&running())], written());
    assert_eq!(status(&settled, &before, now()).observed_generation, Some(2));
    let rejected = [(ChildKind::Deployment, ChildResult::Rejected("no".to_owned()))];
    let rejected = status(&pass(&workload, [deployment(&running())], rejected), &before, now());
    assert_eq!(rejected.observed_generation, Some(2), "the server has decided about the spec");
}

#[test]
fn a_preview_that_is_not_settled_claims_nothing_for_the_generation() {
    let mut pass = planned("Preview", Rehearsed::default(), DryRunResult::Agreed, None);
    pass.settled = false;
    let before = WorkloadStatus { observed_generation: Some(0), ..WorkloadStatus::default() };
    let after = status(&pass, &before, now());
    assert_eq!(after.observed_generation, Some(0));
    assert_eq!(progress(&after).as_deref(), Some("Reconciling Pending"));
}

#[test]
fn a_child_that_is_overtaken_again_and_again_is_one_event() {
    let (workload, before) = edited();
    let overtaken = ChildResult::Overtaken("the object has been modified".to_owned());
    let pass = pass(&workload, [deployment(&running())], [(ChildKind::Deployment, overtaken)]);
    let after = status(&pass, &before, now());
    assert_eq!(after.children[0].state, ChildState::Pending);
    assert!(condition(&after, "Applied").message.contains("the object has been modified"));
    assert_eq!(reasons(&pass, &before, &after), ["Overtaken"]);
    assert_eq!(reasons(&pass, &after, &status(&pass, &after, now())), Vec::<String>::new());
}

/// A Workload with all four children, all of them as the spec says.
fn complete(mode: &str) -> Pass {
    let workload = workload(&json!({
        "mode": mode,
        "autoscaling": {"minReplicas": 2, "maxReplicas": 5},
        "service": {"ports": [{"port": 80}]},
        "disruptionBudget": {"maxUnavailable": 1},
    }));
    let mut deployment = deployment_owned_by("s", 3).1;
    deployment["status"] = running();
    let others = [ChildKind::Service, ChildKind::Autoscaler, ChildKind::DisruptionBudget].map(child);
    Pass::of_nothing(seen(&workload, others.into_iter().chain([(ChildKind::Deployment, deployment)])))
}

#[test]
fn a_child_that_is_being_deleted_is_not_applied() {
    let whole = complete("Enforce");
    assert!(whole.is_well());
    let status_of = |pass: &Pass| status(pass, &WorkloadStatus::default(), now());
    assert_eq!(brief(&status_of(&whole), "Applied"), "True Applied");
    for (kind, mode) in ChildKind::ALL.into_iter().flat_map(|kind| [(kind, "Enforce"), (kind, "Preview")]) {
        let mut pass = complete(mode);
        if mode == "Preview" {
            let tried =
                Tried { rehearsed: Rehearsed::default(), dry_run: DryRunResult::Agreed, message: None };
            pass.done = Done::Previewed(ChildKind::ALL.map(|kind| (kind, tried.clone())).into());
        }
        terminate(&mut pass.seen, kind);
        let after = status_of(&pass);
        let child = after.children.iter().find(|child| child.kind == kind.name()).unwrap();
        assert_eq!(child.state, ChildState::Pending, "{kind} in {mode}");
        assert!(!pass.is_well(), "{kind} in {mode}");
        if mode == "Enforce" {
            assert_eq!(brief(&after, "Applied"), "False Pending", "{kind}");
            assert_eq!(progress(&after).as_deref(), Some("Reconciling Pending"), "{kind}");
        }
    }
}

#[test]
fn a_deployment_that_waits_for_the_end_of_batons_autoscaler_is_not_applied() {
    let fixed = workload(&json!({"replicas": 3}));
    let mut seen = seen(&fixed, [deployment_owned_by("b", 5), child(ChildKind::Autoscaler)]);
    terminate(&mut seen, ChildKind::Autoscaler);
    for results in [BTreeMap::new(), applied().into()] {
        let was_written = !results.is_empty();
        let pass = Pass { done: pass(&fixed, [], results).done, ..Pass::of_nothing(seen.clone()) };
        assert_eq!(pass.is_well(), was_written);
        let after = status(&pass, &WorkloadStatus::default(), now());
        assert_eq!(brief(&after, "Applied"), "False Pending");
        assert!(condition(&after, "Applied").message.contains("HorizontalPodAutoscaler is deleted"));
    }
}

#[test]
fn a_workload_is_not_applied_while_a_deletion_is_refused_or_open() {
    let fixed = workload(&json!({"replicas": 3}));
    let with = |result: Option<ChildResult>| {
        let results = applied().into_iter().chain(result.map(|result| (ChildKind::Service, result)));
        let pass = pass(&fixed, [deployment(&running()), child(ChildKind::Service)], results);
        let status = status(&pass, &WorkloadStatus::default(), now());
        (status.children[1].state, brief(&status, "Applied"))
    };
    let not_applied = |state, reason: &str| (state, format!("False {reason}"));
    assert_eq!(with(None), not_applied(ChildState::Deleting, "Pending"));
    let failed = ChildResult::Failed("no response".to_owned());
    assert_eq!(with(Some(failed)), not_applied(ChildState::Deleting, "Pending"));
    let rejected = ChildResult::Rejected("no".to_owned());
    assert_eq!(with(Some(rejected)), not_applied(ChildState::Rejected, "Rejected"));
}

#[test]
fn a_workload_that_cannot_be_read_stalls() {
    let workload = workload(&json!({"replicas": 3}));
    let rolling_out = pass(&workload, [deployment(&json!({}))], applied());
    let before = status(&rolling_out, &WorkloadStatus::default(), now());
    assert_eq!(progress(&before).as_deref(), Some("Reconciling RollingOut"));
    let after = unreadable(Some(2), &before, &Unreadable::Undecodable("no".to_owned()), now());
    assert_eq!(
        (brief(&after, "Ready"), progress(&after)),
        ("Unknown Undecodable".to_owned(), Some("Stalled Undecodable".to_owned()))
    );
}

#[test]
fn a_ready_workload_stays_ready_until_another_replica_count_is_observed() {
    let workload = workload(&json!({"replicas": 3}));
    let before =
        status(&pass(&workload, [deployment(&running())], applied()), &WorkloadStatus::default(), now());
    let mut unseen = running();
    unseen["observedGeneration"] = json!(1);
    let after = status(&pass(&workload, [deployment(&unseen)], applied()), &before, now());
    assert_eq!(brief(&after, "Ready"), "True Available");

    let mut edited = workload.clone();
    edited.metadata.generation = Some(2);
    let after = status(&pass(&edited, [deployment(&unseen)], applied()), &before, now());
    assert_eq!(brief(&after, "Ready"), "False RollingOut", "a changed spec has to be observed first");
}

#[test]
fn a_condition_is_dated_by_the_change_of_its_status() {
    let workload = workload(&json!({"replicas": 3}));
    let well = pass(&workload, [deployment(&running())], applied());
    let before = status(&well, &WorkloadStatus::default(), now());
    let rejected = [(ChildKind::Deployment, ChildResult::Rejected("no".into()))];
    let after = status(&pass(&workload, [deployment(&running())], rejected), &before, now() + 1.minute());
    let since = |status: &WorkloadStatus, type_| condition(status, type_).last_transition_time.0;
    assert_eq!(since(&after, "Stalled"), now() + 1.minute());
    assert_eq!(since(&after, "Applied"), now() + 1.minute());
}

#[test]
fn a_rejected_child_is_reported_with_the_servers_message_by_one_event_and_its_recovery_by_another() {
    let workload = workload(&json!({"replicas": 3}));
    let message = "spec.replicas: Invalid value";
    let rejected = pass(&workload, [], [(ChildKind::Deployment, ChildResult::Rejected(message.into()))]);
    let first = status(&rejected, &WorkloadStatus::default(), now());
    assert_eq!(brief(&first, "Applied"), "False Rejected");
    assert!(condition(&first, "Applied").message.contains(message));
    assert_eq!(reasons(&rejected, &WorkloadStatus::default(), &first), ["Rejected"]);

    let second = status(&rejected, &first, now());
    assert_eq!(second, first, "while it is held back, the report stays");
    assert_eq!(reasons(&rejected, &first, &second), Vec::<String>::new());

    let well = pass(&workload, [deployment(&running())], applied());
    let third = status(&well, &second, now());
    assert_eq!(third.children[0].state, ChildState::Applied);
    assert!(reasons(&well, &second, &third).contains(&"Accepted".to_owned()));
}

#[test]
fn the_handover_shows_in_owner_phase_and_conditions() {
    let autoscaled = workload(&json!({"autoscaling": {"minReplicas": 2, "maxReplicas": 5}}));
    let reported = |managers: &str| {
        let children = [deployment_owned_by(managers, 4), child(ChildKind::Autoscaler)];
        let status = status(&pass(&autoscaled, children, []), &WorkloadStatus::default(), now());
        let ownership = status.replica_ownership.clone().unwrap();
        let types = status.conditions.iter().filter(|condition| condition.type_.contains("Hand"));
        let types: Vec<String> =
            types.map(|condition| format!("{}={}", condition.type_, condition.status)).collect();
        (ownership.owner, ownership.phase, types)
    };
    let pending = vec!["HandedOver=False".to_owned(), "HandoverPending=True".to_owned()];
    assert_eq!(reported("t"), ("handover-to-hpa".into(), HandoverPhase::HandoverPending, pending));
    let done = vec!["HandedOver=True".to_owned()];
    assert_eq!(reported("s"), ("kube-controller-manager (scale)".into(), HandoverPhase::HandedOver, done));
    let other = vec!["HandedOver=False".to_owned()];
    assert_eq!(reported("o"), ("kubectl".into(), HandoverPhase::OwnedByOther, other));
}

#[test]
fn a_deleted_autoscaler_is_reported_as_missing_while_the_replica_count_stays() {
    let autoscaled = workload(&json!({"autoscaling": {"minReplicas": 2, "maxReplicas": 5}}));
    let pass = pass(&autoscaled, [deployment_owned_by("s", 4)], []);
    let status = status(&pass, &WorkloadStatus::default(), now());
    assert_eq!(brief(&status, "AutoscalerMissing"), "True AutoscalerMissing");
    assert_eq!(status.replica_ownership.unwrap().value, 4);
}

fn autoscaler(name: &str) -> Autoscaler {
    Autoscaler {
        name: name.to_owned(),
        min_replicas: 2,
        controller: None,
        scales: Scales::Deployment,
        is_ambiguous: false,
    }
}

#[test]
fn an_external_autoscaler_is_reported_as_missing_only_if_it_existed_before() {
    let external = workload(&json!({"autoscaling": {"external": {}}}));
    let by_hand = pass(&external, [deployment_owned_by("s", 4)], []);
    let first = status(&by_hand, &WorkloadStatus::default(), now());
    assert_eq!(brief(&first, "HandedOver"), "True HandedOver", "users may scale without an autoscaler");

    let mut scaled = pass(&external, [deployment_owned_by("s", 4)], []);
    scaled.seen.autoscalers = vec![autoscaler("theirs")];
    let during = status(&scaled, &first, now());
    assert_eq!(during.replica_ownership.as_ref().unwrap().autoscalers, ["theirs"]);
    let after = status(&by_hand, &during, now());
    assert_eq!(brief(&after, "AutoscalerMissing"), "True AutoscalerMissing");
    assert_eq!(status(&by_hand, &after, now()), after, "and it stays missing");
    assert_eq!(reasons(&by_hand, &during, &after), ["AutoscalerMissing"]);
    assert_eq!(status(&scaled, &after, now()), during);
}

#[test]
fn autoscalers_that_the_spec_does_not_have_are_reported_by_name() {
    let fixed = workload(&json!({"replicas": 3}));
    let mut pass = pass(&fixed, [deployment_owned_by("s", 5)], []);
    pass.seen.autoscalers = vec![autoscaler("theirs")];
    let status = status(&pass, &WorkloadStatus::default(), now());
    assert_eq!(brief(&status, "AutoscalerConflict"), "True AutoscalerConflict");
    assert!(condition(&status, "AutoscalerConflict").message.contains("theirs"));
    assert_eq!(reasons(&pass, &WorkloadStatus::default(), &status), ["AutoscalerConflict"]);
}

#[test]
fn an_autoscaler_that_kubernetes_cannot_resolve_or_has_stopped_is_reported() {
    let external = workload(&json!({"autoscaling": {"external": {}}}));
    let own = workload(&json!({"autoscaling": {"minReplicas": 2, "maxReplicas": 5}}));
    let reported = |workload: &Workload, autoscalers: &[&Autoscaler]| {
        let mut pass = pass(workload, [deployment_owned_by("s", 4)], []);
        pass.seen.autoscalers = autoscalers.iter().map(|one| (*one).clone()).collect();
        let status = status(&pass, &WorkloadStatus::default(), now());
        let conflict = status.conditions.iter().find(|condition| condition.type_ == "AutoscalerConflict");
        conflict.map(|condition| condition.message.clone())
    };
    let target = "Deployment of \"extensions/v1beta1\"".to_owned();
    let unresolved = Autoscaler { scales: Scales::Nothing { target: target.clone() }, ..autoscaler("old") };
    let message = reported(&external, &[&unresolved]).unwrap();
    assert!(message.contains("old to target") && message.contains(&target), "{message}");
    assert_eq!(reported(&external, &[&unresolved, &autoscaler("new")]), None, "it does no harm");
    assert_eq!(reported(&own, &[&unresolved]), None, "it does no harm");

    let neither = workload(&json!({}));
    assert!(reported(&neither, &[&unresolved]).unwrap().contains(&target));
    let of_workload = Autoscaler { scales: Scales::Workload, ..autoscaler("theirs") };
    let message = reported(&neither, &[&of_workload]).unwrap();
    assert!(
        message.contains("theirs to target the Deployment, or for the Workload's spec.replicas"),
        "{message}"
    );
    assert_eq!(reported(&neither, &[&autoscaler("theirs")]), None, "anyone may scale");

    let stopped = Autoscaler { is_ambiguous: true, ..autoscaler("theirs") };
    let message = reported(&external, &[&stopped]).unwrap();
    assert!(message.contains("ScalingActive of theirs"), "{message}");
    let fixed = workload(&json!({"replicas": 4}));
    assert!(reported(&fixed, &[&stopped]).unwrap().contains("theirs, which scales"), "the spec has none");
}

#[test]
fn an_autoscaler_at_zero_replicas_is_reported_as_disabled() {
    let autoscaled = workload(&json!({"autoscaling": {"minReplicas": 2, "maxReplicas": 5}}));
    let pass = pass(&autoscaled, [deployment_owned_by("s", 0), child(ChildKind::Autoscaler)], []);
    let status = status(&pass, &WorkloadStatus::default(), now());
    assert_eq!(brief(&status, "AutoscalerDisabled"), "True AutoscalerDisabled");
    assert_eq!(brief(&status, "HandedOver"), "False AutoscalerDisabled");
}

#[test]
fn an_adoption_names_the_managers_that_were_retired() {
    let adopted = Milestone::Adopted { retired: vec!["helm".to_owned()] };
    let pass = pass_that(vec![(ChildKind::Deployment, adopted)], []);
    let unchanged = WorkloadStatus::default();
    let [event] = &events(&pass, &unchanged, &unchanged, now())[..] else { panic!() };
    assert_eq!(event.reason, "Adopted");
    assert!(event.note.as_ref().unwrap().contains("Baton now owns the fields of helm"), "{:?}", event.note);
}

#[test]
fn an_event_names_its_child_and_fits_the_servers_limits() {
    let workload = workload(&json!({"replicas": 3}));
    let long = "ä".repeat(2000);
    let pass = pass(&workload, [], [(ChildKind::Deployment, ChildResult::Rejected(long))]);
    let after = status(&pass, &WorkloadStatus::default(), now());
    let events = events(&pass, &WorkloadStatus::default(), &after, now());
    assert!(events[0].note.as_ref().unwrap().len() <= 1024);
    assert_eq!(events[0].secondary.as_ref().unwrap().kind.as_deref(), Some("Deployment"));
}

#[test]
fn creations_are_one_event_and_each_deletion_is_one_whatever_the_last_result_is() {
    let milestones = vec![
        (ChildKind::Service, Milestone::Created),
        (ChildKind::Deployment, Milestone::Created),
        (ChildKind::DisruptionBudget, Milestone::Deleted),
    ];
    let mut pass = pass_that(milestones, []);
    if let Done::Enforced { results, .. } = &mut pass.done {
        results.insert(ChildKind::Deployment, ChildResult::Failed("no response".to_owned()));
    }
    let unchanged = WorkloadStatus::default();
    let notes: Vec<_> =
        events(&pass, &unchanged, &unchanged, now()).into_iter().filter_map(|event| event.note).collect();
    let deleted = "deleted PodDisruptionBudget web: the spec no longer asks for it";
    assert_eq!(notes, ["created Deployment, Service web", deleted]);
}

const IMAGE: &str = r#".spec.template.spec.containers[name="app"].image"#;

fn takeover(path: &str, manager: &str) -> (ChildKind, Takeover) {
    let takeover = Takeover {
        path: FieldPath::spelled(path),
        manager: manager.to_owned(),
        old: Some("1".to_owned()),
        new: Some("2".to_owned()),
    };
    (ChildKind::Deployment, takeover)
}

/// A pass that took these fields over.
fn pass_with(takeovers: impl IntoIterator<Item = (ChildKind, Takeover)>) -> Pass {
    pass_that(Vec::new(), takeovers)
}

fn pass_that(
    milestones: Vec<(ChildKind, Milestone)>,
    takeovers: impl IntoIterator<Item = (ChildKind, Takeover)>,
) -> Pass {
    let workload = workload(&json!({"replicas": 3}));
    let unreported = Unreported { milestones, takeovers: takeovers.into_iter().collect() };
    Pass { unreported, ..pass(&workload, [deployment(&running())], applied()) }
}

fn notes(pass: &Pass, previous: &WorkloadStatus, at: Timestamp) -> Vec<String> {
    let events = events(pass, previous, &status(pass, previous, at), at);
    let takeovers = events.into_iter().filter(|event| event.reason == "TookOver");
    takeovers.filter_map(|event| event.note).collect()
}

#[test]
fn a_takeover_is_kept_with_its_values_and_counted_again_when_it_repeats() {
    let first = status(&pass_with([takeover(IMAGE, "rogue")]), &WorkloadStatus::default(), now());
    let later = now() + 1.minute();
    let second = status(&pass_with([takeover(IMAGE, "rogue"), takeover(IMAGE, "other")]), &first, later);
    let takeovers: Vec<_> = second
        .takeovers
        .iter()
        .map(|known| (known.manager.as_str(), known.count, known.first_time.0, known.last_time.0))
        .collect();
    assert_eq!(takeovers, [("rogue", 2, now(), later), ("other", 1, later, later)]);
    let values = &second.takeovers[0];
    assert_eq!((values.old_value.as_deref(), values.new_value.as_deref()), (Some("1"), Some("2")));
    assert_eq!(status(&pass_with([]), &second, later + 1.hour()).takeovers, second.takeovers);
}

#[test]
fn the_oldest_takeovers_are_dropped_beyond_fifty() {
    let mut before = WorkloadStatus::default();
    for number in 0..60 {
        let paths = [format!(".spec.field{number}")];
        let takeovers = paths.iter().map(|path| takeover(path, "rogue"));
        before = status(&pass_with(takeovers), &before, now() + i64::from(number).seconds());
    }
    let again = status(&pass_with([takeover(".spec.field10", "rogue")]), &before, now() + 1.hour());
    let paths: Vec<&str> = again.takeovers.iter().map(|known| known.path.as_str()).collect();
    assert_eq!(paths.len(), 50);
    assert_eq!((paths[0], paths[49]), (".spec.field11", ".spec.field10"), "the repeated one is the latest");
}

#[test]
fn of_twenty_thousand_takeovers_the_last_are_kept() {
    let takeover = |at: usize| takeover(&format!(".metadata.annotations.k{at:05}"), "rogue");
    let kept = status(&pass_with((0..20_000).map(takeover)), &WorkloadStatus::default(), now()).takeovers;
    let paths: Vec<String> = kept.into_iter().map(|known| known.path).collect();
    let expected: Vec<String> = (19_950..20_000).map(|at| takeover(at).1.path.to_string()).collect();
    assert_eq!(paths, expected);
}

#[test]
fn what_cannot_be_reported_for_long_is_kept_up_to_a_limit_without_the_oldest() {
    let path = |at: usize| format!(".metadata.annotations.k{at}");
    let mut unreported = Unreported::default();
    for at in 0..50 {
        let takeovers = (at * 1000..(at + 1) * 1000).map(|at| takeover(&path(at), "rogue")).collect();
        unreported.add(Unreported { takeovers, ..Unreported::default() });
    }
    assert!(unreported.takeovers.len() < 10_000, "{}", unreported.takeovers.len());
    assert_eq!(unreported.takeovers.last().unwrap().1.path.to_string(), path(49_999));
}

#[test]
fn a_takeover_that_leaves_the_value_is_reported_without_values() {
    let (child, takeover) = takeover(IMAGE, "retired");
    let retired = pass_with([(child, Takeover { old: None, new: None, ..takeover })]);
    let reported = notes(&retired, &WorkloadStatus::default(), now());
    assert_eq!(reported, [format!("took over from retired in Deployment web: {IMAGE}")]);
}

#[test]
fn takeovers_are_reported_by_one_event_for_each_manager_and_burst() {
    let burst =
        pass_with([takeover(IMAGE, "rogue"), takeover(".spec.paused", "rogue"), takeover(IMAGE, "other")]);
    let reported = notes(&burst, &WorkloadStatus::default(), now());
    let expected = [
        format!("took over from other in Deployment web: {IMAGE} (1 to 2)"),
        format!("took over from rogue in Deployment web: {IMAGE} (1 to 2); .spec.paused (1 to 2)"),
    ];
    assert_eq!(reported, expected);

    let before = status(&burst, &WorkloadStatus::default(), now());
    let again = pass_with([takeover(".spec.minReadySeconds", "rogue")]);
    assert_eq!(notes(&again, &before, now() + 1.minute()), Vec::<String>::new(), "still the same burst");
    assert_eq!(notes(&again, &before, now() + 1.hour()).len(), 1);
}

#[test]
fn the_slowest_contention_is_one_burst() {
    let contested = pass_with([takeover(IMAGE, "rogue")]);
    let before = status(&contested, &WorkloadStatus::default(), now());
    let slowest = now() + LONGEST_PAUSE + Duration::from_secs(30);
    assert_eq!(notes(&contested, &before, slowest), Vec::<String>::new());
}

#[test]
fn an_event_names_a_few_of_many_fields() {
    let paths: Vec<String> = (0..8).map(|number| format!(".spec.field{number}")).collect();
    let many = pass_with(paths.iter().map(|path| takeover(path, "rogue")));
    let reported = notes(&many, &WorkloadStatus::default(), now());
    assert!(reported[0].ends_with(".spec.field4 (1 to 2); and 3 more"), "{reported:?}");
}

#[test]
fn takeovers_from_many_managers_are_a_few_events() {
    let managers: Vec<String> = (0..300).map(|number| format!("forged-{number:03}")).collect();
    let many = pass_with(managers.iter().map(|manager| takeover(IMAGE, manager)));
    let reported = notes(&many, &WorkloadStatus::default(), now());
    assert_eq!(reported.len(), 6, "{reported:?}");
    assert_eq!(reported[5], "took over 295 fields of web from 295 more managers");
}

#[test]
fn a_pause_before_a_scale_is_overwritten_is_no_takeback() {
    for (suspend, phase) in [(false, HandoverPhase::Fixed), (true, HandoverPhase::Suspended)] {
        let workload = workload(&json!({"replicas": 3, "suspend": suspend}));
        let count = if suspend { 0 } else { 3 };
        let rest = pass(&workload, [deployment_owned_by("b", count)], applied());
        let before = status(&rest, &WorkloadStatus::default(), now());
        assert_eq!(before.replica_ownership.as_ref().unwrap().phase, phase);

        let mut paused = pass(&workload, [deployment_owned_by("s", 5)], []);
        if let Done::Enforced { contested, .. } = &mut paused.done {
            contested.push(contested_field(".spec.replicas"));
        }
        let during = status(&paused, &before, now());
        let ownership = during.replica_ownership.as_ref().unwrap();
        assert_eq!((ownership.phase, ownership.value), (phase, 5));
        let waiting = ownership.waiting_for.as_deref();
        assert_eq!(waiting, Some("the end of a pause, see the condition Contested"));
        assert_eq!(brief(&during, "Ready"), "False NotApplied");
    }
}

#[test]
fn a_contested_workload_names_a_few_of_many_fields() {
    let mut pass = pass(&workload(&json!({"replicas": 3})), [deployment(&running())], applied());
    if let Done::Enforced { contested, .. } = &mut pass.done {
        *contested = (0..9000).map(|number| contested_field(&format!(".spec.field{number}"))).collect();
    }
    let message = condition(&status(&pass, &WorkloadStatus::default(), now()), "Contested").message.clone();
    assert!(message.contains(".spec.field4 ") && message.contains("and 8995 more fields"), "{message}");
    assert!(message.len() < 4096 && !message.contains(".spec.field5 "), "{message}");
}

#[test]
fn contention_sets_and_clears_a_condition_with_an_event_each() {
    let workload = workload(&json!({"replicas": 3}));
    let contested = contested_field(IMAGE);
    let over = pass(&workload, [deployment(&running())], applied());
    let before = status(&over, &WorkloadStatus::default(), now());
    let is_contested =
        |status: &WorkloadStatus| status.conditions.iter().any(|condition| condition.type_ == "Contested");
    assert!(!is_contested(&before));

    let first = contested_pass(contested.clone());
    let during = status(&first, &before, now());
    assert_eq!(brief(&during, "Contested"), "True Contested");
    assert_eq!(brief(&during, "Applied"), "False Contested");
    assert_eq!(progress(&during).as_deref(), Some("Stalled Contested"));
    assert_eq!(during.children[0].state, ChildState::Contested);
    let message = &condition(&during, "Contested").message;
    for part in ["Deployment", IMAGE, "rogue", "5 times", "4s"] {
        assert!(message.contains(part), "{part} isn't in: {message}");
    }
    assert_eq!(reasons(&first, &before, &during), ["Contested"]);

    let on = contested_pass(Contested { count: 6, ..contested });
    let still = status(&on, &during, now() + 1.minute());
    assert_eq!(reasons(&on, &during, &still), Vec::<String>::new(), "reported once");
    let since = |status: &WorkloadStatus| condition(status, "Contested").last_transition_time.0;
    assert_eq!(since(&still), since(&during));

    let after = status(&over, &still, now() + 1.hour());
    assert!(!is_contested(&after));
    assert_eq!(after.children[0].state, ChildState::Applied);
    assert_eq!(reasons(&over, &still, &after), ["ContentionOver"]);
}

/// A pass in a mode that writes nothing, with what it would do with the Deployment.
fn planned(mode: &str, rehearsed: Rehearsed, dry_run: DryRunResult, message: Option<&str>) -> Pass {
    let workload = workload(&json!({"replicas": 3, "mode": mode}));
    let tried = Tried { rehearsed, dry_run, message: message.map(str::to_owned) };
    let done = Done::Previewed(BTreeMap::from([(ChildKind::Deployment, tried)]));
    Pass { done, ..pass(&workload, [deployment(&running())], []) }
}

#[test]
fn a_mode_that_writes_nothing_reports_what_enforce_would_do() {
    let update = || Rehearsed { action: PlannedAction::Update, writes: 1, ..Rehearsed::default() };
    for mode in ["Preview", "Paused"] {
        let reported = |rehearsed| {
            let pass = planned(mode, rehearsed, DryRunResult::Agreed, None);
            let status = status(&pass, &WorkloadStatus::default(), now());
            assert_eq!(brief(&status, "Applied"), format!("Unknown {mode}"));
            (condition(&status, "Applied").message.clone(), status.children[0].state)
        };
        let message =
            |would: &str| format!("spec.mode is {mode}: no child is written. Enforce would {would}");
        assert_eq!(reported(update()), (message("update Deployment"), ChildState::Pending));
        assert_eq!(reported(Rehearsed::default()), (message("change nothing"), ChildState::Applied));
    }
}

#[test]
fn a_plan_lists_up_to_a_hundred_fields_and_the_api_servers_message() {
    let paths = |count: usize| {
        (0..count).map(|number| FieldPath::spelled(&format!(".spec.field{number}"))).collect::<Vec<_>>()
    };
    let effects = Effects {
        sets: paths(250),
        removes: paths(100),
        takeovers: paths(250).iter().map(|path| takeover(path.as_str(), "rogue").1).collect(),
        releases: Vec::new(),
    };
    let rehearsed = Rehearsed { action: PlannedAction::Update, effects, writes: 2, ..Rehearsed::default() };
    let pass = planned("Preview", rehearsed, DryRunResult::Disagreed, Some("the API server disagrees"));
    let status = status(&pass, &WorkloadStatus::default(), now());
    let child = &status.plan[0];
    assert_eq!((child.action, child.writes), (PlannedAction::Update, Some(2)));
    assert_eq!((child.sets.len(), child.sets[100].as_str()), (101, "and 150 more"));
    assert_eq!((child.removes.len(), child.takes.len()), (100, 100));
    let message = "the API server disagrees; it takes over 150 more fields than are listed";
    assert_eq!((child.dry_run, child.message.as_deref()), (DryRunResult::Disagreed, Some(message)));
}

#[test]
fn a_plan_is_removed_with_the_mode() {
    let before = status(
        &planned("Preview", Rehearsed::default(), DryRunResult::Agreed, None),
        &WorkloadStatus::default(),
        now(),
    );
    assert_eq!(before.plan.len(), 1);
    let workload = workload(&json!({"replicas": 3}));
    let after = status(&pass(&workload, [deployment(&running())], applied()), &before, now());
    assert!(after.plan.is_empty());
    assert_eq!(brief(&after, "Applied"), "True Applied");
}

#[test]
fn a_child_that_the_spec_no_longer_has_is_reported_until_it_is_gone() {
    let fixed = workload(&json!({"replicas": 3}));
    let service = json!({"kind": "Service", "name": "web", "apiVersion": "v1", "state": "Applied"});
    let before: WorkloadStatus = serde_json::from_value(json!({"children": [service]})).unwrap();
    let state_of_service = |result: Option<ChildResult>| {
        let results = applied().into_iter().chain(result.map(|result| (ChildKind::Service, result)));
        let status = status(&pass(&fixed, [deployment(&running())], results), &before, now());
        status.children.into_iter().find(|child| child.kind == "Service").map(|child| child.state)
    };
    let unread = ChildResult::Failed("no response".to_owned());
    assert_eq!(state_of_service(Some(unread)), Some(ChildState::Deleting));
    assert_eq!(state_of_service(None), None);
}
