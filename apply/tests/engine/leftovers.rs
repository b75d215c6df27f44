//! Defaults that contradict an apply are claimed first, and removed by the apply.

use crate::common::{but, deployment, deployments, forced, now, object, response, schemas, stored};
use baton_apply::{Change, FieldPath, Guard, LiveObject, Prediction, Request};
use serde_json::{Value, json};

/// The paths that are claimed before an intent is applied, by `baton`.
fn clears(live: &LiveObject, intent: &Value) -> Vec<FieldPath> {
    schemas().prepare(forced(intent), Some(live), now()).clears
}

/// The live object after the claim and the intent, and the count of writes.
fn applied(live: &LiveObject, intent: &Value) -> (LiveObject, usize) {
    let (mut live, mut writes) = (live.clone(), 0);
    loop {
        let write = schemas().prepare(forced(intent), Some(&live), now());
        live = response(&write.request, Some(&live), now());
        writes += 1;
        if !write.is_preparatory() {
            return (live, writes);
        }
    }
}

fn strategy(strategy: Option<&str>) -> Value {
    let mut spec = json!({"template": {"spec": {"containers": [{"name": "app", "image": "app:1"}]}}});
    if let Some(strategy) = strategy {
        spec["strategy"] = json!({"type": strategy});
    }
    object(&deployments(), &spec)
}

/// A Deployment as the API server completes it.
fn with_defaulted_strategy(body: &Value) -> LiveObject {
    but(&stored(&[("baton", body)]), |object| {
        object["spec"]["strategy"] =
            json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}});
    })
}

#[test]
fn a_default_that_contradicts_the_intent_is_claimed_unchanged_and_then_removed() {
    for before in [None, Some("RollingUpdate")] {
        let live = with_defaulted_strategy(&strategy(before));
        let write = schemas().prepare(forced(&strategy(Some("Recreate"))), Some(&live), now());
        assert_eq!(write.clears, [FieldPath::spelled(".spec.strategy.rollingUpdate")]);
        assert!(write.request.requires_unchanged());
        let Change::Patch { .. } = write.request.change else { panic!("{:?}", write.request) };

        let claimed = response(&write.request, Some(&live), now());
        assert_eq!(claimed.get(&["spec"]), live.get(&["spec"]), "only its owner changes");
        let surge = FieldPath::spelled(".spec.strategy.rollingUpdate.maxSurge");
        assert!(claimed.is_owned_by("baton", &surge) && !live.is_owned_by("baton", &surge));

        let (after, writes) = applied(&live, &strategy(Some("Recreate")));
        assert_eq!((after.get(&["spec", "strategy"]), writes), (Some(&json!({"type": "Recreate"})), 2));
    }
}

#[test]
fn one_apply_removes_a_default_that_is_owned_or_in_a_removed_struct() {
    let mut owned = strategy(Some("RollingUpdate"));
    owned["spec"]["strategy"]["rollingUpdate"] = json!({"maxSurge": 1});
    let live = but(&stored(&[("baton", &owned)]), |object| {
        object["spec"]["strategy"]["rollingUpdate"]["maxUnavailable"] = json!("25%");
    });
    assert_eq!(applied(&live, &strategy(Some("Recreate"))).1, 1);

    let recreate = stored(&[("baton", &strategy(Some("Recreate")))]);
    assert_eq!(applied(&recreate, &strategy(None)).1, 1);
}

#[test]
fn a_field_of_another_manager_is_not_claimed() {
    let theirs = object(&deployments(), &json!({"strategy": {"rollingUpdate": {"maxSurge": "25%"}}}));
    let live = stored(&[("baton", &strategy(Some("RollingUpdate"))), ("other", &theirs)]);
    assert!(clears(&live, &strategy(Some("Recreate"))).is_empty());
}

