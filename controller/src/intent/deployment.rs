//! The Deployment.

use baton_crd::{Workload, labels, pod_template_schema};
use kube::ResourceExt;
use serde_json::{Map, Value, json};

use super::{Intent, IntentError, minimal::minimal, selector, to_json, with_head};
use crate::child::ChildKind;

const CHILD: ChildKind = ChildKind::Deployment;

/// The Deployment's intent, with this number of replicas or, where somebody else decides it, without.
///
/// # Errors
/// When the Workload can't be written as JSON.
pub fn deployment(workload: &Workload, replicas: Option<i32>) -> Result<Intent, IntentError> {
    let spec = &workload.spec;
    let template = minimal(to_json(CHILD, &spec.template)?, Some(pod_template_schema())).unwrap_or_default();
    let mut intent = json!({
        "selector": {"matchLabels": selector(workload)},
        "template": with_selector_label(workload, template),
    });
    if let Some(replicas) = replicas {
        intent["replicas"] = replicas.into();
    }
    if let Some(rollout) = &spec.rollout {
        // The Workload's `rollout` holds the fields of a Deployment's spec under the same names.
        if let Some(Value::Object(rollout)) = minimal(to_json(CHILD, rollout)?, None) {
            for (field, value) in rollout {
                intent[field] = value;
            }
        }
    }
    Ok(with_head(workload, CHILD, &intent))
}

fn with_selector_label(workload: &Workload, template: Value) -> Value {
    let mut template = if template.is_object() { template } else { Value::Object(Map::new()) };
    template["metadata"]["labels"][labels::WORKLOAD] = workload.name_any().into();
    template
}
