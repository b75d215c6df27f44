//! `manifests/` as an administrator installs it.

use baton_e2e::{apply, install_manifests, may, scenarios};
use baton_testbed::{Cluster, eventually};
use k8s_openapi::api::authorization::v1::ResourceAttributes;
use kube::api::PatchParams;
use serde_json::json;

scenarios! {
    who_may_view_or_edit_a_namespace_may_do_so_with_its_workloads,
}

async fn who_may_view_or_edit_a_namespace_may_do_so_with_its_workloads(cluster: Cluster) {
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

    let may = async |who: &str, verb: &str, subresource: Option<&str>| {
        let what = ResourceAttributes {
            verb: Some(verb.to_owned()),
            group: Some("baton.rs".to_owned()),
            resource: Some("workloads".to_owned()),
            subresource: subresource.map(str::to_owned),
            namespace: Some(namespace.name().to_owned()),
            ..ResourceAttributes::default()
        };
        may(&client, who, what).await.unwrap()
    };
    eventually("the roles to be part of the cluster's own", async || {
        let viewer = may("view-only", "watch", None).await;
        let editor = may("edit-only", "create", None).await;
        if viewer && editor { Ok(()) } else { Err((viewer, editor)) }
    })
    .await;
    for (verb, subresource) in [("patch", None), ("patch", Some("scale")), ("delete", None)] {
        assert!(may("edit-only", verb, subresource).await, "{verb} {subresource:?}");
        assert!(!may("view-only", verb, subresource).await, "{verb} {subresource:?}");
    }
    // What Baton says of a Workload is Baton's to say.
    assert!(!may("edit-only", "patch", Some("status")).await);
}
