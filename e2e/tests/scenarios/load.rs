//! The autoscaler under a load, while the owner of the replica count changes: what Kubernetes' own controller does,
//! and that Baton never costs a replica.

use std::sync::Arc;

use baton_controller::decide::child::ChildKind;
use baton_crd::labels;
use baton_e2e::{Environment, OperatorOptions, autoscaler, scenarios};
use baton_testbed::{Cluster, MetricsApi, ReplicaWatch, eventually};
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use serde_json::{Value, json};

scenarios! {
    autoscaling_that_is_switched_on_under_a_high_load_raises_the_replica_count_once,
    autoscaling_that_is_switched_off_moves_the_replica_count_from_the_load_to_the_spec,
    from_batons_autoscaler_to_an_external_one_and_back_the_replica_count_follows_the_load,
    an_autoscaler_does_nothing_at_zero_until_a_user_scales_up,
    two_autoscalers_of_one_deployment_stop_each_other_and_the_replica_count_stays,
}

/// The CPU that a pod requests and should use, in millicores. Loads are multiples of it: the autoscaler ignores 10% more or less.
const PER_POD: u32 = 100;

/// The autoscaler, as an owner of the replica count.
const AUTOSCALER: &str = "kube-controller-manager (Update of scale)";

/// An environment with a Workload under a load, and a watch that sees every replica count.
struct UnderLoad {
    env: Environment,
    metrics: Arc<MetricsApi>,
    watch: ReplicaWatch,
}

impl UnderLoad {
    /// A Workload that Baton keeps at `replicas`, under a load for `load` pods.
    async fn with(cluster: &Cluster, name: &str, replicas: i32, load: u32) -> Self {
        let env = Environment::start_with(cluster, name, OperatorOptions::default()).await;
        let metrics = MetricsApi::of(cluster).await;
        let watch = env.watch().await.unwrap();
        let web = Self { env, metrics, watch };
        web.load(load);
        web.apply(json!({"replicas": replicas})).await;
        web.env.condition("Ready", "True").await;
        web
    }

    /// Sets the load to what this many pods can do.
    fn load(&self, pods: u32) {
        self.metrics.set_cpu(self.env.ns(), &format!("{}=web", labels::WORKLOAD), pods * PER_POD);
    }

