//! Baton does exactly what its plan shows, and nothing before it is enforced.

use std::collections::{BTreeMap, BTreeSet};

use baton_controller::decide::child::ChildKind;
use baton_crd::{DryRunResult, HandoverPhase, PlannedAction, PlannedChild};
use baton_e2e::{Change, Environment, scenarios};
use baton_testbed::{AuditEntry, Cluster, eventually};
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

scenarios! {
    a_creation_is_planned_field_by_field,
    a_changed_env_var_and_removed_ports_are_planned_field_by_field,
    a_dropped_service_is_planned_as_a_deletion_and_the_rest_as_nothing,
    autoscaling_is_planned_with_the_release_of_the_replica_count,
    a_paused_workload_reports_drift_and_corrects_it_when_it_is_enforced,
    the_takeover_of_a_replica_count_that_was_scaled_during_a_pause_is_planned,
    the_release_of_a_field_with_another_owner_is_planned_and_the_field_stays,
    what_only_the_server_can_reject_is_reported_with_its_message,
    no_write_is_planned_for_an_object_that_is_not_batons,
}

/// The existing children, by kind, as JSON.
type Children = BTreeMap<&'static str, Value>;

async fn children(env: &Environment) -> Children {
    let mut children = Children::new();
    for kind in ChildKind::ALL {
        if let Some(child) = env.child(kind).await {
            children.insert(kind.name(), serde_json::to_value(child).unwrap());
        }
    }
    children
}

async fn plan(env: &Environment) -> Vec<PlannedChild> {
    env.workload().await.status.unwrap_or_default().plan
}

/// Changes the Deployment, and waits until the plan shows its correction.
async fn drifted(env: &Environment, change: impl Future<Output = ()>) {
    change.await;
    eventually("an update of the Deployment in the plan", async || {
        let plan = plan(env).await;
        let is_update =
            |child: &PlannedChild| child.kind == "Deployment" && child.action == PlannedAction::Update;
        if plan.iter().any(is_update) { Ok(()) } else { Err(plan) }
    })
    .await;
}

/// Applies the spec in a mode that writes nothing, runs `meanwhile`, and returns the plan once the operator is at rest.
async fn planned(
    env: &Environment,
    mode: &str,
    spec: &Value,
    meanwhile: impl AsyncFn(),
) -> Vec<PlannedChild> {
    env.at_rest().await;
    let mark = env.mark();
    let mut spec = spec.clone();
    spec["mode"] = json!(mode);
    env.apply(&spec).await;
    assert_eq!(env.condition("Applied", "Unknown").await.reason, mode);
    meanwhile().await;
    env.at_rest().await;

    let writes = env.requests_since(mark).writes();
    let (dry_runs, rest): (Vec<_>, Vec<_>) = writes.into_iter().partition(AuditEntry::is_dry_run);
    assert!(!dry_runs.is_empty(), "the plan is tried by a dry run");
    for write in rest {
        let what = [write.resource.as_deref(), write.subresource.as_deref()].map(Option::unwrap_or_default);
        assert!(
            matches!(what, ["workloads", "status"] | ["events", ""]),
            "only the status and Events are written: {write}"
        );
    }
    plan(env).await
}

/// Enforces the spec, and checks that Baton does exactly what was planned.
async fn does_as_planned(env: &Environment, spec: &Value, plan: &[PlannedChild]) {
    let before = children(env).await;
    env.apply_until("Applied", spec).await;
    env.at_rest().await;
    let after = children(env).await;

    let kinds: BTreeSet<&str> = before.keys().chain(after.keys()).copied().collect();
    let planned: BTreeMap<&str, Change> =
        plan.iter().map(|child| (&*child.kind, Change::planned(child))).collect();
    let seen: BTreeMap<&str, Change> =
        kinds.into_iter().map(|kind| (kind, Change::seen(before.get(kind), after.get(kind)))).collect();
    assert_eq!(planned, seen, "left: planned, right: done");
    for child in plan {
        assert_eq!(child.dry_run, DryRunResult::Agreed, "{child:#?}");
    }
    assert_eq!(self::plan(env).await, [], "there is no plan any more");
}

fn child<'p>(plan: &'p [PlannedChild], kind: &str) -> &'p PlannedChild {
    plan.iter().find(|child| child.kind == kind).unwrap_or_else(|| panic!("no {kind} in {plan:#?}"))
}

fn actions(plan: &[PlannedChild]) -> Vec<(&str, PlannedAction)> {
    plan.iter().map(|child| (&*child.kind, child.action)).collect()
}

