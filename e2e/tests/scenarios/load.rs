//! The autoscaler under a load, while the owner of the replica count changes: what Kubernetes' own controller does,
//! and that Baton never costs a replica.

use std::sync::Arc;

use baton_controller::decide::child::ChildKind;
use baton_crd::labels;
use baton_e2e::{OperatorOptions, autoscaler, scenarios};
use baton_testbed::{Cluster, MetricsApi, ReplicaWatch, eventually};
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use kube::{
    Api,
    api::{DeleteParams, Patch, PatchParams},
};
use serde_json::{Value, json};

use crate::scene::{Scene, replicas};

scenarios! {
    autoscaling_that_is_switched_on_under_a_high_load_raises_the_replica_count_once,
    autoscaling_that_is_switched_off_moves_the_replica_count_from_the_load_to_the_spec,
    autoscaling_that_is_switched_off_without_spec_replicas_leaves_its_last_replica_count,
    from_batons_autoscaler_to_an_external_one_and_back_the_replica_count_follows_the_load,
    an_autoscaler_does_nothing_at_zero_until_a_user_scales_up,
    two_autoscalers_of_one_deployment_stop_each_other_and_the_replica_count_stays,
}

/// What a pod requests and should use, in millicores. Loads are multiples of it: the autoscaler ignores 10% more or less.
const PER_POD: u32 = 100;

/// The autoscaler, as an owner of the replica count.
const AUTOSCALER: &str = "kube-controller-manager (Update of scale)";

/// A scene with a Workload under a load, and a watch that sees every replica count.
struct Stage {
    scene: Scene,
    metrics: Arc<MetricsApi>,
    watch: ReplicaWatch,
}

impl Stage {
    /// A Workload that Baton keeps at `replicas`, under a load for `load` pods.
    async fn with(cluster: &Cluster, name: &str, replicas: i32, load: u32) -> Self {
        let scene = Scene::start_with(cluster, name, OperatorOptions::default()).await;
        let metrics = MetricsApi::of(cluster).await;
        let watch = scene.watch().await.unwrap();
        let stage = Self { scene, metrics, watch };
        stage.load(load);
        stage.apply(json!({"replicas": replicas})).await;
        stage.scene.condition("Ready", "True").await;
        stage
    }

    /// Sets the load to what this many pods can do.
    fn load(&self, pods: u32) {
        self.metrics.set_cpu(self.scene.ns(), &format!("{}=web", labels::WORKLOAD), pods * PER_POD);
    }

    async fn apply(&self, mut spec: Value) {
        let container = json!({
            "name": "app", "image": "app:1", "resources": {"requests": {"cpu": format!("{PER_POD}m")}},
        });
        spec["template"] = json!({"spec": {"containers": [container]}});
        self.scene.apply(&spec).await;
    }

    /// Waits until the Deployment has this replica count.
    async fn reaches(&self, count: i64) {
        let what = format!("{count} replicas");
        self.scene.child_where(&what, ChildKind::Deployment, |live| replicas(live) == count).await;
    }

    /// All replica counts until now, each change once.
    async fn counts(&self) -> Vec<i32> {
        self.watch.history().await.unwrap().values()
    }

    /// The owners of the replica count.
    async fn owners(&self) -> Vec<String> {
        let history = self.watch.history().await.unwrap();
        history.last().unwrap().owners.iter().map(ToString::to_string).collect()
    }

    fn autoscalers(&self) -> Api<HorizontalPodAutoscaler> {
        Api::namespaced(self.scene.client.clone(), self.scene.ns())
    }

    /// Creates or changes a user's autoscaler for the Workload's Deployment.
    async fn apply_autoscaler(&self, name: &str, min: i32, max: i32) {
        let autoscaler = autoscaler(name, "web", autoscaling(min, max));
        self.autoscalers().patch(name, &PatchParams::apply("user"), &Patch::Apply(autoscaler)).await.unwrap();
    }

    async fn delete_autoscaler(&self, name: &str) {
        self.autoscalers().delete(name, &DeleteParams::default()).await.unwrap();
    }

    /// Waits until the autoscaler's condition `ScalingActive` has this reason.
    async fn scaling_active(&self, name: &str, reason: &str) {
        eventually(&format!("{name}: ScalingActive with reason {reason}"), async || {
            let autoscaler = self.autoscalers().get_opt(name).await.unwrap();
            let status = autoscaler.and_then(|autoscaler| autoscaler.status);
            let conditions = status.and_then(|status| status.conditions).unwrap_or_default();
            let is_reason = conditions
                .iter()
                .any(|one| one.type_ == "ScalingActive" && one.reason.as_deref() == Some(reason));
            if is_reason { Ok(()) } else { Err(conditions) }
        })
        .await;
    }
}

fn autoscaling(min: i32, max: i32) -> Value {
    baton_e2e::autoscaling(min, max, &json!({"type": "Utilization", "averageUtilization": 100}))
}

async fn autoscaling_that_is_switched_on_under_a_high_load_raises_the_replica_count_once(cluster: Cluster) {
    let stage = Stage::with(&cluster, "load-on", 3, 7).await;
    stage.apply(json!({"replicas": 3, "autoscaling": autoscaling(2, 9)})).await;
    stage.scene.condition("HandedOver", "True").await;
    assert_eq!(stage.counts().await, [3, 7]);

    // From here on the replica count follows the load, whatever Baton does.
    for (load, count) in [(9, 9), (5, 5), (12, 9), (1, 2)] {
        stage.load(load);
        stage.reaches(count).await;
        stage.scene.reconcile().await;
    }
    assert_eq!(stage.counts().await, [3, 7, 9, 5, 9, 2]);
    assert_eq!(stage.owners().await, [AUTOSCALER]);
}

