//! `manifests/` as an administrator installs it.

use baton_e2e::{apply, install_manifests, may, scenarios};
use baton_testbed::{Cluster, eventually};
use k8s_openapi::api::authorization::v1::ResourceAttributes;
use kube::api::PatchParams;
use serde_json::json;

scenarios! {
    users_who_may_view_or_edit_a_namespace_may_view_or_edit_its_workloads,
}

async fn users_who_may_view_or_edit_a_namespace_may_view_or_edit_its_workloads(cluster: Cluster) {
    install_manifests(&cluster).await.unwrap();
    let client = cluster.admin().await.unwrap();
    let namespace = cluster.namespace("roles").await.unwrap();
    for role in ["view", "edit"] {
        let binding = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
            "metadata": {"name": role, "namespace": namespace.name()},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": format!("{role}-only")}],
        });
        apply(&client, binding, &PatchParams::apply("administrator")).await.unwrap();
    }

    let may = async |user: &str, verb: &str, subresource: Option<&str>| {
        let what = ResourceAttributes {
            verb: Some(verb.to_owned()),
            group: Some("baton.rs".to_owned()),
            resource: Some("workloads".to_owned()),
            subresource: subresource.map(str::to_owned),
            namespace: Some(namespace.name().to_owned()),
            ..ResourceAttributes::default()
        };
        may(&client, user, what).await.unwrap()
    };
    eventually("the roles to be aggregated into the cluster's own", async || {
        let viewer = may("view-only", "watch", None).await;
        let editor = may("edit-only", "create", None).await;
        if viewer && editor { Ok(()) } else { Err((viewer, editor)) }
    })
    .await;
    for (verb, subresource) in [("patch", None), ("patch", Some("scale")), ("delete", None)] {
        assert!(may("edit-only", verb, subresource).await, "{verb} {subresource:?}");
        assert!(!may("view-only", verb, subresource).await, "{verb} {subresource:?}");
    }
    // Only Baton writes the status.
    assert!(!may("edit-only", "patch", Some("status")).await);
}
