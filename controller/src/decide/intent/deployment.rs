//! The Deployment.

use baton_crd::{
    Workload,
    builtin::{DEPLOYMENT, POD_TEMPLATE},
};
use serde_json::{Map, Value, json};

use super::{Intent, IntentError, Selector, minimal::minimal, to_json, with_head};
use crate::decide::child::ChildKind;

const CHILD: ChildKind = ChildKind::Deployment;

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
        if let Some(Value::Object(rollout)) = minimal(to_json(CHILD, rollout)?, DEPLOYMENT) {
            for (field, value) in rollout {
                intent[field] = value;
            }
        }
    }
    let own = spec.deployment.clone().unwrap_or_default();
    Ok(with_head(workload, CHILD, intent, &own.labels, &own.annotations))
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
