//! Garbage collection.

use baton_apiserver::Actor;
use serde_json::{Value, json};

use crate::cluster::{CARTS, CONFIG_MAPS, Cluster, cart, config_map, owned_by, serve, with_carts};

/// A cluster in which one object owns another, and that a third.
async fn family() -> (Cluster, Value) {
    let cluster = Cluster::with([Actor::GarbageCollector]);
    let owner = cluster.post(CONFIG_MAPS, config_map("owner", &json!(null))).await;
    let child = cluster.post(CONFIG_MAPS, config_map("child", &owned_by(&owner))).await;
    cluster.post(CONFIG_MAPS, config_map("grandchild", &owned_by(&child))).await;
    cluster.settle().await;
    (cluster, owner)
}

async fn names(cluster: &Cluster) -> Vec<String> {
    let items = cluster.items(CONFIG_MAPS).await;
    items.iter().map(|item| item["metadata"]["name"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test(start_paused = true)]
async fn dependents_go_after_their_owner() {
    let (cluster, _) = family().await;
    assert_eq!(names(&cluster).await, ["child", "grandchild", "owner"]);
    cluster.delete(&format!("{CONFIG_MAPS}/owner"), json!(null)).await;
    cluster.settle().await;
    assert_eq!(names(&cluster).await, Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn in_the_foreground_an_owner_goes_after_its_dependents() {
    let (cluster, _) = family().await;
    let held = json!({"metadata": {"finalizers": ["example.com/held"]}});
    cluster.patch(&format!("{CONFIG_MAPS}/grandchild"), held).await;
    let options = json!({"propagationPolicy": "Foreground"});
    let response = cluster.delete(&format!("{CONFIG_MAPS}/owner"), options).await;
    assert_eq!(response["metadata"]["finalizers"], json!(["foregroundDeletion"]));
    cluster.settle().await;
    let child = cluster.get(&format!("{CONFIG_MAPS}/child")).await;
    assert_eq!(child["metadata"]["finalizers"], json!(["foregroundDeletion"]));
    assert!(child["metadata"]["deletionTimestamp"].is_string());
    cluster.patch(&format!("{CONFIG_MAPS}/grandchild"), json!({"metadata": {"finalizers": null}})).await;
    cluster.settle().await;
    assert_eq!(names(&cluster).await, Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn an_owner_can_leave_its_dependents_behind() {
    let (cluster, _) = family().await;
    cluster.delete(&format!("{CONFIG_MAPS}/owner"), json!({"propagationPolicy": "Orphan"})).await;
    cluster.settle().await;
    assert_eq!(names(&cluster).await, ["child", "grandchild"]);
    let child = cluster.get(&format!("{CONFIG_MAPS}/child")).await;
    assert_eq!(child["metadata"]["ownerReferences"], Value::Null);
}

#[tokio::test(start_paused = true)]
async fn an_object_stays_as_long_as_it_has_one_owner() {
    let (cluster, owner) = family().await;
    let mut owners = owned_by(&owner);
    let mut gone = owners[0].clone();
    gone["uid"] = "gone".into();
    gone["name"] = "gone".into();
    owners.as_array_mut().unwrap().push(gone.clone());
    cluster.post(CONFIG_MAPS, config_map("shared", &owners)).await;
    cluster.post(CONFIG_MAPS, config_map("lost", &json!([gone]))).await;
    cluster.settle().await;
    let shared = cluster.get(&format!("{CONFIG_MAPS}/shared")).await;
    assert_eq!(shared["metadata"]["ownerReferences"], owned_by(&owner));
    assert!(!cluster.is_there(&format!("{CONFIG_MAPS}/lost")).await);
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_the_preferred_version_lacks_owns_and_is_owned() {
    let cluster = with_carts(Actor::GarbageCollector).await;
    let owner = cluster.post(CARTS, cart("owner")).await;
    cluster.post(CONFIG_MAPS, config_map("child", &owned_by(&owner))).await;
    let mut gone = owned_by(&owner);
    gone[0]["uid"] = "gone".into();
    let mut orphan = cart("orphan");
    orphan["metadata"]["ownerReferences"] = gone;
    cluster.post(CARTS, orphan).await;
    cluster.settle().await;
    assert_eq!(names(&cluster).await, ["child"]);
    assert!(!cluster.is_there(&format!("{CARTS}/orphan")).await);
    cluster.delete(&format!("{CARTS}/owner"), json!(null)).await;
    cluster.settle().await;
    assert_eq!(names(&cluster).await, [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_dependent_goes_after_its_kind_got_another_version() {
    let cluster = Cluster::with([Actor::GarbageCollector]);
    let mut definition = serve(&cluster, "Cart", "v1alpha1").await;
    let owner = cluster.post(CONFIG_MAPS, config_map("owner", &json!(null))).await;
    let mut dependent = cart("dependent");
    dependent["metadata"]["ownerReferences"] = owned_by(&owner);
    cluster.post(CARTS, dependent).await;
    cluster.settle().await;
    let versions = definition["spec"]["versions"].as_array_mut().unwrap();
    let mut next = versions[0].clone();
    next["name"] = "v1".into();
    versions[0]["served"] = false.into();
    versions[0]["storage"] = false.into();
    versions.push(next);
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/carts.example.com";
    cluster.patch(path, json!({"spec": {"versions": versions}})).await;
    cluster.delete(&format!("{CONFIG_MAPS}/owner"), json!(null)).await;
    cluster.settle().await;
    assert!(!cluster.is_there("/apis/example.com/v1/namespaces/default/carts/dependent").await);
}
