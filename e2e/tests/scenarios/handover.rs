//! `spec.replicas` goes to the autoscaler and comes back; a watcher sees every value on the way.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use baton_controller::child::ChildKind;
use futures::{StreamExt, TryStreamExt};
use kube::{
    Api,
    api::{WatchEvent, WatchParams},
    core::DynamicObject,
};
use serde_json::json;

use crate::scene::{Scene, entries_of, replicas};

/// Every value that the Deployment's `spec.replicas` has had, in the order of the writes.
struct ReplicaWatch {
    deployments: Api<DynamicObject>,
    seen: Arc<Mutex<Vec<Write>>>,
    task: tokio::task::JoinHandle<()>,
}

struct Write {
    resource_version: String,
    replicas: i64,
}

impl Write {
    fn of(deployment: &DynamicObject) -> Self {
        let resource_version = deployment.metadata.resource_version.clone().unwrap();
        Self { resource_version, replicas: replicas(deployment) }
    }
}

impl ReplicaWatch {
    /// Watches from this moment on. A watch delivers every stored write, so no value is missed between two looks.
    async fn start(scene: &Scene) -> Self {
        let deployments = scene.children(ChildKind::Deployment);
        let first = Write::of(&deployments.get("web").await.unwrap());
        let params = WatchParams::default().fields("metadata.name=web").timeout(290);
        let mut events = deployments.watch(&params, &first.resource_version).await.unwrap().boxed();
        let seen = Arc::new(Mutex::new(vec![first]));
        let recorded = seen.clone();
        let task = tokio::spawn(async move {
            while let Some(event) = events.try_next().await.unwrap() {
                if let WatchEvent::Added(object) | WatchEvent::Modified(object) = event {
                    recorded.lock().unwrap().push(Write::of(&object));
                }
            }
        });
        Self { deployments, seen, task }
    }

