//! Several teams apply parts of one Workload, each under a manager of its own.

use baton_controller::decide::child::ChildKind;
use baton_e2e::{Environment, scenarios, web};
use baton_testbed::Cluster;
use serde_json::{Value, json};

scenarios! {
    two_managers_apply_different_containers_and_conflict_only_where_they_overlap,
}

fn part(containers: &Value) -> Value {
    web(&json!({"template": {"spec": {"containers": containers}}}))
}

async fn two_managers_apply_different_containers_and_conflict_only_where_they_overlap(cluster: Cluster) {
    let env = Environment::start(&cluster, "teams").await;
    let app = part(&json!([{"name": "app", "image": "app:1", "env": [{"name": "MODE", "value": "fast"}]}]));
    let proxy =
        part(&json!([{"name": "proxy", "image": "proxy:1", "env": [{"name": "LEVEL", "value": "1"}]}]));
    env.apply_as("team-app", &app).await.unwrap();
    env.apply_as("team-proxy", &proxy).await.unwrap();
    // A third team sets one env var of a container that another team made.
    let tuning = part(&json!([{"name": "app", "env": [{"name": "WORKERS", "value": "4"}]}]));
    env.apply_as("team-tuning", &tuning).await.unwrap();
    env.condition("Applied", "True").await;

    let expected = json!([
        {"name": "app", "image": "app:1", "env": [{"name": "MODE", "value": "fast"}, {"name": "WORKERS", "value": "4"}]},
        {"name": "proxy", "image": "proxy:1", "env": [{"name": "LEVEL", "value": "1"}]},
    ]);
    env.child_where("the three parts in one Deployment", ChildKind::Deployment, |deployment| {
        let containers = deployment.data["spec"]["template"]["spec"]["containers"].as_array().unwrap();
        let seen = containers.iter().map(|container| {
                json!({"name": container["name"], "image": container["image"], "env": container["env"]})
            });
        seen.collect::<Value>() == expected
    })
    .await;

    let overlap = part(&json!([{"name": "app", "image": "app:2"}]));
    let refused = env.apply_as("team-proxy", &overlap).await.unwrap_err().to_string();
    assert!(refused.contains(r#"conflict with "team-app""#), "{refused}");
    assert!(refused.contains(r#".spec.template.spec.containers[name="app"].image"#), "{refused}");

    // The app's owner may still change it, and the others' parts stay.
    let upgraded =
        part(&json!([{"name": "app", "image": "app:2", "env": [{"name": "MODE", "value": "fast"}]}]));
    env.apply_as("team-app", &upgraded).await.unwrap();
    env.child_where("the new image beside the others' parts", ChildKind::Deployment, |deployment| {
        let containers = &deployment.data["spec"]["template"]["spec"]["containers"];
        containers[0]["image"] == "app:2"
            && containers[0]["env"][1]["name"] == "WORKERS"
            && containers[1]["name"] == "proxy"
    })
    .await;
}
