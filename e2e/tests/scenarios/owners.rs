//! All managers that may own the replica count: external autoscalers, found by their targets; KEDA, which scales to zero beside its
//! autoscaler; and autoscalers that do nothing, which Baton reports.

use baton_controller::decide::child::ChildKind;
use baton_crd::HandoverPhase;
use baton_e2e::{Environment, scenarios};
use baton_testbed::Cluster;
use kube::{
    ResourceExt,
    api::{Patch, PatchParams},
};
use serde_json::{Value, json};

scenarios! {
    an_external_autoscaler_is_found_by_its_target_and_reported_missing_when_it_is_deleted,
    the_replica_count_of_the_spec_waits_for_an_autoscaler_that_the_spec_does_not_have,
    a_second_autoscaler_is_refused_until_the_other_one_is_gone,
    keda_scales_to_zero_and_back_beside_its_autoscaler,
    an_autoscaler_that_zero_replicas_disable_is_reported_and_starts_when_a_user_scales,
    a_zero_that_the_spec_drops_does_not_disable_the_autoscaler,
    a_suspended_workload_with_an_external_autoscaler_runs_nothing_and_resumes,
    an_autoscaler_that_targets_the_workload_is_reported_where_another_one_scales,
}

/// An external HorizontalPodAutoscaler that scales the Deployment `web`.
fn autoscaler(name: &str, min: i32, max: i32) -> Value {
    baton_e2e::autoscaler(name, "web", json!({"minReplicas": min, "maxReplicas": max}))
}

async fn an_external_autoscaler_is_found_by_its_target_and_reported_missing_when_it_is_deleted(
    cluster: Cluster,
) {
    let env = Environment::start(&cluster, "found").await;
    env.apply(&json!({"replicas": 3, "autoscaling": {"external": {}}})).await;
    let pending = env.phase(HandoverPhase::HandoverPending, 3).await;
    assert_eq!(pending.autoscalers, Vec::<String>::new());
    let watch = env.watch().await.unwrap();

    env.apply_autoscaler(&autoscaler("by-another-name", 5, 9)).await;
    let handed_over = env.phase(HandoverPhase::HandedOver, 5).await;
    assert_eq!(handed_over.autoscalers, ["by-another-name"]);

    env.delete_autoscaler("by-another-name").await;
    let missing = env.phase(HandoverPhase::AutoscalerMissing, 5).await;
    assert!(missing.autoscalers.is_empty() && missing.waiting_for.is_some(), "{missing:?}");
    env.condition("AutoscalerMissing", "True").await;

    // Another one replaces it. Then the spec has no autoscaler any more.
    env.apply_autoscaler(&autoscaler("another", 6, 9)).await;
    env.phase(HandoverPhase::HandedOver, 6).await;
    env.delete_autoscaler("another").await;
    env.apply(&json!({"replicas": 4})).await;
    env.phase(HandoverPhase::Fixed, 4).await;
    let history = watch.history().await.unwrap();
    assert_eq!(history.values(), [3, 5, 6, 4]);
    let owners: Vec<_> = history.last().unwrap().owners.iter().map(|owner| owner.manager.as_str()).collect();
    assert_eq!(owners, ["baton"]);
}

async fn the_replica_count_of_the_spec_waits_for_an_autoscaler_that_the_spec_does_not_have(cluster: Cluster) {
    let env = Environment::start(&cluster, "surprise").await;
    env.apply(&json!({"replicas": 3})).await;
    env.phase(HandoverPhase::Fixed, 3).await;
    let watch = env.watch().await.unwrap();
    env.apply_autoscaler(&autoscaler("surprise", 5, 9)).await;
    let ownership = env.phase(HandoverPhase::AutoscalerConflict, 5).await;
    assert!(ownership.waiting_for.unwrap().contains("surprise"));
    let condition = env.condition("AutoscalerConflict", "True").await;
    assert!(condition.message.contains("spec.autoscaling.external"), "{}", condition.message);

    // There is no contention, whichever way the spec changes.
    env.reconcile_times(3).await;
    env.apply(&json!({"replicas": 3, "autoscaling": {"external": {}}})).await;
    env.phase(HandoverPhase::HandedOver, 5).await;
    env.apply(&json!({"replicas": 3})).await;
    env.phase(HandoverPhase::AutoscalerConflict, 5).await;
    env.delete_autoscaler("surprise").await;
    env.phase(HandoverPhase::Fixed, 3).await;
    assert_eq!(watch.history().await.unwrap().values(), [3, 5, 3]);
}

