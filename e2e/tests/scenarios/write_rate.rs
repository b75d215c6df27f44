//! Which writes come first when there are many at once.

use baton_e2e::{Environment, OperatorOptions, install_manifests, scenarios, workload};
use baton_testbed::{Cluster, eventually};
use futures::{StreamExt, future::join_all};
use k8s_openapi::api::{apps::v1::Deployment, core::v1::Service};
use kube::{
    ResourceExt,
    api::{DeleteParams, ListParams, WatchEvent, WatchParams},
};
use serde_json::json;

scenarios! {
    a_deleted_child_is_created_again_before_a_change_of_all_workloads_is_written,
    the_other_children_of_new_workloads_are_created_before_all_deployments,
}

const ALL: usize = 16;

async fn apply_all(env: &Environment, image: &str) {
    let containers = json!([{"name": "app", "image": image}]);
    let spec = json!({"replicas": 0, "template": {"spec": {"containers": containers}}});
    let workloads: Vec<_> = (0..ALL).map(|number| workload(&format!("w{number}"), &spec)).collect();
    for applied in join_all(workloads.iter().map(|workload| env.apply_as("user", workload))).await {
        applied.unwrap();
    }
}

/// How many Deployments run this image.
async fn running(env: &Environment, image: &str) -> usize {
    let all = env.api::<Deployment>().list(&ListParams::default()).await.unwrap();
    let images = all
        .into_iter()
        .filter_map(|deployment| deployment.spec?.template.spec?.containers.into_iter().next()?.image);
    images.filter(|own| own == image).count()
}

async fn all_run(env: &Environment, image: &str) {
    eventually(&format!("all Deployments running {image}"), async || match running(env, image).await {
        ALL => Ok(()),
        running => Err(running),
    })
    .await;
}

async fn a_deleted_child_is_created_again_before_a_change_of_all_workloads_is_written(cluster: Cluster) {
    let env = Environment::new(&cluster, "write-rate").await.unwrap();
    let _operator = env.start_operator(OperatorOptions::with_flags("--write-rate 8")).await.unwrap();
    env.apply_as("user", &workload("other", &json!({"replicas": 0}))).await.unwrap();
    apply_all(&env, "app:1").await;
    let deployments = env.api::<Deployment>();
    let other = async || deployments.get_opt("other").await.unwrap();
    eventually("the other Deployment", async || other().await.map(drop).ok_or(())).await;
    eventually("every Deployment", async || match running(&env, "app:1").await {
        running if running > ALL => Ok(()),
        running => Err(running),
    })
    .await;

    apply_all(&env, "app:2").await;
    deployments.delete("other", &DeleteParams::background()).await.unwrap();
    eventually("the other Deployment again", async || other().await.map(drop).ok_or(())).await;
    let changed = running(&env, "app:2").await;
    assert!(changed < ALL, "all are changed by now");
    all_run(&env, "app:2").await;
}

async fn the_other_children_of_new_workloads_are_created_before_all_deployments(cluster: Cluster) {
    install_manifests(&cluster).await.unwrap();
    let env = Environment::new(&cluster, "newcomers").await.unwrap();
    let containers = json!([{"name": "app", "image": "app"}]);
    let service = json!({"type": "ClusterIP", "ports": [{"port": 80}]});
    let spec = json!({"replicas": 0, "template": {"spec": {"containers": containers}}, "service": service});
    for number in 0..5 {
        env.apply_as("user", &workload(&format!("w{number}"), &spec)).await.unwrap();
    }
    let made = env.api::<Deployment>().watch(&WatchParams::default(), "0").await.unwrap();
    let _operator = env.start_operator(OperatorOptions::with_flags("--concurrency 1")).await.unwrap();
    let made = made.filter_map(async |event| match event.unwrap() {
        WatchEvent::Added(deployment) => Some(version(&deployment)),
        _ => None,
    });
    let first_deployment = made.take(5).collect::<Vec<_>>().await.into_iter().min().unwrap();
    let services = env.api::<Service>().list(&ListParams::default()).await.unwrap();
    let last_service = services.iter().map(version).max().unwrap();
    assert!(last_service < first_deployment, "{last_service} and {first_deployment}");
}

fn version(object: &impl ResourceExt) -> u64 {
    object.resource_version().unwrap().parse().unwrap()
}
