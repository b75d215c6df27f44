//! Whether a pod may be evicted, as the disruption budgets that select it say. After `pkg/registry/core/pod/storage/eviction.go`.

use baton_merge::{Arena, value::Value};

use crate::{
    selector::LabelSelector,
    server::{Place, Server},
    status::Failure,
    store::Range,
};

/// Refuses an eviction that a budget doesn't allow.
pub(crate) fn check(server: &Server, pod: &Place) -> Result<(), Failure> {
    let record = server.store.get(&pod.resource.storage, &pod.key());
    let record = record.ok_or_else(|| Failure::not_found(&pod.resource, &pod.name))?;
    let arena = Arena::new();
    let object = Value::from_text(&arena, record.text()).map_err(Failure::internal)?;
    let labels = object.at(&["metadata", "labels"]).and_then(|labels| labels.as_map());
    let range = Range { namespace: Some(pod.namespace.clone()), ..Range::default() };
    let Ok(budgets) = server.store.list("poddisruptionbudgets.policy", &range) else { return Ok(()) };
    for (key, budget) in budgets.objects {
        let arena = Arena::new();
        let budget = Value::from_text(&arena, budget.text()).map_err(Failure::internal)?;
        let selects = budget.at(&["spec", "selector"]).is_some_and(|of| {
            LabelSelector::from_object(Some(of)).is_ok_and(|selector| selector.matches(labels))
        });
        let allowed = budget.at(&["status", "disruptionsAllowed"]);
        if selects && !matches!(allowed, Some(Value::Int(1..))) {
            let mut failure = Failure::new(
                429,
                "TooManyRequests",
                "Cannot evict pod as it would violate the pod's disruption budget.",
            );
            failure.details = Some(Box::new(serde_json::json!({"causes": [{
                "reason": "DisruptionBudget",
                "message": format!("The disruption budget {} does not allow it now", key.name),
            }]})));
            return Err(failure);
        }
    }
    Ok(())
}
