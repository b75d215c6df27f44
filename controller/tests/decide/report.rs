//! The report of a pass: status, conditions and Events.

use std::time::Duration;

use baton_apply::{
    Effects, FieldPath, Takeover,
    contention::{Contested, LONGEST_PAUSE},
};
use baton_controller::{
    decide::{
        child::ChildKind::{self, Deployment, DisruptionBudget, Service},
        pass::{ChildResult, Outbox, Pass, Rehearsed},
        replicas::{Autoscaler, Scales},
    },
    report::{Unreadable, events, status, unreadable},
};
use baton_crd::{ChildState, DryRunResult, HandoverPhase, PlannedAction, Workload, WorkloadStatus};
use jiff::{Span, Timestamp, ToSpan};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::runtime::events::Event;
use serde_json::{Value, json};

use crate::common::{autoscaler, child, deployment_owned_by, seen, spec_of_all, terminate, workload};

const NONE: [&str; 0] = [];

fn now() -> Timestamp {
    "2026-01-02T03:04:05Z".parse().unwrap()
}

/// The report of a pass.
struct Report {
    at: Timestamp,
    status: WorkloadStatus,
    events: Vec<Event>,
}

/// The report of a Workload's first pass.
fn report(pass: &Pass) -> Report {
    Report::after(&WorkloadStatus::default(), pass, now())
}

impl Report {
    fn after(previous: &WorkloadStatus, pass: &Pass, at: Timestamp) -> Self {
        let status = status(pass, previous, at);
        Self { at, events: events(pass, previous, &status, at), status }
    }

    /// The report of a pass after this one.
    fn then(&self, pass: &Pass) -> Self {
        self.later(Span::default(), pass)
    }

    fn later(&self, by: Span, pass: &Pass) -> Self {
        Self::after(&self.status, pass, self.at + by)
    }

    fn condition(&self, type_: &str) -> Option<&Condition> {
        self.status.conditions.iter().find(|condition| condition.type_ == type_)
    }

    fn message(&self, type_: &str) -> &str {
        self.condition(type_).map_or("", |condition| &condition.message)
    }

    fn since(&self, type_: &str) -> Timestamp {
        self.condition(type_).unwrap().last_transition_time.0
    }

    /// A condition in short, such as `True Available`; empty if there is none.
    fn brief(&self, type_: &str) -> String {
        let brief = |condition: &Condition| format!("{} {}", condition.status, condition.reason);
        self.condition(type_).map(brief).unwrap_or_default()
    }

    /// The condition that kstatus reads: `Stalled` or `Reconciling` with its reason; empty when settled.
    fn progress(&self) -> String {
        let is_progress = |condition: &&Condition| matches!(&*condition.type_, "Stalled" | "Reconciling");
        let found: Vec<&Condition> = self.status.conditions.iter().filter(is_progress).collect();
        assert!(found.len() < 2 && found.iter().all(|condition| condition.status == "True"), "{found:?}");
        found
            .first()
            .map_or_else(String::new, |condition| format!("{} {}", condition.type_, condition.reason))
    }

    fn state(&self, kind: ChildKind) -> Option<ChildState> {
        self.status.children.iter().find(|child| child.kind == kind.name()).map(|child| child.state)
    }

    fn reasons(&self) -> Vec<&str> {
        self.events.iter().map(|event| event.reason.as_str()).collect()
    }

