//! Predictions of what a request will do: the objects on one side and the prediction on the other.

use crate::common::{
    MANAGER, apply, but, deployment, deployments, earlier, forced, now, object, response, schemas, services,
    stored, target,
};
use std::sync::Arc;

use baton_apply::{
    Change, Conflicts, Effects, FieldPath, Guard, LiveObject, ManagedFieldsEntry, PredictedObject,
    Prediction, PredictionError, Request, Schemas, Takeover, Target, openapi::document_path,
};
use baton_merge::{
    Release,
    server::{Certainty, Resources},
};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};

fn predict(request: &Request, live: Option<&LiveObject>) -> Prediction {
    schemas().predict(request, live, now()).unwrap()
}

/// The object after a request that is stored.
fn predicted(request: &Request, live: Option<&LiveObject>) -> PredictedObject {
    match predict(request, live) {
        Prediction::Stored(stored) => *stored,
        other => panic!("{other:?} stores nothing"),
    }
}

/// The effects of an apply by the controller.
fn effects(live: Option<&LiveObject>, body: &Value) -> Effects {
    predicted(&forced(body), live).effects
}

fn conflicts(request: &Request, live: &LiveObject) -> Conflicts {
    match predict(request, Some(live)) {
        Prediction::Conflicts(conflicts) => conflicts,
        other => panic!("{other:?} is no conflict"),
    }
}

fn takeover(path: &str, manager: &str, [old, new]: [Option<&str>; 2]) -> Takeover {
    let [old, new] = [old, new].map(|value| value.map(str::to_owned));
    Takeover { path: FieldPath::spelled(path), manager: manager.to_owned(), old, new }
}

fn texts(paths: &[FieldPath]) -> Vec<&str> {
    paths.iter().map(FieldPath::as_str).collect()
}

fn is_noop(live: &LiveObject, body: &Value) -> bool {
    matches!(predict(&forced(body), Some(live)), Prediction::NoOp)
}

const IMAGE: &str = r#".spec.template.spec.containers[name="app"].image"#;

#[test]
fn an_apply_of_live_and_owned_values_changes_nothing() {
    let body = deployment(&json!({"image": "app:1", "args": ["-v"], "env": [{"name": "A", "value": "1"}]}));
    let live = stored(&[("baton", &body)]);
    assert!(is_noop(&live, &body));

    let with_defaults = but(&live, |object| {
        object["spec"]["replicas"] = json!(1);
        object["spec"]["template"]["spec"]["containers"][0]["terminationMessagePolicy"] = json!("File");
        object["status"] = json!({"replicas": 1});
    });
    assert!(is_noop(&with_defaults, &body), "defaults of the server have no owner");
}

#[test]
fn an_apply_of_live_values_that_are_not_owned_yet_has_to_be_sent() {
    let body = deployment(&json!({"image": "app:1"}));
    assert!(!is_noop(&stored(&[("other", &body)]), &body));
}

#[test]
fn a_changed_field_is_reported_by_its_path_only() {
    let live = stored(&[("baton", &deployment(&json!({"image": "app:1", "args": ["-v"]})))]);
    let after = deployment(&json!({"image": "app:2", "args": ["-v"]}));
    assert_eq!(
        effects(Some(&live), &after),
        Effects { sets: vec![FieldPath::spelled(IMAGE)], ..Effects::default() }
    );
}

#[test]
fn a_value_that_the_server_always_drops_is_not_reported_as_set() {
    let body = |image: &str| deployment(&json!({"image": image, "env": [{"name": "A", "value": ""}]}));
    let live = but(&stored(&[("baton", &body("app:1"))]), |object| {
        let env = &mut object["spec"]["template"]["spec"]["containers"][0]["env"][0];
        env.as_object_mut().unwrap().remove("value");
    });
    assert_eq!(texts(&effects(Some(&live), &body("app:2")).sets), [IMAGE]);
}

