//! The watch of `spec.replicas` records every count, also while no test reads it, and reports what it can't have seen.

use std::{path::Path, thread};

use baton_testbed::{Cluster, ControlPlane, ReplicaOwner, ReplicaWatch};
use k8s_openapi::api::apps::v1::Deployment;
use kube::{
    Api, Client, Config,
    api::{DeleteParams, Patch, PatchParams, PostParams},
    config::{KubeConfigOptions, Kubeconfig},
};
use serde_json::json;

use crate::control_plane::deployment;

async fn deployments(kubeconfig: &Path, namespace: &str) -> Api<Deployment> {
    let file = Kubeconfig::read_from(kubeconfig).unwrap();
    let config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await.unwrap();
    Api::namespaced(Client::try_from(config).unwrap(), namespace)
}

async fn create(deployments: &Api<Deployment>, replicas: i32) {
    deployments.create(&PostParams::default(), &deployment("web", replicas)).await.unwrap();
}

async fn scale(deployments: &Api<Deployment>, replicas: &[i32]) {
    let params = PatchParams { field_manager: Some("somebody".to_owned()), ..PatchParams::default() };
    for replicas in replicas {
        let number = Patch::Merge(json!({"spec": {"replicas": replicas}}));
        deployments.patch_scale("web", &params, &number).await.unwrap();
    }
}

#[tokio::test]
#[ignore = "on a real control plane"]
async fn every_replica_count_is_seen_from_before_the_creation_until_after_the_deletion() {
    let cluster = ControlPlane::shared().await;
    let namespace = cluster.namespace("replicas").await.unwrap();
    let watch = ReplicaWatch::start(&Cluster::Real(cluster.clone()), namespace.name(), "web").await.unwrap();
    assert_eq!(watch.history().await.unwrap().lowest(), None);

    let deployments = deployments(cluster.kubeconfig(), namespace.name()).await;
    create(&deployments, 3).await;
    scale(&deployments, &[1, 5]).await;
    let history = watch.history().await.unwrap();
    assert_eq!(history.values(), [3, 1, 5]);
    assert_eq!(history.last().unwrap().owners, [ReplicaOwner::scale("somebody")]);
    let fell = history.never_below(2).unwrap_err().to_string();
    assert!(fell.contains(": 1 owned by somebody (Update of scale)"), "{fell}");

    deployments.delete("web", &DeleteParams::default()).await.unwrap();
    assert_eq!(watch.history().await.unwrap().last(), None);
}

/// The same control plane, for a client that doesn't know what is done to it.
fn given(control_plane: &ControlPlane) -> Cluster {
    ControlPlane::given(control_plane.kubeconfig()).unwrap().into()
}

/// Does this in a thread of its own, while nothing else of the test runs: no watch of it hears anything.
fn unheard<T: Send>(act: impl AsyncFnOnce() -> T + Send) -> T {
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    thread::scope(|scope| scope.spawn(|| runtime().block_on(act())).join().unwrap())
}

pub(crate) async fn what_was_stored_during_a_gap_is_found_out(cluster: &mut ControlPlane) {
    let kubeconfig = cluster.kubeconfig().to_owned();
    create(&deployments(&kubeconfig, "default").await, 3).await;
    let watch = ReplicaWatch::start(&given(cluster), "default", "web").await.unwrap();
    unheard(async || {
        cluster.restart_api_server().await.unwrap();
        scale(&deployments(&kubeconfig, "default").await, &[1, 4, 2]).await;
    });
    assert_eq!(watch.history().await.unwrap().values(), [3, 1, 4, 2]);
}

pub(crate) async fn what_can_no_longer_be_found_out_is_reported(cluster: &mut ControlPlane) {
    let kubeconfig = cluster.kubeconfig().to_owned();
    let namespace = cluster.namespace("missed").await.unwrap();
    create(&deployments(&kubeconfig, namespace.name()).await, 3).await;
    let watch = ReplicaWatch::start(&given(cluster), namespace.name(), "web").await.unwrap();
    unheard(async || {
        cluster.restart_api_server().await.unwrap();
        scale(&deployments(&kubeconfig, namespace.name()).await, &[1, 3]).await;
        cluster.compact_etcd().await.unwrap();
        cluster.restart_api_server().await.unwrap();
    });
    let missed = watch.history().await.unwrap_err().to_string();
    let wanted = format!("some writes may have been missed, of the Deployment {namespace}/web between");
    assert!(missed.starts_with(&wanted), "{missed}");
}
