//! The intent of each child: complete and minimal.
//!
//! An intent holds every field that Baton wants to own and nothing else: no nulls, no empty lists, no empty maps, and
//! nothing that the server fills in. Pure functions of the Workload and of the [`Selector`] of its pods, the one thing that a
//! live object decides.

mod children;
pub(super) mod selector;

use std::collections::BTreeMap;

use baton_crd::{Workload, labels as own};
use kube::{Resource, ResourceExt};
use serde_json::{Value, json};

pub use children::deployment;
pub use selector::Selector;

use crate::decide::child::ChildKind;

/// The complete object that an apply sends.
#[derive(Clone, Debug, PartialEq)]
pub struct Intent(Value);

impl Intent {
    /// The object as JSON.
    pub fn as_value(&self) -> &Value {
        &self.0
    }

    /// With the replica count to restore, as an annotation: written by the apply that sets 0, so that no crash
    /// comes between.
    #[must_use]
    pub fn with_replicas_to_resume(mut self, replicas: Option<i32>) -> Self {
        if let Some(replicas) = replicas {
            self.0["metadata"]["annotations"][own::REPLICAS_BEFORE_SUSPEND] = replicas.to_string().into();
        }
        self
    }

    /// The object, for a request body.
    pub fn into_value(self) -> Value {
        self.0
    }
}

/// A Workload that can't be written as an intent.
#[derive(Debug, thiserror::Error)]
#[error("can't write the {child} of this Workload as JSON")]
pub struct IntentError {
    /// The child.
    pub child: ChildKind,
    /// Why.
    #[source]
    pub source: serde_json::Error,
}

/// The intent of a child, of the Deployment with the replica count of the spec; absent where the Workload doesn't ask for
/// one.
///
/// # Errors
/// When the Workload can't be written as JSON.
pub fn child(
    workload: &Workload,
    kind: ChildKind,
    selector: &Selector,
) -> Result<Option<Intent>, IntentError> {
    match kind {
        ChildKind::Deployment => deployment(workload, workload.spec.replicas, selector).map(Some),
        ChildKind::Service => children::service(workload, selector),
        ChildKind::Autoscaler => children::autoscaler(workload),
        ChildKind::DisruptionBudget => children::disruption_budget(workload, selector),
    }
}

/// Labels and annotations that a Workload asks for.
type Texts = BTreeMap<String, String>;

/// The head that every child has: its type, its name, Baton's labels and those asked for, annotations, and the controller
/// reference. Baton's own labels and its annotation win, also where the Workload is in no shard or isn't suspended: by the labels it
/// finds its children.
fn with_head(
    workload: &Workload,
    kind: ChildKind,
    spec: Value,
    labels: &Texts,
    annotations: &Texts,
) -> Intent {
    let name = workload.name_any();
    // No blockOwnerDeletion: where the API server enforces it, it needs a permission on finalizers that nothing else
    // here would use.
    let mut intent = json!({
        "apiVersion": kind.api_version(),
        "kind": kind.name(),
        "metadata": {
            "name": name,
            "labels": {own::MANAGED_BY: own::MANAGED_BY_BATON, own::NAME: name, own::WORKLOAD: name},
            "ownerReferences": [{
                "apiVersion": Workload::api_version(&()),
                "kind": Workload::kind(&()),
                "name": name,
                "uid": workload.uid().unwrap_or_default(),
                "controller": true,
            }],
        },
    });
    let metadata = &mut intent["metadata"];
    if let Some(shard) = workload.labels().get(own::SHARD) {
        metadata["labels"][own::SHARD] = shard.as_str().into();
    }
    for (name, value) in labels {
        if metadata["labels"].get(name).is_none() && name != own::SHARD {
            metadata["labels"][name] = value.as_str().into();
        }
    }
    // The annotation with the replica count to restore is Baton's own too.
    let mut annotations = annotations.clone();
    annotations.remove(own::REPLICAS_BEFORE_SUSPEND);
    if !annotations.is_empty() {
        metadata["annotations"] = json!(annotations);
    }
    if let Some(namespace) = workload.namespace() {
        metadata["namespace"] = namespace.into();
    }
    intent["spec"] = spec;
    Intent(intent)
}

/// Removes the labels and annotations of a child, which stand among the fields of its part of the Workload.
fn without_metadata(spec: &mut Value) {
    if let Value::Object(fields) = spec {
        fields.retain(|name, _| !matches!(name.as_str(), "labels" | "annotations"));
    }
}

fn to_json<T: serde::Serialize>(child: ChildKind, value: &T) -> Result<Value, IntentError> {
    serde_json::to_value(value).map_err(|source| IntentError { child, source })
}
