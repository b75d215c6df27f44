//! A built-in type merges inside a Workload as it merges in its own kind.
//!
//! Two walkers that share only the form of their result describe every path below the built-in parts: one reads the API
//! server's `OpenAPI` document, the other the finished CRD. The whole descriptions must be equal, so that a missing path,
//! marker, key or default on either side is found.

use std::collections::BTreeMap;

use baton_crd::builtin::{BEHAVIOR, METRIC, POD_TEMPLATE, STRATEGY};
use serde_json::{Value, json};

/// The markers that the merge needs, by path.
type Rules = BTreeMap<String, Rule>;

#[derive(Debug, PartialEq)]
enum Rule {
    /// A list, the way it merges, and its keys with their defaults.
    List(String, Vec<(String, Option<Value>)>),
    /// A struct or map, the way it merges, and its required fields.
    Object(String, Vec<String>),
    /// Anything else, with its type and format.
    Scalar(String),
}

fn strings(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().map(|text| text.as_str().unwrap().to_owned()).collect()
}

/// Describes the API server's schemas, following their references.
struct Served(Value);

impl Served {
    fn read() -> Self {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/openapi/builtin.json");
        Self(serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap())
    }

    /// A member of a schema: the reference's own, or else that of the referenced schema.
    fn get<'a>(&'a self, schema: &'a Value, member: &str) -> &'a Value {
        let target = schema.get("$ref").or_else(|| schema.get("allOf")?.get(0)?.get("$ref"));
        match (schema.get(member), target) {
            (Some(own), _) => own,
            (None, Some(target)) => {
                let name = target.as_str().unwrap().rsplit('/').next().unwrap();
                self.get(&self.0["schemas"][name], member)
            }
            (None, None) => &Value::Null,
        }
    }

    fn describe(&self, schema: &Value, path: &str, rules: &mut Rules) {
        let get = |member| self.get(schema, member);
        let rule = match get("type").as_str() {
            Some("array") => {
                self.describe(get("items"), &format!("{path}[]"), rules);
                let fields = self.get(get("items"), "properties");
                let key = |key: String| {
                    let default = self.get(&fields[&key], "default").clone();
                    (key, Some(default).filter(|default| !default.is_null()))
                };
                let keys = strings(get("x-kubernetes-list-map-keys")).into_iter().map(key).collect();
                Rule::List(get("x-kubernetes-list-type").as_str().unwrap_or("atomic").to_owned(), keys)
            }
            Some("object") => {
                for (name, field) in get("properties").as_object().into_iter().flatten() {
                    self.describe(field, &format!("{path}.{name}"), rules);
                }
                if get("additionalProperties").is_object() {
                    self.describe(get("additionalProperties"), &format!("{path}[*]"), rules);
                }
                let map_type = get("x-kubernetes-map-type").as_str().unwrap_or("granular").to_owned();
                Rule::Object(map_type, strings(get("required")))
            }
            Some(scalar) => Rule::Scalar(format!("{scalar} {}", get("format").as_str().unwrap_or_default())),
            None => {
                assert!(get("oneOf").is_array(), "{path} has no type");
                Rule::Scalar("int-or-string".to_owned())
            }
        };
        assert_eq!(rules.insert(path.to_owned(), rule), None);
    }

    fn rules(&self, name: &str) -> Rules {
        let mut rules = Rules::new();
        self.describe(&json!({"$ref": format!("#/components/schemas/{name}")}), "", &mut rules);
        rules
    }
}

/// Describes a part of the finished CRD, in which every marker is explicit.
fn installed(schema: &Value, path: &str, rules: &mut Rules) {
    let rule = match schema["type"].as_str() {
        Some("array") => {
            installed(&schema["items"], &format!("{path}[]"), rules);
            let keys = strings(&schema["x-kubernetes-list-map-keys"]).into_iter().map(|key| {
                let default = schema["items"]["properties"][&key].get("default").cloned();
                (key, default)
            });
            Rule::List(schema["x-kubernetes-list-type"].as_str().unwrap().to_owned(), keys.collect())
        }
        Some("object") => {
            for (name, field) in schema["properties"].as_object().into_iter().flatten() {
                installed(field, &format!("{path}.{name}"), rules);
            }
            if schema["additionalProperties"].is_object() {
                installed(&schema["additionalProperties"], &format!("{path}[*]"), rules);
            }
            let map_type = schema["x-kubernetes-map-type"].as_str().unwrap().to_owned();
            Rule::Object(map_type, strings(&schema["required"]))
        }
        Some(scalar) => Rule::Scalar(format!("{scalar} {}", schema["format"].as_str().unwrap_or_default())),
        None => {
            // A quantity may be any number, for which a structural schema has no type.
            let is_either = schema["x-kubernetes-int-or-string"] == true
                || schema["x-kubernetes-preserve-unknown-fields"] == true && schema["pattern"].is_string();
            assert!(is_either, "{path}");
            Rule::Scalar("int-or-string".to_owned())
        }
    };
    assert_eq!(rules.insert(path.to_owned(), rule), None);
}

fn crd_rules(pointer: &str) -> Rules {
    let crd = serde_json::to_value(baton_crd::workload_crd()).unwrap();
    let spec = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
    let mut rules = Rules::new();
    installed(spec.pointer(pointer).unwrap(), "", &mut rules);
    rules
}

/// Compares both descriptions and returns how many lists and how many structs and maps there are.
fn assert_same(builtin: &str, pointer: &str) -> (usize, usize) {
    let (served, crd) = (Served::read().rules(builtin), crd_rules(pointer));
    for (path, rule) in &served {
        assert_eq!(
            Some(rule),
            crd.get(path),
            "{builtin} at `{path}`: built-in on the left, CRD on the right"
        );
    }
    for path in crd.keys() {
        assert!(served.contains_key(path), "{builtin} has no `{path}`, but the CRD has one");
    }
    let lists = served.values().filter(|rule| matches!(rule, Rule::List(..))).count();
    let objects = served.values().filter(|rule| matches!(rule, Rule::Object(..))).count();
    println!("{builtin}: {} paths, {lists} lists, {objects} structs and maps", served.len());
    (lists, objects)
}

#[test]
fn the_template_merges_as_in_a_deployment() {
    let (lists, objects) = assert_same(POD_TEMPLATE, "/properties/template");
    assert!(lists > 100 && objects > 100, "the walk ended too early");
}

#[test]
fn metrics_merge_as_in_an_autoscaler() {
    assert_same(METRIC, "/properties/autoscaling/properties/metrics/items");
}

#[test]
fn behavior_merges_as_in_an_autoscaler() {
    assert_same(BEHAVIOR, "/properties/autoscaling/properties/behavior");
}

#[test]
fn the_strategy_merges_as_in_a_deployment() {
    assert_same(STRATEGY, "/properties/rollout/properties/strategy");
}
