//! Handover of a field from one manager to another, such as an autoscaler.

use baton_e2e::{
    scenario::{
        Subject,
        builtin::{AUTOSCALER, DEPLOYMENT},
    },
    scenario_list,
};

use super::{NGINX, NGINX_REPLICAS_ONLY, NGINX_WITHOUT_REPLICAS};

scenario_list! {
    only real, because "of kubectl":
    without_a_handover_replicas_fall_to_one, the_basic_handover, the_advanced_handover,
    a_conflict_shows_that_the_autoscaler_owns_replicas;
}

const BY_AUTOSCALER: &str = "kube-controller-manager (Update scale)";

/// An autoscaler with this minimum.
fn autoscaler(at_least: u32) -> String {
    format!(
        "spec:
           scaleTargetRef: {{apiVersion: apps/v1, kind: Deployment, name: nginx-deployment}}
           minReplicas: {at_least}
           maxReplicas: 10
           metrics: [{{type: Resource, resource: {{name: cpu, target: {{type: Utilization, averageUtilization: 50}}}}}}]"
    )
}

async fn autoscale(s: &mut Subject, at_least: u32) {
    s.of(AUTOSCALER).await;
    // The controller may write its status at any time, so a step of the scenario can't apply it.
    s.kubectl("apply --server-side -f -").reading(&autoscaler(at_least)).await;
    s.of(DEPLOYMENT).await;
}

async fn without_a_handover_replicas_fall_to_one(s: &mut Subject) {
    s.of(DEPLOYMENT).await;
    s.named("nginx-deployment").await;
    s.kubectl("apply --server-side -f -").reading(NGINX).await;
    autoscale(s, 1).await;
    s.kubectl("apply --server-side -f -").reading(NGINX_WITHOUT_REPLICAS).await;
    s.expect(".spec.replicas", "1");
}

async fn the_basic_handover(s: &mut Subject) {
    s.of(DEPLOYMENT).await;
    s.named("nginx-deployment").await;
    s.kubectl("apply --server-side -f -").reading(NGINX).await;
    s.expect_owner(".spec.replicas", "kubectl (Apply)");
    autoscale(s, 5).await;
    s.eventually(".spec.replicas", "5").await;
    s.expect_owner(".spec.replicas", BY_AUTOSCALER);
    s.kubectl("apply --server-side -f -")
        .reading(NGINX)
        .fails(r#"conflict with "kube-controller-manager" with subresource "scale" using apps/v1: .spec.replicas"#)
        .await;
    s.kubectl("apply --server-side -f -").reading(NGINX_WITHOUT_REPLICAS).await;
    s.expect(".spec.replicas", "5");
}

async fn the_advanced_handover(s: &mut Subject) {
    s.of(DEPLOYMENT).await;
    s.named("nginx-deployment").await;
    s.kubectl("apply --server-side -f -").reading(NGINX).await;
    autoscale(s, 1).await;
    s.kubectl("apply --server-side --field-manager=handover-to-hpa --validate=false -f -")
        .reading(NGINX_REPLICAS_ONLY)
        .await;
    s.expect_owners(".spec.replicas", &["handover-to-hpa (Apply)", "kubectl (Apply)"]);
    s.kubectl("apply --server-side -f -").reading(NGINX_WITHOUT_REPLICAS).await;
    s.expect(".spec.replicas", "3");
    s.expect_owner(".spec.replicas", "handover-to-hpa (Apply)");

    autoscale(s, 5).await;
    s.eventually(".spec.replicas", "5").await;
    s.expect_owner(".spec.replicas", BY_AUTOSCALER);
    s.expect_managers(&["kubectl (Apply)", BY_AUTOSCALER]);
}

async fn a_conflict_shows_that_the_autoscaler_owns_replicas(s: &mut Subject) {
    s.of(DEPLOYMENT).await;
    s.named("nginx-deployment").await;
    s.apply_as("kubectl", NGINX).await;
    autoscale(s, 5).await;
    s.eventually(".spec.replicas", "5").await;
    s.apply_as("handover-to-hpa", NGINX_REPLICAS_ONLY)
        .conflicts_with("kube-controller-manager (scale)", ".spec.replicas")
        .await;
    s.apply_as("kubectl", NGINX_WITHOUT_REPLICAS).await;
    s.expect(".spec.replicas", "5");
}
