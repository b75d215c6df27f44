//! The proposal: apply in the control plane, with field managers.

use baton_e2e::{
    scenario::{Subject, builtin},
    scenario_list,
};

use super::{WEB, wire};

scenario_list! {
    the_content_type_makes_a_patch_an_apply, other_patches_make_managers, scaling_an_unowned_replica_count_makes_no_owner,
    the_types_say_how_they_merge,
}

async fn the_content_type_makes_a_patch_an_apply(s: &mut Subject) {
    let intent =
        r#"{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "example"}, "data": {"a": "b"}}"#;
    let all = wire::config_maps(s);
    let uri = format!("{all}/example?fieldManager=pipeline");
    // Only an apply creates a missing object.
    let (merge, patch) = ("application/merge-patch+json", r#"{"data": {"a": "c"}}"#);
    assert_eq!(wire::send(s, "PATCH", &uri, merge, patch).await.unwrap_err().0, 404);
    wire::send(s, "PATCH", &uri, wire::APPLY, intent).await.unwrap();
    s.refresh().await;
    s.expect_owner(".data.a", "pipeline (Apply)");
    wire::send(s, "PATCH", &uri, merge, patch).await.unwrap();
    s.refresh().await;
    s.expect_owner(".data.a", "pipeline (Update)");
    for (method, uri) in [("PUT", &uri), ("POST", &all)] {
        let (code, message) = wire::send(s, method, uri, wire::APPLY, intent).await.unwrap_err();
        assert_eq!(code, 415, "{method}: {message}");
    }
}

async fn other_patches_make_managers(s: &mut Subject) {
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

async fn scaling_an_unowned_replica_count_makes_no_owner(s: &mut Subject) {
    s.of(builtin::DEPLOYMENT).await;
    s.apply_as("team", WEB).await;
    s.scale_as("autoscaler", 3).await;
    s.expect(".spec.replicas", "3");
    s.expect_no_owner(".spec.replicas");
    // A write to the object makes an owner, and then a write to the subresource does, too.
    s.merge_patch_as("console", "spec: {replicas: 4}").await;
    s.scale_as("autoscaler", 5).await;
    s.expect_owner(".spec.replicas", "autoscaler (Update scale)");
}

async fn the_types_say_how_they_merge(s: &mut Subject) {
    s.of(builtin::DEPLOYMENT).await;
    s.apply_as("alice", WEB).await;
    s.apply_as(
        "bob",
        "metadata: {finalizers: [example.com/bob]}\n\
         spec: {template: {spec: {containers: [{name: app, args: [x, z]}, {name: side, image: busybox:1}]}}}",
    )
    .await;
    let app = r#".spec.template.spec.containers[name="app"]"#;
    s.expect_owners(app, &["alice (Apply)", "bob (Apply)"]);
    s.expect_owner(&format!("{app}.args"), "bob (Apply)");
    s.expect_owner(r#".spec.template.spec.containers[name="side"].image"#, "bob (Apply)");
    s.expect_owner(r#".metadata.finalizers[="example.com/bob"]"#, "bob (Apply)");
    s.expect_owner(".spec.selector", "alice (Apply)");
}
