//! What applying is, what it is on the server's side, and what a cluster needs for it.

use baton_e2e::{
    plays,
    scenario::{Promise, Scene, Section},
};

use crate::LAST_APPLIED;

use super::{IMAGE, last_sent, nginx, of_nginx};

pub const INTRODUCTION: Section = Section {
    document: super::DOCUMENT,
    title: "Introduction (はじめに)",
    promises: &[Promise::new(
        "Server-side apply is alpha, and a feature gate of the API server has to allow it.",
        plays![the_server_has_no_gate_for_it],
    )
    .but("It is stable. There is no such feature gate any more, and a server that is told nothing does it.")],
};

pub const APPLY: Section = Section {
    document: super::DOCUMENT,
    title: "What apply is (適用 (Apply) とはなにか)",
    promises: &[
        Promise::new(
            "Objects are managed by commands, which create, replace and delete, or by declaring them with kubectl apply.",
            plays![commands_say_what_to_do, apply_says_what_there_shall_be],
        ),
        Promise::new(
            "kubectl apply creates what isn't there, and brings the differences to what is.",
            plays![apply_says_what_there_shall_be],
        ),
        Promise::new(
            "An object has fields that Kubernetes itself manages. Who replaces the object loses them, who applies to it doesn't.",
            plays![a_replacement_loses_what_others_manage],
        ),
        Promise::new(
            "The difference is taken from what was applied before, not from the object alone, in which Kubernetes has changed \
             fields.",
            plays![what_was_applied_before_tells_what_goes],
        ),
        Promise::new(
            "Client-side apply keeps what was applied in the annotation kubectl.kubernetes.io/last-applied-configuration.",
            plays![the_annotation_holds_what_was_applied],
        ),
        Promise::new(
            "kubectl apply view-last-applied prints that annotation.",
            plays![the_annotation_holds_what_was_applied],
        ),
        Promise::new(
            "Client-side apply reads the object, if there is one, and sends the difference as a patch.",
            plays![client_side_apply_reads_and_sends_a_difference],
        ),
        Promise::new(
            "That patch is a strategic merge patch.",
            plays![client_side_apply_reads_and_sends_a_difference],
        ),
    ],
};

pub const SERVER_SIDE: Section = Section {
    document: super::DOCUMENT,
    title: "What server-side apply is (Server-side Apply (SSA) とはなにか)",
    promises: &[
        Promise::new(
            "The client computes the difference in client-side apply, and the server in server-side apply.",
            plays![client_side_apply_reads_and_sends_a_difference, server_side_apply_sends_the_whole_intent],
        ),
        Promise::new(
            "Five things that go wrong with client-side apply are solved by server-side apply: apply after POST, after an edit, \
             of what was read, after a change of annotations, and by two people.",
            &[],
        )
        .and_tests(&[
            "e2e/tests/scenarios/surprises.rs::a_workload_that_was_posted_and_is_then_applied",
            "e2e/tests/scenarios/surprises.rs::a_deployment_that_is_edited_between_two_applies",
            "e2e/tests/scenarios/surprises.rs::a_deployment_that_was_read_edited_and_applied",
            "e2e/tests/scenarios/surprises.rs::annotations_that_were_tweaked_before_an_apply",
            "e2e/tests/scenarios/surprises.rs::alice_applies_something_and_bob_applies_something",
        ]),
    ],
};

pub const SETUP: Section = Section {
    document: super::DOCUMENT,
    title: "A cluster for it (SSA が利用できるクラスタの準備)",
    promises: &[Promise::new(
        "A cluster for server-side apply is started with ServerSideApply=true among its feature gates.",
        plays![the_server_has_no_gate_for_it],
    )
    .but("The gate is gone: nothing has to be prepared.")],
};

