//! Objects at the limits of what an API server stores. Work that grows with the square of the object takes minutes here.

use crate::common::{MANAGER, deployments, now, schemas};
use baton_apply::{
    Comparison, DryRun, Effects, FieldPath, Guard, LiveObject, Outcome, Prediction, PreparedWrite, Request,
    Target,
    ownership::{Migration, hand_over, owners},
};
use baton_merge::fieldpath::{Path, PathElement::Field};
use serde_json::{Map, Value, json};

/// A Deployment with these annotations, spec and entries of `managedFields`.
fn live(annotations: &Map<String, Value>, spec: &Value, entries: &[Value]) -> LiveObject {
    let object = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "spec": spec,
        "metadata": {
            "name": "web", "namespace": "shop", "uid": "u", "resourceVersion": "1",
            "annotations": annotations, "managedFields": entries,
        },
    });
    LiveObject::from_text(object.to_string()).unwrap()
}

fn annotations(count: usize, value: &str) -> Map<String, Value> {
    (0..count).map(|at| (format!("k{at:05}"), value.into())).collect()
}

fn entry(manager: &str, operation: &str, fields: &Value) -> Value {
    json!({
        "manager": manager, "operation": operation, "apiVersion": "apps/v1", "fieldsType": "FieldsV1",
        "time": "2026-01-02T03:04:05Z", "fieldsV1": fields,
    })
}

fn of_annotations(manager: &str, operation: &str, names: impl IntoIterator<Item = usize>) -> Value {
    let owned: Map<String, Value> = names.into_iter().map(|at| (format!("f:k{at:05}"), json!({}))).collect();
    entry(manager, operation, &json!({"f:metadata": {"f:annotations": owned}}))
}

fn manager(at: usize) -> String {
    format!("m{at:05}")
}

fn prepared(live: &LiveObject, annotations: &Map<String, Value>, spec: &Value, force: bool) -> PreparedWrite {
    let mut intent = json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "shop", "annotations": annotations},
    });
    // An empty spec would be owned itself.
    if *spec != json!({}) {
        intent["spec"] = spec.clone();
    }
    let guard = Guard::Unchanged(live.revision());
    let request = Request::apply(Target::of(live, &deployments()), intent, MANAGER, force, &guard);
    schemas().prepare(request, Some(live), now())
}

/// The effects of a write that the server stores as predicted.
fn confirmed(write: &PreparedWrite, live: &LiveObject) -> Effects {
    let Ok(Prediction::Stored(stored)) = &write.prediction else { panic!("{:?}", write.prediction) };
    let response = stored.clone().returned(Some(live)).unwrap();
    match schemas().settle(write, Some(live), Ok(Some(response)), DryRun::No) {
        Outcome::Stored {
            effects,
            comparison: Some(Comparison::Match | Comparison::ModuloDefaulting),
            ..
        } => effects,
        other => panic!("{other:?}"),
    }
}

#[test]
fn twenty_thousand_fields_are_taken_over_and_confirmed() {
    const COUNT: usize = 20_000;
    let live = live(&annotations(COUNT, "2"), &json!({}), &[of_annotations("x", "Update", 0..COUNT)]);
    let effects = confirmed(&prepared(&live, &annotations(COUNT, "1"), &json!({}), true), &live);
    assert_eq!((effects.takeovers.len(), effects.sets.len()), (COUNT, COUNT));
    let last = &effects.takeovers[COUNT - 1];
    assert_eq!((last.path.as_str(), last.manager.as_str()), (".metadata.annotations.k19999", "x"));
    assert_eq!((last.old.as_deref(), last.new.as_deref()), (Some("\"2\""), Some("\"1\"")));

    let mut twice = effects.clone();
    twice.add(effects.clone());
    assert_eq!(twice, effects);
}

#[test]
fn fields_are_taken_over_from_ten_thousand_managers() {
    const COUNT: usize = 10_000;
    let entries: Vec<Value> = (0..COUNT).map(|at| of_annotations(&manager(at), "Apply", [at])).collect();
    let live = live(&annotations(COUNT, "2"), &json!({}), &entries);
    let effects = confirmed(&prepared(&live, &annotations(COUNT, "1"), &json!({}), true), &live);
    let taken = effects.takeovers.iter().map(|takeover| takeover.manager.clone());
    assert!(taken.eq((0..COUNT).map(manager)), "each manager loses one field");
}

#[test]
fn beside_ten_thousand_managers_an_apply_that_changes_nothing_is_skipped() {
    const COUNT: usize = 10_000;
    let mut entries = vec![of_annotations(MANAGER, "Apply", [0])];
    entries.extend((0..COUNT).map(|at| of_annotations(&manager(at), "Apply", [0])));
    // Entries are sorted by time and name.
    entries.sort_by_key(|entry| entry["manager"].as_str().map(str::to_owned));
    let live = live(&annotations(1, "1"), &json!({}), &entries);
    assert!(prepared(&live, &annotations(1, "1"), &json!({}), true).is_noop());
}

