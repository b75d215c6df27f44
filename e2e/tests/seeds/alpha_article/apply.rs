//! Client-side and server-side apply, and the requirements on a cluster.

use baton_e2e::{scenario::Subject, scenario_list};

use crate::LAST_APPLIED;

use super::{IMAGE, last_sent, nginx, of_nginx};

scenario_list! {
    only real, because "of kubectl":
    the_server_has_no_feature_gate, commands_create_replace_and_delete, apply_declares_the_wanted_object,
    a_replacement_loses_what_others_manage, what_was_applied_before_decides_what_is_removed,
    the_annotation_holds_what_was_applied, client_side_apply_reads_and_sends_a_difference;
}

async fn the_server_has_no_feature_gate(s: &mut Subject) {
    of_nginx(s).await;
    s.apply_as("kubectl", &nginx("nginx")).creates().await;
    let metrics = s.kubectl("get --raw /metrics").prints("kubernetes_feature_enabled{").await;
    assert!(!metrics.stdout.contains(r#"name="ServerSideApply""#), "the gate still exists");
}

async fn commands_create_replace_and_delete(s: &mut Subject) {
    of_nginx(s).await;
    s.kubectl("create -f -").reading(&nginx("nginx")).sends(&["create"]).await;
    s.kubectl("create -f -").reading(&nginx("nginx:1.15")).fails("(AlreadyExists)").await;
    s.kubectl("replace -f -").reading(&nginx("nginx:1.15")).prints("replaced").await;
    s.expect(IMAGE, "nginx:1.15");
    s.kubectl("delete deployment nginx --cascade=background").await;
    s.expect_absent("");
    s.kubectl("replace -f -").reading(&nginx("nginx:1.15")).fails("(NotFound)").await;
}

async fn apply_declares_the_wanted_object(s: &mut Subject) {
    of_nginx(s).await;
    s.kubectl("apply -f -").reading(&nginx("nginx")).prints("created").await;
    s.kubectl("apply -f -").reading(&nginx("nginx:1.15")).prints("configured").await;
    s.expect(IMAGE, "nginx:1.15");
    s.kubectl("apply -f -").reading(&nginx("nginx:1.15")).prints("unchanged").await;
    s.kubectl("delete deployment nginx").await;
    s.kubectl("apply -f -").reading(&nginx("nginx:1.15")).prints("created").await;
}

async fn a_replacement_loses_what_others_manage(s: &mut Subject) {
    of_nginx(s).await;
    s.kubectl("apply -f -").reading(&nginx("nginx")).await;
    let revision = "metadata: {annotations: {deployment.kubernetes.io/revision: '1'}}";
    s.merge_patch_as("kube-controller-manager", revision).await;
    s.kubectl("apply -f -").reading(&nginx("nginx:1.15")).await;
    s.expect(".metadata.annotations.deployment.kubernetes.io/revision", "'1'");
    s.kubectl("replace -f -").reading(&nginx("nginx:1.15")).await;
    s.expect_absent(".metadata.annotations");
}

async fn what_was_applied_before_decides_what_is_removed(s: &mut Subject) {
    s.kubectl("apply -f -").reading("data: {applied: '1', dropped: '1'}").await;
    s.merge_patch_as("kube-controller-manager", "data: {others: '1'}").await;
    s.kubectl("apply -f -").reading("data: {applied: '1'}").await;
    // The manifest has neither `dropped` nor `others`, but it had `dropped` before.
    s.expect(".data", "{applied: '1', others: '1'}");
}

async fn the_annotation_holds_what_was_applied(s: &mut Subject) {
    of_nginx(s).await;
    s.kubectl("apply -f -").reading(&nginx("nginx")).await;
    let annotation: serde_json::Value = serde_json::from_str(s.text(LAST_APPLIED)).unwrap();
    assert_eq!(annotation["kind"], "Deployment");
    let containers = &annotation["spec"]["template"]["spec"]["containers"];
    assert_eq!(*containers, serde_json::json!([{"image": "nginx", "name": "nginx"}]));
    // A default of the server was never applied.
    s.expect(".spec.replicas", "1");
    assert_eq!(annotation["spec"].get("replicas"), None);
    let shown = s.kubectl("apply view-last-applied deployment/nginx -o json").sends(&["get"]).await;
    assert_eq!(serde_json::from_str::<serde_json::Value>(&shown.stdout).unwrap(), annotation);
}

async fn client_side_apply_reads_and_sends_a_difference(s: &mut Subject) {
    of_nginx(s).await;
    s.kubectl("apply -f -").reading(&nginx("nginx")).sends(&["get", "create"]).await;
    s.kubectl("apply -f -").reading(&nginx("nginx:1.15")).sends(&["get", "patch"]).await;
    let sent = last_sent(s);
    let pods = sent.at(&["spec", "template", "spec"]).unwrap();
    // Only strategic merge patches have such a directive.
    assert!(pods.get("$setElementOrder/containers").is_some(), "{sent}");
    assert_eq!(pods.get("containers").unwrap().to_string(), r#"[{"image":"nginx:1.15","name":"nginx"}]"#);
    for unchanged in [&["kind"][..], &["spec", "selector"], &["spec", "template", "metadata"]] {
        assert!(sent.at(unchanged).is_none(), "{sent}");
    }
    // Without a difference, kubectl sends nothing.
    s.kubectl("apply -f -").reading(&nginx("nginx:1.15")).sends(&["get"]).await;
}