    /// The notes of the Events with this reason.
    fn notes(&self, reason: &str) -> Vec<&str> {
        self.events
            .iter()
            .filter(|event| event.reason == reason)
            .filter_map(|event| event.note.as_deref())
            .collect()
    }
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

/// The status of a Deployment whose pods run.
fn running() -> Value {
    json!({
        "observedGeneration": 2, "replicas": 3, "updatedReplicas": 3, "readyReplicas": 3, "availableReplicas": 3,
        "conditions": [{"type": "Available", "status": "True"}, {"type": "Progressing", "status": "True"}],
    })
}

/// The same with these changes.
fn running_but(changes: &Value) -> Value {
    let mut status = running();
    status.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    status
}

/// A Deployment whose replica count Baton owns, with this status.
fn deployment(status: &Value) -> (ChildKind, Value) {
    let (kind, mut object) = deployment_owned_by("b", 3);
    object["metadata"]["generation"] = json!(2);
    object["status"] = status.clone();
    (kind, object)
}

const APPLIED: (ChildKind, ChildResult) = (Deployment, ChildResult::Applied);

/// A pass over a Workload with three replicas whose Deployment runs, with these results.
fn ended(results: impl IntoIterator<Item = (ChildKind, ChildResult)>) -> Pass {
    pass(&fixed(), [deployment(&running())], results)
}

/// A pass that finds it as the spec says.
fn well() -> Pass {
    ended([APPLIED])
}

fn rejected() -> ChildResult {
    ChildResult::Rejected("no".to_owned())
}

fn failed() -> ChildResult {
    ChildResult::Failed("no response".to_owned())
}

fn overtaken() -> ChildResult {
    ChildResult::Overtaken("the object has been modified".to_owned())
}

/// The pass after an edit of the spec.
fn edited(pass: Pass) -> Pass {
    let mut workload = Workload::clone(&pass.seen.workload);
    workload.metadata.generation = Some(2);
    let mut seen = pass.seen.clone();
    seen.workload = workload.into();
    Pass { seen, ..pass }
}

#[test]
fn a_pass_that_changes_nothing_gives_the_same_status_at_any_time() {
    let first = report(&well());
    let again = first.later(1.hour(), &well());
    assert_eq!(again.status, first.status);
    assert_eq!(again.reasons(), NONE);
}

#[test]
fn a_workload_is_ready_once_its_deployment_is_available_with_the_latest_spec() {
    let unavailable = json!({"type": "Available", "status": "False"});
    let short = json!({"type": "ReplicaFailure", "status": "True", "message": "exceeded quota: small"});
    let stuck = json!({"type": "Progressing", "status": "False", "message": "deadline exceeded"});
    let few = |conditions: Value| json!({"availableReplicas": 1, "conditions": conditions});
    for (changes, ready, progress) in [
        (json!({}), "True Available", ""),
        (json!({"availableReplicas": 2}), "True Available", "Reconciling RollingOut"),
        (json!({"observedGeneration": 1}), "False RollingOut", "Reconciling RollingOut"),
        (few(json!([unavailable])), "False RollingOut", "Reconciling RollingOut"),
        (json!({"conditions": [stuck]}), "False Stuck", "Stalled Stuck"),
        (few(json!([unavailable, short])), "False ReplicaFailure", "Reconciling ReplicaFailure"),
    ] {
        let report = report(&pass(&fixed(), [deployment(&running_but(&changes))], [APPLIED]));
        assert_eq!((&*report.brief("Ready"), &*report.progress()), (ready, progress), "{changes}");
    }
}

#[test]
fn a_workload_with_a_child_that_is_not_applied_is_not_ready_and_stalls_if_baton_cannot_continue() {
    let workload = workload(&json!({"replicas": 3, "service": {"ports": [{"port": 80}]}}));
    for (result, ready, progress) in [
        (ChildResult::Created, "True Available", ""),
        (failed(), "False NotApplied", "Reconciling Pending"),
        (rejected(), "False NotApplied", "Stalled Rejected"),
    ] {
        let report = report(&pass(&workload, [deployment(&running())], [APPLIED, (Service, result)]));
        assert_eq!((&*report.brief("Ready"), &*report.progress()), (ready, progress));
    }
}

#[test]
fn a_pass_claims_something_for_the_generation_once_the_server_has_decided_about_the_spec() {
    let before = report(&well());
    assert_eq!((before.status.observed_generation, &*before.brief("Ready")), (Some(1), "True Available"));
    for (settled, result) in [
        (false, None),
        (false, Some(ChildResult::Applied)),
        (true, Some(overtaken())),
        (true, Some(failed())),
    ] {
        let pass = Pass { settled, ..edited(ended(result.map(|result| (Deployment, result)))) };
        let after = before.then(&pass);
        assert_eq!(after.status.observed_generation, Some(1), "{pass:?}");
        let conditions = [after.brief("Applied"), after.brief("Ready"), after.progress()];
        assert_eq!(conditions, ["False Pending", "False NotApplied", "Reconciling Pending"], "{pass:?}");
    }
    for result in [ChildResult::Applied, rejected()] {
        let after = before.then(&edited(ended([(Deployment, result)])));
        assert_eq!(after.status.observed_generation, Some(2));
    }
    let preview = planned("Preview", Rehearsed::default(), DryRunResult::Agreed, None);
    let after = before.then(&edited(Pass { settled: false, ..preview }));
    assert_eq!((after.status.observed_generation, &*after.progress()), (Some(1), "Reconciling Pending"));
}

#[test]
fn a_child_that_is_overtaken_again_and_again_is_one_event() {
    let pass = edited(ended([(Deployment, overtaken())]));
    let after = report(&well()).then(&pass);
    assert_eq!(after.state(Deployment), Some(ChildState::Pending));
    assert!(after.message("Applied").contains("the object has been modified"));
    assert_eq!(after.reasons(), ["Overtaken"]);
    assert_eq!(after.then(&pass).reasons(), NONE);
}

/// A Workload with all four children, all of them as the spec says.
fn complete(mode: &str) -> Pass {
    let mut spec = spec_of_all();
    spec["mode"] = json!(mode);
    let mut deployment = deployment_owned_by("s", 3).1;
    deployment["status"] = running();
    let others = [Service, ChildKind::Autoscaler, DisruptionBudget].map(child);
    Pass::unchanged(seen(&workload(&spec), others.into_iter().chain([(Deployment, deployment)])))
}

#[test]
fn a_child_that_is_being_deleted_is_not_applied() {
    let whole = complete("Enforce");
    assert!(whole.is_well());
    assert_eq!(report(&whole).brief("Applied"), "True Applied");
    for (kind, mode) in ChildKind::ALL.into_iter().flat_map(|kind| [(kind, "Enforce"), (kind, "Preview")]) {
        let mut pass = complete(mode);
        if mode == "Preview" {
            pass.results.clear();
            pass.rehearsed = ChildKind::ALL.map(|kind| (kind, Rehearsed::default())).into();
        }
        terminate(&mut pass.seen, kind);
        let after = report(&pass);
        assert_eq!(after.state(kind), Some(ChildState::Pending), "{kind} in {mode}");
        assert!(!pass.is_well(), "{kind} in {mode}");
        if mode == "Enforce" {
            let conditions = [after.brief("Applied"), after.progress()];
            assert_eq!(conditions, ["False Pending", "Reconciling Pending"], "{kind}");
        }
    }
}

#[test]
fn a_deployment_that_waits_for_the_end_of_batons_autoscaler_is_not_applied() {
    for result in [None, Some(APPLIED)] {
        let was_written = result.is_some();
        let mut pass = pass(&fixed(), [deployment_owned_by("b", 5), child(ChildKind::Autoscaler)], result);
        terminate(&mut pass.seen, ChildKind::Autoscaler);
        assert_eq!(pass.is_well(), was_written);
        let after = report(&pass);
        assert_eq!(after.brief("Applied"), "False Pending");
        assert!(after.message("Applied").contains("HorizontalPodAutoscaler is deleted"));
    }
}

#[test]
fn a_workload_is_not_applied_while_a_deletion_is_refused_or_open() {
    for (result, state, applied) in [
        (None, ChildState::Deleting, "False Pending"),
        (Some(failed()), ChildState::Deleting, "False Pending"),
        (Some(rejected()), ChildState::Rejected, "False Rejected"),
    ] {
        let results = [APPLIED].into_iter().chain(result.map(|result| (Service, result)));
        let after = report(&pass(&fixed(), [deployment(&running()), child(Service)], results));
        assert_eq!((after.state(Service), &*after.brief("Applied")), (Some(state), applied));
    }
}

#[test]
fn a_child_that_the_spec_no_longer_has_is_reported_until_it_is_gone() {
    let service = json!({"kind": "Service", "name": "web", "apiVersion": "v1", "state": "Applied"});
    let before: WorkloadStatus = serde_json::from_value(json!({"children": [service]})).unwrap();
    for (result, expected) in [(Some(failed()), Some(ChildState::Deleting)), (None, None)] {
        let pass = ended([APPLIED].into_iter().chain(result.map(|result| (Service, result))));
        assert_eq!(Report::after(&before, &pass, now()).state(Service), expected);
    }
}

#[test]
fn a_workload_that_cannot_be_read_stalls() {
    let before = report(&pass(&fixed(), [deployment(&json!({}))], [APPLIED]));
    assert_eq!(before.progress(), "Reconciling RollingOut");
    let status = unreadable(Some(2), &before.status, &Unreadable::Undecodable("no".to_owned()), now());
    let after = Report { status, ..before };
    assert_eq!([after.brief("Ready"), after.progress()], ["Unknown Undecodable", "Stalled Undecodable"]);
}

#[test]
fn a_ready_workload_stays_ready_until_another_replica_count_is_observed() {
    let before = report(&well());
    let unseen = running_but(&json!({"observedGeneration": 1}));
    let scaled = pass(&fixed(), [deployment(&unseen)], [APPLIED]);
    assert_eq!(before.then(&scaled).brief("Ready"), "True Available");
    let edited = before.then(&edited(scaled));
    assert_eq!(edited.brief("Ready"), "False RollingOut", "a changed spec has to be observed first");
}

#[test]
fn a_condition_is_dated_by_the_change_of_its_status() {
    let after = report(&well()).later(1.minute(), &ended([(Deployment, rejected())]));
    assert_eq!(["Stalled", "Applied"].map(|type_| after.since(type_)), [now() + 1.minute(); 2]);
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
        let report = report(&pass(&autoscaled, children, []));
        assert_eq!(report.brief("HandedOver"), handed_over);
        let known = ["Ready", "Applied", "Reconciling", "Stalled", "HandedOver"];
        let others = report.status.conditions.iter().filter(|one| !known.contains(&one.type_.as_str()));
        let others: Vec<String> = others.map(|one| format!("{} {}", one.type_, one.status)).collect();
        assert_eq!(others, Vec::from_iter(unusual.map(|type_| format!("{type_} True"))));
        let ownership = report.status.replica_ownership.unwrap();
        assert_eq!((&*ownership.owner, ownership.phase, ownership.value), (owner, phase, count));
    }
}

