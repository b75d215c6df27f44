//! How Baton follows the documentation's advice to controllers.

use baton_e2e::{
    scenario::{
        Subject,
        builtin::{DEPLOYMENT, WORKLOAD},
    },
    scenario_list,
};
use baton_testbed::ReplicaWatch;

scenario_list! {
    only real, because "the operator is a process":
    baton_forces_its_own_fields_and_no_others, baton_hands_replicas_over_and_takes_them_back;
}

const TEMPLATE: &str = "template: {spec: {containers: [{name: app, image: 'nginx:1.14.2'}]}}";
const BATON: &str = "baton (Apply)";
const BY_AUTOSCALER: &str = "kube-controller-manager (Update scale)";

/// Applies a Workload with these fields in its spec, and makes its Deployment the subject.
async fn workload(s: &mut Subject, spec: &str) {
    s.of(WORKLOAD).await;
    s.kubectl("apply --server-side -f -").reading(&format!("spec: {{{TEMPLATE}, {spec}}}")).await;
    s.of(DEPLOYMENT).await;
}

pub async fn baton_forces_its_own_fields_and_no_others(s: &mut Subject) {
    let _baton = s.baton().await;
    workload(s, "replicas: 3").await;
    s.eventually(".spec.replicas", "3").await;
    s.expect_managers(&[BATON]);
    s.kubectl("annotate deployment example note=mine").await;
    s.kubectl("set image deployment example app=nginx:2").await;
    s.eventually(r#".spec.template.spec.containers[name="app"].image"#, "nginx:1.14.2").await;
    s.expect_owner(r#".spec.template.spec.containers[name="app"].image"#, BATON);
    s.expect_owner(".metadata.annotations.note", "kubectl-annotate (Update)");
}

pub async fn baton_hands_replicas_over_and_takes_them_back(s: &mut Subject) {
    let _baton = s.baton().await;
    workload(s, "replicas: 3").await;
    s.eventually(".spec.replicas", "3").await;
    let watch = ReplicaWatch::start(s.server().cluster(), s.namespace(), s.name()).await.unwrap();

    workload(s, "replicas: 3, autoscaling: {minReplicas: 2, maxReplicas: 10}").await;
    s.eventually_owned(".spec.replicas", "handover-to-hpa (Apply)").await;
    s.expect(".spec.replicas", "3");

    workload(s, "replicas: 3, autoscaling: {minReplicas: 5, maxReplicas: 10}").await;
    s.eventually(".spec.replicas", "5").await;
    s.expect_owner(".spec.replicas", BY_AUTOSCALER);
    s.expect_managers(&[BATON, BY_AUTOSCALER]);

    workload(s, "replicas: 6").await;
    s.eventually(".spec.replicas", "6").await;
    s.expect_owner(".spec.replicas", BATON);
    let seen = watch.history().await.unwrap();
    assert_eq!(seen.values(), [3, 5, 6]);
}
