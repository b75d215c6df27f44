//! The reference of the Workload's API, `docs/api.md`: a table for each object of the schema.
//!
//! `cargo crdgen` writes the file.

use std::{
    collections::BTreeSet,
    fmt::{self, Write as _},
};

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinitionVersion, JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};

use crate::workload_crd;

/// The file's path in the repository.
pub const PATH: &str = "docs/api.md";

const INTRODUCTION: &str = "\
# API reference

`cargo crdgen` generates this page from the CRD's schema. `kubectl explain bwl.spec.service` shows the same in a terminal.

## How to read the tables

- **Default**: what the API server fills in. A field without a default stays absent; its description says what that means.
- **Merge**: what one field manager owns in a server-side apply, and what several managers can share. `each field` and `each key`: every
  member has its own owners. `by KEYS`: items of a list are identified by these keys, and each has its own owners. `each item`: items of
  a set have their own owners. `whole`: one manager owns all of it.
- **Rules**: the API server rejects a Workload that breaks one, with the message that is shown. Their CEL expressions are in the
  [CRD](../manifests/crd/workloads.baton.rs.yaml), as `x-kubernetes-validations`.

";

/// Objects of Kubernetes' own types, each by its path, with a link to the page that describes it.
const BUILT_IN: [(&str, &str); 4] = [
    (
        "spec.template",
        "[PodTemplateSpec](https://kubernetes.io/docs/reference/kubernetes-api/core/pod-template-v1/#PodTemplateSpec)",
    ),
    (
        "spec.autoscaling.metrics[]",
        "[MetricSpec](https://kubernetes.io/docs/reference/kubernetes-api/autoscaling/horizontal-pod-autoscaler-v2/#MetricSpec)",
    ),
    (
        "spec.autoscaling.behavior",
        "[HorizontalPodAutoscalerBehavior](https://kubernetes.io/docs/reference/kubernetes-api/autoscaling/horizontal-pod-autoscaler-v2/#HorizontalPodAutoscalerBehavior)",
    ),
    ("status.conditions[]", "[Condition](operations.md#conditions)"),
];

/// The content that the file should have.
///
/// # Errors
///
/// Fails only if text can't be written into memory.
pub fn render() -> Result<String, fmt::Error> {
    let crd = workload_crd();
    let mut page = INTRODUCTION.to_owned();
    for version in &crd.spec.versions {
        let names = &crd.spec.names;
        let short = names.short_names.iter().flatten().cloned().collect::<Vec<_>>().join(", ");
        writeln!(page, "## The resource\n")?;
        writeln!(page, "| | |\n| --- | --- |")?;
        writeln!(page, "| API version | `{}/{}` |", crd.spec.group, version.name)?;
        writeln!(page, "| kind | `{}` |", names.kind)?;
        writeln!(page, "| names for kubectl | `{short}`, `{}.{}` |", names.plural, crd.spec.group)?;
        writeln!(page, "| scope | {} |", crd.spec.scope)?;
        subresources(&mut page, version)?;
        columns(&mut page, version)?;
        let schema = version.schema.as_ref().and_then(|schema| schema.open_api_v3_schema.as_ref());
        let Some(schema) = schema else { continue };
        rules(&mut page, schema)?;
        for name in ["spec", "status"] {
            if let Some(part) = schema.properties.as_ref().and_then(|all| all.get(name)) {
                object(&mut page, name, part)?;
            }
        }
    }
    merged_lists(&mut page, &crd.spec.versions)?;
    Ok(page.replacen("## How to read", &format!("{}## How to read", contents(&page)?), 1))
}

/// The contents: one line for each section with its subsections, as on every long page.
fn contents(page: &str) -> Result<String, fmt::Error> {
    let mut contents = "<!-- contents -->\n".to_owned();
    for line in page.lines() {
        let Some((hashes, heading)) = line.split_once("# ").filter(|(hashes, _)| !hashes.is_empty()) else {
            continue;
        };
        let before = match hashes {
            "#" => "\n- ",
            "##" if contents.lines().last().is_some_and(|line| !line.contains("): [")) => ": ",
            "##" => ", ",
            _ => continue,
        };
        write!(contents, "{before}[{heading}](#{})", anchor(heading))?;
    }
    Ok(contents + "\n\n<!-- end of contents -->\n\n")
}

