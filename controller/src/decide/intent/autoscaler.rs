//! The HorizontalPodAutoscaler.

use baton_crd::{Workload, builtin::AUTOSCALER};
use kube::ResourceExt;
use serde_json::json;

use super::{Intent, IntentError, minimal::minimal, to_json, with_head, without_metadata};
use crate::decide::child::ChildKind;

const CHILD: ChildKind = ChildKind::Autoscaler;

pub(super) fn autoscaler(workload: &Workload) -> Result<Option<Intent>, IntentError> {
    let Some(autoscaling) = workload.spec.autoscaling.as_ref().filter(|wanted| wanted.external.is_none())
    else {
        return Ok(None);
    };
    // Without `external`, the Workload's `autoscaling` holds the fields of an autoscaler's spec under the same names.
    let mut spec = minimal(to_json(CHILD, autoscaling)?, AUTOSCALER).unwrap_or_default();
    without_metadata(&mut spec);
    spec["scaleTargetRef"] = json!({
        "apiVersion": ChildKind::Deployment.api_version(),
        "kind": ChildKind::Deployment.name(),
        "name": workload.name_any(),
    });
    Ok(Some(with_head(workload, CHILD, spec, &autoscaling.labels, &autoscaling.annotations)))
}
