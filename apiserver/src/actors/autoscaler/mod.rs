//! HorizontalPodAutoscalers: from the load that a test sets to the scale of their targets. After `pkg/controller/podautoscaler`.

mod limits;
mod metrics;

use std::{collections::HashMap, sync::Arc, time::Duration};

use serde_json::{Value, json};
use tokio::time::Instant;

use self::{
    limits::{Bounds, Memory},
    metrics::Proposal,
};
use super::{
    Controller, Pass,
    client::path_of,
    object::{int, items, name, namespace, text, time, uid},
    settings::Load,
    settled::{Settled, uids},
    view::Object,
};
use crate::registry::{Registry, Resource};

/// The interval of reconciles without a change.
const PERIOD: Duration = Duration::from_secs(15);

#[derive(Default)]
pub(super) struct Autoscaler {
    settled: Settled,
    /// State of each autoscaler, by its UID.
    known: HashMap<String, Known>,
}

struct Known {
    memory: Memory,
    load: Option<Load>,
    /// When it is reconciled next, even without a change.
    next: Instant,
    /// Inputs of the last reconcile.
    inputs: Value,
    has_rescaled: bool,
}

impl Controller for Autoscaler {
    fn act(&mut self, pass: &mut Pass<'_>) {
        let all = pass.list_version("autoscaling", "v2", "horizontalpodautoscalers");
        self.settled.keep(&uids(&all));
        self.known.retain(|known, _| all.iter().any(|autoscaler| uid(autoscaler) == known));
        for autoscaler in &all {
            let load = AutoscalerPass { pass, autoscaler }.load();
            let known = self.known.entry(uid(autoscaler).to_owned()).or_insert_with(|| Known {
                memory: Memory::default(),
                load,
                next: pass.now,
                inputs: Value::Null,
                has_rescaled: false,
            });
            if std::mem::replace(&mut known.load, load) != load {
                self.settled.forget(autoscaler);
            }
            let scaled = scaled(pass, autoscaler);
            self.settled.reconcile(pass, autoscaler, &scaled, |pass| {
                AutoscalerPass { pass, autoscaler }.run(known);
                pass.wake_at(known.next);
            });
        }
    }
}

/// The resource that a reference means, by group and kind (also in lower case) and without the version, as
/// `NewDiscoveryRESTMapper` of client-go.
fn target_of<'r>(registry: &'r Registry, reference: &Value) -> Option<&'r Arc<Resource>> {
    let (api_version, kind) = (text(reference, "/apiVersion"), text(reference, "/kind"));
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let is_it = |resource: &&Arc<Resource>| {
        let of = &resource.gvk;
        of.group == group && (of.kind == kind || of.kind.to_lowercase() == kind)
    };
    registry.preferred().find(is_it).filter(|_| !version.contains('/'))
}

/// Inputs of an autoscaler besides itself: its target, and pods that the target may select.
fn scaled(pass: &mut Pass<'_>, autoscaler: &Object) -> Vec<Object> {
    let reference = &autoscaler["spec"]["scaleTargetRef"];
    let registry = pass.server.registry();
    let targets = target_of(&registry, reference).map(|resource| pass.all(resource)).unwrap_or_default();
    let is_target = |object: &Object| name(object) == text(reference, "/name");
    let pods = pass.list("", "pods");
    let all = targets.into_iter().filter(is_target).chain(pods);
    all.filter(|object| namespace(object) == namespace(autoscaler)).collect()
}

/// One pass over one autoscaler.
struct AutoscalerPass<'l, 'p> {
    pass: &'l mut Pass<'p>,
    autoscaler: &'l Object,
}

struct Target {
    /// The path of its scale subresource.
    path: String,
    scale: Value,
}

impl AutoscalerPass<'_, '_> {
    fn run(&mut self, known: &mut Known) {
        let mut status = self.autoscaler["status"].clone();
        if !status.is_object() {
            status = json!({});
        }
        let target = match self.target() {
            Ok(target) => target,
            Err(message) => {
                if known.next <= self.pass.now {
                    known.next = self.pass.now + PERIOD;
                }
                let message =
                    format!("the HPA controller was unable to get the target's current scale: {message}");
                self.condition(&mut status, "AbleToScale", false, "FailedGetScale", &message);
                return self.store(status);
            }
        };
        let inputs = self.inputs(&target);
        let is_due = known.next <= self.pass.now;
        // A change of the metrics alone waits for the period, since metrics follow a scale-up late.
        let is_new =
            known.inputs["input"] != inputs["input"] || known.inputs != inputs && !known.has_rescaled;
        let is_out_of_bounds = {
            let current = int(&target.scale, "/spec/replicas");
            current > 0 && Bounds::of(self.autoscaler).clamp(current) != current
        };
        if !is_due && !is_new && !is_out_of_bounds {
            return;
        }
        known.next = self.pass.now + PERIOD;
        known.inputs = inputs;
        self.scale(known, &target, status);
    }

