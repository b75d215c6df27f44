//! ResourceQuotas: admission and status. After `apiserver/pkg/admission/plugin/resourcequota` and
//! `pkg/controller/resourcequota`.

mod scopes;
mod usage;

use std::sync::{MutexGuard, PoisonError};

use baton_merge::value;
use serde_json::{Map, Value, json};

pub(super) use self::usage::{Amount, requested};
use self::usage::{Amounts, counted, usage};
use super::{
    Actor, Controller, Pass,
    object::{namespace, text},
};
use crate::{
    registry::Resource,
    server::{RequestTarget, Server},
    status::Failure,
    store::{Key, Range, Record},
};

pub(super) struct Quotas;

const QUOTAS: &str = "resourcequotas";

impl Controller for Quotas {
    fn act(&mut self, pass: &mut Pass<'_>) {
        for quota in pass.list("", QUOTAS) {
            let used: Map<String, Value> = hard(&quota)
                .filter_map(|(name, _)| {
                    let resource = counted(&pass.server.registry(), name)?;
                    let objects = pass.all(&resource);
                    let own = objects.iter().filter(|object| namespace(object) == namespace(&quota));
                    let sum = total(&resource, &quota, name, own.map(|object| &**object));
                    Some((name.clone(), sum.to_string().into()))
                })
                .collect();
            let mut status = json!({});
            if !used.is_empty() {
                status = json!({"hard": quota["spec"]["hard"], "used": used});
            }
            if quota["status"] != status {
                let mut updated = (*quota).clone();
                updated["status"] = status;
                if pass.update(&updated, "status").is_err() {
                    pass.retry();
                }
            }
        }
    }
}

fn hard(quota: &Value) -> impl Iterator<Item = (&String, &str)> {
    let hard = quota.pointer("/spec/hard").and_then(Value::as_object);
    hard.into_iter().flatten().map(|(name, value)| (name, value.as_str().unwrap_or_default()))
}

/// The usage of objects that a quota counts.
fn total<'v>(
    resource: &Resource,
    quota: &Value,
    name: &str,
    objects: impl Iterator<Item = &'v Value>,
) -> Amount {
    let own = objects.filter(|object| scopes::matches(quota, resource, object));
    own.filter_map(|object| usage(resource, object).remove(name)).fold(Amount::default(), Amount::plus)
}

/// Refuses a write that exceeds a quota. Other writes wait until the returned guard is dropped.
///
/// # Errors
/// When a quota is exceeded.
pub(crate) fn admit<'s>(
    server: &'s Server,
    target: &RequestTarget,
    new: value::Value<'_>,
    old: Option<value::Value<'_>>,
) -> Result<Option<MutexGuard<'s, ()>>, Failure> {
    let is_weighed = matches!(target.subresource.as_str(), "" | "resize") && !target.namespace.is_empty();
    if !server.actors.is_active(Actor::Quotas) || !is_weighed {
        return Ok(None);
    }
    let guard = server.actors.quotas.lock().unwrap_or_else(PoisonError::into_inner);
    let resource = &target.resource;
    let (new, old) = (new.to_json(), old.map(|old| old.to_json()));
    let quotas = objects_in(server, QUOTAS, &target.namespace);
    for (key, quota) in quotas.iter().filter(|(_, quota)| scopes::matches(quota, resource, &new)) {
        let names: Vec<_> = hard(quota)
            .filter(|(name, _)| {
                counted(&server.registry(), name).is_some_and(|of| of.storage == resource.storage)
            })
            .collect();
        if old.is_none() && resource.is("", "Pod") {
            let missing = usage::missing(&new, names.iter().map(|(name, _)| name.as_str()));
            if !missing.is_empty() {
                let why = format!("failed quota: {}: must specify {missing}", key.name);
                return Err(Failure::forbidden(resource, &target.name, &why));
            }
        }
        let before = old.as_ref().filter(|old| scopes::matches(quota, resource, old));
        let before = before.map(|old| usage(resource, old)).unwrap_or_default();
        let requested = added(usage(resource, &new), &before);
        let live = objects_in(server, &resource.storage, &target.namespace);
        let mut shown = [Vec::new(), Vec::new(), Vec::new()];
        for (name, limit) in names {
            let Some(wanted) = requested.get(name) else { continue };
            let used = total(resource, quota, name, live.iter().map(|(_, object)| object));
            let limit = Amount::read(limit);
            if used.plus(*wanted) > limit {
                for (all, amount) in shown.iter_mut().zip([*wanted, used, limit]) {
                    all.push(format!("{name}={amount}"));
                }
            }
        }
        let [requested, used, limited] = shown.map(|all| all.join(","));
        if !limited.is_empty() {
            let name = &key.name;
            let why =
                format!("exceeded quota: {name}, requested: {requested}, used: {used}, limited: {limited}");
            return Err(Failure::forbidden(resource, &target.name, &why));
        }
    }
    Ok(Some(guard))
}

/// The usage that an update adds.
fn added(new: Amounts, before: &Amounts) -> Amounts {
    let more = new.into_iter().map(|(name, amount)| {
        let more = before.get(&name).map_or(amount, |before| amount.minus(*before));
        (name, more)
    });
    more.filter(|(_, amount)| *amount > Amount::default()).collect()
}

fn objects_in(server: &Server, storage: &str, space: &str) -> Vec<(Key, Value)> {
    let range = Range { namespace: Some(space.to_owned()), ..Range::default() };
    let all = server.store.list(storage, &range).map(|all| all.objects).unwrap_or_default();
    let read = |record: &Record| serde_json::from_str(record.text()).unwrap_or_default();
    all.into_iter().map(|(key, record)| (key, read(&record))).collect()
}

/// The storage class of a claim.
fn class(claim: &Value) -> &str {
    text(claim, "/spec/storageClassName")
}
