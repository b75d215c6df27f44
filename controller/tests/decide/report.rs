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
        pass::{ChildResult, Outbox, Pass, Rehearsed},
        replicas::{Autoscaler, Scales},
    },
    report::{Unreadable, events, status, unreadable},
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
    Pass { results: results.into_iter().collect(), ..Pass::unchanged(seen(workload, children)) }
}

/// A Workload with three replicas.
fn fixed() -> Workload {
    workload(&json!({"replicas": 3}))
}

/// A pass that finds it as the spec says, with its pods running.
fn well() -> Pass {
    pass(&fixed(), [deployment(&running())], applied())
}

/// The status after this pass of a Workload without a status.
fn status_of(pass: &Pass) -> WorkloadStatus {
    status(pass, &WorkloadStatus::default(), now())
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
    Pass { contested: vec![contested], ..well() }
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
    let pass = well();
    let first = status_of(&pass);
    assert_eq!(status(&pass, &first, now() + 1.hour()), first);
    assert_eq!(reasons(&pass, &first, &first), Vec::<String>::new());
}

#[test]
fn a_workload_is_ready_once_its_deployment_is_available_with_the_latest_spec() {
    let but = |changes: Value| {
        let mut status = running();
        status.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        status
    };
    let unavailable = json!({"type": "Available", "status": "False"});
    let short = json!({"type": "ReplicaFailure", "status": "True", "message": "exceeded quota: small"});
    let stuck = json!({"type": "Progressing", "status": "False", "message": "deadline exceeded"});
    let few = |conditions: Value| but(json!({"availableReplicas": 1, "conditions": conditions}));
    let rolling_out = Some("Reconciling RollingOut");
    for (deployment_status, is_ready, is_in_progress) in [
        (running(), "True Available", None),
        (but(json!({"availableReplicas": 2})), "True Available", rolling_out),
        (but(json!({"observedGeneration": 1})), "False RollingOut", rolling_out),
        (few(json!([unavailable])), "False RollingOut", rolling_out),
        (but(json!({"conditions": [stuck]})), "False Stuck", Some("Stalled Stuck")),
        (few(json!([unavailable, short])), "False ReplicaFailure", Some("Reconciling ReplicaFailure")),
    ] {
        let status = status_of(&pass(&fixed(), [deployment(&deployment_status)], applied()));
        let found = (brief(&status, "Ready"), progress(&status));
        assert_eq!(found, (is_ready.to_owned(), is_in_progress.map(str::to_owned)), "{deployment_status}");
    }
}

#[test]
fn a_workload_with_a_child_that_is_not_applied_is_not_ready_and_stalls_if_baton_cannot_continue() {
    let workload = workload(&json!({"replicas": 3, "service": {"ports": [{"port": 80}]}}));
    for (result, is_ready, is_in_progress) in [
        (ChildResult::Created, "True Available", None),
        (ChildResult::Failed("no response".to_owned()), "False NotApplied", Some("Reconciling Pending")),
        (ChildResult::Rejected("no".to_owned()), "False NotApplied", Some("Stalled Rejected")),
    ] {
        let results = applied().into_iter().chain([(ChildKind::Service, result)]);
        let status = status_of(&pass(&workload, [deployment(&running())], results));
        assert_eq!(
            (brief(&status, "Ready").as_str(), progress(&status).as_deref()),
            (is_ready, is_in_progress)
        );
    }
}

/// The Workload after an edit, and its status before it.
fn edited() -> (Workload, WorkloadStatus) {
    let mut workload = fixed();
    let before = status_of(&well());
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
    Pass::unchanged(seen(&workload, others.into_iter().chain([(ChildKind::Deployment, deployment)])))
}