/// A pass that finds the Deployment scaled, and these autoscalers.
fn scaled(spec: &Value, autoscalers: impl IntoIterator<Item = Autoscaler>) -> Pass {
    let mut pass = pass(&workload(spec), [deployment_owned_by("s", 4)], []);
    pass.seen.autoscalers = autoscalers.into_iter().collect();
    pass
}

#[test]
fn an_external_autoscaler_is_reported_as_missing_only_if_it_existed_before() {
    let external = json!({"autoscaling": {"external": {}}});
    let (by_hand, scaled) = (scaled(&external, []), scaled(&external, [autoscaler("theirs")]));
    let first = report(&by_hand);
    assert_eq!(first.brief("HandedOver"), "True HandedOver", "users may scale without an autoscaler");
    let during = first.then(&scaled);
    assert_eq!(during.status.replica_ownership.as_ref().unwrap().autoscalers, ["theirs"]);
    let after = during.then(&by_hand);
    assert_eq!(after.brief("AutoscalerMissing"), "True AutoscalerMissing");
    assert_eq!(after.reasons(), ["AutoscalerMissing"]);
    assert_eq!(after.then(&by_hand).status, after.status, "and it stays missing");
    assert_eq!(after.then(&scaled).status, during.status);
}

#[test]
fn an_autoscaler_that_kubernetes_cannot_resolve_or_has_stopped_is_reported() {
    let external = json!({"autoscaling": {"external": {}}});
    let own = json!({"autoscaling": {"minReplicas": 2, "maxReplicas": 5}});
    let (neither, fixed) = (json!({}), json!({"replicas": 4}));
    let target = "Deployment of \"extensions/v1beta1\"";
    let unresolved =
        Autoscaler { scales: Scales::Nothing { target: target.to_owned() }, ..autoscaler("old") };
    let of_workload = Autoscaler { scales: Scales::Workload, ..autoscaler("theirs") };
    let stopped = Autoscaler { is_ambiguous: true, ..autoscaler("theirs") };
    let asks_for = "theirs to target the Deployment, or for the Workload's spec.replicas";
    // Each with parts of the message; without parts, nothing is reported.
    for (spec, autoscalers, expected) in [
        (&external, vec![unresolved.clone()], &["old to target", target][..]),
        (&external, vec![unresolved.clone(), autoscaler("new")], &[]),
        (&own, vec![unresolved.clone()], &[]),
        (&neither, vec![unresolved], &[target]),
        (&neither, vec![of_workload], &[asks_for]),
        (&neither, vec![autoscaler("theirs")], &[]),
        (&external, vec![stopped.clone()], &["ScalingActive of theirs"]),
        (&fixed, vec![stopped], &["theirs, which scales"]),
    ] {
        let report = report(&scaled(spec, autoscalers));
        assert_eq!(report.condition("AutoscalerConflict").is_some(), !expected.is_empty(), "{spec}");
        assert_eq!(report.reasons().contains(&"AutoscalerConflict"), !expected.is_empty(), "{spec}");
        let message = report.message("AutoscalerConflict");
        assert!(expected.iter().all(|part| message.contains(part)), "{spec}: {message}");
    }
}

