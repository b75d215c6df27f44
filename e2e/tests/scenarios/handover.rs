//! `spec.replicas` goes to the autoscaler and comes back. A watch sees every value on the way.

use baton_controller::decide::child::ChildKind;
use baton_crd::HandoverPhase;
use baton_e2e::{
    Environment, autoscaler,
    environment::{entries_of, replicas},
    scenarios,
};
use baton_testbed::{Cluster, ReplicaWatch};
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::{Value, json};

scenarios! {
    replicas_pass_to_the_autoscaler_and_come_back_without_falling,
    a_workload_that_is_autoscaled_from_the_start_starts_with_min_replicas,
    a_deleted_deployment_is_created_again_with_its_last_replica_count,
    an_autoscaler_is_seen_however_its_target_is_spelled,
    an_autoscaler_that_scales_nothing_is_reported,
}

async fn values(watch: &ReplicaWatch) -> Vec<i32> {
    watch.history().await.unwrap().values()
}

async fn replicas_pass_to_the_autoscaler_and_come_back_without_falling(cluster: Cluster) {
    let env = Environment::start(&cluster, "handover").await;
    env.apply_until("Ready", &json!({"replicas": 3})).await;
    let watch = env.watch().await.unwrap();

    // A minimum above the replica count makes the autoscaler write, without any metric.
    env.apply(&json!({"replicas": 3, "autoscaling": {"minReplicas": 5, "maxReplicas": 8}})).await;
    env.condition("HandedOver", "True").await;
    let deployment = env.child(ChildKind::Deployment).await.unwrap();
    assert_eq!(replicas(&deployment), 5);
    assert_eq!(entries_of(&deployment, "handover-to-hpa"), [], "the temporary manager owns nothing any more");
    let (_, _, batons) = &entries_of(&deployment, "baton")[0];
    assert_eq!(batons["f:spec"].get("f:replicas"), None, "Baton has released the field");
    assert_eq!(values(&watch).await, [3, 5]);

    // The way back: one change removes autoscaling and sets the replica count.
    env.apply(&json!({"replicas": 6})).await;
    env.gone(ChildKind::Autoscaler).await;
    let deployment = env.has_replicas(6).await;
    let history = watch.history().await.unwrap();
    let owners: Vec<String> = history.last().unwrap().owners.iter().map(ToString::to_string).collect();
    assert_eq!(owners, ["baton (Apply)"], "no stale entry is left behind");
    assert_eq!(entries_of(&deployment, "baton").len(), 1, "taking back left no Update entry");
    assert_eq!(history.values(), [3, 5, 6]);
    env.phase(HandoverPhase::Fixed, 6).await;
    env.no_condition("HandedOver").await;

    // Events are written after the status.
    for reason in ["HandedOver", "TakenBack"] {
        env.event(&[reason]).await;
    }
}

async fn a_workload_that_is_autoscaled_from_the_start_starts_with_min_replicas(cluster: Cluster) {
    let env = Environment::start_sending(&cluster, "autoscaled").await;
    env.apply(&json!({"autoscaling": {"minReplicas": 2, "maxReplicas": 4}})).await;
    // The autoscaler wants the live replica count, so it writes nothing: the temporary manager keeps the field.
    let pending = env.condition("HandoverPending", "True").await;
    assert!(pending.message.contains("handover-to-hpa owns spec.replicas (2)"), "{}", pending.message);
    env.child_where("the autoscaler", ChildKind::Autoscaler, |_| true).await;
    env.reconcile_times(3).await;
    let deployment = env.child(ChildKind::Deployment).await.unwrap();
    assert_eq!(replicas(&deployment), 2);
    assert_eq!(entries_of(&deployment, "handover-to-hpa").len(), 1);
}

async fn a_deleted_deployment_is_created_again_with_its_last_replica_count(cluster: Cluster) {
    let env = Environment::start(&cluster, "deleted").await;
    env.apply(&json!({"replicas": 2, "autoscaling": {"minReplicas": 4, "maxReplicas": 8}})).await;
    let handed_over = env.condition("HandedOver", "True").await;
    assert!(handed_over.message.contains("spec.replicas (4)"), "{}", handed_over.message);
    let watch = env.watch().await.unwrap();
    env.children(ChildKind::Deployment).delete("web", &DeleteParams::background()).await.unwrap();
    env.event(&["Normal Created", "Deployment"]).await;
    env.condition("Ready", "True").await;
    assert_eq!(values(&watch).await, [4], "not spec.replicas of the Workload, which is 2");
}

/// An autoscaler whose target is spelled like this.
fn spelled(name: &str, api_version: &str, kind: &str, spec: Value) -> Value {
    let mut autoscaler = autoscaler(name, "web", spec);
    autoscaler["spec"]["scaleTargetRef"] = json!({"apiVersion": api_version, "kind": kind, "name": "web"});
    autoscaler
}

async fn an_autoscaler_is_seen_however_its_target_is_spelled(cluster: Cluster) {
    let env = Environment::start(&cluster, "spelled").await;
    env.apply_until("Ready", &json!({"replicas": 2})).await;
    let watch = env.watch().await.unwrap();
    let theirs = spelled("theirs", "apps/v1beta1", "deployment", json!({"minReplicas": 4, "maxReplicas": 8}));
    env.apply_autoscaler(&theirs).await;
    let conflict = env.condition("AutoscalerConflict", "True").await;
    assert!(conflict.message.contains("theirs"), "{}", conflict.message);
    env.has_replicas(4).await;
    env.reconcile_times(3).await;
    assert_eq!(values(&watch).await, [2, 4]);

    env.apply(&json!({"autoscaling": {"minReplicas": 3, "maxReplicas": 5}})).await;
    assert_eq!(env.condition("Applied", "False").await.reason, "NotOwned", "Baton makes no second one");
    assert!(env.child(ChildKind::Autoscaler).await.is_none());
}

async fn an_autoscaler_that_scales_nothing_is_reported(cluster: Cluster) {
    let env = Environment::start(&cluster, "in-vain").await;
    env.apply(&json!({"replicas": 2, "autoscaling": {"external": {}}})).await;
    env.condition("HandoverPending", "True").await;
    let limits = || json!({"minReplicas": 3, "maxReplicas": 8});
    env.apply_autoscaler(&spelled("old", "extensions/v1beta1", "Deployment", limits())).await;
    let conflict = env.condition("AutoscalerConflict", "True").await;
    assert!(
        conflict.message.contains("old to target the kind Deployment of apps/v1"),
        "{}",
        conflict.message
    );

    env.apply_autoscaler(&spelled("old", "apps/v1", "Deployment", limits())).await;
    env.condition("HandedOver", "True").await;
    env.no_condition("AutoscalerConflict").await;

    // Another Deployment whose selector selects these pods too.
    let live = env.child(ChildKind::Deployment).await.unwrap();
    let labels = &live.data["spec"]["selector"]["matchLabels"];
    let template =
        json!({"metadata": {"labels": labels}, "spec": {"containers": [{"name": "app", "image": "app:1"}]}});
    let overlapping = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "overlapping"},
        "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": template},
    });
    let deployments = env.children(ChildKind::Deployment);
    deployments.patch("overlapping", &PatchParams::apply("user"), &Patch::Apply(&overlapping)).await.unwrap();
    env.apply_autoscaler(&autoscaler("second", "overlapping", limits())).await;
    let conflict = env.condition("AutoscalerConflict", "True").await;
    assert!(conflict.message.contains("ScalingActive of old"), "{}", conflict.message);
}