fn subresources(page: &mut String, version: &CustomResourceDefinitionVersion) -> fmt::Result {
    let subresources = version.subresources.as_ref();
    if subresources.is_some_and(|all| all.status.is_some()) {
        writeln!(page, "| subresource `status` | what Baton reports; see [status](#status) |")?;
    }
    if let Some(scale) = subresources.and_then(|all| all.scale.as_ref()) {
        let selector = scale.label_selector_path.as_deref().unwrap_or_default();
        writeln!(
            page,
            "| subresource `scale`, for `kubectl scale` | writes `{}`; reads `{}`, `{selector}` |",
            scale.spec_replicas_path, scale.status_replicas_path
        )?;
    }
    writeln!(page)
}

fn columns(page: &mut String, version: &CustomResourceDefinitionVersion) -> fmt::Result {
    writeln!(
        page,
        "`kubectl get bwl` shows these columns:\n\n| column | shown | what it is |\n| --- | --- | --- |"
    )?;
    for column in version.additional_printer_columns.iter().flatten() {
        let shown = if column.priority.unwrap_or_default() == 0 { "always" } else { "with `--output wide`" };
        let description = column.description.as_deref().unwrap_or("The age of the Workload");
        writeln!(page, "| {} | {shown} | {description} |", column.name.to_uppercase())?;
    }
    writeln!(page)
}

/// The section of an object, followed by those of the objects in it.
fn object(page: &mut String, path: &str, schema: &JSONSchemaProps) -> fmt::Result {
    let level = if path.contains(['.', '[']) { "###" } else { "##" };
    writeln!(page, "{level} {path}\n")?;
    if let Some(description) = &schema.description {
        writeln!(page, "{description}\n")?;
    }
    writeln!(page, "| field | type | default | merge | what it is |\n| --- | --- | --- | --- | --- |")?;
    let required = schema.required.clone().unwrap_or_default();
    let mut within = Vec::new();
    for (name, field) in schema.properties.iter().flatten() {
        let default = field.default.as_ref().map_or_else(String::new, |default| format!("`{}`", default.0));
        let default = if required.contains(name) { "(required)".to_owned() } else { default };
        let field_path = format!("{path}.{name}");
        let (nested, nested_path) = match &field.items {
            Some(JSONSchemaPropsOrArray::Schema(item)) => (&**item, format!("{field_path}[]")),
            _ => (field, field_path),
        };
        let built_in = BUILT_IN.iter().find(|(path, _)| *path == nested_path).map(|(_, link)| *link);
        let has_section = built_in.is_none() && nested.properties.is_some();
        let shown =
            if has_section { format!("[`{name}`](#{})", anchor(&nested_path)) } else { format!("`{name}`") };
        let kind = built_in.map_or_else(|| kind(field), |link| of_list(field, link));
        writeln!(page, "| {shown} | {kind} | {default} | {} | {} |", merge(field), cell(field))?;
        if has_section {
            within.push((nested_path, nested));
        }
    }
    writeln!(page)?;
    rules(page, schema)?;
    within.into_iter().try_for_each(|(path, schema)| object(page, &path, schema))
}

/// The anchor of a heading on code hosts.
fn anchor(heading: &str) -> String {
    heading.to_lowercase().replace(['.', '[', ']'], "").replace(' ', "-")
}