#[test]
fn creations_are_one_event_and_each_adoption_and_deletion_is_one_whatever_the_last_result_is() {
    let milestones = vec![
        (Service, ChildResult::Created),
        (Deployment, ChildResult::Created),
        (DisruptionBudget, ChildResult::Deleted),
        (Deployment, ChildResult::Adopted { retired: vec!["helm".to_owned()] }),
    ];
    let outbox = Outbox { milestones, ..Outbox::default() };
    let before = report(&well()).then(&ended([(Deployment, failed())]));
    let report = before.then(&Pass { outbox, ..ended([(Deployment, failed())]) });
    assert_eq!(report.reasons(), ["Created", "Deleted", "Adopted"]);
    assert_eq!(report.notes("Created"), ["created Deployment, Service web"]);
    assert_eq!(report.notes("Deleted"), ["deleted PodDisruptionBudget web: the spec no longer asks for it"]);
    assert!(report.notes("Adopted")[0].contains("Baton now owns the fields of helm"));
    let about = report.events.iter().map(|event| event.secondary.as_ref()?.kind.as_deref());
    assert_eq!(about.collect::<Vec<_>>(), [None, Some("PodDisruptionBudget"), Some("Deployment")]);
}

const IMAGE: &str = r#".spec.template.spec.containers[name="app"].image"#;

