//! What was proposed, in short: apply in the control plane, by managers of fields.

use baton_e2e::{
    plays,
    scenario::{Scene, builtin, user_agent},
};
use baton_testbed::Json;

use super::{WEB, wire};

plays! {
    the_server_merges, the_content_type_makes_a_patch_an_apply, managers_instead_of_an_annotation,
    who_applies_says_who_it_is, a_post_makes_a_manager, a_put_makes_a_manager,
    other_patches_make_managers, whoever_scales_becomes_a_manager, who_scales_what_nobody_owns,
    the_types_say_how_they_merge, directives_are_mended, every_write_can_be_tried,
    kubectl_old_and_new_take_turns,
}

async fn the_server_merges(s: &mut Scene) {
    s.create_as("console", "data: {colour: red}").await;
    s.apply_as("pipeline", "data: {greeting: hello}").await;
    s.expect(".data", "{colour: red, greeting: hello}");
    s.apply_as("pipeline", "data: {}").await;
    s.expect(".data", "{colour: red}");
}

async fn the_content_type_makes_a_patch_an_apply(s: &mut Scene) {
    let intent =
        r#"{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "example"}, "data": {"a": "b"}}"#;
    let all = wire::config_maps(s);
    let uri = format!("{all}/example?fieldManager=pipeline");
    // Only an apply creates what isn't there.
    let (merge, patch) = ("application/merge-patch+json", r#"{"data": {"a": "c"}}"#);
    assert_eq!(wire::send(s, "PATCH", &uri, merge, patch).await.unwrap_err().0, 404);
    wire::send(s, "PATCH", &uri, wire::APPLY, intent).await.unwrap();
    s.look().await;
    s.expect_owner(".data.a", "pipeline (Apply)");
    wire::send(s, "PATCH", &uri, merge, patch).await.unwrap();
    s.look().await;
    s.expect_owner(".data.a", "pipeline (Update)");
    for (method, uri) in [("PUT", &uri), ("POST", &all)] {
        let (code, message) = wire::send(s, method, uri, wire::APPLY, intent).await.unwrap_err();
        assert_eq!(code, 415, "{method}: {message}");
    }
}

async fn managers_instead_of_an_annotation(s: &mut Scene) {
    s.of(builtin::DEPLOYMENT).await;
    s.kubectl("apply --server-side -f -").reading(WEB).await;
    s.expect_absent(".metadata.annotations");
    let app = r#".spec.template.spec.containers[name="app"]"#;
    s.expect_fields(
        "kubectl (Apply)",
        &[
            ".spec.selector",
            ".spec.template.metadata.labels.app",
            app,
            &format!("{app}.name"),
            &format!("{app}.image"),
        ],
    );
}

async fn who_applies_says_who_it_is(s: &mut Scene) {
    s.apply_as(user_agent("curl/8.0"), "data: {a: b}")
        .is_refused(422, "fieldManager: Required value: is required for apply patch")
        .await;
    s.apply_as("pipeline", "data: {a: b}").creates().await;
    s.expect_managers(&["pipeline (Apply)"]);
}

async fn a_post_makes_a_manager(s: &mut Scene) {
    s.create_as("controller", "metadata: {labels: {a: b}}\ndata: {x: y}").await;
    s.expect_fields("controller (Update)", &[".metadata.labels", ".metadata.labels.a", ".data", ".data.x"]);
}

async fn a_put_makes_a_manager(s: &mut Scene) {
    s.apply_as("pipeline", "data: {a: '1', b: '2'}").await;
    s.update_as("controller", "data: {a: changed, c: new}").await;
    s.expect_fields("controller (Update)", &[".data.a", ".data.c"]);
    s.expect_fields("pipeline (Apply)", &[".data.b"]);
}

async fn other_patches_make_managers(s: &mut Scene) {
    s.apply_as("pipeline", "data: {a: '1', b: '2', c: '3', d: '4'}").await;
    s.merge_patch_as("merge", "data: {a: changed, d: '4'}").await;
    s.strategic_patch_as("strategic", "data: {b: changed, d: '4'}").await;
    s.json_patch_as(
        "json",
        "[{op: replace, path: /data/c, value: changed}, {op: test, path: /data/d, value: '4'}]",
    )
    .await;
    s.expect_fields("merge (Update)", &[".data.a"]);
    s.expect_fields("strategic (Update)", &[".data.b"]);
    s.expect_fields("json (Update)", &[".data.c"]);
    s.expect_fields("pipeline (Apply)", &[".data.d"]);
}

async fn whoever_scales_becomes_a_manager(s: &mut Scene) {
    s.of(builtin::DEPLOYMENT).await;
    s.apply_as("team", &WEB.replace("spec: {sel", "spec: {replicas: 1, sel")).await;
    s.scale_as("autoscaler", 3).await;
    s.expect_owner(".spec.replicas", "autoscaler (Update scale)");
    s.status_as("controller", "status: {replicas: 3}").await;
    s.expect_owner(".status.replicas", "controller (Update status)");
}

async fn who_scales_what_nobody_owns(s: &mut Scene) {
    s.of(builtin::DEPLOYMENT).await;
    s.apply_as("team", WEB).await;
    s.scale_as("autoscaler", 3).await;
    s.expect(".spec.replicas", "3");
    s.expect_no_owner(".spec.replicas");
    // By the object itself it is otherwise, and from then on by the subresource as well.
    s.merge_patch_as("console", "spec: {replicas: 4}").await;
    s.scale_as("autoscaler", 5).await;
    s.expect_owner(".spec.replicas", "autoscaler (Update scale)");
}

async fn the_types_say_how_they_merge(s: &mut Scene) {
    s.of(builtin::DEPLOYMENT).await;
    s.apply_as("alice", WEB).await;
    s.apply_as(
        "bob",
        "metadata: {finalizers: [example.com/bob]}\n\
         spec: {template: {spec: {containers: [{name: app, args: [x, y]}, {name: side, image: busybox:1}]}}}",
    )
    .await;
    let app = r#".spec.template.spec.containers[name="app"]"#;
    s.expect_owners(app, &["alice (Apply)", "bob (Apply)"]);
    s.expect_owner(&format!("{app}.args"), "bob (Apply)");
    s.expect_owner(r#".spec.template.spec.containers[name="side"].image"#, "bob (Apply)");
    s.expect_owner(r#".metadata.finalizers[="example.com/bob"]"#, "bob (Apply)");
    s.expect_owner(".spec.selector", "alice (Apply)");
}

async fn directives_are_mended(s: &mut Scene) {
    s.of(builtin::SERVICE).await;
    s.apply_as("alice", "spec: {selector: {app: dns}, ports: [{name: tcp, port: 53, protocol: TCP}]}").await;
    s.apply_as("bob", "spec: {ports: [{name: udp, port: 53, protocol: UDP}]}").await;
    s.expect_owner(r#".spec.ports[port=53,protocol="TCP"].name"#, "alice (Apply)");
    s.expect_owner(r#".spec.ports[port=53,protocol="UDP"].name"#, "bob (Apply)");
    s.expect(".spec.ports[1].name", "udp");
}

async fn every_write_can_be_tried(s: &mut Scene) {
    s.create_as("console", "data: {a: '1'}").dry_run().creates().await;
    s.expect_absent("");
    s.apply_as("pipeline", "data: {a: '1'}").await;
    let tried = [
        s.apply_as("pipeline", "data: {a: '2'}").dry_run().await,
        s.update_as("console", "data: {a: '2'}").dry_run().await,
        s.merge_patch_as("console", "data: {a: '2'}").dry_run().await,
        s.strategic_patch_as("console", "data: {a: '2'}").dry_run().await,
        s.json_patch_as("console", "[{op: replace, path: /data/a, value: '2'}]").dry_run().await,
    ];
    for answer in tried {
        assert_eq!(answer.at(".data.a").and_then(Json::as_str), Some("2"));
    }
    s.expect(".data.a", "'1'");
    s.expect_managers(&["pipeline (Apply)"]);
}

async fn kubectl_old_and_new_take_turns(s: &mut Scene) {
    let last = ".metadata.annotations.kubectl.kubernetes.io/last-applied-configuration";
    s.kubectl("apply -f -").reading("data: {a: '1', b: '2', c: '3'}").await;
    s.kubectl("apply --server-side -f -").reading("data: {a: '1', b: '2'}").await;
    s.expect_absent(".data.c");
    s.expect_managers(&["kubectl-last-applied (Apply)", "kubectl (Apply)"]);
    // What the older one goes by is brought up to date by the server.
    assert!(!s.at(last).unwrap().to_string().contains('3'));
    s.kubectl("apply -f -").reading("data: {a: '1'}").await;
    s.expect(".data", "{a: '1'}");
}