    async fn apply(&self, mut spec: Value) {
        let container = json!({
            "name": "app", "image": "app:1", "resources": {"requests": {"cpu": format!("{PER_POD}m")}},
        });
        spec["template"] = json!({"spec": {"containers": [container]}});
        self.env.apply(&spec).await;
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

    /// Creates or changes a user's autoscaler for the Workload's Deployment.
    async fn apply_autoscaler(&self, name: &str, min: i32, max: i32) {
        self.env.apply_autoscaler(&autoscaler(name, "web", autoscaling(min, max))).await;
    }

    /// Waits until the autoscaler's condition `ScalingActive` has this reason.
    async fn scaling_active(&self, name: &str, reason: &str) {
        eventually(&format!("{name}: ScalingActive with reason {reason}"), async || {
            let autoscaler = self.env.api::<HorizontalPodAutoscaler>().get_opt(name).await.unwrap();
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
    let web = UnderLoad::with(&cluster, "load-on", 3, 7).await;
    web.apply(json!({"replicas": 3, "autoscaling": autoscaling(2, 9)})).await;
    web.env.condition("HandedOver", "True").await;
    assert_eq!(web.counts().await, [3, 7]);

    // From here on the replica count follows the load, whatever Baton does.
    for (load, count) in [(9, 9), (5, 5), (12, 9), (1, 2)] {
        web.load(load);
        web.env.has_replicas(count).await;
        web.env.reconcile().await;
    }
    assert_eq!(web.counts().await, [3, 7, 9, 5, 9, 2]);
    assert_eq!(web.owners().await, [AUTOSCALER]);
}

async fn autoscaling_that_is_switched_off_moves_the_replica_count_from_the_load_to_the_spec(
    cluster: Cluster,
) {
    let web = UnderLoad::with(&cluster, "load-off", 3, 7).await;
    web.apply(json!({"autoscaling": autoscaling(2, 9)})).await;
    web.env.has_replicas(7).await;
    web.apply(json!({"replicas": 9})).await;
    web.env.has_replicas(9).await;
    assert_eq!(web.counts().await, [3, 7, 9], "to more");

    web.apply(json!({"autoscaling": autoscaling(2, 9)})).await;
    web.env.has_replicas(7).await;
    web.apply(json!({"replicas": 4})).await;
    web.env.has_replicas(4).await;
    // The load has no effect any more.
    web.load(8);
    web.env.reconcile().await;
    assert_eq!(web.counts().await, [3, 7, 9, 7, 4], "to less, and never to less than that");
    assert_eq!(web.owners().await, ["baton (Apply)"]);
}

async fn from_batons_autoscaler_to_an_external_one_and_back_the_replica_count_follows_the_load(
    cluster: Cluster,
) {
    let web = UnderLoad::with(&cluster, "load-external", 3, 7).await;
    web.apply(json!({"replicas": 3, "autoscaling": autoscaling(2, 9)})).await;
    web.env.has_replicas(7).await;

    web.apply(json!({"replicas": 3, "autoscaling": {"external": {}}})).await;
    web.env.gone(ChildKind::Autoscaler).await;
    web.apply_autoscaler("theirs", 4, 9).await;
    web.scaling_active("theirs", "ValidMetricFound").await;
    web.load(8);
    web.env.has_replicas(8).await;
    assert_eq!(web.counts().await, [3, 7, 8]);

    web.env.delete_autoscaler("theirs").await;
    web.apply(json!({"replicas": 3, "autoscaling": autoscaling(2, 9)})).await;
    web.scaling_active("web", "ValidMetricFound").await;
    web.load(9);
    web.env.has_replicas(9).await;
    assert_eq!(web.counts().await, [3, 7, 8, 9]);
    assert_eq!(web.owners().await, [AUTOSCALER]);
}

async fn an_autoscaler_does_nothing_at_zero_until_a_user_scales_up(cluster: Cluster) {
    let web = UnderLoad::with(&cluster, "load-zero", 3, 4).await;
    web.apply(json!({"autoscaling": autoscaling(2, 9)})).await;
    web.env.has_replicas(4).await;
    web.env.scale_as("kubectl", 0).await;
    web.scaling_active("web", "ScalingDisabled").await;
    web.env.condition("AutoscalerDisabled", "True").await;
    web.load(6);
    web.env.reconcile_times(3).await;
    assert_eq!(web.counts().await, [3, 4, 0], "a zero that a user set stays");

    // From one replica on, the autoscaler scales again: first up to its limit, then by the load.
    web.env.scale_as("kubectl", 1).await;
    web.env.has_replicas(6).await;
    let counts = web.counts().await;
    assert!(counts.starts_with(&[3, 4, 0, 1]) && counts[3..].is_sorted(), "{counts:?}");

    // At zero the API server had dropped the owner of the replica count. Baton gives it an owner again.
    web.load(8);
    web.env.has_replicas(8).await;
    web.env.condition("HandedOver", "True").await;
    assert_eq!(web.owners().await, [AUTOSCALER]);
}

async fn two_autoscalers_of_one_deployment_stop_each_other_and_the_replica_count_stays(cluster: Cluster) {
    let web = UnderLoad::with(&cluster, "load-two", 3, 5).await;
    web.apply(json!({"autoscaling": {"external": {}}})).await;
    web.apply_autoscaler("one", 2, 9).await;
    web.env.has_replicas(5).await;
    web.apply_autoscaler("two", 2, 9).await;
    web.scaling_active("one", "AmbiguousSelector").await;
    web.scaling_active("two", "AmbiguousSelector").await;
    web.env.condition("AutoscalerConflict", "True").await;
    web.load(8);
    web.env.reconcile_times(3).await;
    assert_eq!(web.counts().await, [3, 5], "no autoscaler scales");

    web.env.delete_autoscaler("two").await;
    web.env.has_replicas(8).await;
    web.env.condition("HandedOver", "True").await;
    assert_eq!(web.counts().await, [3, 5, 8]);
}
