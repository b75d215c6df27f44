//! An operator for some namespaces and a shard: it reconciles the Workloads in its scope, and leaves all others as they are.

use baton_crd::labels;
use baton_e2e::{Environment, Operator, OperatorOptions, scenarios, web};
use baton_testbed::{Cluster, eventually};
use k8s_openapi::api::apps::v1::Deployment;
use kube::api::DeleteParams;
use serde_json::json;

scenarios! {
    only_workloads_of_the_shard_in_watched_namespaces_are_reconciled,
}

/// Applies a Workload of this shard with this image.
async fn apply(env: &Environment, name: &str, shard: &str, image: &str) {
    let containers = json!([{"name": "app", "image": image}]);
    let mut workload = web(&json!({"replicas": 0, "template": {"spec": {"containers": containers}}}));
    workload["metadata"] = json!({"name": name, "labels": {labels::SHARD: shard}});
    env.apply_as("user", &workload).await.unwrap();
}

/// The image of a Deployment, if it exists.
async fn image(env: &Environment, name: &str) -> Option<String> {
    let spec = env.api::<Deployment>().get_opt(name).await.unwrap()?.spec?;
    spec.template.spec?.containers.into_iter().next()?.image
}

async fn runs(env: &Environment, name: &str, wanted: &str) {
    eventually(&format!("{wanted} in {}/{name}", env.namespace), async || {
        let seen = image(env, name).await;
        if seen.as_deref() == Some(wanted) { Ok(()) } else { Err(seen) }
    })
    .await;
}

async fn only_workloads_of_the_shard_in_watched_namespaces_are_reconciled(cluster: Cluster) {
    let env = async || Environment::new(&cluster, "scope").await.unwrap();
    let (one, two, other) = (env().await, env().await, env().await);
    let flags = format!("--namespace {},{} --shard a", one.namespace, two.namespace);
    let options = OperatorOptions::with_flags(&flags);
    let _operator = Operator::start(&cluster, options).await.unwrap();
    apply(&other, "web", "a", "app:1").await;
    apply(&one, "stays", "a", "app:1").await;
    runs(&one, "stays", "app:1").await;
    apply(&one, "web", "a", "app:1").await;
    apply(&two, "web", "a", "app:1").await;
    apply(&two, "alien", "c", "app:1").await;
    runs(&one, "web", "app:1").await;
    runs(&two, "web", "app:1").await;

    // It moves to a shard without an operator, and its image changes.
    apply(&one, "web", "c", "app:2").await;
    // Children are watched in both namespaces, not only in the one that was listed last.
    for env in [&one, &two] {
        for name in ["stays", "web"] {
            env.api::<Deployment>().delete(name, &DeleteParams::default()).await.ok();
        }
    }
    runs(&one, "stays", "app:1").await;
    runs(&two, "web", "app:1").await;
    assert_eq!(image(&one, "web").await, None, "no operator has this shard");

    apply(&one, "web", "a", "app:2").await;
    runs(&one, "web", "app:2").await;
    apply(&one, "web", "c", "app:3").await;
    apply(&two, "web", "a", "app:2").await;
    runs(&two, "web", "app:2").await;
    assert_eq!(image(&one, "web").await.as_deref(), Some("app:2"), "its children stay as they are");
    assert_eq!(image(&two, "alien").await, None);
    assert_eq!(image(&other, "web").await, None);
}
