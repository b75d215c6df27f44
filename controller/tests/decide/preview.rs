//! The preview of a pass, rehearsed with the merge core in the API server's place.

use std::sync::Arc;

use crate::common::{
    cluster::{apply, deployment, enforced, now, response, schemas},
    seen, workload,
};
use baton_apply::{Effects, Schemas};
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

/// The same children under another spec.
fn edited(before: &Snapshot, spec: &Value) -> Snapshot {
    let mut edited = before.clone();
    edited.workload = Arc::new(workload(spec));
    edited
}

fn rehearsed(seen: &Snapshot) -> Pass {
    rehearse(seen, schemas(), now()).unwrap()
}

fn full() -> Value {
    json!({
        "replicas": 3,
        "template": {"spec": {"containers": [{
            "name": "app", "image": "app:1", "resources": {"limits": {"cpu": "0.5"}},
        }]}},
        "service": {"ports": [{"name": "http", "port": 80}]},
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
fn a_new_autoscaled_workload_would_be_handed_over_at_once() {
    let autoscaled = json!({"autoscaling": {"minReplicas": 2, "maxReplicas": 5}});
    let rehearsal = rehearsed(&seen(&workload(&autoscaled), []));
    let planned = |kind| {
        let Rehearsed { action, writes, .. } = &rehearsal.rehearsed[&kind];
        (*action, *writes)
    };
    assert_eq!(planned(ChildKind::Deployment), (PlannedAction::Create, 3));
    assert_eq!(planned(ChildKind::Autoscaler), (PlannedAction::Create, 1));
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
    let rehearsed = &rehearsed(&seen).rehearsed[&ChildKind::Deployment].effects.takeovers;
    assert_eq!(rehearsed.len(), COUNT);
    let written = enforced(seen).0.outbox.takeovers;
    assert_eq!(written.len(), COUNT, "a write takes over what the rehearsal says");
}