fn app(fields: &Value) -> Value {
    let mut container = json!({"name": "app", "image": "app:1"});
    for (field, value) in fields.as_object().unwrap() {
        container[field] = value.clone();
    }
    json!({"spec": {"containers": [container]}})
}

async fn nothing() {}

/// Changes the image, as `kubectl edit` does.
async fn edit_image(env: &Environment) {
    let edit = json!({"spec": {"template": {"spec": {"containers": [{"name": "app", "image": "evil:1"}]}}}});
    env.edit_as("intruder", ChildKind::Deployment, &Patch::Strategic(edit)).await;
}

async fn a_creation_is_planned_field_by_field(cluster: Cluster) {
    let env = Environment::start(&cluster, "plan-create").await;
    let spec = json!({
        "replicas": 1,
        "template": app(&json!({"env": [{"name": "MODE", "value": "fast"}], "ports": [{"containerPort": 8080}]})),
        "service": {"ports": [{"port": 80}]},
        "disruptionBudget": {"maxUnavailable": 1},
    });
    let plan = planned(&env, "Preview", &spec, nothing).await;
    let create = PlannedAction::Create;
    assert_eq!(
        actions(&plan),
        [("Deployment", create), ("Service", create), ("PodDisruptionBudget", create)]
    );
    let applied = env.condition("Applied", "Unknown").await;
    assert!(
        applied.message.contains("create Deployment, Service, PodDisruptionBudget"),
        "{}",
        applied.message
    );
    does_as_planned(&env, &spec, &plan).await;
}