    /// The values up to now, each change once.
    async fn values(&self) -> Vec<i64> {
        let now = Write::of(&self.deployments.get("web").await.unwrap());
        let caught_up =
            |seen: &[Write]| seen.iter().any(|write| write.resource_version == now.resource_version);
        while !caught_up(&self.seen.lock().unwrap()) {
            assert!(!self.task.is_finished(), "the watch has ended before the test");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let mut values: Vec<i64> = self.seen.lock().unwrap().iter().map(|write| write.replicas).collect();
        values.dedup();
        values
    }
}

impl Drop for ReplicaWatch {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn phase(workload: &baton_crd::Workload) -> Option<baton_crd::HandoverPhase> {
    workload.status.as_ref()?.replica_ownership.as_ref().map(|ownership| ownership.phase)
}

#[tokio::test]
async fn replicas_pass_to_the_autoscaler_and_come_back_without_falling() {
    let scene = Scene::start("handover").await;
    scene.apply(&json!({"replicas": 3})).await;
    scene.condition("Ready", "True").await;
    let watch = ReplicaWatch::start(&scene).await;

    // Asking for more than there is makes the autoscaler write, without any metric.
    scene.apply(&json!({"replicas": 3, "autoscaling": {"minReplicas": 5, "maxReplicas": 8}})).await;
    scene.condition("HandedOver", "True").await;
    let deployment = scene.child(ChildKind::Deployment).await.unwrap();
    assert_eq!(replicas(&deployment), 5);
    assert_eq!(entries_of(&deployment, "handover-to-hpa"), [], "the temporary manager is gone by itself");
    let (_, _, batons) = &entries_of(&deployment, "baton")[0];
    assert_eq!(batons["f:spec"].get("f:replicas"), None, "Baton has let go");
    assert_eq!(watch.values().await, [3, 5]);

    // The way back: autoscaling is removed and the number that should count is set, at once.
    scene.apply(&json!({"replicas": 6})).await;
    scene.gone(ChildKind::Autoscaler).await;
    let deployment =
        scene.child_where("Baton's own six", ChildKind::Deployment, |live| replicas(live) == 6).await;
    let holders: Vec<_> = deployment
        .metadata
        .managed_fields
        .iter()
        .flatten()
        .filter(|entry| {
            entry.fields_v1.as_ref().is_some_and(|fields| fields.0["f:spec"].get("f:replicas").is_some())
        })
        .map(|entry| (entry.manager.as_deref().unwrap(), entry.operation.as_deref().unwrap()))
        .collect();
    assert_eq!(holders, [("baton", "Apply")], "no stale entry is left behind");
    assert_eq!(entries_of(&deployment, "baton").len(), 1, "taking back left no Update entry");
    assert_eq!(watch.values().await, [3, 5, 6]);
    let workload = scene
        .eventually("the phase Fixed", async || {
            let workload = scene.workload().await;
            if phase(&workload) == Some(baton_crd::HandoverPhase::Fixed) {
                Ok(workload)
            } else {
                Err(workload.status)
            }
        })
        .await;
    assert!(workload.status.unwrap().conditions.iter().all(|condition| condition.type_ != "HandedOver"));

    let events = scene.events().await;
    for reason in ["HandedOver", "TakenBack"] {
        assert!(events.iter().any(|event| event.contains(reason)), "{reason} in {events:#?}");
    }
}

#[tokio::test]
async fn a_workload_that_is_autoscaled_from_the_start_starts_with_min_replicas() {
    let scene = Scene::start_sending("autoscaled").await;
    scene.apply(&json!({"autoscaling": {"minReplicas": 2, "maxReplicas": 4}})).await;
    // The autoscaler wants the number that is there, so it writes nothing: the temporary manager keeps it.
    let pending = scene.condition("HandoverPending", "True").await;
    assert!(pending.message.contains("handover-to-hpa holds 2 replicas"), "{}", pending.message);
    scene.child_where("the autoscaler", ChildKind::Autoscaler, |_| true).await;
    for _ in 0..3 {
        scene.reconcile().await;
    }
    let deployment = scene.child(ChildKind::Deployment).await.unwrap();
    assert_eq!(replicas(&deployment), 2);
    assert_eq!(entries_of(&deployment, "handover-to-hpa").len(), 1);
}

#[tokio::test]
async fn without_a_number_of_its_own_the_workload_keeps_what_the_autoscaler_left() {
    let scene = Scene::start_sending("keep").await;
    scene.apply(&json!({"replicas": 2, "autoscaling": {"minReplicas": 4, "maxReplicas": 8}})).await;
    scene.condition("HandedOver", "True").await;
    let watch = ReplicaWatch::start(&scene).await;
    scene.apply(&json!({})).await;
    scene.gone(ChildKind::Autoscaler).await;
    for _ in 0..3 {
        scene.reconcile().await;
    }
    assert_eq!(watch.values().await, [4]);
}

#[tokio::test]
async fn a_number_that_the_workload_drops_stays_on_the_deployment() {
    let scene = Scene::start_sending("dropped-number").await;
    scene.apply(&json!({"replicas": 4})).await;
    scene.condition("Ready", "True").await;
    let watch = ReplicaWatch::start(&scene).await;
    scene.apply(&json!({})).await;
    scene
        .eventually("the temporary manager to hold the number", async || {
            let deployment = scene.child(ChildKind::Deployment).await.unwrap();
            if entries_of(&deployment, "handover-to-hpa").len() == 1 {
                Ok(())
            } else {
                Err(deployment.metadata)
            }
        })
        .await;
    for _ in 0..3 {
        scene.reconcile().await;
    }
    assert_eq!(watch.values().await, [4]);
}

#[tokio::test]
async fn an_external_autoscaler_gets_the_number_and_baton_makes_none() {
    let scene = Scene::start_sending("external").await;
    scene.apply(&json!({"replicas": 3, "autoscaling": {"external": {}}})).await;
    scene.condition("HandoverPending", "True").await;
    let watch = ReplicaWatch::start(&scene).await;
    scene.scale_as("keda", 7).await;
    let handed_over = scene.condition("HandedOver", "True").await;
    assert!(handed_over.message.contains("keda (scale)"), "{}", handed_over.message);
    for _ in 0..3 {
        scene.reconcile().await;
    }
    assert_eq!(watch.values().await, [3, 7]);
    assert!(scene.child(ChildKind::Autoscaler).await.is_none());
}
