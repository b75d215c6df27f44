//! The write protocol without I/O: which writes are guarded, and whether a response is as predicted.

use crate::common::{apply, but, deployment, deployments, forced, now, object, response, schemas, stored};
use baton_apply::{
    ApiError, Change, Comparison, DryRun, Effects, FieldPath, Guard, LiveObject, Outcome, Prediction,
    PreparedWrite, Request, Takeover,
};
use jiff::ToSpan;
use kube::core::Status;
use serde_json::{Value, json};

/// A write and the API server's response.
struct Written {
    base: Option<LiveObject>,
    write: PreparedWrite,
    /// The response of a server that does exactly what was predicted.
    response: LiveObject,
}

impl Written {
    fn new(request: Request, base: Option<LiveObject>) -> Self {
        let response = response(&request, base.as_ref(), now());
        let write = schemas().prepare(of_seen(request, base.as_ref()), base.as_ref(), now());
        Self { base, write, response }
    }

    /// An image that changes from `app:1` to `app:2`.
    fn update() -> Self {
        let base = stored(&[("baton", &deployment(&json!({"image": "app:1", "tty": true})))]);
        Self::new(forced(&deployment(&json!({"image": "app:2", "tty": true}))), Some(base))
    }

    /// An apply that changes nothing, and is sent anyway.
    fn noop() -> Self {
        let body = deployment(&json!({"image": "app:1"}));
        let written = Self::new(forced(&body), Some(stored(&[("baton", &body)])));
        assert!(written.write.is_noop());
        written
    }

    fn creation(container: &Value) -> Self {
        Self::new(forced(&deployment(container)), None)
    }

    fn settled(&self, response: Result<Option<LiveObject>, ApiError>, dry_run: DryRun) -> Outcome {
        schemas().settle(&self.write, self.base.as_ref(), response, dry_run)
    }

    /// The comparison with a response that differs by this.
    fn comparison(&self, change: impl FnOnce(&mut Value)) -> Option<Comparison> {
        comparison_of(self.settled(Ok(Some(but(&self.response, change))), DryRun::No))
    }
}

/// The request for an object that was read: it never creates another one.
fn of_seen(request: Request, live: Option<&LiveObject>) -> Request {
    let (Some(live), Change::Apply { body, manager, force }) = (live, &request.change) else {
        return request;
    };
    let guard = Guard::SameObject(live.revision().uid);
    Request::apply(request.target.clone(), body.clone(), manager.clone(), *force, &guard)
}

fn comparison_of(outcome: Outcome) -> Option<Comparison> {
    let Outcome::Stored { comparison, .. } = outcome else { panic!("{outcome:?} stores nothing") };
    comparison
}

fn failure(code: u16, cause: Option<&str>) -> ApiError {
    let causes: Vec<Value> = cause.into_iter().map(|reason| json!({"reason": reason})).collect();
    let details = serde_json::from_value(json!({"kind": "Deployment", "causes": causes})).unwrap();
    ApiError::Response(Status::failure("no", "Because").with_code(code).with_details(details).boxed())
}

fn container(object: &mut Value) -> &mut Value {
    &mut object["spec"]["template"]["spec"]["containers"][0]
}

/// The places where the response differs.
fn places(comparison: Option<Comparison>) -> Vec<String> {
    let Some(Comparison::Mismatch(differences)) = comparison else {
        panic!("{comparison:?} isn't a mismatch")
    };
    differences.into_iter().map(|difference| difference.place).collect()
}

/// A change that the server makes to the object that it stores.
type ServerChange = fn(&mut Value);

fn remove(object: &mut Value, fields: &[&str]) {
    container(object).as_object_mut().unwrap().retain(|name, _| !fields.contains(&name.as_str()));
}

fn owners(object: &mut Value) -> &mut Vec<Value> {
    object["metadata"]["managedFields"].as_array_mut().unwrap()
}

/// Adds an owner of the fields of the first one.
fn add_owner(object: &mut Value, manager: &str) {
    let mut other = owners(object)[0].clone();
    other["manager"] = json!(manager);
    owners(object).push(other);
}

