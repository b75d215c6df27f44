//! PodDisruptionBudgets: how many of their pods are healthy, and how many may be evicted. After `pkg/controller/disruption`.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};

use super::{
    Controller, Pass,
    client::resource_of,
    object::{
        controller, int, is_deleted, is_ready, items, name, namespace, scaled, selects, set_condition, text,
    },
    view::Object,
};
use crate::scale;

pub(super) struct DisruptionBudgets;

/// How long an evicted pod that isn't deleted yet counts as disrupted.
const DELETION: SignedDuration = SignedDuration::from_secs(120);

impl Controller for DisruptionBudgets {
    fn act(&mut self, pass: &mut Pass<'_>) {
        let pods = pass.list("", "pods");
        for budget in pass.list("policy", "poddisruptionbudgets") {
            let selector = budget.pointer("/spec/selector");
            let is_own = |pod: &&Object| {
                namespace(pod) == namespace(&budget) && selects(selector, pod.pointer("/metadata/labels"))
            };
            let own: Vec<_> = pods.iter().filter(is_own).cloned().collect();
            let status = match expected(pass, &budget, &own) {
                Ok(counts) => status(pass, &budget, &own, counts),
                Err(message) => failed(pass, &budget, &message),
            };
            if budget["status"] != status {
                let mut updated = (*budget).clone();
                updated["status"] = status;
                if pass.update(&updated, "status").is_err() {
                    pass.retry();
                }
            }
        }
    }
}

/// The expected pods, and the healthy ones among them that the budget wants.
fn expected(pass: &mut Pass<'_>, budget: &Value, pods: &[Object]) -> Result<(i64, i64), String> {
    let unavailable = budget.pointer("/spec/maxUnavailable").filter(|value| !value.is_null());
    let available = budget.pointer("/spec/minAvailable").filter(|value| !value.is_null());
    match (unavailable, available) {
        (Some(_), _) => {
            let count = scale_of_all(pass, pods)?;
            Ok((count, (count - scaled(unavailable, count, true)).max(0)))
        }
        (None, Some(Value::String(_))) => {
            let count = scale_of_all(pass, pods)?;
            Ok((count, scaled(available, count, true)))
        }
        (None, Some(number)) => {
            Ok((i64::try_from(pods.len()).unwrap_or(i64::MAX), number.as_i64().unwrap_or_default()))
        }
        (None, None) => Ok((0, 0)),
    }
}

/// The sum of replicas that the controllers of these pods want.
fn scale_of_all(pass: &mut Pass<'_>, pods: &[Object]) -> Result<i64, String> {
    let mut scales: BTreeMap<&str, i64> = BTreeMap::new();
    for pod in pods {
        let Some(owner) = controller(pod) else { continue };
        if !scales.contains_key(text(owner, "/uid")) {
            let count = scale_of(pass, owner, namespace(pod));
            let count = count.ok_or_else(|| format!("found no controllers for pod {:?}", name(pod)))?;
            scales.insert(text(owner, "/uid"), count);
        }
    }
    Ok(scales.values().sum())
}

/// The replicas of a scalable owner, or of the ReplicaSet's own owner.
fn scale_of(pass: &mut Pass<'_>, reference: &Value, space: &str) -> Option<i64> {
    let mut reference = reference.clone();
    let mut found = None;
    // Pod, ReplicaSet, Deployment: two steps at most.
    for _ in 0..2 {
        let registry = pass.server.registry();
        let resource = resource_of(&registry, &reference)?.clone();
        resource.subresource("scale")?;
        let is_meant = |object: &Object| {
            namespace(object) == space && text(object, "/metadata/uid") == text(&reference, "/uid")
        };
        let Some(owner) = pass.all(&resource).into_iter().find(is_meant) else { break };
        let arena = baton_merge::Arena::new();
        let owner_text = arena.copy_text(&owner.to_string());
        let value = baton_merge::value::Value::from_text(&arena, owner_text).ok()?;
        found = Some(int(&scale::of(&resource, value).ok()?, "/spec/replicas"));
        match controller(&owner) {
            Some(next) if resource.is("apps", "ReplicaSet") => reference = next.clone(),
            _ => break,
        }
    }
    found
}

fn status(pass: &mut Pass<'_>, budget: &Value, pods: &[Object], (expected, desired): (i64, i64)) -> Value {
    let disrupted = disrupted(pass, budget, pods);
    let is_healthy = |pod: &&Object| !is_deleted(pod) && is_ready(pod) && !disrupted.contains_key(name(pod));
    let healthy = pods.iter().filter(is_healthy).count();
    let healthy = i64::try_from(healthy).unwrap_or(i64::MAX);
    let allowed = if expected > 0 { (healthy - desired).max(0) } else { 0 };
    let generation = int(budget, "/metadata/generation");
    let (holds, reason) =
        if allowed > 0 { ("True", "SufficientPods") } else { ("False", "InsufficientPods") };
    let condition = json!({
        "type": "DisruptionAllowed", "status": holds, "reason": reason, "message": "",
        "observedGeneration": generation,
    });
    let mut status = json!({
        "currentHealthy": healthy, "desiredHealthy": desired, "expectedPods": expected,
        "disruptionsAllowed": allowed, "observedGeneration": generation,
    });
    if !disrupted.is_empty() {
        status["disruptedPods"] = disrupted.into();
    }
    status["conditions"] = with_condition(pass, budget, condition);
    status
}

/// Evicted pods that aren't deleted yet.
fn disrupted(pass: &mut Pass<'_>, budget: &Value, pods: &[Object]) -> Map<String, Value> {
    let known = budget.pointer("/status/disruptedPods");
    let mut expected = Map::new();
    for pod in pods.iter().filter(|pod| !is_deleted(pod)) {
        let Some(at) = known.and_then(|known| known.get(name(pod))) else { continue };
        let since = at.as_str().and_then(|at| at.parse::<Timestamp>().ok());
        if since.is_some_and(|since| pass.server.now().duration_since(since) <= DELETION) {
            expected.insert(name(pod).to_owned(), at.clone());
            pass.wake_at(pass.now + DELETION.unsigned_abs());
        }
    }
    expected
}

fn failed(pass: &Pass<'_>, budget: &Value, message: &str) -> Value {
    let mut status = budget["status"].clone();
    status["disruptionsAllowed"] = 0.into();
    let condition = json!({
        "type": "DisruptionAllowed", "status": "False", "reason": "SyncFailed", "message": message,
        "observedGeneration": int(budget, "/status/observedGeneration"),
    });
    status["conditions"] = with_condition(pass, budget, condition);
    status
}

fn with_condition(pass: &Pass<'_>, budget: &Value, mut condition: Value) -> Value {
    let mut conditions = items(budget, "/status/conditions").to_vec();
    if condition["observedGeneration"] == 0 {
        condition.as_object_mut().and_then(|condition| condition.remove("observedGeneration"));
    }
    set_condition(&mut conditions, condition, pass.server.now());
    conditions.into()
}