fn takeover(path: &str, manager: &str) -> (ChildKind, Takeover) {
    let [old, new] = ["1", "2"].map(|value| Some(value.to_owned()));
    (Deployment, Takeover { path: FieldPath::spelled(path), manager: manager.to_owned(), old, new })
}

/// A pass that took these fields over.
fn taking(takeovers: impl IntoIterator<Item = (ChildKind, Takeover)>) -> Pass {
    let outbox = Outbox { takeovers: takeovers.into_iter().collect(), ..Outbox::default() };
    Pass { outbox, ..well() }
}

#[test]
fn a_takeover_is_kept_with_its_values_and_counted_again_when_it_repeats() {
    let first = report(&taking([takeover(IMAGE, "rogue")]));
    let second = first.later(1.minute(), &taking([takeover(IMAGE, "rogue"), takeover(IMAGE, "other")]));
    let known = &second.status.takeovers;
    let brief: Vec<_> = known
        .iter()
        .map(|known| (&*known.manager, known.count, known.first_time.0, known.last_time.0))
        .collect();
    assert_eq!(brief, [("rogue", 2, now(), second.at), ("other", 1, second.at, second.at)]);
    assert_eq!((known[0].old_value.as_deref(), known[0].new_value.as_deref()), (Some("1"), Some("2")));
    assert_eq!(&second.later(1.hour(), &well()).status.takeovers, known);
}