#[test]
fn a_response_may_only_have_what_the_server_fills_in_or_spells_in_its_own_way() {
    let half = || Written::creation(&json!({"image": "app:1", "resources": {"limits": {"cpu": "0.5"}}}));
    let zeros = || Written::creation(&json!({"image": "app:1", "tty": false, "workingDir": ""}));
    let ports = json!([{"containerPort": 80, "hostPort": 0}]);
    let with_ports = Written::creation(&json!({"image": "app:1", "ports": ports}));
    let rows: [(&str, Written, ServerChange); 8] = [
        ("an update as predicted", Written::update(), |_| {}),
        ("an apply that changes nothing", Written::noop(), |_| {}),
        ("a creation as predicted", Written::creation(&json!({"image": "app:1"})), |_| {}),
        ("defaults in fields without an owner", Written::update(), |object| {
            container(object)["imagePullPolicy"] = json!("IfNotPresent");
            object["spec"]["replicas"] = json!(1);
            object["status"] = json!({});
        }),
        ("a quantity in its canonical form", half(), |object| {
            container(object)["resources"] = json!({"limits": {"cpu": "500m"}});
        }),
        ("zeros that the server doesn't store", zeros(), |object| remove(object, &["tty", "workingDir"])),
        ("a zero in an item whose key the server fills in", with_ports, |object| {
            container(object)["ports"] = json!([{"containerPort": 80, "protocol": "TCP"}]);
        }),
        (
            "an empty text that the server replaces by its default",
            Written::creation(&json!({"image": "app:1", "imagePullPolicy": ""})),
            |object| container(object)["imagePullPolicy"] = json!("Always"),
        ),
    ];
    for (at, (what, written, change)) in rows.into_iter().enumerate() {
        let expected = if at < 3 { Comparison::Match } else { Comparison::ModuloDefaulting };
        assert_eq!(written.comparison(change), Some(expected), "{what}");
    }
}

