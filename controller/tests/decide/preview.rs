//! What a pass would do, rehearsed with the merge core in the API server's place.

use std::sync::Arc;

use crate::common::{
    cluster::{apply, deployment, enforced, now, response, schemas},
    disown, seen, workload,
};
use baton_apply::{Effects, FieldPath, Schemas, Takeover};
use baton_controller::decide::{
    child::ChildKind,
    pass::{Pass, Rehearsed},
    rehearsal::rehearse,
    snapshot::Snapshot,
};
use baton_crd::PlannedAction;
use serde_json::{Value, json};

/// A Workload with this spec, whose children were written until nothing was left to do.
fn settled(spec: &Value) -> Snapshot {
    done(seen(&workload(spec), []))
}

fn done(seen: Snapshot) -> Snapshot {
    let (finished, writes) = enforced(seen);
    assert!(finished.settled, "it doesn't settle: {writes:?}");
    finished.seen
}

fn texts(paths: &[FieldPath]) -> Vec<&str> {
    paths.iter().map(FieldPath::as_str).collect()
}

/// The same children under another spec.
fn edited(before: &Snapshot, spec: &Value) -> Snapshot {
    let mut edited = before.clone();
    edited.workload = Arc::new(workload(spec));
    edited
}

fn rehearsed(seen: &Snapshot) -> Pass {
    rehearse(seen, schemas(), now()).unwrap()
}

fn of(seen: &Snapshot, child: ChildKind) -> Rehearsed {
    rehearsed(seen).rehearsed[&child].clone()
}

fn actions(rehearsal: &Pass) -> Vec<(ChildKind, PlannedAction, u32)> {
    let action = |(child, rehearsed): (&ChildKind, &Rehearsed)| (*child, rehearsed.action, rehearsed.writes);
    rehearsal.rehearsed.iter().map(action).collect()
}

fn full() -> Value {
    json!({
        "replicas": 3,
        "template": {"spec": {"containers": [{
            "name": "app", "image": "app:1", "env": [{"name": "LEVEL", "value": "info"}],
            "resources": {"limits": {"cpu": "0.5"}},
        }]}},
        "service": {"ports": [{"name": "http", "port": 80}, {"name": "metrics", "port": 9090}]},
        "disruptionBudget": {"maxUnavailable": 1},
    })
}

/// The full spec with one field changed, or dropped if the value is null.
fn full_but(pointer: &str, value: Value) -> Value {
    let mut spec = full();
    *spec.pointer_mut(pointer).unwrap() = value;
    spec.as_object_mut().unwrap().retain(|_, field| !field.is_null());
    spec
}

#[test]
fn a_new_workload_would_get_each_child_in_one_write() {
    let rehearsal = rehearsed(&seen(&workload(&full()), []));
    let created = |child| (child, PlannedAction::Create, 1);
    let children = [ChildKind::Deployment, ChildKind::Service, ChildKind::DisruptionBudget];
    assert_eq!(actions(&rehearsal), children.map(created));
    let sets = &rehearsal.rehearsed[&ChildKind::DisruptionBudget].effects.sets;
    assert!(texts(sets).contains(&".spec.maxUnavailable"), "{sets:?}");
}

#[test]
fn nothing_would_be_done_if_everything_matches_the_spec() {
    let rehearsal = rehearsed(&settled(&full()));
    for (child, rehearsed) in &rehearsal.rehearsed {
        let Rehearsed { action, effects, writes, first, stopped, .. } = rehearsed;
        assert_eq!((*action, *writes), (PlannedAction::Nothing, 0), "{child}");
        assert_eq!((effects, stopped), (&Effects::default(), &None), "{child}");
        assert!(first.as_ref().unwrap().is_noop(), "{child}: a dry run is still possible");
    }
    assert_eq!(rehearsal.rehearsed.len(), 3);
}