async fn a_second_autoscaler_is_refused_until_the_other_one_is_gone(cluster: Cluster) {
    let env = Environment::start(&cluster, "two").await;
    env.apply(&json!({"replicas": 3, "autoscaling": {"external": {}}})).await;
    env.apply_autoscaler(&autoscaler("theirs", 5, 9)).await;
    env.phase(HandoverPhase::HandedOver, 5).await;
    let watch = env.watch().await.unwrap();

    env.apply(&json!({"replicas": 3, "autoscaling": {"minReplicas": 6, "maxReplicas": 9}})).await;
    let ownership = env.phase(HandoverPhase::AutoscalerConflict, 5).await;
    assert_eq!(ownership.autoscalers, ["theirs"]);
    let applied = env.condition("Applied", "False").await;
    assert!(applied.message.contains("theirs"), "{}", applied.message);
    assert!(env.child(ChildKind::Autoscaler).await.is_none(), "two would stop each other");

    env.delete_autoscaler("theirs").await;
    env.phase(HandoverPhase::HandedOver, 6).await;
    assert_eq!(watch.history().await.unwrap().values(), [5, 6]);

    // An autoscaler that comes later stops Baton's. Baton reports this.
    env.apply_autoscaler(&autoscaler("theirs", 5, 9)).await;
    let ownership = env.phase(HandoverPhase::AutoscalerConflict, 6).await;
    assert_eq!(ownership.autoscalers, ["theirs", "web"]);
    env.delete_autoscaler("theirs").await;
    env.phase(HandoverPhase::HandedOver, 6).await;
}

async fn keda_scales_to_zero_and_back_beside_its_autoscaler(cluster: Cluster) {
    let env = Environment::start(&cluster, "keda").await;
    env.apply(&json!({"replicas": 3, "autoscaling": {"external": {}}})).await;
    env.phase(HandoverPhase::HandoverPending, 3).await;
    let watch = env.watch().await.unwrap();
    // KEDA creates it for a ScaledObject, whose uid is made up here.
    let owner = env.workload().await;
    let mut kedas = autoscaler("keda-hpa-web", 2, 9);
    kedas["metadata"]["ownerReferences"] = json!([{
        "apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "name": "web", "uid": owner.uid().unwrap() + "0",
        "controller": true,
    }]);
    kedas["metadata"]["finalizers"] = json!(["baton.rs/kept-for-the-test"]);
    env.apply_autoscaler(&kedas).await;
    env.scale_as("keda", 0).await;
    // A scale to zero leaves no owner behind. Baton adds one, so that the next manager that scales is recorded again.
    let ownership = env.phase(HandoverPhase::HandoverPending, 0).await;
    assert_eq!(
        (ownership.owner.as_str(), ownership.autoscalers),
        ("handover-to-hpa", vec!["keda-hpa-web".to_owned()])
    );
    env.scale_as("keda", 4).await;
    assert_eq!(env.phase(HandoverPhase::HandedOver, 4).await.owner, "keda (scale)");
    assert_eq!(watch.history().await.unwrap().values(), [3, 0, 4]);
    let unlock = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    env.children(ChildKind::Autoscaler)
        .patch("keda-hpa-web", &PatchParams::default(), &unlock)
        .await
        .unwrap();
}

