//! Ownership that passes from one manager to another: to an autoscaler, and between any two.

use baton_e2e::{
    plays,
    scenario::{
        Promise, Scene, Section,
        builtin::{AUTOSCALER, DEPLOYMENT},
    },
};

use super::{
    DOCUMENT, NGINX, NGINX_REPLICAS_ONLY, NGINX_WITHOUT_REPLICAS,
    baton::baton_hands_replicas_over_and_takes_them_back,
};

pub const SECTION: Section = Section {
    document: DOCUMENT,
    title: "Transferring ownership",
    promises: &[
        Promise::new(
            "Besides conflicts there are ways for people and controllers to pass a field on together.",
            plays![the_basic_handover, the_advanced_handover],
        ),
        Promise::new(
            "A user creates a Deployment with replicas by `kubectl apply --server-side`, and owns the number.",
            plays![the_basic_handover],
        ),
        Promise::new(
            "An autoscaler may then be put on it, and both claim the number.",
            plays![the_basic_handover],
        ),
        Promise::new(
            "Removed from the manifest before the autoscaler has written, the number falls to the default, 1: pods are lost.",
            plays![done_wrong_replicas_fall_to_one],
        )
        .and_tests(&["e2e/tests/scenarios/handover.rs::replicas_pass_to_the_autoscaler_and_come_back_without_falling"]),
        Promise::new(
            "Basic solution: leave replicas in the manifest; once the autoscaler has written, an apply is told so by a conflict, and it \
             is safe to remove them.",
            plays![the_basic_handover],
        ),
        Promise::new(
            "Advanced solution, without waiting: apply a manifest of nothing but replicas under a manager of its own, \
             `handover-to-hpa`.",
            plays![the_advanced_handover],
        ),
        Promise::new(
            "Such a manifest holds only what is to change; it needn't be a valid object.",
            plays![the_advanced_handover],
        ),
        Promise::new(
            "If that conflicts with the autoscaler, nothing is to be done: it owns the number already.",
            plays![a_conflict_says_that_it_is_done],
        ),
        Promise::new(
            "Then replicas can be removed from the manifest, and the number stays.",
            plays![the_advanced_handover],
        ),
        Promise::new(
            "When the autoscaler writes another number, the temporary manager owns nothing any more, and vanishes by itself.",
            plays![the_advanced_handover, baton_hands_replicas_over_and_takes_them_back],
        ),
        Promise::new(
            "Nothing is left to clean up.",
            plays![the_advanced_handover, baton_hands_replicas_over_and_takes_them_back],
        ),
    ],
};

pub const BETWEEN_MANAGERS: Section = Section {
    document: DOCUMENT,
    title: "Transferring ownership between managers",
    promises: &[
        Promise::new(
            "Managers pass a field on by setting it to the same value: for a while they share it.",
            plays![a_field_is_passed_on_by_sharing],
        ),
        Promise::new(
            "Any of them can then drop it from what it applies; the others keep it, and the value stays.",
            plays![a_field_is_passed_on_by_sharing],
        ),
    ],
};

const OF_THE_AUTOSCALER: &str = "kube-controller-manager (Update scale)";

/// An autoscaler that wants to see at least this many.
fn autoscaler(at_least: u32) -> String {
    format!(
        "spec:
           scaleTargetRef: {{apiVersion: apps/v1, kind: Deployment, name: nginx-deployment}}
           minReplicas: {at_least}
           maxReplicas: 10
           metrics: [{{type: Resource, resource: {{name: cpu, target: {{type: Utilization, averageUtilization: 50}}}}}}]"
    )
}

async fn autoscale(s: &mut Scene, at_least: u32) {
    s.of(AUTOSCALER).await;
    // Its controller writes a status whenever it likes, so this is no step of the scenario's own.
    s.kubectl("apply --server-side -f -").reading(&autoscaler(at_least)).await;
    s.of(DEPLOYMENT).await;
}

async fn done_wrong_replicas_fall_to_one(s: &mut Scene) {
    s.of(DEPLOYMENT).await;
    s.named("nginx-deployment").await;
    s.kubectl("apply --server-side -f -").reading(NGINX).await;
    autoscale(s, 1).await;
    s.kubectl("apply --server-side -f -").reading(NGINX_WITHOUT_REPLICAS).await;
    s.expect(".spec.replicas", "1");
}

async fn the_basic_handover(s: &mut Scene) {
    s.of(DEPLOYMENT).await;
    s.named("nginx-deployment").await;
    s.kubectl("apply --server-side -f -").reading(NGINX).await;
    s.expect_owner(".spec.replicas", "kubectl (Apply)");
    autoscale(s, 5).await;
    s.eventually(".spec.replicas", "5").await;
    s.expect_owner(".spec.replicas", OF_THE_AUTOSCALER);
    s.kubectl("apply --server-side -f -")
        .reading(NGINX)
        .fails(r#"conflict with "kube-controller-manager" with subresource "scale" using apps/v1: .spec.replicas"#)
        .await;
    s.kubectl("apply --server-side -f -").reading(NGINX_WITHOUT_REPLICAS).await;
    s.expect(".spec.replicas", "5");
}

async fn the_advanced_handover(s: &mut Scene) {
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
    s.expect_owner(".spec.replicas", OF_THE_AUTOSCALER);
    s.expect_managers(&["kubectl (Apply)", OF_THE_AUTOSCALER]);
}

async fn a_conflict_says_that_it_is_done(s: &mut Scene) {
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

async fn a_field_is_passed_on_by_sharing(s: &mut Scene) {
    s.apply_as("old", "data: {key: value, own: '1'}").await;
    s.apply_as("new", "data: {key: value}").await;
    s.expect_owners(".data.key", &["new (Apply)", "old (Apply)"]);
    s.apply_as("old", "data: {own: '1'}").await;
    s.expect(".data.key", "value");
    s.expect_owner(".data.key", "new (Apply)");
}
