//! Evictions and their disruption budget. After `pkg/registry/core/pod/storage/eviction.go`.

use baton_merge::{Arena, value::Value};
use serde_json::{Value as Json, json};

use crate::{
    actors::object::{is_active, is_ready, namespace, selects, text},
    definitions::changed,
    options::{DeleteOptions, FieldValidation, WriteOptions},
    server::{RequestTarget, Server},
    status::Failure,
    store::{Key, Range},
    types,
    write::{Existence, Input, OneWrite},
};

/// The most entries of `disruptedPods`.
const MAX_DISRUPTED: usize = 2000;
/// Seconds until a client may retry, while the budget's status isn't current.
const UNCOUNTED: u32 = 10;

/// Takes an eviction from the pod's budget and records it in the pod, which is deleted next.
pub(crate) fn admit(server: &Server, pod: &RequestTarget, options: &DeleteOptions) -> Result<(), Failure> {
    let record = server.store.get(&pod.resource.storage, &pod.key());
    let record = record.ok_or_else(|| Failure::not_found(&pod.resource, &pod.name))?;
    let object: Json = serde_json::from_str(record.text()).map_err(Failure::internal)?;
    if is_guarded(&object) {
        let budgets = budgets(server, &object)?;
        match budgets.as_slice() {
            [] => {}
            [(_, budget)] if !is_ready(&object) && may_lose_unready(budget) => {}
            [(key, _)] => take(server, pod, key, options.is_dry_run)?,
            _ => {
                let message = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.";
                return Err(Failure::without_reason(message));
            }
        }
    }
    if options.is_dry_run { Ok(()) } else { note(server, pod) }
}

/// Whether budgets apply: not to pods that have ended, haven't started, or are being deleted.
fn is_guarded(pod: &Json) -> bool {
    is_active(pod) && text(pod, "/status/phase") != "Pending"
}

/// The budgets that select a pod.
fn budgets(server: &Server, pod: &Json) -> Result<Vec<(Key, Json)>, Failure> {
    let range = Range { namespace: Some(namespace(pod).to_owned()), ..Range::default() };
    let listed = server.store.list("poddisruptionbudgets.policy", &range);
    let mut found = Vec::new();
    for (key, budget) in listed.map(|listed| listed.objects).unwrap_or_default() {
        let budget: Json = serde_json::from_str(budget.text()).map_err(Failure::internal)?;
        if selects(budget.pointer("/spec/selector"), pod.pointer("/metadata/labels")) {
            found.push((key, budget));
        }
    }
    Ok(found)
}

/// Whether a pod that isn't ready may be evicted outside of the budget.
fn may_lose_unready(budget: &Json) -> bool {
    let healthy = |name: &str| budget["status"][name].as_i64().unwrap_or_default();
    let desired = healthy("desiredHealthy");
    budget["spec"]["unhealthyPodEvictionPolicy"] == "AlwaysAllow"
        || desired > 0 && healthy("currentHealthy") >= desired
}

/// Takes one eviction from a budget, or refuses it.
fn take(server: &Server, pod: &RequestTarget, budget: &Key, dry_run: bool) -> Result<(), Failure> {
    let registry = server.registry();
    let resource = registry.resource("policy", "v1", "poddisruptionbudgets");
    let target = RequestTarget {
        resource: resource.ok_or_else(Failure::no_such_path)?.clone(),
        namespace: budget.namespace.clone(),
        name: budget.name.clone(),
        subresource: "status".to_owned(),
    };
    let options = WriteOptions {
        dry_run,
        field_manager: "kube-apiserver".to_owned(),
        field_validation: FieldValidation::Ignore,
        force: false,
    };
    let now = types::second_time(server.now());
    let arena = Arena::new();
    let write =
        OneWrite { server, arena: &arena, target: &target, options: &options, existence: Existence::There };
    let written = write.run(&|live| {
        let live = live.ok_or_else(|| Failure::not_found(&target.resource, &target.name))?;
        check(&target, &live.to_json())?;
        Ok(Input::Update(changed(&arena, live, |json| decrement(&mut json["status"], &pod.name, &now))))
    });
    written.map(drop)
}

