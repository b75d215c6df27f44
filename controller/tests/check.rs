//! Whether an answer of the API server is what was forecast.
#![allow(clippy::unwrap_used)]

mod common;

use baton_controller::{
    HANDOVER_MANAGER,
    child::ChildKind,
    live::Live,
    predict::{Answer, Forecast, Verdict},
    request::Request,
};
use common::cluster::{answer, apply, but, by_baton, deployment, now, object, schemas, stored};
use jiff::ToSpan;
use serde_json::{Value, json};

/// A write and what the API server makes of it.
struct Written {
    base: Option<Live>,
    forecast: Forecast,
    /// The answer of a server that does what was predicted and no more.
    answered: Live,
}

impl Written {
    fn new(request: &Request, base: Option<Live>) -> Self {
        let forecast = schemas().forecast(request, base.as_ref(), now()).unwrap();
        let answered = answer(request, base.as_ref(), now());
        Self { base, forecast, answered }
    }

    /// An image that changes from `app:1` to `app:2`.
    fn update() -> Self {
        let base = stored(&[("baton", &deployment(&json!({"image": "app:1", "tty": true})))]);
        Self::new(&by_baton(&deployment(&json!({"image": "app:2", "tty": true}))), Some(base))
    }

    /// An apply that changes nothing, and is sent nevertheless.
    fn noop() -> Self {
        let body = deployment(&json!({"image": "app:1"}));
        let written = Self::new(&by_baton(&body), Some(stored(&[("baton", &body)])));
        assert!(matches!(written.forecast, Forecast::NoOp));
        written
    }

    fn creation(container: &Value) -> Self {
        Self::new(&by_baton(&deployment(container)), None)
    }

    /// The verdict about an answer that differs by this.
    fn verdict(&self, change: impl FnOnce(&mut Value)) -> Option<Verdict> {
        let answered = but(&self.answered, change);
        schemas().check(ChildKind::Deployment, &self.forecast, self.base.as_ref(), Answer::Stored(&answered))
    }
}

fn container(object: &mut Value) -> &mut Value {
    &mut object["spec"]["template"]["spec"]["containers"][0]
}

/// The places where the answer differs.
fn places(verdict: Option<Verdict>) -> Vec<String> {
    let Some(Verdict::Mismatch(differences)) = verdict else { panic!("{verdict:?} is no mismatch") };
    differences.into_iter().map(|difference| difference.place).collect()
}

#[test]
fn an_answer_as_predicted_matches() {
    assert_eq!(Written::update().verdict(|_| {}), Some(Verdict::Match));
    assert_eq!(Written::noop().verdict(|_| {}), Some(Verdict::Match));
    assert_eq!(Written::creation(&json!({"image": "app:1"})).verdict(|_| {}), Some(Verdict::Match));
}

#[test]
fn what_the_server_fills_in_where_nobody_owns_is_no_mismatch() {
    let verdict = Written::update().verdict(|object| {
        container(object)["imagePullPolicy"] = json!("IfNotPresent");
        object["spec"]["replicas"] = json!(1);
        object["status"] = json!({});
    });
    assert_eq!(verdict, Some(Verdict::ModuloDefaulting));
}

#[test]
fn a_value_that_the_server_spells_in_its_own_way_is_no_mismatch() {
    let resources = |cpu: &str| json!({"image": "app:1", "resources": {"limits": {"cpu": cpu}}});
    let written = Written::creation(&resources("0.5"));
    let answered = |cpu: &str| {
        written.verdict(|object| container(object)["resources"] = resources(cpu)["resources"].clone())
    };
    assert_eq!(answered("500m"), Some(Verdict::ModuloDefaulting));
    let limit = r#".spec.template.spec.containers[name="app"].resources.limits.cpu"#;
    assert_eq!(places(answered("501m")), [limit]);
}

#[test]
fn a_zero_that_the_server_does_not_store_is_no_mismatch() {
    let written = Written::creation(&json!({"image": "app:1", "tty": false, "workingDir": ""}));
    let verdict = written.verdict(|object| {
        let container = container(object).as_object_mut().unwrap();
        container.remove("tty");
        container.remove("workingDir");
    });
    assert_eq!(verdict, Some(Verdict::ModuloDefaulting));
}

