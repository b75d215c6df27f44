//! The HorizontalPodAutoscaler.

use std::{collections::BTreeMap, sync::LazyLock};

use baton_crd::{
    Workload,
    builtin::{behavior_schema, metric_schema},
};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    JSONSchemaProps, JSONSchemaPropsOrArray,
};
use kube::ResourceExt;
use serde_json::json;

use super::{Intent, IntentError, minimal::minimal, to_json, with_head};
use crate::decide::child::ChildKind;

const CHILD: ChildKind = ChildKind::Autoscaler;

/// What of `autoscaling` is of the server's own types.
static SCHEMA: LazyLock<JSONSchemaProps> = LazyLock::new(|| {
    let metrics = JSONSchemaPropsOrArray::Schema(Box::new(metric_schema().clone()));
    let metrics = JSONSchemaProps { items: Some(metrics), ..JSONSchemaProps::default() };
    let properties =
        BTreeMap::from([("metrics".to_owned(), metrics), ("behavior".to_owned(), behavior_schema().clone())]);
    JSONSchemaProps { properties: Some(properties), ..JSONSchemaProps::default() }
});

pub(super) fn autoscaler(workload: &Workload) -> Result<Option<Intent>, IntentError> {
    let Some(autoscaling) = workload.spec.autoscaling.as_ref().filter(|wanted| wanted.external.is_none())
    else {
        return Ok(None);
    };
    // Without `external`, the Workload's `autoscaling` holds the fields of an autoscaler's spec under the same names.
    let mut spec = minimal(to_json(CHILD, autoscaling)?, Some(&SCHEMA)).unwrap_or_default();
    spec["scaleTargetRef"] = json!({
        "apiVersion": ChildKind::Deployment.api_version(),
        "kind": ChildKind::Deployment.name(),
        "name": workload.name_any(),
    });
    Ok(Some(with_head(workload, CHILD, &spec)))
}
