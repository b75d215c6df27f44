//! The schemas of the built-in types that a Workload embeds, with the merge rules of the API server itself.
//!
//! `k8s-openapi` has these types, but its schemas don't say how lists and maps merge. The API server's `OpenAPI`
//! document does; an excerpt of it is kept as data (`crd/openapi/builtin.json`, refreshed by
//! `cargo openapi-refresh`) and compiled here into what a `CustomResourceDefinition` may hold. Other modules decide
//! which part of a Workload gets which type.

mod compile;
mod document;

use std::sync::LazyLock;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::JSONSchemaProps;

pub use compile::{CompileError, compile};
pub use document::Document;

/// The name of the pod template's schema in the document.
pub const POD_TEMPLATE: &str = "io.k8s.api.core.v1.PodTemplateSpec";

/// The name of the schema of a Deployment's `spec` in the document.
pub const DEPLOYMENT: &str = "io.k8s.api.apps.v1.DeploymentSpec";
/// The same for a Service.
pub const SERVICE: &str = "io.k8s.api.core.v1.ServiceSpec";
/// The same for a HorizontalPodAutoscaler.
pub const AUTOSCALER: &str = "io.k8s.api.autoscaling.v2.HorizontalPodAutoscalerSpec";
/// The same for a PodDisruptionBudget.
pub const DISRUPTION_BUDGET: &str = "io.k8s.api.policy.v1.PodDisruptionBudgetSpec";

/// The name of the schema of an autoscaler's metric in the document.
pub const METRIC: &str = "io.k8s.api.autoscaling.v2.MetricSpec";

/// The name of the schema of an autoscaler's behavior in the document.
pub const BEHAVIOR: &str = "io.k8s.api.autoscaling.v2.HorizontalPodAutoscalerBehavior";

/// The name of the schema of a Deployment's strategy in the document. A Workload has its own type for it; the tests
/// compare that with this schema.
pub const STRATEGY: &str = "io.k8s.api.apps.v1.DeploymentStrategy";

/// The structural schema of `spec.template`: every path of it with its type and merge rules.
pub fn pod_template_schema() -> &'static JSONSchemaProps {
    static SCHEMA: LazyLock<JSONSchemaProps> = LazyLock::new(|| shipped(POD_TEMPLATE));
    &SCHEMA
}

/// The structural schema of one element of `spec.autoscaling.metrics`.
pub fn metric_schema() -> &'static JSONSchemaProps {
    static SCHEMA: LazyLock<JSONSchemaProps> = LazyLock::new(|| shipped(METRIC));
    &SCHEMA
}

/// The structural schema of `spec.autoscaling.behavior`.
pub fn behavior_schema() -> &'static JSONSchemaProps {
    static SCHEMA: LazyLock<JSONSchemaProps> = LazyLock::new(|| shipped(BEHAVIOR));
    &SCHEMA
}

/// Compiles a schema of the shipped document; the tests prove that it compiles.
fn shipped(name: &str) -> JSONSchemaProps {
    compile(&Document::shipped(), name).expect("the document in crd/openapi has all embedded schemas")
}