#[test]
fn five_thousand_conflicts_are_one_message() {
    const COUNT: usize = 5_000;
    let entries: Vec<Value> = (0..COUNT).map(|at| of_annotations(&manager(at), "Apply", [at])).collect();
    let live = live(&annotations(COUNT, "2"), &json!({}), &entries);
    let write = prepared(&live, &annotations(COUNT, "1"), &json!({}), false);
    let Ok(Prediction::Conflicts(conflicts)) = &write.prediction else { panic!("{:?}", write.prediction) };
    assert_eq!(conflicts.fields.len(), COUNT);
    let message = conflicts.to_string();
    let begin = "Apply failed with 5000 conflicts: conflicts with \"m00000\":\n- .metadata.annotations.k00000\nconflicts";
    assert!(message.starts_with(begin), "{}", &message[..200]);
    assert_eq!(message.lines().count(), 2 * COUNT);
}

#[test]
fn twenty_thousand_fields_are_removed() {
    const COUNT: usize = 20_000;
    let live = live(&annotations(COUNT, "1"), &json!({}), &[of_annotations(MANAGER, "Apply", 0..COUNT)]);
    let effects = confirmed(&prepared(&live, &annotations(1, "1"), &json!({}), true), &live);
    assert_eq!((effects.removes.len(), effects.takeovers.len()), (COUNT - 1, 0));
}

#[test]
fn the_items_of_a_list_of_ten_thousand_are_taken_over() {
    const COUNT: usize = 10_000;
    let pod = |value: &str| {
        let env: Vec<Value> =
            (0..COUNT).map(|at| json!({"name": format!("V{at:05}"), "value": value})).collect();
        json!({"template": {"spec": {"containers": [{"name": "app", "env": env}]}}})
    };
    let owned: Map<String, Value> = (0..COUNT)
        .map(|at| (format!("k:{{\"name\":\"V{at:05}\"}}"), json!({".": {}, "f:name": {}, "f:value": {}})))
        .collect();
    let app = json!({"k:{\"name\":\"app\"}": {".": {}, "f:name": {}, "f:env": owned}});
    let entry = entry("x", "Update", &json!({"f:spec": {"f:template": {"f:spec": {"f:containers": app}}}}));
    let live = live(&annotations(1, "1"), &pod("2"), &[entry]);
    let effects = confirmed(&prepared(&live, &annotations(1, "1"), &pod("1"), true), &live);
    assert_eq!(effects.takeovers.len(), COUNT);
}

const REPLICAS: Path<'static> = Path::new(&[Field("spec"), Field("replicas")]);

/// `{"f:a":{"f:a":…{"f:b":{}}}}`, this deep.
fn nested(levels: usize) -> String {
    format!("{}{{\"f:b\":{{}}}}{}", "{\"f:a\":".repeat(levels), "}".repeat(levels))
}

/// A Deployment with an entry of another manager that is nested this deep, beside those of Baton and of an autoscaler.
fn with_deep_entry(levels: usize) -> LiveObject {
    let entries = [
        of_annotations(MANAGER, "Apply", [0]),
        entry("scaler", "Apply", &json!({"f:spec": {"f:replicas": {}}})),
        entry("z", "Apply", &json!({"f:deep": {}})),
    ];
    let live = live(&annotations(1, "1"), &json!({"replicas": 3}), &entries);
    LiveObject::from_text(live.as_text().replace(r#"{"f:deep":{}}"#, &nested(levels))).unwrap()
}

#[test]
fn an_entry_that_is_nested_deep_hides_no_owner() {
    for levels in [100, 200, 5_000] {
        let live = with_deep_entry(levels);
        assert_eq!(live.managers(), [MANAGER, "scaler", "z"], "{levels} levels");
        let owner = &owners(&live, REPLICAS)[0];
        assert_eq!(owner.manager, "scaler", "{levels} levels");
        assert!(live.is_owned_by(MANAGER, &FieldPath::spelled(".metadata.annotations.k00000")));
        let target = Target::of(&live, &deployments());
        assert!(hand_over(target, &live, REPLICAS, "temporary").is_some(), "{levels} levels");
        let migration = Migration::to(MANAGER, &live, &["apps/v1"], |entry| entry.manager() == "scaler");
        assert_eq!(migration.unwrap().retired, ["scaler"], "{levels} levels");
        assert_eq!(live.get(&["spec", "replicas"]), Some(&json!(3)), "{levels} levels");
        assert_eq!(live.as_json().is_ok(), levels == 100, "a tree has a limit, and says so");
    }
}

#[test]
fn an_apply_beside_an_entry_nested_two_hundred_deep_is_predicted() {
    let live = with_deep_entry(200);
    assert!(prepared(&live, &annotations(1, "1"), &json!({}), true).is_noop());
    let write = prepared(&live, &annotations(1, "2"), &json!({}), true);
    assert_eq!(confirmed(&write, &live).sets.len(), 1);
    // Nobody can read the deepest ones: such an apply is sent without a prediction.
    let live = with_deep_entry(5_000);
    let write = prepared(&live, &annotations(1, "2"), &json!({}), true);
    assert!(write.prediction.is_err() && !write.is_noop());
}