#[test]
fn a_creation_sets_every_field_except_those_that_identify_the_object() {
    let service = object(&services(), &json!({"type": "ClusterIP", "ports": [{"port": 80}]}));
    let stored = predicted(&forced(&service), None);
    assert!(stored.changed);
    assert_eq!(texts(&stored.effects.sets), [".spec.type", r#".spec.ports[port=80,protocol="TCP"].port"#]);
    let Effects { removes, takeovers, releases, .. } = stored.effects;
    assert!(removes.is_empty() && takeovers.is_empty() && releases.is_empty());
}

#[test]
fn the_unforced_temporary_manager_gets_a_conflict_with_the_autoscaler() {
    let with = |replicas: i32| object(&deployments(), &json!({"replicas": replicas}));
    let live = stored(&[("baton", &with(3)), ("autoscaler", &with(5))]);
    let unforced = apply(&with(3), "temporary", false);
    let conflicts = conflicts(&unforced, &live);
    assert_eq!(
        conflicts.to_string(),
        r#"Apply failed with 1 conflict: conflict with "autoscaler": .spec.replicas"#
    );
    let [conflict] = &conflicts.fields[..] else { panic!("{conflicts:?}") };
    assert_eq!((conflict.live.as_deref(), conflict.intended.as_deref()), (Some("5"), Some("3")));

    let same = apply(&with(5), "temporary", false);
    assert!(matches!(predict(&same, Some(&live)), Prediction::Stored(_)), "the same replica count is shared");
}

#[test]
fn an_apply_that_does_not_fit_the_schema_is_refused_with_a_message() {
    let body = object(&deployments(), &json!({"replicas": "three"}));
    let Prediction::Refused(message) = predict(&forced(&body), None) else { panic!("it would be stored") };
    assert!(message.contains(".spec.replicas"), "{message}");
}

#[test]
fn a_takeover_is_reported_with_the_manager_and_both_values() {
    let live = stored(&[
        ("baton", &deployment(&json!({"image": "app:1"}))),
        ("rogue", &deployment(&json!({"image": "evil:1"}))),
    ]);
    let takeover = takeover(IMAGE, "rogue", [Some(r#""evil:1""#), Some(r#""app:1""#)]);
    assert_eq!(effects(Some(&live), &deployment(&json!({"image": "app:1"}))).takeovers, [takeover]);
}

#[test]
fn a_takeover_of_an_environment_variable_shows_no_value() {
    let with =
        |value: &str| deployment(&json!({"image": "app:1", "env": [{"name": "PASSWORD", "value": value}]}));
    let live = stored(&[("baton", &with("hunter1")), ("rogue", &with("hunter2"))]);
    let effects = effects(Some(&live), &with("hunter1"));
    let takeover = takeover(
        r#".spec.template.spec.containers[name="app"].env[name="PASSWORD"].value"#,
        "rogue",
        [Some("(hidden)"), Some("(hidden)")],
    );
    assert_eq!(effects.takeovers, [takeover]);
    assert!(!format!("{effects:?}").contains("hunter"));
}

#[test]
fn a_field_that_a_manager_owns_twice_is_one_takeover() {
    let live = stored(&[
        ("baton", &deployment(&json!({"image": "app:1"}))),
        ("kubectl", &deployment(&json!({"image": "app:2"}))),
    ]);
    let live = but(&live, |object| {
        let entries = object["metadata"]["managedFields"].as_array_mut().unwrap();
        let mut update = entries.iter().find(|entry| entry["manager"] == "kubectl").unwrap().clone();
        update["operation"] = json!("Update");
        entries.push(update);
    });
    assert_eq!(effects(Some(&live), &deployment(&json!({"image": "app:1"}))).takeovers.len(), 1);
}

#[test]
fn a_field_that_the_writer_owns_by_another_operation_is_not_a_takeover() {
    let with = |replicas: i32| object(&deployments(), &json!({"replicas": replicas}));
    let live = but(&stored(&[("baton", &with(3)), ("other", &with(4))]), |object| {
        for entry in object["metadata"]["managedFields"].as_array_mut().unwrap() {
            if entry["manager"] == "other" {
                entry["manager"] = json!("baton");
                entry["operation"] = json!("Update");
            }
        }
    });
    let effects = effects(Some(&live), &with(3));
    assert_eq!((texts(&effects.sets), effects.takeovers), (vec![".spec.replicas"], Vec::new()));
}

#[test]
fn an_item_that_is_removed_as_a_whole_is_reported_by_its_own_path_only() {
    let variables = |names: &[&str]| {
        let env: Vec<Value> = names.iter().map(|name| json!({"name": name, "value": "x"})).collect();
        deployment(&json!({"image": "app:1", "env": env}))
    };
    let live = stored(&[("baton", &variables(&["A", "B", "C"]))]);
    let removed =
        ["A", "C"].map(|name| format!(r#".spec.template.spec.containers[name="app"].env[name="{name}"]"#));
    let effects = effects(Some(&live), &variables(&["B"]));
    assert_eq!(texts(&effects.removes), removed);
    assert!(effects.releases.is_empty(), "removed fields aren't released: {:?}", effects.releases);
}

#[test]
fn another_managers_field_in_a_removed_item_is_a_takeover_without_a_new_value() {
    let container = |name: &str, fields: &Value| {
        let mut container = fields.clone();
        container["name"] = json!(name);
        container
    };
    let body = |containers: &[Value]| {
        object(&deployments(), &json!({"template": {"spec": {"containers": containers}}}))
    };
    let app = container("app", &json!({"image": "app:1"}));
    let live = stored(&[("baton", &body(&[app.clone(), container("proxy", &json!({"image": "proxy:1"}))]))]);
    let live = but(&live, |object| {
        object["spec"]["template"]["spec"]["containers"][1]["tty"] = json!(true);
        let fields = json!({"f:spec": {"f:template": {"f:spec": {"f:containers": {r#"k:{"name":"proxy"}"#: {"f:tty": {}}}}}}});
        object["metadata"]["managedFields"].as_array_mut().unwrap().push(json!({
            "manager": "rogue", "operation": "Update", "apiVersion": "apps/v1", "time": "2026-01-02T03:05:00Z",
            "fieldsType": "FieldsV1", "fieldsV1": fields,
        }));
    });
    let takeover =
        takeover(r#".spec.template.spec.containers[name="proxy"].tty"#, "rogue", [Some("true"), None]);
    assert_eq!(effects(Some(&live), &body(&[app])).takeovers, [takeover]);
}

#[test]
fn a_field_with_another_owner_stays_and_is_released() {
    let with = |spec: &Value| object(&deployments(), spec);
    let both = with(&json!({"replicas": 3, "minReadySeconds": 5}));
    let live = stored(&[("baton", &both), ("other", &with(&json!({"replicas": 3})))]);
    let effects = effects(Some(&live), &with(&json!({"minReadySeconds": 5})));
    assert_eq!(
        effects,
        Effects { releases: vec![FieldPath::spelled(".spec.replicas")], ..Effects::default() }
    );
}

#[test]
fn a_zero_that_the_server_does_not_store_is_sent_once() {
    let zeros = json!({"image": "app:1", "tty": false, "env": [{"name": "EMPTY", "value": ""}]});
    let body = deployment(&zeros);
    let live = without_zeros(&stored(&[("baton", &body)]));
    assert!(is_noop(&live, &body), "it repeats the apply before");

    let mut more = zeros.clone();
    more["stdin"] = json!(false);
    assert!(!is_noop(&live, &deployment(&more)), "Baton doesn't own this one yet");
    let mut other = zeros;
    other["tty"] = json!(true);
    assert!(!is_noop(&live, &deployment(&other)), "this one is stored");
}

/// The object as the server stores it, without zeros.
fn without_zeros(live: &LiveObject) -> LiveObject {
    but(live, |object| {
        let container = &mut object["spec"]["template"]["spec"]["containers"][0];
        container.as_object_mut().unwrap().remove("tty");
        if let Some(variable) = container["env"].get_mut(0) {
            variable.as_object_mut().unwrap().remove("value");
        }
    })
}

#[test]
fn a_zero_that_another_manager_has_too_is_not_taken_back() {
    let zeros = json!({"image": "app:1", "env": [{"name": "EMPTY", "value": ""}]});
    let body = deployment(&zeros);
    let live = without_zeros(&stored(&[(MANAGER, &body)]));
    let live = without_zeros(&response(&apply(&body, "other", true), Some(&live), earlier()));
    let value = FieldPath::spelled(r#".spec.template.spec.containers[name="app"].env[name="EMPTY"].value"#);
    assert!(live.is_owned_by("other", &value) && !live.is_owned_by(MANAGER, &value));

    let repeated = predicted(&forced(&body), Some(&live));
    assert!(repeated.is_repeat);
    assert_eq!(repeated.effects, Effects::default());

    let mut another = zeros.clone();
    another["env"][0]["value"] = json!("x");
    let changed = predicted(&forced(&deployment(&another)), Some(&live));
    assert!(!changed.is_repeat);
    assert_eq!(changed.effects.takeovers.len(), 1, "{:?}", changed.effects);

    let mut more = zeros;
    more["image"] = json!("app:2");
    let changed = predicted(&forced(&deployment(&more)), Some(&live));
    assert!(!changed.is_repeat);
    let takeovers: Vec<&str> =
        changed.effects.takeovers.iter().map(|takeover| takeover.path.as_str()).collect();
    assert_eq!(takeovers, [r#".spec.template.spec.containers[name="app"].image"#]);
}

#[test]
fn a_zero_that_is_applied_again_moves_its_entry_behind_those_of_later_appliers() {
    let body = deployment(&json!({"image": "app:1", "tty": false}));
    let other = deployment(&json!({"workingDir": "/tmp"}));
    let at = |seconds| earlier() + jiff::SignedDuration::from_secs(seconds);
    let first = without_zeros(&stored(&[(MANAGER, &body)]));
    let last =
        without_zeros(&response(&forced(&body), Some(&without_zeros(&stored(&[("other", &other)]))), at(1)));
    assert!(is_noop(&last, &body), "its entry is the last one already");

    let followed = response(&apply(&other, "other", true), Some(&first), at(1));
    let moved = predicted(&forced(&body), Some(&followed));
    assert!(moved.changed && moved.is_repeat, "{moved:?}");
    let entries = moved.object.managed_fields();
    let managers: Vec<&str> = entries.iter().map(ManagedFieldsEntry::manager).collect();
    assert_eq!(managers, ["other", MANAGER]);
}

#[test]
fn a_zero_in_an_atomic_list_is_sent_because_it_has_no_owner_of_its_own() {
    let with = |toleration: &Value| {
        let template = json!({"spec": {"containers": [{"name": "app"}], "tolerations": [toleration]}});
        object(&deployments(), &json!({"template": template}))
    };
    let live = stored(&[("baton", &with(&json!({"operator": "Exists"})))]);
    assert!(!is_noop(&live, &with(&json!({"operator": "Exists", "tolerationSeconds": 0}))));
}

#[test]
fn a_zero_instead_of_another_value_is_a_change() {
    let with = |replicas: i32| object(&deployments(), &json!({"replicas": replicas}));
    assert!(!is_noop(&stored(&[("baton", &with(3))]), &with(0)));
}

#[test]
fn another_order_of_containers_is_a_change() {
    let body = |names: [&str; 2]| {
        let containers = names.map(|name| json!({"name": name, "image": "i", "tty": false}));
        object(&deployments(), &json!({"template": {"spec": {"containers": containers}}}))
    };
    let live = but(&stored(&[("baton", &body(["a", "b"]))]), |object| {
        for container in object["spec"]["template"]["spec"]["containers"].as_array_mut().unwrap() {
            container.as_object_mut().unwrap().remove("tty");
        }
    });
    assert!(is_noop(&live, &body(["a", "b"])));
    assert!(!is_noop(&live, &body(["b", "a"])));
}

#[test]
fn a_patch_of_managed_fields_removes_a_manager_and_changes_nothing_else() {
    let with = |replicas: i32| object(&deployments(), &json!({"replicas": replicas}));
    let live = stored(&[("baton", &with(3)), ("stale", &with(3))]);
    let entries = live.as_json().unwrap()["metadata"]["managedFields"].as_array().unwrap();
    let stale = entries.iter().position(|entry| entry["manager"] == "stale").unwrap();
    let patch = |version: &str| {
        let operations = json!([
            {"op": "test", "path": "/metadata/resourceVersion", "value": version},
            {"op": "remove", "path": format!("/metadata/managedFields/{stale}")},
        ]);
        let change = Change::Patch {
            operations: serde_json::from_value(operations).unwrap(),
            manager: "baton".into(),
        };
        Request { target: target(live.as_json().unwrap()), change }
    };
    let version = live.revision().resource_version;
    let stored = predicted(&patch(&version), Some(&live));
    assert!(stored.changed);
    assert_eq!(stored.object.as_json().unwrap()["spec"], live.as_json().unwrap()["spec"]);
    let managers: Vec<&Value> = stored.object.as_json().unwrap()["metadata"]["managedFields"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| &entry["manager"])
        .collect();
    assert_eq!(managers, ["baton"]);

    let of_another = schemas().predict(&patch("older"), Some(&live), now());
    assert!(matches!(of_another, Err(PredictionError::Patch(_))), "{of_another:?}");
}

#[test]
fn without_a_schema_an_apply_is_not_predicted() {
    let none = Schemas::new(Release::new(36, 3), []);
    let prediction = none.predict(&forced(&deployment(&json!({"image": "app:1"}))), None, now());
    assert!(matches!(prediction, Err(PredictionError::NoSchema(_))), "{prediction:?}");
}

#[test]
fn an_owner_in_another_served_version_is_in_conflict_as_on_the_server() {
    let autoscaler = |version: &str, spec: &Value| json!({"apiVersion": version, "kind": "HorizontalPodAutoscaler", "metadata": {"name": "web", "namespace": "shop"}, "spec": spec});
    let metrics = json!([{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}}]);
    let live = but(&stored(&[("old", &autoscaler("autoscaling/v2", &json!({"maxReplicas": 5})))]), |live| {
        live["metadata"]["managedFields"][0]["apiVersion"] = json!("autoscaling/v1");
        live["spec"]["metrics"] = metrics;
    });
    let request = apply(&autoscaler("autoscaling/v2", &json!({"maxReplicas": 7})), MANAGER, false);
    let conflicts = conflicts(&request, &live);
    assert_eq!(conflicts.fields[0].path.as_str(), ".spec.maxReplicas");
}

/// The schemas of a custom resource, whose document may have a second version.
fn of_things(second: Option<Value>) -> (Schemas, ApiResource) {
    let kind = |version: &str| ApiResource::from_gvk(&GroupVersionKind::gvk("example.org", version, "Thing"));
    let thing = |version: &str, spec: &Value| {
        let gvk = json!([{"group": "example.org", "version": version, "kind": "Thing"}]);
        json!({"type": "object", "x-kubernetes-group-version-kind": gvk, "properties": {
            "apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"type": "object"},
            "spec": {"type": "object", "properties": spec},
        }})
    };
    let fields = json!({"size": {"type": "integer"}, "color": {"type": "string"}});
    let mut schemas = json!({"v1": thing("v1", &fields)});
    if let Some(more) = second {
        let mut fields = fields;
        fields.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        schemas["v1beta1"] = thing("v1beta1", &fields);
    }
    let document = json!({"openapi": "3.0.0", "components": {"schemas": schemas}});
    let resources = Arc::new(Resources::from_openapi(&document).unwrap());
    (Schemas::new(Release::new(36, 3), [(document_path(&kind("v1")), resources)]), kind("v1"))
}

#[test]
fn owners_of_a_custom_resource_in_another_version_are_certain_where_it_has_the_same_fields() {
    let other = json!({"manager": "old", "operation": "Apply", "apiVersion": "example.org/v1beta1", "fieldsType": "FieldsV1",
        "fieldsV1": {"f:spec": {"f:size": {}}}, "time": "2026-01-02T03:04:05Z"});
    let live = LiveObject::from_json(json!({
        "apiVersion": "example.org/v1", "kind": "Thing", "spec": {"size": 1},
        "metadata": {"name": "z", "uid": "u", "resourceVersion": "7", "managedFields": [other]},
    }));
    let live = live.unwrap();
    for (second, is_known) in
        [(Some(json!({})), true), (Some(json!({"large": {"type": "boolean"}})), false), (None, false)]
    {
        let (schemas, kind) = of_things(second.clone());
        let predicted = |spec: Value| {
            let intent = json!({"apiVersion": "example.org/v1", "kind": "Thing", "metadata": {"name": "z"}, "spec": spec});
            let target = Target::new(kind.clone(), None, "z");
            schemas
                .predict(&Request::apply(target, intent, MANAGER, false, &Guard::Nothing), Some(&live), now())
                .unwrap()
        };
        let Prediction::Stored(stored) = predicted(json!({"color": "green"})) else {
            panic!("nobody owns the color: {second:?}")
        };
        assert_eq!(!matches!(stored.certainty, Certainty::Unknown(_)), is_known, "{second:?}");
        let Prediction::Conflicts(conflicts) = predicted(json!({"size": 2})) else {
            panic!("old owns the size: {second:?}")
        };
        assert_eq!(conflicts.fields[0].path.as_str(), ".spec.size");
    }
}

#[test]
fn a_write_that_is_sent_says_why() {
    let reason = |live: Option<&LiveObject>, body: &Value| {
        let write = schemas().prepare(forced(body), live, now());
        write.reason().map(|reason| reason.to_string())
    };
    let with = |image: &str, env: &Value| deployment(&json!({"image": image, "env": env}));
    let field_ref = |spec: Value| json!([{"name": "A", "valueFrom": {"fieldRef": spec}}]);
    let plain = with("app:1", &field_ref(json!({"fieldPath": "metadata.name"})));
    let filled_in = with("app:1", &field_ref(json!({"fieldPath": "metadata.name", "apiVersion": "v1"})));
    let live = stored(&[(MANAGER, &filled_in)]);
    assert_eq!(reason(Some(&live), &filled_in), None);
    assert_eq!(
        reason(Some(&live), &plain).unwrap(),
        ".spec.template.spec.containers[name=\"app\"].env[name=\"A\"].valueFrom.fieldRef: the live value is what the server may make of \
         this one, with defaults or in another spelling"
    );
    assert_eq!(reason(Some(&live), &with("app:2", &json!([]))).unwrap(), format!("{IMAGE}: it is set"));
    assert_eq!(
        reason(Some(&stored(&[("other", &filled_in)])), &filled_in).unwrap(),
        "the fields that it applies aren't all its own yet"
    );
}
