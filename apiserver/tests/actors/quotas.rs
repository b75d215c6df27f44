//! ResourceQuotas.

use baton_apiserver::Actor;
use http::Method;
use serde_json::json;

use crate::cluster::{CARTS, CONFIG_MAPS, Cluster, PODS, cart, config_map, pod, with_carts};

const QUOTAS: &str = "/api/v1/namespaces/default/resourcequotas";

#[tokio::test(start_paused = true)]
async fn what_a_quota_has_no_room_for_is_refused() {
    let cluster = Cluster::with([Actor::Quotas]);
    let quota = json!({
        "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"},
        "spec": {"hard": {"pods": "2", "requests.cpu": "1", "count/configmaps": "1"}},
    });
    cluster.post(QUOTAS, quota).await;
    cluster.post(PODS, pod("one", "250m")).await;
    cluster.post(CONFIG_MAPS, config_map("one", &json!(null))).await;
    cluster.settle().await;
    let quota = cluster.get(&format!("{QUOTAS}/q")).await;
    assert_eq!(
        quota["status"]["used"],
        json!({"pods": "1", "requests.cpu": "250m", "count/configmaps": "1"})
    );
    assert_eq!(quota["status"]["hard"], quota["spec"]["hard"]);

    let refused = |name: &str, why: &str| Err((403, format!("{name} is forbidden: {why}")));
    let cases = [
        (
            PODS,
            pod("two", "800m"),
            refused(
                "pods \"two\"",
                "exceeded quota: q, requested: requests.cpu=800m, used: requests.cpu=250m, limited: requests.cpu=1",
            ),
        ),
        (
            CONFIG_MAPS,
            config_map("two", &json!(null)),
            refused(
                "configmaps \"two\"",
                "exceeded quota: q, requested: count/configmaps=1, used: count/configmaps=1, limited: count/configmaps=1",
            ),
        ),
        (
            PODS,
            json!({
                "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "two"},
                "spec": {"containers": [{"name": "app", "image": "app:1"}]},
            }),
            refused("pods \"two\"", "failed quota: q: must specify requests.cpu for: app"),
        ),
    ];
    for (path, object, expected) in cases {
        assert_eq!(cluster.ask(Method::POST, path, object).await, expected);
    }
}

#[tokio::test(start_paused = true)]
async fn a_quota_counts_a_kind_that_the_preferred_version_lacks() {
    let cluster = with_carts(Actor::Quotas).await;
    let quota = json!({
        "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"},
        "spec": {"hard": {"count/carts.example.com": "1"}},
    });
    cluster.post(QUOTAS, quota).await;
    cluster.post(CARTS, cart("one")).await;
    cluster.settle().await;
    let quota = cluster.get(&format!("{QUOTAS}/q")).await;
    assert_eq!(quota["status"]["used"], json!({"count/carts.example.com": "1"}));
    assert_eq!(cluster.ask(Method::POST, CARTS, cart("two")).await.unwrap_err().0, 403);
}

#[tokio::test(start_paused = true)]
async fn quotas_of_affinity_and_of_classes_of_volumes_match() {
    let cluster = Cluster::with([Actor::Quotas]);
    let quota = |name: &str, hard: &str, selector: serde_json::Value| {
        json!({
            "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": name},
            "spec": {"hard": {hard: "0"}, "scopeSelector": {"matchExpressions": [selector]}},
        })
    };
    let affine = json!({"scopeName": "CrossNamespacePodAffinity", "operator": "Exists"});
    cluster.post(QUOTAS, quota("affine", "pods", affine)).await;
    let gold = json!({"scopeName": "VolumeAttributesClass", "operator": "In", "values": ["gold"]});
    cluster.post(QUOTAS, quota("gold", "persistentvolumeclaims", gold)).await;
    cluster.settle().await;
    for (kind, field) in
        [("podAffinity", "namespaces"), ("podAntiAffinity", "namespaceSelector"), ("podAffinity", "")]
    {
        let mut term = json!({"topologyKey": "zone", "labelSelector": {}});
        let mut expected = 201;
        if !field.is_empty() {
            term[field] = if field == "namespaces" { json!(["other"]) } else { json!({}) };
            expected = 403;
        }
        let mut pod = pod(&format!("a{}", field.len()), "1m");
        pod["spec"]["affinity"] = json!({kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}});
        let code = cluster.ask(Method::POST, PODS, pod).await.err().map_or(201, |(code, _)| code);
        assert_eq!(code, expected, "{kind} {field}");
    }
    for (class, expected) in [("gold", 403), ("silver", 201)] {
        let claim = json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": class},
            "spec": {
                "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}},
                "volumeAttributesClassName": class,
            },
        });
        let path = "/api/v1/namespaces/default/persistentvolumeclaims";
        let code = cluster.ask(Method::POST, path, claim).await.err().map_or(201, |(code, _)| code);
        assert_eq!(code, expected, "{class}");
    }
}