#[test]
fn a_mismatch_names_the_place_where_the_response_differs() {
    const BATON: &str = "managedFields of baton Apply apps/v1";
    let half = Written::creation(&json!({"image": "app:1", "resources": {"limits": {"cpu": "0.5"}}}));
    let at = |field: &str| format!(r#".spec.template.spec.containers[name="app"].{field}"#);
    let rows: [(Written, String, ServerChange); 9] = [
        (half, at("resources.limits.cpu"), |object| {
            container(object)["resources"] = json!({"limits": {"cpu": "501m"}});
        }),
        (Written::update(), at("image"), |object| container(object)["image"] = json!("mirror/app:2")),
        (Written::update(), at("tty"), |object| remove(object, &["tty"])),
        // An exact prediction allows nothing else.
        (Written::noop(), ".spec.paused".into(), |object| object["spec"]["paused"] = json!(true)),
        (Written::noop(), "metadata.resourceVersion".into(), |object| {
            object["metadata"]["resourceVersion"] = json!("99");
        }),
        (Written::update(), BATON.into(), |object| owners(object).clear()),
        (Written::update(), BATON.into(), |object| {
            owners(object)[0]["fieldsV1"] = json!({"f:spec": {"f:replicas": {}}});
        }),
        (Written::update(), "managedFields of webhook Apply apps/v1".into(), |object| {
            add_owner(object, "webhook");
        }),
        (Written::noop(), "time of baton Apply apps/v1".into(), |object| {
            owners(object)[0]["time"] = json!("2026-01-02T04:00:07Z");
        }),
    ];
    for (written, place, change) in rows {
        assert_eq!(places(written.comparison(change)), [place]);
    }
}

#[test]
fn a_mismatch_shows_both_sides_and_no_secret() {
    let comparison =
        Written::update().comparison(|object| container(object)["image"] = json!("mirror/app:2"));
    let Some(Comparison::Mismatch(differences)) = comparison else { panic!("{comparison:?}") };
    assert_eq!(
        differences[0].to_string(),
        r#".spec.template.spec.containers[name="app"].image: predicted "app:2", response "mirror/app:2""#
    );
    let written = Written::creation(&json!({"image": "app:1", "env": [{"name": "P", "value": "hunter1"}]}));
    let comparison = written.comparison(|object| container(object)["env"][0]["value"] = json!("hunter2"));
    assert!(matches!(comparison, Some(Comparison::Mismatch(_))));
    assert!(!format!("{comparison:?}").contains("hunter"));
}

#[test]
fn the_time_of_a_changed_entry_is_not_compared() {
    let later = (now() + 7.seconds()).to_string();
    let comparison = Written::update().comparison(|object| owners(object)[0]["time"] = json!(later));
    assert_eq!(comparison, Some(Comparison::Match));
}

#[test]
fn a_live_value_in_another_spelling_is_not_stored_again_and_is_not_a_mismatch() {
    let resources = |cpu: &str| deployment(&json!({"image": "a", "resources": {"limits": {"cpu": cpu}}}));
    let base = stored(&[("baton", &resources("500m"))]);
    let written = Written::new(forced(&resources("0.5")), Some(base.clone()));
    let outcome = written.settled(Ok(Some(base)), DryRun::No);
    assert_eq!(comparison_of(outcome), Some(Comparison::ModuloDefaulting));
}

#[test]
fn a_dry_run_is_compared_without_the_version_because_it_stores_none() {
    let written = Written::update();
    let tried = |change: fn(&mut Value)| {
        comparison_of(written.settled(Ok(Some(but(&written.response, change))), DryRun::Yes))
    };
    let same_version = |object: &mut Value| object["metadata"]["resourceVersion"] = json!("0+");
    assert_eq!(written.base.as_ref().unwrap().revision().resource_version, "0+");
    assert_eq!(tried(same_version), Some(Comparison::Match));
    let other = tried(|object| container(object)["image"] = json!("mirror/app:2"));
    assert!(matches!(other, Some(Comparison::Mismatch(_))), "{other:?}");
}

#[test]
fn an_object_that_another_manager_created_first_is_not_compared_and_has_no_known_effects() {
    fn created(object: &mut Value, at: &str) {
        object["metadata"]["creationTimestamp"] = json!(at);
    }
    let written = Written::creation(&json!({"image": "app:1"}));
    let is_known = |change: fn(&mut Value)| match written
        .settled(Ok(Some(but(&written.response, change))), DryRun::No)
    {
        Outcome::Stored { effects, comparison, .. } => {
            assert_eq!(effects == Effects::default(), comparison.is_none());
            comparison.is_some()
        }
        other => panic!("{other:?}"),
    };
    assert!(is_known(|object| created(object, "2026-01-02T04:00:00Z")));
    assert!(
        !is_known(|object| created(object, "2026-01-02T03:59:59Z")),
        "all fields of the other manager were taken over"
    );
    assert!(!is_known(|object| add_owner(object, "faster")));
}

#[test]
fn a_difference_from_an_uncertain_prediction_is_not_a_mismatch() {
    // A field with an owner in a version that the document doesn't have.
    let base = but(&stored(&[("baton", &deployment(&json!({"image": "app:1"})))]), |object| {
        object["spec"]["paused"] = json!(true);
        owners(object).push(json!({
            "manager": "old", "operation": "Update", "apiVersion": "extensions/v1beta1", "time": "2026-01-02T03:05:00Z",
            "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:paused": {}}},
        }));
    });
    let written = Written::new(forced(&deployment(&json!({"image": "app:2"}))), Some(base));
    let comparison = written.comparison(|object| container(object)["image"] = json!("mirror/app:2"));
    assert!(matches!(comparison, Some(Comparison::Unknown(_))), "{comparison:?}");
}

