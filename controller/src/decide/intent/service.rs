//! The Service.

use baton_crd::{Workload, builtin::SERVICE};
use serde_json::{Value, json};

use super::{Intent, IntentError, Selector, minimal::minimal, to_json, with_head};
use crate::decide::child::ChildKind;

const CHILD: ChildKind = ChildKind::Service;

pub(super) fn service(workload: &Workload, selector: &Selector) -> Result<Option<Intent>, IntentError> {
    let Some(wanted) = &workload.spec.service else { return Ok(None) };
    let fields = minimal(to_json(CHILD, wanted)?, SERVICE).unwrap_or_default();
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

    Ok(Some(with_head(workload, CHILD, spec.into(), &wanted.labels, &wanted.annotations)))
}
