//! The reference of the Workload's API, `docs/api.md`: a table for each object of the CRD's schema.

use std::collections::BTreeSet;

use serde_json::Value;

/// The file's path in the repository.
pub(crate) const PATH: &str = "docs/api.md";

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

/// Kubernetes' own types, by their paths in a Workload, each with a link to the page that describes it.
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

/// The content of the file, for a CRD as JSON.
pub(crate) fn render(crd: &Value) -> String {
    let spec = &crd["spec"];
    let sections: String = items(&spec["versions"]).map(|version| of_version(spec, version)).collect();
    let page = format!("{INTRODUCTION}{sections}");
    let contents = contents(&page);
    page.replacen("## How to read", &format!("{contents}## How to read"), 1)
}

fn of_version(spec: &Value, version: &Value) -> String {
    let schema = &version["schema"]["openAPIV3Schema"];
    let properties = &schema["properties"];
    [
        resource(spec, version),
        columns(version),
        rules(schema),
        object("spec", &properties["spec"]),
        object("status", &properties["status"]),
        merged_lists(&properties["spec"]["properties"]["template"]),
    ]
    .concat()
}

/// The contents: one line for each section with its subsections, as on every long page.
fn contents(page: &str) -> String {
    let mut sections: Vec<String> = Vec::new();
    for line in page.lines() {
        let link = |heading: &str| format!("[{heading}](#{})", anchor(heading));
        if let Some(heading) = line.strip_prefix("## ") {
            sections.push(format!("- {}", link(heading)));
        } else if let (Some(heading), Some(section)) = (line.strip_prefix("### "), sections.last_mut()) {
            section.push_str(if section.contains("): [") { ", " } else { ": " });
            section.push_str(&link(heading));
        }
    }
    format!("<!-- contents -->\n\n{}\n\n<!-- end of contents -->\n\n", sections.join("\n"))
}

fn resource(spec: &Value, version: &Value) -> String {
    let (names, scale) = (&spec["names"], &version["subresources"]["scale"]);
    let [group, version, kind, plural] =
        [&spec["group"], &version["name"], &names["kind"], &names["plural"]].map(text);
    let short = texts(&names["shortNames"]).join(", ");
    let paths = ["specReplicasPath", "statusReplicasPath", "labelSelectorPath"];
    let [written, replicas, selector] = paths.map(|path| text(&scale[path]));
    let rows = [
        ("API version", format!("`{group}/{version}`")),
        ("kind", format!("`{kind}`")),
        ("names for kubectl", format!("`{short}`, `{plural}.{group}`")),
        ("scope", text(&spec["scope"]).to_owned()),
        ("subresource `status`", "what Baton reports; see [status](#status)".to_owned()),
        (
            "subresource `scale`, for `kubectl scale`",
            format!("writes `{written}`; reads `{replicas}`, `{selector}`"),
        ),
    ];
    let rows = rows.map(|(name, what)| format!("| {name} | {what} |\n")).concat();
    format!("## The resource\n\n| | |\n| --- | --- |\n{rows}\n")
}

fn columns(version: &Value) -> String {
    let rows = items(&version["additionalPrinterColumns"]).map(|column| {
        let name = text(&column["name"]).to_uppercase();
        let shown = if column["priority"].is_null() { "always" } else { "with `--output wide`" };
        let description = column["description"].as_str().unwrap_or("The age of the Workload");
        format!("| {name} | {shown} | {description} |\n")
    });
    let rows: String = rows.collect();
    format!(
        "`kubectl get bwl` shows these columns:\n\n| column | shown | what it is |\n| --- | --- | --- |\n{rows}\n"
    )
}

/// The section of an object, followed by those of the objects in it.
fn object(path: &str, schema: &Value) -> String {
    let level = if path.contains(['.', '[']) { "###" } else { "##" };
    let description = text(&schema["description"]);
    let (mut rows, mut within) = (Vec::new(), String::new());
    for (name, field) in members(&schema["properties"]) {
        let default = &field["default"];
        let default = match default {
            _ if texts(&schema["required"]).contains(&name) => "(required)".to_owned(),
            Value::Null => String::new(),
            default => format!("`{default}`"),
        };
        let (nested, nested_path) = match &field["items"] {
            Value::Null => (field, format!("{path}.{name}")),
            item => (item, format!("{path}.{name}[]")),
        };
        let built_in = BUILT_IN.iter().find(|(path, _)| *path == nested_path).map(|(_, link)| *link);
        let mut shown = format!("`{name}`");
        if built_in.is_none() && nested["properties"].is_object() {
            shown = format!("[{shown}](#{})", anchor(&nested_path));
            within.push_str(&object(&nested_path, nested));
        }
        let kind = built_in.map_or_else(|| kind(field), |link| of_list(field, link));
        let (merge, what) = (merge(field), cell(field));
        rows.push(format!("| {shown} | {kind} | {default} | {merge} | {what} |\n"));
    }
    let (rows, rules) = (rows.concat(), rules(schema));
    format!(
        "{level} {path}\n\n{description}\n\n| field | type | default | merge | what it is |\n| --- | --- | --- | --- | --- |\n\
         {rows}\n{rules}{within}"
    )
}

/// The anchor of a heading on code hosts.
fn anchor(heading: &str) -> String {
    heading.to_lowercase().replace(['.', '[', ']'], "").replace(' ', "-")
}

