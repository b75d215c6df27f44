//! Deletion of namespaces.

use baton_apiserver::Actor;
use serde_json::json;

use crate::cluster::{Cluster, cart, condition, config_map, with_carts};

#[tokio::test(start_paused = true)]
async fn a_namespace_goes_with_all_that_is_in_it() {
    let cluster = Cluster::with([Actor::Namespaces]);
    let space = cluster
        .post(
            "/api/v1/namespaces",
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}}),
        )
        .await;
    assert_eq!(space["spec"]["finalizers"], json!(["kubernetes"]));
    let inside = "/api/v1/namespaces/team/configmaps";
    let mut held = config_map("held", &json!(null));
    held["metadata"]["finalizers"] = json!(["example.com/held"]);
    cluster.post(inside, held).await;
    cluster.post(inside, config_map("free", &json!(null))).await;
    cluster.delete("/api/v1/namespaces/team", json!(null)).await;
    cluster.settle().await;

    assert!(!cluster.is_there(&format!("{inside}/free")).await);
    let space = cluster.get("/api/v1/namespaces/team").await;
    assert_eq!(space["status"]["phase"], "Terminating");
    assert_eq!(
        condition(&space, "NamespaceContentRemaining"),
        ["True", "SomeResourcesRemain", "Some resources are remaining: configmaps. has 1 resource instances"]
    );
    assert_eq!(
        condition(&space, "NamespaceFinalizersRemaining"),
        [
            "True",
            "SomeFinalizersRemain",
            "Some content in the namespace has finalizers remaining: example.com/held in 1 resource instances"
        ]
    );
    assert_eq!(
        condition(&space, "NamespaceDeletionDiscoveryFailure"),
        ["False", "ResourcesDiscovered", "All resources successfully discovered"]
    );

    cluster.patch(&format!("{inside}/held"), json!({"metadata": {"finalizers": null}})).await;
    cluster.settle().await;
    assert!(!cluster.is_there("/api/v1/namespaces/team").await);
}

#[tokio::test(start_paused = true)]
async fn a_namespace_takes_along_a_kind_that_the_preferred_version_lacks() {
    let cluster = with_carts(Actor::Namespaces).await;
    let space = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}});
    cluster.post("/api/v1/namespaces", space).await;
    let inside = "/apis/example.com/v1alpha1/namespaces/team/carts";
    cluster.post(inside, cart("a")).await;
    cluster.delete("/api/v1/namespaces/team", json!(null)).await;
    cluster.settle().await;
    assert!(!cluster.is_there(&format!("{inside}/a")).await);
    assert!(!cluster.is_there("/api/v1/namespaces/team").await);
}
