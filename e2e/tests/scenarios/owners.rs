//! Everybody who may hold the number: autoscalers of others, found by what they scale; KEDA, which scales to zero beside its
//! autoscaler; and constellations in which an autoscaler does nothing, told to people.

use baton_controller::decide::child::ChildKind;
use baton_crd::HandoverPhase;
use baton_e2e::scenarios;
use baton_testbed::{Cluster, eventually};
use kube::{
    ResourceExt,
    api::{DeleteParams, Patch, PatchParams},
};
use serde_json::{Value, json};

use crate::scene::{Scene, replicas};

scenarios! {
    an_autoscaler_of_somebody_else_is_found_by_what_it_scales_and_missed_when_it_is_gone,
    a_number_that_the_spec_says_waits_for_an_autoscaler_that_the_spec_does_not_tell_of,
    a_second_autoscaler_is_refused_until_the_other_one_is_gone,
    keda_scales_to_zero_and_back_beside_its_autoscaler,
    an_autoscaler_that_a_zero_disables_is_told_and_starts_when_somebody_scales,
    a_zero_that_nobody_asks_for_any_more_does_not_disable_the_autoscaler,
    from_an_autoscaler_of_batons_to_anothers_and_back_the_number_stays,
    a_suspended_workload_runs_nothing_beside_an_autoscaler_that_rests_at_zero_and_comes_back,
    an_autoscaler_that_has_the_workload_as_its_target_is_told_where_another_decides,
}

/// A HorizontalPodAutoscaler of somebody else's that scales the Deployment `web`.
fn autoscaler(name: &str, min: i32, max: i32) -> Value {
    baton_e2e::autoscaler(name, "web", json!({"minReplicas": min, "maxReplicas": max}))
}

impl Scene {
    async fn make_autoscaler(&self, autoscaler: &Value) {
        let name = autoscaler["metadata"]["name"].as_str().unwrap();
        let params = PatchParams::apply("somebody").force();
        self.children(ChildKind::Autoscaler).patch(name, &params, &Patch::Apply(autoscaler)).await.unwrap();
    }

    async fn delete_autoscaler(&self, name: &str) {
        self.children(ChildKind::Autoscaler).delete(name, &DeleteParams::default()).await.unwrap();
    }

    /// Waits for a phase of the number's, and for this number of replicas.
    async fn phase(&self, phase: HandoverPhase, value: i32) -> baton_crd::ReplicaOwnership {
        eventually(&format!("{phase:?} with {value} replicas"), async || {
            let ownership = self.workload().await.status.unwrap_or_default().replica_ownership;
            match ownership {
                Some(told) if told.phase == phase && told.value == value => Ok(told),
                other => Err(other),
            }
        })
        .await
    }
}

async fn an_autoscaler_of_somebody_else_is_found_by_what_it_scales_and_missed_when_it_is_gone(
    cluster: Cluster,
) {
    let scene = Scene::start(&cluster, "found").await;
    scene.apply(&json!({"replicas": 3, "autoscaling": {"external": {}}})).await;
    let pending = scene.phase(HandoverPhase::HandoverPending, 3).await;
    assert_eq!(pending.autoscalers, Vec::<String>::new());
    let watch = scene.watch().await.unwrap();

    scene.make_autoscaler(&autoscaler("by-another-name", 5, 9)).await;
    let handed_over = scene.phase(HandoverPhase::HandedOver, 5).await;
    assert_eq!(handed_over.autoscalers, ["by-another-name"]);

    scene.delete_autoscaler("by-another-name").await;
    let missing = scene.phase(HandoverPhase::AutoscalerMissing, 5).await;
    assert!(missing.autoscalers.is_empty() && missing.waiting_for.is_some(), "{missing:?}");
    scene.condition("AutoscalerMissing", "True").await;

    // Another one takes its place; then nobody is to scale any more.
    scene.make_autoscaler(&autoscaler("another", 6, 9)).await;
    scene.phase(HandoverPhase::HandedOver, 6).await;
    scene.delete_autoscaler("another").await;
    scene.apply(&json!({"replicas": 4})).await;
    scene.phase(HandoverPhase::Fixed, 4).await;
    let history = watch.history().await.unwrap();
    assert_eq!(history.values(), [3, 5, 6, 4]);
    let owners: Vec<_> = history.last().unwrap().owners.iter().map(|owner| owner.manager.as_str()).collect();
    assert_eq!(owners, ["baton"]);
}

