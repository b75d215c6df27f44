//! PodDisruptionBudgets.

use baton_apiserver::Actor;
use serde_json::json;

use crate::cluster::{Cluster, PODS, condition, pod};

#[tokio::test(start_paused = true)]
async fn a_budget_counts_its_pods_and_refuses_to_evict_too_many() {
    let cluster = Cluster::with([Actor::DisruptionBudgets, Actor::Pods]);
    let budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";
    let budget = json!({
        "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "web"},
        "spec": {"minAvailable": 1, "selector": {"matchExpressions": [{"key": "app", "operator": "Exists"}]}},
    });
    cluster.post(budgets, budget).await;
    cluster.post(PODS, pod("one", "1")).await;
    cluster.post(PODS, pod("two", "1")).await;
    cluster.settle().await;
    let budget = cluster.get(&format!("{budgets}/web")).await;
    let mut status = budget["status"].clone();
    status.as_object_mut().unwrap().remove("conditions");
    assert_eq!(
        status,
        json!({
            "currentHealthy": 2, "desiredHealthy": 1, "expectedPods": 2, "disruptionsAllowed": 1,
            "observedGeneration": 1,
        })
    );
    assert_eq!(condition(&budget, "DisruptionAllowed"), ["True", "SufficientPods", ""]);

    let eviction =
        |name: &str| json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}});
    cluster.post(&format!("{PODS}/one/eviction"), eviction("one")).await;
    // Before the budget is counted again.
    let refused = cluster.ask(http::Method::POST, &format!("{PODS}/two/eviction"), eviction("two")).await;
    let message = "Cannot evict pod as it would violate the pod's disruption budget.";
    assert_eq!(refused, Err((429, message.to_owned())));
}

#[tokio::test(start_paused = true)]
async fn a_pod_with_two_budgets_isnt_evicted() {
    let cluster = Cluster::with([Actor::DisruptionBudgets, Actor::Pods]);
    for name in ["one", "two"] {
        let budget = json!({
            "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": name},
            "spec": {"maxUnavailable": 1, "selector": {}},
        });
        cluster.post("/apis/policy/v1/namespaces/default/poddisruptionbudgets", budget).await;
    }
    cluster.post(PODS, pod("web", "1")).await;
    cluster.settle().await;
    let eviction = json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "web"}});
    let refused = cluster.ask(http::Method::POST, &format!("{PODS}/web/eviction"), eviction).await;
    let message =
        "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.";
    assert_eq!(refused, Err((500, message.to_owned())));
}
