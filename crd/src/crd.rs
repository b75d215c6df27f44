//! The `CustomResourceDefinition` of the Workload, as a cluster installs it.
//!
//! The derived schema has our own types. This module adds what a derive can't: the schemas of the built-in types, and a merge rule
//! for every map and struct without one.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSON, JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};
use kube::CustomResourceExt;
use serde_json::json;

use crate::{Workload, builtin};

/// The complete `CustomResourceDefinition` of the Workload.
///
/// It is large (the pod template with all its descriptions): install it by server-side apply, since client-side apply
/// would copy it into an annotation that is too small for it. [`Workload::crd`] is not complete; don't install that.
pub fn workload_crd() -> CustomResourceDefinition {
    let mut crd = Workload::crd();
    for version in &mut crd.spec.versions {
        if let Some(schema) = version.schema.as_mut().and_then(|schema| schema.open_api_v3_schema.as_mut()) {
            complete_own(schema);
            // With a status subresource the API server allows no merge rule at the root, and needs none.
            schema.x_kubernetes_map_type = None;
            // With this default, kstatus reads that a new Workload wasn't reconciled yet.
            if let Some(status) = schema.properties.as_mut().and_then(|all| all.get_mut("status")) {
                status.default = Some(JSON(json!({"observedGeneration": -1})));
            }
            embed(schema, &["spec", "template"], builtin::pod_template_schema());
            embed(schema, &["spec", "autoscaling", "metrics", "[]"], builtin::metric_schema());
            embed(schema, &["spec", "autoscaling", "behavior"], builtin::behavior_schema());
        }
    }
    crd
}

/// [`workload_crd`] as YAML: what `cargo crdgen` writes and `baton crd` prints.
///
/// # Errors
///
/// Fails only if the YAML library can't write the CRD, which would be a bug here.
pub fn workload_crd_yaml() -> Result<String, serde_norway::Error> {
    serde_norway::to_string(&workload_crd())
}

/// Optional structs that are invalid when they are empty.
const NEVER_EMPTY: [&str; 4] = ["service", "autoscaling", "disruptionBudget", "external"];

/// Completes the schema of our own types: a struct or map merges field by field unless its field says otherwise. A map, a list
/// or a struct that may be empty may be `null`, since the API server stores that when a server-side apply
/// empties one; any other field is left out rather than `null`. (The derive allows `null` for every `Option`; the rules would
/// have to check for it everywhere, and a server-side apply that sets it owns a field without a value.) The line breaks of our
/// comments are removed, so that `kubectl explain` can set its own.
fn complete_own(schema: &mut JSONSchemaProps) {
    schema.nullable = None;
    // Baton refuses unknown fields when it reads the Workload.
    if let Some(JSONSchemaPropsOrBool::Bool(_)) = schema.additional_properties {
        schema.additional_properties = None;
    }
    if let Some(description) = &mut schema.description {
        *description = description
            .split("\n\n")
            .map(|paragraph| paragraph.replace('\n', " "))
            .collect::<Vec<_>>()
            .join("\n\n");
    }
    if schema.type_.as_deref() == Some("object") {
        schema.x_kubernetes_map_type.get_or_insert_with(|| "granular".to_owned());
    }
    let required = schema.required.clone().unwrap_or_default();
    for (name, property) in schema.properties.iter_mut().flatten() {
        complete_own(property);
        let may_be_emptied = matches!(property.type_.as_deref(), Some("object" | "array"))
            && !required.contains(name)
            && !NEVER_EMPTY.contains(&name.as_str());
        property.nullable = may_be_emptied.then_some(true);
    }
    if let Some(JSONSchemaPropsOrBool::Schema(value)) = schema.additional_properties.as_mut() {
        complete_own(value);
        // The value of a label or an annotation.
        value.nullable = Some(true);
    }
    if let Some(JSONSchemaPropsOrArray::Schema(item)) = schema.items.as_mut() {
        complete_own(item);
    }
}

/// Puts the schema of a built-in type at a path, with our field's description. `[]` is a list's item.
fn embed(schema: &mut JSONSchemaProps, path: &[&str], builtin: &JSONSchemaProps) {
    let place = path.iter().fold(schema, |schema, step| {
        let child = match (*step, schema.items.as_mut()) {
            ("[]", Some(JSONSchemaPropsOrArray::Schema(item))) => Some(&mut **item),
            (name, _) => schema.properties.as_mut().and_then(|all| all.get_mut(name)),
        };
        child.expect("the path is one of the Workload's own fields")
    });
    let description = place.description.take().or_else(|| builtin.description.clone());
    *place = JSONSchemaProps { description, nullable: place.nullable, ..builtin.clone() };
}