async fn a_changed_env_var_and_removed_ports_are_planned_field_by_field(cluster: Cluster) {
    let env = Environment::start(&cluster, "plan-change").await;
    let spec = |mode: &str, container_ports: Value, ports: Value| {
        let env = json!([{"name": "MODE", "value": mode}, {"name": "LEVEL", "value": "1"}]);
        json!({
            "replicas": 1,
            "template": app(&json!({"env": env, "ports": container_ports})),
            "service": {"ports": ports},
        })
    };
    let both = json!([{"name": "http", "port": 80}, {"name": "https", "port": 443}]);
    env.apply_until("Ready", &spec("fast", json!([{"containerPort": 8080}, {"containerPort": 8443}]), both))
        .await;

    let changed = spec("slow", json!([{"containerPort": 8080}]), json!([{"name": "http", "port": 80}]));
    let plan = planned(&env, "Preview", &changed, nothing).await;
    let (deployment, service) = (child(&plan, "Deployment"), child(&plan, "Service"));
    let in_app = |path: &str| format!(r#".spec.template.spec.containers[name="app"]{path}"#);
    assert_eq!(deployment.sets, [in_app(r#".env[name="MODE"].value"#)]);
    assert_eq!(deployment.removes, [in_app(r#".ports[containerPort=8443,protocol="TCP"]"#)]);
    assert_eq!(service.removes, [r#".spec.ports[port=443,protocol="TCP"]"#]);
    does_as_planned(&env, &changed, &plan).await;
}

async fn a_dropped_service_is_planned_as_a_deletion_and_the_rest_as_nothing(cluster: Cluster) {
    let env = Environment::start(&cluster, "plan-drop").await;
    env.apply_until("Ready", &json!({"replicas": 1, "service": {"ports": [{"port": 80}]}})).await;
    let without = json!({"replicas": 1});
    let plan = planned(&env, "Preview", &without, nothing).await;
    assert_eq!(actions(&plan), [("Deployment", PlannedAction::Nothing), ("Service", PlannedAction::Delete)]);
    does_as_planned(&env, &without, &plan).await;
}

async fn autoscaling_is_planned_with_the_release_of_the_replica_count(cluster: Cluster) {
    let env = Environment::start(&cluster, "plan-autoscaling").await;
    env.apply_until("Ready", &json!({"replicas": 2})).await;
    // The autoscaler will want the live replica count, so all changes are Baton's.
    let autoscaled = json!({"replicas": 2, "autoscaling": {"minReplicas": 2, "maxReplicas": 4}});
    let plan = planned(&env, "Preview", &autoscaled, nothing).await;
    let deployment = child(&plan, "Deployment");
    assert_eq!((deployment.writes, &*deployment.releases), (Some(2), &[".spec.replicas".to_owned()][..]));
    assert_eq!(child(&plan, "HorizontalPodAutoscaler").action, PlannedAction::Create);
    let events = env.events().await;
    assert!(
        !events.iter().any(|event| event.contains("HandoverPending")),
        "nothing is handed over yet: {events:#?}"
    );
    does_as_planned(&env, &autoscaled, &plan).await;
}

async fn a_paused_workload_reports_drift_and_corrects_it_when_it_is_enforced(cluster: Cluster) {
    let env = Environment::start(&cluster, "plan-paused").await;
    let spec = json!({"replicas": 1, "service": {"ports": [{"port": 80}]}});
    env.apply_until("Ready", &spec).await;
    let plan = planned(&env, "Paused", &spec, async || drifted(&env, edit_image(&env)).await).await;
    assert_eq!(actions(&plan), [("Deployment", PlannedAction::Update), ("Service", PlannedAction::Nothing)]);
    let deployment = child(&plan, "Deployment");
    assert_eq!(deployment.sets, [r#".spec.template.spec.containers[name="app"].image"#]);
    assert_eq!(
        (&*deployment.takes[0].path, &*deployment.takes[0].manager),
        (&*deployment.sets[0], "intruder")
    );
    let live = env.child(ChildKind::Deployment).await.unwrap();
    assert_eq!(
        live.data["spec"]["template"]["spec"]["containers"][0]["image"], "evil:1",
        "the change stays meanwhile"
    );
    does_as_planned(&env, &spec, &plan).await;
}

async fn the_takeover_of_a_replica_count_that_was_scaled_during_a_pause_is_planned(cluster: Cluster) {
    let env = Environment::start(&cluster, "plan-scaled").await;
    let spec = json!({"replicas": 2});
    env.apply_until("Ready", &spec).await;
    let plan =
        planned(&env, "Paused", &spec, async || drifted(&env, env.scale_as("somebody", 3)).await).await;
    let ownership = env.workload().await.status.unwrap().replica_ownership.unwrap();
    assert_eq!((ownership.phase, &*ownership.owner), (HandoverPhase::Fixed, "somebody (scale)"));
    assert_eq!(ownership.waiting_for.as_deref(), Some("spec.mode to be Enforce"));
    let deployment = child(&plan, "Deployment");
    assert_eq!(deployment.sets, [".spec.replicas"]);
    assert_eq!((&*deployment.takes[0].path, &*deployment.takes[0].manager), (".spec.replicas", "somebody"));
    does_as_planned(&env, &spec, &plan).await;
}

async fn the_release_of_a_field_with_another_owner_is_planned_and_the_field_stays(cluster: Cluster) {
    let env = Environment::start(&cluster, "plan-release").await;
    let mut template = app(&json!({}));
    template["metadata"] = json!({"annotations": {"note": "x"}});
    env.apply_until("Ready", &json!({"replicas": 1, "template": template})).await;
    let theirs = json!({"spec": {"template": {"metadata": {"annotations": {"note": "x"}}}}});
    env.apply_child(&PatchParams::apply("mesh"), ChildKind::Deployment, &theirs).await;

    let without = json!({"replicas": 1});
    let plan = planned(&env, "Preview", &without, nothing).await;
    let deployment = child(&plan, "Deployment");
    assert_eq!(deployment.releases, [".spec.template.metadata.annotations.note"]);
    assert_eq!((&deployment.sets, &deployment.removes), (&vec![], &vec![]));
    does_as_planned(&env, &without, &plan).await;
}

async fn what_only_the_server_can_reject_is_reported_with_its_message(cluster: Cluster) {
    let env = Environment::start(&cluster, "plan-rejected").await;
    let resources = json!({"requests": {"cpu": "2"}, "limits": {"cpu": "1"}});
    let spec = json!({"replicas": 1, "template": app(&json!({"resources": resources}))});
    let plan = planned(&env, "Preview", &spec, nothing).await;
    let deployment = child(&plan, "Deployment");
    assert_eq!((deployment.action, deployment.dry_run), (PlannedAction::Create, DryRunResult::Rejected));
    let message = deployment.message.as_deref().unwrap();
    assert!(message.contains("must be less than or equal to cpu limit"), "{message}");
}

async fn no_write_is_planned_for_an_object_that_is_not_batons(cluster: Cluster) {
    let env = Environment::start(&cluster, "plan-foreign").await;
    let theirs = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"},
        "spec": {"ports": [{"port": 9999}], "selector": {"app": "theirs"}},
    });
    env.create_as("helm", &theirs).await;

    let spec = json!({"replicas": 1, "service": {"ports": [{"port": 80}]}});
    let plan = planned(&env, "Preview", &spec, nothing).await;
    assert_eq!(actions(&plan), [("Deployment", PlannedAction::Create), ("Service", PlannedAction::Nothing)]);
    let service = child(&plan, "Service");
    assert_eq!(service.dry_run, DryRunResult::NotRun);
    let message = service.message.as_deref().unwrap();
    assert!(message.contains("made by helm"), "{message}");
}