    /// The inputs whose change makes a reconcile due early.
    fn inputs(&mut self, target: &Target) -> Value {
        let pods = self.pods(&target.scale);
        let pods: Vec<_> = pods.iter().map(|pod| (uid(pod), super::object::is_ready(pod))).collect();
        json!({
            "input": [self.autoscaler["spec"], format!("{:?}", self.load())],
            "replicas": target.scale.pointer("/spec/replicas"), "pods": pods,
        })
    }

    fn target(&mut self) -> Result<Target, String> {
        let reference = &self.autoscaler["spec"]["scaleTargetRef"];
        let registry = self.pass.server.registry();
        let resource = target_of(&registry, reference).ok_or_else(|| {
            let (version, kind) = (text(reference, "/apiVersion"), text(reference, "/kind"));
            format!("no matches for kind {kind:?} in version {version:?}")
        })?;
        let path = path_of(resource, namespace(self.autoscaler), text(reference, "/name"), "scale");
        let scale = self.pass.request(http::Method::GET, path.clone(), "application/json", &Value::Null);
        Ok(Target { path, scale: scale.map_err(|refused| refused.message)? })
    }

    fn scale(&mut self, known: &mut Known, target: &Target, mut status: Value) {
        let message = "the HPA controller was able to get the target's current scale";
        self.condition(&mut status, "AbleToScale", true, "SucceededGetScale", message);
        let current = int(&target.scale, "/spec/replicas");
        known.memory.remember_first(current, self.pass.now);
        let bounds = Bounds::of(self.autoscaler);
        let mut metrics = Vec::new();
        let mut wanted = current;
        if current == 0 && bounds.min != 0 {
            let message = "scaling is disabled since the replica count of the target is zero";
            self.condition(&mut status, "ScalingActive", false, "ScalingDisabled", message);
        } else if bounds.clamp(current) != current {
            wanted = bounds.clamp(current);
        } else {
            match self.proposals(&target.scale) {
                Ok(Proposal { replicas, name, statuses }) => {
                    let message =
                        format!("the HPA was able to successfully calculate a replica count from {name}");
                    self.condition(&mut status, "ScalingActive", true, "ValidMetricFound", &message);
                    metrics = statuses;
                    let now = self.pass.now;
                    let decision = known.memory.limit(self.autoscaler, bounds, current, replicas, now);
                    for (kind, holds, reason, message) in decision.conditions {
                        self.condition(&mut status, kind, holds, reason, message);
                    }
                    wanted = decision.replicas;
                }
                Err((reason, message)) => {
                    self.condition(&mut status, "ScalingActive", false, reason, &message);
                    status["currentReplicas"] = current.into();
                    return self.store(status);
                }
            }
        }
        known.has_rescaled = wanted != current;
        if known.has_rescaled {
            if let Err(message) = self.rescale(target, wanted) {
                let message = format!("the HPA controller was unable to update the target scale: {message}");
                self.condition(&mut status, "AbleToScale", false, "FailedUpdateScale", &message);
                status["currentReplicas"] = current.into();
                self.pass.retry();
                return self.store(status);
            }
            known.memory.remember_change(current, wanted, self.pass.now);
            let message = format!("the HPA controller was able to update the target scale to {wanted}");
            self.condition(&mut status, "AbleToScale", true, "SucceededRescale", &message);
            status["lastScaleTime"] = time(self.pass.server.now());
        }
        status["currentReplicas"] = current.into();
        status["desiredReplicas"] = wanted.into();
        status["currentMetrics"] = if metrics.is_empty() { Value::Null } else { metrics.into() };
        self.store(status);
    }

    fn rescale(&self, target: &Target, wanted: i64) -> Result<(), String> {
        let mut scale = target.scale.clone();
        scale["spec"]["replicas"] = wanted.into();
        let done = self.pass.request(http::Method::PUT, target.path.clone(), "application/json", &scale);
        done.map(|_| ()).map_err(|refused| refused.message)
    }

    fn condition(&self, status: &mut Value, kind: &str, holds: bool, reason: &str, message: &str) {
        let mut conditions = items(status, "/conditions").to_vec();
        let holds = if holds { "True" } else { "False" };
        let condition = json!({"type": kind, "status": holds, "reason": reason, "message": message});
        super::object::set_condition(&mut conditions, condition, self.pass.server.now());
        status["conditions"] = conditions.into();
    }

    fn store(&mut self, mut status: Value) {
        if let Some(status) = status.as_object_mut() {
            status.retain(|_, value| !value.is_null());
            status.retain(|name, value| name != "currentReplicas" || *value != 0);
        }
        let mut updated = (**self.autoscaler).clone();
        updated["status"] = status;
        // The server stores this member as null.
        let mut stored = self.autoscaler["status"].clone();
        if let Some(stored) = stored.as_object_mut() {
            stored.retain(|_, value| !value.is_null());
        }
        if updated["status"] != stored && self.pass.update(&updated, "status").is_err() {
            self.pass.retry();
        }
    }
}