#[test]
fn a_zero_in_an_item_whose_key_the_server_fills_in_is_no_mismatch() {
    let ports = json!([{"containerPort": 80, "hostPort": 0}]);
    let written = Written::creation(&json!({"image": "app:1", "ports": ports}));
    let verdict = written.verdict(|object| {
        container(object)["ports"] = json!([{"containerPort": 80, "protocol": "TCP"}]);
    });
    assert_eq!(verdict, Some(Verdict::ModuloDefaulting));
}

#[test]
fn an_empty_text_that_the_server_takes_for_its_default_is_no_mismatch() {
    let written = Written::creation(&json!({"image": "app:1", "imagePullPolicy": ""}));
    let verdict = written.verdict(|object| container(object)["imagePullPolicy"] = json!("Always"));
    assert_eq!(verdict, Some(Verdict::ModuloDefaulting));
}

#[test]
fn another_value_of_an_owned_field_is_a_mismatch_with_both_sides() {
    let verdict = Written::update().verdict(|object| container(object)["image"] = json!("mirror/app:2"));
    let Some(Verdict::Mismatch(differences)) = verdict else { panic!("{verdict:?}") };
    assert_eq!(
        differences[0].to_string(),
        r#".spec.template.spec.containers[name="app"].image: predicted "app:2", answered "mirror/app:2""#
    );
}