async fn autoscaling_that_is_switched_off_moves_the_replica_count_from_the_load_to_the_spec(
    cluster: Cluster,
) {
    let stage = Stage::with(&cluster, "load-off", 3, 7).await;
    stage.apply(json!({"autoscaling": autoscaling(2, 9)})).await;
    stage.reaches(7).await;
    stage.apply(json!({"replicas": 9})).await;
    stage.reaches(9).await;
    assert_eq!(stage.counts().await, [3, 7, 9], "to more");

    stage.apply(json!({"autoscaling": autoscaling(2, 9)})).await;
    stage.reaches(7).await;
    stage.apply(json!({"replicas": 4})).await;
    stage.reaches(4).await;
    // The load has no effect any more.
    stage.load(8);
    stage.scene.reconcile().await;
    assert_eq!(stage.counts().await, [3, 7, 9, 7, 4], "to less, and never to less than that");
    assert_eq!(stage.owners().await, ["baton (Apply)"]);
}

async fn autoscaling_that_is_switched_off_without_spec_replicas_leaves_its_last_replica_count(
    cluster: Cluster,
) {
    let stage = Stage::with(&cluster, "load-keep", 3, 7).await;
    stage.apply(json!({"autoscaling": autoscaling(2, 9)})).await;
    stage.reaches(7).await;
    stage.apply(json!({})).await;
    stage.scene.gone(ChildKind::Autoscaler).await;
    stage.load(2);
    stage.scene.reconcile_times(3).await;
    assert_eq!(stage.counts().await, [3, 7]);

    // Switched on again, the autoscaler goes on from there.
    stage.apply(json!({"autoscaling": autoscaling(2, 9)})).await;
    stage.reaches(2).await;
    assert_eq!(stage.counts().await, [3, 7, 2]);
}

async fn from_batons_autoscaler_to_an_external_one_and_back_the_replica_count_follows_the_load(
    cluster: Cluster,
) {
    let stage = Stage::with(&cluster, "load-external", 3, 7).await;
    stage.apply(json!({"replicas": 3, "autoscaling": autoscaling(2, 9)})).await;
    stage.reaches(7).await;

    stage.apply(json!({"replicas": 3, "autoscaling": {"external": {}}})).await;
    stage.scene.gone(ChildKind::Autoscaler).await;
    stage.apply_autoscaler("theirs", 4, 9).await;
    stage.scaling_active("theirs", "ValidMetricFound").await;
    stage.load(8);
    stage.reaches(8).await;
    assert_eq!(stage.counts().await, [3, 7, 8]);

    stage.delete_autoscaler("theirs").await;
    stage.apply(json!({"replicas": 3, "autoscaling": autoscaling(2, 9)})).await;
    stage.scaling_active("web", "ValidMetricFound").await;
    stage.load(9);
    stage.reaches(9).await;
    assert_eq!(stage.counts().await, [3, 7, 8, 9]);
    assert_eq!(stage.owners().await, [AUTOSCALER]);
}

async fn an_autoscaler_does_nothing_at_zero_until_a_user_scales_up(cluster: Cluster) {
    let stage = Stage::with(&cluster, "load-zero", 3, 4).await;
    stage.apply(json!({"autoscaling": autoscaling(2, 9)})).await;
    stage.reaches(4).await;
    stage.scene.scale_as("kubectl", 0).await;
    stage.scaling_active("web", "ScalingDisabled").await;
    stage.scene.condition("AutoscalerDisabled", "True").await;
    stage.load(6);
    stage.scene.reconcile_times(3).await;
    assert_eq!(stage.counts().await, [3, 4, 0], "a zero that a user set stays");

    // From one replica on, the autoscaler scales again: first up to its limit, then by the load.
    stage.scene.scale_as("kubectl", 1).await;
    stage.reaches(6).await;
    let counts = stage.counts().await;
    assert!(counts.starts_with(&[3, 4, 0, 1]) && counts[3..].is_sorted(), "{counts:?}");

    // At zero the API server had dropped the owner of the replica count. Baton gives it an owner again.
    stage.load(8);
    stage.reaches(8).await;
    stage.scene.condition("HandedOver", "True").await;
    assert_eq!(stage.owners().await, [AUTOSCALER]);
}

async fn two_autoscalers_of_one_deployment_stop_each_other_and_the_replica_count_stays(cluster: Cluster) {
    let stage = Stage::with(&cluster, "load-two", 3, 5).await;
    stage.apply(json!({"autoscaling": {"external": {}}})).await;
    stage.apply_autoscaler("one", 2, 9).await;
    stage.reaches(5).await;
    stage.apply_autoscaler("two", 2, 9).await;
    stage.scaling_active("one", "AmbiguousSelector").await;
    stage.scaling_active("two", "AmbiguousSelector").await;
    stage.scene.condition("AutoscalerConflict", "True").await;
    stage.load(8);
    stage.scene.reconcile_times(3).await;
    assert_eq!(stage.counts().await, [3, 5], "no autoscaler scales");

    stage.delete_autoscaler("two").await;
    stage.reaches(8).await;
    stage.scene.condition("HandedOver", "True").await;
    assert_eq!(stage.counts().await, [3, 5, 8]);
}