async fn a_number_that_the_spec_says_waits_for_an_autoscaler_that_the_spec_does_not_tell_of(
    cluster: Cluster,
) {
    let scene = Scene::start(&cluster, "untold").await;
    scene.apply(&json!({"replicas": 3})).await;
    scene.phase(HandoverPhase::Fixed, 3).await;
    let watch = scene.watch().await.unwrap();
    scene.make_autoscaler(&autoscaler("surprise", 5, 9)).await;
    let told = scene.phase(HandoverPhase::AutoscalerConflict, 5).await;
    assert!(told.waiting_for.unwrap().contains("surprise"));
    let condition = scene.condition("AutoscalerConflict", "True").await;
    assert!(condition.message.contains("spec.autoscaling.external"), "{}", condition.message);

    // There is no fight about it, whichever way it goes on.
    scene.reconcile_times(3).await;
    scene.apply(&json!({"replicas": 3, "autoscaling": {"external": {}}})).await;
    scene.phase(HandoverPhase::HandedOver, 5).await;
    scene.apply(&json!({"replicas": 3})).await;
    scene.phase(HandoverPhase::AutoscalerConflict, 5).await;
    scene.delete_autoscaler("surprise").await;
    scene.phase(HandoverPhase::Fixed, 3).await;
    assert_eq!(watch.history().await.unwrap().values(), [3, 5, 3]);
}

async fn a_second_autoscaler_is_refused_until_the_other_one_is_gone(cluster: Cluster) {
    let scene = Scene::start(&cluster, "two").await;
    scene.apply(&json!({"replicas": 3, "autoscaling": {"external": {}}})).await;
    scene.make_autoscaler(&autoscaler("theirs", 5, 9)).await;
    scene.phase(HandoverPhase::HandedOver, 5).await;
    let watch = scene.watch().await.unwrap();

    scene.apply(&json!({"replicas": 3, "autoscaling": {"minReplicas": 6, "maxReplicas": 9}})).await;
    let told = scene.phase(HandoverPhase::AutoscalerConflict, 5).await;
    assert_eq!(told.autoscalers, ["theirs"]);
    let applied = scene.condition("Applied", "False").await;
    assert!(applied.message.contains("theirs"), "{}", applied.message);
    assert!(scene.child(ChildKind::Autoscaler).await.is_none(), "two would stop each other");

    scene.delete_autoscaler("theirs").await;
    scene.phase(HandoverPhase::HandedOver, 6).await;
    assert_eq!(watch.history().await.unwrap().values(), [5, 6]);

    // One that comes later stops Baton's, which is told.
    scene.make_autoscaler(&autoscaler("theirs", 5, 9)).await;
    let told = scene.phase(HandoverPhase::AutoscalerConflict, 6).await;
    assert_eq!(told.autoscalers, ["theirs", "web"]);
    scene.delete_autoscaler("theirs").await;
    scene.phase(HandoverPhase::HandedOver, 6).await;
}

async fn keda_scales_to_zero_and_back_beside_its_autoscaler(cluster: Cluster) {
    let scene = Scene::start(&cluster, "keda").await;
    scene.apply(&json!({"replicas": 3, "autoscaling": {"external": {}}})).await;
    scene.phase(HandoverPhase::HandoverPending, 3).await;
    let watch = scene.watch().await.unwrap();
    // What KEDA makes of a ScaledObject; any object with a uid will do for one.
    let owner = scene.workload().await;
    let mut kedas = autoscaler("keda-hpa-web", 2, 9);
    kedas["metadata"]["ownerReferences"] = json!([{
        "apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "name": "web", "uid": owner.uid().unwrap() + "0",
        "controller": true,
    }]);
    kedas["metadata"]["finalizers"] = json!(["baton.rs/kept-for-the-test"]);
    scene.make_autoscaler(&kedas).await;
    scene.scale_as("keda", 0).await;
    // A scale to zero leaves no owner behind. Baton gives it one, so that the next who scales is told again.
    let told = scene.phase(HandoverPhase::HandoverPending, 0).await;
    assert_eq!((told.owner.as_str(), told.autoscalers), ("handover-to-hpa", vec!["keda-hpa-web".to_owned()]));
    scene.scale_as("keda", 4).await;
    assert_eq!(scene.phase(HandoverPhase::HandedOver, 4).await.owner, "keda (scale)");
    assert_eq!(watch.history().await.unwrap().values(), [3, 0, 4]);
    let unlock = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    scene
        .children(ChildKind::Autoscaler)
        .patch("keda-hpa-web", &PatchParams::default(), &unlock)
        .await
        .unwrap();
}

async fn an_autoscaler_that_a_zero_disables_is_told_and_starts_when_somebody_scales(cluster: Cluster) {
    let scene = Scene::start(&cluster, "zero").await;
    scene.apply(&json!({"replicas": 0, "autoscaling": {"minReplicas": 3, "maxReplicas": 9}})).await;
    let told = scene.phase(HandoverPhase::AutoscalerDisabled, 0).await;
    assert!(told.waiting_for.unwrap().contains("scaled to 1 or more"));
    scene.condition("AutoscalerDisabled", "True").await;
    scene.child_where("the autoscaler", ChildKind::Autoscaler, |_| true).await;
    scene.scale_as("kubectl", 1).await;
    scene.phase(HandoverPhase::HandedOver, 3).await;
}