#[test]
fn an_owned_field_that_is_missing_is_a_mismatch() {
    let verdict = Written::update().verdict(|object| {
        container(object).as_object_mut().unwrap().remove("tty");
    });
    assert_eq!(places(verdict), [r#".spec.template.spec.containers[name="app"].tty"#]);
}

#[test]
fn no_secret_is_told_of_a_mismatch() {
    let written = Written::creation(&json!({"image": "app:1", "env": [{"name": "P", "value": "hunter1"}]}));
    let verdict = written.verdict(|object| container(object)["env"][0]["value"] = json!("hunter2"));
    assert!(matches!(verdict, Some(Verdict::Mismatch(_))));
    assert!(!format!("{verdict:?}").contains("hunter"));
}

#[test]
fn an_exact_prediction_allows_nothing_else() {
    let verdict = Written::noop().verdict(|object| object["spec"]["paused"] = json!(true));
    assert_eq!(places(verdict), [".spec.paused"]);
}

#[test]
fn somebody_too_many_or_too_few_among_the_owners_is_a_mismatch() {
    let written = Written::update();
    let missing = written.verdict(|object| object["metadata"]["managedFields"] = json!([]));
    assert_eq!(places(missing), ["managedFields of baton Apply apps/v1"]);

    let extra = written.verdict(|object| {
        let entries = object["metadata"]["managedFields"].as_array_mut().unwrap();
        let mut other = entries[0].clone();
        other["manager"] = json!("webhook");
        entries.push(other);
    });
    assert_eq!(places(extra), ["managedFields of webhook Apply apps/v1"]);

    let fewer_fields = written.verdict(|object| {
        object["metadata"]["managedFields"][0]["fieldsV1"] = json!({"f:spec": {"f:replicas": {}}});
    });
    assert_eq!(places(fewer_fields), ["managedFields of baton Apply apps/v1"]);
}

#[test]
fn the_time_of_an_entry_that_changes_is_the_servers_and_that_of_another_stays() {
    let written = Written::update();
    let at = |object: &mut Value, time: &str| object["metadata"]["managedFields"][0]["time"] = json!(time);
    let later = (now() + 7.seconds()).to_string();
    assert_eq!(written.verdict(|object| at(object, &later)), Some(Verdict::Match));
    assert_eq!(places(Written::noop().verdict(|object| at(object, &later))), ["time of baton Apply apps/v1"]);
}

#[test]
fn a_write_where_nothing_should_be_stored_is_a_mismatch() {
    let verdict = Written::noop().verdict(|object| object["metadata"]["resourceVersion"] = json!("99"));
    assert_eq!(places(verdict), ["metadata.resourceVersion"]);
}

#[test]
fn a_value_that_was_there_in_another_spelling_is_not_stored_again_and_that_is_no_mismatch() {
    let resources = |cpu: &str| deployment(&json!({"image": "a", "resources": {"limits": {"cpu": cpu}}}));
    let base = stored(&[("baton", &resources("500m"))]);
    let forecast = schemas().forecast(&by_baton(&resources("0.5")), Some(&base), now()).unwrap();
    let verdict = schemas().check(ChildKind::Deployment, &forecast, Some(&base), Answer::Stored(&base));
    assert_eq!(verdict, Some(Verdict::ModuloDefaulting));
}

#[test]
fn a_dry_run_is_held_against_the_object_alone_since_it_stores_no_version() {
    let written = Written::update();
    let base = written.base.as_ref();
    let tried = |change: fn(&mut Value)| {
        let answered = but(&written.answered, change);
        schemas().check(ChildKind::Deployment, &written.forecast, base, Answer::Tried(&answered))
    };
    let version = "1";
    assert_eq!(base.unwrap().revision().resource_version, version);
    assert_eq!(tried(|object| object["metadata"]["resourceVersion"] = json!("1")), Some(Verdict::Match));
    let other = tried(|object| container(object)["image"] = json!("mirror/app:2"));
    assert!(matches!(other, Some(Verdict::Mismatch(_))), "{other:?}");
}

#[test]
fn an_object_that_somebody_else_made_a_moment_before_is_not_compared() {
    let written = Written::creation(&json!({"image": "app:1"}));
    let verdict = written.verdict(|object| {
        let entries = object["metadata"]["managedFields"].as_array_mut().unwrap();
        let mut other = entries[0].clone();
        other["manager"] = json!("faster");
        entries.push(other);
    });
    assert_eq!(verdict, None);
}

#[test]
fn what_only_the_server_can_know_is_no_mismatch() {
    // A field that somebody owns in a version which the document doesn't have.
    let base = but(&stored(&[("baton", &deployment(&json!({"image": "app:1"})))]), |object| {
        object["spec"]["paused"] = json!(true);
        object["metadata"]["managedFields"].as_array_mut().unwrap().push(json!({
            "manager": "old", "operation": "Update", "apiVersion": "extensions/v1beta1", "time": "2026-01-02T03:05:00Z",
            "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:paused": {}}},
        }));
    });
    let written = Written::new(&by_baton(&deployment(&json!({"image": "app:2"}))), Some(base));
    let verdict = written.verdict(|object| container(object)["image"] = json!("mirror/app:2"));
    assert!(matches!(verdict, Some(Verdict::Unknown(_))), "{verdict:?}");
}

#[test]
fn a_refusal_is_held_against_what_was_said_of_it() {
    let base = stored(&[("baton", &object(ChildKind::Deployment, &json!({"replicas": 3})))]);
    let four = apply(&object(ChildKind::Deployment, &json!({"replicas": 4})), HANDOVER_MANAGER, false);
    let conflict = schemas().forecast(&four, Some(&base), now()).unwrap();
    let check =
        |forecast: &Forecast, answer| schemas().check(ChildKind::Deployment, forecast, Some(&base), answer);
    assert_eq!(check(&conflict, Answer::Conflict), Some(Verdict::Match));
    assert_eq!(places(check(&conflict, Answer::Stored(&base))), ["the write"]);
    assert_eq!(check(&conflict, Answer::Refused), None, "it may be refused for another reason first");

    let refused = Forecast::Refused("spec.replicas is no number".to_owned());
    assert_eq!(check(&refused, Answer::Refused), Some(Verdict::Match));

    let update = Written::update().forecast;
    assert_eq!(check(&update, Answer::Refused), None, "quotas and webhooks are no business of a merge");
    assert_eq!(check(&update, Answer::Conflict), None, "the object may have changed meanwhile");
    assert_eq!(check(&Forecast::Deleted, Answer::Stored(&base)), None);
}
