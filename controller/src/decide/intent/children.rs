//! The intent of each kind of child.

use std::sync::LazyLock;

use baton_apply::spelling::{self, Types};
use baton_crd::{
    Workload,
    builtin::{AUTOSCALER, DEPLOYMENT, DISRUPTION_BUDGET, Document, POD_TEMPLATE, SERVICE},
};
use kube::ResourceExt;
use serde_json::{Map, Value, json};

use super::{Intent, IntentError, Selector, to_json, with_head, without_metadata};
use crate::decide::child::ChildKind;

/// The Deployment's intent, with this replica count or, if another manager sets it, without.
///
/// # Errors
/// When the Workload can't be written as JSON.
pub fn deployment(
    workload: &Workload,
    replicas: Option<i32>,
    selector: &Selector,
) -> Result<Intent, IntentError> {
    let spec = &workload.spec;
    let template = minimal(spec.template.0.clone(), POD_TEMPLATE).unwrap_or_default();
    let mut intent = json!({});
    intent["selector"] = selector.to_json();
    intent["template"] = with_selectors_labels(template, selector);
    if let Some(replicas) = replicas {
        intent["replicas"] = replicas.into();
    }
    if let Some(rollout) = &spec.rollout {
        // The Workload's `rollout` holds the fields of a Deployment's spec under the same names.
        if let Some(Value::Object(rollout)) = minimal(to_json(ChildKind::Deployment, rollout)?, DEPLOYMENT) {
            for (field, value) in rollout {
                intent[field] = value;
            }
        }
    }
    let own = spec.deployment.clone().unwrap_or_default();
    Ok(with_head(workload, ChildKind::Deployment, intent, &own.labels, &own.annotations))
}

/// A label that the template has with another value stays: the API server says what is wrong with that.
fn with_selectors_labels(template: Value, selector: &Selector) -> Value {
    let mut template = if template.is_object() { template } else { Value::Object(Map::new()) };
    for (name, value) in selector.labels() {
        let label = &mut template["metadata"]["labels"][name];
        if label.is_null() {
            *label = value.as_str().into();
        }
    }
    template
}

pub(super) fn service(workload: &Workload, selector: &Selector) -> Result<Option<Intent>, IntentError> {
    let Some(wanted) = &workload.spec.service else { return Ok(None) };
    let fields = minimal(to_json(ChildKind::Service, wanted)?, SERVICE).unwrap_or_default();
    let Value::Object(mut spec) = fields else { return Ok(None) };

    // Most of the Workload's `service` holds fields of a Service's spec under the same names; these say something else.
    for field in ["labels", "annotations", "headless", "sessionAffinityTimeoutSeconds"] {
        spec.remove(field);
    }
    if wanted.headless == Some(true) {
        spec.insert("clusterIP".to_owned(), "None".into());
    }
    if let Some(seconds) = wanted.session_affinity_timeout_seconds {
        spec.insert("sessionAffinityConfig".to_owned(), json!({"clientIP": {"timeoutSeconds": seconds}}));
    }
    spec.insert("selector".to_owned(), json!(selector.labels()));

    Ok(Some(with_head(workload, ChildKind::Service, spec.into(), &wanted.labels, &wanted.annotations)))
}

pub(super) fn autoscaler(workload: &Workload) -> Result<Option<Intent>, IntentError> {
    let Some(autoscaling) = workload.spec.autoscaling.as_ref().filter(|wanted| wanted.external.is_none())
    else {
        return Ok(None);
    };
    // Without `external`, the Workload's `autoscaling` holds the fields of an autoscaler's spec under the same names.
    let mut spec = minimal(to_json(ChildKind::Autoscaler, autoscaling)?, AUTOSCALER).unwrap_or_default();
    without_metadata(&mut spec);
    spec["scaleTargetRef"] = json!({
        "apiVersion": ChildKind::Deployment.api_version(),
        "kind": ChildKind::Deployment.name(),
        "name": workload.name_any(),
    });
    Ok(Some(with_head(workload, ChildKind::Autoscaler, spec, &autoscaling.labels, &autoscaling.annotations)))
}

pub(super) fn disruption_budget(
    workload: &Workload,
    selector: &Selector,
) -> Result<Option<Intent>, IntentError> {
    let Some(budget) = &workload.spec.disruption_budget else { return Ok(None) };
    // The Workload's `disruptionBudget` holds the fields of a PodDisruptionBudget's spec under the same names.
    let mut spec =
        minimal(to_json(ChildKind::DisruptionBudget, budget)?, DISRUPTION_BUDGET).unwrap_or_default();
    without_metadata(&mut spec);
    spec["selector"] = selector.to_json();
    Ok(Some(with_head(workload, ChildKind::DisruptionBudget, spec, &budget.labels, &budget.annotations)))
}

/// [`spelling::minimal`] with the types of which a Workload has values.
fn minimal(value: Value, type_name: &str) -> Option<Value> {
    static TYPES: LazyLock<Types> = LazyLock::new(|| Types::from_openapi(&Document::shipped().schemas));
    spelling::minimal(value, &TYPES, type_name)
}
