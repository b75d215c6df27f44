//! The autoscaler under a load, while the number of replicas changes hands: what Kubernetes' own controller does,
//! and that Baton's part in it never costs a replica.

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
    a_load_that_is_high_when_autoscaling_is_switched_on_moves_the_number_once_and_up,
    switched_off_with_a_number_the_load_counts_until_the_number_does,
    switched_off_without_a_number_what_the_load_asked_for_last_stays,
    from_batons_autoscaler_to_somebody_elses_and_back_the_number_stays_with_the_load,
    an_autoscaler_does_nothing_at_zero_until_somebody_scales_up,
    two_autoscalers_of_one_deployment_stop_each_other_and_the_number_stays,
}

/// What a pod requests and should use, in millicores. Loads are multiples of it: the autoscaler does nothing about a tenth
/// more or less.
const PER_POD: u32 = 100;

/// The autoscaler, as a owner of the number.
const AUTOSCALER: &str = "kube-controller-manager (Update of scale)";

/// A scene with a Workload under a load, and somebody who sees every number.
struct Stage {
    scene: Scene,
    metrics: Arc<MetricsApi>,
    watch: ReplicaWatch,
}

impl Stage {
    /// A Workload that Baton holds at `number`, under a load that so many pods can bear.
    async fn with(cluster: &Cluster, name: &str, number: i32, load: u32) -> Self {
        let scene = Scene::start_with(cluster, name, OperatorOptions::default()).await;
        let metrics = MetricsApi::of(cluster).await;
        let watch = scene.watch().await.unwrap();
        let stage = Self { scene, metrics, watch };
        stage.load(load);
        stage.apply(json!({"replicas": number})).await;
        stage.scene.condition("Ready", "True").await;
        stage
    }

    /// From now on there is work for so many pods.
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

    /// Waits until the Deployment has this number.
    async fn number(&self, number: i64) {
        let what = format!("{number} replicas");
        self.scene.child_where(&what, ChildKind::Deployment, |live| replicas(live) == number).await;
    }

    /// Every number that there was, each change once.
    async fn numbers(&self) -> Vec<i32> {
        self.watch.history().await.unwrap().values()
    }

    /// Who holds the number.
    async fn owners(&self) -> Vec<String> {
        let history = self.watch.history().await.unwrap();
        history.last().unwrap().owners.iter().map(ToString::to_string).collect()
    }

    fn autoscalers(&self) -> Api<HorizontalPodAutoscaler> {
        Api::namespaced(self.scene.client.clone(), self.scene.ns())
    }

    /// Somebody's own autoscaler for the Workload's Deployment.
    async fn own_autoscaler(&self, name: &str, min: i32, max: i32) {
        let autoscaler = autoscaler(name, "web", autoscaling(min, max));
        self.autoscalers().patch(name, &PatchParams::apply("user"), &Patch::Apply(autoscaler)).await.unwrap();
    }

    async fn no_autoscaler(&self, name: &str) {
        self.autoscalers().delete(name, &DeleteParams::default()).await.unwrap();
    }

    /// Waits until the autoscaler's controller says of it, under `ScalingActive`, that this is why.
    async fn scaling_active(&self, name: &str, reason: &str) {
        eventually(&format!("{name}: ScalingActive with reason {reason}"), async || {
            let autoscaler = self.autoscalers().get_opt(name).await.unwrap();
            let status = autoscaler.and_then(|autoscaler| autoscaler.status);
            let conditions = status.and_then(|status| status.conditions).unwrap_or_default();
            let says = conditions
                .iter()
                .any(|one| one.type_ == "ScalingActive" && one.reason.as_deref() == Some(reason));
            if says { Ok(()) } else { Err(conditions) }
        })
        .await;
    }
}

fn autoscaling(min: i32, max: i32) -> Value {
    baton_e2e::autoscaling(min, max, &json!({"type": "Utilization", "averageUtilization": 100}))
}

async fn a_load_that_is_high_when_autoscaling_is_switched_on_moves_the_number_once_and_up(cluster: Cluster) {
    let stage = Stage::with(&cluster, "load-on", 3, 7).await;
    stage.apply(json!({"replicas": 3, "autoscaling": autoscaling(2, 9)})).await;
    stage.scene.condition("HandedOver", "True").await;
    assert_eq!(stage.numbers().await, [3, 7]);

    // From here on the number follows the load, whatever Baton does beside it.
    for (load, number) in [(9, 9), (5, 5), (12, 9), (1, 2)] {
        stage.load(load);
        stage.number(number).await;
        stage.scene.reconcile().await;
    }
    assert_eq!(stage.numbers().await, [3, 7, 9, 5, 9, 2]);
    assert_eq!(stage.owners().await, [AUTOSCALER]);
}