#[test]
fn a_value_that_is_not_the_servers_default_is_not_claimed() {
    let body = |image: &str| deployment(&json!({"image": image}));
    let live = |policy: &str| {
        but(&stored(&[("baton", &body("app"))]), |object| {
            object["spec"]["template"]["spec"]["containers"][0]["imagePullPolicy"] = policy.into();
        })
    };
    let path = FieldPath::spelled(r#".spec.template.spec.containers[name="app"].imagePullPolicy"#);
    assert_eq!(clears(&live("Always"), &body("app:1")), [path]);
    assert!(clears(&live("Never"), &body("app:1")).is_empty(), "a webhook has set it");
    assert!(clears(&live("Always"), &body("app:latest")).is_empty(), "it is the default of this image too");
}

#[test]
fn a_struct_is_emptied_by_a_single_change_of_the_object() {
    let body = |context: Value| deployment(&json!({"image": "app:1", "securityContext": context}));
    let live = stored(&[("baton", &body(json!({"runAsUser": 1, "runAsGroup": 2})))]);
    let intent = body(json!({}));
    let write = schemas().prepare(forced(&intent), Some(&live), now());
    let context = FieldPath::spelled(r#".spec.template.spec.containers[name="app"].securityContext"#);
    assert_eq!(write.clears, [context]);
    let Change::Apply { body, .. } = &write.request.change else { panic!("{:?}", write.request) };
    let applied = &body["spec"]["template"]["spec"]["containers"][0]["securityContext"];
    assert_eq!(applied, &json!({"runAsGroup": null, "runAsUser": null}));

    // The server stores no null: its types have no pointer there, or the pointer is nil.
    let emptied = but(&response(&write.request, Some(&live), now()), |object| {
        object["spec"]["template"]["spec"]["containers"][0]["securityContext"] = json!({});
    });
    let write = schemas().prepare(forced(&intent), Some(&emptied), now());
    assert!(!write.is_preparatory() && !write.is_noop());
    let after = response(&write.request, Some(&emptied), now());
    assert_eq!(after.get(&["spec"]), emptied.get(&["spec"]));
    assert!(schemas().prepare(forced(&intent), Some(&after), now()).is_noop());
}

#[test]
fn defaults_in_an_emptied_struct_are_released() {
    let body = |source: Value| {
        let mut body = deployment(&json!({"image": "app:1"}));
        body["spec"]["template"]["spec"]["volumes"] = json!([{"name": "v", "downwardAPI": source}]);
        body
    };
    let intent = body(json!({}));
    let volume = FieldPath::spelled(r#".spec.template.spec.volumes[name="v"].downwardAPI"#);
    let mode = FieldPath::spelled(r#".spec.template.spec.volumes[name="v"].downwardAPI.defaultMode"#);

    let default = stored(&[("baton", &body(json!({"defaultMode": 0o644})))]);
    let (after, writes) = applied(&default, &intent);
    assert_eq!((after.get(&["spec"]), writes), (default.get(&["spec"]), 2), "the second isn't sent");
    assert!(after.is_owned_by("baton", &volume) && !after.is_owned_by("baton", &mode));
    assert!(schemas().prepare(forced(&intent), Some(&after), now()).is_noop());

    let other = stored(&[("baton", &body(json!({"defaultMode": 0o400, "items": [{"path": "a"}]})))]);
    let write = schemas().prepare(forced(&intent), Some(&other), now());
    let Change::Apply { body, .. } = &write.request.change else { panic!("{:?}", write.request) };
    let reset = json!({"defaultMode": 0o644, "items": null});
    assert_eq!(body["spec"]["template"]["spec"]["volumes"][0]["downwardAPI"], reset);
}

#[test]
fn a_map_is_emptied_by_the_apply_alone() {
    let body = |labels: Value| object(&deployments(), &json!({"template": {"metadata": {"labels": labels}}}));
    let live = stored(&[("baton", &body(json!({"app": "web"})))]);
    assert!(clears(&live, &body(json!({}))).is_empty(), "null would be an empty text in a map");
}

#[test]
fn a_manager_that_has_never_applied_gets_its_own_entry() {
    let live = but(&with_defaulted_strategy(&strategy(None)), |object| {
        object["metadata"]["managedFields"][0]["manager"] = "kubectl-create".into();
        object["metadata"]["managedFields"][0]["operation"] = "Update".into();
    });
    let (after, writes) = applied(&live, &strategy(Some("Recreate")));
    assert_eq!((after.get(&["spec", "strategy"]), writes), (Some(&json!({"type": "Recreate"})), 2));
}

#[test]
fn a_claim_of_an_unforced_apply_is_valid_only_for_the_object_that_was_read() {
    let live = with_defaulted_strategy(&strategy(None));
    let intent = strategy(Some("Recreate"));
    let guard = Guard::SameObject("made-up".into());
    let target = crate::common::target(&intent);
    let request = Request::apply(target, intent, "baton", false, &guard);
    let write = schemas().prepare(request, Some(&live), now());
    assert!(write.is_preparatory());
    let newer = but(&live, |object| object["metadata"]["resourceVersion"] = "43".into());
    assert!(schemas().predict(&write.request, Some(&newer), now()).is_err(), "the patch tests the version");
    assert!(matches!(write.prediction, Ok(Prediction::Stored(_))));
}