async fn an_autoscaler_that_zero_replicas_disable_is_reported_and_starts_when_a_user_scales(
    cluster: Cluster,
) {
    let env = Environment::start(&cluster, "zero").await;
    env.apply(&json!({"replicas": 0, "autoscaling": {"minReplicas": 3, "maxReplicas": 9}})).await;
    let ownership = env.phase(HandoverPhase::AutoscalerDisabled, 0).await;
    assert!(ownership.waiting_for.unwrap().contains("scaled to 1 or more"));
    env.condition("AutoscalerDisabled", "True").await;
    env.child_where("the autoscaler", ChildKind::Autoscaler, |_| true).await;
    env.scale_as("kubectl", 1).await;
    env.phase(HandoverPhase::HandedOver, 3).await;
}

async fn a_zero_that_the_spec_drops_does_not_disable_the_autoscaler(cluster: Cluster) {
    let env = Environment::start(&cluster, "zero-before").await;
    env.apply(&json!({"replicas": 0})).await;
    env.phase(HandoverPhase::Fixed, 0).await;
    let watch = env.watch().await.unwrap();
    env.apply(&json!({"autoscaling": {"minReplicas": 3, "maxReplicas": 9}})).await;
    env.phase(HandoverPhase::HandoverPending, 3).await;
    assert_eq!(watch.history().await.unwrap().values(), [0, 3]);
}

async fn a_suspended_workload_with_an_external_autoscaler_runs_nothing_and_resumes(cluster: Cluster) {
    let mut env = Environment::start(&cluster, "suspended").await;
    let external = json!({"replicas": 3, "autoscaling": {"external": {}}});
    let mut suspended = external.clone();
    suspended["suspend"] = true.into();
    env.apply(&external).await;
    env.apply_autoscaler(&autoscaler("theirs", 4, 8)).await;
    env.phase(HandoverPhase::HandedOver, 4).await;
    let watch = env.watch().await.unwrap();

    env.apply(&suspended).await;
    env.phase(HandoverPhase::Suspended, 0).await;
    assert_eq!(env.condition("Ready", "True").await.reason, "Suspended");
    let note = "baton.rs/replicas-before-suspend";
    assert_eq!(env.child(ChildKind::Deployment).await.unwrap().annotations()[note], "4");
    env.restart().await;
    env.reconcile_times(2).await;
    assert_eq!(watch.history().await.unwrap().values(), [4, 0]);

    env.apply(&external).await;
    env.phase(HandoverPhase::HandoverPending, 4).await;
    assert_eq!(env.child(ChildKind::Deployment).await.unwrap().annotations().get(note), None);
    assert_eq!(watch.history().await.unwrap().values(), [4, 0, 4]);
    env.event(&["Normal Suspended"]).await;

    // Without an autoscaler, the replica count comes back as the spec sets it.
    env.delete_autoscaler("theirs").await;
    env.apply(&json!({"replicas": 2, "suspend": true})).await;
    env.phase(HandoverPhase::Suspended, 0).await;
    env.apply(&json!({"replicas": 5})).await;
    env.phase(HandoverPhase::Fixed, 5).await;
    env.event(&["Normal Resumed"]).await;
}

async fn an_autoscaler_that_targets_the_workload_is_reported_where_another_one_scales(cluster: Cluster) {
    let env = Environment::start(&cluster, "workload-as-target").await;
    let autoscaling = json!({"minReplicas": 2, "maxReplicas": 4});
    env.apply(&json!({"autoscaling": autoscaling})).await;
    env.phase(HandoverPhase::HandoverPending, 2).await;
    let mut theirs = autoscaler("theirs", 3, 8);
    theirs["spec"]["scaleTargetRef"] =
        json!({"apiVersion": "baton.rs/v1alpha1", "kind": "Workload", "name": "web"});
    env.apply_autoscaler(&theirs).await;
    let conflict = env.phase(HandoverPhase::AutoscalerConflict, 2).await;
    let waiting = conflict.waiting_for.unwrap();
    assert!(waiting.starts_with("theirs to target the Deployment"), "{waiting}");
    env.event(&["Warning AutoscalerConflict", "theirs"]).await;

    // Without another autoscaler, it writes spec.replicas of the Workload.
    env.apply(&json!({"replicas": 2})).await;
    env.phase(HandoverPhase::Fixed, 3).await;
}