#[test]
fn the_oldest_takeovers_are_dropped_beyond_fifty() {
    let mut report = report(&well());
    for number in 0..60 {
        report = report.later(1.second(), &taking([takeover(&format!(".spec.field{number}"), "rogue")]));
    }
    let takeovers = report.later(1.hour(), &taking([takeover(".spec.field10", "rogue")])).status.takeovers;
    let paths: Vec<&str> = takeovers.iter().map(|known| known.path.as_str()).collect();
    assert_eq!(paths.len(), 50);
    assert_eq!((paths[0], paths[49]), (".spec.field11", ".spec.field10"), "the repeated one is the latest");
}

#[test]
fn of_twenty_thousand_takeovers_the_last_are_kept() {
    let takeover = |at: usize| takeover(&format!(".metadata.annotations.k{at:05}"), "rogue");
    let kept = report(&taking((0..20_000).map(takeover))).status.takeovers;
    let paths: Vec<String> = kept.into_iter().map(|known| known.path).collect();
    let expected: Vec<String> = (19_950..20_000).map(|at| takeover(at).1.path.to_string()).collect();
    assert_eq!(paths, expected);
}

#[test]
fn what_cannot_be_reported_for_long_is_kept_up_to_a_limit_without_the_oldest() {
    let path = |at: usize| format!(".metadata.annotations.k{at}");
    let mut outbox = Outbox::default();
    for at in 0..50 {
        outbox.add(taking((at * 1000..(at + 1) * 1000).map(|at| takeover(&path(at), "rogue"))).outbox);
    }
    assert!(outbox.takeovers.len() < 10_000, "{}", outbox.takeovers.len());
    assert_eq!(outbox.takeovers.last().unwrap().1.path.to_string(), path(49_999));
}

#[test]
fn a_takeover_that_leaves_the_value_is_reported_without_values() {
    let (child, takeover) = takeover(IMAGE, "retired");
    let report = report(&taking([(child, Takeover { old: None, new: None, ..takeover })]));
    assert_eq!(report.notes("TookOver"), [format!("took over from retired in Deployment web: {IMAGE}")]);
}

#[test]
fn takeovers_are_reported_by_one_event_for_each_manager_and_burst() {
    let burst = [takeover(IMAGE, "rogue"), takeover(".spec.paused", "rogue"), takeover(IMAGE, "other")];
    let first = report(&taking(burst));
    let expected = [
        format!("took over from other in Deployment web: {IMAGE} (1 to 2)"),
        format!("took over from rogue in Deployment web: {IMAGE} (1 to 2); .spec.paused (1 to 2)"),
    ];
    assert_eq!(first.notes("TookOver"), expected);

    let again = taking([takeover(".spec.minReadySeconds", "rogue")]);
    assert_eq!(first.later(1.minute(), &again).notes("TookOver"), NONE, "still the same burst");
    assert_eq!(first.later(1.hour(), &again).notes("TookOver").len(), 1);
    let slowest = Span::try_from(LONGEST_PAUSE + Duration::from_secs(30)).unwrap();
    assert_eq!(first.later(slowest, &again).notes("TookOver"), NONE, "the slowest contention is one burst");
}

#[test]
fn an_event_names_a_few_of_many_fields_and_takeovers_from_many_managers_are_a_few_events() {
    let fields = (0..8).map(|number| takeover(&format!(".spec.field{number}"), "rogue"));
    let fields = report(&taking(fields));
    let note = fields.notes("TookOver")[0];
    assert!(note.ends_with(".spec.field4 (1 to 2); and 3 more"), "{note}");

    let managers = report(&taking((0..300).map(|number| takeover(IMAGE, &format!("forged-{number:03}")))));
    let notes = managers.notes("TookOver");
    assert_eq!(notes.len(), 6, "{notes:?}");
    assert_eq!(notes[5], "took over 295 fields of web from 295 more managers");
}

fn contested_field(path: &str) -> Contested<ChildKind> {
    let (path, manager) = (FieldPath::spelled(path), "rogue".to_owned());
    Contested { key: Deployment, path, manager, count: 5, pause: Duration::from_secs(4) }
}