async fn a_zero_that_nobody_asks_for_any_more_does_not_disable_the_autoscaler(cluster: Cluster) {
    let scene = Scene::start(&cluster, "zero-before").await;
    scene.apply(&json!({"replicas": 0})).await;
    scene.phase(HandoverPhase::Fixed, 0).await;
    let watch = scene.watch().await.unwrap();
    scene.apply(&json!({"autoscaling": {"minReplicas": 3, "maxReplicas": 9}})).await;
    scene.phase(HandoverPhase::HandoverPending, 3).await;
    assert_eq!(watch.history().await.unwrap().values(), [0, 3]);
}

async fn from_an_autoscaler_of_batons_to_anothers_and_back_the_number_stays(cluster: Cluster) {
    let scene = Scene::start(&cluster, "switched").await;
    scene.apply(&json!({"replicas": 3, "autoscaling": {"minReplicas": 5, "maxReplicas": 9}})).await;
    scene.phase(HandoverPhase::HandedOver, 5).await;
    let watch = scene.watch().await.unwrap();

    scene.apply(&json!({"replicas": 3, "autoscaling": {"external": {}}})).await;
    scene.gone(ChildKind::Autoscaler).await;
    scene.reconcile_times(2).await;
    scene.make_autoscaler(&autoscaler("theirs", 6, 9)).await;
    scene.phase(HandoverPhase::HandedOver, 6).await;
    scene.delete_autoscaler("theirs").await;

    scene.apply(&json!({"replicas": 3, "autoscaling": {"minReplicas": 7, "maxReplicas": 9}})).await;
    scene.phase(HandoverPhase::HandedOver, 7).await;
    assert_eq!(watch.history().await.unwrap().values(), [5, 6, 7]);
    assert_eq!(replicas(&scene.child(ChildKind::Deployment).await.unwrap()), 7);
}

async fn a_suspended_workload_runs_nothing_beside_an_autoscaler_that_rests_at_zero_and_comes_back(
    cluster: Cluster,
) {
    let mut scene = Scene::start(&cluster, "suspended").await;
    let external = json!({"replicas": 3, "autoscaling": {"external": {}}});
    let mut suspended = external.clone();
    suspended["suspend"] = true.into();
    scene.apply(&external).await;
    scene.make_autoscaler(&autoscaler("theirs", 4, 8)).await;
    scene.phase(HandoverPhase::HandedOver, 4).await;
    let watch = scene.watch().await.unwrap();

    scene.apply(&suspended).await;
    scene.phase(HandoverPhase::Suspended, 0).await;
    assert_eq!(scene.condition("Ready", "True").await.reason, "Suspended");
    let note = "baton.rs/replicas-before-suspend";
    assert_eq!(scene.child(ChildKind::Deployment).await.unwrap().annotations()[note], "4");
    scene.restart().await;
    scene.reconcile_times(2).await;
    assert_eq!(watch.history().await.unwrap().values(), [4, 0]);

    scene.apply(&external).await;
    scene.phase(HandoverPhase::HandoverPending, 4).await;
    assert_eq!(scene.child(ChildKind::Deployment).await.unwrap().annotations().get(note), None);
    assert_eq!(watch.history().await.unwrap().values(), [4, 0, 4]);
    scene.event(&["Normal Suspended"]).await;

    // A number of the spec's own comes back as the spec says it.
    scene.delete_autoscaler("theirs").await;
    scene.apply(&json!({"replicas": 2, "suspend": true})).await;
    scene.phase(HandoverPhase::Suspended, 0).await;
    scene.apply(&json!({"replicas": 5})).await;
    scene.phase(HandoverPhase::Fixed, 5).await;
    scene.event(&["Normal Resumed"]).await;
}

async fn an_autoscaler_that_has_the_workload_as_its_target_is_told_where_another_decides(cluster: Cluster) {
    let scene = Scene::start(&cluster, "workload-as-target").await;
    let autoscaling = json!({"minReplicas": 2, "maxReplicas": 4});
    scene.apply(&json!({"autoscaling": autoscaling})).await;
    scene.phase(HandoverPhase::HandoverPending, 2).await;
    let mut theirs = autoscaler("theirs", 3, 8);
    theirs["spec"]["scaleTargetRef"] =
        json!({"apiVersion": "baton.rs/v1alpha1", "kind": "Workload", "name": "web"});
    scene.make_autoscaler(&theirs).await;
    let conflict = scene.phase(HandoverPhase::AutoscalerConflict, 2).await;
    let waiting = conflict.waiting_for.unwrap();
    assert!(waiting.starts_with("theirs to target the Deployment"), "{waiting}");
    scene.event(&["Warning AutoscalerConflict", "theirs"]).await;

    // Where nobody else decides, the number that it writes is the spec's.
    scene.apply(&json!({"replicas": 2})).await;
    scene.phase(HandoverPhase::Fixed, 3).await;
}