#[test]
fn a_refusal_is_expected_only_if_it_was_predicted() {
    let base = stored(&[("baton", &object(&deployments(), &json!({"replicas": 3})))]);
    let four = apply(&object(&deployments(), &json!({"replicas": 4})), "temporary", false);
    let prepare = |request| {
        let write = schemas().prepare(of_seen(request, Some(&base)), Some(&base), now());
        Written { base: Some(base.clone()), write, response: base.clone() }
    };
    let conflict = || Err(failure(409, Some("FieldManagerConflict")));
    let refusal = || Err(failure(422, None));

    let unforced = prepare(four);
    assert!(matches!(unforced.write.prediction, Ok(Prediction::Conflicts(_))));
    let outcome = unforced.settled(conflict(), DryRun::No);
    assert!(matches!(outcome, Outcome::Stale { expected: true, .. }), "{outcome:?}");
    let outcome = unforced.settled(refusal(), DryRun::No);
    assert!(
        matches!(outcome, Outcome::Rejected { expected: false, .. }),
        "it may be refused for another reason"
    );
    assert_eq!(places(unforced.comparison(|_| {})), ["the write"]);

    let invalid = prepare(forced(&object(&deployments(), &json!({"replicas": "three"}))));
    let outcome = invalid.settled(refusal(), DryRun::No);
    assert!(matches!(outcome, Outcome::Rejected { expected: true, .. }), "{outcome:?}");

    let outcome = Written::update().settled(refusal(), DryRun::No);
    assert!(
        matches!(outcome, Outcome::Rejected { expected: false, .. }),
        "quotas and webhooks aren't predicted"
    );
    let outcome = Written::update().settled(conflict(), DryRun::No);
    assert!(
        matches!(outcome, Outcome::Stale { expected: false, .. }),
        "the object may have changed meanwhile"
    );
}

#[test]
fn only_effects_that_the_response_confirms_are_reported() {
    let (ours, theirs) = (deployment(&json!({"image": "app:1"})), deployment(&json!({"image": "evil:1"})));
    let base = stored(&[("baton", &ours), ("rogue", &theirs)]);
    let written = Written::new(forced(&ours), Some(base.clone()));
    let effects = |response: LiveObject| match written.settled(Ok(Some(response)), DryRun::No) {
        Outcome::Stored { effects, .. } => effects,
        other => panic!("{other:?}"),
    };
    assert_eq!(effects(base.clone()), Effects::default(), "nothing was stored");
    let still_owned = but(&base, |object| object["metadata"]["resourceVersion"] = json!("99"));
    assert_eq!(effects(still_owned).takeovers, [], "the rogue still owns its field");
    let takeover = Takeover {
        path: FieldPath::spelled(r#".spec.template.spec.containers[name="app"].image"#),
        manager: "rogue".to_owned(),
        old: Some(r#""evil:1""#.to_owned()),
        new: Some(r#""app:1""#.to_owned()),
    };
    assert_eq!(effects(written.response.clone()).takeovers, [takeover]);
}

#[test]
fn a_write_without_a_prediction_keeps_its_guard() {
    let live = stored(&[("baton", &deployment(&json!({"image": "app:1"})))]);
    let request = of_seen(forced(&deployment(&json!({"image": "app:2"}))), Some(&live));
    let none = baton_apply::Schemas::default();
    let write = none.prepare(request.clone(), Some(&live), now());
    assert!(write.prediction.is_err() && !write.is_noop());
    assert_eq!(write.request, request);
}

#[test]
fn a_write_that_removes_the_last_finalizer_deletes_the_object() {
    let settled = |metadata: Value| {
        let written = Written::update();
        let response = but(&written.response, |object| {
            object["metadata"].as_object_mut().unwrap().extend(metadata.as_object().unwrap().clone());
        });
        written.settled(Ok(Some(response)), DryRun::No)
    };
    let when = "2026-01-02T04:00:00Z";
    let gone = settled(json!({"deletionTimestamp": when}));
    assert!(matches!(gone, Outcome::Deleted(None)), "{gone:?}");
    for kept in [
        json!({"deletionTimestamp": when, "finalizers": ["a/b"]}),
        json!({"deletionTimestamp": when, "deletionGracePeriodSeconds": 30}),
    ] {
        let outcome = settled(kept);
        assert!(matches!(outcome, Outcome::Stored { .. }), "{outcome:?}");
    }
}