/// The description of a field and of its rules, in a table's cell.
fn cell(field: &JSONSchemaProps) -> String {
    let description = field.description.as_deref().unwrap_or_default().replace("\n\n", " ");
    // The rules of an object are in its section.
    let rules = field.x_kubernetes_validations.iter().flatten().filter(|_| field.properties.is_none());
    let messages = rules.filter_map(|rule| Some(format!("Rule: {}.", rule.message.as_ref()?)));
    [description].into_iter().chain(messages).collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

fn rules(page: &mut String, schema: &JSONSchemaProps) -> fmt::Result {
    let rules = schema.x_kubernetes_validations.as_deref().unwrap_or_default();
    if rules.is_empty() {
        return Ok(());
    }
    writeln!(page, "Rules:\n")?;
    for rule in rules {
        let field = rule
            .field_path
            .as_deref()
            .map_or_else(String::new, |path| format!("`{}`: ", path.trim_start_matches('.')));
        writeln!(page, "- {field}{}.", rule.message.as_deref().unwrap_or(&rule.rule))?;
    }
    writeln!(page)
}

/// The type of a field, with its limits.
fn kind(field: &JSONSchemaProps) -> String {
    if let Some(values) = &field.enum_ {
        return values
            .iter()
            .map(|value| format!("`{}`", value.0.as_str().unwrap_or_default()))
            .collect::<Vec<_>>()
            .join(", ");
    }
    if field.x_kubernetes_int_or_string == Some(true) {
        return format!("integer or string{}", limits(field));
    }
    match (&field.items, &field.additional_properties) {
        (Some(JSONSchemaPropsOrArray::Schema(item)), _) => of_list(field, &kind(item)),
        (_, Some(JSONSchemaPropsOrBool::Schema(value))) => format!("map of {}", kind(value)),
        _ => match (field.type_.as_deref(), field.format.as_deref()) {
            (Some("string"), Some("date-time")) => "time".to_owned(),
            (kind, _) => format!("{}{}", kind.unwrap_or("any"), limits(field)),
        },
    }
}

fn of_list(field: &JSONSchemaProps, item: &str) -> String {
    match (&field.items, field.max_items) {
        (None, _) => item.to_owned(),
        (Some(_), None) => format!("list of {item}"),
        (Some(_), Some(most)) => format!("list of {item}, at most {most}"),
    }
}

fn limits(field: &JSONSchemaProps) -> String {
    let range = match (field.minimum, field.maximum.filter(|most| *most < f64::from(i32::MAX))) {
        (Some(least), Some(most)) => format!(", {least} to {most}"),
        (Some(least), None) => format!(", at least {least}"),
        (None, Some(most)) => format!(", at most {most}"),
        (None, None) => String::new(),
    };
    let length = match (field.min_length, field.max_length) {
        _ if field.x_kubernetes_int_or_string == Some(true) => String::new(),
        (Some(1), None) => ", not empty".to_owned(),
        (Some(least), None) => format!(", at least {least} characters"),
        (Some(least), Some(most)) => format!(", {least} to {most} characters"),
        (None, Some(most)) => format!(", at most {most} characters"),
        (None, None) => String::new(),
    };
    let pattern = field.pattern.as_ref().map_or_else(String::new, |pattern| format!(", `{pattern}`"));
    format!("{range}{length}{pattern}").replace('|', "\\|")
}

/// What one manager owns of a field, as text; empty for a scalar.
fn merge(field: &JSONSchemaProps) -> String {
    let keys = field.x_kubernetes_list_map_keys.iter().flatten().map(|key| format!("`{key}`"));
    match (field.x_kubernetes_list_type.as_deref(), field.x_kubernetes_map_type.as_deref()) {
        (Some("map"), _) => format!("by {}", keys.collect::<Vec<_>>().join(", ")),
        (Some("set"), _) => "each item".to_owned(),
        (Some(_), _) | (None, Some("atomic")) => "whole".to_owned(),
        (None, Some(_)) if field.additional_properties.is_some() => "each key".to_owned(),
        (None, Some(_)) => "each field".to_owned(),
        (None, None) => String::new(),
    }
}

/// The lists of the pod template that several managers can share. All of its other lists are atomic.
fn merged_lists(page: &mut String, versions: &[CustomResourceDefinitionVersion]) -> fmt::Result {
    writeln!(
        page,
        "## Lists of the pod template\n\n`spec.template` merges as the template of a Deployment does. Several managers can share the \
         items of these lists; one manager owns any other list as a whole.\n\n| list | merge |\n| --- | --- |"
    )?;
    let mut rows = BTreeSet::new();
    for version in versions {
        let schema = version.schema.as_ref().and_then(|schema| schema.open_api_v3_schema.as_ref());
        let path = ["spec", "template"];
        let template = path.iter().fold(schema, |schema, name| schema?.properties.as_ref()?.get(*name));
        if let Some(template) = template {
            shared(template, "", &mut rows);
        }
    }
    rows.into_iter().try_for_each(|(path, merge)| writeln!(page, "| `{path}` | {merge} |"))
}

fn shared(schema: &JSONSchemaProps, path: &str, rows: &mut BTreeSet<(String, String)>) {
    for (name, field) in schema.properties.iter().flatten() {
        // All sorts of containers have the same lists.
        let path = match (path, name.as_str()) {
            ("", name) => name.to_owned(),
            ("spec", "initContainers" | "ephemeralContainers") => {
                rows.insert((format!("spec.{name}"), merge(field)));
                continue;
            }
            (path, name) => format!("{path}.{name}"),
        };
        if matches!(field.x_kubernetes_list_type.as_deref(), Some("map" | "set")) {
            rows.insert((path.clone(), merge(field)));
        }
        match &field.items {
            Some(JSONSchemaPropsOrArray::Schema(item))
                if field.x_kubernetes_list_type.as_deref() == Some("map") =>
            {
                shared(item, &format!("{path}[]"), rows);
            }
            None => shared(field, &path, rows),
            Some(_) => {}
        }
    }
}
