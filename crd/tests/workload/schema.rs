//! Laws that hold for every path of the finished CRD, ours and built-in.

use serde_json::Value;

/// Every schema in the CRD with its path, `[]` for a list's item and `[*]` for a map's value.
fn schemas() -> Vec<(String, Value)> {
    fn walk(schema: &Value, path: &str, all: &mut Vec<(String, Value)>) {
        all.push((path.to_owned(), schema.clone()));
        for (name, field) in schema["properties"].as_object().into_iter().flatten() {
            walk(field, &format!("{path}.{name}"), all);
        }
        for (step, inner) in [("[]", &schema["items"]), ("[*]", &schema["additionalProperties"])] {
            if inner.is_object() {
                walk(inner, &format!("{path}{step}"), all);
            }
        }
    }
    let crd = serde_json::to_value(baton_crd::workload_crd()).unwrap();
    let mut all = Vec::new();
    walk(&crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"], "", &mut all);
    all
}

fn is_builtin(path: &str) -> bool {
    [".spec.template.", ".spec.autoscaling.metrics[]", ".spec.autoscaling.behavior."]
        .iter()
        .any(|root| path.starts_with(root))
}

#[test]
fn every_list_has_a_merge_rule() {
    for (path, schema) in schemas().iter().filter(|(_, schema)| schema["type"] == "array") {
        let list_type = schema["x-kubernetes-list-type"].as_str();
        assert!(matches!(list_type, Some("atomic" | "set" | "map")), "{path}: {list_type:?}");
    }
}

#[test]
fn every_struct_and_map_has_a_merge_rule() {
    // The root can't: with a status subresource the API server allows no merge rule there.
    for (path, schema) in schemas().iter().skip(1).filter(|(_, schema)| schema["type"] == "object") {
        let map_type = schema["x-kubernetes-map-type"].as_str();
        assert!(matches!(map_type, Some("atomic" | "granular")), "{path}: {map_type:?}");
    }
}

#[test]
fn every_key_of_a_list_is_required_or_has_a_default() {
    for (path, schema) in schemas() {
        for key in schema["x-kubernetes-list-map-keys"].as_array().into_iter().flatten() {
            let field = &schema["items"]["properties"][key.as_str().unwrap()];
            let required = schema["items"]["required"].as_array().is_some_and(|all| all.contains(key));
            assert!(field.is_object(), "{path}: {key} isn't a field");
            assert!(required || field.get("default").is_some(), "{path}: {key}");
            assert_eq!(field.get("nullable"), None, "{path}: {key}");
        }
    }
}

#[test]
fn only_three_of_our_fields_and_a_new_status_have_a_default() {
    let with_default: Vec<_> = schemas()
        .into_iter()
        .filter(|(path, schema)| !is_builtin(path) && schema.get("default").is_some())
        .map(|(path, schema)| format!("{path}={}", schema["default"]))
        .collect();
    let expected = [
        ".spec.adoption=\"Refuse\"",
        ".spec.mode=\"Enforce\"",
        ".spec.service.ports[].protocol=\"TCP\"",
        ".status={\"observedGeneration\":-1}",
    ];
    assert_eq!(with_default, expected);
}

#[test]
fn only_three_of_our_fields_are_required() {
    let required: Vec<_> = schemas()
        .into_iter()
        .filter(|(path, _)| !is_builtin(path) && path != ".spec.template" && !path.starts_with(".status"))
        .filter_map(|(path, schema)| Some(format!("{path}: {}", schema.get("required")?)))
        .collect();
    assert_eq!(required, [": [\"spec\"]", ".spec: [\"template\"]", ".spec.service.ports[]: [\"port\"]"]);
}

#[test]
fn a_default_below_the_template_is_a_list_key() {
    let all = schemas();
    for (path, _) in all.iter().filter(|(path, schema)| is_builtin(path) && schema.get("default").is_some()) {
        let (item, field) = path.rsplit_once("[].").unwrap();
        let list = all.iter().find(|(path, _)| path == item).unwrap();
        let keys = list.1["x-kubernetes-list-map-keys"].as_array().unwrap();
        assert!(
            keys.contains(&field.into()),
            "{path} has a default that the server would write into Workloads"
        );
    }
}

#[test]
fn every_field_is_described() {
    let unowned = [".apiVersion", ".kind", ".metadata"];
    for (path, schema) in schemas() {
        let last = path.rsplit('.').next().unwrap();
        if path.is_empty() || last.ends_with(']') || unowned.contains(&path.as_str()) {
            continue;
        }
        let description = schema["description"].as_str().unwrap_or_default();
        assert!(!description.is_empty(), "{path} has no description");
        assert!(
            is_builtin(&path) || !description.contains('\n'),
            "{path} keeps the line breaks of its comment"
        );
    }
}

#[test]
fn every_rule_says_what_to_do() {
    let mut rules = 0;
    for (path, schema) in schemas() {
        for rule in schema["x-kubernetes-validations"].as_array().into_iter().flatten() {
            assert!(rule["message"].as_str().is_some_and(|text| text.len() > 20), "{path}: {rule}");
            rules += 1;
        }
    }
    assert!(rules > 20, "only {rules} rules");
}

#[test]
fn among_our_fields_only_those_that_a_server_side_apply_may_empty_may_be_null() {
    let nullable: Vec<String> = schemas()
        .into_iter()
        .filter(|(path, schema)| schema.get("nullable").is_some() && !is_builtin(path))
        .map(|(path, _)| path)
        .collect();
    let expected = [
        ".spec.autoscaling.annotations",
        ".spec.autoscaling.annotations[*]",
        ".spec.autoscaling.behavior",
        ".spec.autoscaling.labels",
        ".spec.autoscaling.labels[*]",
        ".spec.autoscaling.metrics",
        ".spec.deployment",
        ".spec.deployment.annotations",
        ".spec.deployment.annotations[*]",
        ".spec.deployment.labels",
        ".spec.deployment.labels[*]",
        ".spec.disruptionBudget.annotations",
        ".spec.disruptionBudget.annotations[*]",
        ".spec.disruptionBudget.labels",
        ".spec.disruptionBudget.labels[*]",
        ".spec.retiredManagers",
        ".spec.rollout",
        ".spec.rollout.strategy",
        ".spec.rollout.strategy.rollingUpdate",
        ".spec.service.annotations",
        ".spec.service.annotations[*]",
        ".spec.service.ipFamilies",
        ".spec.service.labels",
        ".spec.service.labels[*]",
        ".spec.service.loadBalancerSourceRanges",
        ".spec.service.ports",
        ".status",
        ".status.children",
        ".status.conditions",
        ".status.plan",
        ".status.plan[].releases",
        ".status.plan[].removes",
        ".status.plan[].sets",
        ".status.plan[].takes",
        ".status.replicaOwnership",
        ".status.replicaOwnership.autoscalers",
        ".status.takeovers",
    ];
    assert_eq!(nullable, expected);
}