async fn switched_off_with_a_number_the_load_counts_until_the_number_does(cluster: Cluster) {
    let stage = Stage::with(&cluster, "load-off", 3, 7).await;
    stage.apply(json!({"autoscaling": autoscaling(2, 9)})).await;
    stage.number(7).await;
    stage.apply(json!({"replicas": 9})).await;
    stage.number(9).await;
    assert_eq!(stage.numbers().await, [3, 7, 9], "to more");

    stage.apply(json!({"autoscaling": autoscaling(2, 9)})).await;
    stage.number(7).await;
    stage.apply(json!({"replicas": 4})).await;
    stage.number(4).await;
    // A load that would have more pods is nobody's business any more.
    stage.load(8);
    stage.scene.reconcile().await;
    assert_eq!(stage.numbers().await, [3, 7, 9, 7, 4], "to less, and never to less than that");
    assert_eq!(stage.owners().await, ["baton (Apply)"]);
}

async fn switched_off_without_a_number_what_the_load_asked_for_last_stays(cluster: Cluster) {
    let stage = Stage::with(&cluster, "load-keep", 3, 7).await;
    stage.apply(json!({"autoscaling": autoscaling(2, 9)})).await;
    stage.number(7).await;
    stage.apply(json!({})).await;
    stage.scene.gone(ChildKind::Autoscaler).await;
    stage.load(2);
    stage.scene.reconcile_times(3).await;
    assert_eq!(stage.numbers().await, [3, 7]);

    // Switched on again, the autoscaler goes on from there.
    stage.apply(json!({"autoscaling": autoscaling(2, 9)})).await;
    stage.number(2).await;
    assert_eq!(stage.numbers().await, [3, 7, 2]);
}

async fn from_batons_autoscaler_to_somebody_elses_and_back_the_number_stays_with_the_load(cluster: Cluster) {
    let stage = Stage::with(&cluster, "load-external", 3, 7).await;
    stage.apply(json!({"replicas": 3, "autoscaling": autoscaling(2, 9)})).await;
    stage.number(7).await;

    stage.apply(json!({"replicas": 3, "autoscaling": {"external": {}}})).await;
    stage.scene.gone(ChildKind::Autoscaler).await;
    stage.own_autoscaler("theirs", 4, 9).await;
    stage.scaling_active("theirs", "ValidMetricFound").await;
    stage.load(8);
    stage.number(8).await;
    assert_eq!(stage.numbers().await, [3, 7, 8]);

    stage.no_autoscaler("theirs").await;
    stage.apply(json!({"replicas": 3, "autoscaling": autoscaling(2, 9)})).await;
    stage.scaling_active("web", "ValidMetricFound").await;
    stage.load(9);
    stage.number(9).await;
    assert_eq!(stage.numbers().await, [3, 7, 8, 9]);
    assert_eq!(stage.owners().await, [AUTOSCALER]);
}

async fn an_autoscaler_does_nothing_at_zero_until_somebody_scales_up(cluster: Cluster) {
    let stage = Stage::with(&cluster, "load-zero", 3, 4).await;
    stage.apply(json!({"autoscaling": autoscaling(2, 9)})).await;
    stage.number(4).await;
    stage.scene.scale_as("kubectl", 0).await;
    stage.scaling_active("web", "ScalingDisabled").await;
    stage.scene.condition("AutoscalerDisabled", "True").await;
    stage.load(6);
    stage.scene.reconcile_times(3).await;
    assert_eq!(stage.numbers().await, [3, 4, 0], "a zero that somebody wanted stays");

    // From one on the autoscaler is back at work: first up to its limit, then by the load.
    stage.scene.scale_as("kubectl", 1).await;
    stage.number(6).await;
    let numbers = stage.numbers().await;
    assert!(numbers.starts_with(&[3, 4, 0, 1]) && numbers[3..].is_sorted(), "{numbers:?}");

    // The zero had made the API server lose sight of who scales; Baton gives the number a owner again.
    stage.load(8);
    stage.number(8).await;
    stage.scene.condition("HandedOver", "True").await;
    assert_eq!(stage.owners().await, [AUTOSCALER]);
}

async fn two_autoscalers_of_one_deployment_stop_each_other_and_the_number_stays(cluster: Cluster) {
    let stage = Stage::with(&cluster, "load-two", 3, 5).await;
    stage.apply(json!({"autoscaling": {"external": {}}})).await;
    stage.own_autoscaler("one", 2, 9).await;
    stage.number(5).await;
    stage.own_autoscaler("two", 2, 9).await;
    stage.scaling_active("one", "AmbiguousSelector").await;
    stage.scaling_active("two", "AmbiguousSelector").await;
    stage.scene.condition("AutoscalerConflict", "True").await;
    stage.load(8);
    stage.scene.reconcile_times(3).await;
    assert_eq!(stage.numbers().await, [3, 5], "nobody scales");

    stage.no_autoscaler("two").await;
    stage.number(8).await;
    stage.scene.condition("HandedOver", "True").await;
    assert_eq!(stage.numbers().await, [3, 5, 8]);
}
