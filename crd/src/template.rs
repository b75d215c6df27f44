//! The pods of a Workload.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A core/v1 `PodTemplateSpec` as JSON, as the API server stored it: a field that only a newer release knows stays in it, and
/// so does a spelling that the Go types read, such as `cpu: 0.5`.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(transparent)]
pub struct PodTemplate(pub Value);

impl Default for PodTemplate {
    fn default() -> Self {
        Self(json!({}))
    }
}