async fn the_server_has_no_gate_for_it(s: &mut Scene) {
    of_nginx(s).await;
    s.apply_as("kubectl", &nginx("nginx")).creates().await;
    let metrics = s.kubectl("get --raw /metrics").says("kubernetes_feature_enabled{").await;
    assert!(!metrics.stdout.contains(r#"name="ServerSideApply""#), "there is still a gate");
}

async fn commands_say_what_to_do(s: &mut Scene) {
    of_nginx(s).await;
    s.kubectl("create -f -").reading(&nginx("nginx")).asks(&["create"]).await;
    s.kubectl("create -f -").reading(&nginx("nginx:1.15")).fails("(AlreadyExists)").await;
    s.kubectl("replace -f -").reading(&nginx("nginx:1.15")).says("replaced").await;
    s.expect(IMAGE, "nginx:1.15");
    s.kubectl("delete deployment nginx --cascade=background").await;
    s.expect_absent("");
    s.kubectl("replace -f -").reading(&nginx("nginx:1.15")).fails("(NotFound)").await;
}

async fn apply_says_what_there_shall_be(s: &mut Scene) {
    of_nginx(s).await;
    s.kubectl("apply -f -").reading(&nginx("nginx")).says("created").await;
    s.kubectl("apply -f -").reading(&nginx("nginx:1.15")).says("configured").await;
    s.expect(IMAGE, "nginx:1.15");
    s.kubectl("apply -f -").reading(&nginx("nginx:1.15")).says("unchanged").await;
    s.kubectl("delete deployment nginx").await;
    s.kubectl("apply -f -").reading(&nginx("nginx:1.15")).says("created").await;
}

async fn a_replacement_loses_what_others_manage(s: &mut Scene) {
    of_nginx(s).await;
    s.kubectl("apply -f -").reading(&nginx("nginx")).await;
    let revision = "metadata: {annotations: {deployment.kubernetes.io/revision: '1'}}";
    s.merge_patch_as("kube-controller-manager", revision).await;
    s.kubectl("apply -f -").reading(&nginx("nginx:1.15")).await;
    s.expect(".metadata.annotations.deployment.kubernetes.io/revision", "'1'");
    s.kubectl("replace -f -").reading(&nginx("nginx:1.15")).await;
    s.expect_absent(".metadata.annotations");
}

async fn what_was_applied_before_tells_what_goes(s: &mut Scene) {
    s.kubectl("apply -f -").reading("data: {applied: '1', dropped: '1'}").await;
    s.merge_patch_as("kube-controller-manager", "data: {others: '1'}").await;
    s.kubectl("apply -f -").reading("data: {applied: '1'}").await;
    // Neither of them is in the manifest. Only one was.
    s.expect(".data", "{applied: '1', others: '1'}");
}

async fn the_annotation_holds_what_was_applied(s: &mut Scene) {
    of_nginx(s).await;
    s.kubectl("apply -f -").reading(&nginx("nginx")).await;
    let annotation: serde_json::Value = serde_json::from_str(s.text(LAST_APPLIED)).unwrap();
    assert_eq!(annotation["kind"], "Deployment");
    let containers = &annotation["spec"]["template"]["spec"]["containers"];
    assert_eq!(*containers, serde_json::json!([{"image": "nginx", "name": "nginx"}]));
    // What the server fills in was never applied.
    s.expect(".spec.replicas", "1");
    assert_eq!(annotation["spec"].get("replicas"), None);
    let shown = s.kubectl("apply view-last-applied deployment/nginx -o json").asks(&["get"]).await;
    assert_eq!(serde_json::from_str::<serde_json::Value>(&shown.stdout).unwrap(), annotation);
}

async fn client_side_apply_reads_and_sends_a_difference(s: &mut Scene) {
    of_nginx(s).await;
    s.kubectl("apply -f -").reading(&nginx("nginx")).asks(&["get", "create"]).await;
    s.kubectl("apply -f -").reading(&nginx("nginx:1.15")).asks(&["get", "patch"]).await;
    let sent = last_sent(s);
    let pods = sent.at(&["spec", "template", "spec"]).unwrap();
    // Such a directive means something in strategic merge patches alone.
    assert!(pods.get("$setElementOrder/containers").is_some(), "{sent}");
    assert_eq!(pods.get("containers").unwrap().to_string(), r#"[{"image":"nginx:1.15","name":"nginx"}]"#);
    for unchanged in [&["kind"][..], &["spec", "selector"], &["spec", "template", "metadata"]] {
        assert!(sent.at(unchanged).is_none(), "{sent}");
    }
    // Without a difference there is nothing to send.
    s.kubectl("apply -f -").reading(&nginx("nginx:1.15")).asks(&["get"]).await;
}

async fn server_side_apply_sends_the_whole_intent(s: &mut Scene) {
    of_nginx(s).await;
    s.kubectl("apply --server-side -f -").reading(&nginx("nginx")).await;
    for image in ["nginx:1.15", "nginx:1.15"] {
        s.kubectl("apply --server-side -f -").reading(&nginx(image)).asks(&["patch"]).await;
        for told in [&["kind"][..], &["spec", "selector"], &["spec", "template", "spec", "containers"]] {
            assert!(last_sent(s).at(told).is_some(), "{}", last_sent(s));
        }
    }
    s.expect(IMAGE, "nginx:1.15");
}
