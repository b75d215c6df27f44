//! Server-side apply compared with client-side apply.

use baton_e2e::{
    scenario::{
        Subject,
        builtin::{AUTOSCALER, AUTOSCALER_V1},
    },
    scenario_list,
};

scenario_list! {
    every_way_out_leaves_a_subset, the_api_version_may_change;
    only real, because "of kubectl":
    client_side_keeps_an_annotation, client_side_apply_overwrites_without_a_warning,
    a_field_with_another_name_in_another_version_stays;
}

async fn client_side_keeps_an_annotation(s: &mut Subject) {
    s.kubectl("apply -f -").reading("data: {key: one}").await;
    assert!(s.at(".metadata.annotations.kubectl.kubernetes.io/last-applied-configuration").is_some());
    s.expect_owner(".data.key", "kubectl-client-side-apply (Update)");
    s.named("other").await;
    s.apply_as("applier", "data: {key: one}").await;
    s.expect_absent(".metadata.annotations");
    s.expect_owner(".data.key", "applier (Apply)");
}

async fn every_way_out_leaves_a_subset(s: &mut Subject) {
    for (name, intent, forced) in [
        ("overwritten", "data: {key: one}", true),
        ("shared", "data: {key: two}", false),
        ("released", "data: {own: '1'}", false),
    ] {
        s.named(name).await;
        s.apply_as("kubectl", "data: {key: one}").await;
        s.update_as("editor", "data: {key: two, more: '1'}").await;
        s.apply_as("kubectl", "data: {key: one}").conflicts_with("editor", ".data.key").await;
        let step = s.apply_as("kubectl", intent);
        if forced {
            step.by_force().await
        } else {
            step.await
        };
        // A subset of the live object applied again changes nothing.
        s.apply_as("kubectl", intent).changes_nothing().await;
    }
}

async fn client_side_apply_overwrites_without_a_warning(s: &mut Subject) {
    s.kubectl("apply -f -").reading("data: {key: one}").await;
    s.update_as("editor", "data: {key: two}").await;
    let output = s.kubectl("apply -f -").reading("data: {key: one}").prints("configured").await;
    assert_eq!(output.stderr, "", "a warning");
    s.expect(".data.key", "one");
}

async fn the_api_version_may_change(s: &mut Subject) {
    let target = "scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}";
    s.of(AUTOSCALER_V1).await;
    s.apply_as("kubectl", &format!("spec: {{{target}, maxReplicas: 5, minReplicas: 2}}")).await;
    s.of(AUTOSCALER).await;
    s.apply_as("kubectl", &format!("spec: {{{target}, maxReplicas: 6}}")).await;
    s.expect(".spec.maxReplicas", "6");
    // A field that was applied in the older version and dropped in the newer one is removed, too.
    s.expect(".spec.minReplicas", "1");
    s.expect_managers(&["kubectl (Apply)"]);
}

const IN_V1: &str = "spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  maxReplicas: 5
  targetCPUUtilizationPercentage: 50";
const IN_V2: &str = "spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  maxReplicas: 5";
/// The field of the newer version that `targetCPUUtilizationPercentage` is converted to.
const TARGET: &str = ".spec.metrics[0].resource.target.averageUtilization";

async fn a_field_with_another_name_in_another_version_stays(s: &mut Subject) {
    s.of(AUTOSCALER_V1).await;
    s.kubectl("apply -f -").reading(&format!("{IN_V1}\n  minReplicas: 2")).await;
    s.of(AUTOSCALER).await;
    s.kubectl("apply -f -").reading(IN_V2).await;
    s.expect(TARGET, "50");
    s.expect(".spec.minReplicas", "1");

    s.named("server-side").await;
    s.of(AUTOSCALER_V1).await;
    s.apply_as("kubectl", IN_V1).await;
    s.of(AUTOSCALER).await;
    s.apply_as("kubectl", IN_V2).await;
    s.expect(TARGET, "50");
    s.expect_no_owner(".spec.metrics");
}
