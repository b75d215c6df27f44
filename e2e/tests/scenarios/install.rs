//! `manifests/` as an administrator installs it.

use baton_testbed::{ControlPlane, eventually};

#[tokio::test]
async fn who_may_view_or_edit_a_namespace_may_do_so_with_its_workloads() {
    let control_plane = ControlPlane::shared().await;
    let kubectl = async |line: &str| control_plane.kubectl(line.split(' ')).await.unwrap();
    let manifests = concat!(env!("CARGO_MANIFEST_DIR"), "/../manifests/crd");
    kubectl(&format!("apply --server-side -k {manifests}")).await.success().unwrap();
    let namespace = control_plane.namespace("roles").await.unwrap();
    for role in ["view", "edit"] {
        let line = format!(
            "create rolebinding {role} --clusterrole {role} --user {role}-only --namespace {namespace}"
        );
        kubectl(&line).await.success().unwrap();
    }

    let may = async |who: &str, verb: &str, what: &str| {
        let line = format!("auth can-i {verb} {what} --as {who} --namespace {namespace}");
        kubectl(&line).await.stdout.trim() == "yes"
    };
    eventually("the roles to be part of the cluster's own", async || {
        let viewer = may("view-only", "watch", "workloads.baton.rs").await;
        let editor = may("edit-only", "create", "workloads.baton.rs").await;
        if viewer && editor { Ok(()) } else { Err((viewer, editor)) }
    })
    .await;
    for (verb, what) in [
        ("patch", "workloads.baton.rs"),
        ("patch", "workloads.baton.rs --subresource scale"),
        ("delete", "workloads.baton.rs"),
    ] {
        assert!(may("edit-only", verb, what).await, "{verb} {what}");
        assert!(!may("view-only", verb, what).await, "{verb} {what}");
    }
    // What Baton says of a Workload is Baton's to say.
    assert!(!may("edit-only", "patch", "workloads.baton.rs --subresource status").await);
}