#[test]
fn a_child_that_is_being_deleted_is_not_applied() {
    let whole = complete("Enforce");
    assert!(whole.is_well());
    assert_eq!(brief(&status_of(&whole), "Applied"), "True Applied");
    for (kind, mode) in ChildKind::ALL.into_iter().flat_map(|kind| [(kind, "Enforce"), (kind, "Preview")]) {
        let mut pass = complete(mode);
        if mode == "Preview" {
            pass.results.clear();
            pass.rehearsed = ChildKind::ALL.map(|kind| (kind, Rehearsed::default())).into();
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
    let fixed = fixed();
    let mut seen = seen(&fixed, [deployment_owned_by("b", 5), child(ChildKind::Autoscaler)]);
    terminate(&mut seen, ChildKind::Autoscaler);
    for results in [BTreeMap::new(), applied().into()] {
        let was_written = !results.is_empty();
        let pass = Pass { results, ..Pass::unchanged(seen.clone()) };
        assert_eq!(pass.is_well(), was_written);
        let after = status_of(&pass);
        assert_eq!(brief(&after, "Applied"), "False Pending");
        assert!(condition(&after, "Applied").message.contains("HorizontalPodAutoscaler is deleted"));
    }
}

#[test]
fn a_workload_is_not_applied_while_a_deletion_is_refused_or_open() {
    for (result, state, is_applied) in [
        (None, ChildState::Deleting, "False Pending"),
        (Some(ChildResult::Failed("no response".to_owned())), ChildState::Deleting, "False Pending"),
        (Some(ChildResult::Rejected("no".to_owned())), ChildState::Rejected, "False Rejected"),
    ] {
        let results = applied().into_iter().chain(result.map(|result| (ChildKind::Service, result)));
        let children = [deployment(&running()), child(ChildKind::Service)];
        let status = status_of(&pass(&fixed(), children, results));
        assert_eq!((status.children[1].state, brief(&status, "Applied").as_str()), (state, is_applied));
    }
}

#[test]
fn a_workload_that_cannot_be_read_stalls() {
    let workload = fixed();
    let rolling_out = pass(&workload, [deployment(&json!({}))], applied());
    let before = status_of(&rolling_out);
    assert_eq!(progress(&before).as_deref(), Some("Reconciling RollingOut"));
    let after = unreadable(Some(2), &before, &Unreadable::Undecodable("no".to_owned()), now());
    assert_eq!(
        (brief(&after, "Ready"), progress(&after)),
        ("Unknown Undecodable".to_owned(), Some("Stalled Undecodable".to_owned()))
    );
}

#[test]
fn a_ready_workload_stays_ready_until_another_replica_count_is_observed() {
    let workload = fixed();
    let before = status_of(&well());
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
    let workload = fixed();
    let well = well();
    let before = status_of(&well);
    let rejected = [(ChildKind::Deployment, ChildResult::Rejected("no".into()))];
    let after = status(&pass(&workload, [deployment(&running())], rejected), &before, now() + 1.minute());
    let since = |status: &WorkloadStatus, type_| condition(status, type_).last_transition_time.0;
    assert_eq!(since(&after, "Stalled"), now() + 1.minute());
    assert_eq!(since(&after, "Applied"), now() + 1.minute());
}

#[test]
fn a_rejected_child_is_reported_with_the_servers_message_by_one_event_and_its_recovery_by_another() {
    let workload = fixed();
    let message = "spec.replicas: Invalid value";
    let rejected = pass(&workload, [], [(ChildKind::Deployment, ChildResult::Rejected(message.into()))]);
    let first = status_of(&rejected);
    assert_eq!(brief(&first, "Applied"), "False Rejected");
    assert!(condition(&first, "Applied").message.contains(message));
    assert_eq!(reasons(&rejected, &WorkloadStatus::default(), &first), ["Rejected"]);

    let second = status(&rejected, &first, now());
    assert_eq!(second, first, "while it is held back, the report stays");
    assert_eq!(reasons(&rejected, &first, &second), Vec::<String>::new());

    let well = well();
    let third = status(&well, &second, now());
    assert_eq!(third.children[0].state, ChildState::Applied);
    assert!(reasons(&well, &second, &third).contains(&"Accepted".to_owned()));
}

#[test]
fn the_handover_shows_in_owner_phase_and_conditions() {
    use HandoverPhase::{AutoscalerDisabled, AutoscalerMissing, HandedOver, HandoverPending, OwnedByOther};
    let autoscaled = workload(&json!({"autoscaling": {"minReplicas": 2, "maxReplicas": 5}}));
    let by_scale = "kube-controller-manager (scale)";
    for (managers, count, has_autoscaler, owner, phase, handed_over, unusual) in [
        ("t", 4, true, "handover-to-hpa", HandoverPending, "False HandoverPending", Some("HandoverPending")),
        ("s", 4, true, by_scale, HandedOver, "True HandedOver", None),
        ("o", 4, true, "kubectl", OwnedByOther, "False OwnedByOther", None),
        ("s", 4, false, by_scale, AutoscalerMissing, "False AutoscalerMissing", Some("AutoscalerMissing")),
        ("s", 0, true, by_scale, AutoscalerDisabled, "False AutoscalerDisabled", Some("AutoscalerDisabled")),
    ] {
        let own = has_autoscaler.then(|| child(ChildKind::Autoscaler));
        let children = [deployment_owned_by(managers, count)].into_iter().chain(own);
        let status = status_of(&pass(&autoscaled, children, []));
        assert_eq!(brief(&status, "HandedOver"), handed_over);
        let known = ["Ready", "Applied", "Reconciling", "Stalled", "HandedOver"];
        let others = status.conditions.iter().filter(|one| !known.contains(&one.type_.as_str()));
        let others: Vec<String> = others.map(|one| format!("{} {}", one.type_, one.status)).collect();
        assert_eq!(others, Vec::from_iter(unusual.map(|type_| format!("{type_} True"))));
        let ownership = status.replica_ownership.unwrap();
        assert_eq!((ownership.owner.as_str(), ownership.phase, ownership.value), (owner, phase, count));
    }
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
    let first = status_of(&by_hand);
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
    let fixed = fixed();
    let mut pass = pass(&fixed, [deployment_owned_by("s", 5)], []);
    pass.seen.autoscalers = vec![autoscaler("theirs")];
    let status = status_of(&pass);
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
        let status = status_of(&pass);
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
fn an_adoption_names_the_managers_that_were_retired() {
    let adopted = ChildResult::Adopted { retired: vec!["helm".to_owned()] };
    let pass = pass_that(vec![(ChildKind::Deployment, adopted)], []);
    let unchanged = WorkloadStatus::default();
    let [event] = &events(&pass, &unchanged, &unchanged, now())[..] else { panic!() };
    assert_eq!(event.reason, "Adopted");
    assert!(event.note.as_ref().unwrap().contains("Baton now owns the fields of helm"), "{:?}", event.note);
}

#[test]
fn an_event_names_its_child_and_fits_the_servers_limits() {
    let workload = fixed();
    let long = "ä".repeat(2000);
    let pass = pass(&workload, [], [(ChildKind::Deployment, ChildResult::Rejected(long))]);
    let after = status_of(&pass);
    let events = events(&pass, &WorkloadStatus::default(), &after, now());
    assert!(events[0].note.as_ref().unwrap().len() <= 1024);
    assert_eq!(events[0].secondary.as_ref().unwrap().kind.as_deref(), Some("Deployment"));
}

#[test]
fn creations_are_one_event_and_each_deletion_is_one_whatever_the_last_result_is() {
    let milestones = vec![
        (ChildKind::Service, ChildResult::Created),
        (ChildKind::Deployment, ChildResult::Created),
        (ChildKind::DisruptionBudget, ChildResult::Deleted),
    ];
    let mut pass = pass_that(milestones, []);
    pass.results.insert(ChildKind::Deployment, ChildResult::Failed("no response".to_owned()));
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
    milestones: Vec<(ChildKind, ChildResult)>,
    takeovers: impl IntoIterator<Item = (ChildKind, Takeover)>,
) -> Pass {
    let outbox = Outbox { milestones, takeovers: takeovers.into_iter().collect() };
    Pass { outbox, ..well() }
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
    let mut outbox = Outbox::default();
    for at in 0..50 {
        let takeovers = (at * 1000..(at + 1) * 1000).map(|at| takeover(&path(at), "rogue")).collect();
        outbox.add(Outbox { takeovers, ..Outbox::default() });
    }
    assert!(outbox.takeovers.len() < 10_000, "{}", outbox.takeovers.len());
    assert_eq!(outbox.takeovers.last().unwrap().1.path.to_string(), path(49_999));
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

    let before = status_of(&burst);
    let again = pass_with([takeover(".spec.minReadySeconds", "rogue")]);
    assert_eq!(notes(&again, &before, now() + 1.minute()), Vec::<String>::new(), "still the same burst");
    assert_eq!(notes(&again, &before, now() + 1.hour()).len(), 1);
}

#[test]
fn the_slowest_contention_is_one_burst() {
    let contested = pass_with([takeover(IMAGE, "rogue")]);
    let before = status_of(&contested);
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
        let before = status_of(&rest);
        assert_eq!(before.replica_ownership.as_ref().unwrap().phase, phase);

        let mut paused = pass(&workload, [deployment_owned_by("s", 5)], []);
        paused.contested.push(contested_field(".spec.replicas"));
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
    let mut pass = well();
    pass.contested = (0..9000).map(|number| contested_field(&format!(".spec.field{number}"))).collect();
    let message = condition(&status_of(&pass), "Contested").message.clone();
    assert!(message.contains(".spec.field4 ") && message.contains("and 8995 more fields"), "{message}");
    assert!(message.len() < 4096 && !message.contains(".spec.field5 "), "{message}");
}

#[test]
fn contention_sets_and_clears_a_condition_with_an_event_each() {
    let contested = contested_field(IMAGE);
    let over = well();
    let before = status_of(&over);
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
    let rehearsed = Rehearsed { dry_run, message: message.map(str::to_owned), ..rehearsed };
    let rehearsed = [(ChildKind::Deployment, rehearsed)].into();
    Pass { rehearsed, ..pass(&workload, [deployment(&running())], []) }
}

#[test]
fn a_mode_that_writes_nothing_reports_what_enforce_would_do() {
    let update = || Rehearsed { action: PlannedAction::Update, writes: 1, ..Rehearsed::default() };
    for mode in ["Preview", "Paused"] {
        let reported = |rehearsed| {
            let pass = planned(mode, rehearsed, DryRunResult::Agreed, None);
            let status = status_of(&pass);
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
    let status = status_of(&pass);
    let child = &status.plan[0];
    assert_eq!((child.action, child.writes), (PlannedAction::Update, Some(2)));
    assert_eq!((child.sets.len(), child.sets[100].as_str()), (101, "and 150 more"));
    assert_eq!((child.removes.len(), child.takes.len()), (100, 100));
    let message = "the API server disagrees; it takes over 150 more fields than are listed";
    assert_eq!((child.dry_run, child.message.as_deref()), (DryRunResult::Disagreed, Some(message)));
}

#[test]
fn a_plan_is_removed_with_the_mode() {
    let before = status_of(&planned("Preview", Rehearsed::default(), DryRunResult::Agreed, None));
    assert_eq!(before.plan.len(), 1);
    let after = status(&well(), &before, now());
    assert!(after.plan.is_empty());
    assert_eq!(brief(&after, "Applied"), "True Applied");
}

#[test]
fn a_child_that_the_spec_no_longer_has_is_reported_until_it_is_gone() {
    let fixed = fixed();
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