/// The description of a field and of its rules, in a table's cell.
fn cell(field: &Value) -> String {
    let description = text(&field["description"]).replace("\n\n", " ");
    // The rules of an object are in its section.
    let rules = items(&field["x-kubernetes-validations"]).filter(|_| field["properties"].is_null());
    let rules: Vec<_> = rules.map(|rule| format!(" Rule: {}.", text(&rule["message"]))).collect();
    format!("{description}{}", rules.concat()).replace('|', "\\|")
}

fn rules(schema: &Value) -> String {
    let rules = items(&schema["x-kubernetes-validations"]).map(|rule| {
        let field = rule["fieldPath"].as_str().map(|path| format!("`{}`: ", path.trim_start_matches('.')));
        format!("- {}{}.\n", field.unwrap_or_default(), text(&rule["message"]))
    });
    let rules: String = rules.collect();
    if rules.is_empty() { rules } else { format!("Rules:\n\n{rules}\n") }
}

/// The type of a field, with its limits.
fn kind(field: &Value) -> String {
    let values = texts(&field["enum"]);
    if !values.is_empty() {
        return values.iter().map(|value| format!("`{value}`")).collect::<Vec<_>>().join(", ");
    }
    if is_int_or_string(field) {
        return format!("integer or string{}", limits(field));
    }
    match (&field["items"], &field["additionalProperties"]) {
        (item @ Value::Object(_), _) => of_list(field, &kind(item)),
        (_, value @ Value::Object(_)) => format!("map of {}", kind(value)),
        _ if field["format"] == "date-time" => "time".to_owned(),
        _ => format!("{}{}", field["type"].as_str().unwrap_or("any"), limits(field)),
    }
}

fn is_int_or_string(field: &Value) -> bool {
    field["x-kubernetes-int-or-string"] == true
}

fn of_list(field: &Value, item: &str) -> String {
    match (&field["items"], &field["maxItems"]) {
        (Value::Null, _) => item.to_owned(),
        (_, Value::Null) => format!("list of {item}"),
        (_, most) => format!("list of {item}, at most {most}"),
    }
}

fn limits(field: &Value) -> String {
    let most = field["maximum"].as_f64().filter(|most| *most < f64::from(i32::MAX));
    let range = match (field["minimum"].as_f64(), most) {
        (Some(least), Some(most)) => format!(", {least} to {most}"),
        (Some(least), None) => format!(", at least {least}"),
        (None, Some(most)) => format!(", at most {most}"),
        (None, None) => String::new(),
    };
    let length = match (field["minLength"].as_i64(), field["maxLength"].as_i64()) {
        _ if is_int_or_string(field) => String::new(),
        (Some(1), None) => ", not empty".to_owned(),
        (Some(least), None) => format!(", at least {least} characters"),
        (Some(least), Some(most)) => format!(", {least} to {most} characters"),
        (None, Some(most)) => format!(", at most {most} characters"),
        (None, None) => String::new(),
    };
    let pattern = field["pattern"].as_str().map(|pattern| format!(", `{pattern}`")).unwrap_or_default();
    format!("{range}{length}{pattern}").replace('|', "\\|")
}

/// What one manager owns of a field, as text; empty for a scalar.
fn merge(field: &Value) -> String {
    let keys = || texts(&field["x-kubernetes-list-map-keys"]).into_iter().map(|key| format!("`{key}`"));
    let types = [&field["x-kubernetes-list-type"], &field["x-kubernetes-map-type"]].map(Value::as_str);
    match types {
        [Some("map"), _] => format!("by {}", keys().collect::<Vec<_>>().join(", ")),
        [Some("set"), _] => "each item".to_owned(),
        [Some(_), _] | [None, Some("atomic")] => "whole".to_owned(),
        [None, Some(_)] if field["additionalProperties"].is_object() => "each key".to_owned(),
        [None, Some(_)] => "each field".to_owned(),
        [None, None] => String::new(),
    }
}

/// The lists of the pod template that several managers can share. All of its other lists are atomic.
fn merged_lists(template: &Value) -> String {
    let mut rows = BTreeSet::new();
    shared(template, "", &mut rows);
    let rows: Vec<_> = rows.iter().map(|(path, merge)| format!("| `{path}` | {merge} |\n")).collect();
    let rows = rows.concat();
    format!(
        "## Lists of the pod template\n\n`spec.template` merges as the template of a Deployment does. Several managers can share the \
         items of these lists; one manager owns any other list as a whole.\n\n| list | merge |\n| --- | --- |\n{rows}"
    )
}

fn shared(schema: &Value, path: &str, rows: &mut BTreeSet<(String, String)>) {
    for (name, field) in members(&schema["properties"]) {
        let list_type = field["x-kubernetes-list-type"].as_str();
        // All sorts of containers have the same lists.
        let is_other_containers = path == "spec" && matches!(name, "initContainers" | "ephemeralContainers");
        let path = if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
        if matches!(list_type, Some("map" | "set")) {
            rows.insert((path.clone(), merge(field)));
        }
        match &field["items"] {
            _ if is_other_containers => {}
            Value::Null => shared(field, &path, rows),
            item if list_type == Some("map") => shared(item, &format!("{path}[]"), rows),
            _ => {}
        }
    }
}

fn members(value: &Value) -> impl Iterator<Item = (&str, &Value)> {
    value.as_object().into_iter().flatten().map(|(name, value)| (name.as_str(), value))
}

fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn texts(value: &Value) -> Vec<&str> {
    items(value).map(text).collect()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