#[test]
fn a_pause_before_a_scale_is_overwritten_is_no_takeback() {
    for (suspend, count, phase) in [(false, 3, HandoverPhase::Fixed), (true, 0, HandoverPhase::Suspended)] {
        let workload = workload(&json!({"replicas": 3, "suspend": suspend}));
        let before = report(&pass(&workload, [deployment_owned_by("b", count)], [APPLIED]));
        assert_eq!(before.status.replica_ownership.as_ref().unwrap().phase, phase);

        let contested = vec![contested_field(".spec.replicas")];
        let paused = Pass { contested, ..pass(&workload, [deployment_owned_by("s", 5)], []) };
        let during = before.then(&paused);
        assert_eq!(during.brief("Ready"), "False NotApplied");
        let ownership = during.status.replica_ownership.unwrap();
        let waiting = ownership.waiting_for.as_deref();
        let expected = (phase, 5, Some("the end of a pause, see the condition Contested"));
        assert_eq!((ownership.phase, ownership.value, waiting), expected);
    }
}

#[test]
fn a_contested_workload_names_a_few_of_many_fields() {
    let contested = (0..9000).map(|number| contested_field(&format!(".spec.field{number}"))).collect();
    let report = report(&Pass { contested, ..well() });
    assert_eq!([report.brief("Applied"), report.progress()], ["False Contested", "Stalled Contested"]);
    assert_eq!(report.state(Deployment), Some(ChildState::Contested));
    let message = report.message("Contested");
    assert!(message.contains(".spec.field4 ") && message.contains("and 8995 more fields"), "{message}");
    assert!(message.len() < 4096 && !message.contains(".spec.field5 "), "{message}");
    assert!(message.contains("corrected it 5 times and now waits 4s"), "{message}");
}

/// A pass in a mode that writes nothing, with what it would do with the Deployment.
fn planned(mode: &str, rehearsed: Rehearsed, dry_run: DryRunResult, message: Option<&str>) -> Pass {
    let workload = workload(&json!({"replicas": 3, "mode": mode}));
    let rehearsed = Rehearsed { dry_run, message: message.map(str::to_owned), ..rehearsed };
    let rehearsed = [(Deployment, rehearsed)].into();
    Pass { rehearsed, ..pass(&workload, [deployment(&running())], []) }
}

#[test]
fn a_mode_that_writes_nothing_reports_what_enforce_would_do() {
    let update = Rehearsed { action: PlannedAction::Update, writes: 1, ..Rehearsed::default() };
    for mode in ["Preview", "Paused"] {
        for (rehearsed, would, state) in [
            (update.clone(), "update Deployment", ChildState::Pending),
            (Rehearsed::default(), "change nothing", ChildState::Applied),
        ] {
            let report = report(&planned(mode, rehearsed, DryRunResult::Agreed, None));
            assert_eq!(report.brief("Applied"), format!("Unknown {mode}"));
            let message = format!("spec.mode is {mode}: no child is written. Enforce would {would}");
            assert_eq!((report.message("Applied"), report.state(Deployment)), (&*message, Some(state)));
        }
    }
}

#[test]
fn a_plan_lists_up_to_a_hundred_fields_and_the_api_servers_message_and_is_removed_with_the_mode() {
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
    let during =
        report(&planned("Preview", rehearsed, DryRunResult::Disagreed, Some("the API server disagrees")));
    let child = &during.status.plan[0];
    assert_eq!((child.action, child.writes), (PlannedAction::Update, Some(2)));
    assert_eq!((child.sets.len(), child.sets[100].as_str()), (101, "and 150 more"));
    assert_eq!((child.removes.len(), child.takes.len()), (100, 100));
    let message = "the API server disagrees; it takes over 150 more fields than are listed";
    assert_eq!((child.dry_run, child.message.as_deref()), (DryRunResult::Disagreed, Some(message)));

    let after = during.then(&well());
    assert!(after.status.plan.is_empty());
    assert_eq!(after.brief("Applied"), "True Applied");
}
