//! Baton reports each takeover: which field, from which manager, how often. It shows no value that may be secret.

use baton_controller::decide::child::ChildKind;
use baton_crd::TakeoverStatus;
use baton_e2e::{Environment, OperatorOptions, environment::image, scenarios};
use baton_testbed::{Cluster, eventually};
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

scenarios! {
    a_takeover_is_reported_in_status_event_and_metric,
    a_replica_count_that_a_user_scales_is_taken_over_and_reported,
    the_values_of_environment_variables_and_arguments_are_shown_nowhere,
}

const IMAGE: &str = r#".spec.template.spec.containers[name="app"].image"#;

fn container(fields: &Value) -> Value {
    let mut container = json!({"name": "app"});
    for (field, value) in fields.as_object().unwrap() {
        container[field] = value.clone();
    }
    json!({"spec": {"template": {"spec": {"containers": [container]}}}})
}

/// Changes the Deployment's container as `kubectl edit` does.
async fn edit_as(env: &Environment, manager: &str, fields: &Value) {
    env.edit_as(manager, ChildKind::Deployment, &Patch::Strategic(container(fields))).await;
}

/// Waits until a takeover from this manager has this count, and is the only one from it.
async fn takeover(env: &Environment, manager: &str, count: i32) -> TakeoverStatus {
    eventually(&format!("takeover number {count} from {manager}"), async || {
        let takeovers = env.workload().await.status.unwrap_or_default().takeovers;
        match takeovers.iter().filter(|known| known.manager == manager).collect::<Vec<_>>()[..] {
            [only] if only.count == count => Ok(only.clone()),
            _ => Err(takeovers),
        }
    })
    .await
}

async fn counted(env: &Environment, manager: &str) -> u64 {
    let labels = [("kind", "Deployment"), ("manager", manager)];
    env.operator().metrics().await.unwrap().count("baton_takeovers_total", &labels)
}

async fn a_takeover_is_reported_in_status_event_and_metric(cluster: Cluster) {
    let env = Environment::start(&cluster, "takeover").await;
    env.apply_until("Ready", &json!({"replicas": 1})).await;

    edit_as(&env, "kubectl-edit", &json!({"image": "evil:1"})).await;
    let first = takeover(&env, "kubectl-edit", 1).await;
    assert_eq!((&*first.kind, &*first.name, &*first.path), ("Deployment", "web", IMAGE));
    assert_eq!(
        (first.old_value.as_deref(), first.new_value.as_deref()),
        (Some(r#""evil:1""#), Some(r#""app:1""#))
    );
    assert_eq!(first.first_time, first.last_time);
    assert_eq!(image(&env.child(ChildKind::Deployment).await.unwrap()), "app:1");

    // Again, and from another manager, which takes the field over by force.
    env.at_rest().await;
    edit_as(&env, "kubectl-edit", &json!({"image": "evil:2"})).await;
    let second = takeover(&env, "kubectl-edit", 2).await;
    assert_eq!(second.old_value.as_deref(), Some(r#""evil:2""#), "the value of the last time");
    assert_eq!(second.first_time, first.first_time);
    assert!(second.last_time >= first.last_time);
    env.at_rest().await;
    let forced = PatchParams::apply("helm").force();
    env.apply_child(&forced, ChildKind::Deployment, &container(&json!({"image": "evil:3"}))).await;
    let third = takeover(&env, "helm", 1).await;
    assert_eq!(third.path, IMAGE);

    assert_eq!((counted(&env, "kubectl-edit").await, counted(&env, "helm").await), (2, 1));
    env.at_rest().await;
    let events = env.event_objects("TookOver").await;
    let notes: Vec<_> = events.iter().map(|event| event.note.as_deref().unwrap()).collect();
    assert_eq!(
        notes,
        [
            format!(r#"took over from kubectl-edit in Deployment web: {IMAGE} ("evil:1" to "app:1")"#),
            format!(r#"took over from helm in Deployment web: {IMAGE} ("evil:3" to "app:1")"#),
        ],
        "one for each burst"
    );
    for event in events {
        assert_eq!(event.series, None, "and each was written once");
        assert_eq!(event.related.unwrap().kind.as_deref(), Some("Deployment"));
    }
}

async fn a_replica_count_that_a_user_scales_is_taken_over_and_reported(cluster: Cluster) {
    let env = Environment::start(&cluster, "takeover-scale").await;
    env.apply_until("Ready", &json!({"replicas": 2})).await;
    env.scale_as("kubectl", 5).await;

    let taken = takeover(&env, "kubectl", 1).await;
    assert_eq!((&*taken.kind, &*taken.path), ("Deployment", ".spec.replicas"));
    assert_eq!((taken.old_value.as_deref(), taken.new_value.as_deref()), (Some("5"), Some("2")));
    env.has_replicas(2).await;
    assert_eq!(counted(&env, "kubectl").await, 1);
}

async fn the_values_of_environment_variables_and_arguments_are_shown_nowhere(cluster: Cluster) {
    const OURS: &str = "correct-horse";
    const THEIRS: &str = "battery-staple";
    let options = OperatorOptions::with_flags("--log debug");
    let env = Environment::start_with(&cluster, "takeover-secret", options).await;
    let with = |value: &str| {
        let args = [format!("--token={value}")];
        json!({"image": "app:1", "args": args, "env": [{"name": "PASSWORD", "value": value}]})
    };
    let template = container(&with(OURS))["spec"]["template"].clone();
    env.apply_until("Ready", &json!({"replicas": 1, "template": template})).await;

    edit_as(&env, "kubectl-edit", &with(THEIRS)).await;
    let taken = eventually("both fields to be taken back", async || {
        let takeovers = env.workload().await.status.unwrap_or_default().takeovers;
        if takeovers.len() == 2 { Ok(takeovers) } else { Err(takeovers) }
    })
    .await;
    for (taken, field) in taken.iter().zip(["args", r#"env[name="PASSWORD"].value"#]) {
        assert_eq!(taken.path, format!(r#".spec.template.spec.containers[name="app"].{field}"#));
        assert_eq!(
            (taken.old_value.as_deref(), taken.new_value.as_deref()),
            (Some("(hidden)"), Some("(hidden)"))
        );
    }
    // The plan reports takeovers, too.
    env.apply(&json!({"mode": "Preview", "replicas": 1, "template": template})).await;
    env.condition("Applied", "Unknown").await;
    edit_as(&env, "kubectl-edit", &with(THEIRS)).await;
    eventually("the plan to take it back", async || {
        let plan = env.workload().await.status.unwrap_or_default().plan;
        if plan.iter().any(|child| !child.takes.is_empty()) { Ok(()) } else { Err(plan) }
    })
    .await;
    env.at_rest().await;

    let status = serde_json::to_string(&env.workload().await.status).unwrap();
    let events = env.events().await.join("\n");
    assert!(events.contains("TookOver"), "{events}");
    let (metrics, log) = (env.operator().metrics_text().await.unwrap(), env.operator().logs());
    assert!(log.contains("DEBUG"), "{log}");
    for secret in [OURS, THEIRS] {
        for (place, text) in [("status", &status), ("Events", &events), ("metrics", &metrics), ("log", &log)]
        {
            let line = text.lines().find(|line| line.contains(secret));
            assert_eq!(line, None, "{secret} in the {place}");
        }
    }
}
