//! `spec.replicas` goes to the autoscaler and comes back; a watcher sees every value on the way.

use baton_controller::decide::child::ChildKind;
use baton_e2e::scenarios;
use baton_testbed::{Cluster, ReplicaWatch, eventually};
use kube::api::DeleteParams;
use serde_json::json;

use crate::scene::{Scene, entries_of, replicas};

scenarios! {
    replicas_pass_to_the_autoscaler_and_come_back_without_falling,
    a_workload_that_is_autoscaled_from_the_start_starts_with_min_replicas,
    without_a_number_of_its_own_the_workload_keeps_what_the_autoscaler_left,
    a_number_that_the_workload_drops_stays_on_the_deployment,
    a_deployment_that_somebody_deletes_comes_back_with_the_number_that_it_had,
    an_external_autoscaler_gets_the_number_and_baton_makes_none,
}

async fn values(watch: &ReplicaWatch) -> Vec<i32> {
    watch.history().await.unwrap().values()
}

fn phase(workload: &baton_crd::Workload) -> Option<baton_crd::HandoverPhase> {
    workload.status.as_ref()?.replica_ownership.as_ref().map(|ownership| ownership.phase)
}

async fn replicas_pass_to_the_autoscaler_and_come_back_without_falling(cluster: Cluster) {
    let scene = Scene::start(&cluster, "handover").await;
    scene.apply(&json!({"replicas": 3})).await;
    scene.condition("Ready", "True").await;
    let watch = scene.watch().await.unwrap();

    // Asking for more than there is makes the autoscaler write, without any metric.
    scene.apply(&json!({"replicas": 3, "autoscaling": {"minReplicas": 5, "maxReplicas": 8}})).await;
    scene.condition("HandedOver", "True").await;
    let deployment = scene.child(ChildKind::Deployment).await.unwrap();
    assert_eq!(replicas(&deployment), 5);
    assert_eq!(entries_of(&deployment, "handover-to-hpa"), [], "the temporary manager is gone by itself");
    let (_, _, batons) = &entries_of(&deployment, "baton")[0];
    assert_eq!(batons["f:spec"].get("f:replicas"), None, "Baton has let go");
    assert_eq!(values(&watch).await, [3, 5]);

    // The way back: autoscaling is removed and the number that should count is set, at once.
    scene.apply(&json!({"replicas": 6})).await;
    scene.gone(ChildKind::Autoscaler).await;
    let deployment =
        scene.child_where("Baton's own six", ChildKind::Deployment, |live| replicas(live) == 6).await;
    let history = watch.history().await.unwrap();
    let owners: Vec<String> = history.last().unwrap().owners.iter().map(ToString::to_string).collect();
    assert_eq!(owners, ["baton (Apply)"], "no stale entry is left behind");
    assert_eq!(entries_of(&deployment, "baton").len(), 1, "taking back left no Update entry");
    assert_eq!(history.values(), [3, 5, 6]);
    let workload = eventually("the phase Fixed", async || {
        let workload = scene.workload().await;
        if phase(&workload) == Some(baton_crd::HandoverPhase::Fixed) {
            Ok(workload)
        } else {
            Err(workload.status)
        }
    })
    .await;
    assert!(workload.status.unwrap().conditions.iter().all(|condition| condition.type_ != "HandedOver"));

    // Events are written after the status.
    for reason in ["HandedOver", "TakenBack"] {
        scene.event(&[reason]).await;
    }
}

async fn a_workload_that_is_autoscaled_from_the_start_starts_with_min_replicas(cluster: Cluster) {
    let scene = Scene::start_sending(&cluster, "autoscaled").await;
    scene.apply(&json!({"autoscaling": {"minReplicas": 2, "maxReplicas": 4}})).await;
    // The autoscaler wants the number that is there, so it writes nothing: the temporary manager keeps it.
    let pending = scene.condition("HandoverPending", "True").await;
    assert!(pending.message.contains("handover-to-hpa owns spec.replicas (2)"), "{}", pending.message);
    scene.child_where("the autoscaler", ChildKind::Autoscaler, |_| true).await;
    scene.reconcile_times(3).await;
    let deployment = scene.child(ChildKind::Deployment).await.unwrap();
    assert_eq!(replicas(&deployment), 2);
    assert_eq!(entries_of(&deployment, "handover-to-hpa").len(), 1);
}

async fn without_a_number_of_its_own_the_workload_keeps_what_the_autoscaler_left(cluster: Cluster) {
    let scene = Scene::start_sending(&cluster, "keep").await;
    scene.apply(&json!({"replicas": 2, "autoscaling": {"minReplicas": 4, "maxReplicas": 8}})).await;
    scene.condition("HandedOver", "True").await;
    let watch = scene.watch().await.unwrap();
    scene.apply(&json!({})).await;
    scene.gone(ChildKind::Autoscaler).await;
    scene.reconcile_times(3).await;
    assert_eq!(values(&watch).await, [4]);
}

async fn a_number_that_the_workload_drops_stays_on_the_deployment(cluster: Cluster) {
    let scene = Scene::start_sending(&cluster, "dropped-number").await;
    scene.apply(&json!({"replicas": 4})).await;
    scene.condition("Ready", "True").await;
    let watch = scene.watch().await.unwrap();
    scene.apply(&json!({})).await;
    eventually("the temporary manager to hold the number", async || {
        let deployment = scene.child(ChildKind::Deployment).await.unwrap();
        if entries_of(&deployment, "handover-to-hpa").len() == 1 { Ok(()) } else { Err(deployment.metadata) }
    })
    .await;
    scene.reconcile_times(3).await;
    assert_eq!(values(&watch).await, [4]);
}

async fn a_deployment_that_somebody_deletes_comes_back_with_the_number_that_it_had(cluster: Cluster) {
    let scene = Scene::start(&cluster, "deleted").await;
    scene.apply(&json!({"replicas": 2, "autoscaling": {"minReplicas": 4, "maxReplicas": 8}})).await;
    let told = scene.condition("HandedOver", "True").await;
    assert!(told.message.contains("spec.replicas (4)"), "{}", told.message);
    let watch = scene.watch().await.unwrap();
    scene.children(ChildKind::Deployment).delete("web", &DeleteParams::background()).await.unwrap();
    scene.event(&["Normal Created", "Deployment"]).await;
    scene.condition("Ready", "True").await;
    assert_eq!(values(&watch).await, [4], "not the two that it was to start with");
}

async fn an_external_autoscaler_gets_the_number_and_baton_makes_none(cluster: Cluster) {
    let scene = Scene::start_sending(&cluster, "external").await;
    scene.apply(&json!({"replicas": 3, "autoscaling": {"external": {}}})).await;
    scene.condition("HandoverPending", "True").await;
    let watch = scene.watch().await.unwrap();
    scene.scale_as("keda", 7).await;
    let handed_over = scene.condition("HandedOver", "True").await;
    assert!(handed_over.message.contains("keda (scale)"), "{}", handed_over.message);
    scene.reconcile_times(3).await;
    assert_eq!(values(&watch).await, [3, 7]);
    assert!(scene.child(ChildKind::Autoscaler).await.is_none());
}