#[test]
fn a_changed_variable_would_be_set_and_nothing_else() {
    let after = full_but("/template/spec/containers/0/env/0/value", json!("debug"));
    let rehearsal = rehearsed(&edited(&settled(&full()), &after));
    let deployment = &rehearsal.rehearsed[&ChildKind::Deployment];
    assert_eq!((deployment.action, deployment.writes), (PlannedAction::Update, 1));
    let value = r#".spec.template.spec.containers[name="app"].env[name="LEVEL"].value"#;
    assert_eq!(texts(&deployment.effects.sets), [value]);
    assert!(deployment.effects.removes.is_empty());
    assert_eq!(rehearsal.rehearsed[&ChildKind::Service].action, PlannedAction::Nothing);
}

#[test]
fn a_dropped_port_would_be_removed_by_its_own_path() {
    let after = full_but("/service/ports", json!([{"name": "http", "port": 80}]));
    let service = of(&edited(&settled(&full()), &after), ChildKind::Service);
    assert_eq!(service.action, PlannedAction::Update);
    assert_eq!(texts(&service.effects.removes), [r#".spec.ports[port=9090,protocol="TCP"]"#]);
    assert!(service.effects.sets.is_empty());
}

#[test]
fn a_child_that_the_spec_drops_would_be_deleted() {
    let service = of(&edited(&settled(&full()), &full_but("/service", Value::Null)), ChildKind::Service);
    assert_eq!((service.action, service.writes), (PlannedAction::Delete, 1));
}

#[test]
fn autoscaling_would_hand_over_the_replica_count_in_two_writes_and_release_it() {
    let mut after = full();
    after["autoscaling"] = json!({"minReplicas": 2, "maxReplicas": 5});
    let rehearsal = rehearsed(&edited(&settled(&full()), &after));
    let deployment = &rehearsal.rehearsed[&ChildKind::Deployment];
    assert_eq!((deployment.action, deployment.writes), (PlannedAction::Update, 2));
    assert_eq!(texts(&deployment.effects.releases), [".spec.replicas"]);
    assert!(deployment.effects.sets.is_empty(), "the replica count stays: {:?}", deployment.effects.sets);
    assert_eq!(rehearsal.rehearsed[&ChildKind::Autoscaler].action, PlannedAction::Create);
}

#[test]
fn a_new_autoscaled_workload_would_be_handed_over_at_once() {
    let autoscaled = json!({"autoscaling": {"minReplicas": 2, "maxReplicas": 5}});
    let rehearsal = rehearsed(&seen(&workload(&autoscaled), []));
    let expected = [
        (ChildKind::Deployment, PlannedAction::Create, 3),
        (ChildKind::Autoscaler, PlannedAction::Create, 1),
    ];
    assert_eq!(actions(&rehearsal), expected);
}

#[test]
fn a_takeover_is_reported_with_its_manager() {
    let mut before = settled(&full());
    let rogue = apply(&deployment(&json!({"image": "evil:1"})), "rogue", true);
    let live = response(&rogue, before.child(ChildKind::Deployment));
    before.put(ChildKind::Deployment, Some(live));
    let takeover = Takeover {
        path: FieldPath::spelled(r#".spec.template.spec.containers[name="app"].image"#),
        manager: "rogue".to_owned(),
        old: Some(r#""evil:1""#.to_owned()),
        new: Some(r#""app:1""#.to_owned()),
    };
    assert_eq!(of(&before, ChildKind::Deployment).effects.takeovers, [takeover]);
}

#[test]
fn another_owners_object_would_not_be_written_and_the_other_children_would() {
    let mut before = edited(&settled(&full()), &full_but("/disruptionBudget/maxUnavailable", json!(2)));
    disown(&mut before, ChildKind::Service);
    let rehearsal = rehearsed(&before);
    assert_eq!(rehearsal.refused.len(), 1);
    let service = &rehearsal.rehearsed[&ChildKind::Service];
    assert_eq!((service.action, service.writes), (PlannedAction::Nothing, 0));
    assert_eq!(service.stopped.as_ref(), Some(&rehearsal.refused[0].message));
    assert_eq!(rehearsal.rehearsed[&ChildKind::DisruptionBudget].action, PlannedAction::Update);
}

#[test]
fn without_a_schema_the_first_write_is_known_and_its_effect_is_not() {
    let rehearsal = rehearse(&seen(&workload(&full()), []), &Schemas::default(), now()).unwrap();
    let deployment = &rehearsal.rehearsed[&ChildKind::Deployment];
    assert_eq!((deployment.action, deployment.writes), (PlannedAction::Create, 0));
    assert!(deployment.stopped.as_ref().unwrap().contains("no usable schema of Deployment"));
    assert!(deployment.first.as_ref().unwrap().prediction.is_err(), "a dry run is still possible");
}

#[test]
fn a_write_that_the_server_would_refuse_ends_the_rehearsal_of_its_child_with_a_message() {
    // A list that can't be applied: two items with the same key.
    let ports = json!([{"containerPort": 80}, {"containerPort": 80}]);
    let mut spec = full();
    spec["template"]["spec"]["containers"][0]["ports"] = ports;
    let rehearsal = rehearsed(&edited(&settled(&full()), &spec));
    let deployment = &rehearsal.rehearsed[&ChildKind::Deployment];
    let message = deployment.stopped.as_ref().unwrap();
    assert!(
        message.starts_with("the API server would refuse it: ") && message.contains("ports"),
        "{message}"
    );
    assert_eq!(rehearsal.rehearsed[&ChildKind::Service].stopped, None);
}

#[test]
fn a_rehearsal_after_the_writes_would_do_nothing_again() {
    let mut autoscaled = full();
    autoscaled["autoscaling"] = json!({"maxReplicas": 5});
    for after in [
        full_but("/template/spec/containers/0/image", json!("app:2")),
        full_but("/service/ports", json!([{"port": 8080}])),
        full_but("/service", Value::Null),
        full_but("/replicas", Value::Null),
        autoscaled,
    ] {
        let before = edited(&settled(&full()), &after);
        assert!(rehearsed(&before).rehearsed.values().any(|rehearsed| rehearsed.writes > 0), "{after}");
        let after_it = done(before);
        for (child, rehearsed) in rehearsed(&after_it).rehearsed {
            assert_eq!(rehearsed.action, PlannedAction::Nothing, "{child} of {after}");
        }
    }
}

#[test]
fn fields_that_baton_no_longer_sets_and_no_other_manager_owns_would_be_removed() {
    let after = full_but("/template/spec/containers/0/resources", json!({}));
    let deployment = of(&edited(&settled(&full()), &after), ChildKind::Deployment);
    assert_eq!(
        texts(&deployment.effects.removes),
        [r#".spec.template.spec.containers[name="app"].resources.limits"#]
    );
}

#[test]
fn twenty_thousand_annotations_that_another_manager_has_overwritten_are_rehearsed() {
    const COUNT: usize = 20_000;
    let annotations = |value: &str| -> Value {
        (0..COUNT).map(|at| (format!("k{at:05}"), value.into())).collect::<serde_json::Map<_, _>>().into()
    };
    let mut seen = settled(&json!({"replicas": 3, "deployment": {"annotations": annotations("1")}}));
    let mut other = deployment(&json!({}));
    other["metadata"]["annotations"] = annotations("2");
    other["spec"] = json!({});
    let live = response(&apply(&other, "rogue", true), seen.own(ChildKind::Deployment));
    seen.put(ChildKind::Deployment, Some(live));
    let takeovers = of(&seen, ChildKind::Deployment).effects.takeovers;
    assert_eq!(takeovers.len(), COUNT);
    let (finished, _) = enforced(seen);
    assert_eq!(finished.outbox.takeovers.len(), COUNT, "a write takes over what the rehearsal says");
}