fn decrement(status: &mut Json, pod: &str, now: &str) {
    let allowed = status["disruptionsAllowed"].as_i64().unwrap_or_default() - 1;
    status["disruptionsAllowed"] = allowed.into();
    status["disruptedPods"][pod] = now.into();
    let conditions = status["conditions"].as_array_mut();
    let condition = conditions.into_iter().flatten().find(|own| own["type"] == "DisruptionAllowed");
    if let (0, Some(condition)) = (allowed, condition)
        && condition["status"] != "False"
    {
        condition["status"] = "False".into();
        condition["reason"] = "InsufficientPods".into();
        condition["lastTransitionTime"] = now.into();
    }
}

/// Refuses an eviction that a budget doesn't allow.
fn check(target: &RequestTarget, budget: &Json) -> Result<(), Failure> {
    let (status, name) = (&budget["status"], &target.name);
    let int = |value: &Json| value.as_i64().unwrap_or_default();
    let allowed = int(&status["disruptionsAllowed"]);
    if int(&status["observedGeneration"]) < int(&budget["metadata"]["generation"]) {
        let why = format!("The disruption budget {name} is still being processed by the server.");
        return Err(Failure { retry_after: Some(UNCOUNTED), ..too_many(&why) });
    }
    let forbidden = |why| {
        let mut failure = Failure::forbidden(&target.resource, name, why);
        failure.message = format!("poddisruptionbudget.policy {name:?} is forbidden: {why}");
        failure.details =
            Some(Box::new(json!({"name": name, "group": "policy", "kind": "poddisruptionbudget"})));
        failure
    };
    if allowed < 0 {
        return Err(forbidden("pdb disruptions allowed is negative"));
    }
    if status["disruptedPods"].as_object().is_some_and(|pods| pods.len() > MAX_DISRUPTED) {
        return Err(forbidden(
            "DisruptedPods map too big - too many evictions not confirmed by PDB controller",
        ));
    }
    if allowed > 0 {
        return Ok(());
    }
    let (current, desired) = (int(&status["currentHealthy"]), int(&status["desiredHealthy"]));
    let mut conditions = status["conditions"].as_array().into_iter().flatten();
    let reason = conditions.find(|own| own["type"] == "DisruptionAllowed" && own["status"] == "False");
    let reason = reason.map(|own| (own["reason"].as_str(), own["message"].as_str().unwrap_or_default()));
    Err(too_many(&match reason {
        Some((Some("SyncFailed"), why)) if !why.is_empty() => format!(
            "The disruption budget {name} does not allow evicting pods currently because it failed sync: {why}"
        ),
        _ if current <= desired => {
            format!("The disruption budget {name} needs {desired} healthy pods and has {current} currently")
        }
        Some((reason, why)) if !why.is_empty() => format!(
            "The disruption budget {name} does not allow evicting pods currently ({}): {why}",
            reason.unwrap_or_default()
        ),
        _ => format!("The disruption budget {name} does not allow evicting pods currently"),
    }))
}

fn too_many(why: &str) -> Failure {
    let message = "Cannot evict pod as it would violate the pod's disruption budget.";
    let mut failure = Failure::new(429, "TooManyRequests", message);
    failure.details = Some(Box::new(json!({"causes": [{"reason": "DisruptionBudget", "message": why}]})));
    failure
}

/// Records the eviction in the pod's conditions. The server writes them itself, so that no manager becomes their owner.
fn note(server: &Server, pod: &RequestTarget) -> Result<(), Failure> {
    let condition = json!({
        "type": "DisruptionTarget", "status": "True", "lastProbeTime": null,
        "lastTransitionTime": types::second_time(server.now()), "reason": "EvictionByEvictionAPI",
        "message": "Eviction API: evicting",
    });
    loop {
        let live = server.store.get(&pod.resource.storage, &pod.key());
        let live = live.ok_or_else(|| Failure::not_found(&pod.resource, &pod.name))?;
        let arena = Arena::new();
        let object = Value::from_text(&arena, live.text()).map_err(Failure::internal)?;
        let object = changed(&arena, object, |json| {
            let conditions = &mut json["status"]["conditions"];
            if !conditions.is_array() {
                *conditions = json!([]);
            }
            if let Some(conditions) = conditions.as_array_mut()
                && !conditions.iter().any(|own| own["type"] == condition["type"])
            {
                conditions.push(condition.clone());
            }
        });
        let updated = live.replaced(object, &pod.resource.storage_version);
        if server.store.put(&pod.resource.storage, pod.key(), Some(&live), &updated).is_ok() {
            return Ok(());
        }
    }
}
